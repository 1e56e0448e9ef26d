//! Reads which files fill the page cache: files that processes have open or mapped, and files and directories by path.
//!
//! First the files are listed, then the largest are looked at. Every read is a job with a deadline, because a file on a
//! server that does not answer blocks for ever. The thread of a stuck read is left behind.
//!
//! Pipes, devices and sockets are never opened: a file is pinned with `O_PATH`, which reaches no driver, and opened only
//! if it is a regular one.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Statx, StatxFlags};
use rustix::io::Errno;

use super::Options;
use super::kernel::meminfo;
use super::reading::pool::{Job, Pool, Priority, Reader};
use super::reading::target::{OpenFiles, Target, complete_stat};
use crate::model::mapping::{MappingKind, MappingName};
use crate::model::page_cache::{CacheFigures, CachedFile, PageCache};
use crate::model::{Missing, Reading};
use crate::order;
use crate::proc::cgroup::scope::Place;
use crate::proc::maps::{FileId, MappedFiles};
use crate::proc::page_cache::{self, FileSystem, file_systems};
use crate::proc::{files, pid, pids};
use crate::units::counted;

/// Tokens of reads that did not return in time, which live until they do. Nothing is read while there are more of them
/// than [`Options::max_stuck`].
static STUCK: Mutex<Vec<Weak<()>>> = Mutex::new(Vec::new());

/// Expected times: of a process with some dozens of files, of a directory, of a file that is cached in part.
const OF_PROCESS: Duration = Duration::from_micros(200);
const OF_DIRECTORY: Duration = Duration::from_micros(100);
const OF_FILE: Duration = Duration::from_micros(20);
/// Number of descriptors or directory entries after which a read reports progress. Each takes a few µs.
const STEP: usize = 256;
/// Descriptors left for other uses.
const RESERVE: usize = 64;
/// Bytes of a directory read at once.
const LIST_PIECE: usize = 32 << 10;
const MAX_LINK: usize = 4096;
/// Number of files to look at, if nothing else is asked for: a fraction of a second.
pub const MAX_FILES: u32 = 50_000;
/// Number of ways to a file that are kept: a process may close it before it is looked at.
const MAX_WAYS: usize = 3;

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// The files that this process has open or mapped.
    Process(u32),
    /// The same, of each process in this cgroup and below it.
    Cgroup(Place),
    /// This file, or each in this directory and below it, on one file system. Symbolic links are not followed, but for
    /// this path itself.
    Path(PathBuf),
}

/// How far a read has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many processes and directories of so many known ones are listed, and so many files were found.
    Listing(usize, usize, u64),
    /// So many files of so many were looked at.
    Looking(usize, usize),
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Listing(done, all, found) => write!(f, "{} found, {done} of {all} listed", counted(found, "file")),
            Self::Looking(done, all) => write!(f, "{done} of {} looked at", counted(all as u64, "file")),
        }
    }
}

/// Looks at what is named; at the files of all processes, or of [`Options::cgroup`], if nothing is. Looks at `max_files`
/// files at most, the largest. `progress` may interrupt; the result is then what was read so far.
///
/// # Errors
/// The processes could not be listed, or the tree is not the kernel's: in another one, links lead to files of this
/// machine that no process of that tree has open.
pub fn read(
    options: &Options,
    named: &[Named],
    max_files: usize,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Reading<PageCache> {
    let paths = named.iter().filter_map(|one| match one {
        Named::Path(path) => Some(Work::Path(path.clone())),
        _ => None,
    });
    let paths: Vec<_> = paths.collect();
    let pids = if named.is_empty() || paths.len() < named.len() {
        pids(options, named)?
    } else {
        Vec::new()
    };
    let shared = Shared::new(options);
    if !pids.is_empty() && !shared.open_files.is_procfs {
        return Err(Missing::Unsupported);
    }
    let page = shared.page;
    let pool = Pool::new(options, options.reader_threads(), move |request: Request, reader| {
        (request.place, shared.read(request.work, reader))
    });
    let machine = meminfo(options);
    let mut search = Search::new(options, max_files);
    // If it is interrupted, there is nothing to look at.
    let _ = search
        .list_processes(&pool, &pids, named, &mut progress)
        .is_continue()
        .then(|| search.list_paths(&pool, paths, &mut progress))
        .filter(ControlFlow::is_continue)
        .map(|_| search.look(&pool, &mut progress));
    Ok(PageCache {
        is_of_all: named.is_empty() && options.cgroup.is_none(),
        files: search.finish(),
        left_out: search.left_out,
        unread_processes: search.unread_processes,
        unread_paths: search.unread_paths,
        machine: machine.cached.and_then(|n| Ok(n.saturating_sub(machine.shmem?))),
        page,
    })
}

/// Returns the pids of the processes to look at, ascending.
fn pids(options: &Options, named: &[Named]) -> Reading<Vec<u32>> {
    let of_cgroup = |place: &Place| {
        let has_own_pids = files::has_own_pids(&options.proc_root);
        place.processes(&options.roots(), has_own_pids, &mut vec![0; LIST_PIECE])
    };
    if named.is_empty() {
        let all = || pids::all(options.proc_root.as_os_str().as_bytes());
        return Ok(options.cgroup.as_ref().map_or_else(all, of_cgroup)?.pids);
    }
    let mut pids = Vec::new();
    for one in named {
        match one {
            Named::Process(pid) => pids.push(*pid),
            Named::Cgroup(place) => pids.extend(of_cgroup(place)?.pids),
            Named::Path(_) => {}
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// What all reads share.
struct Shared {
    proc: PathBuf,
    open_files: Arc<OpenFiles>,
    page: u64,
    /// The file systems by device number; `None` for one without pages.
    devices: Mutex<HashMap<(u32, u32), Option<FileSystem>>>,
}

/// A read, and a token that lives as long as it.
struct Request {
    place: usize,
    work: Work,
    _token: Arc<()>,
}

enum Work {
    Process(u32),
    Path(PathBuf),
    Directory(Directory),
    File(Vec<Way>, FileId, FileSystem),
}

/// A directory to list.
#[derive(Clone)]
struct Directory {
    path: Vec<u8>,
    /// The file system to stay on.
    device: (u32, u32),
    file_system: FileSystem,
}

enum Output {
    /// The short name of a process, and its files.
    Process(Box<[u8]>, Vec<Seen>),
    Listing(Vec<Seen>, Vec<Directory>),
    File(Looked),
}

/// A way to open a file.
#[derive(Clone, Debug)]
enum Way {
    /// A descriptor or a mapping of a process, or a path below its root: its pid and the name in its directory.
    Process(u32, Box<[u8]>),
    Path(Box<[u8]>),
}

/// A file as one process or directory shows it.
struct Seen {
    id: FileId,
    file_system: FileSystem,
    size: Reading<u64>,
    path: Box<[u8]>,
    is_deleted: bool,
    /// `None` if there is no way to open it.
    way: Option<Way>,
}

struct Looked {
    figures: Reading<CacheFigures>,
    size: u64,
    /// When it was last changed.
    changed: (i64, u32),
}

/// A file that was found.
struct Candidate {
    seen: Seen,
    ways: Vec<Way>,
    processes: u32,
    first: Option<(u32, Box<[u8]>)>,
    looked: Option<Reading<Looked>>,
}

type Reads = Pool<usize, Request, (usize, Reading<Output>)>;

struct Search {
    deadline: Duration,
    max_stuck: usize,
    max_files: usize,
    /// The number of reads so far.
    next: usize,
    all: Vec<Candidate>,
    places: HashMap<FileId, usize>,
    left_out: (u64, u64),
    unread_processes: Vec<(u32, Missing)>,
    unread_paths: Vec<(Box<[u8]>, Missing)>,
}

impl Search {
    fn new(options: &Options, max_files: usize) -> Self {
        Self {
            deadline: options.deadline,
            max_stuck: options.max_stuck,
            max_files: max_files.max(1),
            next: 0,
            all: Vec::new(),
            places: HashMap::new(),
            left_out: (0, 0),
            unread_processes: Vec::new(),
            unread_paths: Vec::new(),
        }
    }

    /// Does these reads, and passes each result to `each` with its index.
    fn read_each(
        &mut self,
        pool: &Reads,
        works: Vec<Work>,
        expected: Duration,
        mut each: impl FnMut(&mut Self, usize, Reading<Output>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if stuck().len() > self.max_stuck {
            let mut all = 0..works.len();
            return all.try_for_each(|at| each(self, at, Err(Missing::TimedOut)));
        }
        let first = self.next;
        self.next += works.len();
        let mut tokens = Vec::with_capacity(works.len());
        let jobs = works.into_iter().zip(first..).map(|(work, place)| {
            let token = Arc::new(());
            tokens.push(Arc::downgrade(&token));
            let request = Request {
                place,
                work,
                _token: token,
            };
            Job::new(place, Priority::Urgent, expected, request)
        });
        pool.submit(jobs.collect::<Vec<_>>());
        let unread = |place: usize, why| {
            if why == Missing::TimedOut {
                stuck().push(tokens[place - first].clone());
            }
            (place, Err(why))
        };
        pool.collect(self.deadline, unread, |(place, output)| {
            each(self, place - first, output)
        })
    }

    fn list_processes(
        &mut self,
        pool: &Reads,
        pids: &[u32],
        named: &[Named],
        progress: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let works = pids.iter().map(|pid| Work::Process(*pid)).collect();
        let mut done = 0;
        self.read_each(pool, works, OF_PROCESS, |search, at, output| {
            match output {
                Ok(Output::Process(comm, files)) => {
                    files
                        .into_iter()
                        .for_each(|seen| search.add(seen, Some((pids[at], &comm))));
                }
                Err(why) if why.hides_memory() || named.contains(&Named::Process(pids[at])) => {
                    search.unread_processes.push((pids[at], why));
                }
                _ => {}
            }
            done += 1;
            progress(Progress::Listing(done, pids.len(), search.all.len() as u64))
        })
    }

    /// Lists files and directories, and all directories in them.
    fn list_paths(
        &mut self,
        pool: &Reads,
        mut works: Vec<Work>,
        progress: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut done, mut known) = (0, works.len());
        while !works.is_empty() {
            let names = works.iter().map(|work| match work {
                Work::Path(path) => path.as_os_str().as_bytes().into(),
                Work::Directory(directory) => directory.path.as_slice().into(),
                Work::Process(_) | Work::File(..) => Box::default(),
            });
            let names: Vec<Box<[u8]>> = names.collect();
            let mut below = Vec::new();
            self.read_each(pool, works, OF_DIRECTORY, |search, at, output| {
                match output {
                    Ok(Output::Listing(files, directories)) => {
                        files.into_iter().for_each(|seen| search.add(seen, None));
                        known += directories.len();
                        below.extend(directories.into_iter().map(Work::Directory));
                    }
                    Err(why) => search.unread_paths.push((names[at].clone(), why)),
                    Ok(_) => {}
                }
                if search.all.len() > search.max_files.saturating_mul(3) / 2 {
                    search.keep_largest();
                }
                done += 1;
                let found = search.all.len() as u64 + search.left_out.0;
                progress(Progress::Listing(done, known, found))
            })?;
            works = below;
        }
        ControlFlow::Continue(())
    }

    /// Adds a file that a process or a directory has.
    fn add(&mut self, mut seen: Seen, process: Option<(u32, &[u8])>) {
        let way = seen.way.take();
        let place = *self.places.entry(seen.id).or_insert_with(|| {
            self.all.push(Candidate {
                seen,
                ways: Vec::new(),
                processes: 0,
                first: None,
                looked: None,
            });
            self.all.len() - 1
        });
        let found = &mut self.all[place];
        if found.ways.len() < MAX_WAYS {
            found.ways.extend(way);
        }
        if let Some((pid, comm)) = process {
            found.processes += 1;
            if found.first.as_ref().is_none_or(|(first, _)| pid < *first) {
                found.first = Some((pid, comm.into()));
            }
        }
    }

    /// Leaves out all files but the largest.
    fn keep_largest(&mut self) {
        order::sort_by_key(&mut self.all, |found| std::cmp::Reverse(found.seen.size.unwrap_or(0)));
        let rest = self.all.drain(self.max_files.min(self.all.len())..);
        for found in rest {
            self.left_out.0 += 1;
            self.left_out.1 = self.left_out.1.saturating_add(found.seen.size.unwrap_or(0));
        }
        let places = self.all.iter().enumerate().map(|(at, found)| (found.seen.id, at));
        self.places = places.collect();
    }

    /// Looks at the files found.
    fn look(&mut self, pool: &Reads, progress: &mut impl FnMut(Progress) -> ControlFlow<()>) -> ControlFlow<()> {
        self.keep_largest();
        let works = self.all.iter_mut().map(|found| {
            let ways = std::mem::take(&mut found.ways);
            Work::File(ways, found.seen.id, found.seen.file_system)
        });
        let works: Vec<_> = works.collect();
        let (mut done, all) = (0, works.len());
        self.read_each(pool, works, OF_FILE, |search, at, output| {
            search.all[at].looked = match output {
                Ok(Output::File(looked)) => Some(Ok(looked)),
                Ok(_) => None,
                Err(why) => Some(Err(why)),
            };
            done += 1;
            progress(Progress::Looking(done, all))
        })
    }

    /// Returns the files that were looked at and still exist.
    fn finish(&mut self) -> Vec<CachedFile> {
        let mut files: Vec<CachedFile> = Vec::new();
        // Containers have the files of their images in common: each has an overlay of its own over the same file.
        let mut in_overlays = HashMap::new();
        for Candidate {
            seen,
            processes,
            first,
            looked,
            ..
        } in self.all.drain(..)
        {
            let (figures, size) = match looked {
                // Nobody has it open any more, or it was removed.
                None | Some(Err(Missing::Gone)) => continue,
                Some(Err(why)) => (Err(why), seen.size),
                Some(Ok(looked)) => {
                    let key = (seen.id.1, looked.size, looked.changed);
                    let place = files.len();
                    if seen.file_system.is_overlay
                        && let known = *in_overlays.entry(key).or_insert(place)
                        && known < place
                    {
                        let known: &mut CachedFile = &mut files[known];
                        known.processes += processes;
                        known.first = known.first.take().into_iter().chain(first).min();
                        continue;
                    }
                    (looked.figures, Ok(looked.size))
                }
            };
            files.push(CachedFile {
                path: seen.path,
                is_deleted: seen.is_deleted,
                kind: seen.file_system.kind,
                size,
                figures,
                processes,
                first,
            });
        }
        files
    }
}

fn stuck() -> MutexGuard<'static, Vec<Weak<()>>> {
    let mut stuck = STUCK.lock().unwrap_or_else(PoisonError::into_inner);
    stuck.retain(|token| token.strong_count() > 0);
    stuck
}

/// Returns the facts of a file from memory: a server that does not answer is not asked, and nothing is mounted.
fn stat(dir: impl AsFd, name: &[u8], flags: AtFlags) -> Result<Statx, Errno> {
    let flags = flags | AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(dir, name, flags, StatxFlags::BASIC_STATS)
}

fn kind_of(stat: &Statx) -> FileType {
    FileType::from_raw_mode(stat.stx_mode.into())
}

const fn id_of(stat: &Statx) -> FileId {
    ((stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino)
}

impl Shared {
    fn new(options: &Options) -> Self {
        // Each thread holds the directory of a process, another one, and a file both pinned and open.
        let by_threads = 4 * (options.reader_threads() + options.max_stuck);
        Self {
            proc: options.proc_root.clone(),
            open_files: Arc::new(OpenFiles::new(&options.proc_root, RESERVE + by_threads)),
            page: rustix::param::page_size() as u64,
            devices: Mutex::default(),
        }
    }

    fn read(&self, work: Work, reader: &mut Reader<'_>) -> Reading<Output> {
        match work {
            Work::Process(pid) => self.list_process(pid, reader),
            Work::Path(path) => self.list_path(&path),
            Work::Directory(directory) => list_directory(&directory, reader),
            Work::File(ways, id, file_system) => {
                let mut looks = ways.iter().map(|way| self.look(way, id, file_system, reader.progress));
                let looked = looks.find(|looked| !matches!(looked, Err(Missing::Gone)));
                // A file that only its mapping names cannot be opened.
                let none = if ways.is_empty() {
                    Missing::Denied
                } else {
                    Missing::Gone
                };
                looked.unwrap_or(Err(none)).map(Output::File)
            }
        }
    }

    /// Returns the file system of a device; `None` if its files have no pages. `mountinfo` lists the mounts of the process
    /// that shows a file of it; `statfs` tells the type of one that is in no list. It may ask a server, so it comes last.
    fn file_system(
        &self,
        device: (u32, u32),
        mountinfo: &[u8],
        magic: impl FnOnce() -> Result<rustix::fs::FsWord, Errno>,
    ) -> Option<FileSystem> {
        // A file system on a block device is none of the special ones.
        if device.0 != 0 {
            return Some(FileSystem::PLAIN);
        }
        let devices = || self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = devices().get(&device) {
            return *known;
        }
        let listed = files::slurp_grown(mountinfo, 16 << 10, files::MAX_MOUNTINFO).unwrap_or_default();
        let found = file_systems(&listed)
            .find(|(listed, _)| *listed == device)
            .map(|(_, found)| found);
        let found = found.unwrap_or_else(|| Some(magic().map_or(FileSystem::PLAIN, FileSystem::of_type)));
        let mut devices = devices();
        devices.extend(file_systems(&listed));
        devices.insert(device, found);
        found
    }

    fn list_process(&self, pid: u32, reader: &mut Reader<'_>) -> Reading<Output> {
        let proc = &self.proc;
        let (target, len) = Target::new(pid, proc, &self.open_files, true, reader.buf).map_err(files::reason)?;
        let glance = pid::stat(&reader.buf[..len], self.page)?;
        let (comm, mut stat) = (Box::from(glance.comm), glance.stat);
        if stat.is_kernel_thread() {
            return Err(Missing::KernelThread);
        }
        complete_stat(&mut stat, &target, proc, self.page)?;
        if stat.is_zombie() {
            return Err(Missing::Zombie);
        }
        let mut list = ProcessFiles {
            shared: self,
            pid,
            target,
            known: HashSet::new(),
            all: Vec::new(),
        };
        list.add_open(reader)?;
        list.add_mapped(reader)?;
        Ok(Output::Process(comm, list.all))
    }

    /// Lists a path of the command line.
    fn list_path(&self, path: &Path) -> Reading<Output> {
        let path = std::fs::canonicalize(path).map_err(|error| missing_of(&error))?;
        let path = path.into_os_string().into_vec();
        let pinned = pin(CWD, &path, OFlags::NOFOLLOW).map_err(files::reason)?;
        let stat = stat(&pinned, b"", AtFlags::EMPTY_PATH).map_err(files::reason)?;
        let (device, inode) = id_of(&stat);
        let mountinfo = [self.proc.as_os_str().as_bytes(), b"/self/mountinfo"].concat();
        let magic = || Ok(rustix::fs::fstatfs(&pinned)?.f_type);
        let Some(file_system) = self.file_system(device, &mountinfo, magic) else {
            return Ok(Output::Listing(Vec::new(), Vec::new()));
        };
        Ok(match kind_of(&stat) {
            FileType::Directory => {
                let directory = Directory {
                    path,
                    device,
                    file_system,
                };
                Output::Listing(Vec::new(), vec![directory])
            }
            FileType::RegularFile => {
                let seen = Seen {
                    id: (device, inode),
                    file_system,
                    size: Ok(stat.stx_size),
                    is_deleted: false,
                    way: Some(Way::Path(path.as_slice().into())),
                    path: path.into(),
                };
                Output::Listing(vec![seen], Vec::new())
            }
            _ => return Err(Missing::Unsupported),
        })
    }

    /// Looks at a file, if that way still leads to it.
    fn look(&self, way: &Way, id: FileId, file_system: FileSystem, progress: &dyn Fn()) -> Reading<Looked> {
        let pinned = match way {
            Way::Process(pid, name) => {
                Target::bare(*pid).at(&self.proc, name, |dir, name| pin(dir, name, OFlags::empty()))
            }
            Way::Path(path) => pin(CWD, path, OFlags::NOFOLLOW),
        };
        let pinned = pinned.map_err(files::reason)?;
        let found = stat(&pinned, b"", AtFlags::EMPTY_PATH).map_err(files::reason)?;
        if id_of(&found) != id || kind_of(&found) != FileType::RegularFile {
            return Err(Missing::Gone);
        }
        progress();
        let file = open_pinned(&pinned).map_err(files::reason)?;
        let is_overlay = file_system.is_overlay;
        Ok(Looked {
            figures: page_cache::figures(file.as_fd(), &found, is_overlay, progress),
            size: found.stx_size,
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        })
    }
}

/// Opens a file in a way that reaches no driver and no server, and has no effect on a pipe.
fn pin(dir: impl AsFd, name: &[u8], more: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, OFlags::PATH | OFlags::CLOEXEC | more, Mode::empty())
}

/// Opens a pinned regular file. Its time of access stays as it is, if the kernel permits that.
fn open_pinned(pinned: &OwnedFd) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", pinned.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let open = |flags| rustix::fs::open(path.as_str(), flags, Mode::empty());
    match open(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open(flags),
        opened => opened,
    }
}

fn missing_of(error: &std::io::Error) -> Missing {
    Errno::from_io_error(error).map_or(Missing::Gone, files::reason)
}

/// Returns true if these are one file. `maps` shows another device than `stat` for a file of btrfs; neither has a major
/// number.
fn is_same_file(one: FileId, other: FileId) -> bool {
    one == other || (one.1 == other.1 && one.0.0 == 0 && other.0.0 == 0)
}

/// Lists the files of a directory, and the directories in it on the same file system.
fn list_directory(directory: &Directory, reader: &mut Reader<'_>) -> Reading<Output> {
    let Directory {
        path,
        device,
        file_system,
    } = directory;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::open(path.as_slice(), flags, Mode::empty()).map_err(files::reason)?;
    let own = stat(&dir, b"", AtFlags::EMPTY_PATH).map_err(files::reason)?;
    let (mut seen, mut below) = (Vec::new(), Vec::new());
    if id_of(&own).0 != *device {
        return Ok(Output::Listing(seen, below));
    }
    let mut buf = Vec::with_capacity(LIST_PIECE);
    let mut entries = RawDir::new(&dir, buf.spare_capacity_mut());
    let mut count = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(files::reason)?;
        count += 1;
        if count % STEP == 0 {
            (reader.progress)();
        }
        let name = entry.file_name().to_bytes();
        let may_count = matches!(
            entry.file_type(),
            FileType::Directory | FileType::RegularFile | FileType::Unknown
        );
        if !may_count || matches!(name, b"." | b"..") {
            continue;
        }
        let Ok(found) = stat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        if id_of(&found).0 != *device {
            continue;
        }
        let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
        let path = [path.as_slice(), slash, name].concat();
        match kind_of(&found) {
            FileType::Directory => below.push(Directory {
                path,
                ..directory.clone()
            }),
            FileType::RegularFile if found.stx_size > 0 => seen.push(Seen {
                id: id_of(&found),
                file_system: *file_system,
                size: Ok(found.stx_size),
                is_deleted: false,
                way: Some(Way::Path(path.as_slice().into())),
                path: path.into(),
            }),
            _ => {}
        }
    }
    Ok(Output::Listing(seen, below))
}

/// The files of one process.
struct ProcessFiles<'a> {
    shared: &'a Shared,
    pid: u32,
    target: Target,
    known: HashSet<FileId>,
    all: Vec<Seen>,
}

impl ProcessFiles<'_> {
    /// Adds a regular file unless it is known. `name` leads to it below the process's directory.
    fn add(&mut self, found: &Statx, name: &[u8], path: impl FnOnce() -> (Box<[u8]>, bool)) {
        let id = id_of(found);
        if kind_of(found) != FileType::RegularFile || found.stx_size == 0 || self.known.contains(&id) {
            return;
        }
        let (shared, target) = (self.shared, &self.target);
        let proc = shared.proc.as_os_str().as_bytes();
        let mountinfo = [proc, format!("/{}/mountinfo", self.pid).as_bytes()].concat();
        let magic = || {
            let pinned = target.at(&shared.proc, name, |dir, name| pin(dir, name, OFlags::empty()))?;
            Ok(rustix::fs::fstatfs(&pinned)?.f_type)
        };
        let Some(file_system) = shared.file_system(id.0, &mountinfo, magic) else {
            return;
        };
        self.known.insert(id);
        let (path, has_mark) = path();
        self.all.push(Seen {
            id,
            file_system,
            size: Ok(found.stx_size),
            path,
            is_deleted: found.stx_nlink == 0 || has_mark,
            way: Some(Way::Process(self.pid, name.into())),
        });
    }

    fn stat(&self, name: &[u8]) -> Result<Statx, Errno> {
        self.target
            .at(&self.shared.proc, name, |dir, name| stat(dir, name, AtFlags::empty()))
    }

    fn add_open(&mut self, reader: &mut Reader<'_>) -> Reading<()> {
        let proc = &self.shared.proc;
        let mut fds = Vec::new();
        let list = |dir: BorrowedFd<'_>, name: &[u8]| {
            // `numbers` is made for pids, and skips 0.
            fds.push(0);
            files::numbers(dir, name, LIST_PIECE, |fd| fds.push(fd))
        };
        self.target.at(proc, b"fd", list).map_err(files::reason)?;
        let mut link = [0; MAX_LINK];
        for (at, fd) in fds.into_iter().enumerate() {
            if at % STEP == 0 {
                (reader.progress)();
            }
            let name = format!("fd/{fd}");
            let found = match self.stat(name.as_bytes()) {
                Ok(found) => found,
                // The directory may be listable even if its links cannot be followed.
                Err(errno @ (Errno::ACCESS | Errno::PERM)) => return Err(files::reason(errno)),
                Err(_) => continue,
            };
            let own = Target::bare(self.pid);
            self.add(&found, name.as_bytes(), || {
                let read = own.at(proc, name.as_bytes(), |dir, name| {
                    Ok(rustix::fs::readlinkat_raw(dir, name, &mut link[..])?)
                });
                let name = MappingName::parse(&link[..read.unwrap_or(0)], false);
                (Box::from(&*name.bytes), name.deleted)
            });
        }
        Ok(())
    }

    fn add_mapped(&mut self, reader: &mut Reader<'_>) -> Reading<()> {
        let proc = &self.shared.proc;
        let mut mapped = MappedFiles::default();
        let read = self
            .target
            .pieces(proc, b"maps", reader.buf, |piece| mapped.feed(piece));
        read.map_err(files::reason)?;
        // Needs CAP_CHECKPOINT_RESTORE, or CAP_SYS_ADMIN before Linux 5.9.
        let mut may_use_links = true;
        for (at, file) in mapped.all.into_iter().enumerate() {
            if at % STEP == 0 {
                (reader.progress)();
            }
            // The other kinds are devices, and memory without a file.
            if self.known.contains(&file.id) || !matches!(file.name.kind, MappingKind::File | MappingKind::Shared) {
                continue;
            }
            let link = format!("map_files/{:x}-{:x}", file.range.0, file.range.1).into_bytes();
            let below_root = [b"root", &*file.name.bytes].concat();
            let found = if may_use_links {
                self.stat(&link)
            } else {
                Err(Errno::PERM)
            };
            may_use_links &= !matches!(found, Err(Errno::PERM | Errno::ACCESS));
            let by_path = || {
                let found = self.stat(&below_root).ok()?;
                is_same_file(id_of(&found), file.id).then_some((found, below_root))
            };
            let path = Box::from(&*file.name.bytes);
            match found.ok().map(|found| (found, link)).or_else(by_path) {
                Some((found, name)) => self.add(&found, &name, || (path, file.name.deleted)),
                None if file.name.kind == MappingKind::File => {
                    self.known.insert(file.id);
                    self.all.push(Seen {
                        id: file.id,
                        file_system: FileSystem::PLAIN,
                        size: Err(Missing::Denied),
                        path,
                        is_deleted: file.name.deleted,
                        way: None,
                    });
                }
                None => {}
            }
        }
        Ok(())
    }
}
