//! The files as a process sees them, opened without a request to a file server.
//!
//! A user can mount a FUSE file system in a user namespace, and an overlay on top of it that root, too, can access. A call that reaches the
//! program behind it waits until the program answers, and not even SIGKILL ends the wait. So each directory of a path is checked before a
//! name is looked up in it. Opening it with `O_PATH` and reading its mount id from `fdinfo` send no request to the program.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, memfd_create};
use rustix::io::Errno;

use super::files;
use super::parse::{self, mount_lines};

/// File systems with an anonymous device number (major 0) that keep their files on a local disk.
const ON_DISKS: [&str; 6] = ["bcachefs", "btrfs", "erofs", "f2fs", "squashfs", "zfs"];
/// The same for those that keep their files in RAM.
const IN_MEMORY: [&str; 5] = ["devtmpfs", "hugetlbfs", "ramfs", "rootfs", "tmpfs"];
/// The folder of `fusectl`, which has an entry for each FUSE connection (`fuse.rst`), and its type.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";
const FUSE_CTL_SUPER_MAGIC: rustix::fs::FsWord = 0x6573_5543;
/// Maximum number of symbolic links in a path, as in the kernel.
const MAX_LINKS: usize = 40;
const PINNED: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The major and minor number of a device.
pub type Device = (u32, u32);

/// The data that shows which mounts can be trusted.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    /// The `mountinfo` of zmtop and of pid 1. Only root can change these mounts, except for FUSE.
    pub own: Vec<u8>,
    /// The `mountinfo` of the process.
    pub theirs: Vec<u8>,
    /// True if no FUSE file system is mounted anywhere, so that no overlay can be on top of one.
    pub is_without_fuse: bool,
    /// The mounts inside the kernel, which no `mountinfo` lists: of memfds and other anonymous shared memory.
    pub inner: Vec<u64>,
}

impl Mounts {
    /// Reads the mounts of the process with that folder. What cannot be read is empty.
    pub fn read(folder: &Path) -> Self {
        let mut mounts = Self::read_own();
        mounts.read_theirs(folder);
        mounts
    }

    fn read_own() -> Self {
        let read = |path| files::slurp_mountinfo(Path::new(path)).unwrap_or_default();
        let mut own = read("/proc/self/mountinfo");
        own.push(b'\n');
        own.extend(read("/proc/1/mountinfo"));
        // `fusectl` lists the connections of all namespaces.
        let is_fusectl = rustix::fs::statfs(CONNECTIONS).is_ok_and(|fs| fs.f_type == FUSE_CTL_SUPER_MAGIC);
        let has_connection = || std::fs::read_dir(CONNECTIONS).map_or(true, |mut all| all.next().is_some());
        Self {
            own,
            theirs: Vec::new(),
            is_without_fuse: is_fusectl && !has_connection(),
            inner: [MemfdFlags::CLOEXEC, MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB]
                .into_iter()
                .filter_map(|flags| mount_of(memfd_create(c"zmtop", flags).ok()?).ok())
                .collect(),
        }
    }

    fn read_theirs(&mut self, folder: &Path) {
        self.theirs = files::slurp_mountinfo(&folder.join("mountinfo")).unwrap_or_default();
    }

    /// Returns true if the files of a mount can be opened and read without an answer of another user's program. What root has mounted is
    /// trusted, network file systems included.
    pub fn is_trusted(&self, mount: u64) -> bool {
        self.trust_in_own(mount).unwrap_or_else(|| {
            with_id(&self.theirs, mount)
                .and_then(|line| line.device())
                .is_some_and(|device| {
                    device.0 != 0 || self.local_devices().contains(&device) || self.is_trusted_device(device)
                })
        })
    }

    /// Returns whether a mount of zmtop, of pid 1 or inside the kernel is trusted; `None` for other mounts.
    fn trust_in_own(&self, mount: u64) -> Option<bool> {
        if self.inner.contains(&mount) {
            return Some(true);
        }
        with_id(&self.own, mount).map(|line| !is_fuse(&line))
    }

    fn is_trusted_device(&self, device: Device) -> bool {
        mount_lines(&self.own).any(|line| line.device() == Some(device) && !is_fuse(&line))
    }

    /// Returns the anonymous device numbers (major 0) of file systems on local disks, and of overlays that zmtop sees.
    pub fn disk_devices(&self) -> HashSet<Device> {
        self.devices(&[&ON_DISKS], false)
    }

    /// Returns the anonymous device numbers (major 0) of file systems whose pages come from RAM or a local disk, and of trusted overlays.
    fn local_devices(&self) -> HashSet<Device> {
        self.devices(&[&ON_DISKS, &IN_MEMORY], self.is_without_fuse)
    }

    /// Returns the devices of file systems of these kinds, and of overlays: those of zmtop, and if they are trusted, those of the process.
    fn devices(&self, kinds: &[&[&str]], trusts_overlays: bool) -> HashSet<Device> {
        let is_one = |kind: &[u8]| kinds.iter().copied().flatten().any(|name| name.as_bytes() == kind);
        let of = |lines: &[u8], trusts_overlays| {
            let found =
                mount_lines(lines).filter(|line| is_one(line.kind) || trusts_overlays && line.kind == b"overlay");
            found.filter_map(|line| line.device()).collect::<HashSet<_>>()
        };
        let mut devices = of(&self.own, true);
        devices.extend(of(&self.theirs, trusts_overlays));
        devices
    }
}

fn with_id(mountinfo: &[u8], mount: u64) -> Option<parse::MountLine<'_>> {
    mount_lines(mountinfo).find(|line| parse::number(line.id) == Some(mount))
}

/// Returns true for a file system that a program of another user serves, except for root's.
fn is_fuse(line: &parse::MountLine<'_>) -> bool {
    let is_fuse = line.kind == b"fuse" || line.kind.starts_with(b"fuse.");
    let own = format!("user_id={}", rustix::process::geteuid().as_raw());
    let mut options = line.options.split(|byte| *byte == b',');
    is_fuse && !options.any(|option| option == b"user_id=0" || option == own.as_bytes())
}

/// The mount namespace of a process.
#[derive(Clone, Debug)]
pub struct Namespace {
    folder: PathBuf,
}

impl Namespace {
    /// Returns the namespace of the process with that folder below `/proc`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the mount namespace of zmtop.
    pub fn own() -> Self {
        Self::new("/proc/self")
    }

    /// Opens a regular file by a link of the kernel, such as `exe` or `map_files/1000-2000`.
    ///
    /// # Errors
    /// As [`open_pinned`].
    pub fn link(&self, name: &str) -> Result<File, Errno> {
        let pinned = rustix::fs::open(self.folder.join(name), PINNED, Mode::empty())?;
        open_pinned(&pinned, &self.folder)
    }

    /// Opens a regular file by its path in the root of the process. Does not block, even if the path is a FIFO, and opens no device.
    ///
    /// # Errors
    /// As [`Self::pin`] and [`open_pinned`].
    pub fn file(&self, path: &Path) -> Result<File, Errno> {
        open_pinned(&self.pin(path)?, &self.folder)
    }

    /// Opens a regular file as [`Self::file`] does, but follows no symbolic link.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub fn plain_file(&self, path: &Path) -> Result<File, Errno> {
        open_pinned(&self.pin_plain(path)?, &self.folder)
    }

    /// Finds a file by its path in the root of the process, and follows symbolic links. The descriptor allows no reads.
    ///
    /// # Errors
    /// `EREMOTE` if another user's program serves a directory of the path. `ELOOP` for too many links.
    pub fn pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.pin_over(path, MAX_LINKS)
    }

    /// Finds a file as [`Self::pin`] does, but follows no symbolic link.
    ///
    /// # Errors
    /// As [`Self::pin`].
    pub fn pin_plain(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.pin_over(path, 0)
    }

    fn pin_over(&self, path: &Path, max_links: usize) -> Result<OwnedFd, Errno> {
        let root = rustix::fs::open(self.folder.join("root"), PINNED | OFlags::DIRECTORY, Mode::empty())?;
        let mut checked = Checked::new(&self.folder);
        checked.check(&root)?;
        let mut stack = vec![root];
        let mut names = Vec::new();
        push_names(&mut names, path, &mut stack);
        let mut links = 0;
        while let Some(name) = names.pop() {
            let Some(name) = name else {
                // The parent of the root is the root.
                stack.truncate(stack.len().saturating_sub(1).max(1));
                continue;
            };
            let at = stack.last().ok_or(Errno::NOENT)?;
            let next = rustix::fs::openat(at, &name, PINNED | OFlags::NOFOLLOW, Mode::empty())?;
            checked.check(&next)?;
            if FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode) == FileType::Symlink {
                links += 1;
                if links > max_links {
                    return Err(Errno::LOOP);
                }
                let target = rustix::fs::readlinkat(&next, c"", Vec::new())?;
                push_names(&mut names, Path::new(OsStr::from_bytes(target.to_bytes())), &mut stack);
            } else {
                stack.push(next);
            }
        }
        stack.pop().ok_or(Errno::NOENT)
    }
}

/// Adds the names of a path in front of those that follow; `None` is the parent. An absolute path begins at the root.
fn push_names(names: &mut Vec<Option<PathBuf>>, path: &Path, stack: &mut Vec<OwnedFd>) {
    if path.is_absolute() {
        stack.truncate(1);
    }
    names.extend(path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(Some(PathBuf::from(name))),
        Component::ParentDir => Some(None),
        _ => None,
    }));
}

/// The mounts of a path that were checked.
struct Checked<'a> {
    folder: &'a Path,
    mounts: Option<Mounts>,
    last: Option<u64>,
}

impl<'a> Checked<'a> {
    const fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            mounts: None,
            last: None,
        }
    }

    /// The open descriptor keeps the mount in use, so the kernel cannot reuse its id.
    fn check(&mut self, place: &OwnedFd) -> Result<(), Errno> {
        let mount = mount_of(place)?;
        if self.last == Some(mount) {
            return Ok(());
        }
        let mounts = self.mounts.get_or_insert_with(Mounts::read_own);
        if mounts.theirs.is_empty() && mounts.trust_in_own(mount).is_none() {
            mounts.read_theirs(self.folder);
        }
        if !mounts.is_trusted(mount) {
            return Err(Errno::REMOTE);
        }
        self.last = Some(mount);
        Ok(())
    }
}

/// Opens a pinned regular file, as the process with that folder below `/proc` sees it.
///
/// # Errors
/// `EREMOTE` if another user's program serves it, `EINVAL` if it is no regular file.
pub fn open_pinned(pinned: &OwnedFd, folder: &Path) -> Result<File, Errno> {
    check_pinned(pinned, folder)?;
    Ok(files::open_pinned(pinned, OFlags::empty())?.into())
}

/// Checks the mount of a pinned file.
///
/// # Errors
/// `EREMOTE` if another user's program serves it.
pub fn check_pinned(pinned: &OwnedFd, folder: &Path) -> Result<(), Errno> {
    Checked::new(folder).check(pinned)
}

/// Returns the number of the mount through which a file was opened.
fn mount_of(file: impl AsFd) -> Result<u64, Errno> {
    let path = format!("/proc/self/fdinfo/{}", file.as_fd().as_raw_fd());
    let mut buf = [0; 1024];
    let bytes = files::slurp(path.as_bytes(), &mut buf)?;
    parse::words_after(bytes, b"mnt_id:")
        .and_then(|mut words| words.next().and_then(parse::number))
        .ok_or(Errno::NOTSUP)
}
