//! Reads the memory that a process holds through its descriptors.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::ProcessRef;
use super::facts::{absent, check_same};
use super::pool::Reader;
use super::spending::{Spender, Spending};
use crate::model::{HeldKind, HeldObject, Missing, Reading};
use crate::proc::fdinfo::{self, Link};
use crate::proc::files::{self, Roots};
use crate::proc::maps::{FileId, Mapped};
use crate::proc::{clock, page_cache, pid};

/// Bytes of a descriptor directory read at once: some 100 entries.
const LIST_PIECE: usize = 4 << 10;
const MAX_LINK: usize = 4096;
/// Number of descriptors after which the read reports progress. Each takes a few µs.
const STEP: usize = 256;
/// Maximum number of threads with a descriptor table of their own that are read.
const MAX_TABLES: usize = 256;

/// The flags to examine an open file. Without the second one, a file on an unreachable server would block the reader.
const UNASKED: AtFlags = AtFlags::EMPTY_PATH.union(AtFlags::STATX_DONT_SYNC);
/// Stands for the name of a file whose path the kernel cannot return.
const LONG_PATH: &[u8] = b"(path too long)";
/// The types of file systems that keep their files in memory, by `include/uapi/linux/magic.h`: tmpfs, ramfs,
/// hugetlbfs; and the one of `memfd_secret(2)`.
const IN_MEMORY: [rustix::fs::FsWord; 4] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6, SECRET];
const SECRET: rustix::fs::FsWord = 0x5345_434d;

/// The identity of an object, the same for all its holders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObjectKey {
    /// Device and number of a DRM client.
    Drm(Box<[u8]>, u64),
    BpfMap(u64),
    BpfProgram(u64),
    DmaBuf(u64),
    Uring(u64),
    File(FileId),
    /// Pid or thread id and descriptor, for an object whose identity the kernel does not report.
    Descriptor(u32, u32),
}

/// An object as one process shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnObject {
    pub(crate) key: ObjectKey,
    /// The object in full, before it is divided among its holders.
    pub(crate) object: HeldObject,
    /// Upper bound on the bytes that the process maps of it, which are already in its PSS.
    pub(crate) mapped: u64,
}

pub(crate) struct HeldResult {
    pub(crate) objects: Reading<Vec<OwnObject>>,
    pub(crate) descriptors: u64,
    pub(crate) cost: Duration,
}

/// Reads what a process holds; with a limit for all processes of its user, if one is given. `has_own_pids` as in
/// [`Context`](super::Context).
pub(crate) fn read(
    process: &ProcessRef,
    roots: &Roots,
    has_own_pids: bool,
    spending: Option<&Spending>,
    reader: &mut Reader<'_>,
) -> HeldResult {
    let began = clock::thread_time();
    let proc = roots.proc.as_path();
    let mut found = Found {
        process,
        proc,
        thread: None,
        objects: Vec::new(),
        places: HashMap::new(),
    };
    let mut spender = spending.map(|spending| spending.begin(&process.target, roots));
    let mut progress = || {
        (reader.progress)();
        spender.as_mut().map_or(Ok(()), Spender::charge)
    };
    let read = found.read(has_own_pids, reader.buf, &mut progress);
    let objects = read.and_then(|_| check_same(process, proc));
    HeldResult {
        objects: objects.map(|()| found.objects.into_iter().map(|(own, _)| own).collect()),
        descriptors: read.unwrap_or(0),
        cost: clock::thread_time().saturating_sub(began),
    }
}

/// Returns the processes whose number of descriptors (Linux 6.2) differs from the one given. Omits those for which the
/// kernel does not report it.
pub(crate) fn changed_counts(of: Vec<(ProcessRef, u64)>, proc: &Path) -> Vec<ProcessRef> {
    let count = |process: &ProcessRef| {
        let stat = |dir: BorrowedFd<'_>, name: &[u8]| rustix::fs::statat(dir, name, AtFlags::empty());
        let stat = process.target.at(proc, b"fd", stat).ok()?;
        u64::try_from(stat.st_size).ok().filter(|count| *count > 0)
    };
    let is_other = |process: &_, before| count(process).is_some_and(|now| now != before);
    of.into_iter()
        .filter_map(|(process, before)| is_other(&process, before).then_some(process))
        .collect()
}

struct Found<'a> {
    process: &'a ProcessRef,
    proc: &'a Path,
    /// The thread whose table is read, if that is not the table of the process.
    thread: Option<u32>,
    /// The objects; an `io_uring` ring comes with the addresses of its buffers.
    objects: Vec<(OwnObject, Vec<(u64, u64)>)>,
    places: HashMap<ObjectKey, usize>,
}

impl Found<'_> {
    /// Reads all descriptors; returns the number of those in the table of the process. Calls `progress` between reads that may
    /// block, and fails once it does. Tables of threads are read only if system calls use the same pids.
    fn read(&mut self, has_own_pids: bool, buf: &mut [u8], progress: &mut dyn FnMut() -> Reading<()>) -> Reading<u64> {
        let count = self.read_table(buf, progress)?;
        let threads = has_own_pids.then(|| self.other_tables(progress)).transpose()?;
        for thread in threads.into_iter().flatten() {
            self.thread = Some(thread);
            match self.read_table(buf, progress) {
                // A thread that has ended holds nothing.
                Ok(_) | Err(Missing::Gone) => {}
                Err(why) => return Err(why),
            }
        }
        self.subtract_mapped(buf, progress);
        self.leave_out_drm_buffers();
        Ok(count)
    }

    /// Returns a thread of each descriptor table that is not the one of the process: a thread has its own after
    /// `unshare(CLONE_FILES)`, or from `clone(2)`. [`Missing::TimedOut`] if there are too many.
    fn other_tables(&self, progress: &mut dyn FnMut() -> Reading<()>) -> Reading<Vec<u32>> {
        let target = &self.process.target;
        let mut threads = Vec::new();
        let list = |dir: BorrowedFd<'_>, name: &[u8]| {
            files::numbers(&files::open_at(dir, name)?, b".", LIST_PIECE, |tid| threads.push(tid))
        };
        target
            .at_first(self.proc, b"task", list)
            .map_err(|e| absent(e, target, self.proc))?;
        let mut tables = vec![target.task()];
        threads.retain(|tid| *tid != tables[0]);
        for (at, tid) in threads.into_iter().enumerate() {
            if at % STEP == 0 {
                progress()?;
            }
            // If the known thread has ended, this one can still be compared with itself.
            let is_other = |known: &u32| match pid::compare_descriptors(*known, tid) {
                Ok(order) => order != Ordering::Equal,
                Err(_) => pid::compare_descriptors(tid, tid).is_ok(),
            };
            if tables.iter().all(is_other) {
                if tables.len() > MAX_TABLES {
                    return Err(Missing::TimedOut);
                }
                tables.push(tid);
            }
        }
        Ok(tables.split_off(1))
    }

    /// Opens or examines a file of the table: `fd`, or below `fdinfo`.
    fn at<T>(&self, name: &str, call: impl FnOnce(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
        let target = &self.process.target;
        match self.thread {
            None => target.at(self.proc, name.as_bytes(), call),
            Some(thread) => target.at_first(self.proc, format!("task/{thread}/{name}").as_bytes(), call),
        }
    }

    /// Reads the descriptors of one table; returns their number.
    fn read_table(&mut self, buf: &mut [u8], progress: &mut dyn FnMut() -> Reading<()>) -> Reading<u64> {
        progress()?;
        let target = &self.process.target;
        let absent = |e| absent(e, target, self.proc);
        let dir = self.at("fd", |dir, name| files::open_at(dir, name));
        let dir = dir.map_err(absent)?;
        let mut fds = Vec::new();
        files::numbers(&dir, b".", LIST_PIECE, |fd| fds.push(fd)).map_err(absent)?;
        let mut link = [0; MAX_LINK];
        // `files::numbers` is made for pids, and skips 0.
        if rustix::fs::readlinkat_raw(&dir, "0", &mut link[..]).is_ok() {
            fds.push(0);
        }
        for (at, fd) in fds.iter().enumerate() {
            if at % STEP == 0 {
                progress()?;
            }
            let name = fd.to_string();
            let len = match rustix::fs::readlinkat_raw(&dir, name.as_str(), &mut link[..]) {
                Ok(len) => len,
                // The directory may be listable even if its links are not readable.
                Err(e @ (Errno::ACCESS | Errno::PERM)) => return Err(absent(e)),
                // The path is too long for the call, not for the kernel: any file may have one.
                Err(Errno::NAMETOOLONG) => {
                    progress()?;
                    self.add_file(&dir, &name, LONG_PATH);
                    continue;
                }
                Err(_) => continue,
            };
            let Some(kind) = Link::of(&link[..len]) else { continue };
            progress()?;
            if kind == Link::Unlinked {
                self.add_file(&dir, &name, &link[..len]);
            } else {
                self.add_described(kind, *fd, &dir, buf);
            }
        }
        Ok(fds.len() as u64)
    }

    fn add(&mut self, key: ObjectKey, kind: HeldKind, name: &[u8], bytes: Reading<u64>, vram: u64) {
        if let Some(at) = self.places.get(&key) {
            self.objects[*at].0.object.fds += 1;
            return;
        }
        self.places.insert(key.clone(), self.objects.len());
        let object = HeldObject {
            kind,
            name: name.into(),
            bytes,
            vram,
            holders: 1,
            fds: 1,
        };
        let own = OwnObject { key, object, mapped: 0 };
        self.objects.push((own, Vec::new()));
    }

    /// Adds an unlinked file if it is kept in memory.
    fn add_file(&mut self, dir: &OwnedFd, name: &str, link: &[u8]) {
        let find = || {
            // A descriptor opened with O_PATH reaches no driver and no server.
            let file = rustix::fs::openat(dir, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            let stat = rustix::fs::statx(&file, "", UNASKED, StatxFlags::BASIC_STATS)?;
            // A file on a block device has a major number, so it is not in memory.
            // A file of secret memory never has a name, but counts one. `fstatfs` may ask a server, so it comes last.
            let is_unlinked = stat.stx_nlink == 0 || link == b"/secretmem (deleted)";
            if !is_unlinked || stat.stx_dev_major != 0 {
                return Ok(None);
            }
            let file_system = rustix::fs::fstatfs(&file)?.f_type;
            let in_memory = IN_MEMORY.contains(&file_system) && (stat.stx_nlink == 0 || file_system == SECRET);
            Ok::<_, Errno>(in_memory.then_some((stat, file_system)))
        };
        if let Ok(Some((stat, file_system))) = find() {
            let key = ObjectKey::File(((stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino));
            let bytes = if file_system == SECRET {
                // It counts no blocks.
                self.resident(name, &stat).map_err(files::optional_reason)
            } else {
                // `st_blocks` counts in units of 512 bytes on every file system but the one of secret memory.
                Ok(stat.stx_blocks.saturating_mul(512))
            };
            self.add(key, HeldKind::Memfd, fdinfo::unlinked_name(link), bytes, 0);
        }
    }

    /// Returns the bytes of a file in memory that no other process can open, through a copy of the descriptor (Linux 6.5).
    fn resident(&self, fd: &str, stat: &Statx) -> Result<u64, Errno> {
        let task = self.thread.unwrap_or(self.process.target.task());
        let pid = Pid::from_raw(task.cast_signed()).ok_or(Errno::SRCH)?;
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let fd = fd.parse().map_err(|_| Errno::BADF)?;
        let copy = pidfd_getfd(&process, fd, PidfdGetfdFlags::empty())?;
        let found = rustix::fs::statx(&copy, "", UNASKED, StatxFlags::BASIC_STATS)?;
        // The process may have opened something else there. If `/proc` is of another pid namespace, the pid is of another process.
        if (found.stx_ino, found.stx_size) != (stat.stx_ino, stat.stx_size) {
            return Err(Errno::SRCH);
        }
        Ok(page_cache::cachestat(copy.as_fd(), stat.stx_size, &|| ())?.cached)
    }

    /// Adds an object as its `fdinfo` describes it.
    fn add_described(&mut self, kind: Link, fd: u32, dir: &OwnedFd, buf: &mut [u8]) {
        let read = self.at(&format!("fdinfo/{fd}"), |dir, name| files::open_at(dir, name));
        let read = read.and_then(|fd| files::read_all(fd, buf)).map_err(files::reason);
        // The descriptor was closed in the meantime.
        if read == Err(Missing::Gone) {
            return;
        }
        let unread = read.err();
        let or_unread = |bytes: Reading<u64>| unread.map_or(bytes, Err);
        let text = &buf[..read.unwrap_or(0)];
        let own = ObjectKey::Descriptor(self.thread.unwrap_or(self.process.pid), fd);
        match kind {
            Link::Drm => {
                let Some(client) = fdinfo::drm(text) else { return };
                let device = client.device.as_ref().unwrap_or(&client.driver);
                let id = client.client;
                let key = id.map_or(own, |id| ObjectKey::Drm(device.clone(), id));
                let mut name = client.driver.to_vec();
                if let Some(part) = &client.device {
                    name.extend_from_slice(&[b" ", &**part].concat());
                }
                if let Some(id) = id {
                    name.extend_from_slice(format!(" client {id}").as_bytes());
                }
                self.add(key, HeldKind::Gpu, &name, or_unread(client.ram), client.vram);
            }
            Link::DmaBuf => {
                let found = fdinfo::dma_buf(text);
                let inode = fdinfo::inode(text).or_else(|| {
                    let stat = rustix::fs::statat(dir, fd.to_string(), AtFlags::empty());
                    stat.ok().map(|stat| stat.st_ino)
                });
                let mut name = found.exporter.to_vec();
                if !found.name.is_empty() {
                    name.extend_from_slice(&[b" ", &*found.name].concat());
                }
                let key = inode.map_or(own, ObjectKey::DmaBuf);
                self.add(key, HeldKind::DmaBuf, &name, or_unread(found.bytes), 0);
            }
            Link::BpfMap | Link::BpfProgram => {
                let (found, key): (_, fn(u64) -> ObjectKey) = if kind == Link::BpfMap {
                    (fdinfo::bpf_map(text), ObjectKey::BpfMap)
                } else {
                    (fdinfo::bpf_program(text), ObjectKey::BpfProgram)
                };
                let key = found.id.map_or(own, key);
                self.add(key, HeldKind::Bpf, found.name.as_bytes(), or_unread(found.bytes), 0);
            }
            Link::Uring => {
                let (buffers, is_short) = fdinfo::registered_buffers(text);
                let sizes = buffers.iter().map(|(start, end)| end - start);
                let bytes = sizes.fold(0, u64::saturating_add);
                let bytes = if is_short { Err(Missing::Malformed) } else { Ok(bytes) };
                let key = fdinfo::inode(text).map_or(own, ObjectKey::Uring);
                let is_new = !self.places.contains_key(&key);
                self.add(key, HeldKind::Uring, b"registered buffers", or_unread(bytes), 0);
                if let Some((_, last)) = self.objects.last_mut().filter(|_| is_new) {
                    *last = buffers;
                }
            }
            Link::Unlinked => {}
        }
    }

    /// Removes the dma-bufs of drivers of which the process is a client, because the client's figures include them.
    fn leave_out_drm_buffers(&mut self) {
        let driver = |own: &OwnObject| Box::from(own.object.name.split(|b| *b == b' ').next().unwrap_or_default());
        let clients = self.objects.iter().filter(|(own, _)| own.object.kind == HeldKind::Gpu);
        let drivers: Vec<Box<[u8]>> = clients.map(|(own, _)| driver(own)).collect();
        self.objects.retain(|(own, _)| {
            let exporter = driver(own);
            // `drm` is the name of the kernel's common code.
            let is_driver = *exporter == *b"drm" || drivers.contains(&exporter);
            own.object.kind != HeldKind::DmaBuf || drivers.is_empty() || !is_driver
        });
    }

    /// Determines how much the process maps of files and of registered buffers.
    fn subtract_mapped(&mut self, buf: &mut [u8], progress: &mut dyn FnMut() -> Reading<()>) {
        let may_map = |(own, buffers): &(OwnObject, Vec<_>)| own.object.kind == HeldKind::Memfd || !buffers.is_empty();
        if !self.objects.iter().any(may_map) {
            return;
        }
        let target = &self.process.target;
        let mut mapped = Mapped::default();
        let read = target.pieces(self.proc, b"maps", buf, |piece| {
            mapped.feed(piece);
            progress()
        });
        let mapped = read.map(|_| mapped).map_err(files::reason);
        for (own, buffers) in &mut self.objects {
            match (&mapped, own.object.kind, &own.key) {
                (Ok(mapped), HeldKind::Memfd, ObjectKey::File(file)) => own.mapped = mapped.of_file(*file),
                (Ok(mapped), HeldKind::Uring, _) => {
                    let inside = buffers.iter().map(|range| mapped.within(*range));
                    own.mapped = inside.fold(0, u64::saturating_add);
                }
                (Err(why), HeldKind::Memfd | HeldKind::Uring, _) => own.object.bytes = Err(*why),
                _ => {}
            }
        }
    }
}
