//! The list of a fleet that the engine makes before the screen has its snapshot: the screen is the same as if it made that.

use std::mem::swap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::watch;
use zmtop::engine::{Engine, State};
use zmtop::history::History;
use zmtop::model::{Fleet, FleetHost, FleetRow, FleetStatus, Missing, ScrapedVerdict, Snapshot};
use zmtop::tui::Event;

use crate::support::PATIENCE;
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};
use crate::support::session::Session;

/// Returns the snapshot of a round: more groups than are taken in at a time, of which some end and most change.
fn round(nth: u64) -> Arc<Snapshot> {
    let host = |n: u64| Arc::from(format!("web{}", n % 5).as_bytes());
    let numbers = (1..2500_u64).filter(|n| !(n + nth).is_multiple_of(90));
    let rows = numbers.clone().map(|n| {
        let row = process(n as u32, 0, &format!("api{}", n % 70));
        let mut row = with_facts(row, |facts| facts.host = Some(host(n)));
        row.walk = Ok(walk(n * nth % 97 * MIB, n % 3 * MIB));
        if n % 50 == 0 {
            row.walk = Err(Missing::NotExported);
        }
        row
    });
    let told = numbers.map(|n| FleetRow {
        processes: Some(n % 4),
        verdict: (n % 40 == nth % 3).then_some(ScrapedVerdict {
            rank: 4.0,
            slope: n as f64 * 10.0,
            confidence: 0.9,
            since: Some(Duration::from_secs(10)),
        }),
    });
    let now = Duration::from_secs(1000 + 15 * nth);
    let fleet = Fleet {
        hosts: (0..5)
            .map(|n| FleetHost {
                name: host(n),
                seen: now,
                is_gone: false,
            })
            .collect(),
        rows: told.collect(),
        is_partial: false,
    };
    Arc::new(Snapshot {
        tick: nth,
        fleet: Some(Arc::new(fleet)),
        ..snapshot(now, rows.collect())
    })
}

/// An engine with the snapshots that it takes in, one by one.
struct Running {
    engine: Engine,
    publish: watch::Sender<Option<Arc<Snapshot>>>,
    taken_in: mpsc::Receiver<Duration>,
    _runtime: tokio::runtime::Runtime,
}

impl Running {
    fn start(state: State) -> Self {
        let (publish, snapshots) = watch::channel(None);
        let (send, taken_in) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let tell = move |snapshot: &Arc<Snapshot>, _: &_| send.send(snapshot.monotonic).unwrap();
        Self {
            engine: Engine::spawn(state, snapshots, runtime.handle().clone(), tell).unwrap(),
            publish,
            taken_in,
            _runtime: runtime,
        }
    }

    fn push(&self, snapshot: &Arc<Snapshot>) {
        self.publish.send_replace(Some(Arc::clone(snapshot)));
        assert_eq!(self.taken_in.recv_timeout(PATIENCE), Ok(snapshot.monotonic));
    }
}

#[test]
fn what_was_made_ahead_is_as_if_the_screen_made_it() {
    let fleet = || {
        let mut session = Session::new(160, 40);
        session.app.fleet = Some(FleetStatus::default());
        session
    };
    let (mut one, mut other) = (fleet(), fleet());
    let mut state = State::default();
    swap(&mut state, &mut one.app.engine);
    let running = Running::start(state);
    // The order, the kind of rows, or both tables; and if the list of the next round is made ahead.
    let turns = [
        ("j j j", true),
        ("I", true),
        ("S", true),
        ("T", true),
        ("P k", true),
        ("v", true),
        ("v M", true),
        ("Space", false),
        ("U b", true),
        ("z", false),
        ("z Tab", false),
    ];
    for (nth, (keys, is_ahead)) in (1..).zip(turns) {
        let next = round(nth);
        running.push(&next);
        let mut state = running.engine.state();
        swap(&mut *state, &mut one.app.engine);
        assert_eq!(
            one.app.engine.ready.is_some(),
            nth > 1 && turns[nth as usize - 2].1,
            "{keys}"
        );
        one.feed(Event::Snapshot);
        other.push(Snapshot::clone(&next));
        for keys in ["", keys] {
            assert_eq!(
                one.keys(keys).picture(),
                other.keys(keys).picture(),
                "round {nth} {keys:?}"
            );
            let rows = |session: &Session| session.app.tables.current().rows.clone();
            assert_eq!(rows(&one), rows(&other), "round {nth} {keys:?}");
        }
        let suspects = |session: &Session| format!("{:?}", session.app.engine.suspects);
        assert_eq!(suspects(&one), suspects(&other));
        assert_eq!(one.app.engine.plan.is_some(), is_ahead, "{keys}");
        swap(&mut *state, &mut one.app.engine);
    }
}

#[test]
fn what_leaks_in_a_fleet_has_no_pid() {
    for (is_fleet, has_pid) in [(true, false), (false, true)] {
        let mut session = Session::new(160, 40);
        session.app.fleet = is_fleet.then(FleetStatus::default);
        session.push(Snapshot::clone(&round(3))).keys("L");
        let heading = session.line("VERDICT");
        assert_eq!(
            [heading.contains("PID"), heading.contains("USER")],
            [has_pid; 2],
            "{heading}"
        );
        assert!(session.line("│ growing").contains("api"));
    }
}

#[test]
fn a_past_comes_before_the_snapshot_that_is_there() {
    let running = Running::start(State::default());
    running.push(&round(20));
    let mut past = History::new(Duration::from_secs(10));
    (10..20).for_each(|nth| past.push(&round(nth)));
    running.engine.state().past = Some(Box::new(past));
    running.push(&round(20));
    let state = running.engine.state();
    assert!(state.past.is_none());
    assert_eq!(state.pushed, 2);
    assert_eq!(state.history.since(), Some(round(10).monotonic));
    let id = round(20).rows()[7].id;
    let mut whole = History::new(Duration::from_secs(10));
    (10..=20).for_each(|nth| whole.push(&round(nth)));
    assert_eq!(state.change(id), whole.get(id).map(|row| *row.change()));
}
