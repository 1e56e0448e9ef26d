//! Reads that never return.
//!
//! Opening a FIFO waits until someone opens its other end: from the reader's side the same as a memory lock
//! that is never let go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zmtop::group::Coverage;
use zmtop::model::{Missing, ProcessSample, Snapshot};
use zmtop::sampler::{Options, Scanner, mappings, spawn};

use crate::support::PATIENCE as HANG;
use crate::support::tree::ProcTree;

const KB: u64 = 1024;

fn row(snapshot: &Snapshot, pid: u32) -> &ProcessSample {
    snapshot.rows().iter().find(|p| p.id.pid == pid).unwrap()
}

/// Ticks, changing the healthy processes each time, until `done`; every tick must bring the change.
async fn tick_until(
    scanner: &mut Scanner,
    tree: &ProcTree,
    healthy: &[u32],
    done: impl Fn(&Snapshot) -> bool,
) -> Arc<Snapshot> {
    let began = Instant::now();
    for round in 1.. {
        for pid in healthy {
            tree.process(*pid).pss_kb(1000 + round).write();
        }
        let snapshot = scanner.tick().await;
        for pid in healthy {
            let pss = row(&snapshot, *pid).memory().map(|m| m.pss);
            assert_eq!(pss, Ok((1000 + round) * KB), "{pid} in round {round}");
        }
        if done(&snapshot) {
            return snapshot;
        }
        assert!(began.elapsed() < HANG, "{:?}", snapshot.sampling);
    }
    unreachable!()
}

/// `stuck` processes whose `file` is a FIFO, and ten that are healthy, through their whole story.
fn stuck_reads(file: &'static str, stuck: u32, threads: usize) {
    let tree = ProcTree::new();
    let fifos: Vec<u32> = (1..=stuck).collect();
    let healthy: Vec<u32> = (1001..=1010).collect();
    for pid in fifos.iter().chain(&healthy) {
        tree.process(*pid).pss_kb(10).write();
    }
    for pid in &fifos {
        tree.fifo(*pid, file);
    }
    let options = Options {
        threads,
        ..tree.options()
    };
    let cap = threads + options.max_stuck;
    let timed_out = move |s: &Snapshot, pid: u32| match file {
        "cmdline" => row(s, pid).facts.cmdline == Err(Missing::TimedOut),
        _ => row(s, pid).walk == Err(Missing::TimedOut),
    };
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&options);
        // The first table may come before the healthy ones' turn; after it they are known to answer.
        scanner.full().await;
        let all = |s: &Snapshot| fifos.iter().all(|pid| timed_out(s, *pid));
        let snapshot = tick_until(&mut scanner, &tree, &healthy, all).await;
        assert_eq!(snapshot.sampling.stuck, stuck as usize);
        assert!(snapshot.sampling.threads <= cap);
        // However often: never a second read of the same, so never more threads.
        for _ in 0..5 {
            let snapshot = tick_until(&mut scanner, &tree, &healthy, |_| true).await;
            assert!(all(&snapshot));
            assert!(snapshot.sampling.threads <= stuck as usize + threads);
            assert_eq!(snapshot.sampling.stuck, stuck as usize);
        }
        // What is stuck in one file is read in the others.
        let first = row(&snapshot, 1);
        assert_eq!(
            (first.facts.uid, first.facts.user.as_deref()),
            (Ok(0), Ok(&b"root"[..]))
        );
        if file == "cmdline" {
            assert_eq!(first.memory().unwrap().pss, 10 * KB);
        } else {
            assert!(first.facts.cmdline.is_ok());
        }
        // A late answer takes the place of the reason.
        let answer = match file {
            "cmdline" => b"late\0".to_vec(),
            _ => tree.process(1).pss_kb(77).rollup().into_bytes(),
        };
        assert!(tree.feed(1, file, answer));
        let back = |s: &Snapshot| match file {
            "cmdline" => row(s, 1).facts.cmdline.as_deref() == Ok(b"late\0"),
            _ => row(s, 1).memory().map(|m| m.pss) == Ok(77 * KB),
        };
        tick_until(&mut scanner, &tree, &healthy, back).await;
    });
}

#[test]
fn one_rollup() {
    stuck_reads("smaps_rollup", 1, 2);
}

#[test]
fn fifty_rollups() {
    stuck_reads("smaps_rollup", 50, 2);
}

#[test]
fn one_cmdline() {
    stuck_reads("cmdline", 1, 2);
}

#[test]
fn fifty_cmdlines() {
    stuck_reads("cmdline", 50, 2);
}

#[test]
fn fifty_with_a_single_thread() {
    stuck_reads("smaps_rollup", 50, 1);
}

#[test]
fn more_than_there_may_be_threads() {
    let tree = ProcTree::new();
    let healthy: Vec<u32> = (1..=10).collect();
    for pid in &healthy {
        tree.process(*pid).write();
    }
    let options = Options {
        max_stuck: 4,
        ..tree.options()
    };
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&options);
        scanner.full().await;
        for pid in 101..=120 {
            tree.process(pid).write();
            tree.fifo(pid, "smaps_rollup");
        }
        let four = |s: &Snapshot| s.sampling.stuck == 4;
        tick_until(&mut scanner, &tree, &healthy, four).await;
        for _ in 0..5 {
            let snapshot = tick_until(&mut scanner, &tree, &healthy, |_| true).await;
            assert!(snapshot.sampling.threads <= 6, "{:?}", snapshot.sampling);
            assert_eq!(snapshot.rows().len(), 30);
            let whys = snapshot.rows().iter().filter_map(|r| r.walk.err());
            let waiting = |e: Missing| matches!(e, Missing::TimedOut | Missing::Pending);
            assert_eq!(whys.filter(|e| waiting(*e)).count(), 20);
        }
    });
}

#[test]
fn a_stat_that_never_comes() {
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.process(8).write();
    tree.fifo(8, "stat");
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&tree.options());
        let late = |s: &Snapshot| row(s, 8).walk == Err(Missing::TimedOut);
        let snapshot = tick_until(&mut scanner, &tree, &[7], late).await;
        assert_eq!(row(&snapshot, 8).id.starttime, 0);
        // The list itself goes on.
        tree.process(9).write();
        tick_until(&mut scanner, &tree, &[7, 9], |s| s.rows().len() == 3).await;
    });
}

#[test]
fn reads_of_the_kernel_go_on_while_as_many_are_stuck_as_may_be() {
    let tree = ProcTree::new();
    let vmstat = |kills: u32| tree.system("vmstat", format!("pgfault 1\noom_kill {kills}\n"));
    vmstat(0);
    tree.write("dev/kmsg", "6,1,1,-;boot\n");
    tree.process(1).write();
    let options = Options {
        max_stuck: 4,
        ..tree.options()
    };
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&options);
        scanner.full().await;
        for pid in 101..=110 {
            tree.process(pid).write();
            tree.fifo(pid, "smaps_rollup");
        }
        tick_until(&mut scanner, &tree, &[1], |s| s.sampling.stuck == 4).await;
        let kill = "3,2,55,-;Out of memory: Killed process 7 (hog) total-vm:9kB, anon-rss:8kB, file-rss:0kB\n";
        tree.write("dev/kmsg", format!("6,1,1,-;boot\n{kill}"));
        vmstat(1);
        let found = tick_until(&mut scanner, &tree, &[1], |s| !s.oom_kills.is_empty()).await;
        assert_eq!(found.oom_kills[0].victim.as_ref().map(|victim| victim.pid), Ok(7));
        // The user and the cgroup of a new process are known, too.
        tree.process(120).write();
        let is_known = |s: &Snapshot| s.rows().iter().any(|row| row.id.pid == 120 && row.facts.uid == Ok(0));
        tick_until(&mut scanner, &tree, &[1], is_known).await;
    });
}

/// Every thread that there may be is stuck, the list is late; then it comes.
#[test]
fn a_list_that_came_late_holds_up_no_later_one() {
    let tree = ProcTree::new();
    let options = Options {
        threads: 1,
        max_stuck: 1,
        ..tree.options()
    };
    for pid in 1..=4 {
        tree.process(pid).write();
    }
    let stat = |pid| tree.process(pid).stat();
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&options);
        scanner.full().await;
        (2..=4).for_each(|pid| tree.fifo(pid, "stat"));
        for _ in 0..3 {
            scanner.tick().await;
        }
        let began = Instant::now();
        for pid in 2..=4 {
            let content = stat(pid);
            while !tree.feed(pid, "stat", &content) {
                scanner.tick().await;
                assert!(began.elapsed() < HANG, "nobody reads the stat of {pid}");
            }
            tree.process(pid).write();
        }
        while scanner.tick().await.rows().iter().any(|row| row.stale) {
            assert!(began.elapsed() < HANG);
        }
        // From now on each tick shows who is there.
        for pid in 10..15 {
            tree.process(pid).write();
            assert_eq!(scanner.tick().await.rows().last().unwrap().id.pid, pid);
        }
    });
}

#[test]
fn a_file_of_the_systems_that_never_comes() {
    let tree = ProcTree::new();
    tree.process(7).write();
    let meminfo = tree.root().join("meminfo");
    std::fs::remove_file(&meminfo).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &meminfo, rustix::fs::Mode::RUSR).unwrap();
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&tree.options());
        let late = |s: &Snapshot| s.system.mem_total == Err(Missing::TimedOut);
        let snapshot = tick_until(&mut scanner, &tree, &[7], late).await;
        assert!(snapshot.system.pswpin.is_ok() && snapshot.system.uptime.is_ok());
    });
}

#[test]
fn the_task_ends_at_once() {
    let tree = ProcTree::new();
    for pid in 1..=20 {
        tree.process(pid).write();
        tree.fifo(pid, "smaps_rollup");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let mut handle = spawn(tree.options(), runtime.handle());
    runtime.block_on(async {
        while handle.snapshots.borrow().as_ref().is_none_or(|s| s.sampling.stuck < 20) {
            tokio::time::timeout(HANG, handle.snapshots.changed())
                .await
                .unwrap()
                .unwrap();
        }
        let wanted = handle.wanted.clone();
        drop(handle);
        tokio::time::timeout(HANG, wanted.closed()).await.unwrap();
    });
    let began = Instant::now();
    drop(runtime);
    assert!(began.elapsed() < HANG);
}

#[test]
fn what_is_known_to_be_slow_is_given_time() {
    let tree = ProcTree::new();
    tree.process(1).write();
    tree.process(7).write();
    tree.fifo(1, "smaps_rollup");
    let slow = Duration::from_secs(1);
    let options = Options {
        deadline: Duration::from_millis(200),
        ..tree.options()
    };
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&options);
        scanner.full().await;
        std::thread::sleep(slow);
        assert!(tree.feed(1, "smaps_rollup", tree.process(1).pss_kb(77).rollup()));
        let back = |s: &Snapshot| row(s, 1).memory().map(|m| m.pss) == Ok(77 * KB);
        tick_until(&mut scanner, &tree, &[7], back).await;
        // Its next walk is under way by now, and may take twice as long as the last before it is late:
        // until then the last one is shown, with its age.
        let began = Instant::now();
        let late = |s: &Snapshot| row(s, 1).walk == Err(Missing::TimedOut);
        let enough = |s: &Snapshot| late(s) || began.elapsed() > options.deadline * 2;
        let snapshot = tick_until(&mut scanner, &tree, &[7], enough).await;
        if began.elapsed() < slow {
            assert!(row(&snapshot, 1).walk.is_ok());
            assert!(Coverage::of(&snapshot).oldest.unwrap() > slow);
        }
        tick_until(&mut scanner, &tree, &[7], late).await;
    });
}

/// Reader threads of this process.
fn readers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with(b"zmtop-read")).count()
}

#[test]
fn mappings_asked_for_again_and_again_leave_one_thread() {
    const NAME: &str = "faults::stuck::mappings_asked_for_again_and_again_leave_one_thread";
    // Alone in its process, so that no other test's threads are counted.
    if !super::descriptors::limited() {
        super::descriptors::again(NAME, 1000);
        return;
    }
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.fifo(7, "smaps");
    tree.process(8).write();
    tree.write("proc/8/smaps", tree.process(8).smaps());
    let options = Options::new(Some(&tree.root()));
    let read = |pid| {
        mappings::areas(&options, &[pid])
            .remove(0)
            .map(|found| found.what.len())
    };
    for _ in 0..20 {
        assert_eq!(read(7), Err(Missing::TimedOut));
        assert_eq!(read(8), Ok(1), "others are read");
    }
    // Idle threads of pools that are gone end by themselves.
    let began = Instant::now();
    while readers() > 1 {
        assert!(began.elapsed() < HANG, "{} threads", readers());
        std::thread::sleep(Duration::from_millis(10));
    }
    // Once it has returned, it is read again.
    std::fs::write(tree.file(7, "smaps"), tree.process(7).smaps()).unwrap();
    while readers() > 0 {
        assert!(began.elapsed() < HANG, "it never returns");
        std::thread::sleep(Duration::from_millis(10));
    }
    tree.write("proc/7/smaps", tree.process(7).smaps());
    assert_eq!(read(7), Ok(1));
}

#[test]
fn the_blocked_reads_of_a_user_leave_threads_for_others() {
    for file in ["smaps_rollup", "cmdline"] {
        let tree = ProcTree::new();
        tree.process(1).write();
        let options = Options {
            max_stuck: 8,
            ..tree.options()
        };
        crate::support::block_on(async {
            let mut scanner = Scanner::new(&options);
            scanner.full().await;
            for pid in 101..=120 {
                tree.process(pid).uid(1000).write();
                tree.fifo(pid, file);
            }
            // One may start just before the others of its user are known to be blocked.
            let are_limited = |s: &Snapshot| (4..8).contains(&s.sampling.stuck);
            tick_until(&mut scanner, &tree, &[1], are_limited).await;
            for _ in 0..5 {
                let snapshot = tick_until(&mut scanner, &tree, &[1], |_| true).await;
                assert!(are_limited(&snapshot), "{file}: {:?}", snapshot.sampling);
            }
            // A new process of another user is read.
            tree.process(200).pss_kb(77).uid(1001).write();
            let is_read = |s: &Snapshot| {
                let new = s.rows().iter().find(|row| row.id.pid == 200);
                new.is_some_and(|row| row.memory().is_ok() && row.facts.cmdline.is_ok())
            };
            tick_until(&mut scanner, &tree, &[1], is_read).await;
            // Once the files of that user's answer, all are read.
            let began = Instant::now();
            loop {
                for pid in 101..=120 {
                    let process = tree.process(pid).pss_kb(5).uid(1000);
                    let answer = if file == "cmdline" {
                        b"late\0".to_vec()
                    } else {
                        process.rollup().into_bytes()
                    };
                    tree.feed(pid, file, answer);
                    process.write();
                }
                let snapshot = scanner.tick().await;
                if snapshot
                    .rows()
                    .iter()
                    .all(|row| row.memory().is_ok() && row.facts.cmdline.is_ok())
                {
                    break;
                }
                assert!(began.elapsed() < HANG, "{file}: {:?}", snapshot.sampling);
            }
        });
    }
}
