//! Whole turns of the loop: keys have effects, these are performed, and what comes of them is shown.

use zmtop::act::ActError;
use zmtop::model::mapping::{Mapping, MappingName};

use super::groups::session;
use crate::support::rows::{MIB, walk};
use crate::support::session::Session;

fn heap(mib: u64) -> Vec<Mapping> {
    vec![Mapping {
        areas: 1,
        memory: Ok(walk(mib * MIB, 0).memory),
        ..Mapping::new(MappingName::parse(b"[heap]", false))
    }]
}

#[test]
fn a_process_that_is_signalled_ends() {
    let mut session = session();
    session.keys("F9").answers().keys("Enter").types("y");
    assert!(!session.picture().contains("SIGTERM sent"), "not yet");
    session.answers();
    let name = session.selected().unwrap().to_string();
    let line = session.line("SIGTERM sent to ");
    assert!(line.contains(&name) && line.contains(": it ended"), "{line}");
}

#[test]
fn one_that_cannot_be_acted_on_is_named() {
    let mut session = session();
    let pid = session.selected().unwrap();
    session.world.refusals.insert(pid, ActError::Denied);
    session.keys("F9").answers();
    assert!(session.picture().contains("denied"), "{}", session.picture());
}

#[test]
fn a_number_that_is_set_is_shown_when_it_is_asked_for_again() {
    let mut session = session();
    let pid = session.selected().unwrap();
    session.keys("i").answers().keys("C-u 7 Enter").answers();
    assert_eq!(session.world.tunables.get(&(pid, "nice")), Some(&7));
    session.keys("i").answers();
    assert!(session.picture().contains('7'), "{}", session.picture());
}

#[test]
fn the_mappings_of_what_is_shown_are_summed_up() {
    let mut session = session();
    for pid in [400, 401, 402] {
        session.world.mappings.insert(pid, heap(u64::from(pid)));
    }
    session.keys("/").types("postgres").keys("Enter m").answers();
    assert_eq!(session.group_names(), ["[heap]"; 3]);
    // What is broken off is not answered.
    session.keys("Esc m Esc").answers();
    assert_eq!(session.pids(), [400, 401, 402]);
}

#[test]
fn a_process_in_a_panel_is_read_again_and_again() {
    let mut session = session();
    let pid = session.selected().unwrap();
    session.world.mappings.insert(pid, heap(40));
    session.keys("p").answers();
    assert!(session.picture().contains("[heap]"), "{}", session.picture());
    session.world.mappings.insert(pid, heap(61));
    session.answers();
    assert!(session.line("[heap]").contains("+21.0M"), "{}", session.picture());
}

#[test]
fn what_is_saved_is_said_and_kept() {
    let mut session = session();
    session
        .keys("/")
        .types("pss>1M")
        .keys("Enter W")
        .answers()
        .keys("Enter");
    assert!(!session.picture().contains("saved to"));
    session.answers();
    assert!(session.picture().contains("saved to /config.toml"));
    assert_eq!(session.world.views[0].1.filter, "pss>1M");
}

#[test]
fn leaving_ends_it() {
    let mut session = session();
    session.keys("q");
    assert!(session.ended);
}

/// The world answers what is asked for, and nothing comes of itself.
#[test]
fn nothing_is_answered_that_was_not_asked_for() {
    let mut session = Session::new(80, 24);
    session.minute();
    let before = session.picture();
    session.answers();
    assert_eq!(session.picture(), before);
}
