//! The engine: it takes in every snapshot, whoever looks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::watch;
use zmtop::alert::{Alerts, Rule, TargetKind};
use zmtop::engine::{Engine, State};
use zmtop::history::History;
use zmtop::model::Snapshot;

use crate::support::PATIENCE;
use crate::support::rows::{MIB, process, snapshot, walk};

/// How long the engine may take: only a guard against hanging.

/// Returns the snapshot of one second, in which process 7 holds so many MiB.
fn second(at: u64, mib: u64) -> Arc<Snapshot> {
    let mut row = process(7, 1, "/usr/bin/grow");
    row.walk = Ok(walk(mib * MIB, 0));
    Arc::new(snapshot(Duration::from_secs(1000 + at), vec![row]))
}

/// Returns a state with one rule, which fires at once above 100 MiB.
fn state() -> State {
    let mut rule = Rule::new("big", TargetKind::Process, "pss>100M").unwrap();
    rule.hold = Duration::ZERO;
    State::new(History::new(Duration::from_secs(10)), Alerts::new(vec![rule]))
}

#[test]
fn a_push_updates_everything_that_is_derived() {
    let mut state = state();
    assert!(state.push(second(0, 10)).is_empty());
    let events = state.push(second(1, 150));
    assert_eq!(events.len(), 1, "{events:?}");
    let id = state.snapshot.as_ref().unwrap().rows()[0].id;
    assert_eq!(state.change(id).unwrap().pss, Some(140 * MIB.cast_signed()));
    assert!(state.has_alert(&zmtop::group::RowKey::Process(id)));
    assert_eq!(state.pushed, 2);
    // Twenty-five minutes of growth: a leak is among the suspects without anybody asking.
    for at in 2..1500 {
        state.push(second(at, 150 + at));
    }
    assert_eq!(
        state.leaks().map(|s| s.key.process().unwrap().pid).collect::<Vec<_>>(),
        [7]
    );
}

#[test]
fn it_goes_on_while_nobody_looks_and_ends_when_dropped() {
    let (publish, snapshots) = watch::channel(None);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let (send, taken_in) = mpsc::channel();
    let fired = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fired);
    let engine = Engine::spawn(state(), snapshots, runtime.handle().clone(), move |snapshot, events| {
        count.fetch_add(events.len(), Ordering::SeqCst);
        send.send(snapshot.monotonic).unwrap();
    })
    .unwrap();
    for at in 0..200 {
        publish.send_replace(Some(second(at, at)));
        let seen = taken_in.recv_timeout(PATIENCE).expect("it takes in each snapshot");
        assert_eq!(seen, Duration::from_secs(1000 + at));
    }
    assert_eq!(
        fired.load(Ordering::SeqCst),
        1,
        "the alert fired once, unseen by anybody"
    );
    {
        let state = engine.state();
        assert_eq!(state.pushed, 200);
        // One that looks holds it up; the last snapshot that came meanwhile is taken in afterwards.
        publish.send_replace(Some(second(200, 0)));
        publish.send_replace(Some(second(201, 0)));
        assert!(taken_in.recv_timeout(Duration::from_millis(50)).is_err());
    }
    while taken_in.recv_timeout(PATIENCE).unwrap() != Duration::from_secs(1201) {}
    drop(engine);
    assert!(publish.is_closed(), "its thread has ended");
    assert!(taken_in.recv().is_err(), "what the callback held is dropped");
}
