//! Estimates between walks: figures and bounds as tables.

use zmtop::model::{Memory, Missing};
use zmtop::proc::pid::{Statm, inexact};
use zmtop::sampler::estimate::{Anchor, Counters, Estimate, Others, Tracker};

pub(super) const MB: u64 = 1 << 20;
/// Faults that bring a mebibyte.
pub(super) const MB_FAULTS: u64 = 256;

/// A process at its walk: 100 MB of anonymous memory of its own, and 40 MB of a library that four have mapped.
pub(super) fn alone() -> Anchor {
    Anchor {
        memory: Memory {
            rss: 140 * MB,
            pss: 110 * MB,
            pss_anon: Ok(100 * MB),
            pss_file: Ok(10 * MB),
            pss_dirty: Ok(100 * MB),
            private_dirty: 100 * MB,
            shared_clean: 40 * MB,
            ..Memory::default()
        },
        anonymous: Some(100 * MB),
        counters: Counters {
            faults: 100_000,
            cpu_ticks: 100,
            vsize: 1 << 30,
            rss: 140 * MB,
            resident: Some(Statm {
                anon: 100 * MB,
                shared: 40 * MB,
                data: None,
            }),
            swap: Some(0),
        },
        ..Anchor::default()
    }
}

/// The same, whose anonymous memory is shared with one fork.
pub(super) fn forked() -> Anchor {
    let mut anchor = alone();
    anchor.memory.pss = 60 * MB;
    anchor.memory.pss_anon = Ok(50 * MB);
    anchor.memory.private_dirty = 0;
    anchor.memory.shared_dirty = 100 * MB;
    anchor
}

/// The counters of an anchor, with what came (MB) of anonymous memory, of files, and in swap, and faults.
fn after(anchor: &Anchor, [anon, shared, swap]: [i64; 3], faults: u64) -> Counters {
    let then = anchor.counters;
    let resident = then.resident.unwrap();
    let moved = |from: u64, by: i64| from.checked_add_signed(by * MB.cast_signed()).unwrap();
    Counters {
        faults: then.faults + faults,
        resident: Some(Statm {
            anon: moved(resident.anon, anon),
            shared: moved(resident.shared, shared),
            data: None,
        }),
        swap: Some(moved(then.swap.unwrap(), swap)),
        ..then
    }
}

pub(super) fn estimated(anchor: &Anchor, now: Counters) -> Estimate {
    let mut tracker = Tracker::default();
    tracker.walked(Some(*anchor), &Others::default());
    tracker.glanced(now);
    tracker.estimate().unwrap()
}

#[test]
fn each_kind_of_change_has_its_figures_and_its_bound() {
    // Anonymous, shared, swap, faults; then PSS, SwapPss, bound.
    let cases = [
        ("nothing", alone(), [0, 0, 0], 0, [110, 0, 0]),
        (
            "growth of one's own is exact",
            alone(),
            [30, 0, 0],
            30 * MB_FAULTS,
            [140, 0, 0],
        ),
        ("so is what is given back", alone(), [-30, 0, 0], 0, [80, 0, 0]),
        (
            "pages of a file count by a quarter",
            alone(),
            [0, 8, 0],
            8 * MB_FAULTS,
            [112, 0, 6],
        ),
        ("and so they go", alone(), [0, -8, 0], 0, [108, 0, 6]),
        ("swapped out, the sum stays", alone(), [-20, 0, 20], 0, [90, 20, 0]),
        (
            "growth beside a fork is one's own",
            forked(),
            [10, 0, 0],
            10 * MB_FAULTS,
            [70, 0, 0],
        ),
        ("what goes may have been shared", forked(), [-10, 0, 0], 0, [55, 0, 5]),
        ("swapped out beside a fork", forked(), [-20, 0, 20], 0, [50, 10, 20]),
        (
            "a copy on write, or some pages of a file",
            forked(),
            [0, 0, 0],
            4 * MB_FAULTS,
            [60, 0, 8],
        ),
        // Half of 100 MB may become private, and three quarters of 40 MB be other pages.
        (
            "however many, no more than is shared",
            forked(),
            [0, 0, 0],
            1 << 40,
            [60, 0, 80],
        ),
        // As 2 MB of a file may come with one fault, the others may be copies.
        (
            "copies on write beside pages of a file",
            forked(),
            [0, 8, 0],
            4 + 2 * MB_FAULTS,
            [62, 0, 10],
        ),
        (
            "pages of files at an even count",
            alone(),
            [0, 0, 0],
            2 * MB_FAULTS,
            [110, 0, 4],
        ),
    ];
    for (what, anchor, changes, faults, [pss, swap_pss, bound]) in cases {
        let estimate = estimated(&anchor, after(&anchor, changes, faults));
        let memory = estimate.memory;
        let got = (memory.pss, memory.swap_pss, estimate.bound);
        assert_eq!(got, (pss * MB, Ok(swap_pss * MB), bound * MB), "{what}");
        let rss = (140 + changes[0] + changes[1]).cast_unsigned() * MB;
        assert_eq!((memory.rss, memory.uss() + memory.shared()), (rss, rss), "{what}");
        let kinds = memory.pss_anon.unwrap() + memory.pss_file.unwrap() + memory.pss_shmem.unwrap();
        assert_eq!(kinds, memory.pss, "{what}");
        assert!(memory.uss() <= memory.pss, "{what}");
        assert_eq!(memory.swap, changes[2].cast_unsigned() * MB, "{what}");
    }
}

#[test]
fn what_comes_back_from_swap_counts_as_it_did_there() {
    let mut anchor = alone();
    anchor.memory.swap = 40 * MB;
    anchor.memory.swap_pss = Ok(20 * MB);
    anchor.counters.swap = Some(40 * MB);
    let back = estimated(&anchor, after(&anchor, [10, 0, -10], 10 * MB_FAULTS));
    assert_eq!((back.memory.pss, back.memory.swap_pss), (115 * MB, Ok(15 * MB)));
    assert_eq!((back.memory.footprint(), back.bound), (Ok(130 * MB), 10 * MB));
    // Given back in swap, while as much that is new came into RAM elsewhere.
    let freed = estimated(&anchor, after(&anchor, [0, 0, -10], 0));
    assert_eq!(
        (freed.memory.pss, freed.memory.swap_pss, freed.bound),
        (110 * MB, Ok(15 * MB), 5 * MB)
    );
}

#[test]
fn a_fork_takes_the_sureness_that_memory_is_ones_own() {
    let anchor = alone();
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    tracker.forked();
    tracker.glanced(after(&anchor, [-30, 0, 0], 0));
    assert_eq!(tracker.estimate().unwrap().bound, 30 * MB);
    // Walked anew, it is sure again.
    tracker.walked(Some(anchor), &Others::default());
    tracker.glanced(after(&anchor, [-30, 0, 0], 0));
    assert_eq!(tracker.estimate().unwrap().bound, 0);
}

#[test]
fn what_stays_as_walked() {
    // hugetlbfs is in neither PSS nor the counters.
    let mut anchor = alone();
    anchor.memory.private_hugetlb = Ok(64 * MB);
    let grown = estimated(&anchor, after(&anchor, [3, 0, 0], 3 * MB_FAULTS)).memory;
    assert_eq!((grown.private_hugetlb, grown.shared_hugetlb), (Ok(64 * MB), Ok(0)));
    // Nor are huge pages and lazily freed ones, but those that are gone were freed lazily first, unless they went to swap.
    anchor.memory.anon_huge = Ok(20 * MB);
    anchor.memory.lazy_free = Ok(8 * MB);
    for (change, lazy) in [([3, 0, 0], 8), ([-5, 0, 0], 3), ([-5, 0, 5], 8), ([-30, 0, 0], 0)] {
        let moved = estimated(&anchor, after(&anchor, change, 0)).memory;
        assert_eq!(
            (moved.anon_huge, moved.lazy_free),
            (Ok(20 * MB), Ok(lazy * MB)),
            "{change:?}"
        );
    }
    // The kernel counts DAX as a file, and never as anonymous; PSS before Linux 5.4 is not split.
    anchor.memory.pss_anon = Err(Missing::Unsupported);
    anchor.memory.pss_file = Err(Missing::Unsupported);
    let old = estimated(&anchor, after(&anchor, [7, 0, 0], 7 * MB_FAULTS));
    assert_eq!(
        (old.memory.pss, old.memory.pss_anon),
        (117 * MB, Err(Missing::Unsupported))
    );
    let less = estimated(&anchor, after(&anchor, [-14, 0, 0], 0));
    assert_eq!((less.memory.pss, less.bound), (99 * MB, 11 * MB));
    // Merged by KSM, pages are anonymous, resident, and divided: no page of them is surely one's own.
    let mut merged = alone();
    merged.memory.pss_anon = Ok(60 * MB);
    let less = estimated(&merged, after(&merged, [-10, 0, 0], 0));
    assert_eq!((less.memory.pss, less.bound), (104 * MB, 6 * MB));
}

#[test]
fn without_statm_every_sign_in_stat_counts_whole() {
    let anchor = alone();
    let mut now = after(&anchor, [30, 0, 0], 3);
    (now.resident, now.rss) = (None, 141 * MB);
    let estimate = estimated(&anchor, now);
    assert_eq!(estimate.memory, anchor.memory);
    assert_eq!(estimate.bound, MB + 3 * 4096);
    let mut tracker = Tracker::default();
    tracker.walked(
        Some(Anchor {
            counters: now,
            ..anchor
        }),
        &Others::default(),
    );
    now.cpu_ticks += 1;
    tracker.glanced(now);
    assert!(tracker.ran_unseen(false));
    // With readable counters, only the use of lazily freed pages is not seen.
    let mut tracker = Tracker::default();
    let mut now = anchor.counters;
    tracker.walked(Some(anchor), &Others::default());
    assert!(!tracker.ran_unseen(true));
    now.cpu_ticks += 1;
    tracker.glanced(now);
    assert_eq!(
        [false, true].map(|has_lazy| tracker.ran_unseen(has_lazy)),
        [false, true]
    );
}

#[test]
fn a_glance_older_than_the_walk_changes_nothing() {
    let anchor = alone();
    let mut older = after(&anchor, [-50, 0, 0], 0);
    older.faults -= 1;
    let estimate = estimated(&anchor, older);
    assert_eq!((estimate.memory, estimate.bound), (anchor.memory, 0));
}

#[test]
fn what_changes_during_a_walk_is_its_blur() {
    let Anchor { memory, counters, .. } = alone();
    let mut after = counters;
    after.resident.as_mut().unwrap().anon += 5 * MB;
    // Pages that the kernel counts in one of the two only.
    assert_eq!(Anchor::new(memory, None, &counters, after, 0).blur, 0);
    after.faults += 5 * MB_FAULTS;
    let seen = Anchor::new(memory, Some(100 * MB), &counters, after, 0);
    assert_eq!((seen.blur, estimated(&seen, after).bound), (5 * MB, 5 * MB));
}

#[test]
fn copies_on_write_during_a_walk_are_in_its_bound() {
    let Anchor { memory, counters, .. } = forked();
    let mut after = counters;
    after.faults += 2 * MB_FAULTS;
    let anchor = Anchor::new(memory, Some(100 * MB), &counters, after, 0);
    assert_eq!((anchor.blur, estimated(&anchor, after).bound), (0, 4 * MB));
    // They count once.
    let mut now = after;
    now.cpu_ticks += 1;
    now.faults += MB_FAULTS;
    assert_eq!(estimated(&anchor, now).bound, 6 * MB + 200 * 1024);
}

#[test]
fn counters_that_lag_behind_are_in_the_bound() {
    // Release, CPUs, threads; pages.
    for (release, cpus, threads, pages) in [
        (&b"6.17.0"[..], 64, 100, 0),
        (b"6.18.44-fc-v669", 2, 1, 0),
        (b"7.0.0-rc1", 2, 1, 0),
        (b"6.16.12+", 2, 1, 64),
        (b"6.2.0", 64, 1, 64 * 128),
        (b"6.1.0-13-amd64", 64, 3, 3 * 64),
        (b"4.18.0-553.el8", 64, 0, 64),
        (b"strange", 2, 2, 128),
    ] {
        assert_eq!(inexact(release, cpus, threads), pages, "{release:?}");
    }
    let mut anchor = alone();
    anchor.inexact = 4 * MB;
    let estimate = estimated(&anchor, after(&anchor, [30, 0, 0], 30 * MB_FAULTS));
    // Anonymous pages then and now, and a quarter of those of files and of shmem.
    assert_eq!((estimate.memory.pss, estimate.bound), (140 * MB, 12 * MB));
    // What stat shows is less: nothing is added, and the bound is as without statm.
    let estimate = estimated(&anchor, after(&anchor, [1, 0, 0], MB_FAULTS));
    assert_eq!((estimate.memory.pss, estimate.bound), (110 * MB, 2 * MB));
    assert_eq!(estimated(&anchor, anchor.counters).bound, 0);
}

#[test]
fn no_figures_overflow() {
    let mut anchor = alone();
    anchor.memory.pss = u64::MAX;
    anchor.memory.private_dirty = u64::MAX;
    anchor.memory.swap_pss = Ok(u64::MAX);
    let resident = |pages| Statm {
        anon: pages,
        shared: pages,
        data: None,
    };
    for (then, now) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
        anchor.counters.resident = Some(resident(then));
        anchor.counters.swap = Some(then);
        let now = Counters {
            faults: u64::MAX,
            cpu_ticks: u64::MAX,
            resident: Some(resident(now)),
            swap: Some(now),
            ..anchor.counters
        };
        let mut tracker = Tracker::default();
        tracker.walked(Some(anchor), &Others::default());
        tracker.glanced(now);
        assert!(tracker.estimate().is_some());
        let others = Others {
            bound: u64::MAX,
            drift: u64::MAX,
            shift: i64::MIN,
        };
        tracker.walked(Some(anchor), &others);
    }
}
