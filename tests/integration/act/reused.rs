//! Tests that take another pid namespace or another user: each runs itself again inside.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use zmtop::act::{ActError, Tunable};
use zmtop::model::Identity;

use super::{Own, identity, pin, until};

/// An environment variable that is set in the process that runs inside: the pid to act on.
const INSIDE: &str = "ZMTOP_TEST_INSIDE";

/// Runs the test of that name again under a program that sets up its surroundings. Returns whether it passed;
/// `None` if this machine cannot set them up.
fn inside(setup: &[&str], test: &str, value: &str) -> Option<bool> {
    let probe = Command::new(setup[0])
        .args(&setup[1..])
        .arg("true")
        .stdin(Stdio::null())
        .output();
    if !probe.is_ok_and(|out| out.status.success()) {
        return None;
    }
    let output = Command::new(setup[0])
        .args(&setup[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, value)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let ran = out.contains("1 passed");
    assert!(ran || !output.status.success(), "it did not run: {out}{err}");
    if !ran {
        crate::support::cannot(&format!("{test}: {out}{err}"));
    }
    Some(ran)
}

#[test]
fn a_reused_pid_is_never_hit() {
    if std::env::var_os(INSIDE).is_some() {
        return reuse();
    }
    let setup = ["unshare", "-Urpf", "--mount-proc", "--kill-child"];
    match inside(&setup, "act::reused::a_reused_pid_is_never_hit", "1") {
        Some(passed) => assert!(passed),
        None => crate::support::skip("no private pid namespace"),
    }
}

/// Runs in a pid namespace of its own, where the next pid can be chosen.
fn reuse() {
    let mut first = Own::sleep();
    let (id, pinned) = (first.id(), first.pin().unwrap());
    // The kernel reports start times in steps of 10 ms: the second process starts in a later step.
    std::thread::sleep(std::time::Duration::from_millis(30));
    first.end();
    let mut second = None;
    until("the pid comes again", || {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (id.pid - 1).to_string()).unwrap();
        let child = Own::sleep();
        let reused = child.0.id() == id.pid;
        second = reused.then_some(child);
        reused
    });
    let mut second = second.unwrap();
    assert_ne!(second.id().starttime, id.starttime);
    let now = pin(second.id()).unwrap();
    let tuned = || (now.get(Tunable::Nice), now.get(Tunable::OomScoreAdj));
    let before = tuned();
    // What was pinned before is gone, whoever has its number.
    assert_eq!(pinned.signal(Signal::KILL), Err(ActError::Gone));
    assert_eq!(pinned.set(Tunable::Nice, 19), Err(ActError::Gone));
    assert_eq!(pinned.set(Tunable::OomScoreAdj, 1000), Err(ActError::Gone));
    // And what was seen before is not pinned.
    assert_eq!(pin(id).unwrap_err(), ActError::PidReused);
    assert_eq!(second.0.try_wait().unwrap(), None, "it was not hit");
    assert_eq!(tuned(), before);
}

#[test]
fn what_is_anothers_is_denied() {
    if let Ok(value) = std::env::var(INSIDE) {
        let pid: u32 = value.parse().unwrap();
        return denied(identity(pid));
    }
    if !rustix::process::geteuid().is_root() {
        return crate::support::cannot("not root: there is no other user to be");
    }
    let mut child = Own::sleep();
    let nice = || child.pin().unwrap().get(Tunable::Nice);
    let before = nice();
    let setup = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ];
    let pid = child.0.id().to_string();
    match inside(&setup, "act::reused::what_is_anothers_is_denied", &pid) {
        Some(passed) => assert!(passed),
        None => crate::support::skip("no setpriv"),
    }
    assert_eq!(nice(), before);
    assert_eq!(child.0.try_wait().unwrap(), None, "it was not hit");
}

/// Runs as a user who has no rights on the process.
fn denied(id: Identity) {
    let pinned = pin(id).unwrap();
    assert_eq!(pinned.signal(Signal::KILL), Err(ActError::Denied));
    assert_eq!(pinned.set(Tunable::Nice, 19), Err(ActError::Denied));
    assert_eq!(pinned.set(Tunable::OomScoreAdj, 1000), Err(ActError::Denied));
    assert!(pinned.get(Tunable::Nice).is_ok());
    assert!(pinned.get(Tunable::OomScoreAdj).is_ok());
    assert_eq!(ActError::Denied.to_string(), "permission denied");
    // Its own it may make nicer, but not less nice again, unless a limit lets it.
    let own = Own::sleep();
    let own = own.pin().unwrap();
    let nicer = own.get(Tunable::Nice).unwrap().max(10);
    own.set(Tunable::Nice, nicer).unwrap();
    assert_eq!(own.set(Tunable::Nice, -5), Err(ActError::Denied));
    assert_eq!(own.get(Tunable::Nice), Ok(nicer));
}
