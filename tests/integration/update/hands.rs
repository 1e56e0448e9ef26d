//! Keys that a hand from htop presses.

use zmtop::tui::{Effect, Event};

use crate::support::rows::{MIB, walk};
use crate::support::session::{Session, busy};

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |message| &message.text)
}

fn tagged(session: &Session) -> Vec<u32> {
    let mut pids: Vec<u32> = session
        .app
        .tables
        .tags
        .iter()
        .filter_map(|key| Some(key.process()?.pid))
        .collect();
    pids.sort_unstable();
    pids
}

#[test]
fn c_tags_a_process_and_all_below() {
    let mut session = Session::new(120, 40);
    session.minute().types("900").keys("Enter c");
    assert_eq!(tagged(&session), [900, 901]);
    assert_eq!(message(&session), "tagged 900 and 1 process below");
    session.keys("c");
    assert!(tagged(&session).is_empty());
    assert_eq!(message(&session), "untagged 900 and 1 process below");
}

#[test]
fn e_shows_the_environment_l_the_open_files_and_j_the_heap() {
    for (key, title) in [
        ("e", " Limits and environment "),
        ("l", " Open files "),
        ("J", " Heap "),
    ] {
        let mut session = Session::new(80, 24);
        session.minute().keys(key);
        session.line(title);
        session.line("900 python3: …");
        assert!(matches!(session.effects.last(), Some(Effect::Ask(_, id)) if id.pid == 900));
        session.answers();
        session.line("API_TOKEN");
        session.line("***");
        session.keys("/").types("home");
        assert!(session.line("HOME").contains("/root"));
        // A group has no such popup.
        session.keys("Esc Esc Tab").keys(key);
        assert!(
            message(&session).contains("select one process"),
            "{}",
            message(&session)
        );
    }
}

#[test]
fn a_long_value_is_shown_whole() {
    let mut session = Session::new(40, 24);
    session.minute().keys("e");
    let Some(Effect::Ask(inquiry, id)) = session.effects.last().cloned() else {
        panic!("nothing was asked")
    };
    let value: String = ('a'..='z').cycle().take(100).collect();
    let found = vec![(b"X"[..].into(), value.as_bytes().into())];
    session.feed(Event::Answered(inquiry, id, Ok(found)));
    let picture = session.picture();
    let shown: String = picture.chars().filter(char::is_ascii_lowercase).collect();
    assert!(shown.contains(&value), "{picture}");
}

#[test]
fn keys_that_do_nothing_now_say_what_they_need() {
    for (key, words) in [
        ("a", "no kill to acknowledge; for CPU affinity, use taskset"),
        ("H", "threads have no rows"),
        ("w", "v shows two tables first; Enter shows the command line"),
        ("n", "F3 searches first"),
        ("N", "F3 searches first; s sorts"),
        ("U", "no row is tagged"),
        ("*", "t shows the tree first"),
        ("-", "nothing to collapse here"),
        ("(", "p shows the chart first"),
        ("B", "no mark is set"),
        ("Backspace", "no group is open"),
        ("\\", "no filter applies"),
    ] {
        let mut session = Session::new(120, 40);
        session.minute().keys(key);
        assert!(message(&session).contains(words), "{key}: {}", message(&session));
    }
}

#[test]
fn the_help_begins_with_the_ten_keys_that_one_needs() {
    let mut session = Session::new(80, 24);
    session.minute().keys("?");
    let picture = session.picture();
    let first = picture.find("THE TEN KEYS TO BEGIN WITH").unwrap();
    let rest = picture.find("ALL KEYS");
    assert!(rest.is_none_or(|rest| rest > first));
    for words in [
        "Filter:", "Sort by", "Sum by", "Leaks", "Pages:", "signal", "Back one", "Quit", "Select", "Details",
    ] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    // A digit goes to a section, which the first lines list.
    assert!(picture.contains("keys, 4 filter, 5 columns, "), "{picture}");
    session.keys("4");
    session.line("4 FILTER");
    session.keys("1");
    session.line("1 THE TEN KEYS");
    session.keys("/").types("replaced:deleted");
    session.line("replaced:deleted");
}

#[test]
fn a_popup_about_a_process_leads_to_another_about_it() {
    let mut session = Session::new(80, 24);
    session.minute().keys("e");
    session.line("environment");
    let footer = session.line("close");
    assert!(footer.contains("O call paths") && footer.contains("J heap"), "{footer}");
    for (key, title) in [
        ("l", " Open files "),
        ("J", " Heap "),
        ("O", " Origin of the memory "),
        ("J", " Heap "),
    ] {
        session.keys(key);
        assert!(session.picture().contains(title), "{key}: {}", session.picture());
    }
    // Other keys of the table stay without effect.
    session.keys("t");
    assert!(session.picture().contains(" Heap "));
}

#[test]
fn a_popup_about_a_process_leads_to_one_about_the_same_process_wherever_the_selection_is() {
    // The selection stays on the first row, which becomes that of another process.
    let mut moved = busy(12);
    moved.last_mut().unwrap().walk = Ok(walk(9000 * MIB, 0));
    let mut ended = busy(12);
    ended.retain(|process| process.id.pid != 900);
    for (keys, processes) in [
        ("e l", &moved),
        ("e J", &moved),
        ("J O", &moved),
        ("O l", &moved),
        ("l e", &ended),
        ("O e", &ended),
        ("Enter m l", &ended),
        ("Enter m O", &ended),
    ] {
        let mut session = Session::new(120, 40);
        session.minute();
        assert_eq!(session.selected(), Some(900));
        let (first, then) = keys.rsplit_once(' ').unwrap();
        session.keys(first).tick(1, processes.clone());
        assert_ne!(session.selected(), Some(900), "{keys}");
        session.keys(then);
        let picture = session.picture();
        assert!(picture.contains(" of 900 python3 "), "{keys}: {picture}");
        assert!(!picture.contains(" Mappings "), "{keys}: {picture}");
    }
}
