//! Reads in a child process, because a read of memory that belongs to another user may wait for ever.
//!
//! A process can replace a part of its memory by a file of a FUSE file system while it is read. The read then waits for the program of
//! that file system, and not even SIGKILL ends the wait. A thread in such a wait keeps its whole process from ending, so it must be in a
//! process of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::{Missing, Reading};
use crate::proc::blocked::Blocked;
use crate::proc::files::Roots;
use crate::proc::{accounts, clock, files, parse};

/// Maximum number of bytes of an answer.
const MAX_ANSWER: usize = 4 << 20;
/// Number of stuck children at which no more are started.
const MAX_STUCK: usize = 16;
/// Time in which a killed child ends, if it does not wait for a page.
const GRACE: Duration = Duration::from_millis(500);

/// The children that were killed and did not end, each with the user whose memory it reads: see [`owner`].
static STUCK: Mutex<Vec<(Pid, u32)>> = Mutex::new(Vec::new());

/// Runs `read` for the process whose folder below `/proc` is `folder`, in a child process if one of its uids differs from zmtop's. Blocks
/// for at most about `limit` and half a second in that case. Also returns the CPU time of this thread and of the child.
///
/// # Errors
/// The errors of `read` and of fork. [`Missing::TimedOut`] after `limit`, while an earlier read for the same user waits, or while
/// `MAX_STUCK` children wait. [`Missing::Malformed`] if the answer is too large. [`Missing::Gone`] if the child ended early.
pub fn run<T: Serialize + DeserializeOwned>(
    folder: &Path,
    limit: Duration,
    read: impl FnOnce() -> Reading<T>,
) -> (Duration, Reading<T>) {
    let begun = clock::thread_time();
    // A tree of files that is not the kernel's has no memory.
    let other = folder.starts_with("/proc").then(|| other_user(folder)).flatten();
    let (time, found) = match other {
        None => (Duration::ZERO, read()),
        Some(uid) if is_stuck(uid) => (Duration::ZERO, Err(Missing::TimedOut)),
        Some(uid) => match Child::fork(read) {
            Ok(child) => child.answer(uid, limit),
            Err(errno) => (Duration::ZERO, Err(files::reason(errno))),
        },
    };
    (clock::thread_time().saturating_sub(begun) + time, found)
}

/// Returns the first uid of the process that differs from zmtop's effective uid. `None` if there is none, or if `status` cannot be read.
fn other_user(folder: &Path) -> Option<u32> {
    let mut buf = [0; 4096];
    let path = folder.join("status");
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).ok()?;
    let own = rustix::process::geteuid().as_raw();
    let uids = parse::words_after(bytes, b"Uid:")?;
    uids.filter_map(|uid| u32::try_from(parse::number(uid)?).ok())
        .find(|uid| *uid != own)
}

/// Reaps the children that have ended meanwhile, and returns true if one still reads memory of that user, or if there are too many.
fn is_stuck(uid: u32) -> bool {
    let owners: Vec<u32> = {
        let mut stuck = STUCK.lock();
        stuck.retain(|(pid, _)| !is_reaped(*pid));
        stuck.iter().map(|(_, owner)| *owner).collect()
    };
    // The name service may block, so the owner is looked up without the lock, and only if a child is stuck.
    owners.len() >= MAX_STUCK || !owners.is_empty() && owners.contains(&owner(uid))
}

/// Returns the owner of a subordinate uid, or the uid itself. A user may have thousands of subordinate uids.
fn owner(uid: u32) -> u32 {
    let account = accounts::account(uid, &Roots::new(None));
    account.owner.map_or(uid, |owner| owner.uid)
}

fn is_reaped(pid: Pid) -> bool {
    !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None) | Err(Errno::INTR))
}

struct Child {
    pid: Pid,
    answer: File,
}

impl Child {
    /// Starts a child that writes what `read` returns, and ends.
    fn fork<T: Serialize>(read: impl FnOnce() -> T) -> Result<Self, Errno> {
        let (answer, to) = pipe_with(PipeFlags::CLOEXEC)?;
        let parent = rustix::process::getpid();
        // A handler in the child would write into a pipe of its parent.
        let signals = Blocked::all();
        #[expect(unsafe_code, reason = "no safe function forks")]
        // SAFETY: the child has only this thread, and of what other threads may have locked it uses `malloc` alone, which every C library
        // of Linux makes usable after a fork. It returns to no caller: `serve` ends it.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            serve(parent, to, read);
        }
        drop(signals);
        let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or(Errno::AGAIN)?;
        Ok(Self {
            pid,
            answer: answer.into(),
        })
    }

    /// Waits for the answer, then for the end of the child. Also returns the child's processor time.
    fn answer<T: DeserializeOwned>(mut self, uid: u32, limit: Duration) -> (Duration, Reading<T>) {
        let bytes = self.bytes(Instant::now() + limit);
        let id = self.pid.as_raw_pid().cast_unsigned();
        if bytes.is_err() {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        let until = Instant::now() + GRACE;
        let mut pause = Duration::from_micros(50);
        let mut time = Duration::ZERO;
        loop {
            // The CPU time can be read until the child is reaped.
            time = clock::process_time(id).unwrap_or(time);
            if is_reaped(self.pid) {
                break;
            }
            if Instant::now() >= until {
                let owner = owner(uid);
                STUCK.lock().push((self.pid, owner));
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        // A child that was killed, for example by the OOM killer, may have sent only a part of the answer.
        let found = bytes.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|_| Missing::Gone));
        (time, found.and_then(|found: Reading<T>| found))
    }

    fn bytes(&mut self, until: Instant) -> Reading<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or_default();
            match poll(&mut [PollFd::new(&self.answer, PollFlags::IN)], Some(&left)) {
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(files::reason(errno)),
                Ok(0) => return Err(Missing::TimedOut),
                Ok(_) => {}
            }
            match self.answer.read(&mut piece) {
                Ok(0) => return Ok(bytes),
                Ok(len) if bytes.len() + len <= MAX_ANSWER => bytes.extend(&piece[..len]),
                _ => return Err(Missing::Malformed),
            }
        }
    }
}

/// The child: reads, writes the answer and ends.
fn serve<T: Serialize>(parent: Pid, to: OwnedFd, read: impl FnOnce() -> T) -> ! {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let is_orphan = || rustix::process::getppid() != Some(parent);
        if set_parent_process_death_signal(Some(Signal::KILL)).is_err() || is_orphan() {
            return;
        }
        close_others(to.as_raw_fd());
        if let Ok(bytes) = serde_json::to_vec(&read()) {
            let _ = File::from(to).write_all(&bytes);
        }
    }));
    #[expect(unsafe_code, reason = "no safe function ends a process without its handlers")]
    // SAFETY: it touches no memory.
    unsafe {
        libc::_exit(0)
    }
}

/// Closes all descriptors except `kept`. Otherwise, a stuck child would keep terminals, pipes and ports of zmtop open.
fn close_others(kept: RawFd) {
    let close = |first: RawFd, last: RawFd| {
        #[expect(unsafe_code, reason = "rustix has no call that closes a range")]
        // SAFETY: nothing in the child uses a descriptor that its parent had opened.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        first > last || done == 0
    };
    // Before Linux 5.9, one at a time.
    if !(close(0, kept - 1) && close(kept + 1, RawFd::MAX)) {
        let highest = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let highest = RawFd::try_from(highest.unwrap_or(1 << 16)).unwrap_or(1 << 16);
        for fd in (0..highest).filter(|fd| *fd != kept) {
            #[expect(unsafe_code, reason = "rustix closes only descriptors that it owns")]
            // SAFETY: as above.
            unsafe {
                libc::close(fd);
            }
        }
    }
}
