//! The command that captures a proc tree on a machine without zmtop.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::Owned;
use crate::support::pty::ZMTOP;

const CAPTURE: &str = include_str!("../../../assets/capture.sh");

/// Captures a process, after `mocks` of commands, to `place`.
fn capture(mocks: &str, pid: u32, place: &Path) {
    let script = CAPTURE.replace("[0-9]*", &pid.to_string());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{mocks}{script}")]).env("d", place);
    assert!(shell.stderr(Stdio::null()).status().unwrap().success());
}

/// Returns the row of a process in `zmtop ps`, in the tree at `root` or on this machine. It has only figures that no other
/// process can change: a program that starts or ends in between may map the same libraries, which changes USS and PSS.
fn ps(root: Option<&Path>, pid: u32) -> String {
    let mut command = Command::new(ZMTOP);
    command.args([
        "ps",
        "--format",
        "csv",
        "-H",
        "--columns",
        "pid,user,pss_anon,swap,rss,comm,cmdline",
    ]);
    command.arg(format!("pid:{pid}")).env("HOME", "/nonexistent");
    if let Some(root) = root {
        command.arg("--proc-root").arg(root);
    }
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn what_is_captured_reads_as_what_was_there() {
    let line = CAPTURE.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(line.count(), 1, "one line, to be pasted");
    let shells: [&[&str]; 2] = [&["sh"], &["busybox", "sh"]];
    let sleeper = Owned::sleep("7019.25");
    let pid = sleeper.id();
    std::thread::sleep(Duration::from_millis(200));
    for shell in shells {
        if Command::new(shell[0]).arg("true").output().is_err() {
            crate::support::cannot("there is no busybox");
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("captured");
        // Of one process only: a machine may have thousands.
        let script = CAPTURE.replace("[0-9]*", &pid.to_string());
        assert_ne!(script, CAPTURE);
        let capture = || {
            let mut command = Command::new(shell[0]);
            command.args(&shell[1..]).arg("-c").arg(&script).env("d", &place);
            command.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap()
        };
        assert!(capture().success(), "{shell:?}");
        assert!(!capture().success(), "{shell:?}: two captures in one place");
        assert!(place.with_extension("tgz").is_file());
        let (there, here) = (ps(Some(&place.join("proc")), pid), ps(None, pid));
        assert_eq!(there.lines().count(), 1, "{there}");
        assert!(there.contains("sleep 7019.25"), "{there}");
        assert_eq!(there, here, "{shell:?}");
        let exe = std::fs::read_link(place.join(format!("proc/{pid}/exe"))).unwrap();
        assert_eq!(exe, std::fs::read_link(format!("/proc/{pid}/exe")).unwrap());
    }
}

#[test]
fn a_capture_says_why_memory_is_missing() {
    let sleeper = Owned::sleep("7019.5");
    let pid = sleeper.id();
    // As such a file is, of another's process and of one that ends meanwhile.
    for (said, unread) in [
        ("Permission denied", "permission denied"),
        ("No such process", "process ended"),
        ("No such file or directory", "process ended"),
        ("Input/output error", "not offered by this kernel"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("captured");
        let cat = format!(
            "cat() {{ case $1 in */smaps*) echo \"cat: can't open '$1': {said}\" >&2; return 1;; esac; command cat \"$@\"; }};"
        );
        capture(&cat, pid, &place);
        let mut command = Command::new(ZMTOP);
        command.args([
            "ps",
            "-H",
            "--no-totals",
            "--format",
            "csv",
            "--columns",
            "pid,pss,unread",
            "--proc-root",
        ]);
        let done = command
            .arg(place.join("proc"))
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        // Where nothing can be read, it says so instead of a table.
        let words = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        if unread == "process ended" {
            assert_eq!(words.trim_end(), format!("{pid},,{unread}"));
        } else {
            assert!(words.contains(&format!("can be read: {unread}")), "{words}");
        }
    }
}

#[test]
fn a_capture_says_why_facts_are_missing() {
    let sleeper = Owned::sleep("7019.75");
    let pid = sleeper.id();
    for (said, unread) in [
        ("Permission denied", "permission denied"),
        ("No such process", "process ended"),
        ("Input/output error", "not offered by this kernel"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("captured");
        let mocks = format!(
            "cat() {{ case $1 in */cmdline|*/cgroup|*/status) echo \"cat: can't open '$1': {said}\" >&2; return 1;; esac; \
             command cat \"$@\"; }}; \
             readlink() {{ if [ $# = 2 ]; then echo \"readlink: $2: {said}\" >&2; fi; return 1; }};"
        );
        capture(&mocks, pid, &place);
        let done = Command::new(ZMTOP)
            .args(["ps", "--format", "ndjson", "--proc-root"])
            .arg(place.join("proc"))
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let reasons = &json["processes"][0]["unread"];
        for fact in ["cmdline", "cgroup", "uid", "user", "exe"] {
            assert_eq!(reasons[fact], unread, "{fact}: {json:#}");
        }
    }
}

#[test]
fn a_kernel_thread_has_no_program_in_a_capture() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("captured");
    // Of a kernel thread, and of a process that has ended, the kernel says the same of the link.
    let is_kernel_thread = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| rest.split(' ').nth(1) == Some("2"))
    };
    let Some(pid) = (3..200).find(is_kernel_thread) else {
        return crate::support::cannot("there is no kernel thread here");
    };
    capture("", pid, &place);
    let unread = std::fs::read_to_string(place.join(format!("proc/{pid}/unread"))).unwrap_or_default();
    assert!(!unread.contains("exe: No such file"), "{unread}");
}
