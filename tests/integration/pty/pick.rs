//! `zmtop --pick`: the screen goes to the terminal, the chosen pid to whoever reads stdout.

use std::process::{Command, Stdio};

use crate::support::Owned;
use crate::support::pty::Pty;

/// A shell that takes what is picked as its own, and the terminal's modes before and after.
fn picking(filter: &str) -> Pty {
    let script = format!(
        "before=$(stty -g); got=$($ZMTOP --pick --filter 'name:sleep {filter}'); code=$?; \
         [ \"$before\" = \"$(stty -g)\" ] && echo given back; echo code $code; echo got $got.; read wait"
    );
    Pty::run((100, 30), "sh", &["-c", &script], &[])
}

#[test]
fn enter_prints_the_pid_and_nothing_else() {
    let sleeper = Owned::sleep("8765.4");
    let mut pty = picking("cmd:8765.4");
    pty.wait("the sleeper", |s| s.contains("sleep 8765.4") && s.contains("Σ 1 of"));
    pty.wait_for("pick");
    pty.send("\r");
    pty.wait_for("got ");
    let expected = format!("given back\ncode 0\ngot {}.", sleeper.id());
    assert!(pty.text().trim_end().ends_with(&expected), "{}", pty.text());
}

#[test]
fn tagged_processes_are_printed_together() {
    let sleepers = [Owned::sleep("8765.5"), Owned::sleep("8765.5")];
    let mut pty = picking("cmd:8765.5");
    pty.wait("the sleepers", |s| s.contains("sleep 8765.5") && s.contains("Σ 2 of"));
    // The second one stays tagged however the rows change places.
    pty.send(" ");
    pty.wait_for("1 tagged");
    pty.send(" ");
    pty.wait_for("2 tagged");
    pty.send("\r");
    pty.wait_for("got ");
    let mut pids = sleepers.each_ref().map(|sleeper| sleeper.id());
    pids.sort_unstable();
    assert!(
        pty.text().contains(&format!("got {} {}.", pids[0], pids[1])),
        "{}",
        pty.text()
    );
}

#[test]
fn leaving_picks_nothing_and_says_so_by_its_exit_code() {
    let _sleeper = Owned::sleep("8765.6");
    let mut pty = picking("cmd:8765.6");
    pty.wait("the sleeper", |s| s.contains("sleep 8765.6") && s.contains("Σ 1 of"));
    pty.send("q");
    pty.wait_for("code 1\ngot .");
    assert!(pty.text().contains("given back"), "{}", pty.text());
}

#[test]
fn without_a_terminal_there_is_nothing_to_pick_from() {
    // A session of its own has no controlling terminal.
    let done = Command::new("setsid")
        .args(["-w", crate::support::pty::ZMTOP, "--pick"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), &*done.stdout), (Some(2), &b""[..]), "{err}");
    assert!(
        err.starts_with("zmtop: --pick needs a terminal for the screen"),
        "{err}"
    );
}
