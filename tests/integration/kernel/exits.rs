//! The kernel's records of real processes.

use std::process::Command;
use std::time::{Duration, SystemTime};

use zmtop::columns::Needs;
use zmtop::model::{Exit, Exits, Missing};
use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use crate::support::{block_on, skip};

/// Set in the process that is to take memory and end.
const SPIKE: &str = "ZMTOP_TEST_SPIKE";
const SIZE: usize = 200 << 20;

/// Returns a scanner that watches exits; `None` where that is not possible.
fn watching() -> Option<Scanner> {
    let mut scanner = Scanner::new(&Options::new(None));
    scanner.set_needs(Needs::EXITS);
    for _ in 0..200 {
        match block_on(scanner.tick()).exits.ended {
            Ok(_) => return Some(scanner),
            Err(Missing::Pending) => std::thread::sleep(Duration::from_millis(10)),
            Err(why) => {
                skip(&format!("exit records need CAP_NET_ADMIN and CONFIG_TASKSTATS ({why})"));
                return None;
            }
        }
    }
    panic!("never opened");
}

/// Ticks until the process is among those that ended.
fn exit_of(scanner: &mut Scanner, pid: u32) -> Exit {
    for _ in 0..200 {
        let snapshot = block_on(scanner.tick());
        if let Some(exit) = snapshot.exits.list.iter().find(|exit| exit.pid == pid) {
            return exit.clone();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("its end never comes");
}

#[test]
fn a_process_that_ends_between_two_snapshots_is_seen_with_its_peak() {
    const NAME: &str = "kernel::exits::a_process_that_ends_between_two_snapshots_is_seen_with_its_peak";
    if std::env::var_os(SPIKE).is_some() {
        // Each page is written to.
        let memory = vec![1_u8; SIZE];
        std::hint::black_box(&memory);
        std::thread::sleep(Duration::from_millis(50));
        std::process::exit(7);
    }
    let began = SystemTime::now();
    let Some(mut scanner) = watching() else { return };
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
        .env(SPIKE, "1");
    let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
    // No snapshot is taken while it runs.
    child.wait().unwrap();
    let exit = exit_of(&mut scanner, child.id());
    let size = SIZE as u64;
    assert!((size..size + (64 << 20)).contains(&exit.peak), "{exit:?}");
    assert_eq!((exit.ppid, exit.code, exit.signal), (std::process::id(), Some(7), None));
    assert_eq!(
        (exit.uid, exit.is_fork, exit.starttime),
        (rustix::process::getuid().as_raw(), false, None)
    );
    assert!(exit.parent.is_some() && exit.cgroup.is_some(), "{exit:?}");
    assert!(exit.lifetime >= Duration::from_millis(50), "{exit:?}");
    assert!((began..=SystemTime::now()).contains(&exit.time), "{exit:?}");
}

#[test]
fn a_process_that_a_snapshot_has_is_named_by_its_start_and_its_signal() {
    const NAME: &str = "kernel::exits::a_process_that_a_snapshot_has_is_named_by_its_start_and_its_signal";
    super::child::be(NAME);
    let Some(mut scanner) = watching() else { return };
    let dir = tempfile::tempdir().unwrap();
    let child = Child::start(NAME, &dir.path().join("shared"));
    let pid = child.pid();
    let known = block_on(scanner.full());
    let row = super::row(&known, pid);
    // It is killed.
    drop(child);
    let exit = exit_of(&mut scanner, pid);
    assert_eq!(
        (exit.starttime, exit.signal, exit.code),
        (Some(row.id.starttime), Some(9), None)
    );
    assert_eq!(exit.cgroup.as_deref(), row.facts.cgroup.as_deref().ok());
}

#[test]
fn nothing_is_watched_unless_it_is_asked_for() {
    let mut scanner = Scanner::new(&Options::new(None));
    assert_eq!(*block_on(scanner.tick()).exits, Exits::default());
    if let Some(mut scanner) = watching() {
        scanner.set_needs(Needs::NOTHING);
        assert_eq!(*block_on(scanner.tick()).exits, Exits::default());
    }
}

#[test]
fn another_tree_has_no_records() {
    let tree = crate::support::tree::ProcTree::new();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::EXITS);
    for _ in 0..200 {
        let exits = block_on(scanner.tick()).exits.ended;
        if exits != Err(Missing::Pending) {
            assert_eq!(exits, Err(Missing::Unsupported));
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no reason is given");
}
