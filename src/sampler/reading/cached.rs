//! Lists the files of a process and of a directory, and measures the part of a file that is in memory.
//!
//! Pipes, devices and sockets are never opened: a file is pinned with `O_PATH`, which reaches no driver, and opened only
//! if it is a regular one.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Statx, StatxFlags};
use rustix::io::Errno;

use super::pool::Reader;
use super::spending::Spending;
use super::target::{OpenFiles, Target, complete_stat};
use crate::model::mapping::{MappingKind, MappingName};
use crate::model::page_cache::CacheFigures;
use crate::model::{Missing, Reading};
use crate::proc::files::Roots;
use crate::proc::maps::{FileId, MappedFiles};
use crate::proc::namespace::{self, Namespace};
use crate::proc::page_cache::{self, FileSystem, file_systems};
use crate::proc::{files, pid};

/// Number of descriptors or directory entries after which a read reports progress. Each takes a few µs.
const STEP: usize = 256;
/// Bytes of a directory read at once.
const LIST_PIECE: usize = 32 << 10;
const MAX_LINK: usize = 4096;

/// State shared by all reads of files.
pub(crate) struct FileReader {
    roots: Roots,
    open_files: Arc<OpenFiles>,
    spending: Spending,
    pub(crate) page: u64,
    /// The file systems by device number; `None` for one without pages.
    devices: Mutex<HashMap<(u32, u32), Option<FileSystem>>>,
}

pub(crate) enum Work {
    Process(u32),
    Path(PathBuf),
    Directory(Directory),
    File(Vec<Way>, FileId, FileSystem),
}

/// A directory to list.
#[derive(Clone)]
pub(crate) struct Directory {
    pub(crate) path: Vec<u8>,
    /// The file system to stay on.
    device: (u32, u32),
    file_system: FileSystem,
}

pub(crate) enum Output {
    /// The short name of a process, and its files.
    Process(Box<[u8]>, Vec<Seen>),
    Listing(Vec<Seen>, Vec<Directory>),
    File(Looked),
}

/// A way to open a file.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// A descriptor or a mapping of a process, or a path below its root: its pid and the name in its directory.
    Process(u32, Box<[u8]>),
    Path(Box<[u8]>),
}

/// A file as one process or directory shows it.
pub(crate) struct Seen {
    pub(crate) id: FileId,
    pub(crate) file_system: FileSystem,
    pub(crate) size: Reading<u64>,
    pub(crate) path: Box<[u8]>,
    pub(crate) is_deleted: bool,
    /// `None` if there is no way to open it.
    pub(crate) way: Option<Way>,
}

pub(crate) struct Looked {
    pub(crate) figures: Reading<CacheFigures>,
    pub(crate) size: u64,
    /// When it was last changed.
    pub(crate) changed: (i64, u32),
}

/// Returns the cached attributes of a file. Queries no server and mounts nothing.
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

impl FileReader {
    pub(crate) fn new(roots: Roots, open_files: OpenFiles) -> Self {
        Self {
            roots,
            open_files: Arc::new(open_files),
            spending: Spending::default(),
            page: rustix::param::page_size() as u64,
            devices: Mutex::default(),
        }
    }

    pub(crate) fn read(&self, work: Work, reader: &mut Reader<'_>) -> Reading<Output> {
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
    /// that shows a file of it; `statfs` returns the type of one that is in no list. It may ask a server, so it comes last.
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
        let proc = &self.roots.proc;
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
        let prefix = target.thread().map_or_else(String::new, |tid| format!("task/{tid}/"));
        let mut list = ProcessFiles {
            shared: self,
            pid,
            prefix,
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
        let mountinfo = [self.roots.proc.as_os_str().as_bytes(), b"/self/mountinfo"].concat();
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

    /// Pins a file of a process, by a name below its folder. Asks no server of another user.
    fn pin(&self, pid: u32, name: &[u8]) -> Result<OwnedFd, Errno> {
        let folder = self.roots.proc.join(pid.to_string());
        if let Some(at) = name.windows(5).position(|part| part == b"root/") {
            let folder = folder.join(OsStr::from_bytes(&name[..at]));
            return Namespace::new(folder).pin(Path::new(OsStr::from_bytes(&name[at + 4..])));
        }
        let pinned = Target::bare(pid).at(&self.roots.proc, name, |dir, name| pin(dir, name, OFlags::empty()))?;
        namespace::check_pinned(&pinned, &folder)?;
        Ok(pinned)
    }

    /// Measures a file, if that path still leads to it.
    fn look(&self, way: &Way, id: FileId, file_system: FileSystem, progress: &dyn Fn()) -> Reading<Looked> {
        let pinned = match way {
            Way::Process(pid, name) => self.pin(*pid, name),
            Way::Path(path) => pin(CWD, path, OFlags::NOFOLLOW),
        };
        let pinned = pinned.map_err(files::reason)?;
        let found = stat(&pinned, b"", AtFlags::EMPTY_PATH).map_err(files::reason)?;
        if id_of(&found) != id || kind_of(&found) != FileType::RegularFile {
            return Err(Missing::Gone);
        }
        progress();
        let file = open_unnoticed(&pinned).map_err(files::reason)?;
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
fn open_unnoticed(pinned: &OwnedFd) -> Result<OwnedFd, Errno> {
    match files::open_pinned(pinned, OFlags::NOATIME) {
        Err(Errno::PERM) => files::open_pinned(pinned, OFlags::empty()),
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
    shared: &'a FileReader,
    pid: u32,
    /// `task/TID/` of another thread, if the first one has ended: the folder that has the files below the one of the process.
    prefix: String,
    target: Target,
    known: HashSet<FileId>,
    all: Vec<Seen>,
}

impl ProcessFiles<'_> {
    /// Returns true for a regular file with content that is not listed yet.
    fn is_new(&self, found: &Statx) -> bool {
        kind_of(found) == FileType::RegularFile && found.stx_size > 0 && !self.known.contains(&id_of(found))
    }

    /// Adds a file if its file system keeps pages. `name` leads to it below the process's directory.
    fn add(&mut self, found: &Statx, name: &[u8], path: &MappingName) {
        let id = id_of(found);
        let (shared, target) = (self.shared, &self.target);
        let proc = shared.roots.proc.as_os_str().as_bytes();
        let mountinfo = [proc, format!("/{}/mountinfo", self.pid).as_bytes()].concat();
        let magic = || {
            let pinned = target.at(&shared.roots.proc, name, |dir, name| pin(dir, name, OFlags::empty()))?;
            Ok(rustix::fs::fstatfs(&pinned)?.f_type)
        };
        let Some(file_system) = shared.file_system(id.0, &mountinfo, magic) else {
            return;
        };
        self.known.insert(id);
        self.all.push(Seen {
            id,
            file_system,
            size: Ok(found.stx_size),
            path: Box::from(&*path.bytes),
            is_deleted: found.stx_nlink == 0 || path.deleted,
            way: Some(Way::Process(self.pid, [self.prefix.as_bytes(), name].concat().into())),
        });
    }

    fn stat(&self, name: &[u8]) -> Result<Statx, Errno> {
        self.target.at(&self.shared.roots.proc, name, |dir, name| {
            stat(dir, name, AtFlags::empty())
        })
    }

    fn read_link(&self, name: &[u8], link: &mut [u8]) -> Result<usize, Errno> {
        let read = |dir: BorrowedFd<'_>, name: &[u8]| rustix::fs::readlinkat_raw(dir, name, link);
        self.target.at(&self.shared.roots.proc, name, read)
    }

    fn add_open(&mut self, reader: &mut Reader<'_>) -> Reading<()> {
        let proc = &self.shared.roots.proc;
        let mut spender = self.shared.spending.begin(&self.target, &self.shared.roots);
        spender.charge()?;
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
                spender.charge()?;
            }
            let name = format!("fd/{fd}");
            let found = match self.stat(name.as_bytes()) {
                Ok(found) => found,
                // The directory may be listable even if its links may not be read. If they may be, the file is on a file
                // system of another user (FUSE), which denies access even to root.
                Err(Errno::ACCESS | Errno::PERM) => {
                    self.read_link(name.as_bytes(), &mut link).map_err(files::reason)?;
                    continue;
                }
                Err(_) => continue,
            };
            if self.is_new(&found) {
                let len = self.read_link(name.as_bytes(), &mut link).unwrap_or(0);
                self.add(&found, name.as_bytes(), &MappingName::parse(&link[..len], false));
            }
        }
        Ok(())
    }

    fn add_mapped(&mut self, reader: &mut Reader<'_>) -> Reading<()> {
        let proc = &self.shared.roots.proc;
        let mut mapped = MappedFiles::default();
        let mut spender = self.shared.spending.begin(&self.target, &self.shared.roots);
        let read = self.target.pieces(proc, b"maps", reader.buf, |piece| {
            (reader.progress)();
            mapped.feed(piece);
            spender.charge()
        });
        read.map_err(files::reason)?;
        // Needs CAP_CHECKPOINT_RESTORE, or CAP_SYS_ADMIN before Linux 5.9.
        let mut may_use_links = true;
        for (at, file) in mapped.all.into_iter().enumerate() {
            if at % STEP == 0 {
                (reader.progress)();
                spender.charge()?;
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
            may_use_links &= !matches!(found, Err(Errno::PERM));
            let shared = self.shared;
            let by_path = || {
                let pinned = shared
                    .pin(self.pid, &[self.prefix.as_bytes(), &below_root].concat())
                    .ok()?;
                let found = stat(&pinned, b"", AtFlags::EMPTY_PATH).ok()?;
                is_same_file(id_of(&found), file.id).then_some((found, below_root))
            };
            match found.ok().map(|found| (found, link)).or_else(by_path) {
                Some((found, name)) if self.is_new(&found) => self.add(&found, &name, &file.name),
                None if file.name.kind == MappingKind::File => {
                    self.known.insert(file.id);
                    self.all.push(Seen {
                        id: file.id,
                        file_system: FileSystem::PLAIN,
                        size: Err(Missing::Denied),
                        path: Box::from(&*file.name.bytes),
                        is_deleted: file.name.deleted,
                        way: None,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
