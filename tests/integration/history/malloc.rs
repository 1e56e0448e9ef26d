//! Programs whose `malloc` keeps memory free: a hoard is no leak, and a leak that fills a hoard is one.

use std::sync::Arc;
use std::time::Duration;

use crate::support::rows::{MIB, process, snapshot, walk};

use zmtop::history::suspects::{Cause, SuspectQuery, suspects};
use zmtop::history::{History, kept::Kept};
use zmtop::model::Snapshot;
use zmtop::model::snapshot::MallocHeap;
use zmtop::trend::{Judgement, Metric, Verdict};

/// Figures of one moment, in MiB.
#[derive(Clone, Copy)]
struct Program {
    held: f64,
    /// The private memory that it requested; more than `held` where it did not touch all of it.
    requested: f64,
    /// The memory that `malloc` keeps free, all of it resident.
    free: f64,
}

const EVERY: u64 = 5;
/// Seconds between reads of the heap.
const READ_EVERY: u64 = 30;

fn at(second: u64, program: impl Fn(f64) -> Program, is_read: bool) -> Snapshot {
    let bytes = |mib: f64| (mib * MIB as f64) as u64;
    let now = program(second as f64 / 60.0);
    let mut sample = process(7, 1, "api");
    sample.id.starttime = 0;
    sample.walk = Ok(walk(bytes(now.held), 0));
    sample.data = Ok(bytes(now.requested));
    let id = sample.id;
    let clock = |second: u64| Duration::from_secs(100_000 + second);
    let mut snap = snapshot(clock(second), vec![sample]);
    snap.interval = Duration::from_secs(EVERY);
    snap.system.uptime = Ok(100_000.0 + second as f64);
    let read_at = second - second % READ_EVERY;
    if is_read && read_at > 0 {
        let free = bytes(program(read_at as f64 / 60.0).free);
        let heap = MallocHeap {
            at: clock(read_at),
            free,
            kept: free,
        };
        snap.heaps = Arc::new([(id, heap)].into());
    }
    snap
}

/// The judgements of a program that was watched for some minutes.
struct Watched {
    last: Judgement,
    worst: Verdict,
    /// The minutes in which it was called growing, and a leak.
    grew: Option<u64>,
    called: Option<u64>,
    /// Every figure that was judged to grow.
    metrics: Vec<Metric>,
    cause: Option<Cause>,
}

fn watch(minutes: u64, program: impl Fn(f64) -> Program, is_read: bool) -> Watched {
    let mut history = History::new(Duration::from_secs(10));
    let (mut worst, mut grew, mut called, mut last) = (Verdict::Unknown, None, None, None);
    let mut metrics = Vec::new();
    for second in (0..minutes * 60).step_by(EVERY as usize) {
        let snap = at(second, &program, is_read);
        history.push(&snap);
        let judged = history.get(snap.rows()[0].id).unwrap().trend();
        let verdict = judged.verdict;
        worst = worst.max(verdict);
        if verdict.is_growth() && !metrics.contains(&judged.metric) {
            metrics.push(judged.metric);
        }
        if verdict >= Verdict::Growing {
            grew.get_or_insert(second / 60);
        }
        if verdict == Verdict::Leaking {
            called.get_or_insert(second / 60);
        }
        last = Some(snap);
    }
    let last = last.unwrap();
    let found = suspects(&history, &last, SuspectQuery::GROWING);
    Watched {
        last: *history.get(last.rows()[0].id).unwrap().trend(),
        worst,
        grew,
        called,
        metrics,
        cause: found.into_iter().next().and_then(|suspect| suspect.cause),
    }
}

/// A heap of which all but 100 MiB are free, and which grows by 15 MiB a minute.
fn hoard(minutes: f64) -> Program {
    Program {
        held: 200.0 + 15.0 * minutes,
        requested: 300.0 + 15.0 * minutes,
        free: 100.0 + 15.0 * minutes,
    }
}

#[test]
fn a_hoard_is_no_leak() {
    let watched = watch(45, hoard, true);
    assert_eq!(
        (watched.last.verdict, watched.last.metric),
        (Verdict::Hoarding, Metric::Free),
        "{:?}",
        watched.last
    );
    assert!(watched.worst < Verdict::Leaking, "{:?}", watched.worst);
    let pace = watched.last.slope * 60.0 / MIB as f64;
    assert!((pace - 15.0).abs() < 1.5, "{pace}");
    let Some(Cause::KeptFree { free, footprint }) = watched.cause else {
        panic!("{:?}", watched.cause)
    };
    assert!(free > 700 * MIB && free < footprint, "{free} of {footprint}");
    // If its heap cannot be read, the same memory looks like a leak.
    assert_eq!(watch(45, hoard, false).last.verdict, Verdict::Leaking);
}

#[test]
fn a_leak_that_fills_what_was_hoarded_is_called() {
    let fills = |minutes: f64| Program {
        held: 900.0,
        requested: 950.0,
        free: 700.0 - 8.0 * minutes,
    };
    let watched = watch(45, fills, true);
    assert_eq!(
        (watched.last.verdict, watched.last.metric),
        (Verdict::Leaking, Metric::InUse),
        "{:?}",
        watched.last
    );
    let pace = watched.last.slope * 60.0 / MIB as f64;
    assert!((pace - 8.0).abs() < 1.0, "{pace}");
    assert!(
        watched.last.texts()[0].contains("memory in use"),
        "{:?}",
        watched.last.texts()
    );
    // Neither PSS nor page faults show it.
    assert_eq!(watch(45, fills, false).worst, Verdict::Steady);
}

#[test]
fn a_leak_beside_little_free_memory_is_called_as_early_as_without_a_read() {
    let leaks = |minutes: f64| Program {
        held: 200.0 + 10.0 * minutes,
        requested: 210.0 + 10.0 * minutes,
        free: 2.0 + minutes.sin(),
    };
    let (read, unread) = (watch(45, leaks, true), watch(45, leaks, false));
    assert_eq!(
        (read.last.verdict, unread.last.verdict),
        (Verdict::Leaking, Verdict::Leaking)
    );
    // Less than a quarter of it is free: it is judged as a whole.
    assert_eq!(read.metrics, [Metric::Held], "{:?}", read.metrics);
    let minutes = |watched: &Watched| [watched.grew.unwrap(), watched.called.unwrap()];
    let (read, unread) = (minutes(&read), minutes(&unread));
    assert!(
        read[0] <= unread[0] + 1 && read[1] <= unread[1] + 2,
        "{read:?} {unread:?}"
    );
}

#[test]
fn a_leak_in_a_growing_hoard_has_its_own_pace() {
    let both = |minutes: f64| Program {
        held: 300.0 + 20.0 * minutes,
        requested: 400.0 + 20.0 * minutes,
        free: 100.0 + 12.0 * minutes,
    };
    let watched = watch(60, both, true);
    assert_eq!(
        (watched.last.verdict, watched.last.metric),
        (Verdict::Leaking, Metric::InUse),
        "{:?}",
        watched.last
    );
    let pace = watched.last.slope * 60.0 / MIB as f64;
    assert!((pace - 8.0).abs() < 1.0, "{pace}");
    // Nor is it taken for file pages between two reads.
    assert!(!watched.metrics.contains(&Metric::File), "{:?}", watched.metrics);
}

#[test]
fn a_pool_that_fills_is_no_leak_if_its_heap_is_read() {
    let pool = |minutes: f64| Program {
        held: 200.0 + 10.0 * minutes,
        requested: 2000.0,
        free: 3.0,
    };
    assert!(watch(60, pool, true).worst < Verdict::Leaking);
}

#[test]
fn a_peak_that_was_freed_is_no_growth_in_use() {
    // A job allocates 600 MiB for five minutes, frees them, and the heap stays as large.
    let peak = |minutes: f64| {
        let (held, used) = match minutes {
            m if m < 10.0 => (200.0, 195.0),
            m if m < 15.0 => (200.0 + 120.0 * (m - 10.0), 195.0 + 120.0 * (m - 10.0)),
            _ => (800.0, 195.0),
        };
        Program {
            held,
            requested: held + 10.0,
            free: held - used,
        }
    };
    let watched = watch(45, peak, true);
    assert!(watched.worst < Verdict::Leaking, "{:?}", watched.worst);
    assert_eq!(watched.last.verdict, Verdict::Steady, "{:?}", watched.last);
}

#[test]
fn the_memory_in_use_survives_a_restart() {
    let mut history = History::new(Duration::from_secs(10));
    let mut last = None;
    for second in (0..20 * 60).step_by(EVERY as usize) {
        let snap = at(second, hoard, true);
        history.push(&snap);
        last = Some((second, snap));
    }
    let (second, snap) = last.unwrap();
    let kept = history.keep(&snap, "ns").unwrap();
    let mut resumed = History::new(Duration::from_secs(10));
    resumed.resume(Kept::read(&kept, "ns").unwrap().unwrap());
    let mut worst = Verdict::Unknown;
    for later in (second + 60..second + 1500).step_by(EVERY as usize) {
        // The first reads come later than the first snapshots.
        let snap = at(later, hoard, later > second + 120);
        resumed.push(&snap);
        worst = worst.max(resumed.get(snap.rows()[0].id).unwrap().trend().verdict);
    }
    assert!(worst < Verdict::Leaking, "{worst:?}");
}
