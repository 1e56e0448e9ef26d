//! A program by the name of a daemon that kills, and what it kills.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use zmtop::model::kill::{KillCause, OomKill};
use zmtop::model::{Missing, Snapshot};
use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use crate::support::recorded::alone;
use crate::support::{block_on, copy_program, skip};

/// Ticks until a snapshot passes; 200 of them, or 20 s, are enough for a machine that does all else first.
fn tick_until(scanner: &mut Scanner, passes: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    for _ in 0..200 {
        let snapshot = block_on(scanner.tick());
        if passes(&snapshot) {
            return snapshot;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("it never comes");
}

fn victims(snapshot: &Snapshot) -> Vec<(u32, u64)> {
    let of_daemon = |kill: &OomKill| {
        let daemon = kill.daemon.as_ref().filter(|daemon| &*daemon.name == "earlyoom")?;
        Some((kill.victim.as_ref().ok()?.pid, daemon.others))
    };
    snapshot.oom_kills.iter().filter_map(of_daemon).collect()
}

#[test]
fn the_signals_of_a_daemon_are_seen_and_no_others() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("earlyoom");
    copy_program("/bin/sh", &program);
    // It kills what it reads: the signal and the pid. Another shell kills beside it.
    let shell = |program: &Path| {
        let mut shell = Command::new(program);
        shell.args(["-c", "while read -r signal pid; do kill -$signal $pid; done"]);
        shell.stdin(Stdio::piped()).spawn().unwrap()
    };
    let (mut daemon, mut other) = (shell(&program), shell("/bin/sh".as_ref()));
    let say = |line: String, to: &mut std::process::Child| {
        to.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    };
    let sleep = || Child::from(Command::new("/bin/sleep").arg("60").spawn().unwrap());
    let mut stubborn = Command::new("/bin/sh");
    stubborn.args(["-c", "trap '' TERM; echo; exec sleep 60"]);
    let mut stubborn = stubborn.stdout(Stdio::piped()).spawn().unwrap();
    // It ignores the signal from now on.
    let mut said = stubborn.stdout.take().unwrap();
    let stubborn = Child::from(stubborn);
    said.read_exact(&mut [0]).unwrap();
    let [first, second, third] = [sleep(), sleep(), sleep()];
    let mut scanner = Scanner::new(&Options::new(None));
    let known = tick_until(&mut scanner, |snapshot| {
        let states = snapshot.killers.iter().filter(|(name, _)| *name == "earlyoom");
        states.clone().count() > 0 && states.clone().all(|(_, state)| *state != Err(Missing::Pending))
    });
    if known.killers.iter().any(|(_, state)| state.is_err()) {
        skip("watching a daemon needs root, perf_event_open and a kernel with tracefs");
    } else {
        say(format!("KILL {}\n", third.pid()), &mut other);
        say(format!("TERM {}\n", stubborn.pid()), &mut daemon);
        say(format!("TERM {}\n", first.pid()), &mut daemon);
        let is_of = |snapshot: &Snapshot| victims(snapshot).iter().any(|(pid, _)| *pid == first.pid());
        let snapshot = tick_until(&mut scanner, is_of);
        assert_eq!(victims(&snapshot).len(), 1, "{:?}", snapshot.oom_kills);
        say(format!("KILL {}\n", second.pid()), &mut daemon);
        let all = |snapshot: &Snapshot| victims(snapshot).iter().map(|(_, others)| 1 + others).sum::<u64>() == 2;
        let snapshot = tick_until(&mut scanner, all);
        let pids: Vec<u32> = victims(&snapshot).iter().map(|(pid, _)| *pid).collect();
        assert!(
            !pids.contains(&third.pid()) && !pids.contains(&stubborn.pid()),
            "{pids:?}"
        );
        assert_eq!(snapshot.oom_counts.get(KillCause::Daemon), 2);
        let kill = snapshot.oom_kills.iter().find(|kill| kill.daemon.is_some()).unwrap();
        let victim = kill.victim.as_ref().unwrap();
        assert_eq!(&*victim.comm, b"sleep");
        assert!(victim.cgroup.is_some() && victim.rss > 0, "{victim:?}");
    }
    // Both end with their input.
    for mut shell in [daemon, other] {
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
