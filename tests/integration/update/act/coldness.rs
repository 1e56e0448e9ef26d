//! The dialog that asks what a process touches, and what is shown of the looks.

use std::time::Duration;

use super::{commands, id, message, ready, reply, values};
use crate::support::rows::{MIB, process, walk};
use crate::support::session::{Session, busy};

use zmtop::act::{ActError, Command, ProcessAction, Reply};
use zmtop::columns::{Value, find};
use zmtop::history::mappings::{Coldness, Look};
use zmtop::model::Missing;
use zmtop::model::mapping::{Extent, Mapping, MappingName};
use zmtop::tui::act::ProcessDialog;
use zmtop::tui::{Effect, Event};

const CLEAR: ProcessAction = ProcessAction::ClearReferenced;

/// A heap with so much resident, and so much of it touched.
fn heap(rss: u64, hot: u64) -> Vec<Mapping> {
    vec![Mapping {
        areas: 1,
        memory: Ok(walk(rss * MIB, 0).memory),
        extent: Ok(Extent {
            referenced: Ok(hot * MIB),
            ..Extent::NONE
        }),
        ..Mapping::new(MappingName::parse(b"[heap]", false))
    }]
}

/// Every list of looks asked for.
fn looks(session: &Session) -> Vec<Vec<Look>> {
    let looks = session.effects.iter().filter_map(|effect| match effect {
        Effect::Look(looks) => Some(looks.clone()),
        _ => None,
    });
    looks.collect()
}

/// The value of a column of a process.
fn number(session: &Session, column: &str, pid: u32) -> Result<f64, Missing> {
    let snapshot = session.app.engine.snapshot.as_ref().unwrap();
    let sample = snapshot.rows().iter().find(|s| s.id.pid == pid).unwrap();
    let row = session.app.row_source(snapshot).process(sample);
    match (find(column).unwrap().get().value)(&row) {
        Value::Missing(why) => Err(why),
        value => Ok(value.number().unwrap()),
    }
}

/// The process 900, whose bits were cleared.
fn cleared() -> (Session, Look) {
    let mut session = ready();
    session.keys("r Enter");
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(0, 0))]));
    reply(&mut session, Reply::Performed(1, CLEAR, vec![Ok(0)]));
    let look = looks(&session)[0][0];
    (session, look)
}

#[test]
fn it_says_what_it_changes_and_does_it_on_enter() {
    let mut session = ready();
    session.keys("r");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(900)])]);
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(0, 0))]));
    let picture = session.picture();
    for text in [
        "Hot and cold",
        "900",
        "reads them again",
        "every 1m",
        "its page faults by about",
        "the pages as idle until they are touched. Nothing else changes.",
        "start?  y/n",
    ] {
        assert!(picture.contains(text), "{text}:\n{picture}");
    }
    // Nothing is done by another key, and nothing on Esc.
    session.types("cx").keys("Down Esc");
    assert!(session.app.modal.is_none());
    assert_eq!(commands(&session)[1..], [Command::Release(1)]);
    session.keys("r Enter");
    assert!(session.app.modal::<ProcessDialog>().is_none());
    let did = [
        Command::Pin(2, vec![id(900)]),
        Command::Perform(2, CLEAR),
        Command::Release(2),
    ];
    assert_eq!(commands(&session)[2..], did);
    assert!(looks(&session).is_empty(), "not before it was done");
    reply(&mut session, Reply::Performed(2, CLEAR, vec![Ok(0)]));
    assert_eq!(
        message(&session),
        "measuring which memory 900 python3 touches from now on"
    );
    assert_eq!(looks(&session).len(), 1);
    assert_eq!(looks(&session)[0][0].id, id(900));
}

#[test]
fn what_was_found_is_in_the_columns_and_in_the_panel() {
    let (mut session, look) = cleared();
    for column in ["hot", "cold", "cold_for"] {
        assert_eq!(number(&session, column, 900), Err(Missing::Pending));
        assert_eq!(number(&session, column, 901), Err(Missing::NotAsked));
    }
    session.app.screen.size = (120, 40);
    session.keys("Enter");
    assert!(session.picture().contains("the first measurement takes 1m"));
    session.feed(Event::Inspected(id(900), std::sync::Arc::new(Ok(heap(430, 18)))));
    assert!(!session.line("GROWTH").contains("COLD"));
    let found = Coldness::new(&heap(430, 18), Duration::from_secs(600));
    session.feed(Event::Looked(look, Ok(found)));
    let mib = |n: u32| f64::from(n) * f64::from(1 << 20);
    assert_eq!(number(&session, "cold", 900), Ok(mib(412)));
    assert_eq!(number(&session, "hot", 900), Ok(mib(18)));
    assert_eq!(number(&session, "cold_for", 900), Ok(600.0));
    assert!(session.picture().contains("cold 412M of 430M, untouched for 10m00"));
    assert!(session.line("GROWTH").contains("COLD"));
    assert!(
        session.line(" heap    [heap]").contains(" 412M "),
        "{}",
        session.picture()
    );
    // They can be filtered and sorted by.
    session.keys("Esc /").types("cold>400M").keys("Enter");
    assert_eq!(session.pids(), [900]);
    // A look that fails leaves no figure behind.
    session.keys("\\").feed(Event::Looked(look, Err(Missing::Denied)));
    assert_eq!(number(&session, "cold", 900), Err(Missing::Denied));
    // The looks were asked for once, until the process ends.
    assert_eq!(looks(&session).len(), 1);
    let left: Vec<_> = busy(13).into_iter().filter(|s| s.id.pid != 900).collect();
    session.tick(5, left);
    assert_eq!(looks(&session).last(), Some(&vec![]));
}

#[test]
fn who_cannot_be_asked_is_not_looked_at() {
    let mut session = ready();
    session.keys("r");
    reply(&mut session, Reply::Pinned(1, vec![Err(ActError::Gone)]));
    assert!(session.app.modal.is_none());
    assert_eq!(message(&session), "900 python3: the process has ended");
    session.keys("r Enter");
    let refused = vec![Err(ActError::NoReferencedBits)];
    reply(&mut session, Reply::Performed(2, CLEAR, refused));
    assert!(message(&session).contains("is not measured: this kernel does not record"));
    assert!(looks(&session).is_empty());
    assert_eq!(number(&session, "cold", 900), Err(Missing::NotAsked));
}

#[test]
fn no_more_than_a_few_are_asked_for_at_once() {
    let mut session = ready();
    let many: Vec<_> = (1000..1020).map(|pid| process(pid, 1, "many")).collect();
    session.tick(1, many).keys("f");
    for _ in 0..17 {
        session.keys("Space");
    }
    session.keys("r");
    assert_eq!(
        message(&session),
        "these are 17 processes: at most 16 are allowed at once"
    );
    assert!(session.app.modal.is_none());
}
