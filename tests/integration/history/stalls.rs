//! Stalls: tasks of the machine or of a cgroup that wait for memory.

use std::sync::Arc;
use std::time::Duration;

use zmtop::history::History;
use zmtop::history::stalls::StallKind;
use zmtop::model::cgroup::Count;
use zmtop::model::{CgroupFigures, Missing, ProcessSample, Snapshot};

use crate::support::rows::{MIB, in_cgroup, snapshot, with_facts, with_pss};

/// The waiting in one second: the share of the machine's time and of the cgroup's, and the major faults of the process in it.
#[derive(Clone, Copy, Default)]
struct Second {
    machine: f64,
    cgroup: f64,
    faults: u64,
}

/// The counters of a machine with one process in the cgroup `/batch`, which has a soft limit of 50 MiB.
struct World {
    history: History,
    now: u64,
    waited: [f64; 2],
    faults: u64,
    /// MiB that cannot be reclaimed.
    stays: u64,
    /// The share of the pages read back that the machine reclaims, and the sum in bytes, if the kernel has this counter.
    reclaims: Option<f64>,
    reclaimed: u64,
    cgroup: &'static str,
    uid: u32,
    /// The share of the major faults that another process, of root, has.
    of_root: f64,
    /// MiB that are available, of 1000.
    available: u64,
    /// The share of the faults that are refaults of the cgroup, if the kernel has this counter.
    refaults: Option<f64>,
}

impl World {
    fn new(stays: u64) -> Self {
        Self {
            history: History::new(Duration::from_secs(10)),
            now: 100,
            waited: [0.0; 2],
            faults: 0,
            stays,
            reclaims: Some(1.0),
            reclaimed: 0,
            cgroup: "/batch",
            uid: 1001,
            of_root: 0.0,
            available: 100,
            refaults: Some(1.0),
        }
    }

    fn row(&self) -> ProcessSample {
        let mut sample = in_cgroup(with_pss(11, "reporter", self.stays * MIB), self.cgroup);
        sample.stat.majflt = (self.faults as f64 * (1.0 - self.of_root)) as u64;
        with_facts(sample, |facts| facts.uid = Ok(self.uid))
    }

    fn of_root(&self) -> ProcessSample {
        let mut sample = in_cgroup(with_pss(10, "still", MIB), "/");
        sample.stat.majflt = (self.faults as f64 * self.of_root) as u64;
        with_facts(sample, |facts| facts.uid = Ok(0))
    }

    /// Lets a second pass. The kernel updates the machine's pressure every other second only.
    fn pass(&mut self, second: Second) {
        self.now += 1;
        self.waited[0] += second.machine;
        self.waited[1] += second.cgroup;
        self.faults += second.faults;
        self.reclaimed += (second.faults as f64 * 4096.0 * self.reclaims.unwrap_or(0.0)) as u64;
        let mut snap: Snapshot = snapshot(Duration::from_secs(self.now), vec![self.of_root(), self.row()]);
        snap.system.mem_total = Ok(1000 * MIB);
        snap.system.mem_available = Ok(self.available * MIB);
        let read = Duration::from_secs_f64(self.waited[0]);
        snap.system.stalled = Ok([read; 2]);
        snap.system.pgmajfault = Ok(self.faults);
        let reclaimed = self.reclaims.map(|_| self.reclaimed).ok_or(Missing::Unsupported);
        (snap.system.steal_kswapd, snap.system.steal_direct) = (reclaimed, reclaimed.map(|_| 0));
        let refaults = self.refaults.ok_or(Missing::Unsupported);
        let figures = CgroupFigures {
            current: Ok(50 * MIB),
            reclaimable: Ok((50 - self.stays) * MIB),
            limit: Ok(None),
            swap: Ok(0),
            swap_limit: Ok(None),
            high: Ok(Some(50 * MIB)),
            major_faults: Ok(Count(self.faults)),
            refaults: refaults.map(|share| Count((self.faults as f64 * share) as u64)),
            stalled_some: Ok(Duration::from_secs_f64(self.waited[1])),
            stalled_full: Ok(Duration::from_secs_f64(self.waited[1])),
            ..CgroupFigures::missing(Missing::Unsupported)
        };
        snap.cgroups = Arc::new([(Arc::from(&b"/batch"[..]), figures)].into());
        self.history.push(&snap);
    }

    fn told(&self) -> Vec<(Option<&[u8]>, StallKind)> {
        let stalls = self.history.stalls().iter();
        stalls.map(|stall| (stall.cgroup.as_deref(), stall.kind)).collect()
    }
}

const THRASH: Second = Second {
    machine: 0.5,
    cgroup: 0.0,
    faults: 2000,
};

#[test]
fn a_machine_that_reads_back_what_was_reclaimed_stalls_until_it_ends() {
    let mut world = World::new(10);
    (0..10).for_each(|_| world.pass(Second::default()));
    assert_eq!(world.told(), []);
    (0..5).for_each(|_| world.pass(THRASH));
    assert_eq!(world.told(), [(None, StallKind::Thrash)]);
    (0..30).for_each(|_| world.pass(THRASH));
    let [stall] = world.history.stalls() else {
        panic!("{:?}", world.history.stalls())
    };
    assert!((0.45..=0.55).contains(&stall.share), "{stall:?}");
    let (waiter, bytes) = stall.waiter.unwrap();
    assert_eq!((waiter.pid, bytes), (11, 2000.0 * 4096.0));
    assert_eq!(stall.since, Duration::from_secs(112));
    (0..7).for_each(|_| world.pass(Second::default()));
    assert_eq!(world.told(), []);
}

#[test]
fn reclaim_that_nothing_reads_back_is_no_stall() {
    // Of a backup that fills the page cache at a limit, which is all reclaimable.
    let mut world = World::new(10);
    let backup = Second {
        machine: 0.6,
        cgroup: 0.6,
        faults: 1,
    };
    (0..60).for_each(|_| world.pass(backup));
    assert_eq!(world.told(), []);
}

#[test]
fn tasks_that_are_throttled_at_a_soft_limit_are_reported_instead_of_the_machine() {
    let mut world = World::new(49);
    let throttled = Second {
        machine: 0.7,
        cgroup: 0.7,
        faults: 100,
    };
    (0..8).for_each(|_| world.pass(throttled));
    assert_eq!(world.told(), [(Some(&b"/batch"[..]), StallKind::Throttled)]);
    assert_eq!(world.history.stalls()[0].waiter.map(|(id, _)| id.pid), Some(11));
    // The cgroup is gone: counters that decrease are another's.
    world.waited = [0.0; 2];
    world.pass(Second::default());
    assert_eq!(world.told(), []);
}

#[test]
fn the_beginning_of_each_stall_is_remembered() {
    let mut world = World::new(10);
    for _ in 0..2 {
        (0..10).for_each(|_| world.pass(Second::default()));
        (0..10).for_each(|_| world.pass(THRASH));
    }
    (0..10).for_each(|_| world.pass(Second::default()));
    let begun: Vec<_> = world.history.stalls_begun().map(|at| at.as_secs()).collect();
    assert_eq!(begun, [112, 131]);
}

#[test]
fn pages_that_the_machine_did_not_reclaim_are_a_stall_only_of_a_limited_cgroup() {
    let machine = [(None, StallKind::Thrash)];
    let cgroup = [(Some(&b"/batch"[..]), StallKind::Thrash)];
    for (reclaims, waits_in, uid, of_root, available, want) in [
        (None, "/batch", 1001, 0.0, 900, &machine[..]),
        (Some(0.6), "/batch", 1001, 0.0, 900, &machine),
        // At a limit of cgroups v1, which have no pressure of their own.
        (Some(0.1), "/batch", 1001, 0.0, 900, &cgroup),
        (Some(0.0), "/batch/inner", 1001, 0.0, 100, &cgroup),
        // The program has asked the kernel to reclaim its pages.
        (Some(0.0), "/other", 1001, 0.0, 900, &[]),
        (Some(0.0), "/", 1001, 0.0, 100, &[]),
        (Some(0.0), "/", 1001, 0.1, 900, &[]),
        // Beside that, the machine thrashes.
        (Some(0.1), "/", 1001, 0.1, 100, &machine),
        (Some(0.2), "/", 1001, 0.3, 900, &machine),
        (Some(0.2), "/", 1001, 0.1, 900, &[]),
        // Pages of root that were reclaimed shortly before.
        (Some(0.2), "/", 0, 0.0, 900, &machine),
    ] {
        let mut world = World::new(10);
        (world.reclaims, world.cgroup, world.uid) = (reclaims, waits_in, uid);
        (world.of_root, world.available) = (of_root, available);
        (0..10).for_each(|_| world.pass(Second::default()));
        (0..20).for_each(|_| world.pass(THRASH));
        assert_eq!(
            world.told(),
            want,
            "{reclaims:?} {waits_in} {uid} {of_root} {available}"
        );
    }
}

#[test]
fn a_limit_full_of_page_cache_is_a_stall_only_if_its_pages_are_read_back() {
    let cgroup = [(Some(&b"/batch"[..]), StallKind::Thrash)];
    for (refaults, want) in [
        (None, &cgroup[..]),
        (Some(0.0), &[]),
        (Some(0.3), &[]),
        (Some(0.6), &cgroup),
    ] {
        let mut world = World::new(10);
        (world.reclaims, world.refaults, world.available) = (Some(0.1), refaults, 900);
        (0..10).for_each(|_| world.pass(Second::default()));
        (0..20).for_each(|_| world.pass(THRASH));
        assert_eq!(world.told(), want, "{refaults:?}");
    }
}

/// A process of that user with so many major faults.
fn reader(pid: u32, uid: u32, path: &str, faults: u64) -> ProcessSample {
    let mut sample = in_cgroup(with_pss(pid, "reader", 20 * MIB), path);
    sample.stat.majflt = faults;
    with_facts(sample, |facts| facts.uid = Ok(uid))
}

/// A machine of 1000 MiB of which so many are available. All its tasks have waited so long, and so many pages were read back.
fn thrashing(second: u64, rows: Vec<ProcessSample>, available: u64, faults: u64, waited: Duration) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(100 + second), rows);
    let system = &mut snap.system;
    (system.mem_total, system.mem_available) = (Ok(1000 * MIB), Ok(available * MIB));
    (system.stalled, system.pgmajfault) = (Ok([waited; 2]), Ok(faults));
    (system.steal_kswapd, system.steal_direct) = (Ok(faults * 4096), Ok(0));
    snap
}

/// The figures of a cgroup of version 2 that uses so many MiB of its limit, whose tasks have waited so long, and that has read back so
/// many pages.
fn waiting([used, limit]: [u64; 2], faults: u64, waited: Duration) -> CgroupFigures {
    CgroupFigures {
        current: Ok(used * MIB),
        reclaimable: Ok(50 * MIB),
        limit: Ok(Some(limit * MIB)),
        swap: Ok(0),
        swap_limit: Ok(None),
        high: Ok(None),
        major_faults: Ok(Count(faults)),
        refaults: Ok(Count(faults)),
        stalled_some: Ok(waited),
        stalled_full: Ok(waited),
        ..CgroupFigures::missing(Missing::Unsupported)
    }
}

/// The cgroup, if any, and the kind of each stall.
fn found(history: &History) -> Vec<(Option<&[u8]>, StallKind)> {
    let stalls = history.stalls().iter();
    stalls.map(|stall| (stall.cgroup.as_deref(), stall.kind)).collect()
}

#[test]
fn a_cgroup_that_stalls_does_not_hide_the_stall_of_the_machine() {
    // The major faults a second of a process in a cgroup that stalls and of one outside of it, and the expected stalls.
    let own = (Some(&b"/own"[..]), StallKind::Thrash);
    let cases = [
        ([2000, 1500], vec![(None, StallKind::Thrash), own]),
        ([2000, 10], vec![own]),
    ];
    for (faults, expected) in cases {
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..20_u64 {
            let late = second.saturating_sub(10);
            let [inside, outside] = faults.map(|faults| faults * late);
            let rows = vec![reader(11, 1001, "/own", inside), reader(20, 70, "/", outside)];
            let waited = Duration::from_millis(500 * late);
            let mut snap = thrashing(second, rows, 100, inside + outside, waited);
            snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), waiting([100, 100], inside, waited))].into());
            history.push(&snap);
        }
        assert_eq!(found(&history), expected, "{faults:?}");
    }
}

#[test]
fn a_user_who_reclaims_its_own_pages_does_not_hide_the_stall_of_a_cgroup() {
    // Version 1: a cgroup has no pressure of its own. The faults a second of the other user, the refaults of the machine, if the kernel
    // counts them, and the expected share.
    for (others, refaults, expected) in [
        (0, None, Some(0.3)),
        (20_000, None, Some(0.3)),
        (0, Some(3000), Some(0.3)),
        (20_000, Some(6000), Some(0.15)),
        (20_000, Some(60_000), None),
    ] {
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..30_u64 {
            let late = second.saturating_sub(10);
            let rows = vec![reader(11, 70, "/db", 3000 * late), reader(20, 1001, "/", others * late)];
            let mut snap: Snapshot = snapshot(Duration::from_secs(100 + second), rows);
            snap.system.mem_total = Ok(1000 * MIB);
            snap.system.mem_available = Ok(900 * MIB);
            snap.system.stalled = Ok([Duration::from_millis(300 * late); 2]);
            snap.system.pgmajfault = Ok((3000 + others) * late);
            (snap.system.steal_kswapd, snap.system.steal_direct) = (Ok(0), Ok(0));
            if let Some(pages) = refaults {
                (snap.system.refault_anon, snap.system.refault_file) = (Ok(0), Ok(pages * late * 4096));
            }
            let figures = CgroupFigures {
                current: Ok(24 * MIB),
                reclaimable: Ok(23 * MIB),
                limit: Ok(Some(24 * MIB)),
                swap: Ok(0),
                swap_limit: Ok(None),
                major_faults: Ok(Count(3000 * late)),
                refaults: Ok(Count(3000 * late)),
                ..CgroupFigures::missing(Missing::Unsupported)
            };
            snap.cgroups = Arc::new([(Arc::from(&b"/db"[..]), figures)].into());
            history.push(&snap);
        }
        let stalls = history.stalls().iter();
        let found: Vec<_> = stalls.map(|stall| (stall.cgroup.as_deref(), stall.share)).collect();
        let is_it = |share: f64| found.len() == 1 && found[0].0 == Some(b"/db") && (found[0].1 - share).abs() < 0.02;
        assert!(
            expected.map_or(found.is_empty(), is_it),
            "{others} {refaults:?}: {found:?}"
        );
    }
}

#[test]
fn many_stalls_of_one_user_hide_neither_the_machines_nor_those_of_others() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..12_u64 {
        let mut waiter = in_cgroup(with_pss(10, "still", MIB), "/");
        waiter.stat.majflt = second * 2000;
        let mut snap: Snapshot = snapshot(Duration::from_secs(100 + second), vec![waiter]);
        snap.system.mem_total = Ok(1000 * MIB);
        snap.system.mem_available = Ok(100 * MIB);
        snap.system.stalled = Ok([Duration::from_millis(second * 500); 2]);
        snap.system.pgmajfault = Ok(second * 2000);
        (snap.system.steal_kswapd, snap.system.steal_direct) = (Ok(second * 2000 * 4096), Ok(0));
        let throttled = |seconds: u64| {
            let waited = Ok(Duration::from_millis(seconds * 700));
            CgroupFigures {
                current: Ok(50 * MIB),
                reclaimable: Ok(0),
                limit: Ok(None),
                swap: Ok(0),
                swap_limit: Ok(None),
                high: Ok(Some(50 * MIB)),
                stalled_some: waited,
                stalled_full: waited,
                ..CgroupFigures::missing(Missing::Unsupported)
            }
        };
        let own = |number: u32| format!("/user.slice/user-1000.slice/{number}.scope");
        let of_user = (0..500).map(|number| (own(number), throttled(second)));
        // It stalls later.
        let web = ("/web.slice/web.service".to_owned(), throttled(second.saturating_sub(3)));
        let all = of_user.chain([web]);
        snap.cgroups = Arc::new(
            all.map(|(path, figures)| (Arc::from(path.as_bytes()), figures))
                .collect(),
        );
        history.push(&snap);
    }
    let paths: Vec<_> = history.stalls().iter().map(|stall| stall.cgroup.as_deref()).collect();
    assert_eq!((paths.len(), paths[0]), (32, None), "{paths:?}");
    assert!(paths.contains(&Some(b"/web.slice/web.service")), "{paths:?}");
}

#[test]
fn the_machine_stalls_also_if_all_that_waits_is_in_cgroups_far_below_their_limits() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..20_u64 {
        let late = second.saturating_sub(10);
        let (faults, waited) = (1500 * late, Duration::from_millis(500 * late));
        let mut snap = thrashing(second, vec![reader(20, 70, "/pod", faults)], 20, faults, waited);
        snap.cgroups = Arc::new([(Arc::from(&b"/pod"[..]), waiting([600, 800], faults, waited))].into());
        history.push(&snap);
    }
    let pod = Some(&b"/pod"[..]);
    assert_eq!(found(&history), [(None, StallKind::Thrash), (pod, StallKind::Thrash)]);
}
