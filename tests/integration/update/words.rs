//! Messages about keys that lead nowhere, and texts that zmtop copies.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zmtop::tui::{Effect, Event, Opening};

use crate::support::session::Session;

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |message| &message.text)
}

#[test]
fn a_key_that_is_not_bound_names_the_one_that_lists_them() {
    let mut session = Session::new(120, 40);
    session.minute().keys("Q");
    assert_eq!(message(&session), "Q does nothing here: ? lists the keys");
    session.keys("Down");
    assert_eq!(message(&session), "");
    for key in ["C-t", "A-t", "Insert", "Delete", "F12", "C-F5", "C-Delete"] {
        session.keys(key);
        assert_eq!(message(&session), format!("{key} does nothing here: ? lists the keys"));
    }
    session.feed(shifted(KeyCode::F(5)));
    assert_eq!(message(&session), "S-F5 does nothing here: ? lists the keys");
    // In what is open, too.
    session.keys("/ F12");
    assert_eq!(message(&session), "F12 does nothing here");
    session.keys("Esc ? Insert");
    assert_eq!(message(&session), "Insert does nothing here");
    session.keys("Esc 3 Enter");
    assert!(!message(&session).is_empty());
}

fn shifted(code: KeyCode) -> Event {
    Event::Key(KeyEvent::new(code, KeyModifiers::SHIFT))
}

#[test]
fn the_first_screen_says_in_a_line_what_is_on_it_and_which_keys_matter() {
    for (opening, begins) in [(Opening::First, true), (Opening::Usual, false), (Opening::Pick, false)] {
        let mut session = Session::new(80, 24);
        session.app.begin(opening);
        session.minute();
        let says = "Memory by process, largest first: / filters, Enter shows details, ? helps";
        let last = session.picture().lines().last().unwrap().trim().to_owned();
        assert_eq!(last == says, begins, "{last}");
        // Who has read it, and presses nothing, sees the keys.
        let mut reader = Session::new(80, 24);
        reader.app.begin(opening);
        let last = reader.minute().minute().picture();
        assert!(last.lines().last().unwrap().contains("filter "), "{last}");
    }
}

#[test]
fn a_search_that_finds_nothing_says_so() {
    let mut session = Session::new(120, 40);
    session.minute().keys("F3").types("nobody").keys("Enter");
    assert_eq!(message(&session), "no match for nobody");
    session.keys("Down n");
    assert_eq!(message(&session), "no match for nobody");
}

#[test]
fn the_pid_and_the_command_line_are_copied() {
    let mut session = Session::new(120, 40);
    session.minute().keys("y Y");
    let copied: Vec<_> = session
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Copy(text) => Some(&**text),
            _ => None,
        })
        .collect();
    assert_eq!(copied, ["900", "/usr/bin/python3 train.py --epochs 40"]);
}

/// Checks the quotes of a copied command line: it is pasted into a shell, which may be a shell of root.
#[test]
fn a_copied_command_line_is_quoted_for_a_shell() {
    let long = [b"run\0", &b"x".repeat(9000)[..]].concat();
    let long = zmtop::proc::pid::cmdline(&long);
    let (head, tail) = ("x".repeat(3065), "x".repeat(1024));
    for (line, copied) in [
        (
            &b"sh\0-c\0echo it's; rm -rf x\0\0"[..],
            r"sh -c 'echo it'\''s; rm -rf x' ''",
        ),
        (b"a\nrm -rf x\n\0\x1b[201~id\0", r"$'a\nrm -rf x\n' $'\033[201~id'"),
        (b"\xff'\\\0", r"$'\377\047\\'"),
        (b"postgres: walwriter\0\0\0\0", "'postgres: walwriter'"),
        (b"", "'[python3]'"),
        (&long, &format!("run '{head}…{tail}'")),
    ] {
        let mut session = Session::new(120, 40);
        let mut processes = crate::support::session::busy(1);
        for process in &mut processes {
            std::sync::Arc::make_mut(&mut process.facts).cmdline = Ok(line.into());
            std::sync::Arc::make_mut(&mut process.facts).comm = (*b"python3").into();
        }
        session.tick(5, processes).keys("Y");
        let Some(Effect::Copy(text)) = session.effects.last() else {
            panic!("{:?}", session.effects)
        };
        assert_eq!(text, copied);
        let is_cut = text.contains('…');
        assert_eq!(
            message(&session).starts_with("copied without its middle"),
            is_cut,
            "{}",
            message(&session)
        );
    }
}

#[test]
fn groupings_of_nobody_are_skipped() {
    let mut session = Session::new(120, 40);
    // Nobody of the made machine is in a unit or a container.
    session.minute().keys("Tab Tab Tab");
    assert!(
        session.line("zmtop on db1").contains("by cgroup"),
        "{}",
        session.picture()
    );
}

#[test]
fn diagnostics_say_what_the_header_does_not() {
    let mut session = Session::new(80, 24);
    session.minute().keys("D");
    let picture = session.picture();
    for words in [
        "7: 6 read, 0 being read, 1 not readable",
        "6 in the last scan",
        "of at most 5 % of a core",
        "of at most 64.0M (history.max_memory)",
    ] {
        assert!(picture.contains(words), "{words}:\n{picture}");
    }
    assert!(!session.keys("Esc").line("zmtop on db1").contains("walk"));
}
