//! The memory that is left before a limit is reached.

use std::sync::Arc;
use std::time::Duration;

use zmtop::account::headroom::{headroom, lazily_freed_in_use, machine_headroom};
use zmtop::columns::Row;
use zmtop::group;
use zmtop::group::GroupBy;
use zmtop::history::History;
use zmtop::history::suspects::{SuspectQuery, suspects};
use zmtop::model::system::{AccountingInputs, SwapArea, Zram};
use zmtop::model::{CgroupFigures, Missing, ProcessSample, Reading, Snapshot};

use crate::support::rows::{MIB, in_cgroup, process, snapshot, walk, with_pss};

fn within(pid: u32, path: &str, anon: u64) -> ProcessSample {
    let mut sample = in_cgroup(process(pid, 1, "server"), path);
    let mut seen = walk(anon * MIB + 50 * MIB, 0);
    seen.memory.pss_anon = Ok(anon * MIB);
    seen.memory.pss_shmem = Ok(0);
    sample.walk = Ok(seen);
    sample
}

fn machine(figures: &[(&str, u64, Option<u64>)]) -> Snapshot {
    let samples = vec![
        within(10, "/a/b", 100),
        within(11, "/a/b", 30),
        within(12, "/a/bc", 7),
        within(13, "/a", 5),
        within(14, "/", 900),
    ];
    let mut snap = snapshot(Duration::from_secs(1), samples);
    snap.system.mem_available = Ok(1000 * MIB);
    let figures = figures.iter().map(|(path, current, limit)| {
        let figures = CgroupFigures {
            current: Ok(current * MIB),
            swap: Ok(0),
            limit: Ok(limit.map(|limit| limit * MIB)),
            swap_limit: Ok(None),
            ..CgroupFigures::missing(Missing::Unsupported)
        };
        (Arc::from(path.as_bytes()), figures)
    });
    snap.cgroups = Arc::new(figures.collect());
    snap
}

#[test]
fn the_machine_has_what_is_available_and_what_swap_is_free() {
    let mut snap = machine(&[]);
    assert_eq!(headroom(&snap, None), Some(1000 * MIB));
    snap.system.swap_free = Ok(24 * MIB);
    assert_eq!(headroom(&snap, Some(b"/a/b")), Some(1024 * MIB));
    snap.system.mem_available = Err(Missing::Unsupported);
    assert_eq!(headroom(&snap, None), None);
}

#[test]
fn the_nearest_limit_counts_without_the_files_that_are_cached() {
    // All but 130 MiB of what is charged are files that give way.
    let snap = machine(&[("/a/b", 400, Some(500)), ("/a", 450, Some(560))]);
    assert_eq!(headroom(&snap, Some(b"/a/b")), Some(370 * MIB));
    // Of /a, which has the processes of three cgroups: 142 MiB.
    assert_eq!(headroom(&snap, Some(b"/a")), Some(418 * MIB));
    assert_eq!(headroom(&snap, Some(b"/a/bc")), Some(418 * MIB));
    let snap = machine(&[("/a/b", 400, Some(500)), ("/a", 450, Some(200))]);
    assert_eq!(headroom(&snap, Some(b"/a/b")), Some(58 * MIB));
    // What others share in is not charged to it twice; what is over the limit leaves nothing.
    assert_eq!(
        headroom(&machine(&[("/a/b", 60, Some(500))]), Some(b"/a/b")),
        Some(440 * MIB)
    );
    assert_eq!(headroom(&machine(&[("/a/b", 400, Some(90))]), Some(b"/a/b")), Some(0));
    // No limit, and no figures at all.
    assert_eq!(
        headroom(&machine(&[("/a/b", 400, None)]), Some(b"/a/b")),
        Some(1000 * MIB)
    );
    assert_eq!(headroom(&snap, Some(b"/elsewhere")), Some(1000 * MIB));
    assert_eq!(headroom(&snap, Some(b"/")), Some(1000 * MIB));
}

#[test]
fn a_group_is_bounded_by_the_innermost_cgroup_that_holds_all_of_it() {
    let snap = machine(&[]);
    let by = |by| group::groups(&snap, by, |_| true, |_| None);
    let commands = by(GroupBy::Command);
    assert_eq!(Row::of_group(&commands[0], None, &snap).limiting_cgroup(), None);
    for group in by(GroupBy::Cgroup) {
        let row = Row::of_group(&group, None, &snap);
        assert_eq!(row.limiting_cgroup(), group.key.name.as_deref());
    }
    for (end, path) in [(12, "/a/b"), (13, "/a"), (14, "/a")] {
        let one = group::groups(&snap, GroupBy::Command, |p| p.id.pid < end, |_| None);
        let row = Row::of_group(&one[0], None, &snap);
        assert_eq!(row.limiting_cgroup(), Some(path.as_bytes()));
    }
    assert_eq!(
        Row::of_process(&snap.rows()[2], None, &snap).limiting_cgroup(),
        Some(&b"/a/bc"[..])
    );
}

#[test]
fn a_program_in_several_cgroups_is_full_with_the_limit_above_them() {
    for limits in [(Ok(Some(2000 * MIB)), Ok(None)), (Ok(None), Ok(Some(2000 * MIB)))] {
        full_with(limits);
    }
}

/// Checks when a program is full whose cgroup has these limits: a hard and a soft one.
#[track_caller]
fn full_with((limit, high): (Reading<Option<u64>>, Reading<Option<u64>>)) {
    let mut history = History::new(Duration::from_secs(10));
    let at = |second: u64| {
        let grows = |pid, path| in_cgroup(with_pss(pid, "server", 100 * MIB + second * MIB / 5), path);
        let mut snap = snapshot(Duration::from_secs(100_000 + second), Vec::new());
        snap.processes = Ok(vec![grows(10, "/pod/a"), grows(11, "/pod/b")]);
        snap.system.mem_available = Ok(100_000 * MIB);
        let pod = CgroupFigures {
            current: Ok(1000 * MIB),
            limit,
            high,
            ..CgroupFigures::missing(Missing::Unsupported)
        };
        snap.cgroups = Arc::new([(Arc::from(&b"/pod"[..]), pod)].into_iter().collect());
        snap
    };
    (0..600).for_each(|second| history.push(&at(second)));
    let query = SuspectQuery {
        by: Some(GroupBy::Command),
        ..SuspectQuery::GROWING
    };
    let found = suspects(&history, &at(599), query);
    let eta = found[0].eta.unwrap();
    // The limit leaves less than 2000 MiB, and the two grow by 0.4 MiB a second.
    assert!(eta < 5500.0, "{eta}");
}

/// A machine with 1000 MiB available of 8000, and 3000 MiB of anonymous memory.
fn with_swap(free: u64, areas: &[(&str, u64, u64)], set: impl FnOnce(&mut Snapshot)) -> u64 {
    let mut snap = machine(&[]);
    let system = &mut snap.system;
    system.mem_total = Ok(8000 * MIB);
    system.anon_pages = Ok(3000 * MIB);
    system.swap_free = Ok(free * MIB);
    let area = |(path, size, used): &(&str, u64, u64)| SwapArea {
        path: path.as_bytes().into(),
        kind: "partition".into(),
        size: size * MIB,
        used: used * MIB,
        priority: Ok(1),
    };
    system.swaps = Ok(areas.iter().map(area).collect());
    set(&mut snap);
    machine_headroom(&snap).unwrap() / MIB
}

fn zram(stored: u64, compressed: u64, limit: Option<u64>) -> Vec<Zram> {
    vec![Zram {
        name: "zram0".into(),
        stored: stored * MIB,
        compressed: compressed * MIB,
        limit: limit.map(|limit| limit * MIB),
        is_swap: true,
    }]
}

#[test]
fn swap_that_takes_memory_adds_what_it_saves() {
    let disk = ("/dev/sda2", 2000, 500);
    let on_zram = |used: u64| ("/dev/zram0", 4000, used);
    // Name, SwapFree, areas, devices; MiB beside the 1000 that are available.
    let cases = [
        ("on a disk", 1500, vec![disk], vec![], 1500),
        (
            "nothing stored: two to one",
            4000,
            vec![on_zram(0)],
            zram(0, 0, None),
            2000,
        ),
        ("too little stored", 3990, vec![on_zram(10)], zram(10, 1, None), 1995),
        ("three to one", 2800, vec![on_zram(1200)], zram(1200, 400, None), 1866),
        (
            "no ratio of zeros lasts",
            2800,
            vec![on_zram(1200)],
            zram(1200, 12, None),
            2100,
        ),
        (
            "does not compress",
            2800,
            vec![on_zram(1200)],
            zram(1200, 1250, None),
            0,
        ),
        (
            "a limit of its RAM",
            2800,
            vec![on_zram(1200)],
            zram(1200, 400, Some(700)),
            600,
        ),
        (
            "at that limit",
            2800,
            vec![on_zram(1200)],
            zram(1200, 400, Some(400)),
            0,
        ),
        (
            "a device whose figures are not known",
            2800,
            vec![on_zram(1200)],
            vec![],
            1400,
        ),
        // All that there is, swapped.
        (
            "more swap than memory",
            30_000,
            vec![("/dev/zram0", 30_000, 0)],
            zram(0, 0, None),
            4000,
        ),
        (
            "both",
            4300,
            vec![disk, on_zram(1200)],
            zram(1200, 400, None),
            1500 + 1866,
        ),
    ];
    for (name, free, areas, devices, added) in cases {
        let room = with_swap(free, &areas, |snap| snap.system.zram = devices);
        assert_eq!(room, 1000 + added, "{name}");
    }
}

#[test]
fn swap_of_unknown_areas_is_on_a_zram_device_if_there_is_one() {
    let unused = || {
        let mut devices = zram(1200, 400, None);
        devices[0].is_swap = false;
        devices
    };
    for (devices, added) in [(zram(1200, 400, None), 1866), (unused(), 2800), (vec![], 2800)] {
        let room = with_swap(2800, &[], |snap| {
            snap.system.swaps = Err(Missing::Denied);
            snap.system.zram = devices;
        });
        assert_eq!(room, 1000 + added);
    }
}

#[test]
fn a_page_in_ram_and_in_swap_counts_as_free() {
    // Of 1000 MiB that are in use on the disk, 300 are in RAM, too.
    let cached = |bytes| {
        with_swap(500, &[("/dev/sda2", 1500, 1000)], |snap| {
            snap.system.swap_cached = bytes;
        })
    };
    assert_eq!(cached(Ok(300 * MIB)), 1800);
    assert_eq!(cached(Err(Missing::Unsupported)), 1500);
}

#[test]
fn lazily_freed_memory_that_is_in_use_again_is_not_left() {
    // The lists of files have 700 MiB; of files that are no shared memory, there are 100 less than `files`.
    let in_use = |files: u64, unused: u64| {
        let mut rows = vec![process(5, 1, "java")];
        let walk = rows[0].walk.as_mut().unwrap();
        (walk.memory.lazy_free, walk.memory.private_clean) = (Ok(unused * MIB), unused * MIB);
        let mut snap = snapshot(Duration::ZERO, rows);
        let system = &mut snap.system;
        (system.cached, system.buffers, system.shmem) = (Ok(files * MIB), Ok(50 * MIB), Ok(150 * MIB));
        system.lru_file = Ok(700 * MIB);
        lazily_freed_in_use(&snap) / MIB
    };
    assert_eq!([in_use(500, 0), in_use(500, 120), in_use(500, 900)], [300, 180, 0]);
    assert_eq!([in_use(800, 0), in_use(2000, 0)], [0, 0]);
}

#[test]
fn what_zswap_may_still_take_is_not_left() {
    // Enabled, its percentage, its pool and what is in it; of 1500 MiB of free swap on a disk so much counts.
    let unknown = Err(Missing::Pending);
    let cases = [
        ("off", Ok(false), Ok(20), 0, 0, 1500),
        ("not known, and empty", unknown, Err(Missing::Pending), 0, 0, 1500),
        ("empty", Ok(true), Ok(20), 0, 0, 750),
        ("empty and small", Ok(true), Ok(5), 0, 0, 1100),
        ("three to one", Ok(true), Ok(20), 100, 300, 1000),
        ("at its limit", Ok(true), Ok(5), 400, 1200, 1500),
        ("not known, but used", unknown, Err(Missing::Pending), 1500, 4500, 1400),
    ];
    for (name, is_on, percent, pool, stored, counts) in cases {
        let room = with_swap(1500, &[("/dev/sda2", 8000, 6500)], |snap| {
            snap.system.zswap = Ok(pool * MIB);
            snap.system.zswapped = Ok(stored * MIB);
            snap.accounting = Arc::new(AccountingInputs {
                zswap_on: is_on,
                zswap_percent: percent,
                ..AccountingInputs::missing(Missing::Pending)
            });
        });
        assert_eq!(room, 1000 + counts, "{name}");
    }
}
