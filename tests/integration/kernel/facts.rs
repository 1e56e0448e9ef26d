//! Facts that change without an exec: what real processes do, seen at the default settings.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zmtop::model::{Facts, ProcessSample, Reading, Snapshot};
use zmtop::proc::cgroup::figures::mounts;
use zmtop::proc::files::Roots;
use zmtop::proc::{clock, pid};
use zmtop::sampler::{Needs, Options, Scanner, one_shot};

use super::cgroup::{Cgroup, make, make_outer};
use super::child::Child;
use super::row;
use crate::support::pty::have;
use crate::support::{Owned, PATIENCE, block_on, cannot, long};

/// Snapshots within which a change is on the screen: of rows in focus, and of others.
const BOUNDS: [usize; 2] = [3, 10];

/// Obeys a line of Python at a time.
const PROGRAM: &str = "
import ctypes, os, sys
at = int(open('/proc/self/stat').read().rsplit(')', 1)[1].split()[45])
print('ready', flush=True)
for line in sys.stdin:
    exec(line)
    print('done', flush=True)
";

/// A Python process.
struct Python {
    process: Owned,
    answers: BufReader<std::process::ChildStdout>,
}

impl Python {
    fn start() -> Self {
        let mut process = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut python = Self {
            process: Owned(process),
            answers,
        };
        python.answer();
        python
    }

    fn answer(&mut self) {
        let mut line = String::new();
        assert!(self.answers.read_line(&mut line).unwrap() > 0, "it is gone");
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.answer();
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }
}

/// A change to be seen.
struct Expected {
    what: &'static str,
    pid: u32,
    is_in_focus: bool,
    holds: Box<dyn Fn(&Facts) -> bool>,
}

/// Takes a snapshot a second at the default settings; before the third `change` is made, and what it returns must be seen
/// within its bound.
fn follow(pids: &[(u32, bool)], change: impl FnOnce() -> Vec<Expected>) {
    let options = Options::new(None);
    let second = options.interval;
    assert_eq!(second, Duration::from_secs(1));
    let mut scanner = Scanner::new(&options);
    let mut next = Instant::now();
    let mut tick = |scanner: &mut Scanner| {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = Instant::now() + second;
        block_on(scanner.tick())
    };
    let first = tick(&mut scanner);
    let focus = pids.iter().filter(|(_, is_in_focus)| *is_in_focus);
    scanner.set_focus(focus.map(|(pid, _)| row(&first, *pid).id).collect());
    let before = tick(&mut scanner);
    let execs = |snapshot: &Snapshot| -> Vec<u32> { pids.iter().map(|(pid, _)| row(snapshot, *pid).exec).collect() };
    let mut waits = change();
    assert!(
        waits.iter().all(|e| !(e.holds)(&row(&before, e.pid).facts)),
        "it was so before"
    );
    let bounds = if long() { BOUNDS } else { [BOUNDS[0]; 2] };
    for passed in 1..=bounds[1] {
        let snapshot = tick(&mut scanner);
        waits.retain(|e| !(e.holds)(&row(&snapshot, e.pid).facts));
        let late = waits.iter().filter(|e| passed == bounds[usize::from(!e.is_in_focus)]);
        let late = late.filter(|e| e.is_in_focus || long());
        let late: Vec<_> = late
            .map(|e| (e.what, e.is_in_focus, &row(&snapshot, e.pid).facts))
            .collect();
        assert!(late.is_empty(), "after {passed} s: {late:#?}");
        // It still is the same program, whose history goes on.
        assert_eq!(execs(&snapshot), execs(&before));
    }
}

fn is<T: AsRef<[u8]>>(fact: &Reading<T>, expected: &[u8]) -> bool {
    fact.as_ref().is_ok_and(|fact| fact.as_ref() == expected)
}

#[test]
fn titles_users_and_names_follow() {
    if !have("python3") {
        return;
    }
    if !rustix::process::getuid().is_root() {
        return cannot("only root can become another user");
    }
    // Of each kind one in focus and one that is not.
    let mut all: Vec<Python> = (0..6).map(|_| Python::start()).collect();
    let pids: Vec<_> = all.iter().enumerate().map(|(at, p)| (p.pid(), at % 2 == 0)).collect();
    follow(&pids, || {
        let expect = |what, at: usize, holds: Box<dyn Fn(&Facts) -> bool>| Expected {
            what,
            pid: pids[at].0,
            is_in_focus: pids[at].1,
            holds,
        };
        let mut expected = Vec::new();
        for at in 0..2 {
            // As postgres and sshd do, without prctl: the bytes in their place.
            all[at].tell("ctypes.memmove(at, b'idle in zmtop'.ljust(40, b'\\0'), 40)");
            let title: fn(&Facts) -> bool = |f| {
                f.cmdline
                    .as_ref()
                    .is_ok_and(|line| line.starts_with(b"idle in zmtop\0"))
            };
            expected.push(expect("title", at, Box::new(title)));
            all[at + 2].tell("os.setuid(54321)");
            let user: fn(&Facts) -> bool = |f| f.uid == Ok(54321) && is(&f.user, b"54321");
            expected.push(expect("user", at + 2, Box::new(user)));
            all[at + 4].tell("ctypes.CDLL(None).prctl(15, b'zmtop-named', 0, 0, 0)");
            expected.push(expect("comm", at + 4, Box::new(|f: &Facts| &*f.comm == b"zmtop-named")));
        }
        expected
    });
}

/// Moves a process to a cgroup.
fn move_to(cgroup: &Cgroup, pid: u32) -> std::io::Result<()> {
    fs::write(cgroup.0.join("cgroup.procs"), pid.to_string())
}

#[test]
fn processes_moved_to_another_cgroup_follow() {
    let Ok(mounts) = mounts(&Roots::new(None)) else {
        return cannot("no memory controller is mounted here; `sampler::facts` moves made processes");
    };
    let name = format!("zmtop-facts-{}", std::process::id());
    let Some(outer) = make_outer(&mounts, &name) else {
        return cannot("no cgroup can be made here; `sampler::facts` moves made processes");
    };
    let from = make(&outer.0, "from.service").unwrap();
    let to = make(&outer.0, "to.service").unwrap();
    let children: Vec<_> = (0..8)
        .map(|_| Child::from(Command::new("/bin/sleep").arg("60").spawn().unwrap()))
        .collect();
    for child in &children {
        if move_to(&from, child.pid()).is_err() {
            return cannot("no process can be moved here; `sampler::facts` moves made processes");
        }
    }
    let pids: Vec<_> = children
        .iter()
        .enumerate()
        .map(|(at, c)| (c.pid(), at % 2 == 0))
        .collect();
    follow(&pids, || {
        // One of each kind; those beside them stay.
        let moved = pids[..2].iter().map(|&(pid, is_in_focus)| {
            move_to(&to, pid).unwrap();
            let end = format!("{name}/to.service");
            Expected {
                what: "cgroup",
                pid,
                is_in_focus,
                holds: Box::new(move |f| {
                    let path = f.cgroup.as_ref();
                    path.is_ok_and(|path| path.ends_with(end.as_bytes()))
                        && f.unit.as_deref().is_some_and(|unit| unit.ends_with(b"to.service"))
                }),
            }
        });
        moved.collect()
    });
    drop(children);
    drop(from);
    drop(to);
    drop(outer);
}

#[test]
fn the_clock_of_a_process_stands_still_while_it_does() {
    let child = Child::from(Command::new("/bin/sleep").arg("60").spawn().unwrap());
    // It is on its way to sleep at first.
    let is_still = || {
        let before = clock::process_time(child.pid());
        std::thread::sleep(Duration::from_millis(20));
        before.is_some() && before == clock::process_time(child.pid())
    };
    let began = Instant::now();
    while !is_still() {
        assert!(began.elapsed() < PATIENCE);
    }
    // A zmtop that looks at it does not wind it.
    let snapshot: ProcessSample = row(&block_on(Scanner::new(&Options::new(None)).full()), child.pid()).clone();
    assert!(snapshot.memory().is_ok() && is_still());
    // Its own does not stand still, nor has nobody one.
    let own = clock::process_time(std::process::id());
    assert!(own < clock::process_time(std::process::id()));
    assert_eq!(clock::process_time((1 << 28) - 1), None);
    assert_eq!(clock::process_time(u32::MAX), None);
}

#[test]
fn a_program_with_the_set_user_id_bit_belongs_to_the_user_who_started_it() {
    for effective in [0, 1] {
        a_program_that_runs_as(effective);
    }
}

fn a_program_that_runs_as(effective: u32) {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("sleep");
    // A copy of its own, so that no other program gets the bit.
    fs::copy("/bin/sleep", &program).unwrap();
    if std::os::unix::fs::chown(&program, Some(effective), None).is_err() {
        cannot("only root can make such a program");
        return;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let started = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .arg("60")
        .spawn();
    let Ok(started) = started.map(Owned) else {
        cannot("there is no setpriv");
        return;
    };
    let pid = started.id();
    let uids = || {
        let status = fs::read(format!("/proc/{pid}/status")).ok()?;
        Some((pid::real_uid(&status).ok()?, pid::uid(&status).ok()?))
    };
    let began = Instant::now();
    while fs::read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm != b"sleep\n") && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    if uids() != Some((65534, effective)) {
        cannot("the file system ignores the bit");
        return;
    }
    let options = crate::support::machine_options();
    let mut scanner = Scanner::new(&options);
    let owner = |row: &ProcessSample| row.facts.owner.as_ref().map(|owner| owner.uid);
    // The name comes with a later snapshot.
    let named = |row: &ProcessSample| row.facts.owner_name().is_ok_and(|name| **name == *b"nobody");
    while !named(row(&block_on(scanner.full()), pid)) {
        assert!(
            began.elapsed() < PATIENCE,
            "{:?}",
            row(&block_on(scanner.full()), pid).facts
        );
    }
    let table = one_shot::scan(&options, Needs::MEMORY.and(Needs::USER)).expect("one table");
    for snapshot in [&*block_on(scanner.full()), &table] {
        let row = row(snapshot, pid);
        assert_eq!((row.facts.uid, owner(row)), (Ok(effective), Some(65534)));
        assert!(named(row));
        let own = snapshot
            .rows()
            .iter()
            .find(|row| row.id.pid == std::process::id())
            .unwrap();
        assert_eq!(owner(own), None);
    }
}
