//! A folded tree is one row: what acts on it asks for which, and what tags it says how many.

use zmtop::model::ProcessSample;
use zmtop::tui::act::ProcessDialog;

use crate::support::rows::{MIB, process, walk};
use crate::support::session::Session;

/// A shell with three processes below it, and a stranger.
fn family() -> Vec<ProcessSample> {
    let commands = [
        (900, 1, "/bin/bash"),
        (
            901,
            900,
            "/opt/apps/bin/server --port 80 --with-a-long-argument=1 --and=another-one --last=argument",
        ),
        (902, 901, "/opt/apps/bin/worker 1"),
        (903, 901, "/opt/apps/bin/helper 2"),
        (950, 1, "/usr/bin/stranger"),
    ];
    let sample = |(pid, parent, command)| {
        let mut sample = process(pid, parent, command);
        sample.walk = Ok(walk(u64::from(1000 - pid) * MIB, 0));
        sample
    };
    commands.into_iter().map(sample).collect()
}

fn session(width: u16) -> Session {
    let mut session = Session::new(width, 24);
    session.tick(1, family()).tick(1, family()).keys("t g");
    while session.selected() != Some(900) {
        session.keys("j");
    }
    session
}

fn chosen(session: &Session) -> Vec<u32> {
    let dialog = session.app.modal::<ProcessDialog>().unwrap();
    dialog
        .selection
        .processes
        .iter()
        .map(|process| process.id.pid)
        .collect()
}

#[test]
fn a_signal_to_a_folded_tree_asks_for_which() {
    let mut session = session(100);
    session.keys("F9");
    assert_eq!(chosen(&session), [900], "open, it is one process");
    session.keys("Esc - F9");
    let picture = session.picture();
    assert!(
        picture.contains("900 bash alone") && picture.contains("and 3 below"),
        "{picture}"
    );
    session.keys("Enter");
    assert_eq!(chosen(&session), [900]);
    session.keys("Esc F9 Down Enter");
    assert_eq!(chosen(&session), [900, 901, 902, 903]);
    let picture = session.keys("Enter").picture();
    assert!(picture.contains("4 processes of the tree of 900 bash"), "{picture}");
    // The same with another action.
    session.keys("Esc Esc i");
    assert!(session.picture().contains("and 3 below"), "{}", session.picture());
    session.keys("Esc");
    assert!(session.app.modal.is_none());
}

#[test]
fn the_question_of_a_folded_tree_stays_with_its_process() {
    let mut session = session(100);
    session.keys("- F9");
    // Another process is on its row, and is selected.
    let mut first = family();
    first[4].walk = Ok(walk(9000 * MIB, 0));
    session.tick(1, first);
    assert_eq!(session.selected(), Some(950));
    session.keys("Enter");
    assert_eq!(chosen(&session), [900]);
    session.keys("Esc k");
    for (key, entry) in [("F9", ""), ("F9", "Down"), ("i", ""), ("o", "Down")] {
        session.tick(1, family());
        while session.selected() != Some(900) {
            session.keys("k");
        }
        session.keys(key);
        assert!(session.picture().contains("900 bash alone"), "{}", session.picture());
        let mut rest = family();
        rest.remove(0);
        session.tick(1, rest);
        session.keys(&format!("{entry} Enter"));
        assert!(session.app.modal.is_none(), "{key} {entry}: {}", session.picture());
        let message = session.app.screen.message.as_ref().unwrap();
        assert_eq!(message.text, "that process has ended", "{key} {entry}");
        session.tick(1, family()).keys("g -");
    }
}

#[test]
fn a_subtree_is_tagged_with_one_key_and_all_that_match_with_another() {
    let mut session = session(100);
    session.keys("- c");
    assert_eq!(session.app.tables.tags.len(), 4);
    assert!(
        session.picture().contains("tagged 900 and 3 processes below"),
        "{}",
        session.picture()
    );
    // What is tagged needs no question.
    session.keys("F9");
    assert_eq!(chosen(&session), [900, 901, 902, 903]);
    session.keys("Esc c");
    assert!(session.app.tables.tags.is_empty());
    session.keys("/").types("apps/bin").keys("Enter A");
    let mut tagged: Vec<u32> = session
        .app
        .tables
        .tags
        .iter()
        .map(|key| key.process().unwrap().pid)
        .collect();
    tagged.sort_unstable();
    assert!(session.picture().contains("3 tagged"), "{}", session.picture());
    assert_eq!(
        tagged,
        [901, 902, 903],
        "the folded ones too, not what is shown for its children"
    );
    session.keys("A");
    assert!(session.app.tables.tags.is_empty());
}

#[test]
fn scrolled_to_the_right_a_row_still_says_whose_it_is() {
    let mut session = session(120);
    session.keys("j -");
    assert!(session.picture().contains("[+2] "), "{}", session.picture());
    let mut seen = false;
    for _ in 0..30 {
        session.keys("Right");
        let picture = session.picture();
        assert!(picture.contains("[+2] ") && picture.contains("COMMAND"), "{picture}");
        assert!(picture.contains("[+2] /opt") || picture.contains("server"), "{picture}");
        seen |= picture.contains("--last=argument");
    }
    assert!(seen, "{}", session.picture());
    // At the end a key says so, and goes no further: as many steps lead back.
    session.keys(&"Right ".repeat(100));
    session.line("the ends of the commands");
    let scroll = session.app.tables.scroll;
    session.keys("Right");
    assert_eq!(session.app.tables.scroll, scroll);
}

#[test]
fn the_chart_of_a_folded_tree_is_of_the_sum() {
    let grown = |mib: u64| {
        let mut all = family();
        all[3].walk = Ok(walk(mib * MIB, 0));
        all
    };
    let mut session = Session::new(160, 24);
    for second in 0..60 {
        session.tick(1, grown(100 + 50 * second));
    }
    session.keys("t g");
    while session.selected() != Some(900) {
        session.keys("j");
    }
    let heights = |line: &str| line.chars().filter(|c| ('▁'..='█').contains(c)).max();
    assert_eq!(heights(&session.line("bash")), Some('▁'), "bash alone is flat");
    assert!(heights(&session.keys("-").line("bash")) >= Some('▅'));
}
