//! Processes that call themselves what a terminal would obey.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use super::quit;
use crate::support::Owned;
use crate::support::pty::{ESC, PATIENCE, Pty};

/// Looks like the end of a comm in `stat`.
const COMM: &str = "a\nb) R 1 (x";
/// Clears the screen, sets the clipboard, rings, is not UTF-8, turns the direction, has a C1 CSI and OSC.
const ARGV: &[u8] = b"zq\x1b[2J\x1b]52;c;aGk=\x07bad\xff\xfe\xe2\x80\xaerev\xc2\x9b31m\xc2\x9d0;t\x9b1m\r\n\tend";
const SHOWN: &str = r"zq\x1b[2J\x1b]52;c;aGk=\x07bad\xff\xfe\u{202e}rev\x9b31m\x9d0;t\x9b1m\r\n\tend 6006.25";

#[test]
fn are_listed_and_not_obeyed() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join(COMM);
    let sleep = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|d| d.join("sleep"))
        .find(|p| p.is_file())
        .unwrap();
    crate::support::copy_program(&sleep, &program);
    let mut command = Command::new(&program);
    command.arg0(OsStr::from_bytes(ARGV)).arg("6006.25");
    let sleeper = Owned::quiet(&mut command);
    let pid = sleeper.id();
    // A child's name is set a moment after its parent goes on.
    let named = || std::fs::read(format!("/proc/{pid}/comm")).unwrap() == [COMM.as_bytes(), b"\n"].concat();
    let start = Instant::now();
    while !named() {
        assert!(start.elapsed() < PATIENCE, "the name is not set");
        std::thread::sleep(Duration::from_millis(1));
    }

    let columns = "pss,swap,pid,user,comm,command";
    let mut pty = Pty::zmtop((200, 40), &["--interval", "100ms", "--columns", columns]);
    pty.wait_for_table();
    // By what a name has between two that are escaped.
    pty.send("/cmd:\"]52;c;agk=\"\r");
    pty.wait("it alone", |s| s.contains(SHOWN) && s.contains("Σ 1 of"));
    let screen = pty.text();
    let heading = screen.lines().find(|l| l.contains("COMMAND")).unwrap();
    let row = screen
        .lines()
        .find(|l| l.contains(&format!(" {pid} ")) && l.contains(SHOWN))
        .unwrap();
    let column = |line: &str, text: &str| line.find(text).map(|at| line[..at].chars().count());
    assert_eq!(column(row, SHOWN), column(heading, "COMMAND"), "{screen}");
    assert_eq!(column(row, r"a\nb) R 1 (x"), column(heading, "NAME"), "{screen}");
    let shows_figures = row.trim_start().starts_with(|c: char| c.is_ascii_digit());
    assert!(shows_figures, "its parts are not taken for those of stat: {row}");

    // Searched for, in the tree, in both tables, tagged, and without the filter.
    for keys in ["t", " ", "v", "v", "?", ESC, "\\", "/", "zq", ESC, "s", ESC] {
        pty.send(keys);
        std::thread::sleep(Duration::from_millis(150));
    }
    quit(&mut pty);
    assert_tame(&pty.raw());
}

/// Checks that what was written is UTF-8, and that every control in it is one of zmtop's own.
#[track_caller]
fn assert_tame(raw: &[u8]) {
    let text = std::str::from_utf8(raw).unwrap();
    assert!(text.contains("zq"), "the name was never shown");
    // A filter that is typed may begin like the name, and a sequence of zmtop's own follows it.
    assert!(
        !text.contains("\x1b[2J\\") && !text.contains("\x1b[2J\x1b]52"),
        "the name was obeyed"
    );
    // The question for the terminal's background is zmtop's own, asked once.
    let text = text.replacen("\x1b]11;?\x1b\\", "", 1);
    for (at, c) in text.char_indices() {
        let context = || text[at..].chars().take(20).collect::<String>();
        match c {
            '\x1b' => assert!(text[at..].starts_with("\x1b["), "{:?}", context()),
            // The shell's own last line may end so.
            '\r' | '\n' => {}
            c => assert!(!c.is_control() && c != '\u{202e}', "{:?}", context()),
        }
    }
}
