//! The files of one process, held open as far as descriptors allow.
//!
//! An open `/proc/<pid>` refers to that very process: files reached through it never belong to a later process with
//! the same pid. It also saves the kernel the path lookup. Rereading an open `stat` costs half as much as opening it
//! again. If descriptors are scarce, and for trees that are not procfs (where files are replaced, not refreshed),
//! files are opened by path. `stat`, read before and after, then shows whether it was the same process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, PROC_SUPER_MAGIC, statat};
use rustix::io::Errno;

use crate::model::{Missing, Reading, Stat};
use crate::own;
use crate::proc::pid::{self, Glance};
use crate::proc::{clock, files};

/// Descriptors of one process: its directory and its `stat`.
const PER_TARGET: usize = 2;
/// Descriptors for which the kernel allocates room at the start: 2 each for some thousand processes.
const INITIAL_TABLE: u64 = 8192;

/// Makes the kernel allocate room for all descriptors that will be held open. Call it while the program has one
/// thread: the kernel copies a descriptor table shared by threads at each doubling, and every thread that opens a
/// file then waits for an RCU grace period (`expand_fdtable` of `fs/file.c`). Only the time of the first snapshot
/// depends on it.
pub fn make_room() {
    let count = own::raise_open_files_limit().map_or(INITIAL_TABLE, |limit| limit.min(INITIAL_TABLE));
    let last = i32::try_from(count.saturating_sub(1)).unwrap_or(0);
    // If this fails, the table grows as needed.
    drop(rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), last));
}

/// Time from a shortage of descriptors until more are held again. Its cause, such as a burst of new processes or a
/// program that zmtop ran, is mostly over by then.
const SHORTAGE_WAIT: Duration = Duration::from_secs(10);
/// The longest such time. The time doubles with every shortage after a raise. If another program keeps the
/// descriptors for good, a few rows an hour lack a figure for one tick.
const MAX_SHORTAGE_WAIT: Duration = Duration::from_secs(20 * 60);

/// The number of times that another thread is looked for, and the CPU time for that. A program may end each thread after it has started
/// the next one, within microseconds. While it waits for a processor, its thread stays, so that such programs cannot delay each other's
/// reads.
const MAX_TRIES: usize = 64;
const MAX_TRYING: Duration = Duration::from_millis(5);
/// The number of threads that are tried at a time: of the oldest ones and of any others, and of the newest ones. A list is long if another
/// process traces threads, which then stay in it after their end.
const ANY: usize = 8;
const NEWEST: usize = 4;

pub(crate) struct OpenFiles {
    /// The tree is the kernel's procfs, not a copy made of plain files.
    pub(crate) is_procfs: bool,
    /// The limit without a shortage.
    full_limit: usize,
    limit: AtomicUsize,
    used: AtomicUsize,
    shortage: Mutex<Option<Shortage>>,
}

struct Shortage {
    at: Duration,
    /// The time from the shortage, and from each step, to the next step that raises the limit.
    wait: Duration,
    raise_at: Duration,
}

impl OpenFiles {
    /// Creates a counter. Its limit is the process's limit, raised as far as allowed, minus `reserve` for other uses
    /// and minus the descriptors for acting on processes. It is 0 if the tree at `proc` is not procfs.
    pub(crate) fn new(proc: &Path, reserve: usize) -> Self {
        let limit = own::raise_open_files_limit().and_then(|limit| usize::try_from(limit).ok());
        let is_procfs = rustix::fs::statfs(proc).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC);
        let limit = match limit {
            _ if !is_procfs => 0,
            Some(limit) => limit.saturating_sub(reserve + files::for_acting()),
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

    pub(crate) fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn has_room(&self) -> bool {
        let needed = self.used.load(Ordering::Relaxed).saturating_add(PER_TARGET);
        needed <= self.limit.load(Ordering::Relaxed)
    }

    /// Limits the held files to half of their current number for some time, after a lack of descriptors.
    pub(crate) fn shrink(&self) {
        let now = clock::monotonic();
        let mut shortage = self.shortage.lock().unwrap_or_else(PoisonError::into_inner);
        self.limit
            .fetch_min(self.used.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        let wait = match &*shortage {
            None => SHORTAGE_WAIT,
            // Many reads meet the same shortage.
            Some(last) if now.saturating_sub(last.at) < SHORTAGE_WAIT => last.wait,
            Some(last) => (last.wait * 2).min(MAX_SHORTAGE_WAIT),
        };
        *shortage = Some(Shortage {
            at: now,
            wait,
            raise_at: now + wait,
        });
    }

    /// Doubles the limit again if the last shortage and the last step are long enough ago.
    pub(crate) fn recover(&self, now: Duration) {
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

    /// Counts a descriptor as held, or closes it if there are too many.
    fn hold(self: &Arc<Self>, fd: OwnedFd) -> Option<HeldFile> {
        let limit = self.limit.load(Ordering::Relaxed);
        if self.used.fetch_add(1, Ordering::Relaxed) >= limit {
            self.used.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(HeldFile {
            fd,
            open_files: Arc::clone(self),
        })
    }
}

/// A file held open, which is counted until it is dropped.
struct HeldFile {
    fd: OwnedFd,
    open_files: Arc<OpenFiles>,
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        self.open_files.used.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) struct Target {
    pid: u32,
    /// The thread whose files are read if the first one has ended while others run; 0 for the first.
    thread: AtomicU32,
    dir: Option<HeldFile>,
    stat: Option<HeldFile>,
}

impl Target {
    pub(crate) const fn bare(pid: u32) -> Self {
        Self {
            pid,
            thread: AtomicU32::new(0),
            dir: None,
            stat: None,
        }
    }

    /// Opens the directory of process `pid`, and holds it if allowed.
    pub(crate) fn open_dir(pid: u32, proc: &Path, open_files: &Arc<OpenFiles>) -> Result<Self, Errno> {
        let mut target = Self::bare(pid);
        if open_files.limit.load(Ordering::Relaxed) > 0 {
            target.dir = match path(proc, pid, b"", files::open_dir) {
                Ok(dir) => open_files.hold(dir),
                Err(Errno::MFILE | Errno::NFILE) => None,
                Err(e) => return Err(e),
            };
        }
        Ok(target)
    }

    /// Opens the directory of process `pid` if it `holds` files, and reads its `stat` into `buf`. Also returns the
    /// length of that.
    pub(crate) fn new(
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
            target.stat = open_files.hold(stat);
        }
        Ok((target, len))
    }

    pub(crate) fn without_dir(self) -> Self {
        Self { dir: None, ..self }
    }

    /// Returns true if the directory is held. Only then does every file certainly belong to the process first opened.
    pub(crate) const fn is_bound(&self) -> bool {
        self.dir.is_some()
    }

    pub(crate) const fn holds_any(&self) -> bool {
        self.dir.is_some() || self.stat.is_some()
    }

    /// Returns the thread whose files are read, if it is not the first.
    pub(crate) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|tid| *tid != 0)
    }

    /// Returns the id for system calls: the thread's, or else the process's.
    pub(crate) fn task(&self) -> u32 {
        self.thread().unwrap_or(self.pid)
    }

    pub(crate) fn set_thread(&self, thread: Option<u32>) {
        self.thread.store(thread.unwrap_or(0), Ordering::Relaxed);
    }

    /// Reads the `stat` of the first thread into `buf`; returns its length.
    pub(crate) fn stat(&self, proc: &Path, buf: &mut [u8]) -> Result<usize, Errno> {
        match &self.stat {
            Some(held) => rustix::io::retry_on_intr(|| rustix::io::pread(&held.fd, &mut *buf, 0)),
            None => files::read_record(self.open_first(proc, b"stat")?, buf),
        }
    }

    /// Returns true if the process exists and started at `starttime`.
    pub(crate) fn is_same(&self, starttime: u64, proc: &Path, buf: &mut [u8]) -> bool {
        self.is_there(proc, buf, |glance| glance.starttime == starttime)
    }

    /// Returns true if the process exists and its `stat` fulfils a condition.
    pub(crate) fn is_there(&self, proc: &Path, buf: &mut [u8], fulfils: impl FnOnce(&Glance<'_>) -> bool) -> bool {
        let len = self.stat(proc, buf);
        len.is_ok_and(|len| pid::stat(&buf[..len], 1).is_ok_and(|glance| fulfils(&glance)))
    }

    /// Returns the effective user. It owns the process's directory in procfs (`task_dump_owner` of `fs/proc/base.c`), which costs a
    /// tenth of a read of `status`.
    pub(crate) fn owner(&self, proc: &Path) -> Result<u32, Errno> {
        let owner = || self.at(proc, b"", |dir, name| statat(dir, name, AtFlags::EMPTY_PATH));
        self.retry(proc, owner).map(|owner| owner.st_uid)
    }

    /// Returns the user who started a program that has the set-user-ID bit, if the effective user `uid` is another one. If the target is
    /// not bound, the pid may have been reused.
    pub(crate) fn starter(&self, uid: u32, proc: &Path, buf: &mut [u8]) -> Option<u32> {
        // After such a program has started, root owns the files of the process (`task_dump_owner` of `fs/proc/base.c`). Other programs
        // need no read of `status`.
        let owner = || self.at(proc, b"stat", |dir, name| statat(dir, name, AtFlags::empty()));
        if uid != 0 && owner().is_ok_and(|stat| stat.st_uid == uid) {
            return None;
        }
        self.real_uid(proc, buf).filter(|real| *real != 0 && *real != uid)
    }

    /// Returns the real user, which the set-user-ID bit of a program does not change. If the target is not bound, the pid may have been
    /// reused.
    pub(crate) fn real_uid(&self, proc: &Path, buf: &mut [u8]) -> Option<u32> {
        let len = files::read_once(self.open(proc, b"status").ok()?, buf).ok()?;
        pid::real_uid(&buf[..len]).ok()
    }

    /// Returns why a capture lacks the first of these files of the process, by its file `unread`: a line for each file that
    /// could not be read, such as `smaps_rollup: Permission denied`. No procfs has that file.
    pub(crate) fn captured_reason(&self, proc: &Path, names: &[&[u8]], buf: &mut [u8]) -> Option<Missing> {
        if self.is_bound() {
            return None;
        }
        let fd = self.open(proc, b"unread").ok()?;
        let len = files::read_all(fd, buf).ok()?;
        let mut lines = buf[..len].split(|b| *b == b'\n');
        lines.find_map(|line| {
            let (name, why) = line.split_at(line.iter().position(|b| *b == b':')?);
            match why[1..].trim_ascii() {
                _ if !names.contains(&name) => None,
                b"Permission denied" | b"Operation not permitted" => Some(Missing::Denied),
                b"No such process" | b"No such file or directory" => Some(Missing::Gone),
                _ => None,
            }
        })
    }

    pub(crate) fn open(&self, proc: &Path, name: &[u8]) -> Result<OwnedFd, Errno> {
        self.at(proc, name, |dir, name| files::open_at(dir, name))
    }

    /// Passes one of the process's files to `each` in pieces; returns false if it is empty.
    ///
    /// # Errors
    /// The error of a read, or `ETIMEDOUT` once `each` fails: a list of areas may have any length, and the kernel takes seconds for
    /// hundreds of megabytes.
    pub(crate) fn pieces(
        &self,
        proc: &Path,
        name: &[u8],
        buf: &mut [u8],
        mut each: impl FnMut(&[u8]) -> Reading<()>,
    ) -> Result<bool, Errno> {
        let (fd, mut len) = self.retry(proc, || {
            let fd = self.open(proc, name)?;
            let len = files::read_once(&fd, buf)?;
            Ok((fd, len))
        })?;
        let any = len > 0;
        while len > 0 {
            each(&buf[..len]).map_err(|_| Errno::TIMEDOUT)?;
            len = files::read_once(&fd, buf)?;
        }
        Ok(any)
    }

    /// Reads one of the process's files with one call; returns the length.
    pub(crate) fn record(&self, proc: &Path, name: &[u8], buf: &mut [u8]) -> Result<usize, Errno> {
        self.retry(proc, || files::read_record(self.open(proc, name)?, buf))
    }

    /// Returns false if this thread, if any, has released its memory. Files that describe it are then empty.
    pub(crate) fn is_living(&self, thread: Option<u32>, proc: &Path) -> bool {
        thread.is_none_or(|tid| living(tid, self, proc, 1).is_some())
    }

    /// Reads one of the process's files; an empty one again if the thread has released its memory.
    pub(crate) fn whole(
        &self,
        proc: &Path,
        name: &[u8],
        buf: &mut [u8],
        read: impl Fn(OwnedFd, &mut [u8]) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        self.retry(proc, || {
            let thread = self.thread();
            match read(self.open(proc, name)?, buf)? {
                0 if !self.is_living(thread, proc) => Err(Errno::SRCH),
                len => Ok(len),
            }
        })
    }

    /// Repeats `read` with another thread if the first one has ended and so has the one whose files are read.
    pub(crate) fn retry<T>(&self, proc: &Path, mut read: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
        match read() {
            Err(why @ (Errno::NOENT | Errno::SRCH)) if self.thread().is_some() => self.try_others(proc, why, read),
            result => result,
        }
    }

    #[cold]
    fn try_others<T>(&self, proc: &Path, why: Errno, mut read: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
        let (begun, mut last) = (clock::thread_time(), Vec::new());
        for tries in 0..MAX_TRIES {
            let newest = self.newest(proc)?;
            // None was started meanwhile.
            if (tries > 0 && is_over(begun)) || (tries >= NEWEST && newest == last) {
                break;
            }
            if let Some(tid) = newest.get(tries % newest.len().max(1)) {
                self.set_thread(Some(*tid));
                match read() {
                    Err(Errno::NOENT | Errno::SRCH) => {}
                    result => return result,
                }
            }
            last = newest;
        }
        Err(why)
    }

    /// Returns the newest threads besides the first, the newest first.
    fn newest(&self, proc: &Path) -> Result<Vec<u32>, Errno> {
        let mut newest = self.others(proc, |count| count.saturating_sub(NEWEST), NEWEST)?;
        newest.reverse();
        Ok(newest)
    }

    /// Returns up to `most` threads from the index on that `from` returns for their number, without the first thread.
    fn others(&self, proc: &Path, from: impl Fn(usize) -> usize, most: usize) -> Result<Vec<u32>, Errno> {
        let mut found = if self.is_bound() {
            let list = |dir: BorrowedFd<'_>, name: &[u8]| files::numbers_from(dir, name, &from, most);
            self.at_first(proc, b"task", list)?
        } else {
            let mut all = Vec::new();
            let list = |dir: BorrowedFd<'_>, name: &[u8]| files::numbers(dir, name, 4 << 10, |tid| all.push(tid));
            self.at_first(proc, b"task", list)?;
            all.sort_unstable();
            let from = from(all.len());
            all.into_iter().skip(from).take(most).collect()
        };
        found.retain(|tid| *tid != self.pid);
        Ok(found)
    }

    pub(crate) fn open_first(&self, proc: &Path, name: &[u8]) -> Result<OwnedFd, Errno> {
        self.at_first(proc, name, |dir, name| files::open_at(dir, name))
    }

    /// Calls `call` with the location of one of the process's files: a directory and the name below it.
    pub(crate) fn at<T>(
        &self,
        proc: &Path,
        name: &[u8],
        call: impl FnOnce(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match self.thread() {
            None => self.at_first(proc, name, call),
            Some(thread) => {
                let name = [b"task/", thread.to_string().as_bytes(), b"/", name].concat();
                self.at_first(proc, &name, call)
            }
        }
    }

    /// Calls `call` with the path of `name` below the folder of the process.
    pub(crate) fn at_first<T>(
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
    call(&[proc, b"/", pid.to_string().as_bytes(), b"/", name].concat())
}

/// Completes `stat`, which was just read of `target`'s first thread, if that thread has ended while others run.
/// Copies the state and the memory of a live thread, and makes `target` refer to that thread's files. Costs nothing
/// for any other process.
///
/// The kernel shows such a process (`pthread_exit` in `main`) as a zombie without memory, program and arguments. All of
/// these can be read from any live thread, below `task`.
///
/// # Errors
/// It is unknown whether any thread lives.
pub(crate) fn complete_stat(stat: &mut Stat, target: &Target, proc: &Path, page: u64) -> Reading<()> {
    if stat.is_zombie() && stat.threads > 1 {
        return follow(stat, target, proc, page);
    }
    if target.thread().is_some() {
        // A thread that execs takes the place of the first.
        target.set_thread(None);
    }
    Ok(())
}

/// Returns true if the time to look for another thread is over.
fn is_over(begun: Duration) -> bool {
    clock::thread_time().saturating_sub(begun) >= MAX_TRYING
}

#[cold]
fn follow(stat: &mut Stat, target: &Target, proc: &Path, page: u64) -> Reading<()> {
    let living = |tid| Some((tid, living(tid, target, proc, page)?));
    let mut found = target.thread().and_then(living);
    let (begun, mut last) = (clock::thread_time(), Vec::new());
    for tries in 0..MAX_TRIES {
        if found.is_some() || (tries > 0 && is_over(begun)) {
            break;
        }
        let others = match tries {
            // The oldest live longest.
            0 => target.others(proc, |_| 0, ANY + 1),
            1 => target.others(
                proc,
                |count| clock::monotonic().subsec_nanos() as usize % count.max(1),
                ANY,
            ),
            // If all of them have ended, the newest one has only just started.
            _ => target.newest(proc),
        };
        let others = match others.map_err(files::reason) {
            Ok(others) => others,
            Err(Missing::Gone) => break,
            Err(why) => return Err(why),
        };
        found = others.iter().copied().find_map(living);
        // It has no other thread, or none was started meanwhile. Later lists may be empty because threads have ended meanwhile.
        if (tries == 0 && others.is_empty()) || (tries > 2 && others == last) {
            break;
        }
        last = others;
    }
    target.set_thread(found.map(|(tid, _)| tid));
    if let Some((_, thread)) = found {
        // The other fields cover the whole process: times and faults count all threads.
        *stat = Stat {
            state: thread.state,
            flags: thread.flags,
            vsize: thread.vsize,
            rss: thread.rss,
            image: thread.image,
            argv: thread.argv,
            ..*stat
        };
    }
    Ok(())
}

/// Returns the `stat` of a thread that has not released its memory.
fn living(tid: u32, target: &Target, proc: &Path, page: u64) -> Option<Stat> {
    let mut buf = [0; 1024];
    let name = format!("task/{tid}/stat");
    let fd = target.open_first(proc, name.as_bytes()).ok()?;
    let len = files::read_record(fd, &mut buf).ok()?;
    let stat = pid::stat(&buf[..len], page).ok()?.stat;
    (!stat.is_zombie() && stat.vsize > 0).then_some(stat)
}
