//! Programs and families whose number of processes grows, and processes whose parent is gone.

use std::time::Duration;

use zmtop::group::GroupBy;
use zmtop::history::suspects::{Suspect, SuspectQuery, suspects};
use zmtop::history::{History, Population};
use zmtop::model::{Missing, ProcessSample, Snapshot};
use zmtop::trend::{Metric, Verdict};

use super::{key, program};
use crate::support::rows::snapshot;

/// Seconds from one snapshot to the next.
const INTERVAL: u64 = 10;
/// The first second.
const BEGAN: u64 = 100_000;

/// The way in which the copies of a program began.
#[derive(Clone, Copy, PartialEq)]
enum Began {
    /// They are children of the agent, pid 10.
    Children,
    /// Their parent ended at once: init adopted them.
    Left,
    /// An init started each in a session of its own.
    ByInit,
}

/// A copy of a program.
fn copy(pid: u32, began: Began) -> ProcessSample {
    let ppid = if began == Began::Children { 10 } else { 1 };
    let mut sample = program(pid, ppid, "worker", "/usr/bin/worker");
    sample.stat.session = if began == Began::ByInit { pid } else { 10 };
    sample
}

/// An init and an agent in sessions of their own.
fn others() -> Vec<ProcessSample> {
    let mut init = program(1, 0, "systemd", "/usr/lib/systemd/systemd");
    init.stat.session = 1;
    let mut agent = program(10, 1, "agent", "/usr/bin/agent");
    agent.stat.session = 10;
    vec![init, agent]
}

fn at(second: u64, rows: Vec<ProcessSample>) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(BEGAN + second), rows);
    snap.interval = Duration::from_secs(INTERVAL);
    snap.system.uptime = Ok((BEGAN + second) as f64);
    snap
}

fn population(history: &History) -> Population {
    history.population(&key(GroupBy::Command, "worker")).unwrap()
}

/// Those that are listed for the number of their processes.
fn listed(history: &History, snap: &Snapshot) -> Vec<Suspect> {
    let all = suspects(history, snap, SuspectQuery::GROWING);
    all.into_iter()
        .filter(|suspect| suspect.judgement.metric == Metric::Processes)
        .collect()
}

/// Returns the minutes after which the number was first said to grow, and to leak.
fn watch(minutes: u64, began: Began, number: impl Fn(f64) -> f64) -> [Option<u64>; 2] {
    let copies: Vec<ProcessSample> = (0..5000).map(|at| copy(1000 + at, began)).collect();
    let mut history = History::new(Duration::from_secs(10));
    let mut said = [None; 2];
    for second in (0..minutes * 60).step_by(INTERVAL as usize) {
        let living = number(second as f64 / 60.0) as usize;
        let mut rows = others();
        rows.extend(copies[..living].iter().cloned());
        history.push(&at(second, rows));
        let judged = population(&history).judgement(Duration::from_secs(BEGAN + second));
        for (said, verdict) in said.iter_mut().zip([Verdict::Growing, Verdict::Leaking]) {
            if judged.verdict >= verdict {
                said.get_or_insert(second / 60);
            }
        }
    }
    said
}

/// A number from 0 to 1 for each second.
fn noise(minutes: f64) -> f64 {
    let mixed = ((minutes * 60.0) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 24)
}

#[test]
fn a_job_whose_memory_may_not_be_read_has_no_processes_between_its_runs() {
    let mut history = History::new(Duration::from_secs(10));
    // Five minutes an hour, with ten processes more each time.
    for second in (0..6 * 3600).step_by(INTERVAL as usize) {
        let living = if second % 3600 < 300 {
            60 + second as u32 / 360
        } else {
            0
        };
        let denied = (0..living).map(|at| {
            let mut sample = copy(1000 + at, Began::Left);
            sample.walk = Err(Missing::Denied);
            sample
        });
        history.push(&at(second, others().into_iter().chain(denied).collect()));
        let judged = population(&history).judgement(Duration::from_secs(BEGAN + second));
        assert!(judged.verdict < Verdict::Growing, "{second}: {judged:?}");
    }
}

#[test]
fn growing_numbers_are_distinguished_from_pools_builds_and_loads() {
    use Began::{ByInit, Children, Left};
    type Case = (&'static str, Began, u64, fn(f64) -> f64, [Option<u64>; 2]);
    let never = [None, None];
    // The shape, its length in minutes, and when it is said at the latest that it grows and that it leaks.
    let cases: &[Case] = &[
        ("200 a minute", Left, 20, |t| 20.0 + 200.0 * t, [Some(6), Some(18)]),
        ("200 a minute", Children, 8, |t| 20.0 + 200.0 * t, [Some(6), None]),
        ("4 a minute", Left, 20, |t| 1.0 + 4.0 * t, [Some(6), Some(18)]),
        ("4 a minute", Children, 70, |t| 1.0 + 4.0 * t, [Some(61), None]),
        ("12 an hour", Left, 90, |t| 20.0 + t / 5.0, [Some(60), Some(60)]),
        ("12 an hour", Left, 90, |t| 147.0 + t / 5.0, [Some(60), Some(60)]),
        ("12 an hour", Children, 90, |t| 60.0 + t / 5.0, [Some(70), None]),
        (
            "one every 10 minutes",
            Left,
            150,
            |t| 20.0 + t / 10.0,
            [Some(110), Some(110)],
        ),
        (
            "one every 10 minutes",
            Children,
            150,
            |t| 50.0 + t / 10.0,
            [Some(110), None],
        ),
        (
            "a pool that fills in 10 minutes",
            Children,
            60,
            |t| (8.0 + 12.0 * t).min(128.0),
            never,
        ),
        (
            "a pool that fills ever slower",
            Children,
            120,
            |t| 10.0 + 200.0 * (1.0 - (-t / 15.0).exp()),
            never,
        ),
        ("a step", Children, 60, |t| if t < 20.0 { 10.0 } else { 300.0 }, never),
        (
            "a build",
            Children,
            40,
            |t| if t < 30.0 { 20.0 + 300.0 * noise(t) } else { 1.0 },
            never,
        ),
        (
            "a build whose parents end",
            Left,
            40,
            |t| if t < 30.0 { 20.0 + 300.0 * noise(t) } else { 1.0 },
            never,
        ),
        (
            "a load of 10 minutes",
            Children,
            120,
            |t| 20.0 + 100.0 * (t * 0.628).sin().max(0.0),
            never,
        ),
        (
            "a load of an hour",
            Children,
            240,
            |t| 60.0 - 40.0 * (t * 0.1047).cos(),
            never,
        ),
        ("few", Left, 240, |t| 1.0 + t / 30.0, never),
        (
            "units that an init starts",
            ByInit,
            60,
            |t| (20.0 + 4.0 * t).min(60.0),
            never,
        ),
    ];
    for (name, began, minutes, number, latest) in cases {
        let said = watch(*minutes, *began, number);
        for (said, latest) in said.iter().zip(latest) {
            let is_right = match (said, latest) {
                (Some(said), Some(latest)) => said <= latest,
                (said, latest) => said.is_none() && latest.is_none(),
            };
            assert!(is_right, "{name}: {said:?} instead of {latest:?}");
        }
    }
}

#[test]
fn orphans_are_distinguished_from_children_and_daemons() {
    let young = Duration::from_secs(BEGAN - 5);
    let born = |pid: u32, ppid: u32, session: u32| {
        let mut sample = copy(pid, Began::Children);
        sample.id.starttime = young.as_secs() * 100;
        (sample.stat.ppid, sample.stat.session) = (ppid, session);
        sample
    };
    let moved = |sample: &ProcessSample, ppid: u32| {
        let mut sample = sample.clone();
        sample.stat.ppid = ppid;
        sample
    };
    let (child, leader) = (born(20, 10, 10), born(20, 10, 20));
    let old = |mut sample: ProcessSample| {
        sample.id.starttime = 1000;
        sample
    };
    // What it is at first and later, and whether its parent is gone.
    let cases = [
        ("a child", child.clone(), child.clone(), false),
        ("left before it was seen", born(20, 1, 10), born(20, 1, 10), true),
        ("left while it was seen", child.clone(), moved(&child, 1), true),
        (
            "left to the reaper of its session",
            born(20, 11, 10),
            born(20, 10, 10),
            true,
        ),
        ("a daemon", born(20, 1, 20), born(20, 1, 20), false),
        (
            "a daemon that leaves its parent",
            leader.clone(),
            moved(&leader, 1),
            false,
        ),
        (
            "an old session that was left",
            old(leader.clone()),
            moved(&old(leader), 1),
            true,
        ),
        (
            "from outside of the pid namespace",
            born(20, 0, 0),
            born(20, 0, 0),
            false,
        ),
    ];
    for (name, first, later, is_orphan) in cases {
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..3 {
            let sample = if second == 0 { &first } else { &later };
            history.push(&at(second, [others(), vec![sample.clone()]].concat()));
        }
        let number = population(&history);
        assert_eq!((number.living, number.orphans), (1, u32::from(is_orphan)), "{name}");
    }
}

#[test]
fn zombies_do_not_count_and_an_exec_keeps_an_orphan() {
    let mut history = History::new(Duration::from_secs(10));
    let copies = [20, 21, 22].map(|pid| copy(pid, Began::Children));
    history.push(&at(0, [others(), copies.to_vec()].concat()));
    let mut later = copies.clone();
    later[0].stat.state = b'Z';
    later[1].stat.ppid = 1;
    history.push(&at(1, [others(), later.to_vec()].concat()));
    later[1].exec += 1;
    history.push(&at(2, [others(), later.to_vec()].concat()));
    let number = population(&history);
    assert_eq!((number.living, number.orphans), (2, 1));
    // Sums that are kept up to date are those of all.
    history.push(&at(3, others()));
    let number = population(&history);
    assert_eq!((number.living, number.orphans), (0, 0));
}

#[test]
fn a_family_is_listed_if_no_program_explains_it() {
    // Two agents: the copies of one run one program, those of the other run a hundred.
    for is_one in [true, false] {
        let mut history = History::new(Duration::from_secs(10));
        let mut last = None;
        for second in (0..24 * 60).step_by(INTERVAL as usize) {
            let copies = (0..50 + second as u32 / 2).map(|at| {
                let mut sample = copy(1000 + at, Began::Children);
                if !is_one {
                    let name = format!("tool{}", at % 100);
                    sample.facts = program(1, 1, &name, &name).facts;
                }
                sample
            });
            let snap = at(second, others().into_iter().chain(copies).collect());
            history.push(&snap);
            last = Some(snap);
        }
        let found = listed(&history, &last.unwrap());
        let names: Vec<_> = found
            .iter()
            .map(|suspect| String::from_utf8_lossy(suspect.command.as_deref().unwrap()).into_owned())
            .collect();
        assert_eq!(names, [if is_one { "worker" } else { "agent 10" }]);
        assert_eq!((found[0].orphans, found[0].judgement.verdict), (0, Verdict::Growing));
        let pace = found[0].judgement.slope * 60.0;
        assert!((25.0..35.0).contains(&pace), "{pace}");
    }
}

#[test]
fn a_crowd_of_the_same_name_does_not_hide_a_leak() {
    let mut history = History::new(Duration::from_secs(10));
    for second in (0..21 * 60).step_by(INTERVAL as usize) {
        let left = (0..10 + second as u32 / 15).map(|at| copy(1000 + at, Began::Left));
        let crowd = if second < 20 * 60 { 0 } else { 500 };
        let crowd = (0..crowd).map(|at| copy(2000 + at, Began::Children));
        history.push(&at(second, others().into_iter().chain(left).chain(crowd).collect()));
        let judged = population(&history).judgement(Duration::from_secs(BEGAN + second));
        if second > 18 * 60 {
            assert_eq!(judged.verdict, Verdict::Leaking, "{second}");
            let pace = judged.slope * 60.0;
            assert!((3.5..4.5).contains(&pace), "{second}: {pace}");
        }
    }
}
