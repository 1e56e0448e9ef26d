//! The files of one process, held open as far as descriptors allow.
//!
//! `/proc/<pid>` opened once names that very process: what is reached through it can never be that of
//! another which got the same pid, and saves the kernel a walk down the path. `stat` held open and read
//! again costs half of opening it anew. Under few descriptors, and for trees that are no procfs (where
//! files are replaced, not refreshed), files are opened by path, and `stat` tells before and after
//! whether it was the same process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, PROC_SUPER_MAGIC};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::proc::{clock, descriptors, files, stat};

/// Descriptors of one process: its directory and its `stat`.
const PER_TARGET: usize = 2;
/// Descriptors that the kernel makes room for at the start: two each for some thousand processes.
const INITIAL_TABLE: u64 = 8192;

/// See [`super::make_room`].
pub(super) fn make_room() {
    let last = raise_limit()
        .map_or(INITIAL_TABLE, |limit| limit.min(INITIAL_TABLE))
        .saturating_sub(1);
    // Where it is refused, the table grows as it must.
    drop(rustix::io::fcntl_dupfd_cloexec(
        std::io::stdin(),
        i32::try_from(last).unwrap_or(0),
    ));
}

/// The limit on open files before it was raised.
static INITIAL_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// See [`super::initial_open_files_limit`].
pub(super) fn initial_limit() -> Option<Rlimit> {
    INITIAL_LIMIT.get().copied()
}

/// Raises the process's limit on open files as far as it may, and returns it.
fn raise_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    INITIAL_LIMIT.get_or_init(|| limit);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Time after a shortage of descriptors until more are held again: what took them, a burst of new processes or
/// a program that zmtop ran, is mostly over by then.
const SHORTAGE_WAIT: Duration = Duration::from_secs(10);
/// The longest such time. It doubles with every shortage that follows a raise: where another has taken the descriptors
/// for good, a few rows an hour lack a figure for one tick.
const MAX_SHORTAGE_WAIT: Duration = Duration::from_secs(20 * 60);

/// A count of the files held open, and its limit.
pub(super) struct OpenFiles {
    is_procfs: bool,
    /// The limit where there is no shortage.
    full_limit: usize,
    limit: AtomicUsize,
    used: AtomicUsize,
    shortage: Mutex<Option<Shortage>>,
}

/// A time without free descriptors.
struct Shortage {
    /// When it was last met.
    at: Duration,
    /// The time after it, and after each step, until the limit is raised by a step.
    wait: Duration,
    /// When that is next.
    raise_at: Duration,
}

impl OpenFiles {
    /// Creates a count limited to what the process's limit, raised as far as it may, leaves beside `reserve`
    /// for all else and for acting on processes; to nothing where the tree at `proc` is no procfs.
    pub(super) fn new(proc: &Path, reserve: usize) -> Self {
        let limit = raise_limit();
        let is_procfs = rustix::fs::statfs(proc).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC);
        let limit = match limit {
            _ if !is_procfs => 0,
            Some(n) => usize::try_from(n)
                .unwrap_or(usize::MAX)
                .saturating_sub(reserve + descriptors::for_acting()),
            None => usize::MAX,
        };
        Self {
            is_procfs,
            full_limit: limit,
            limit: AtomicUsize::new(limit),
            used: AtomicUsize::new(0),
            shortage: Mutex::default(),
        }
    }

    /// Returns true if the tree is the kernel's, not one made of plain files.
    pub(super) const fn is_procfs(&self) -> bool {
        self.is_procfs
    }

    /// Returns true if more is held than may be.
    pub(super) fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed)
    }

    /// Returns true if the files of one more process may be held.
    pub(super) fn has_room(&self) -> bool {
        let needed = self.used.load(Ordering::Relaxed).saturating_add(PER_TARGET);
        needed <= self.limit.load(Ordering::Relaxed)
    }

    /// Halves the limit from what is held now, for a while: there was no descriptor left.
    pub(super) fn shrink(&self) {
        let now = clock::monotonic();
        let mut shortage = self.shortage.lock().unwrap_or_else(PoisonError::into_inner);
        self.limit
            .fetch_min(self.used.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        let wait = match &*shortage {
            None => SHORTAGE_WAIT,
            // Many reads meet the same one.
            Some(last) if now.saturating_sub(last.at) < SHORTAGE_WAIT => last.wait,
            Some(last) => (last.wait * 2).min(MAX_SHORTAGE_WAIT),
        };
        *shortage = Some(Shortage {
            at: now,
            wait,
            raise_at: now + wait,
        });
    }

    /// Doubles the limit again where the last shortage, and the last step, are long enough ago.
    pub(super) fn recover(&self, now: Duration) {
        let mut slot = self.shortage.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shortage) = slot.as_mut().filter(|s| s.raise_at <= now) else {
            return;
        };
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == self.full_limit {
            *slot = None;
            return;
        }
        let raised = limit.saturating_mul(2).max(PER_TARGET).min(self.full_limit);
        self.limit.store(raised, Ordering::Relaxed);
        shortage.raise_at = now + shortage.wait;
    }

    /// Holds a descriptor, or gives it back where there are too many.
    fn hold(self: &Arc<Self>, fd: OwnedFd) -> Result<HeldFile, OwnedFd> {
        let limit = self.limit.load(Ordering::Relaxed);
        if self.used.fetch_add(1, Ordering::Relaxed) >= limit {
            self.used.fetch_sub(1, Ordering::Relaxed);
            return Err(fd);
        }
        Ok(HeldFile {
            fd,
            open_files: Arc::clone(self),
        })
    }
}

/// A file held open; leaves the count when dropped.
struct HeldFile {
    fd: OwnedFd,
    open_files: Arc<OpenFiles>,
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        self.open_files.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The files of one process.
pub(super) struct Target {
    pid: u32,
    /// The thread whose files are read, where the first has ended and others live on; 0 for the first.
    thread: AtomicU32,
    dir: Option<HeldFile>,
    stat: Option<HeldFile>,
}

impl Target {
    /// Creates a target whose files are opened by path each time.
    pub(super) const fn bare(pid: u32) -> Self {
        Self {
            pid,
            thread: AtomicU32::new(0),
            dir: None,
            stat: None,
        }
    }

    /// Opens the directory of process `pid`, where it may be held.
    pub(super) fn open_dir(pid: u32, proc: &Path, open_files: &Arc<OpenFiles>) -> Result<Self, Errno> {
        let mut target = Self::bare(pid);
        if open_files.limit.load(Ordering::Relaxed) > 0 {
            target.dir = match path(proc, pid, b"", files::open_dir) {
                Ok(dir) => open_files.hold(dir).ok(),
                Err(Errno::MFILE | Errno::NFILE) => None,
                Err(e) => return Err(e),
            };
        }
        Ok(target)
    }

    /// Opens what may be held of process `pid`, if it `holds` any, and reads its `stat` into `buf`; returns its length
    /// too.
    pub(super) fn new(
        pid: u32,
        proc: &Path,
        open_files: &Arc<OpenFiles>,
        holds: bool,
        buf: &mut [u8],
    ) -> Result<(Self, usize), Errno> {
        let mut target = if holds {
            Self::open_dir(pid, proc, open_files)?
        } else {
            Self::bare(pid)
        };
        let stat = target.open(proc, b"stat")?;
        let len = files::read_record(&stat, buf)?;
        if target.is_bound() {
            target.stat = open_files.hold(stat).ok();
        }
        Ok((target, len))
    }

    /// Closes the directory, which is of no use where nothing but `stat` is read.
    pub(super) fn without_dir(self) -> Self {
        Self { dir: None, ..self }
    }

    /// Returns true if the directory is held: only then is every file surely that of the process first opened.
    pub(super) const fn is_bound(&self) -> bool {
        self.dir.is_some()
    }

    /// Returns true if any descriptor is held.
    pub(super) const fn holds_any(&self) -> bool {
        self.dir.is_some() || self.stat.is_some()
    }

    /// Returns the thread whose files are read, where it is not the first.
    pub(super) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|tid| *tid != 0)
    }

    /// Returns the number by which system calls name what is read: the thread's, or else the process's.
    pub(super) fn task(&self) -> u32 {
        self.thread().unwrap_or(self.pid)
    }

    /// Sets the thread whose files are read.
    pub(super) fn set_thread(&self, thread: Option<u32>) {
        self.thread.store(thread.unwrap_or(0), Ordering::Relaxed);
    }

    /// Reads `stat`, the first thread's, into `buf`; returns its length.
    pub(super) fn stat(&self, proc: &Path, buf: &mut [u8]) -> Result<usize, Errno> {
        match &self.stat {
            Some(held) => rustix::io::retry_on_intr(|| rustix::io::pread(&held.fd, &mut *buf, 0)),
            None => files::read_record(self.open_first(proc, b"stat")?, buf),
        }
    }

    /// Returns true if the process is there and started at `starttime`.
    pub(super) fn is_same(&self, starttime: u64, proc: &Path, buf: &mut [u8]) -> bool {
        self.stat(proc, buf)
            .is_ok_and(|len| stat::parse(&buf[..len], 1).is_ok_and(|g| g.starttime == starttime))
    }

    /// Opens one of the process's files.
    pub(super) fn open(&self, proc: &Path, name: &[u8]) -> Result<OwnedFd, Errno> {
        self.at(proc, name, |dir, name| files::open_at(dir, name))
    }

    /// Opens one of the first thread's files.
    pub(super) fn open_first(&self, proc: &Path, name: &[u8]) -> Result<OwnedFd, Errno> {
        self.at_first(proc, name, |dir, name| files::open_at(dir, name))
    }

    /// Calls `call` with the place of one of the process's files: a directory and the name below it.
    pub(super) fn at<T>(
        &self,
        proc: &Path,
        name: &[u8],
        call: impl FnOnce(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match self.thread() {
            None => self.at_first(proc, name, call),
            Some(thread) => self.at_first(
                proc,
                &[b"task/", thread.to_string().as_bytes(), b"/", name].concat(),
                call,
            ),
        }
    }

    /// Calls `call` with the place of one of the first thread's files.
    pub(super) fn at_first<T>(
        &self,
        proc: &Path,
        name: &[u8],
        call: impl FnOnce(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match &self.dir {
            Some(held) => call(held.fd.as_fd(), name),
            None => path(proc, self.pid, name, |path| call(CWD, path)),
        }
    }
}

/// Calls `call` with the path of `name` below process `pid`.
fn path<T>(proc: &Path, pid: u32, name: &[u8], call: impl FnOnce(&[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
    let proc = proc.as_os_str().as_bytes();
    let mut path = Vec::with_capacity(proc.len() + name.len() + 12);
    path.extend_from_slice(proc);
    path.push(b'/');
    path.extend_from_slice(pid.to_string().as_bytes());
    path.push(b'/');
    path.extend_from_slice(name);
    call(&path)
}
