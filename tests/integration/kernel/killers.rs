//! A program by the name of a daemon that kills, and what it kills.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::geteuid;
use zmtop::model::kill::{KillCause, OomKill};
use zmtop::model::{Missing, Snapshot};
use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use crate::support::recorded::alone;
use crate::support::{block_on, copy_program, skip};

const NOBODY: u32 = 65_534;
const MAX_DAEMONS: usize = 4;

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

fn victims(snapshot: &Snapshot, of: &str) -> Vec<(u32, u64)> {
    let of_daemon = |kill: &OomKill| {
        let daemon = kill.daemon.as_ref().filter(|daemon| &*daemon.name == of)?;
        Some((kill.victim.as_ref().ok()?.pid, daemon.others))
    };
    snapshot.oom_kills.iter().filter_map(of_daemon).collect()
}

/// A shell under the name of `program` that kills what it reads: the signal and the pid.
fn shell(program: &Path) -> std::process::Child {
    let mut shell = Command::new(program);
    shell.args(["-c", "while read -r signal pid; do kill -$signal $pid; done"]);
    shell.stdin(Stdio::piped()).spawn().unwrap()
}

fn say(line: &str, to: &mut std::process::Child) {
    to.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
}

fn sleep() -> Child {
    Child::from(Command::new("/bin/sleep").arg("60").spawn().unwrap())
}

/// Ends shells with their input.
fn end(shells: impl IntoIterator<Item = std::process::Child>) {
    for mut shell in shells {
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}

/// Returns false, and says so, if no daemon can be watched.
fn may_watch() -> bool {
    let may = geteuid().is_root();
    if !may {
        skip("watching a daemon needs root");
    }
    may
}

#[test]
fn the_signals_of_a_daemon_are_seen_and_no_others() {
    if !may_watch() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("earlyoom");
    copy_program("/bin/sh", &program);
    // Another shell kills beside it.
    let (mut daemon, mut other) = (shell(&program), shell("/bin/sh".as_ref()));
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
        say(&format!("KILL {}\n", third.pid()), &mut other);
        say(&format!("TERM {}\n", stubborn.pid()), &mut daemon);
        say(&format!("TERM {}\n", first.pid()), &mut daemon);
        let is_of = |snapshot: &Snapshot| victims(snapshot, "earlyoom").iter().any(|(pid, _)| *pid == first.pid());
        let snapshot = tick_until(&mut scanner, is_of);
        assert_eq!(victims(&snapshot, "earlyoom").len(), 1, "{:?}", snapshot.oom_kills);
        say(&format!("KILL {}\n", second.pid()), &mut daemon);
        let all = |snapshot: &Snapshot| {
            victims(snapshot, "earlyoom")
                .iter()
                .map(|(_, others)| 1 + others)
                .sum::<u64>()
                == 2
        };
        let snapshot = tick_until(&mut scanner, all);
        let pids: Vec<u32> = victims(&snapshot, "earlyoom").iter().map(|(pid, _)| *pid).collect();
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
    end([daemon, other]);
}

#[test]
fn a_name_makes_no_daemon_and_only_a_few_are_watched() {
    if !may_watch() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let [bustd, lmkd, earlyoom] = ["bustd", "lmkd", "earlyoom"].map(|name| dir.path().join(name));
    for program in [&bustd, &lmkd, &earlyoom] {
        copy_program("/bin/sh", program);
    }
    let mut daemon = shell(&bustd);
    let mut scanner = Scanner::new(&Options::new(None));
    let is_known = |snapshot: &Snapshot, name: &str| {
        let state = snapshot.killers.iter().find(|(of, _)| *of == name);
        state.is_some_and(|(_, state)| *state != Err(Missing::Pending))
    };
    let known = tick_until(&mut scanner, |snapshot| is_known(snapshot, "bustd"));
    if known.killers.iter().any(|(_, state)| state.is_err()) {
        skip("watching a daemon needs perf_event_open and a kernel with tracefs");
        end([daemon]);
        return;
    }
    // Nobody's, plain and with all rights in a user namespace of its own, if it may have one.
    let script = "sleep 60 & echo $!; read -r line; kill -KILL $!; echo";
    let fake = |before: &[&str]| {
        let name = earlyoom.to_str().unwrap();
        let line: Vec<_> = before.iter().copied().chain([name, "-c", script]).collect();
        let mut fake = Command::new(line[0]);
        fake.args(&line[1..]).uid(NOBODY).gid(NOBODY).stderr(Stdio::null());
        fake.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut fakes = [fake(&["/usr/bin/env"]), fake(&["/usr/bin/unshare", "-U", "-r"])];
    let crowd: Vec<_> = (0..6).map(|_| shell(&lmkd)).collect();
    tick_until(&mut scanner, |snapshot| {
        let known = snapshot.killers.iter().filter(|(_, state)| state.is_ok()).count();
        assert!(known <= MAX_DAEMONS, "{:?}", snapshot.killers);
        known == MAX_DAEMONS
    });
    let mut said = fakes.each_mut().map(|fake| BufReader::new(fake.stdout.take().unwrap()));
    let mut children = Vec::new();
    for (fake, said) in fakes.iter_mut().zip(&mut said) {
        let (mut pid, mut line) = (String::new(), String::new());
        said.read_line(&mut pid).unwrap();
        // The one without a namespace has ended.
        if let Ok(pid) = pid.trim().parse::<u32>() {
            children.push(pid);
            say("\n", fake);
            said.read_line(&mut line).unwrap();
        }
    }
    assert!(!children.is_empty(), "nobody's shell does not run");
    let first = sleep();
    say(&format!("KILL {}\n", first.pid()), &mut daemon);
    let snapshot = tick_until(&mut scanner, |snapshot| !victims(snapshot, "bustd").is_empty());
    assert_eq!(victims(&snapshot, "bustd"), [(first.pid(), 0)]);
    let theirs = victims(&snapshot, "earlyoom");
    assert!(!theirs.iter().any(|(pid, _)| children.contains(pid)), "{theirs:?}");
    assert!(!snapshot.killers.iter().any(|(name, _)| *name == "earlyoom"));
    end(crowd.into_iter().chain(fakes).chain([daemon]));
}
