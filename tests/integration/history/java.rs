//! Java virtual machines: judged by what collections leave of their heaps, by their own counters.

use std::sync::Arc;
use std::time::Duration;

use crate::support::kills::killed;
use crate::support::rows::{MIB, process, snapshot, walk, with_pss};

use zmtop::group::RowKey;
use zmtop::history::History;
use zmtop::history::suspects::{SuspectQuery, suspects};
use zmtop::model::snapshot::JvmHeap;
use zmtop::model::{Identity, Missing, Snapshot};
use zmtop::trend::{Judgement, Metric, Verdict};
use zmtop::units::Units;

/// One minute's figures of a heap of at most 1000 MiB: held memory, committed heap, use of the old generation, collections
/// of it.
#[derive(Clone, Copy)]
struct Heap {
    held: f64,
    capacity: f64,
    old: f64,
    collections: u64,
}

fn bytes(mib: f64) -> u64 {
    (mib * MIB as f64) as u64
}

/// The counters that it publishes. Those of the old generation are unknown unless it `is_told`.
fn counters(heap: Heap, is_told: bool) -> JvmHeap {
    JvmHeap {
        // The new generation grows with the heap.
        used: bytes(heap.old.max(0.7 * heap.capacity.min(heap.held))),
        capacity: bytes(heap.capacity),
        old: if is_told {
            Ok(bytes(heap.old))
        } else {
            Err(Missing::Unsupported)
        },
        live: Err(Missing::Unsupported),
        old_max: Ok(1000 * MIB),
        collections: 2 * heap.collections,
        old_collections: heap.collections,
    }
}

/// A snapshot at that second after many hours.
fn at(second: u64, heap: Heap, is_told: bool) -> Snapshot {
    let mut sample = process(7, 1, "java -jar shop.jar");
    sample.id.starttime = 0;
    sample.walk = Ok(walk(bytes(heap.held), 0));
    let id = sample.id;
    let mut snap = snapshot(Duration::from_secs(100_000 + second), vec![sample]);
    snap.interval = Duration::from_secs(5);
    snap.system.uptime = Ok(100_000.0 + second as f64);
    snap.system.mem_available = Ok(64 << 30);
    snap.system.swap_free = Ok(0);
    snap.jvms = Arc::new([(id, Ok(counters(heap, is_told)))].into());
    snap
}

/// Takes in 45 minutes; returns the last judgement, the worst verdict, and the seconds until a limit as listed in the end.
fn judged(heap: impl Fn(f64) -> Heap, is_told: bool) -> (Judgement, Verdict, Option<f64>) {
    let mut history = History::new(Duration::from_secs(10));
    let mut worst = Verdict::Unknown;
    let mut last = None;
    for second in (0..2700).step_by(5) {
        let snap = at(second, heap(second as f64 / 60.0), is_told);
        history.push(&snap);
        let id = snap.rows()[0].id;
        worst = worst.max(history.get(id).unwrap().trend().verdict);
        last = Some(snap);
    }
    let last = last.unwrap();
    let id = last.rows()[0].id;
    let found = suspects(&history, &last, SuspectQuery::GROWING);
    let eta = found.iter().find(|s| s.key == RowKey::Process(id)).and_then(|s| s.eta);
    (*history.get(id).unwrap().trend(), worst, eta)
}

/// The old generation, of which collections every two minutes leave so much, and that 150 MiB of garbage come to between
/// them. A concurrent collector frees it during the half minute after it, in which it counts two pauses.
fn teeth(minutes: f64, left: f64) -> (f64, u64) {
    let (cycle, into) = ((minutes / 2.0).floor(), minutes % 2.0);
    let garbage = if into < 0.5 {
        150.0 * (1.0 - into / 0.5)
    } else {
        150.0 * (into - 0.5) / 1.5
    };
    (left + garbage, 2 * cycle as u64 + u64::from(into > 0.05))
}

#[test]
fn heaps_that_grow_together_are_named_at_a_kill() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..=60 {
        let mut rows: Vec<_> = (20..32)
            .map(|pid| with_pss(pid, "java", (10 + second / 2) * MIB))
            .collect();
        let heap = Heap {
            held: 20.0,
            capacity: 100.0,
            old: 5.0,
            collections: 1,
        };
        let heaps = rows.iter().map(|row| (row.id, Ok(counters(heap, true)))).collect();
        if second < 60 {
            rows.push(with_pss(7, "importer", 60 * MIB));
        }
        let mut snap = snapshot(Duration::from_secs(second), rows);
        snap.system.mem_total = Ok(1000 * MIB);
        snap.jvms = Arc::new(heaps);
        if second == 60 {
            snap.oom_kills = Arc::from([killed(60, 1, 7, "importer", 60, None)]);
        }
        history.push(&snap);
    }
    let told = history.kills().next().unwrap().text(40, Units::Auto).why();
    assert!(
        told.ends_with("; java (all its processes) had grown most, +60.0M in 10s"),
        "{told}"
    );
}

#[test]
fn a_heap_is_read_although_memory_came_back_after_an_exec() {
    let mut history = History::new(Duration::from_secs(10));
    for second in (0..2700).step_by(5) {
        let minutes = second as f64 / 60.0;
        let (old, collections) = teeth(minutes, 300.0 + 8.0 * minutes);
        let heap = Heap {
            // It executes itself in second 30, and maps its memory again.
            held: if second == 30 { 10.0 } else { 1060.0 },
            capacity: 1000.0,
            old,
            collections,
        };
        let mut snap = at(second, heap, true);
        let row = &mut snap.processes.as_mut().unwrap()[0];
        (row.exec, row.stat.rss) = (u32::from(second >= 30), bytes(heap.held));
        if second < 30 {
            snap.jvms = Arc::default();
        }
        history.push(&snap);
    }
    let id = Identity { pid: 7, starttime: 0 };
    let judgement = history.get(id).unwrap().trend();
    assert_eq!(
        (judgement.verdict, judgement.metric),
        (Verdict::Leaking, Metric::LiveSet),
        "{judgement:?}"
    );
}

#[test]
fn a_full_heap_that_leaks_is_called_by_its_own_counters() {
    let full = |minutes: f64| {
        let (old, collections) = teeth(minutes, 300.0 + 8.0 * minutes);
        Heap {
            held: 1060.0,
            capacity: 1000.0,
            old,
            collections,
        }
    };
    let (judgement, _, eta) = judged(full, true);
    assert_eq!(
        (judgement.verdict, judgement.metric),
        (Verdict::Leaking, Metric::LiveSet),
        "{judgement:?}"
    );
    let pace = judgement.slope * 60.0 / MIB as f64;
    assert!((pace - 8.0).abs() < 1.0, "{pace}");
    assert!(
        judgement.texts()[0].contains("as the JVM counts it"),
        "{:?}",
        judgement.texts()
    );
    // Until the heap's own limit, not until the machine's.
    assert!((1500.0..6000.0).contains(&eta.unwrap()), "{eta:?}");
    // What is held says nothing.
    let (judgement, worst, _) = judged(full, false);
    assert_eq!((judgement.verdict, worst), (Verdict::Steady, Verdict::Steady));
}

#[test]
fn a_heap_that_grows_while_its_live_set_does_not_is_no_leak() {
    let grows = |minutes: f64| {
        let (old, collections) = teeth(minutes, 100.0);
        Heap {
            held: 200.0 + 15.0 * minutes,
            capacity: 210.0 + 15.0 * minutes,
            old,
            collections,
        }
    };
    let (judgement, worst, eta) = judged(grows, true);
    assert_eq!(
        (judgement.verdict, judgement.metric),
        (Verdict::Hoarding, Metric::Heap),
        "{judgement:?}"
    );
    assert_eq!((worst, eta), (Verdict::Growing, None));
    // Without the counters it is one.
    let (judgement, ..) = judged(grows, false);
    assert_eq!((judgement.verdict, judgement.metric), (Verdict::Leaking, Metric::Held));
}

#[test]
fn what_lies_beside_a_heap_comes_to_light_as_that_is_touched() {
    let beside = |first: f64, pace: f64| {
        move |minutes: f64| {
            let (old, collections) = teeth(minutes, 300.0);
            Heap {
                held: 1000.0 + first + pace * minutes,
                capacity: 1000.0,
                old,
                collections,
            }
        }
    };
    let (_, worst, _) = judged(beside(-10.0, 1.5), true);
    assert_eq!(worst, Verdict::Growing, "that the whole grows is a fact");
    // What is leaked beside it goes on.
    let (judgement, ..) = judged(beside(100.0, 8.0), true);
    assert_eq!(
        (judgement.verdict, judgement.metric),
        (Verdict::Leaking, Metric::LiveSet),
        "{judgement:?}"
    );
}

#[test]
fn before_the_first_collection_a_heap_only_fills() {
    let fills = |minutes: f64| Heap {
        held: 200.0 + 15.0 * minutes,
        capacity: 1000.0,
        old: 50.0 + 15.0 * minutes,
        collections: 0,
    };
    let (_, worst, _) = judged(fills, true);
    assert_eq!(worst, Verdict::Growing);
}

/// A process may publish any counters.
#[test]
fn memory_that_the_heap_cannot_have_touched_is_no_garbage() {
    let mut history = History::new(Duration::from_secs(10));
    for second in (0..900).step_by(5) {
        let minutes = second as f64 / 60.0;
        let (old, collections) = teeth(minutes, 10.0);
        let held = 50.0 + 90.0 * minutes;
        let mut snap = at(
            second,
            Heap {
                held,
                capacity: 60_000.0,
                old,
                collections,
            },
            true,
        );
        let id = snap.rows()[0].id;
        let counters = Arc::make_mut(&mut snap.jvms).get_mut(&id).unwrap().as_mut().unwrap();
        counters.used = (old * MIB as f64) as u64;
        counters.live = Ok(10 * MIB);
        history.push(&snap);
        if second == 600 {
            let judgement = *history.get(id).unwrap().trend();
            assert!(judgement.verdict >= Verdict::Growing, "{judgement:?}");
            let pace = judgement.slope * 60.0 / MIB as f64;
            assert!((pace - 90.0).abs() < 9.0, "{judgement:?}");
        }
    }
}

#[test]
fn what_leaks_beside_the_heap_is_called() {
    let beside = |minutes: f64| {
        let (old, collections) = teeth(minutes, 100.0);
        Heap {
            held: 450.0 + 10.0 * minutes,
            capacity: 400.0,
            old,
            collections,
        }
    };
    let (judgement, ..) = judged(beside, true);
    assert_eq!(
        (judgement.verdict, judgement.metric),
        (Verdict::Leaking, Metric::LiveSet),
        "{judgement:?}"
    );
    assert!(
        (judgement.slope * 60.0 / MIB as f64 - 10.0).abs() < 1.0,
        "{judgement:?}"
    );
}
