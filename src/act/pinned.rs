//! Pins a process, so that an action cannot reach another one.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::act::{ActError, Tunable};
use crate::model::Identity;
use crate::proc::files::{self, Roots};
use crate::proc::parse::number;
use crate::proc::pid;

/// A process that is held by a pidfd and an open directory of `/proc`, so that its pid cannot come to mean another
/// process. Both are verified to belong to one [`Identity`]. Actions through them reach that process or none.
#[derive(Debug)]
pub struct Pinned {
    pub id: Identity,
    pidfd: OwnedFd,
    /// `/proc/<pid>`. Once the process is gone, nothing can be opened through it.
    dir: OwnedFd,
}

/// Returns true if all threads of the process have exited, reaped or not.
pub(super) fn has_exited(pidfd: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0)
}

impl Pinned {
    /// Pins the process `id` of the tree at `roots`.
    ///
    /// # Errors
    /// Fails if it is process 1, zmtop itself, a kernel thread, of another tree, or gone; if its pid was reused; or if
    /// the kernel refuses.
    pub fn new(roots: &Roots, id: Identity) -> Result<Self, ActError> {
        if !roots.is_own() {
            return Err(ActError::ForeignProc);
        }
        let raw = i32::try_from(id.pid).map_err(|_| ActError::Gone)?;
        let pid = Pid::from_raw(raw).filter(|_| raw > 0).ok_or(ActError::Gone)?;
        if pid == Pid::INIT {
            return Err(ActError::Init);
        }
        if pid == rustix::process::getpid() {
            return Err(ActError::OwnProcess);
        }
        // Open the pidfd before reading the identity. Then the identity belongs to the pidfd's process.
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| match errno {
            // The pid belongs to a thread that does not lead its process.
            Errno::INVAL => ActError::Gone,
            other => other.into(),
        })?;
        let dir = files::open_dir(format!("/proc/{raw}").as_bytes())?;
        let pinned = Self { id, pidfd, dir };
        pinned.verify()?;
        Ok(pinned)
    }

    /// Verifies that the pidfd and the directory belong to the identity.
    fn verify(&self) -> Result<(), ActError> {
        let mut buf = [0; 4096];
        let fd = files::open_at(&self.dir, b"stat")?;
        let len = files::read_record(fd, &mut buf)?;
        let parsed = pid::stat(&buf[..len], 1).map_err(|_| ActError::Malformed)?;
        if parsed.pid != self.id.pid || parsed.starttime != self.id.starttime {
            let is_unread = self.id.starttime == 0;
            return Err(if is_unread {
                ActError::Unread
            } else {
                ActError::PidReused
            });
        }
        if parsed.stat.is_kernel_thread() {
            return Err(ActError::KernelThread);
        }
        // The pidfd was opened before `stat` was read. If its process still has the pid, that `stat` was its own.
        // fdinfo counts pids as this /proc does; a /proc of another pid namespace shows another number.
        match self.current_pid()? {
            Some(pid) if pid == self.id.pid => Ok(()),
            Some(_) => Err(ActError::ForeignProc),
            None => Err(ActError::Gone),
        }
    }

    /// Returns the pid of the pidfd's process, or `None` once it was reaped. The source is `Pid:` of
    /// `/proc/self/fdinfo`, which is -1 after reaping, and 0 if this `/proc` does not know the process.
    fn current_pid(&self) -> Result<Option<u32>, ActError> {
        let mut buf = [0; 1024];
        let path = format!("/proc/self/fdinfo/{}", self.pidfd.as_raw_fd());
        let text = files::slurp(path.as_bytes(), &mut buf)?;
        let line = text.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"Pid:"));
        match line.map(<[u8]>::trim_ascii).ok_or(ActError::Malformed)? {
            b"-1" => Ok(None),
            digits => {
                let pid = number(digits).and_then(|n| u32::try_from(n).ok());
                pid.map(Some).ok_or(ActError::Malformed)
            }
        }
    }

    /// Returns true if all threads have exited, reaped or not.
    pub fn has_exited(&self) -> bool {
        has_exited(&self.pidfd)
    }

    /// Closes everything except the pidfd.
    pub(super) fn into_pidfd(self) -> OwnedFd {
        self.pidfd
    }

    fn ensure_running(&self) -> Result<(), ActError> {
        match (self.has_exited(), self.current_pid()?) {
            (_, None) => Err(ActError::Gone),
            (true, Some(_)) => Err(ActError::Zombie),
            (false, Some(_)) => Ok(()),
        }
    }

    pub fn signal(&self, signal: Signal) -> Result<(), ActError> {
        self.ensure_running()?;
        Ok(rustix::process::pidfd_send_signal(&self.pidfd, signal)?)
    }

    /// Clears the referenced bits of all pages, so that `Referenced` of `smaps` shows which pages the process touches
    /// from then on.
    ///
    /// The kernel walks the page tables with the address space locked, for about 30 ms per gigabyte in small pages.
    /// Page faults of the process wait meanwhile, and may make this call wait, as they do for `smaps_rollup`. Until
    /// pages are touched again, reclaim considers them idle. Nothing else changes.
    ///
    /// # Errors
    /// The process has exited or may not be changed, or the kernel keeps no such bits.
    pub fn clear_referenced(&self) -> Result<(), ActError> {
        // For a zombie, the kernel would report success.
        self.ensure_running()?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = match rustix::fs::openat(&self.dir, "clear_refs", flags, Mode::empty()) {
            // Only a kernel without CONFIG_PROC_PAGE_MONITOR has no such file for a living process.
            Err(Errno::NOENT) => {
                self.ensure_running()?;
                return Err(ActError::NoReferencedBits);
            }
            other => other?,
        };
        rustix::io::write(fd, b"1")?;
        self.ensure_running()
    }

    pub fn get(&self, tunable: Tunable) -> Result<i32, ActError> {
        self.ensure_running()?;
        match tunable {
            Tunable::OomScoreAdj => self.oom_score_adj(),
            Tunable::Nice => self.nice(),
        }
    }

    /// Sets a tunable. If that fails, threads that were already changed stay changed.
    pub fn set(&self, tunable: Tunable, value: i32) -> Result<(), ActError> {
        tunable.check(value)?;
        self.ensure_running()?;
        match tunable {
            Tunable::OomScoreAdj => self.set_oom_score_adj(value),
            Tunable::Nice => self.set_nice(value),
        }
    }

    fn oom_score_adj(&self) -> Result<i32, ActError> {
        let mut buf = [0; 32];
        let len = files::read_record(self.open_oom_score_adj(OFlags::RDONLY)?, &mut buf)?;
        let text = str::from_utf8(&buf[..len]).unwrap_or_default();
        text.trim().parse().map_err(|_| ActError::Malformed)
    }

    fn set_oom_score_adj(&self, value: i32) -> Result<(), ActError> {
        let fd = self.open_oom_score_adj(OFlags::WRONLY)?;
        rustix::io::write(fd, format!("{value}\n").as_bytes())?;
        Ok(())
    }

    /// Opens `oom_score_adj`, which is per process. If the first thread has ended, root owns its file, no matter
    /// which user owns the process; another thread's file is used.
    fn open_oom_score_adj(&self, flags: OFlags) -> Result<OwnedFd, ActError> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        let open = |name: &str| rustix::fs::openat(&self.dir, name, flags, Mode::empty());
        let refused = match open("oom_score_adj") {
            Ok(fd) => return Ok(fd),
            Err(refused) => refused,
        };
        let threads = self.threads()?.into_iter();
        let mut others = threads.filter(|tid| tid.cast_unsigned() != self.id.pid);
        let other = others.find_map(|tid| open(&format!("task/{tid}/oom_score_adj")).ok());
        other.ok_or_else(|| refused.into())
    }

    /// Returns the niceness of the first thread.
    fn nice(&self) -> Result<i32, ActError> {
        let nice = rustix::process::getpriority_process(Pid::from_raw(self.id.pid.cast_signed()))?;
        // The value was read by pid, which could have been reused in between.
        self.ensure_running().map(|()| nice)
    }

    /// Sets the niceness of all threads. Threads started later inherit it.
    fn set_nice(&self, value: i32) -> Result<(), ActError> {
        for thread in self.threads()? {
            // The kernel takes a number here, not a pidfd. Check right before each call that it is still a thread of this process.
            self.ensure_running()?;
            let own = rustix::fs::statat(&self.dir, format!("task/{thread}"), AtFlags::empty());
            if own.is_err() && thread.cast_unsigned() != self.id.pid {
                continue;
            }
            match rustix::process::setpriority_process(Pid::from_raw(thread), value) {
                // The thread has exited in between.
                Err(Errno::SRCH) if thread.cast_unsigned() != self.id.pid => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn threads(&self) -> Result<Vec<i32>, ActError> {
        let mut threads = Vec::new();
        files::numbers(&self.dir, b"task", 4 << 10, |tid| threads.extend(i32::try_from(tid)))?;
        Ok(threads)
    }
}
