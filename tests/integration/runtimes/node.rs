//! Heap profiles of V8, hostile ones among them, and a real Node.js that leaks.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zmtop::heap::node::sites;
use zmtop::heap::runtimes::Site;

use crate::support::Owned;
use crate::support::pty::{ZMTOP, have};

fn call(function: &str, url: &str, line: i64, size: &str, children: &str) -> String {
    format!(
        r#"{{"callFrame":{{"functionName":"{function}","scriptId":"7","url":"{url}","lineNumber":{line},"columnNumber":3}},
            "selfSize":{size},"id":1,"children":[{children}]}}"#
    )
}

fn profile(head: &str) -> Vec<u8> {
    format!(r#"{{"profile":{{"head":{head},"samples":[{{"size":3,"nodeId":2,"ordinal":1}}]}}}}"#).into_bytes()
}

fn site(frames: &[&str], bytes: u64) -> Site {
    Site {
        frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
        count: None,
        bytes,
    }
}

#[test]
fn paths_lead_from_the_allocation_outwards_and_equal_ones_are_summed() {
    let remember = call("remember", "file:///srv/app/server.js", 11, "5000.7", "");
    let again = call("remember", "file:///srv/app/server.js", 11, "3000", "");
    let closure = call("", "node:internal/timers", 503, "100", "");
    let inner = [remember, again, closure].join(",");
    let handle = call("handle", "/srv/app/server.js", 20, "0", &inner);
    let native = call("(V8 API)", "", -1, "1e4", "");
    let head = call("(root)", "", -1, "0", &[handle, native].join(","));
    let expected = [
        site(&["(V8 API)"], 10_000),
        site(&["remember (server.js:12)", "handle (server.js:21)"], 8000),
        site(
            &["(anonymous) (node:internal/timers:504)", "handle (server.js:21)"],
            100,
        ),
    ];
    let mut expected = expected.to_vec();
    expected[2].frames[0] = "(anonymous) (timers:504)".to_owned();
    assert_eq!(sites(&profile(&head)).unwrap(), expected);
}

#[test]
fn long_names_are_cut_and_a_profile_of_large_paths_is_refused() {
    let long = "é".repeat(1000);
    let head = call("(root)", "", -1, "0", &call(&long, &format!("/srv/{long}"), 1, "8", ""));
    let cut = "é".repeat(512);
    assert_eq!(
        sites(&profile(&head)).unwrap(),
        [site(&[&format!("{cut} ({cut}:2)")], 8)]
    );
    // Each of these paths repeats the names of 100 callers.
    let wide = |count: u32| {
        let leaves: Vec<_> = (0..count).map(|n| call(&format!("f{n}"), "", 0, "8", "")).collect();
        let inner = leaves.join(",");
        let name = "n".repeat(512);
        let head = (0..100).fold(inner, |children, _| call(&name, "", 0, "0", &children));
        sites(&profile(&call("(root)", "", -1, "0", &head))).map(|sites| sites.len())
    };
    assert_eq!(wide(1000), Some(1000));
    assert_eq!(wide(1500), None);
}

#[test]
fn as_many_functions_as_v8_records_are_read_and_a_hostile_depth_is_not() {
    let nested = |depth: usize| {
        let mut text = String::new();
        for _ in 0..depth {
            let _ = write!(
                text,
                r#"{{"callFrame":{{"functionName":"f"}},"selfSize":8,"children":["#
            );
        }
        text + &"]}".repeat(depth)
    };
    assert_eq!(sites(&profile(&nested(129))).unwrap().len(), 129);
    assert_eq!(sites(&profile(&nested(100_000))), None);
    // Brackets in a name do not count.
    let named = call(&"[{\\\"".repeat(1000), "", 0, "8", "");
    assert_eq!(sites(&profile(&named)).unwrap().len(), 1);
}

#[test]
fn what_is_no_profile_is_refused() {
    let whole = profile(&call("f", "", 0, "8", ""));
    for end in 0..whole.len() {
        assert_eq!(sites(&whole[..end]), None, "{end}");
    }
    for text in [
        "",
        "[]",
        "{}",
        r#"{"profile":null}"#,
        r#"{"profile":{"head":{"selfSize":8}}}"#,
    ] {
        assert_eq!(sites(text.as_bytes()), None, "{text}");
    }
    // Sizes that no program has.
    for (size, bytes) in [
        ("-5", None),
        ("0.4", None),
        ("1e300", Some(u64::MAX)),
        ("1e18", Some(10_u64.pow(18))),
    ] {
        let found = sites(&profile(&call("f", "", i64::MAX, size, ""))).unwrap();
        assert_eq!(found.first().map(|site| site.bytes), bytes, "{size}");
    }
}

/// Runs `zmtop heap` on a process. Returns the JSON and the messages.
fn heap(pid: u32, options: &[&str]) -> (serde_json::Value, String) {
    let out = Command::new(ZMTOP)
        .args(["heap", &pid.to_string(), "--format", "json"])
        .args(options)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{said}")),
        said,
    )
}

fn verdict(document: &serde_json::Value) -> String {
    document["runtimes"][0]["verdict"].to_string()
}

/// Waits until a process handles SIGUSR1, as a Node.js that has started does.
fn wait_until_started(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() >> 9 & 1 == 1 {
            return;
        }
        assert!(Instant::now() < deadline, "{status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_real_program_names_the_function_that_keeps_and_its_inspector_closes_again() {
    if !have("node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("leak.js");
    let source = "
        const { Worker } = require('worker_threads');
        for (let i = 0; i < 2; i++) new Worker('setInterval(() => {}, 1000)', { eval: true });
        const kept = [];
        function remember(n) { kept.push('session ' + n + ' '.repeat(2000 + n % 7)); kept.push(new Array(300).fill(n)); }
        function handle(n) { remember(n); return JSON.stringify(new Array(100).fill(n)).length; }
        let n = 0;
        setInterval(() => { for (let i = 0; i < 20; i++) handle(n++); }, 5);
    ";
    std::fs::write(&script, source).unwrap();
    // Without optimisation no function is inlined. Any free port: the usual one may be in use.
    let program = Owned::quiet(Command::new("node").args(["--no-opt", "--inspect-port=0"]).arg(&script));
    let pid = program.0.id();
    wait_until_started(pid);
    let (document, said) = heap(pid, &["--code", "2s", "--collect"]);
    assert!(verdict(&document).contains("--inspector"), "{document}");
    assert!(!said.contains("opens its inspector"), "{said}");
    let (document, said) = heap(pid, &["--code", "2s", "--collect", "--inspector"]);
    assert!(said.contains("opens its inspector"), "{said}");
    let first = &document["runtimes"][0]["sites"][0];
    let frames = first["frames"].to_string();
    assert!(
        frames.starts_with(r#"["remember (leak.js:5)","handle (leak.js:6)""#),
        "{document} {said}"
    );
    assert!(first["bytes"].as_u64().unwrap() > 100_000, "{document}");
    assert!(!verdict(&document).contains("still open"), "{document}");
    assert!(
        verdict(&document).contains("2 worker threads are not included"),
        "{document}"
    );
    // It goes on, and can be asked again.
    let (document, said) = heap(pid, &["--code", "1s", "--inspector"]);
    assert!(document["runtimes"][0]["sites"][0].is_object(), "{document} {said}");
    assert!(std::fs::exists(format!("/proc/{pid}")).unwrap());
}

#[test]
fn a_program_that_the_signal_would_end_does_not_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("node");
    std::fs::copy("/bin/sleep", &path).unwrap();
    let mut program = Owned(Command::new(&path).arg("100").stdin(Stdio::null()).spawn().unwrap());
    // Not before it is that program.
    while std::fs::read_link(format!("/proc/{}/exe", program.0.id())).unwrap() != path {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (document, said) = heap(program.0.id(), &["--code", "1s", "--inspector"]);
    assert!(
        verdict(&document).contains("does not handle SIGUSR1"),
        "{document} {said}"
    );
    assert!(program.0.try_wait().unwrap().is_none());
}
