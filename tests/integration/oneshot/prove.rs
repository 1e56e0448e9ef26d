//! `zmtop leaks --prove`, on a real process that touches half of its memory, and on what cannot be asked.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::accuracy::child::{self, Child};
use crate::support::pty::{PATIENCE, ZMTOP};
use crate::support::tree::ProcTree;

const NAME: &str = "oneshot::prove::it_says_what_is_not_touched";
const ENDS: &str = "oneshot::prove::ctrl_c_tells_at_once";

fn command(home: &std::path::Path, line: &str) -> Command {
    let mut command = Command::new(ZMTOP);
    command
        .arg("leaks")
        .args(line.split_whitespace())
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null());
    command
}

fn run(line: &str) -> Output {
    let home = tempfile::tempdir().unwrap();
    command(home.path(), line).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A process with 32 MiB of memory of its own, touched.
fn target(name: &str) -> Child {
    let mut target = Child::start(name);
    target.tell("map 0 32");
    target.tell("touch 0 0 32");
    target
}

#[test]
fn it_says_what_is_not_touched() {
    child::be(NAME);
    let mut target = target(NAME);
    let pid = target.pid();
    let done = run(&format!("--prove {pid} --for 1s --format json"));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let said = text(&done.stderr);
    assert!(
        said.contains(&format!("clearing the referenced bits of {pid} ")),
        "{said}"
    );
    assert!(said.contains("nothing else changes. Waiting 1s"), "{said}");
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&json["schema"], &json["pid"]), (&"zmtop-prove/1".into(), &pid.into()));
    let since = json["untouched_s"].as_f64().unwrap();
    assert!((1.0..30.0).contains(&since), "{since}");
    let anon = json["mappings"].as_array().unwrap();
    let anon = anon.iter().find(|m| m["kind"] == "anon").unwrap();
    let number = |name: &str| anon[name].as_u64().unwrap();
    // Beside the memory that the test maps, the program itself uses some.
    assert!((32 << 20..36 << 20).contains(&number("rss")), "{anon}");
    assert!(number("cold") >= 31 << 20 && number("hot") < 1 << 20, "{anon}");
    assert_eq!(number("rss"), number("hot") + number("cold"));
    assert!(json["totals"]["cold"].as_u64().unwrap() >= 32 << 20);
    let (share, since) = conclusion(json["conclusion"].as_str().unwrap());
    assert!(
        (97..=100).contains(&share) && since.ends_with('s'),
        "{share} % for {since}"
    );

    // While it is waited, a half is touched.
    target.tell("touch 0 0 32");
    let home = tempfile::tempdir().unwrap();
    let waits = command(home.path(), &format!("--prove {pid} --for 3s --top 1"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_cleared(pid);
    target.tell("touch 0 0 16");
    let done = waits.wait_with_output().unwrap();
    let out = text(&done.stdout);
    let (share, _) = conclusion(out.lines().last().unwrap());
    assert!((45..=50).contains(&share), "{out}");
    assert!(out.contains(" COLD ") && out.contains("mappings"), "{out}");
    assert_eq!(
        out.lines().count(),
        5,
        "a title, headings, one mapping, totals, a sentence:\n{out}"
    );
    target.end();
}

/// The share and the time of the sentence at the end.
fn conclusion(sentence: &str) -> (u32, &str) {
    let (share, rest) = sentence.split_once(" % of [anon] was not touched for ").unwrap();
    (share.parse().unwrap(), rest.split_once(": ").unwrap().0)
}

/// Waits until the bits of the process were cleared: few are set, and their number no longer falls.
fn wait_until_cleared(pid: u32) {
    let began = Instant::now();
    let mut before = None;
    loop {
        let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
        let sum = |name: &str| {
            let lines = smaps.lines().filter_map(|line| line.strip_prefix(name));
            let numbers = lines.map(|line| line.split_whitespace().next().unwrap().parse::<u64>().unwrap());
            numbers.sum::<u64>()
        };
        let referenced = sum("Referenced:");
        if referenced < 16 << 10 && sum("Rss:") > 32 << 10 && before == Some(referenced) {
            return;
        }
        before = Some(referenced);
        assert!(began.elapsed() < PATIENCE, "nothing is cleared");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a process has a handler for SIGINT, which ends it before.
fn wait_until_int_is_caught(pid: u32) {
    let began = Instant::now();
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0 {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "SIGINT is never caught");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_tells_at_once() {
    child::be(ENDS);
    let mut target = target(ENDS);
    let home = tempfile::tempdir().unwrap();
    let mut waits = command(home.path(), &format!("--prove {} --for 1h", target.pid()));
    let mut waits = waits.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_until_cleared(target.pid());
    wait_until_int_is_caught(waits.id());
    let pid = rustix::process::Pid::from_raw(waits.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let done = waits.wait().unwrap();
    assert_eq!(done.code(), Some(0));
    let mut out = String::new();
    std::io::Read::read_to_string(&mut waits.stdout.take().unwrap(), &mut out).unwrap();
    assert!(conclusion(out.lines().last().unwrap()).0 >= 97, "{out}");
    // A process that ends meanwhile is reported.
    target.tell("touch 0 0 32");
    let mut waits = command(home.path(), &format!("--prove {} --for 1h", target.pid()));
    let waits = waits.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_cleared(target.pid());
    target.end();
    let done = waits.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("the process has ended"));
    assert!(done.stdout.is_empty());
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let tree = ProcTree::new();
    tree.process(7).write();
    let smaps = include_bytes!("../../fixtures/smaps/6.18.smaps");
    std::fs::write(tree.file(7, "smaps"), smaps).unwrap();
    let home = tempfile::tempdir().unwrap();
    let readonly = home.path().join("config.toml");
    std::fs::write(&readonly, "[ui]\nreadonly = true\n").unwrap();
    let own = std::process::id();
    for (line, code, expected) in [
        ("--prove 0".to_owned(), 2, "0 is no pid"),
        (
            format!("--prove nobody-s-name --proc-root {}", tree.root().display()),
            3,
            "no process is named `nobody-s-name`, or has that in its command line",
        ),
        (format!("--prove {own} --check"), 2, "cannot be used with"),
        (format!("--prove {own} --from x"), 2, "cannot be used with"),
        (format!("--prove {own} word"), 2, "cannot be used with"),
        (
            format!("--prove {own} --for 500ms"),
            2,
            "--for: expected a duration from 1s to 24h, such as 1m",
        ),
        (
            format!("--prove {own} --config {}", readonly.display()),
            2,
            "ui.readonly in the config forbids changes",
        ),
        ("--prove 4194304".to_owned(), 3, "4194304: no such process"),
        (
            format!("--prove 7 --proc-root {}", tree.root().display()),
            3,
            "these processes are not on this machine",
        ),
    ] {
        let done = run(&line);
        assert_eq!(done.status.code(), Some(code), "{line}: {}", text(&done.stderr));
        assert!(text(&done.stderr).contains(expected), "{line}: {}", text(&done.stderr));
        assert!(done.stdout.is_empty(), "{line}");
        assert!(
            !text(&done.stderr).contains("nothing else changes"),
            "{line}: nothing was done"
        );
    }
}
