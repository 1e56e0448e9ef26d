//! A process with known mappings: this test binary run again, which maps, touches and stops itself.

use std::ffi::c_void;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Owned, PATIENCE};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};
use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};

/// Names the file to share, in the process that is to be the child.
const FILE: &str = "ZMTOP_TEST_CHILD";

/// Sizes in bytes.
pub(crate) struct Shape {
    /// Anonymous and private.
    pub(crate) private: usize,
    /// Anonymous and shared, with nobody.
    pub(crate) shared: usize,
    /// Of a file, shared with whoever maps it.
    pub(crate) file: usize,
}

/// The memory that a child maps and touches.
pub(crate) const SHAPE: Shape = Shape {
    private: 24 << 20,
    shared: 12 << 20,
    file: 20 << 20,
};

/// A child; ended when dropped.
pub(crate) struct Child(Owned);

impl Child {
    /// Runs the test `name` of this binary as a child that shares `file`, until it stops.
    pub(crate) fn start(name: &str, file: &Path) -> Self {
        Self::start_with(name, file, "ZMTOP_TEST_PLAIN")
    }

    /// The same with `flag` set in its environment.
    pub(crate) fn start_with(name: &str, file: &Path, flag: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(FILE, file)
            .env(flag, "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let child = Self(Owned(child));
        let began = Instant::now();
        while child.state() != 'T' {
            assert!(began.elapsed() < PATIENCE, "the child never stops");
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    }

    /// Lets it read to the end of its input.
    pub(crate) fn close_stdin(&mut self) {
        drop(self.0.stdin.take());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    fn state(&self) -> char {
        let stat = std::fs::read(format!("/proc/{}/stat", self.pid())).unwrap();
        let text = String::from_utf8_lossy(&stat).into_owned();
        text.rsplit(") ").next().unwrap().chars().next().unwrap()
    }
}

impl From<std::process::Child> for Child {
    fn from(child: std::process::Child) -> Self {
        Self(Owned(child))
    }
}

/// In a process that is to be the child of the test `name`: does not return.
pub(crate) fn be(name: &str) {
    let Some(path) = std::env::var_os(FILE) else { return };
    // Nothing else of this binary may run here.
    assert!(std::env::args().any(|arg| arg == name));
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap();
    file.set_len(SHAPE.file as u64).unwrap();
    #[expect(unsafe_code, reason = "mappings of known kinds can be made no other way")]
    // SAFETY: the kernel chooses free places for them; only what is mapped there is written, and nothing
    // else knows of it.
    unsafe {
        let rw = ProtFlags::READ | ProtFlags::WRITE;
        let null = std::ptr::null_mut;
        let private = mmap_anonymous(null(), SHAPE.private, rw, MapFlags::PRIVATE).unwrap();
        touch(private, SHAPE.private);
        let shared = mmap_anonymous(null(), SHAPE.shared, rw, MapFlags::SHARED).unwrap();
        touch(shared, SHAPE.shared);
        let mapped = mmap(null(), SHAPE.file, rw, MapFlags::SHARED, &file, 0).unwrap();
        touch(mapped, SHAPE.file);
        if std::env::var_os(super::swap::PAGE_OUT).is_some() {
            // Half of each, so that there is something of every kind.
            let _ = madvise(private, SHAPE.private / 2, Advice::LinuxPageOut);
            let _ = madvise(shared, SHAPE.shared / 2, Advice::LinuxPageOut);
        }
    }
    loop {
        kill_process(getpid(), Signal::STOP).unwrap();
    }
}

/// Writes to every page.
#[expect(unsafe_code, reason = "see `be`")]
unsafe fn touch(at: *mut c_void, size: usize) {
    for page in (0..size).step_by(4096) {
        // SAFETY: the caller mapped `size` writable bytes at `at`.
        unsafe { at.cast::<u8>().add(page).write_volatile(page as u8 | 1) };
    }
}
