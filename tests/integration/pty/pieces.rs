//! Escape sequences that arrive in pieces, on a real terminal: nothing of them is typed, and nothing acts.

use std::time::Duration;

use crate::support::Owned;
use crate::support::pty::{ESC, Pty};

/// Keys, reports of the mouse, and answers of the terminal.
const SEQUENCES: [&str; 9] = [
    "\x1b[B",
    "\x1bOA",
    "\x1b[5~",
    "\x1b[1;5C",
    "\x1b[<0;900;900M",
    "\x1b[?64;1;2c",
    "\x1b[>41;354;0c",
    "\x1b]11;rgb:dcdc/bbbb/dddd\x1b\\",
    "\x1bP>|tmux 3.4\x1b\\",
];

/// Longer than a lone ESC waits.
const PAUSE: Duration = Duration::from_millis(80);

/// Sends a sequence in two pieces.
fn send_cut(pty: &mut Pty, sequence: &str, cut: usize) {
    let (head, tail) = sequence.split_at(cut);
    pty.send(head);
    std::thread::sleep(PAUSE);
    pty.send(tail);
}

#[test]
fn nothing_of_it_is_typed_into_a_prompt() {
    let mut pty = Pty::zmtop((120, 30), &["--interval", "200ms"]);
    pty.wait_for_table();
    pty.send("/a");
    pty.wait_for(" Filter  a");
    let mut typed = String::from("a");
    for sequence in SEQUENCES {
        // From the third byte on: an ESC on its own would close the prompt, as it should.
        for cut in [2, sequence.len() / 2 + 1, sequence.len() - 1] {
            send_cut(&mut pty, sequence, cut);
        }
        // What is typed then is all there is.
        pty.send("\x05z");
        typed.push('z');
        pty.wait("the next letter", |screen| {
            let line = screen.lines().find(|line| line.contains(" Filter "));
            line.is_some_and(|line| line.contains(&format!(" Filter  {typed}")))
        });
    }
    // An ESC of its own closes it. The rest of its sequence, which must not come too late, is a matter of the decoder's own tests.
    pty.send("\x1b");
    pty.wait("it is closed", |screen| !screen.contains(" Filter "));
    pty.send("/zz");
    pty.wait_for(" Filter  zz");
    pty.send("\x03q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn no_process_is_changed_by_it() {
    let sleeper = Owned::sleep("300");
    let pid = sleeper.id();
    let mut pty = Pty::zmtop((120, 30), &["--interval", "200ms"]);
    pty.wait_for_table();
    let filter = format!("/pid:{pid}\r");
    pty.send(&filter);
    pty.wait_for("Σ 1 of");
    for sequence in SEQUENCES {
        for cut in [1, 2] {
            send_cut(&mut pty, sequence, cut);
        }
    }
    // A lone ESC cleared the filter, and an arrow that arrived in one piece moved the selection.
    std::thread::sleep(Duration::from_millis(350));
    pty.send(&filter);
    pty.wait_for("Σ 1 of");
    let nice = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        text.rsplit(") ").next().unwrap().split(' ').nth(16).unwrap().to_owned()
    };
    let before = nice();
    // Each key that changes a process asks first, and Esc leaves it as it was.
    for (key, title) in [
        ("]", "Set the niceness"),
        ("[", "Set the niceness"),
        ("\x1b[18~", "Set the niceness"),
        ("\x1b[19~", "Set the niceness"),
        ("i", "Set the niceness"),
        ("o", "Set oom_score_adj"),
        ("r", "Hot and cold"),
        ("\x1b[20~", "Send a signal"),
    ] {
        assert!(!pty.text().contains(title), "{}", pty.text());
        pty.send(key);
        pty.wait_for(title);
        pty.send(ESC);
        pty.wait("it is closed", |screen| !screen.contains(title));
    }
    assert_eq!(nice(), before);
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
