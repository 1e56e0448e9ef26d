//! A history judges what it holds, remembers who ended, and keeps within its memory.

use std::time::Duration;

use zmtop::group::{GroupBy, GroupKey};
use zmtop::history::{History, HistoryConfig};
use zmtop::model::{Identity, Missing, ProcessSample, Snapshot};
use zmtop::trend::{Metric, Verdict};

use crate::support::long;
use crate::support::rows::{MIB, later, process, snapshot, walk, with_facts};

const KIB: u64 = 1024;
const WINDOW: Duration = Duration::from_secs(10);

const fn id(pid: u32) -> Identity {
    Identity {
        pid,
        starttime: pid as u64 * 10,
    }
}

/// Something that trembles, 0 to 1.
fn noise(pid: u32, second: u64) -> f64 {
    let mixed = (second ^ u64::from(pid) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 24)
}

/// A process of 100 MB that trembles by 1 %, and grows by so many KiB a second.
fn one(pid: u32, second: u64, grows: u64) -> ProcessSample {
    let mut sample = process(pid, 1, &format!("program{}", pid / 10));
    let bytes = 100 * MIB + second * grows * KIB + (noise(pid, second) * MIB as f64) as u64;
    sample.walk = Ok(walk(bytes, 0));
    sample
}

/// Long after all of them started.
fn at(second: u64, samples: Vec<ProcessSample>) -> Snapshot {
    later(second, samples)
}

fn command(name: &str) -> GroupKey {
    GroupKey {
        by: GroupBy::Command,
        name: Some(name.as_bytes().into()),
    }
}

#[test]
fn the_one_that_leaks_is_distinguished_from_the_others() {
    let mut history = History::new(WINDOW);
    // After ten minutes it begins to grow by 170 KiB a second: 10 MB a minute.
    let begins = 600;
    let (mut grows, mut called) = (None, None);
    // Ten of each program.
    let pids = if long() { 1..=60 } else { 30..=49 };
    for second in 0..2100_u64 {
        let all = pids.clone().map(|pid| match pid {
            37 => {
                let mut sample = one(pid, second, 0);
                let memory = &mut sample.walk.as_mut().unwrap().memory;
                *memory = walk(memory.pss + second.saturating_sub(begins) * 170 * KIB, 0).memory;
                sample
            }
            _ => one(pid, second, 0),
        });
        history.push(&at(second, all.collect()));
        for pid in pids.clone() {
            let trend = history.get(id(pid)).unwrap().trend();
            assert!(pid == 37 || trend.verdict < Verdict::Growing, "{pid} {trend:?}");
            if trend.verdict.is_growth() {
                grows.get_or_insert(second);
            }
            if trend.verdict == Verdict::Leaking {
                called.get_or_insert(second);
            }
        }
    }
    let after = |at: Option<u64>, from: u64, to: u64| at.is_some_and(|at| (begins + from..begins + to).contains(&at));
    assert!(after(grows, 0, 130), "{grows:?}");
    assert!(after(called, 900, 1200), "{called:?}");
    let trend = history.get(id(37)).unwrap().trend();
    assert!((trend.slope / (170.0 * 1024.0) - 1.0).abs() < 0.1, "{trend:?}");
    let since = trend.since.unwrap().as_secs() - 100_000;
    assert!((begins - 60..begins + 60).contains(&since), "{since}");
    // So does its program, nine of whose processes do not.
    let group = history.group(&command("program3")).unwrap().trend();
    assert_eq!(group.verdict, Verdict::Leaking);
    assert!((group.slope / (170.0 * 1024.0) - 1.0).abs() < 0.1, "{group:?}");
    for n in (0..6).filter(|n| *n != 3 && pids.contains(&(n * 10 + 9))) {
        let trend = history.group(&command(&format!("program{n}"))).unwrap().trend();
        assert_eq!(trend.verdict, Verdict::Steady, "{n}");
    }
}

#[test]
fn a_leak_masked_by_sharing_is_found() {
    let mut history = History::new(WINDOW);
    for second in 0..1500_u64 {
        // 30 MB of a library, of which siblings that come and go every minute or so take a half now and then.
        let shared = if noise(1, second / 70) < 0.5 { 30 } else { 15 };
        let samples = [0, 20].map(|grows: u64| {
            let mut sample = one(10 + grows as u32, second, grows);
            let memory = &mut sample.walk.as_mut().unwrap().memory;
            memory.pss_anon = Ok(memory.pss);
            memory.pss += shared * MIB;
            sample
        });
        history.push(&at(second, samples.into()));
    }
    let [steady, leak] = [10, 30].map(|pid| *history.get(id(pid)).unwrap().trend());
    assert_eq!(
        (leak.verdict, leak.metric),
        (Verdict::Leaking, Metric::Held),
        "{leak:?}"
    );
    assert!((leak.slope / (20.0 * 1024.0) - 1.0).abs() < 0.15, "{leak:?}");
    assert!(steady.verdict < Verdict::Growing, "{steady:?}");
}

#[test]
fn what_comes_from_a_file_is_judged_at_its_end() {
    let mut history = History::new(WINDOW);
    for second in 0..1300 {
        history.push(&at(second, vec![one(5, second, 0), one(6, second, 200)]));
    }
    // The last one was not judged with the last second yet.
    history.judge_all();
    let floor = history.get(id(6)).unwrap().trend().floor;
    assert_eq!(
        floor,
        history.get(id(6)).unwrap().footprint_series().newest().unwrap().1
    );
    assert_eq!(history.get(id(6)).unwrap().trend().verdict, Verdict::Leaking);
    assert_eq!(history.get(id(5)).unwrap().trend().verdict, Verdict::Steady);
}

#[test]
fn a_process_that_started_or_made_an_exec_is_warming() {
    let mut history = History::new(WINDOW);
    // It grows by a half, ever more slowly, and starts as it is first seen.
    let young = |second: u64, exec: u32| {
        let mut sample = one(9, 0, 0);
        let grown = (1.0 - (-(second as f64) / 200.0).exp()) * 50.0;
        sample.id.starttime = 100_000 * 100;
        sample.walk = Ok(walk(100 * MIB + (grown * MIB as f64) as u64, 0));
        sample.exec = exec;
        sample
    };
    for exec in 0..2 {
        for second in 0..400 {
            history.push(&at(u64::from(exec) * 400 + second, vec![young(second, exec)]));
            let trend = *history.get(young(0, 0).id).unwrap().trend();
            // It grows, until that is seen to be much, and to slow down.
            let most = if second < 150 {
                Verdict::Growing
            } else {
                Verdict::Warming
            };
            assert!(trend.verdict <= most, "{second} {trend:?}");
        }
    }
}

#[test]
fn an_ended_process_is_remembered_with_its_history() {
    let mut history = History::new(WINDOW);
    for second in 0..1300 {
        let mut all = vec![one(1, second, 0), one(47, second, 200)];
        // One that lives for three seconds is not worth it.
        if (100..103).contains(&second) {
            all.push(one(60, second, 0));
        }
        history.push(&at(second, all));
    }
    history.push(&at(1300, vec![one(1, 1300, 0)]));
    assert!(history.get(id(47)).is_none() && history.len() == 1);
    let ended: Vec<_> = history.all_ended().collect();
    assert_eq!(ended.len(), 1);
    let gone = history.ended(id(47)).unwrap();
    assert_eq!((gone.id, gone.at), (id(47), Duration::from_secs(101_300)));
    assert_eq!(gone.history.trend().verdict, Verdict::Leaking);
    assert_eq!(gone.command.as_deref(), Some(&b"program4"[..]));
    assert_eq!(gone.history.footprint().now(), Duration::from_secs(101_299));
    // Another process of that pid is another.
    let reused = Identity { pid: 47, starttime: 99 };
    assert!(history.ended(reused).is_none());
    // Another boot knows nothing of it.
    history.push(&snapshot(Duration::from_secs(1), Vec::new()));
    assert_eq!(history.all_ended().count(), 0);
}

#[test]
fn of_the_last_thousand_ended_processes_those_that_grew_are_remembered_longest() {
    let mut history = History::new(WINDOW);
    for second in 0..1300 {
        history.push(&at(second, vec![one(9047, second, 200)]));
    }
    for round in 0..4_u32 {
        let all = || {
            (0..400)
                .map(move |n| one(round * 400 + n + 1, 0, 0))
                .collect::<Vec<_>>()
        };
        for second in [0, 20] {
            history.push(&at(1300 + u64::from(round) * 40 + second, all()));
        }
    }
    history.push(&at(1500, Vec::new()));
    // A quarter is dropped at once.
    assert_eq!(history.all_ended().count(), 851);
    assert_eq!(
        history.ended(id(9047)).unwrap().history.trend().verdict,
        Verdict::Leaking
    );
    assert!(history.ended(id(750)).is_none());
    assert!((751..=1600).all(|pid| history.ended(id(pid)).is_some_and(|ended| ended.id.pid == pid)));
}

#[test]
fn command_lines_of_ended_processes_count() {
    let with = |length: usize| {
        let mut history = History::new(WINDOW);
        for second in [0, 20] {
            let named = |pid| with_facts(one(pid, second, 0), |f| f.cmdline = Ok(vec![b'x'; length].into()));
            history.push(&at(second, (1..=100).map(named).collect()));
        }
        history.push(&at(40, Vec::new()));
        assert_eq!(history.all_ended().count(), 100);
        history.bytes()
    };
    let more = with(4096) - with(0);
    assert!(more.abs_diff(100 * 4096) < 4096, "{more}");
}

#[test]
fn it_keeps_within_its_memory_and_finds_the_leak_all_the_same() {
    let max_memory = 1 << 20;
    let mut history = History::with_config(HistoryConfig {
        max_memory,
        ..HistoryConfig::with_window(WINDOW)
    });
    let mut most = 0;
    for second in 0..if long() { 3000 } else { 1500 } {
        let all = (1..=200).map(|pid| one(pid, second, if pid == 150 { 20 } else { 0 }));
        history.push(&at(second, all.collect()));
        if second % 5 == 0 {
            most = most.max(history.bytes());
        }
    }
    // It is looked after every five seconds.
    assert!(most < max_memory as usize * 21 / 20, "{most}");
    assert!(most > max_memory as usize / 2, "{most}");
    assert_eq!(history.get(id(150)).unwrap().trend().verdict, Verdict::Leaking);
    let others = (1..=200).filter(|pid| *pid != 150);
    assert!(
        others
            .map(|pid| history.get(id(pid)).unwrap())
            .all(|s| s.trend().verdict < Verdict::Growing)
    );
}

#[test]
fn idle_processes_take_next_to_nothing() {
    let mut history = History::new(WINDOW);
    let all: Vec<_> = (1..=2000).map(|pid| one(pid, 0, 0)).collect();
    for second in 0..400 {
        history.push(&at(second, all.clone()));
    }
    // Beside a few KiB for all.
    assert!(history.bytes() < 2000 * 496 + 4096, "{}", history.bytes() / 2000);
}

#[test]
fn the_memory_of_a_user_that_moves_from_process_to_process_is_judged_as_a_whole() {
    // 80 MB more every four minutes, in a process that another one replaces every two seconds.
    // Of the snapshots in which a process is new, so many percent contain it unread, or neither it nor the one before. The user may have
    // another, small process.
    let judged = |unread: f64, missed: f64, has_other: bool| {
        let mut history = History::new(WINDOW);
        for second in 0..2400_u64 {
            let pid = 100 + (second / 2) as u32;
            let bytes = (1 + second / 240) * 80 * MIB;
            let mut sample = with_facts(process(pid, 1, "a"), |facts| facts.user = Ok(b"news"[..].into()));
            sample.walk = Ok(walk(bytes, 0));
            sample.stat.rss = bytes;
            let is_new = second % 2 == 0;
            if is_new && noise(1, second) * 100.0 < unread {
                sample.walk = Err(Missing::Pending);
            }
            let is_missed = is_new && noise(2, second) * 100.0 < missed;
            let mut rows: Vec<_> = (!is_missed).then_some(sample).into_iter().collect();
            if has_other {
                let mut small = with_facts(process(7, 1, "b"), |facts| facts.user = Ok(b"news"[..].into()));
                small.walk = Ok(walk(MIB, 0));
                rows.push(small);
            }
            history.push(&at(second, rows));
        }
        let user = history.group(&GroupKey {
            by: GroupBy::User,
            name: Some(b"news"[..].into()),
        });
        user.unwrap().trend().verdict
    };
    for (unread, missed) in [(0.0, 0.0), (28.0, 0.0), (0.0, 2.0), (28.0, 2.0)] {
        for has_other in [false, true] {
            let verdict = judged(unread, missed, has_other);
            assert_eq!(verdict, Verdict::Leaking, "{unread} {missed} {has_other}");
        }
    }
}
