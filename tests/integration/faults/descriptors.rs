//! Few file descriptors.
//!
//! The limit is the process's, so the tests run themselves again in a process of their own.

use std::collections::HashSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use zmtop::act::{self, ActError, Worker};
use zmtop::model::{Missing, ProcessSample};
use zmtop::proc::files::Roots;
use zmtop::sampler::{Options, Scanner};

use crate::kernel::child::Child as SleepingChild;
use crate::support::PATIENCE;

/// Set in the process that is to have few.
const FEW: &str = "ZMTOP_TEST_FEW_FDS";

/// Time after which it hangs, also where builds run beside it.
const HANG: Duration = Duration::from_secs(180);

/// Runs the test `name` again, alone, with the limit `fds`.
pub(super) fn again(name: &str, fds: u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(FEW, fds.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > HANG {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name} hangs with {fds} descriptors");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{name} with {fds} descriptors: {status}");
}

/// In the process that is to have few: sets the limit, soft and hard.
pub(super) fn limited() -> bool {
    let Some(fds) = std::env::var(FEW).ok().and_then(|n| n.parse().ok()) else {
        return false;
    };
    let limit = Rlimit {
        current: Some(fds),
        maximum: Some(fds),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    true
}

/// Whole tables, tick after tick, and this process among them.
fn whole_tables() {
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&Options::new(None));
        for _ in 0..5 {
            let snapshot = scanner.full().await;
            let own = snapshot.rows().iter().find(|p| p.id.pid == std::process::id()).unwrap();
            assert!(own.walk.is_ok() && own.facts.cmdline.is_ok(), "{own:?}");
            assert!(snapshot.system.mem_total.is_ok());
            assert!(snapshot.own.is_ok());
        }
    });
}

#[test]
fn thirty_two_are_enough() {
    if limited() {
        whole_tables();
    } else {
        again("faults::descriptors::thirty_two_are_enough", 32);
    }
}

#[test]
fn a_few_more_are_held_for_some() {
    if limited() {
        whole_tables();
    } else {
        again("faults::descriptors::a_few_more_are_held_for_some", 150);
    }
}

#[test]
fn running_out_is_lived_through() {
    const NAME: &str = "faults::descriptors::running_out_is_lived_through";
    if !limited() {
        again(NAME, 400);
        return;
    }
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&Options::new(None));
        assert!(scanner.full().await.processes.is_ok());
        let (mut taken, mut told) = (Vec::new(), 0);
        // A process that ends meanwhile gives some back, with which the list may be read after all.
        for _ in 0..20 {
            // Someone else in this process takes every descriptor there is, and those that are let go for it.
            while let Ok(file) = std::fs::File::open("/dev/null") {
                taken.push(file);
            }
            let why = Missing::Errno(rustix::io::Errno::MFILE.raw_os_error());
            let snapshot = scanner.full().await;
            let read = (
                snapshot.processes.as_ref().err().copied(),
                snapshot.system.mem_total.err(),
            );
            told += usize::from(read == (Some(why), Some(why)));
            if told == 3 {
                break;
            }
        }
        assert_eq!(told, 3);
        drop(taken);
        // A read that failed is not repeated at once.
        let began = Instant::now();
        loop {
            let snapshot = scanner.full().await;
            let own = snapshot.rows().iter().find(|p| p.id.pid == std::process::id()).unwrap();
            if own.walk.is_ok() {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{own:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
}

#[test]
fn the_soft_limit_is_raised() {
    let _scanner = Scanner::new(&Options::new(None));
    let limit = getrlimit(Resource::Nofile);
    assert_eq!(limit.current, limit.maximum);
}

/// The part of these processes of which this process holds files open, in per cent.
fn held(pids: &[u32]) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let paths = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
    let of_proc = paths.filter(|path| path.starts_with("/proc"));
    let held: HashSet<u32> = of_proc
        .filter_map(|path| path.iter().nth(2)?.to_str()?.parse().ok())
        .collect();
    pids.iter().filter(|pid| held.contains(pid)).count() * 100 / pids.len()
}

fn sleepers(count: usize) -> Vec<SleepingChild> {
    let start = |_| Command::new("sleep").arg("200").stdin(Stdio::null()).spawn();
    (0..count).map(|at| SleepingChild::from(start(at).unwrap())).collect()
}

#[test]
fn more_is_held_again_after_a_shortage() {
    const NAME: &str = "faults::descriptors::more_is_held_again_after_a_shortage";
    const NEARLY_ALL: usize = 90;
    // Most of the processes there are, so that half of what is held is not enough for them. Those of others come and go.
    const SLEEPERS: usize = 300;
    if !limited() {
        again(NAME, 4000);
        return;
    }
    crate::support::block_on(async {
        let mut scanner = Scanner::new(&Options::new(None));
        let sleeping = sleepers(SLEEPERS);
        let pids: Vec<u32> = sleeping.iter().map(SleepingChild::pid).collect();
        let first = scanner.full().await;
        // Files are held of rows in focus.
        let ours = first
            .rows()
            .iter()
            .map(|row| row.id)
            .filter(|id| pids.contains(&id.pid));
        scanner.set_focus(ours.collect());
        let held = || held(&pids);
        assert!(held() >= NEARLY_ALL, "{}", held());
        // New processes come while someone else in this process has nearly every descriptor.
        let new = sleepers(20);
        let mut taken = Vec::new();
        let mut scans = 0;
        while held() >= NEARLY_ALL {
            // Also what was freed since, by processes that ended.
            while let Ok(file) = std::fs::File::open("/dev/null") {
                taken.push(file);
            }
            // The list of processes needs one of these, and one process two.
            taken.truncate(taken.len() - 2);
            scanner.full().await;
            // To count what is held takes some.
            taken.truncate(taken.len() - 4);
            scans += 1;
            assert!(scans < 500, "no shortage is met");
        }
        drop((taken, new));
        let began = Instant::now();
        while held() < NEARLY_ALL {
            // A step after 10 s, and one after each 10 s again where one shortage halved what is held several times.
            assert!(began.elapsed() < Duration::from_secs(120), "{}", held());
            std::thread::sleep(Duration::from_millis(500));
            scanner.full().await;
        }
    });
}

#[test]
fn acting_on_many_takes_nothing_from_the_sampler() {
    const NAME: &str = "faults::descriptors::acting_on_many_takes_nothing_from_the_sampler";
    // A quarter of the limit is left for acting, two for each.
    const LIMIT: u64 = 256;
    const FIT: usize = 32;
    if !limited() {
        again(NAME, LIMIT);
        return;
    }
    let children = sleepers(60);
    let mut scanner = Scanner::new(&Options::new(None));
    let first = crate::support::block_on(scanner.full());
    let is_child = |row: &&ProcessSample| children.iter().any(|child| child.pid() == row.id.pid);
    let ids: Vec<_> = first.rows().iter().filter(is_child).map(|row| row.id).collect();
    assert_eq!(ids.len(), children.len());
    let (send, replies) = std::sync::mpsc::channel();
    let worker = Worker::new(Roots::new(None), Duration::from_secs(60), move |reply| {
        let _ = send.send(reply);
    });
    let pinned = |request| {
        worker.send(act::Command::Pin(request, ids.clone())).unwrap();
        let reply = replies.recv_timeout(Duration::from_secs(20)).unwrap();
        let act::Reply::Pinned(_, results) = reply else {
            panic!("{reply:?}")
        };
        let refused = results.iter().filter_map(|result| result.err());
        refused.for_each(|why| assert_eq!(why, ActError::TooMany));
        results.iter().flatten().count()
    };
    assert_eq!(pinned(1), FIT);
    assert_eq!(pinned(2), 0, "two dialogs");
    let new = sleepers(10);
    for _ in 0..2 {
        let snapshot = crate::support::block_on(scanner.full());
        let short = |row: &&ProcessSample| matches!(row.walk, Err(Missing::Errno(_)));
        assert_eq!(snapshot.rows().iter().filter(short).count(), 0);
        let is_new = |row: &&ProcessSample| new.iter().any(|child| child.pid() == row.id.pid);
        assert_eq!(snapshot.rows().iter().filter(is_new).count(), new.len());
    }
    worker.send(act::Command::Release(1)).unwrap();
    assert_eq!(pinned(3), FIT, "after the first is closed");
    // What is only watched for its end takes less.
    let cont = act::ProcessAction::Signal(rustix::process::Signal::CONT);
    worker.send(act::Command::Perform(3, cont)).unwrap();
    assert!(matches!(
        replies.recv_timeout(Duration::from_secs(20)),
        Ok(act::Reply::Performed(3, ..))
    ));
    assert_eq!(pinned(4), FIT / 2);
}
