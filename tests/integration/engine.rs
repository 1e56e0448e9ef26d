//! The engine: it takes in every snapshot, whoever looks.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use zmtop::alert::{Alerts, Rule, TargetKind};
use zmtop::engine::{Engine, Sampled, State};
use zmtop::group::RowKey;
use zmtop::history::History;
use zmtop::model::{Exit, Exits, Snapshot};
use zmtop::trend::Verdict;

use crate::support::PATIENCE;
use crate::support::rows::{MIB, snapshot, subordinate, with_facts, with_pss};

/// A process of that second that ended, with its peak in MiB.
fn ended(at: u64, mib: u64) -> Exit {
    Exit {
        pid: 100,
        starttime: None,
        ppid: 1,
        parent: None,
        uid: 0,
        comm: (*b"brief").into(),
        cgroup: None,
        time: SystemTime::UNIX_EPOCH + Duration::from_secs(at),
        lifetime: Duration::from_millis(300),
        peak: mib * MIB,
        is_fork: false,
        parent_rss: None,
        code: Some(0),
        signal: None,
    }
}

#[test]
fn what_ended_before_a_skipped_snapshot_is_in_the_next_one() {
    let (publish, snapshots) = watch::channel(None);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let (send, taken_in) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let engine = Engine::spawn(state(), snapshots, runtime.handle().clone(), move |snapshot, _| {
        send.send(Arc::clone(snapshot)).unwrap();
        let _ = gate.recv();
    })
    .unwrap();
    let with_exit = |at: u64| {
        let mut snapshot = (*second(at, 1)).clone();
        snapshot.exits = Arc::new(Exits {
            ended: Ok(1),
            started: Ok(2),
            lost: 0,
            list: vec![ended(at, 100 + at)],
        });
        publish.send_replace(Some(Arc::new(snapshot)));
    };
    with_exit(0);
    let first = taken_in.recv_timeout(PATIENCE).unwrap();
    assert_eq!(first.exits.list.len(), 1);
    // The engine is busy. Each snapshot reaches those that wait before the next one comes.
    for at in 1..4 {
        with_exit(at);
        while engine.next() != Some(Duration::from_secs(1000 + at)) {
            std::thread::yield_now();
        }
    }
    drop(go);
    let next = taken_in.recv_timeout(PATIENCE).unwrap();
    assert_eq!(next.monotonic, Duration::from_secs(1003));
    let peaks: Vec<_> = next.exits.list.iter().map(|exit| exit.peak / MIB).collect();
    assert_eq!(peaks, [103, 102, 101]);
    assert_eq!((next.exits.ended, next.exits.started), (Ok(3), Ok(6)));
    drop(engine);
}

/// Checks that the set of verdicts changes when one comes and when it goes. The monitor keeps its history at once then.
#[test]
fn verdicts_of_growth_change_when_one_comes_and_when_it_goes() {
    let mut state = State::default();
    let mut seen = Vec::new();
    for at in 0..1210 {
        let mut snapshot = (*second(at, 100 + at)).clone();
        if at >= 1200 {
            snapshot.processes = Ok(vec![with_pss(8, "/usr/bin/rests", MIB)]);
        }
        state.push(Arc::new(snapshot));
        let verdicts = state.growth_verdicts();
        if seen.last() != Some(&verdicts) {
            seen.push(verdicts);
        }
    }
    let is_it = |(key, _): &&(RowKey, Verdict)| key.process().is_some_and(|id| id.pid == 7);
    let verdict = |verdicts: &HashSet<_>| verdicts.iter().find(is_it).map(|(_, verdict)| *verdict);
    let mut of_process: Vec<_> = seen.iter().map(verdict).collect();
    of_process.dedup();
    assert_eq!(
        of_process,
        [None, Some(Verdict::Growing), Some(Verdict::Leaking), None],
        "{seen:?}"
    );
}

/// Returns the snapshot of one second, in which process 7 holds so many MiB.
fn second(at: u64, mib: u64) -> Arc<Snapshot> {
    let row = with_pss(7, "/usr/bin/grow", mib * MIB);
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
    assert!(state.has_alert(&RowKey::Process(id)));
    assert_eq!(state.pushed, 2);
    // Twenty-five minutes of growth: a leak is among the suspects without anybody asking.
    for at in 2..1500 {
        state.push(second(at, 150 + at));
    }
    assert_eq!(
        state.leaks().map(|s| s.key.process().unwrap().pid).collect::<Vec<_>>(),
        [7]
    );
    // Its page faults show who keeps the memory, unless it is of this zmtop.
    let sampled = |own| state.to_sample(own, 2, &[], |_| false, |_| false);
    assert_eq!(sampled(99), [id]);
    assert!(sampled(7).is_empty() && sampled(1).is_empty());
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

#[test]
fn no_user_and_no_program_is_sampled_alone_while_others_wait() {
    // The uid, the program and the pace of each, in KiB a second.
    type Rows<'a> = &'a [(u32, u32, &'a str, u64)];
    type Case<'a> = (&'a str, Rows<'a>, &'a [(u32, u64)], &'a [u32], &'a [u32]);
    const THREE: Rows = &[(0, 1, "a", 100), (0, 2, "b", 90), (0, 3, "c", 80)];
    const ANOTHER: Rows = &[
        (1001, 1, "a", 900),
        (1001, 2, "b", 800),
        (1001, 3, "c", 700),
        (0, 4, "d", 50),
    ];
    const SUBORDINATE: Rows = &[
        (100_001, 1, "a", 900),
        (100_002, 2, "b", 800),
        (100_003, 3, "c", 700),
        (0, 4, "d", 50),
    ];
    const WORKERS: Rows = &[(0, 1, "a", 100), (0, 2, "a", 99), (0, 3, "a", 98), (0, 4, "d", 50)];
    // The pids that are sampled and for how many minutes, those that were sampled before, and those to sample.
    let cases: [Case<'_>; 11] = [
        ("the worst", THREE, &[], &[], &[1, 2]),
        ("what is sampled stays", THREE, &[(2, 5), (3, 5)], &[], &[2, 3]),
        ("until it had its turn", THREE, &[(1, 25), (2, 30)], &[], &[1, 3]),
        ("if the other had none", THREE, &[(1, 25), (2, 30)], &[3], &[1, 2]),
        ("each user first", ANOTHER, &[], &[], &[1, 4]),
        ("a user gives a place away", ANOTHER, &[(1, 5), (2, 6)], &[], &[1, 4]),
        ("no user loses the only one", ANOTHER, &[(4, 60), (1, 5)], &[], &[4, 1]),
        (
            "a user's turn is passed on to the same user",
            ANOTHER,
            &[(4, 60), (1, 25)],
            &[],
            &[4, 2],
        ),
        ("a user with several uids is one", SUBORDINATE, &[], &[], &[1, 4]),
        ("each program first", WORKERS, &[], &[], &[1, 4]),
        ("a program gives a place away", WORKERS, &[(2, 5), (3, 6)], &[], &[2, 4]),
    ];
    for (name, rows, running, before, want) in cases {
        let mut state = state();
        for second in 0..300 {
            let one = |(uid, pid, program, pace): &(u32, u32, &str, u64)| {
                let bytes = 10 * MIB + second * pace * 1024;
                let row = with_pss(*pid, program, bytes);
                match *uid {
                    100_000.. => subordinate(row, *uid, 1001),
                    uid => with_facts(row, |facts| facts.uid = Ok(uid)),
                }
            };
            let rows = rows.iter().map(one).collect();
            state.push(Arc::new(snapshot(Duration::from_secs(1000 + second), rows)));
        }
        let sampled = |(pid, minutes): &(u32, u64)| Sampled {
            id: with_pss(*pid, "", 0).id,
            lasted: Duration::from_secs(minutes * 60),
        };
        let running: Vec<_> = running.iter().map(sampled).collect();
        let chosen = state.to_sample(99, 2, &running, |_| false, |id| before.contains(&id.pid));
        let pids: Vec<u32> = chosen.iter().map(|id| id.pid).collect();
        assert_eq!(pids, want, "{name}");
    }
}

#[test]
fn many_growers_of_one_user_neither_hide_that_of_another_nor_alternate() {
    let mut state = state();
    let mut seen = Vec::new();
    for second in 0..400_u64 {
        // Each of thirty is the fastest in turn.
        let one = |n: u64| {
            let ahead = if second / 10 % 30 == n { 900 } else { 800 };
            let grown = 80 * second + ahead + second * (n + second / 20 * 7) % 30;
            let row = with_pss(100 + n as u32, &format!("own{n}"), 10 * MIB + grown * 1024);
            with_facts(row, |facts| {
                facts.uid = Ok(1001);
                facts.user = Ok(Arc::from(&b"own"[..]));
            })
        };
        let root = with_pss(7, "server", 10 * MIB + 75 * second * 1024);
        let rows = std::iter::once(root).chain((0..30).map(one)).collect();
        state.push(Arc::new(snapshot(Duration::from_secs(1000 + second), rows)));
        seen.extend(state.first_suspect().map(|suspect| suspect.key.clone()));
    }
    let place = state.suspects.iter().position(|s| s.uid() == Some(0));
    assert_eq!((place, state.suspects.len()), (Some(3), 31));
    let watched = seen.len();
    seen.dedup();
    assert!(
        watched > 200 && seen.len() <= 1 + watched.div_ceil(60),
        "{watched} {}",
        seen.len()
    );
}
