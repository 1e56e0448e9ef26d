//! Programs whose file is taken away or replaced while they run.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use zmtop::model::{Missing, Reading, Replaced};
use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use super::row;
use crate::support::{PATIENCE, block_on, copy_program};

/// A program that waits, under this path.
fn start(path: &Path) -> Child {
    copy_program("/bin/sleep", path);
    Child::from(Command::new(path).arg("60").spawn().unwrap())
}

/// Returns the program of a process and its replacement, from one whole snapshot of a new scanner.
fn program(pid: u32) -> (Reading<Vec<u8>>, Option<Replaced>) {
    let snapshot = block_on(Scanner::new(&crate::support::machine_options()).full());
    let facts = &row(&snapshot, pid).facts;
    (facts.exe.as_ref().map(|p| p.to_vec()).map_err(|e| *e), facts.replaced)
}

#[test]
fn a_file_that_is_gone_or_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("waits");
    let is = |what: Option<Replaced>| (Ok(path.as_os_str().as_bytes().to_vec()), what);
    let child = start(&path);
    assert_eq!(program(child.pid()), is(None));
    fs::remove_file(&path).unwrap();
    assert_eq!(program(child.pid()), is(Some(Replaced::Deleted)));
    fs::write(&path, "another").unwrap();
    assert_eq!(program(child.pid()), is(Some(Replaced::Updated)));
    // As a package is upgraded: one name, never gone.
    let second = start(&dir.path().join("other"));
    let path = dir.path().canonicalize().unwrap().join("other");
    fs::write(dir.path().join("new"), "newer").unwrap();
    fs::rename(dir.path().join("new"), &path).unwrap();
    assert_eq!(
        program(second.pid()),
        (Ok(path.as_os_str().as_bytes().to_vec()), Some(Replaced::Updated))
    );
}

#[test]
fn a_file_that_is_really_named_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("waits (deleted)");
    let child = start(&path);
    let expected = Ok(path.as_os_str().as_bytes().to_vec());
    assert_eq!(program(child.pid()), (expected.clone(), None));
    fs::remove_file(&path).unwrap();
    assert_eq!(program(child.pid()), (expected, Some(Replaced::Deleted)));
}

#[test]
fn an_upgrade_is_seen_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("waits");
    let child = start(&path);
    let mut scanner = Scanner::new(&Options {
        exe_check_interval: Duration::from_millis(50),
        ..crate::support::machine_options()
    });
    let mut until = |expected: Option<Replaced>| {
        let began = Instant::now();
        loop {
            let snapshot = block_on(scanner.full());
            let found = row(&snapshot, child.pid());
            if found.facts.replaced == expected {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "never {expected:?}");
            // They are checked in turn, those in sight first: others may be many, and slow to read.
            scanner.set_focus(vec![found.id]);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until(None);
    fs::remove_file(&path).unwrap();
    until(Some(Replaced::Deleted));
    fs::write(&path, "another").unwrap();
    until(Some(Replaced::Updated));
}

#[test]
fn what_has_no_file_says_why() {
    let snapshot = block_on(Scanner::new(&crate::support::machine_options()).full());
    let own = row(&snapshot, std::process::id());
    let exe = std::env::current_exe().unwrap();
    assert_eq!(own.facts.exe.as_deref(), Ok(exe.as_os_str().as_bytes()));
    for kernel in snapshot.rows().iter().filter(|p| p.stat.is_kernel_thread()) {
        // One that only some may look at says that.
        let exe = kernel.facts.exe.as_ref().map_err(|e| *e);
        assert!(matches!(exe, Err(Missing::KernelThread | Missing::Gone)), "{exe:?}");
    }
}
