//! Heap profiles of V8, hostile ones among them, and a real Node.js that leaks.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use zmtop::heap::node::sites;
use zmtop::heap::runtimes::Site;
use zmtop::heaps::node::{Node, Refusal};

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

/// The data that a false inspector sends again and again instead of an answer, a byte or a message at a time.
#[derive(Clone, Copy, Debug)]
enum Drip {
    /// A header of the list of its targets, or of the handshake.
    List,
    Handshake,
    /// One message that does not end.
    Message,
    Pings,
    Events,
}

fn request(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
}

/// The list of targets of an inspector, after the first line of its answer.
const LIST: &[u8] = b"\r\n[{\"webSocketDebuggerUrl\":\"ws://127.0.0.1/abc\"}]";

/// Answers the connections of a client, up to the step at which it drips.
fn serve(listener: &TcpListener, drip: Drip) {
    let drips = |mut stream: TcpStream, piece: &[u8]| {
        while stream.write_all(piece).is_ok() {
            // The library itself refuses a handshake of 64 small packets.
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let (mut stream, _) = listener.accept().unwrap();
    request(&mut stream);
    stream.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
    if matches!(drip, Drip::List) {
        return drips(stream, b"a");
    }
    stream.write_all(LIST).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    if matches!(drip, Drip::Handshake) {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 101 Switching\r\nA: ").unwrap();
        return drips(stream, b"a");
    }
    let mut stream = tungstenite::accept(stream).unwrap().into_inner();
    match drip {
        Drip::Message => {
            // A text of 64 MiB.
            stream.write_all(&[0x81, 127, 0, 0, 0, 0, 4, 0, 0, 0]).unwrap();
            drips(stream, b"a");
        }
        // As fast as it can.
        Drip::Pings => while stream.write_all(&[0x89, 0]).is_ok() {},
        Drip::Events => drips(stream, b"\x81\x0e{\"method\":\"x\"}"),
        Drip::List | Drip::Handshake => unreachable!(),
    }
}

#[test]
fn a_false_inspector_that_sends_for_ever_is_left_when_the_time_is_over() {
    let pid = std::process::id();
    for drip in [Drip::List, Drip::Handshake, Drip::Message, Drip::Pings, Drip::Events] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // This process, but for its arguments.
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join(pid.to_string());
        std::fs::create_dir(&dir).unwrap();
        for name in ["fd", "net", "ns", "status"] {
            symlink(format!("/proc/{pid}/{name}"), dir.join(name)).unwrap();
        }
        std::fs::write(dir.join("cmdline"), format!("node\0--inspect=127.0.0.1:{port}\0")).unwrap();
        let server = std::thread::spawn(move || serve(&listener, drip));
        let node = Node::open(&dir, pid).unwrap();
        let (sampled, left_open) = node.sample(Duration::from_millis(100), false, || unreachable!("{drip:?}"));
        let why = sampled.err().unwrap();
        let is_over = matches!(&why, Refusal::Connection(error) if error.kind() == std::io::ErrorKind::TimedOut);
        assert!(is_over, "{drip:?}: {why:?}");
        assert_eq!(left_open, None);
        server.join().unwrap();
    }
}

#[test]
fn only_an_inspector_of_the_program_itself_is_asked() {
    let pid = std::process::id();
    // Two programs listen on one port, each on an address of its own.
    let (own, other) = loop {
        let own = TcpListener::bind("127.0.0.2:0").unwrap();
        if let Ok(other) = TcpListener::bind(("127.0.0.1", own.local_addr().unwrap().port())) {
            break (own, other);
        }
    };
    other.set_nonblocking(true).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join(pid.to_string());
    std::fs::create_dir_all(dir.join("fd")).unwrap();
    for name in ["net", "ns", "status"] {
        symlink(format!("/proc/{pid}/{name}"), dir.join(name)).unwrap();
    }
    let socket = std::fs::read_link(format!("/proc/self/fd/{}", own.as_raw_fd())).unwrap();
    symlink(socket, dir.join("fd/3")).unwrap();
    let port = own.local_addr().unwrap().port();
    std::fs::write(dir.join("cmdline"), format!("node\0--inspect={port}\0")).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = own.accept().unwrap();
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        stream.write_all(LIST).unwrap();
        // Another program has this connection, as it would if it had come to listen on the address.
        let (stream, _) = own.accept().unwrap();
        tungstenite::accept(stream).unwrap().read()
    });
    let node = Node::open(&dir, pid).unwrap();
    let (sampled, _) = node.sample(Duration::from_secs(60), false, || unreachable!("it is sampled"));
    let why = sampled.err().unwrap();
    assert!(matches!(why, Refusal::NotUnderstood), "{why:?}");
    let asked = server.join().unwrap();
    assert!(asked.is_err(), "{asked:?}");
    let kind = other.accept().unwrap_err().kind();
    assert_eq!(kind, std::io::ErrorKind::WouldBlock);
}

/// Pretends to be Node.js by the name of a mapped file, and its inspector: says when it is asked, and never ends its answer.
const FALSE: &str = "
import mmap, socket, sys, time
with open(sys.argv[1]) as file: area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
listener = socket.socket(fileno=0)
print('ready', flush=True)
connection, _ = listener.accept()
print('asked', flush=True)
while True:
    connection.send(b'a')
    time.sleep(0.01)
";

#[test]
fn a_second_interrupt_ends_the_command_although_an_inspector_never_answers() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libnode.so.115");
    std::fs::write(&library, "x").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let option = format!("--inspect=127.0.0.1:{}", listener.local_addr().unwrap().port());
    let mut program = Command::new("python3");
    program.args(["-c", FALSE]).arg(&library).arg(option);
    program
        .stdin(OwnedFd::from(listener))
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut program = Owned(program.spawn().unwrap());
    let mut lines = BufReader::new(program.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let mut command = Command::new(ZMTOP);
    command.args(["heap", &program.0.id().to_string(), "--code", "1s", "--inspector"]);
    let mut command = Owned::quiet(&mut command);
    assert_eq!(lines.next().unwrap().unwrap(), "asked");
    // Signals that come together are one.
    let status = loop {
        let _ = kill_process(Pid::from_child(&command.0), Signal::INT);
        std::thread::sleep(Duration::from_millis(20));
        if let Some(status) = command.0.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(130));
}
