//! The memory that is left before a limit is reached.

use std::sync::Arc;
use std::time::Duration;

use zmtop::account::headroom::headroom;
use zmtop::columns::Row;
use zmtop::group;
use zmtop::group::GroupBy;
use zmtop::model::{CgroupFigures, ProcessSample, Snapshot};

use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

fn within(pid: u32, path: &str, anon: u64) -> ProcessSample {
    let mut sample = with_facts(process(pid, 1, "server"), |facts| {
        facts.cgroup = Ok(Arc::from(path.as_bytes()));
    });
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
    snap.system.mem_available = Err(zmtop::model::Missing::Unsupported);
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
fn a_group_is_bounded_where_all_of_it_is_in_one_cgroup() {
    let snap = machine(&[]);
    let by = |by| group::groups(&snap, by, |_| true, |_| None);
    let commands = by(GroupBy::Command);
    assert_eq!(Row::of_group(&commands[0], None, &snap).limiting_cgroup(), None);
    for group in by(GroupBy::Cgroup) {
        let row = Row::of_group(&group, None, &snap);
        assert_eq!(row.limiting_cgroup(), group.key.name.as_deref());
    }
    let one = group::groups(&snap, GroupBy::Command, |p| p.id.pid < 12, |_| None);
    assert_eq!(
        Row::of_group(&one[0], None, &snap).limiting_cgroup(),
        Some(&b"/a/b"[..])
    );
    assert_eq!(
        Row::of_process(&snap.rows()[2], None, &snap).limiting_cgroup(),
        Some(&b"/a/bc"[..])
    );
}
