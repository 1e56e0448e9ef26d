//! The real program where life is hard: few descriptors, little memory, reads that hang, storms, liars.

mod configs;
mod gap;
mod homes;
mod limits;
mod names;
mod newcomers;
mod output;
mod rights;
mod storm;
mod stuck;

use std::io::Write;

use crate::support::Owned;
use crate::support::pty::Pty;

/// A number of `/proc/<pid>/status`.
fn status(pid: i32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(key)).unwrap();
    line.trim_start_matches(':')
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// Presses `q`: the program must end as if nothing had been hard.
#[track_caller]
fn quit(pty: &mut Pty) {
    pty.send("q");
    assert_eq!(pty.exit_code(), 0, "{}", pty.text());
}

/// Sees a process that was started come and, once ended, go: the refreshes go on. Leaves a filter behind.
#[track_caller]
fn refreshes(pty: &mut Pty, mark: &str) {
    pty.send(&format!("/cmd:{mark}\r"));
    pty.wait_for("no process matches");
    let sleeper = Owned::sleep(mark);
    pty.wait("a row with figures", |s| {
        let row = s.lines().find(|l| l.contains(&format!("sleep {mark}")));
        row.is_some_and(|row| row.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    });
    drop(sleeper);
    pty.wait_for("no process matches");
}

/// Says that a test cannot be done here.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Returns true if the tests run as root; says so if not. CI runs them as root.
fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    assert!(root || std::env::var_os("CI").is_none(), "CI runs the tests as root");
    if !root {
        skip("not root");
    }
    root
}
