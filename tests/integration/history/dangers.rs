//! Limits that are reached soon, and who takes the memory.

use std::sync::Arc;
use std::time::Duration;

use zmtop::group::{GroupBy, RowKey};
use zmtop::history::History;
use zmtop::history::dangers::{Danger, Limit};
use zmtop::model::{CgroupFigures, ProcessSample, Snapshot};

use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

/// A process of that program, in a cgroup, with so many MiB of anonymous memory.
fn holding(pid: u32, command: &str, path: &str, mib: u64) -> ProcessSample {
    let mut sample = with_facts(process(pid, 1, command), |facts| {
        facts.cgroup = Ok(Arc::from(path.as_bytes()));
    });
    let mut seen = walk(mib * MIB, 0);
    seen.memory.pss_anon = Ok(mib * MIB);
    seen.memory.pss_shmem = Ok(0);
    sample.walk = Ok(seen);
    sample
}

/// Takes in a snapshot a second of such processes, of a machine of which so many MiB are left, with a cgroup `/box`
/// that is limited to 2 GiB; returns the dangers at the end.
fn after(seconds: u64, left: impl Fn(u64) -> u64, rows: impl Fn(u64) -> Vec<ProcessSample>) -> Vec<Danger> {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..seconds {
        history.push(&machine(second, left(second), rows(second)));
    }
    history.dangers().to_vec()
}

fn machine(second: u64, left: u64, rows: Vec<ProcessSample>) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(second), rows);
    snap.system.mem_available = Ok(left * MIB);
    snap.system.swap_free = Ok(0);
    let figures = |limit| CgroupFigures {
        current: Ok(1900 * MIB),
        swap: Ok(0),
        limit: Ok(limit),
        swap_limit: Ok(None),
    };
    let limited = [
        ("/box", Some(2048 * MIB)),
        ("/box/inner", Some(2048 * MIB)),
        ("/free", None),
    ];
    snap.cgroups = Arc::new(
        limited
            .into_iter()
            .map(|(path, limit)| (Arc::from(path.as_bytes()), figures(limit)))
            .collect(),
    );
    snap
}

fn pid(danger: &Danger) -> Option<u32> {
    danger.taker.as_ref()?.0.process().map(|id| id.pid)
}

#[test]
fn the_machine_is_full_soon_and_who_takes_it_is_named() {
    let rows = |second| {
        vec![
            holding(10, "still", "/", 900),
            holding(11, "greedy", "/", 100 + 10 * second),
        ]
    };
    let found = after(270, |second| 9000 - 10 * second, rows);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].limit, Limit::Machine);
    assert_eq!(pid(&found[0]), Some(11));
    let forecast = found[0].forecast;
    assert!((580.0..=680.0).contains(&forecast.seconds()), "{forecast:?}");
    let (_, pace) = found[0].taker.clone().unwrap();
    assert!((pace / (10.0 * MIB as f64) - 1.0).abs() < 0.1, "{pace}");
}

#[test]
fn a_program_whose_processes_take_it_together_is_named_as_a_whole() {
    let rows = |second| {
        let workers = (10..20).map(|pid| holding(pid, "worker", "/", 100 + second));
        workers.chain([holding(30, "still", "/", 900)]).collect()
    };
    let found = after(270, |second| 9000 - 10 * second, rows);
    let (key, _) = found[0].taker.as_ref().unwrap();
    let RowKey::Group(key) = key else { panic!("{key:?}") };
    assert_eq!((key.by, key.label()), (GroupBy::Command, &b"worker"[..]));
}

#[test]
fn what_no_process_takes_is_told_without_one() {
    let found = after(
        270,
        |second| 9000 - 10 * second,
        |_| vec![holding(10, "still", "/", 900)],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].taker, None);
}

#[test]
fn a_cgroup_is_full_soon_while_the_machine_is_not() {
    let rows = |second| {
        vec![
            holding(10, "outside", "/free", 100 + 3 * second),
            holding(11, "inside", "/box/inner", 1000 + second),
        ]
    };
    let found = after(270, |_| 9000, rows);
    // It has the same limit as the one above it, whose limit it is.
    let limits: Vec<_> = found.iter().map(|danger| &danger.limit).collect();
    assert_eq!(limits, [&Limit::Cgroup(Arc::from(&b"/box"[..]))]);
    assert_eq!(pid(&found[0]), Some(11));
}

#[test]
fn the_limit_of_an_address_space_is_counted_down_to() {
    let limited = |second: u64, limit: Option<u64>| {
        let mut sample = holding(11, "greedy", "/", 100 + second);
        // More of it is reserved than is used.
        sample.stat.vsize = (500 + 2 * second) * MIB;
        let id = sample.id;
        let mut snap = machine(second, 90_000, vec![holding(10, "still", "/", 900), sample]);
        snap.address_limits = Arc::new(limit.map(|limit| (id, limit)).into_iter().collect());
        snap
    };
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..150 {
        history.push(&limited(second, Some(1500 * MIB)));
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    assert!(
        matches!(danger.limit, Limit::AddressSpace(id) if id.pid == 11),
        "{danger:?}"
    );
    assert_eq!(pid(danger), Some(11));
    // At 2 MiB a second, of the 702 that are left.
    assert!((danger.forecast.seconds() - 351.0).abs() < 5.0, "{danger:?}");
    history.push(&limited(150, None));
    assert_eq!(history.dangers(), []);
}

#[test]
fn a_limit_that_is_gone_is_forgotten() {
    let mut history = History::new(Duration::from_secs(10));
    let rows = |second| vec![holding(11, "inside", "/box", 1000 + second)];
    for second in 0..270 {
        history.push(&machine(second, 9000, rows(second)));
    }
    assert_eq!(history.dangers().len(), 1);
    for second in 270..274 {
        let mut snap = machine(second, 9000, rows(second));
        snap.cgroups = Arc::default();
        history.push(&snap);
    }
    assert_eq!(history.dangers(), []);
}

#[test]
fn who_fills_the_memory_in_seconds_is_named_at_once() {
    let mut history = History::new(Duration::from_secs(10));
    // A process begins at second 60, and takes 2000 MiB in 20 s; what it has is read every other second.
    let rows = |second: u64| {
        let mut rows = vec![holding(10, "still", "/", 900)];
        if second >= 61 {
            let mut hog = holding(11, "hog", "/", 100 * ((second - 61) / 2 * 2));
            hog.id.starttime = 6000;
            rows.push(hog);
        }
        rows
    };
    for second in 0..=63 {
        let mut snap = machine(second, 2000 - 100 * second.saturating_sub(60), rows(second));
        snap.system.uptime = Ok(second as f64);
        history.push(&snap);
        assert_eq!(history.dangers().is_empty(), second < 62, "{second}");
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    assert_eq!(pid(danger), Some(11));
    assert!(danger.forecast.seconds() < 25.0, "{danger:?}");
}
