//! Mappings on the screen: asked for, read elsewhere, shown as they were.

use std::sync::Arc;

use zmtop::group::GroupBy;
use zmtop::model::Identity;
use zmtop::model::mapping::{Mapping, MappingName};
use zmtop::sampler::mappings::{Mappings, Shared};
use zmtop::tui::app::Scope;
use zmtop::tui::{Effect, Event};

use super::groups::session;
use crate::support::rows::{MIB, walk};
use crate::support::session::{Session, grouped};

/// The processes of the last reading asked for.
fn asked(session: &Session) -> (u64, Vec<Identity>) {
    let last = session.effects.iter().rev().find_map(|e| match e {
        Effect::ScanMappings(number, ids) => Some((*number, ids.clone())),
        _ => None,
    });
    last.expect("a reading was asked for")
}

#[test]
fn mappings_are_read_of_what_is_shown() {
    let mut session = session();
    session.keys("m");
    let (number, ids) = asked(&session);
    assert_eq!(ids.len(), 9, "all but the kernel thread");
    assert!(session.picture().contains("0 of 9 processes"));
    session.feed(Event::ScanProgress(number, 5));
    assert!(session.picture().contains("5 of 9 processes"));
    session.keys("m");
    assert_eq!(asked(&session).0, number, "one at a time");
    session.keys("Esc");
    assert!(session.effects.contains(&Effect::CancelScan));
    assert!(!session.picture().contains("of 9 processes"));
    // What comes of it afterwards is late.
    session.feed(Event::ScanDone(number, Arc::new(Mappings::default())));
    assert_eq!(session.app.query.scope, Scope::Processes);

    session.keys("Tab Down Enter m");
    let (number, ids) = asked(&session);
    let pids: Vec<u32> = ids.iter().map(|id| id.pid).collect();
    assert_eq!(pids, [400, 401, 402], "of the group that is open");
    session.feed(Event::ScanFailed(number, "no threads".into()));
    assert!(session.picture().contains("no threads"));
    session.keys("Esc");
    assert!(
        matches!(session.app.query.scope, Scope::Groups(_)),
        "nothing is under way any more"
    );
}

/// Two mappings: a library that two processes map, and the heap of one.
fn found() -> Mappings {
    let made = |name: &[u8], pss: u64, members: &[usize]| Shared {
        mapping: Mapping {
            memory: Ok(walk(pss * MIB, 0).memory),
            ..Mapping::new(MappingName::parse(name, false))
        },
        members: members.into(),
    };
    Mappings {
        shared: vec![
            made(b"[heap]", 40, &[0]),
            made(b"/usr/lib/libc.so.6", 300, &[0, 1]),
            made(b"/usr/lib/old.so (deleted)", 3, &[1]),
        ],
        read: 2,
        ..Mappings::default()
    }
}

#[test]
fn a_filter_that_is_typed_while_mappings_are_read_is_for_them() {
    let mut session = session();
    session.keys("m");
    let (number, _) = asked(&session);
    session.keys("/").types("li");
    session.feed(Event::ScanDone(number, Arc::new(found())));
    session.types("bc").keys("Enter");
    assert_eq!(session.group_names(), ["/usr/lib/libc.so.6"]);
    session.keys("Esc Esc");
    assert_eq!(session.app.query.scope, Scope::Processes);
    assert_eq!(session.app.query.filter.text, "", "of the processes, it was not typed");

    // The filter of the processes does not apply to the mappings, though the field shows it.
    session.keys("/").types("postgres").keys("Enter m /");
    let (number, _) = asked(&session);
    session.feed(Event::ScanDone(number, Arc::new(found())));
    assert_eq!(session.group_names().len(), 3);
    session.types("heap").keys("Enter");
    assert_eq!(session.group_names(), ["[heap]"]);
    session.keys("Esc Esc");
    assert_eq!(session.app.query.filter.text, "postgres");
}

#[test]
fn mappings_stay_as_they_were_read_and_age() {
    let mut session = session();
    session.keys("Tab Down m Down");
    let (number, _) = asked(&session);
    session.feed(Event::ScanDone(number, Arc::new(found())));
    assert_eq!(
        session.group_names(),
        ["/usr/lib/libc.so.6", "[heap]", "/usr/lib/old.so (deleted)"]
    );
    assert_eq!(session.app.tables.current().list.cursor, 0);
    assert!(
        session.line("libc").contains("150M"),
        "on average: {}",
        session.line("libc")
    );
    let picture = session.picture();
    for part in ["MAPPING", "mappings 0s old", "Σ 3 mappings", "mapped by 2 processes"] {
        assert!(picture.contains(part), "{part}:\n{picture}");
    }
    session.tick(12, grouped(3));
    assert!(session.picture().contains("mappings 12s old"));
    assert_eq!(session.group_names().len(), 3);
    // The filter is that of the mappings, by name and by figures.
    session.keys("/").types("libc").keys("Enter");
    assert_eq!(session.group_names(), ["/usr/lib/libc.so.6"]);
    session.keys("/ C-u").types("maps:libc").keys("Enter");
    assert_eq!(
        session.group_names(),
        ["/usr/lib/libc.so.6"],
        "the field too is of its name"
    );
    session.keys("/ C-u").types("heap | deleted").keys("Enter");
    assert_eq!(session.group_names().len(), 2);
    session.keys("\\");
    session.keys("/").types("pss>100M").keys("Enter");
    assert_eq!(session.group_names(), ["/usr/lib/libc.so.6"]);
    assert!(session.picture().contains("Σ 1 of 3 mappings"));
    session.keys("\\ Space");
    assert!(session.picture().contains("Σ 1 tagged"));
    // Read again, they take the place of the old ones.
    session.keys("m");
    let (number, _) = asked(&session);
    session.feed(Event::ScanDone(number, Arc::new(Mappings::default())));
    assert!(session.picture().contains("no mapping matches"));
    session.keys("Esc");
    assert_eq!(session.app.query.scope, Scope::Groups(GroupBy::Command));
    session.keys("m");
    let (number, _) = asked(&session);
    session.feed(Event::ScanDone(number, Arc::new(found())));
    session.keys("Tab");
    assert_eq!(
        session.app.query.scope,
        Scope::Groups(GroupBy::User),
        "on from where it was asked"
    );
}

#[test]
fn the_selection_is_the_same_after_mappings() {
    let mut session = session();
    session.keys("Down Down");
    let before = session.selected();
    session.keys("m");
    let (number, _) = asked(&session);
    session.feed(Event::ScanDone(number, Arc::new(found())));
    session.keys("Down Esc");
    assert_eq!(session.selected(), before);
}

#[test]
fn the_filter_of_the_processes_waits_while_mappings_are_shown() {
    let mut session = session();
    session.keys("/").types("postgres").keys("Enter m");
    let (number, ids) = asked(&session);
    assert_eq!(ids.len(), 3, "its words choose the processes");
    session.feed(Event::ScanDone(number, Arc::new(found())));
    assert_eq!(session.group_names().len(), 3, "and say nothing of mappings");
    assert!(session.picture().contains("filter postgres"));
    session.keys("/").types("libc").keys("Enter");
    assert!(session.picture().contains("matching libc"));
    session.keys("u");
    assert!(session.picture().contains("Esc goes back"));
    session.keys("m");
    assert_eq!(asked(&session).1, ids, "of the same processes again");
    session.keys("W").answers().keys("Enter Esc");
    session.line("cleared: filter libc");
    assert!(session.app.query.shows_mappings());
    session.keys("Esc");
    let saved = session.effects.iter().find_map(|e| match e {
        Effect::Save(_, saved) => Some(saved.filter.clone()),
        _ => None,
    });
    assert_eq!(saved.as_deref(), Some("postgres"));
    assert_eq!(session.pids(), [400, 401, 402]);
    assert_eq!(session.app.query.filter.good, "postgres");
}

#[test]
fn enter_on_a_mapping_lists_who_maps_it() {
    let mut session = session();
    session.keys("m");
    let (number, _) = asked(&session);
    let mapping = Mapping {
        areas: 1,
        memory: Ok(walk(30 * MIB, 0).memory),
        ..Mapping::new(MappingName::parse(b"/usr/lib/libssl.so.3", false))
    };
    let members = vec![0, 1];
    let found = Mappings {
        shared: vec![Shared { mapping, members }],
        read: 9,
        ..Mappings::default()
    };
    session.feed(Event::ScanDone(number, Arc::new(found)));
    assert!(session.picture().contains("Enter processes"), "{}", session.picture());
    session.keys("Enter");
    assert_eq!(session.app.query.scope, Scope::Processes);
    assert_eq!(session.app.query.filter.text, r#"maps:"/usr/lib/libssl.so.3""#);
}
