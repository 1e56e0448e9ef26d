//! Leaks of programs and families: growth of what their members hold, not of their number.

use std::sync::Arc;
use std::time::Duration;

use zmtop::call_tree::KeptBy;
use zmtop::group::{GroupBy, RowKey};
use zmtop::history::History;
use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, Users, suspects};
use zmtop::model::{Identity, Missing, ProcessSample, Snapshot, Stat};
use zmtop::trend::Verdict;

use super::{bytes, key, program};
use crate::support::rows::{MIB, snapshot, subordinate, walk, with_facts};

/// Minutes that are watched: what leaks is called within them.
const MINUTES: u64 = 40;
/// Seconds from one snapshot to the next.
const INTERVAL: u64 = 2;

/// A process of a server, started at a second, with so many MiB; the server itself is 10.
fn server(pid: u32, started: u64, mib: f64) -> ProcessSample {
    let mut sample = program(pid, if pid == 10 { 1 } else { 10 }, "server", "/usr/bin/server");
    sample.id = Identity {
        pid,
        starttime: started * 100,
    };
    sample.walk = Ok(walk((mib * MIB as f64) as u64, 0));
    sample
}

/// Up to half a MiB, from second to second.
fn noise(pid: u32, second: u64) -> f64 {
    let mixed = (second ^ u64::from(pid) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 25)
}

/// The history of a server, its last snapshot, and its worst verdicts.
struct Seen {
    history: History,
    last: Snapshot,
    /// The worst that was ever said of its program and of its family.
    worst: [Verdict; 2],
}

impl Seen {
    fn suspects(&self) -> Vec<Suspect> {
        suspects(&self.history, &self.last, SuspectQuery::GROWING)
    }

    /// The names of those listed, with the number of processes and of those that grow alike.
    fn listed(&self) -> Vec<(Option<u32>, usize, usize, Verdict)> {
        let of = |s: &Suspect| (s.key.process().map(|id| id.pid), s.count, s.alike, s.judgement.verdict);
        self.suspects().iter().map(of).collect()
    }
}

/// Takes in the processes of every second of that time, all started long ago but for those that say otherwise.
fn watch(rows: impl Fn(u64) -> Vec<ProcessSample>) -> Seen {
    watch_for(MINUTES, rows)
}

fn watch_for(minutes: u64, rows: impl Fn(u64) -> Vec<ProcessSample>) -> Seen {
    watch_beside(minutes, |_| 0, rows)
}

/// `unseen` is the anonymous memory of processes that are in no snapshot.
fn watch_beside(minutes: u64, unseen: impl Fn(u64) -> u64, rows: impl Fn(u64) -> Vec<ProcessSample>) -> Seen {
    let mut history = History::new(Duration::from_secs(10));
    let mut worst = [Verdict::Unknown; 2];
    let began = 100_000;
    let mut last = None;
    for second in (0..minutes * 60).step_by(INTERVAL as usize) {
        let mut all = rows(began + second);
        all.sort_by_key(|row| row.id.pid);
        let mut snap = snapshot(Duration::from_secs(began + second), all);
        snap.interval = Duration::from_secs(INTERVAL);
        snap.system.uptime = Ok((began + second) as f64);
        let used = snap.rows().iter().filter_map(|row| Some(row.walk.ok()?.memory.pss));
        snap.system.anon_pages = Ok(used.sum::<u64>() + unseen(second));
        history.push(&snap);
        let groups = [key(GroupBy::Command, "server"), key(GroupBy::Family, "server 10")];
        for (worst, key) in worst.iter_mut().zip(groups) {
            let verdict = history.group(&key).map_or(Verdict::Unknown, |row| row.trend().verdict);
            *worst = (*worst).max(verdict);
        }
        last = Some(snap);
    }
    Seen {
        history,
        last: last.unwrap(),
        worst,
    }
}

#[test]
fn growth_in_processes_that_end_before_they_are_read_is_reported() {
    let mut kernel = server(2, 0, 0.0);
    kernel.stat.flags = Stat::PF_KTHREAD;
    kernel.walk = Err(Missing::KernelThread);
    let beside = |mib: f64| vec![kernel.clone(), server(10, 0, mib)];
    let steady = |_| beside(500.0);
    let unseen = watch_beside(6, |second| second * MIB, steady);
    let suspects = unseen.suspects();
    let [suspect] = &suspects[..] else {
        panic!("{suspects:?}");
    };
    assert_eq!(suspect.key.part().map(|part| part.id), Some("anon"));
    assert_eq!(
        (suspect.judgement.verdict, &suspect.cause),
        (Verdict::Growing, &Some(Cause::Unseen))
    );
    // Growth that processes explain, or that is small, short or over, is not reported.
    let is_reported = |seen: &Seen| {
        seen.suspects()
            .iter()
            .any(|suspect| suspect.cause == Some(Cause::Unseen))
    };
    assert!(!is_reported(&watch_for(6, |second| beside(
        500.0 + (second - 100_000) as f64
    ))));
    assert!(!is_reported(&watch_beside(6, |second| second * MIB / 30, steady)));
    assert!(!is_reported(&watch_beside(2, |second| second * MIB, steady)));
    // Neither is a burst after slow growth, until it has lasted for minutes itself.
    let burst = |second: u64| second * MIB / 20 + second.saturating_sub(540) * 10 * MIB;
    for (minutes, expected) in [(10, false), (14, true)] {
        let seen = watch_beside(minutes, burst, steady);
        assert_eq!(
            seen.history.parts().get("anon").unwrap().trend().verdict,
            Verdict::Growing
        );
        assert_eq!(is_reported(&seen), expected, "{minutes}");
    }
    // Without kernel threads, processes of others are not listed.
    assert!(!is_reported(&watch_beside(
        6,
        |second| second * MIB,
        |_| vec![server(10, 0, 500.0)]
    )));
}

/// Four workers, each of which lives for a minute or so, and is followed by another. `holds` tells what one has, of the
/// second of its start and its age.
fn prefork(second: u64, holds: impl Fn(u64, u64) -> f64) -> Vec<ProcessSample> {
    let workers = (0..4).map(|place: u64| {
        let life = 47 + 7 * place;
        let (number, age) = ((second + 11 * place) / life, (second + 11 * place) % life);
        let pid = 100 + (number % 1000 * 4 + place) as u32;
        let started = second - age;
        server(pid, started, holds(started + 100 - 100_000, age) + noise(pid, second))
    });
    std::iter::once(server(10, 0, 12.0)).chain(workers).collect()
}

#[test]
fn workers_that_hold_more_each_generation_are_a_leak_of_their_program() {
    let seen = watch(|second| prefork(second, |started, _| 10.0 + 3.0 * started as f64 / 60.0));
    assert_eq!(seen.worst, [Verdict::Leaking; 2]);
    // None of them lives for long enough to be judged by itself.
    assert_eq!(seen.listed(), [(None, 5, 0, Verdict::Leaking)]);
    let pace = seen.suspects()[0].judgement.slope * 60.0 / MIB as f64;
    assert!((pace - 12.0).abs() < 2.0, "{pace}");
}

#[test]
fn workers_that_grow_and_are_replaced_are_none() {
    let seen = watch(|second| prefork(second, |_, age| 10.0 + 0.35 * age as f64));
    assert!(
        seen.worst.iter().all(|worst| *worst < Verdict::Leaking),
        "{:?}",
        seen.worst
    );
    // A worker that grows is reported; its program does not grow.
    assert!(
        seen.listed().iter().all(|(pid, ..)| pid.is_some()),
        "{:?}",
        seen.listed()
    );
}

#[test]
fn members_that_join_are_no_growth() {
    // One joins every 90 seconds, evenly, beside eight that were there.
    let seen = watch(|second| {
        let joined = (second - 100_000) / 90;
        let started = |n: u64| if n < 8 { 0 } else { 100_000 + (n - 8) * 90 };
        let of = |n: u64| server(10 + n as u32, started(n), 30.0 + noise(n as u32, second));
        (0..8 + joined).map(of).collect()
    });
    assert!(
        seen.worst.iter().all(|worst| *worst < Verdict::Growing),
        "{:?}",
        seen.worst
    );
    // The memory of the machine has grown evenly for longer than a load explains.
    assert_eq!(seen.listed(), [(None, 34, 0, Verdict::Growing)]);
    assert_eq!(seen.suspects()[0].cause, Some(Cause::NewProcesses));
}

#[test]
fn members_that_leave_make_no_growth_of_the_rest() {
    // A large server, and twenty small workers that leave one by one: a mean would grow.
    let seen = watch(|second| {
        let left = ((second - 100_000) / 110).min(20);
        let workers = (left..20).map(|n| server(20 + n as u32, 0, 10.0 + noise(n as u32, second)));
        std::iter::once(server(10, 0, 500.0)).chain(workers).collect()
    });
    assert!(
        seen.worst.iter().all(|worst| *worst < Verdict::Warming),
        "{:?}",
        seen.worst
    );
}

#[test]
fn a_pool_that_fills_and_stays_is_none() {
    // One starts every 20 seconds until there are thirty, and each warms up from 20 to 40 MiB in five minutes.
    let seen = watch(|second| {
        let age = second - 100_000;
        let of = |n: u64| {
            let own = (age - n * 20) as f64;
            let warm = 20.0 * (1.0 - (-own / 100.0).exp());
            server(10 + n as u32, 100_000 + n * 20, 20.0 + warm + noise(n as u32, second))
        };
        (0..30_u64).filter(|n| n * 20 <= age).map(of).collect()
    });
    assert!(
        seen.worst.iter().all(|worst| *worst < Verdict::Leaking),
        "{:?}",
        seen.worst
    );
    assert_eq!(seen.listed(), []);
}

#[test]
fn fellows_that_all_grow_are_reported_of_once() {
    let grows = |n: u64, second: u64| 50.0 + (second - 100_000) as f64 / 60.0 * (1.0 + n as f64 / 20.0);
    let seen = watch(|second| {
        let of = |n: u64| server(10 + n as u32, 0, grows(n, second) + noise(n as u32, second));
        (0..12).map(of).collect()
    });
    assert_eq!(seen.listed(), [(None, 12, 12, Verdict::Leaking)]);
    // A process that grows much faster than the others is reported by itself.
    let seen = watch(|second| {
        let factor = |n: u64| if n == 5 { 10.0 } else { 1.0 };
        let of = |n: u64| server(10 + n as u32, 0, grows(n, second) * factor(n) + noise(n as u32, second));
        (0..12).map(of).collect()
    });
    let listed = seen.listed();
    let want = [(Some(15), 1, 0, Verdict::Leaking), (None, 12, 11, Verdict::Leaking)];
    assert!(
        want.iter().all(|one| listed.contains(one)) && listed.len() == 2,
        "{listed:?}"
    );
}

#[test]
fn one_that_grows_among_many_is_reported_of_by_itself() {
    let seen = watch(|second| {
        let grown = |n: u64| if n == 7 { (second - 100_000) as f64 / 12.0 } else { 0.0 };
        let of = |n: u64| server(10 + n as u32, 0, 50.0 + grown(n) + noise(n as u32, second));
        (0..12).map(of).collect()
    });
    assert_eq!(seen.listed(), [(Some(17), 1, 0, Verdict::Leaking)]);
}

/// The same process, of the user with that uid.
fn of_user(sample: ProcessSample, uid: u32) -> ProcessSample {
    with_facts(sample, |facts| {
        facts.uid = Ok(uid);
        facts.user = Ok(bytes(format!("user{uid}")));
    })
}

#[test]
fn one_users_growth_is_not_called_anothers() {
    let grown = |second: u64| (second - 100_000) as f64 / 12.0;
    // Root's server is steady; four programs of another user have its name and grow.
    let mut seen = watch(|second| {
        let other = |n: u32| of_user(server(100 + n, 0, 50.0 + grown(second) + noise(n, second)), 1001);
        std::iter::once(server(10, 0, 500.0)).chain((0..4).map(other)).collect()
    });
    // The code that keeps memory in one of them is reported for all of them.
    let [other, root] = [101, 10].map(|pid| {
        let found = Arc::new(KeptBy {
            frames: Vec::new(),
            runtime: None,
            bytes: MIB,
            total: MIB,
            time: Duration::from_secs(600),
        });
        seen.history
            .set_kept_by(Identity { pid, starttime: 0 }, Arc::clone(&found));
        found
    });
    assert_eq!(seen.listed(), [(None, 4, 4, Verdict::Leaking)]);
    let listed = &seen.suspects()[0];
    let of_other = Users {
        uid: Some(1001),
        name: Some(bytes("user1001")),
        count: 1,
    };
    assert_eq!(listed.users, of_other);
    assert!(Arc::ptr_eq(listed.kept_by.as_ref().unwrap(), &other) && !Arc::ptr_eq(&root, &other));
    assert!(listed.footprint < 1200 * MIB, "{}", listed.footprint);

    // One of root's that leaks too is listed by itself.
    let seen = watch(|second| {
        let other = |n: u32| of_user(server(100 + n, 0, 50.0 + grown(second) + noise(n, second)), 1001);
        let root = server(10, 0, 500.0 + grown(second) + noise(10, second));
        std::iter::once(root).chain((0..4).map(other)).collect()
    });
    let listed = seen.listed();
    let want = [(Some(10), 1, 0, Verdict::Leaking), (None, 4, 4, Verdict::Leaking)];
    assert!(
        want.iter().all(|one| listed.contains(one)) && listed.len() == 2,
        "{listed:?}"
    );

    // Root's workers, none of which lives for long, leak together: that is reported beside the others, as of two users.
    let seen = watch(|second| {
        let other = |n: u32| of_user(server(5000 + n, 0, 50.0 + grown(second) / 5.0 + noise(n, second)), 1001);
        let workers = prefork(second, |started, _| 10.0 + 6.0 * started as f64 / 60.0);
        workers.into_iter().chain((0..16).map(other)).collect()
    });
    let program = seen.suspects().into_iter().find(|s| s.key.group().is_some()).unwrap();
    assert_eq!((program.alike, program.users.count), (0, 2));
}

#[test]
fn processes_of_unknown_users_do_not_stand_for_those_of_known_ones() {
    let grown = |second: u64| (second - 100_000) as f64 / 12.0;
    let seen = watch(|second| {
        let unknown = |n: u32| {
            let grows = server(100 + n, 0, 50.0 + grown(second) + noise(n, second));
            with_facts(grows, |facts| {
                facts.uid = Err(Missing::TimedOut);
                facts.user = Err(Missing::TimedOut);
            })
        };
        let root = of_user(server(10, 0, 500.0), 0);
        std::iter::once(root).chain((0..4).map(unknown)).collect()
    });
    let listed = seen.listed();
    assert!(listed.iter().any(|(pid, ..)| *pid == Some(100)), "{listed:?}");
    assert!(listed.iter().all(|(_, _, alike, _)| *alike == 0), "{listed:?}");
}

/// The `n`th program that a user starts, at a second, with so many MiB.
fn nth(n: u64, started: u64, mib: f64) -> ProcessSample {
    let name = format!("own{n}");
    let mut sample = program(1000 + n as u32, 1, &name, &format!("/home/own/{name}"));
    sample.id.starttime = started * 100;
    sample.walk = Ok(walk((mib * MIB as f64) as u64, 0));
    of_user(sample, 1001)
}

#[test]
fn a_leak_that_is_handed_over_is_reported() {
    let grown = |second: u64| 20.0 + (second - 100_000) as f64 * 0.03;
    let minute = |second: u64| second - second % 60;
    // From process to process of one program.
    let seen = watch(|second| {
        let pid = 2000 + (second / 60 % 1000) as u32;
        vec![
            server(10, 0, 12.0),
            of_user(server(pid, minute(second), grown(second)), 1001),
        ]
    });
    assert_eq!(seen.listed(), [(None, 2, 0, Verdict::Leaking)]);
    let alone = |pid: u64, started, mib| {
        let mut sample = server(2000 + pid as u32, started, mib);
        sample.stat.ppid = 1;
        sample
    };
    let seen = watch(|second| vec![alone(second / 60 % 1000, minute(second), grown(second))]);
    assert_eq!(seen.listed(), [(None, 1, 0, Verdict::Leaking)]);
    // A restart, after which a program is as large as before within minutes, is no growth.
    let seen = watch(|second| {
        let started = second - second % 900;
        let warm = 150.0 * (1.0 - (-((second - started) as f64) / 60.0).exp());
        vec![alone(second / 900 % 1000, started, 20.0 + warm)]
    });
    assert_eq!(seen.listed(), []);
}

/// The memory of a leak in MiB at a second: 1.8 a minute.
fn grown(second: u64) -> f64 {
    (second - 100_000) as f64 * 0.03
}

/// A server, and a program that takes the memory of a leak over each minute, with so many times the pace.
fn another_by(second: u64, times: f64) -> Vec<ProcessSample> {
    let n = (second - 100_000) / 60;
    vec![
        server(10, 0, 500.0),
        nth(n, second - second % 60, 20.0 + times * grown(second)),
    ]
}

#[test]
fn growth_of_a_user_is_explained_only_by_its_own_processes() {
    // A step is no part of the pace. The minutes that are watched, the second of the step, and its MiB.
    for (minutes, step_at, step) in [(6, 30, 690.0), (11, 390, 150.0)] {
        let after_step = watch_for(minutes, |second| {
            let mut all = another_by(second, 10.0);
            let more = if second < 100_000 + step_at { 0.0 } else { step };
            all.push(of_user(server(20, 0, 10.0 + more), 1001));
            all
        });
        let listed = after_step.suspects();
        let user = listed.iter().find(|s| s.cause == Some(Cause::Together)).unwrap();
        let pace = user.judgement.slope * 60.0 / MIB as f64;
        assert!((15.0..22.0).contains(&pace), "{minutes}: {pace}");
    }
    // A program of two other users that grows faster explains none of it.
    let others = watch_for(6, |second| {
        let pid = 3000 + (second / 10 % 1000) as u32;
        let moves = of_user(server(pid, second - second % 10, 20.0 + 40.0 * grown(second)), 2001);
        let rests = of_user(server(20, 0, 50.0), 2002);
        [another_by(second, 10.0), vec![moves, rests]].concat()
    });
    let of_user_1001 = |s: &&Suspect| s.uid() == Some(1001) && s.cause == Some(Cause::Together);
    let listed = others.suspects();
    assert!(listed.iter().any(|s| s.users.count == 3), "{listed:?}");
    assert!(listed.iter().any(|s| of_user_1001(&s)), "{listed:?}");
    // Nor does one of which this user has a large process that does not grow.
    let own_server = watch_for(6, |second| {
        let pid = 3000 + (second / 10 % 1000) as u32;
        let moves = of_user(server(pid, second - second % 10, 20.0 + 40.0 * grown(second)), 2001);
        [
            another_by(second, 10.0),
            vec![moves, of_user(server(20, 0, 4000.0), 1001)],
        ]
        .concat()
    });
    let listed = own_server.suspects();
    assert!(listed.iter().any(|s| of_user_1001(&s)), "{listed:?}");
}

#[test]
fn a_leak_that_is_spread_over_programs_is_reported_of_their_user() {
    let minute = |second: u64| second - second % 60;
    // Each minute, another program takes over; or a small one starts, and stays.
    let another = |second: u64| another_by(second, 1.0);
    let renamed = watch(another);
    // Growth of 18 MiB a minute is listed after minutes.
    let soon = watch_for(6, |second| another_by(second, 10.0));
    assert_eq!(soon.listed(), [(None, 1, 0, Verdict::Growing)]);
    assert_eq!(soon.suspects()[0].cause, Some(Cause::Together));
    let pace = soon.suspects()[0].judgement.slope * 60.0 / MIB as f64;
    assert!((17.0..19.0).contains(&pace), "{pace}");
    // Pages of a file that another user maps explain none of it.
    let beside = watch(|second| {
        let mut decoy = server(20, 0, 0.0);
        let file = (grown(second) * 2.0 * MIB as f64) as u64;
        decoy.walk = Ok(walk(file, 0));
        if let Ok(walk) = &mut decoy.walk {
            walk.memory.pss_file = Ok(file);
            walk.memory.pss_anon = Ok(0);
        }
        let mut all = another(second);
        all.push(decoy);
        all
    });
    let causes: Vec<_> = beside.suspects().iter().map(|s| s.cause.clone()).collect();
    assert!(causes.contains(&Some(Cause::Together)), "{causes:?}");
    let many = watch(|second| {
        let all = (0..=(second - 100_000) / 10).map(|n| nth(n, 100_000 + n * 10, 0.9));
        std::iter::once(server(10, 0, 50.0)).chain(all).collect()
    });
    // Or it moves to and fro between two programs.
    let moved = watch(|second| {
        let of = |n: u64| {
            nth(
                n,
                0,
                if second / 60 % 2 == n {
                    20.0 + grown(second)
                } else {
                    4.0
                },
            )
        };
        vec![server(10, 0, 500.0), of(0), of(1)]
    });
    let mut listed = moved.suspects();
    listed.retain(|s| s.judgement.verdict != Verdict::Warming);
    let causes: Vec<_> = listed.iter().map(|s| s.cause.clone()).collect();
    assert_eq!(causes, [Some(Cause::Together)]);
    for (seen, count) in [(renamed, 1), (many, 240)] {
        assert_eq!(seen.listed(), [(None, count, 0, Verdict::Growing)]);
        let listed = &seen.suspects()[0];
        assert_eq!(listed.key, RowKey::Group(key(GroupBy::User, "user1001")));
        assert_eq!(
            (listed.cause.clone(), listed.uid()),
            (Some(Cause::Together), Some(1001))
        );
    }
    // Each minute under another subordinate uid of one user: its owner's leak.
    let subordinate = watch(|second| {
        let n = (second - 100_000) / 60;
        let sample = nth(n, minute(second), 20.0 + grown(second));
        vec![server(10, 0, 500.0), subordinate(sample, 100_000 + n as u32, 1001)]
    });
    assert_eq!(subordinate.listed(), [(None, 1, 0, Verdict::Growing)]);
    let listed = &subordinate.suspects()[0];
    assert_eq!(listed.key, RowKey::Group(key(GroupBy::User, "user1001")));
    // Under many users.
    let users = watch(|second| {
        let n = (second - 100_000) / 60;
        let sample = nth(n, minute(second), 20.0 + grown(second));
        vec![server(10, 0, 500.0), of_user(sample, 2000 + n as u32)]
    });
    assert_eq!(users.listed(), [(None, 0, 0, Verdict::Growing)]);
    let listed = &users.suspects()[0];
    assert_eq!(listed.key.part().map(|part| part.id), Some("anon"));
    assert_eq!(listed.cause, Some(Cause::OfAllUsers));
    // In processes that a daemon starts and leaves behind, none of which grows.
    let stayers = watch(|second| {
        let started = |n: u64| 100_000 + n * 50;
        let left = |n: u64| of_user(server(2000 + n as u32, started(n), 17.0), 1001);
        let all = (0..=(second - 100_000) / 50).map(left);
        std::iter::once(program(10, 1, "daemon", "/usr/bin/daemon"))
            .chain(all)
            .collect()
    });
    assert_eq!(stayers.listed(), [(None, 48, 0, Verdict::Growing)]);
    let listed = &stayers.suspects()[0];
    assert_eq!(
        (listed.cause.clone(), listed.uid()),
        (Some(Cause::NewProcesses), Some(1001))
    );
    // A row that explains most of it is enough.
    let seen = watch(|second| {
        let small = nth((second - 100_000) / 60, minute(second), 20.0 + grown(second) / 4.0);
        vec![of_user(server(10, 0, 50.0 + grown(second)), 1001), small]
    });
    assert_eq!(seen.listed(), [(Some(10), 1, 0, Verdict::Leaking)]);
}
