//! Digits in the table: a page, or the pid of a process to jump to.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zmtop::config::Action;
use zmtop::sampler::mappings::Mappings;
use zmtop::tui::Event;
use zmtop::tui::event::PID_PAUSE;

use crate::support::session::Session;

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |message| &message.text)
}

fn page(session: &Session) -> Option<Action> {
    session.app.pages.open()
}

#[test]
fn a_lone_digit_is_its_page_after_a_pause() {
    let mut session = Session::new(80, 24);
    session.minute().types("2");
    assert_eq!(page(&session), None, "it may begin a pid");
    session.feed(Event::KeyPause);
    assert_eq!(page(&session), Some(Action::MemoryPage));
    session.types("3").feed(Event::KeyPause);
    assert_eq!(page(&session), Some(Action::KernelPage));
    // Another key does not wait for the pause.
    session.types("2j");
    assert_eq!(page(&session), Some(Action::MemoryPage));
    session.types("1/");
    assert_eq!(page(&session), None);
    assert!(session.app.modal.is_some());
    // A pause after other keys is nothing.
    session.keys("Esc").feed(Event::KeyPause);
    assert!(session.app.modal.is_none() && page(&session).is_none());
}

#[test]
fn esc_says_which_search_it_ends() {
    let mut session = Session::new(80, 24);
    session.minute().keys("F3").types("python").keys("Enter Esc");
    assert_eq!(message(&session), "cleared: search python");
}

#[test]
fn digits_at_once_jump_to_a_pid() {
    let mut session = Session::new(80, 24);
    session.minute().types("401");
    assert_eq!(session.selected(), Some(401));
    assert!(message(&session).starts_with("401 "), "{}", message(&session));
    session.keys("Enter");
    assert_eq!(session.selected(), Some(401));
    assert!(session.app.modal.is_none());
    // Esc stays on it: the next key acts on the process that was found.
    session.types("90").keys("Esc");
    assert_eq!(session.selected(), Some(900));
    session.types("401").keys("Esc");
    assert_eq!(session.selected(), Some(401));
    // The beginning of a pid selects the first one of it.
    session.types("90");
    assert_eq!(session.selected(), Some(900));
    // Slow digits after the first are digits still, and Backspace removes them.
    session.keys("1");
    assert_eq!(session.selected(), Some(901));
    session.keys("Backspace");
    assert_eq!(session.selected(), Some(900), "the first of these");
    // Another key leaves the input and does what it does, also a capital letter.
    session.keys("Space").types("90");
    assert_eq!(session.app.tables.tags.len(), 1);
    session.feed(Event::Key(KeyEvent::new(KeyCode::Char('U'), KeyModifiers::SHIFT)));
    assert!(session.app.modal.is_none() && session.app.tables.tags.is_empty());
    session.types("90").keys("Home");
    assert_eq!(session.app.tables.current().list.cursor, 0);
    session.types("401").keys("/");
    assert!(session.picture().contains("Filter"), "{}", session.picture());
    // A pause completes the pid: a later digit opens its page.
    session.keys("Esc").types("90");
    assert_eq!(session.app.key_pause(), Some(PID_PAUSE));
    session.feed(Event::KeyPause);
    assert!(session.app.modal.is_none() && session.app.key_pause().is_none());
    assert_eq!(session.selected(), Some(900));
    session.keys("2");
    assert_eq!(page(&session), Some(Action::MemoryPage));
}

#[test]
fn a_pid_that_is_not_there_or_not_shown_is_reported() {
    let mut session = Session::new(120, 40);
    session.minute().types("77777");
    assert_eq!(message(&session), "no process 77777");
    session.keys("Enter");
    assert_eq!(message(&session), "no process 77777");
    assert!(session.app.modal.is_none());
    session.keys("/").types("user:alice").keys("Enter").types("401");
    assert!(
        message(&session).ends_with("is not shown: the filter hides it, \\ clears it"),
        "{}",
        message(&session)
    );
    assert!(session.keys("Esc").selected() != Some(401));
}

#[test]
fn a_pid_leads_from_a_page_to_its_process_and_among_groups_to_its_group() {
    let mut session = Session::new(120, 40);
    session.minute().keys("2").types("401");
    assert_eq!((page(&session), session.selected()), (None, Some(401)));
    session.keys("Enter Tab").types("901");
    assert_eq!(session.selected_group().as_deref(), Some("python3 worker.py"));
}

#[test]
fn among_mappings_a_digit_is_its_page_at_once() {
    let mut session = Session::new(120, 40);
    session.minute().keys("m");
    let number = session.app.requests.scans;
    session.feed(Event::ScanDone(number, Arc::new(Mappings::default())));
    assert!(session.app.query.shows_mappings());
    session.types("2");
    assert_eq!(page(&session), Some(Action::MemoryPage));
}
