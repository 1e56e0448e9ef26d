//! Reads of another user's memory, in a child process.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use zmtop::heaps::apart;
use zmtop::model::Missing;
use zmtop::proc::clock::thread_time;

use crate::support::cannot;

const LONG: Duration = Duration::from_secs(60);

struct Other(Child);

impl Other {
    /// Starts a process of another user; `None` if that needs rights.
    fn start() -> Option<Self> {
        let started = Command::new("sleep").arg("600").uid(65534).spawn();
        started
            .inspect_err(|_| cannot("only root can become another user"))
            .ok()
            .map(Self)
    }

    fn folder(&self) -> PathBuf {
        format!("/proc/{}", self.0.id()).into()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn memory_of_the_own_user_is_read_in_this_process() {
    let (_, pid) = apart::run(Path::new("/proc/self"), LONG, || Ok(std::process::id()));
    assert_eq!(pid, Ok(std::process::id()));
}

#[test]
fn memory_of_another_user_is_read_in_a_process_that_holds_nothing_open() {
    let Some(other) = Other::start() else { return };
    let folder = other.folder();
    let (_, found) = apart::run(&folder, LONG, || {
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        Ok((std::process::id(), open))
    });
    let (pid, open) = found.unwrap();
    assert_ne!(pid, std::process::id());
    // The pipe to its parent, and the directory.
    assert_eq!(open, 2);
    let large = "x".repeat(1 << 20);
    assert_eq!(apart::run(&folder, LONG, || Ok(large.clone())).1.as_ref(), Ok(&large));
    let refused = apart::run::<u8>(&folder, LONG, || Err(Missing::Unsupported));
    assert_eq!(refused.1, Err(Missing::Unsupported));
}

#[test]
fn a_read_that_does_not_return_is_given_up_and_one_that_crashes_is_an_end() {
    let Some(other) = Other::start() else { return };
    let folder = other.folder();
    let short = Duration::from_millis(200);
    let endless = || loop {
        std::thread::park();
    };
    let crash = || {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        endless()
    };
    assert_eq!(apart::run::<u8>(&folder, short, endless).1, Err(Missing::TimedOut));
    assert_eq!(apart::run::<u8>(&folder, LONG, crash).1, Err(Missing::Gone));
    // Neither blocks the next one.
    assert_eq!(apart::run(&folder, LONG, || Ok(7)).1, Ok(7));
    let (time, _) = apart::run(&folder, LONG, || {
        let until = thread_time() + Duration::from_millis(20);
        while thread_time() < until {}
        Ok(())
    });
    assert!(
        time >= Duration::from_millis(20),
        "the time of the child counts: {time:?}"
    );
}
