//! Signals, niceness, `oom_score_adj` and referenced bits, on children of the tests' own.

mod coldness;
mod reused;
mod worker;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use zmtop::act::{ActError, Pinned, Tunable};
use zmtop::model::Identity;
use zmtop::proc::files::Roots;

use crate::support::PATIENCE;

/// A child that is killed and reaped at the end.
struct Own(Child);

impl Own {
    fn sleep() -> Self {
        Self(Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap())
    }

    fn id(&self) -> Identity {
        identity(self.0.id())
    }

    fn pin(&self) -> Result<Pinned, ActError> {
        pin(self.id())
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.end();
    }
}

fn stat(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/stat")).unwrap()
}

fn identity(pid: u32) -> Identity {
    let bytes = stat(pid);
    let glance = zmtop::proc::pid::stat(&bytes, 4096).unwrap();
    Identity {
        pid,
        starttime: glance.starttime,
    }
}

fn pin(id: Identity) -> Result<Pinned, ActError> {
    Pinned::new(&Roots::new(None), id)
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_reaches_the_pinned_process() {
    let mut child = Own::sleep();
    let pinned = child.pin().unwrap();
    assert_eq!(pinned.id, child.id());
    pinned.signal(Signal::STOP).unwrap();
    let pid = child.0.id();
    let state = || zmtop::proc::pid::stat(&stat(pid), 4096).unwrap().stat.state;
    until("it stops", || state() == b'T');
    pinned.signal(Signal::CONT).unwrap();
    until("it goes on", || state() == b'S');
    pinned.signal(Signal::TERM).unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(15));
    assert_eq!(pinned.signal(Signal::TERM), Err(ActError::Gone));
    assert_eq!(pinned.get(Tunable::Nice), Err(ActError::Gone));
    assert_eq!(pinned.set(Tunable::Nice, 5), Err(ActError::Gone));
    assert_eq!(pinned.set(Tunable::OomScoreAdj, 5), Err(ActError::Gone));
    assert_eq!(pinned.get(Tunable::OomScoreAdj), Err(ActError::Gone));
}

#[test]
fn a_zombie_is_distinguished() {
    let mut child = Own::sleep();
    let (pinned, id) = (child.pin().unwrap(), child.id());
    child.0.kill().unwrap();
    until("it ends", || pinned.has_exited());
    assert_eq!(pinned.signal(Signal::TERM), Err(ActError::Zombie));
    assert_eq!(pinned.set(Tunable::OomScoreAdj, 5), Err(ActError::Zombie));
    // Pinned anew it is still one.
    assert_eq!(pin(id).unwrap().signal(Signal::TERM), Err(ActError::Zombie));
    child.end();
    assert_eq!(pinned.signal(Signal::TERM), Err(ActError::Gone));
    assert_eq!(pin(id).unwrap_err(), ActError::Gone);
}

/// The first thread of the kernel, where its pid namespace is seen.
const KTHREADD: u32 = 2;

#[test]
fn some_are_never_touched() {
    let of = |pid, starttime| pin(Identity { pid, starttime }).unwrap_err();
    assert_eq!(of(0, 0), ActError::Gone);
    assert_eq!(of(1, identity(1).starttime), ActError::Init);
    let own = std::process::id();
    assert_eq!(of(own, identity(own).starttime), ActError::OwnProcess);
    assert_eq!(of(u32::MAX, 0), ActError::Gone);
    assert_eq!(of(i32::MAX.cast_unsigned(), 0), ActError::Gone);
    if std::fs::read(format!("/proc/{KTHREADD}/comm")).is_ok_and(|comm| comm == b"kthreadd\n") {
        assert_eq!(of(KTHREADD, identity(KTHREADD).starttime), ActError::KernelThread);
    } else {
        crate::support::cannot("no thread of the kernel is seen here");
    }
    // A thread is no process.
    let (send, receive) = std::sync::mpsc::channel();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        send.send(rustix::thread::gettid().as_raw_pid()).unwrap();
        let _ = wait.recv();
    });
    let tid = receive.recv().unwrap().cast_unsigned();
    assert_eq!(of(tid, identity(tid).starttime), ActError::Gone);
    drop(end);
    thread.join().unwrap();
}

#[test]
fn another_identity_or_another_tree_is_not_pinned() {
    let child = Own::sleep();
    let other = Identity {
        starttime: child.id().starttime + 1,
        ..child.id()
    };
    assert_eq!(pin(other).unwrap_err(), ActError::PidReused);
    // A row without a start time was not read yet: nothing is known of its end.
    let unread = Identity {
        starttime: 0,
        ..child.id()
    };
    assert_eq!(pin(unread).unwrap_err(), ActError::Unread);
    let tree = tempfile::tempdir().unwrap();
    let e = Pinned::new(&Roots::new(Some(tree.path())), child.id()).unwrap_err();
    assert_eq!(e, ActError::ForeignProc);
    assert!(e.to_string().contains("not on this machine"));
}

#[test]
fn niceness_is_set_for_the_whole_process() {
    let child = Own::sleep();
    let pinned = child.pin().unwrap();
    let before = pinned.get(Tunable::Nice).unwrap();
    let wanted = (before + 3).min(19);
    pinned.set(Tunable::Nice, wanted).unwrap();
    assert_eq!(pinned.get(Tunable::Nice), Ok(wanted));
    for bad in [-21, 20, i32::MAX, i32::MIN] {
        let e = pinned.set(Tunable::Nice, bad).unwrap_err();
        assert_eq!(e.to_string(), format!("{bad} is out of range: -20 to 19"));
    }
    assert_eq!(pinned.get(Tunable::Nice), Ok(wanted));
}

#[test]
fn every_thread_is_made_nice() {
    // Python is what starts threads most simply.
    let script = "import threading,time\nfor _ in range(3): threading.Thread(target=time.sleep,args=(60,),daemon=True).start()\nprint(1,flush=True)\ntime.sleep(60)";
    let spawned = Command::new("python3")
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        return crate::support::skip("no python3");
    };
    let mut line = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    let child = Own(child);
    child.pin().unwrap().set(Tunable::Nice, 15).unwrap();
    let mut seen = 0;
    for task in std::fs::read_dir(format!("/proc/{}/task", child.0.id())).unwrap() {
        let text = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap();
        let fields: Vec<_> = text.rsplit(") ").next().unwrap().split(' ').collect();
        assert_eq!(fields[16], "15", "field 19 of {text}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn oom_score_adj_is_read_and_set() {
    let child = Own::sleep();
    let pinned = child.pin().unwrap();
    let before = pinned.get(Tunable::OomScoreAdj).unwrap();
    for value in [before.max(500), 1000] {
        pinned.set(Tunable::OomScoreAdj, value).unwrap();
        assert_eq!(pinned.get(Tunable::OomScoreAdj), Ok(value));
        let file = format!("/proc/{}/oom_score_adj", child.0.id());
        assert_eq!(std::fs::read_to_string(file).unwrap().trim(), value.to_string());
    }
    for bad in [-1001, 1001] {
        let e = pinned.set(Tunable::OomScoreAdj, bad).unwrap_err();
        assert_eq!(e.to_string(), format!("{bad} is out of range: -1000 to 1000"));
    }
    assert_eq!(pinned.get(Tunable::OomScoreAdj), Ok(1000));
}
