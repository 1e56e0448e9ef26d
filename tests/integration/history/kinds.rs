//! Kinds of memory that grow: lazily freed memory is no leak, and huge pages are named.

use std::time::Duration;

use zmtop::history::History;
use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, suspects};
use zmtop::trend::{Metric, Verdict};

use crate::support::rows::{MIB, process, snapshot, walk};

const KIB: u64 = 1024;
const WINDOW: Duration = Duration::from_secs(10);
/// Enough seconds for a leak to be called.
const LONG: u64 = 1500;

/// Memory that a process of 100 MiB gains in a second: used, lazily freed, in files, and how much of it in huge pages; and
/// the page faults.
#[derive(Clone, Copy, Default)]
struct Gains {
    used: u64,
    lazy: u64,
    file: u64,
    huge: u64,
    faults: u64,
    /// Constant, in MiB: pages that it freed lazily, and that its children map, too.
    shared_lazy: u64,
}

/// Returns what is reported of a process that grows like this.
fn report(gains: Gains) -> Option<Suspect> {
    report_after(gains, LONG, 100_000)
}

/// As [`report`], of so many seconds, of a machine and a process that are so old at first.
fn report_after(gains: Gains, seconds: u64, age: u64) -> Option<Suspect> {
    let mut history = History::new(WINDOW);
    let at = |second: u64| {
        let mut sample = process(7, 1, "program");
        let grown = |by: u64| second * by * KIB;
        let anon = 100 * MIB + grown(gains.used + gains.lazy);
        let mut walk = walk(anon + 10 * MIB + grown(gains.file), 0);
        walk.memory.pss_anon = Ok(anon);
        walk.memory.pss_file = Ok(10 * MIB + grown(gains.file));
        walk.memory.lazy_free = Ok(grown(gains.lazy) + gains.shared_lazy * MIB);
        walk.memory.private_clean = grown(gains.lazy);
        walk.memory.pss_shmem = Ok(4 * MIB);
        walk.memory.anon_huge = Ok(20 * MIB + grown(gains.huge));
        sample.walk = Ok(walk);
        sample.stat.minflt = second * gains.faults;
        let mut snapshot = snapshot(Duration::from_secs(100_000 + second), vec![sample]);
        snapshot.system.uptime = Ok((age + second) as f64);
        snapshot
    };
    for second in 0..seconds {
        history.push(&at(second));
    }
    let found = suspects(&history, &at(seconds - 1), SuspectQuery::GROWING);
    found.into_iter().find(|suspect| suspect.key.process().is_some())
}

#[test]
fn lazily_freed_memory_is_no_leak() {
    let cases = [
        ("used", [200, 0, 0], Verdict::Leaking, Metric::Held),
        ("lazily freed", [0, 200, 0], Verdict::Growing, Metric::Lazy),
        ("both", [200, 200, 0], Verdict::Leaking, Metric::Held),
        ("files", [0, 0, 200], Verdict::Growing, Metric::File),
        (
            "files more than lazily freed",
            [0, 50, 200],
            Verdict::Growing,
            Metric::File,
        ),
    ];
    for (name, [used, lazy, file], verdict, metric) in cases {
        let gains = Gains {
            used,
            lazy,
            file,
            ..Gains::default()
        };
        let found = report(gains).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(
            (found.judgement.verdict, found.judgement.metric),
            (verdict, metric),
            "{name}"
        );
        assert_eq!(found.cause, None, "{name}");
    }
}

#[test]
fn lazily_freed_pages_that_others_map_hide_no_leak() {
    let gains = Gains {
        used: 200,
        shared_lazy: 1000,
        ..Gains::default()
    };
    let judged = report(gains).unwrap().judgement;
    assert_eq!((judged.verdict, judged.metric), (Verdict::Leaking, Metric::Held));
}

#[test]
fn files_that_page_in_as_a_program_starts_are_not_reported() {
    let files = Gains {
        file: 200,
        ..Gains::default()
    };
    assert_eq!(report_after(files, 300, 1), None);
    let later = report_after(files, 300, 3600).map(|found| found.judgement.verdict);
    assert_eq!(later, Some(Verdict::Growing));
    let used = Gains {
        used: 200,
        ..Gains::default()
    };
    let verdict = report_after(used, 300, 1).map(|found| found.judgement.verdict);
    assert_eq!(verdict, Some(Verdict::Growing), "memory that stays is");
}

#[test]
fn growth_in_huge_pages_is_named() {
    let faults_of_small_pages = 200 / 4;
    let cases = [
        ("small pages", [200, 0, faults_of_small_pages], None),
        ("a third", [200, 70, faults_of_small_pages], None),
        ("collapsed", [200, 200, 0], Some(true)),
        ("made by faults", [200, 200, 1], Some(false)),
        ("more huge pages than growth", [200, 400, 0], Some(true)),
    ];
    for (name, [used, huge, faults], collapsed) in cases {
        let gains = Gains {
            used,
            huge,
            faults,
            ..Gains::default()
        };
        let cause = report(gains).unwrap_or_else(|| panic!("{name}")).cause;
        assert_eq!(
            cause,
            collapsed.map(|collapsed| Cause::HugePages { collapsed }),
            "{name}"
        );
    }
    let text = |collapsed| Cause::HugePages { collapsed }.text();
    assert_eq!(text(false), "in transparent huge pages");
    assert_eq!(text(true), "in transparent huge pages, without faults");
}

/// Returns what is reported of a process with 1000 MiB of mapped shared memory, of which it touches more and more, and others
/// unmap more and more, each so many KiB in a second.
fn report_shared(touched: u64, unmapped: u64) -> Option<(Verdict, Option<Cause>, f64)> {
    let mut history = History::new(WINDOW);
    let at = |second: u64| {
        let mut sample = process(7, 1, "program");
        let own = second * touched * KIB;
        let shared = 50 * MIB + second * unmapped * KIB + own;
        let mut walk = walk(10 * MIB + shared, 0);
        walk.memory.pss_anon = Ok(10 * MIB);
        walk.memory.pss_file = Ok(0);
        walk.memory.pss_shmem = Ok(shared);
        walk.memory.rss = 10 * MIB + 1000 * MIB + own;
        sample.walk = Ok(walk);
        let mut snapshot = snapshot(Duration::from_secs(100_000 + second), vec![sample]);
        snapshot.system.uptime = Ok((100_000 + second) as f64);
        snapshot
    };
    for second in 0..LONG {
        history.push(&at(second));
    }
    let found = suspects(&history, &at(LONG - 1), SuspectQuery::GROWING);
    let found = found.into_iter().find(|suspect| suspect.key.process().is_some());
    found.map(|found| (found.judgement.verdict, found.cause, found.judgement.slope / KIB as f64))
}

#[test]
fn shared_memory_that_others_unmap_is_no_growth_of_a_process() {
    assert_eq!(report_shared(0, 300), None);
    // What it touches itself is.
    let (verdict, cause, pace) = report_shared(100, 0).unwrap();
    assert_eq!((verdict, cause), (Verdict::Leaking, Some(Cause::SharedMemory)));
    assert!((pace - 100.0).abs() < 10.0, "{pace}");
    // Of both, its own part is reported.
    let (verdict, cause, pace) = report_shared(100, 300).unwrap();
    assert_eq!((verdict, cause), (Verdict::Growing, Some(Cause::SharedMemory)));
    assert!((pace - 100.0).abs() < 20.0, "{pace}");
}
