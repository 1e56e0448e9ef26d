//! Acting on a process without ever meeting another that has its pid by then.
//!
//! A pid is a number that the kernel gives again. [`Pinned`] holds what is not given again: a pidfd and an open
//! directory of `/proc`, proven to be those of one [`Identity`]. What is sent through them reaches that process
//! or nobody.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::model::Identity;
use crate::proc::files::Roots;
use crate::proc::parse::number;
use crate::proc::{files, stat};

/// Why nothing was done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// The tree shown is not this machine's `/proc`, or one of another pid namespace.
    #[error("these processes are not this machine's: there is nothing to act on")]
    Elsewhere,
    /// Process 1, without which the machine or the container ends.
    #[error("process 1 is not to be touched")]
    Init,
    /// zmtop itself.
    #[error("this is zmtop itself")]
    Myself,
    /// A thread of the kernel.
    #[error("it is a thread of the kernel")]
    KernelThread,
    /// It ended and was reaped.
    #[error("the process has ended")]
    Gone,
    /// It ended; its parent has yet to take notice, and nothing can be done to it.
    #[error("the process has ended and waits to be reaped by its parent")]
    Zombie,
    /// Another process has the pid now.
    #[error("the process has ended, and another has its pid now")]
    Reused,
    /// EPERM or EACCES.
    #[error("permission denied")]
    Denied,
    /// No pidfds: the kernel is older than Linux 5.3.
    #[error("this kernel cannot pin a process (Linux 5.3 is needed)")]
    Unsupported,
    /// Outside of what the kernel takes.
    #[error("{0} is out of range: {1} to {2}")]
    Range(i32, i32, i32),
    /// What `/proc` said was not what the kernel's documentation promises.
    #[error("/proc cannot be understood")]
    Malformed,
    /// Any other error of the kernel.
    #[error("{0}")]
    Kernel(Errno),
}

impl From<Errno> for ActError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::SRCH | Errno::NOENT => Self::Gone,
            Errno::PERM | Errno::ACCESS => Self::Denied,
            Errno::NOSYS => Self::Unsupported,
            other => Self::Kernel(other),
        }
    }
}

/// One process, held so that its pid cannot come to mean another.
#[derive(Debug)]
pub struct Pinned {
    id: Identity,
    pidfd: OwnedFd,
    /// `/proc/<pid>`: once the process is gone nothing can be reached through it.
    dir: OwnedFd,
    /// `oom_score_adj`, opened for writing, or else only for reading; or why not.
    oom: Result<OwnedFd, Errno>,
}

impl Pinned {
    /// What the kernel takes for `oom_score_adj`.
    pub const OOM: std::ops::RangeInclusive<i32> = -1000..=1000;
    /// What it takes for niceness.
    pub const NICE: std::ops::RangeInclusive<i32> = -20..=19;

    /// Pins the process `id` of the tree at `roots`. The pidfd is opened first and the identity read after, so
    /// that it is the pidfd's own.
    ///
    /// # Errors
    /// It is process 1, zmtop itself, of the kernel, of another tree, gone, or its pid is another's; or the kernel refuses.
    pub fn new(roots: &Roots, id: Identity) -> Result<Self, ActError> {
        if !roots.is_own() {
            return Err(ActError::Elsewhere);
        }
        let raw = i32::try_from(id.pid).map_err(|_| ActError::Gone)?;
        let pid = Pid::from_raw(raw).filter(|_| raw > 0).ok_or(ActError::Gone)?;
        if pid == Pid::INIT {
            return Err(ActError::Init);
        }
        if pid == rustix::process::getpid() {
            return Err(ActError::Myself);
        }
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| match errno {
            // The number of a thread that is none of a process.
            Errno::INVAL => ActError::Gone,
            other => other.into(),
        })?;
        let dir = files::open_dir(format!("/proc/{raw}").as_bytes())?;
        let open = |flags| {
            let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
            rustix::fs::openat(&dir, c"oom_score_adj", flags, Mode::empty())
        };
        let oom = open(OFlags::RDWR).or_else(|_| open(OFlags::RDONLY));
        let pinned = Self { id, pidfd, dir, oom };
        pinned.verify()?;
        Ok(pinned)
    }

    /// Which process.
    pub const fn id(&self) -> Identity {
        self.id
    }

    /// Proves that pidfd and directory are those of the identity, and that the pid is still its own.
    fn verify(&self) -> Result<(), ActError> {
        let mut buf = [0; 4096];
        let fd = files::open_name(&self.dir, c"stat")?;
        let len = files::read_record(fd, &mut buf)?;
        let glance = stat::parse(&buf[..len], 1).map_err(|_| ActError::Malformed)?;
        if glance.pid != self.id.pid || glance.starttime != self.id.starttime {
            return Err(ActError::Reused);
        }
        if glance.stat.is_kernel_thread() {
            return Err(ActError::KernelThread);
        }
        // The pidfd was opened before: if its process still has the number, what was read is that process's.
        // The number is told as this /proc counts; in that of another namespace it is another one.
        match self.number()? {
            Some(pid) if pid == self.id.pid => Ok(()),
            Some(_) => Err(ActError::Elsewhere),
            None => Err(ActError::Gone),
        }
    }

    /// The pid of the pidfd's process, `None` once it was reaped. `Pid:` of `/proc/self/fdinfo`, which says -1
    /// then, or 0 where this `/proc` does not know it.
    fn number(&self) -> Result<Option<u32>, ActError> {
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

    /// Whether all of its threads have ended, reaped or not.
    pub fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0)
    }

    /// That there is still something to act on.
    fn alive(&self) -> Result<(), ActError> {
        match (self.has_ended(), self.number()?) {
            (_, None) => Err(ActError::Gone),
            (true, Some(_)) => Err(ActError::Zombie),
            (false, Some(_)) => Ok(()),
        }
    }

    /// Sends a signal, through the pidfd.
    ///
    /// # Errors
    /// It ended, or may not be signalled.
    pub fn signal(&self, signal: Signal) -> Result<(), ActError> {
        self.alive()?;
        Ok(rustix::process::pidfd_send_signal(&self.pidfd, signal)?)
    }

    /// `oom_score_adj`: what is added to the kernel's own judgement of whom to kill when memory runs out, in
    /// thousandths of the memory there is; at −1000 it is never killed for that.
    ///
    /// # Errors
    /// It ended, or may not be looked at.
    pub fn oom_score_adj(&self) -> Result<i32, ActError> {
        self.alive()?;
        let fd = self.oom.as_ref().map_err(|e| *e)?;
        let mut buf = [0; 32];
        let len = rustix::io::pread(fd, &mut buf, 0)?;
        let text = str::from_utf8(&buf[..len]).unwrap_or_default();
        text.trim().parse().map_err(|_| ActError::Malformed)
    }

    /// Sets `oom_score_adj`, through the file opened when the process was pinned. To lower it below what it
    /// was last raised to takes `CAP_SYS_RESOURCE`.
    ///
    /// # Errors
    /// The value is outside of [`Pinned::OOM`], or it ended, or may not be changed.
    pub fn set_oom_score_adj(&self, value: i32) -> Result<(), ActError> {
        within(value, &Self::OOM)?;
        self.alive()?;
        let fd = self.oom.as_ref().map_err(|e| *e)?;
        match rustix::io::write(fd, format!("{value}\n").as_bytes()) {
            Ok(_) => Ok(()),
            // Opened for reading only, as writing was denied.
            Err(Errno::BADF) => Err(ActError::Denied),
            Err(other) => Err(other.into()),
        }
    }

    /// The niceness of its first thread.
    ///
    /// # Errors
    /// It ended.
    pub fn nice(&self) -> Result<i32, ActError> {
        self.alive()?;
        let nice = rustix::process::getpriority_process(Pid::from_raw(self.id.pid.cast_signed()))?;
        // The number could have become another's meanwhile.
        self.alive().map(|()| nice)
    }

    /// Sets the niceness of all its threads; those that they start later have it too. The kernel takes a
    /// number here and no pidfd: that it is still this process's is proven right before each.
    ///
    /// # Errors
    /// The value is outside of [`Pinned::NICE`], or it ended, or may not be changed; a first thread that was
    /// changed stays so.
    pub fn set_nice(&self, value: i32) -> Result<(), ActError> {
        within(value, &Self::NICE)?;
        for thread in self.threads()? {
            self.alive()?;
            match rustix::process::setpriority_process(Pid::from_raw(thread), value) {
                // A thread that ended since.
                Err(Errno::SRCH) if thread.cast_unsigned() != self.id.pid => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// The numbers of its threads.
    fn threads(&self) -> Result<Vec<i32>, ActError> {
        self.alive()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let tasks = rustix::fs::openat(&self.dir, c"task", flags, Mode::empty())?;
        let mut buf = Vec::with_capacity(4096);
        let mut entries = RawDir::new(tasks.as_fd(), buf.spare_capacity_mut());
        let mut threads = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            threads.extend(number(entry.file_name().to_bytes()).and_then(|n| i32::try_from(n).ok()));
        }
        Ok(threads)
    }
}

fn within(value: i32, range: &std::ops::RangeInclusive<i32>) -> Result<(), ActError> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(ActError::Range(value, *range.start(), *range.end()))
    }
}
