//! The file system in which engines keep their files, and bounded reads in it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, ResolveFlags, Stat, fstat, open, openat, openat2, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::model::{Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::namespace::Namespace;
use crate::proc::parse::number;

/// Age from which a change of a file can be distinguished from the next one by its time.
const SETTLED: Duration = Duration::from_secs(2);

/// The root directory of the machine whose processes are read, for the files of one user's engines. Links in it cannot lead out of
/// it. Only files of that user are read, since the user may have chosen where a link leads, and zmtop may read more than the user.
pub struct Tree {
    root: OwnedFd,
    is_own: bool,
    /// The view of the same root for the files of a user of this machine, who can mount a file system that never answers.
    namespace: Option<Namespace>,
    /// 0 for the engines of the system.
    owner: u32,
}

/// Maximum amounts that are read. Anyone may fill a home directory.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The size of a file, in bytes.
    file: usize,
    /// The names read of a directory, and the containers of a list.
    pub(super) names: usize,
    /// The directories that are tried of one kind.
    pub(super) places: usize,
}

const OF_SYSTEM: Limits = Limits {
    file: 4 << 20,
    names: 20_000,
    places: 32,
};
const OF_USER: Limits = Limits {
    file: 1 << 20,
    names: 1000,
    places: 4,
};

/// A file's identity, size and time of the last change. A file with the same stamp is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([u64; 5]);

impl Tree {
    /// Opens the root directory for the engines of the user `owner`, 0 for those of the system. For another `/proc` that is the
    /// directory above it. On this machine it is the one of pid 1, if that is another directory and may be seen: then zmtop runs in a
    /// container and shows the host. In a sandbox of systemd, whose root is the same directory, what the sandbox hides stays hidden.
    pub fn open(roots: &Roots, owner: u32) -> Reading<Self> {
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &[u8]| open(path, directory, Mode::empty()).map_err(files::reason);
        if !roots.is_own() {
            let root = open(roots.proc.join("..").as_os_str().as_encoded_bytes())?;
            return Ok(Self {
                root,
                is_own: false,
                namespace: None,
                owner,
            });
        }
        let directory = |path: &str| statat(CWD, path, AtFlags::empty()).map(|stat| (stat.st_dev, stat.st_ino));
        let first = match (directory("/"), directory("/proc/1/root")) {
            (Ok(own), Ok(first)) if own != first => open(b"/proc/1/root").ok(),
            _ => None,
        };
        let (root, folder) = match first {
            Some(root) => (root, "/proc/1"),
            None => (open(b"/")?, "/proc/self"),
        };
        Ok(Self {
            root,
            is_own: true,
            namespace: (owner != 0).then(|| Namespace::new(folder)),
            owner,
        })
    }

    /// Opens a file or directory with `O_PATH`.
    fn pin(&self, path: &[u8]) -> Reading<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let pinned = match &self.namespace {
            Some(namespace) => namespace.pin(Path::new(OsStr::from_bytes(path))),
            None => match openat2(&self.root, path, flags, Mode::empty(), resolve) {
                // Before Linux 5.6, a link could lead from a captured tree to files of this machine.
                Err(Errno::NOSYS) if self.is_own => open(path, flags, Mode::empty()),
                other => other,
            },
        };
        pinned.map_err(reason)
    }

    /// Returns the stamp of a file or directory.
    pub(super) fn stamp(&self, path: &[u8]) -> Reading<Stamp> {
        let fd = self.pin(path)?;
        Ok(Stamp::of(&fstat(&fd).map_err(files::reason)?))
    }

    pub(super) const fn owner(&self) -> u32 {
        self.owner
    }

    pub(super) const fn limits(&self) -> Limits {
        if self.owner == 0 { OF_SYSTEM } else { OF_USER }
    }

    /// Fails for a file of another user than the owner. In a copy of another machine's files, all may belong to the one who copied
    /// them.
    fn check(&self, stat: &Stat) -> Reading<()> {
        let is_copy = !self.is_own && !geteuid().is_root();
        let is_allowed = self.owner == 0 || stat.st_uid == self.owner || is_copy;
        if is_allowed { Ok(()) } else { Err(Missing::Denied) }
    }

    /// Reads a regular file of the owner, and its stamp; no stamp if it has changed so recently that the next change may have the same.
    pub(super) fn read(&self, path: &[u8]) -> Reading<(Vec<u8>, Option<Stamp>)> {
        self.read_short(path, self.limits().file)
    }

    /// Reads a file of the owner of at most `most` bytes.
    pub(super) fn read_short(&self, path: &[u8], most: usize) -> Reading<(Vec<u8>, Option<Stamp>)> {
        let (fd, stat) = self.open_regular(path)?;
        self.check(&stat)?;
        Ok((read(&fd, &stat, most)?, Stamp::settled(&stat)))
    }

    /// Opens a regular file of any user.
    fn open_regular(&self, path: &[u8]) -> Reading<(OwnedFd, Stat)> {
        let pinned = self.pin(path)?;
        let fd = files::open_pinned(&pinned, OFlags::empty()).map_err(|errno| match errno {
            Errno::INVAL => Missing::Malformed,
            other => files::reason(other),
        })?;
        let stat = fstat(&fd).map_err(files::reason)?;
        Ok((fd, stat))
    }

    /// Calls `each` with the names in a directory, up to a maximum number. Returns its stamp as [`read`](Self::read) does.
    pub(super) fn names(&self, path: &[u8], mut each: impl FnMut(&[u8])) -> Reading<Option<Stamp>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(self.pin(path)?, ".", flags, Mode::empty()).map_err(reason)?;
        let stat = fstat(&fd).map_err(files::reason)?;
        self.check(&stat)?;
        let mut buf = Vec::with_capacity(32 << 10);
        let mut entries = RawDir::new(&fd, buf.spare_capacity_mut());
        let mut count = 0;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(files::reason)?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                each(name);
                count += 1;
            }
            if count == self.limits().names {
                break;
            }
        }
        Ok(Stamp::settled(&stat))
    }

    /// Returns the home directory of the owner: on this machine as the name service has it, else as in `etc/passwd`.
    pub(super) fn home(&self) -> Option<Vec<u8>> {
        let uid = self.owner;
        if self.is_own {
            let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok()??;
            return Some(user.dir.into_os_string().into_encoded_bytes());
        }
        let (passwd, stat) = self.open_regular(b"/etc/passwd").ok()?;
        let passwd = read(&passwd, &stat, OF_SYSTEM.file).ok()?;
        let home = passwd.split(|b| *b == b'\n').find_map(|line| {
            let mut fields = line.split(|b| *b == b':').skip(2);
            let is_user = number(fields.next()?) == Some(uid.into());
            fields.nth(2).filter(|home| is_user && home.starts_with(b"/"))
        });
        home.map(Into::into)
    }
}

fn reason(errno: Errno) -> Missing {
    match errno {
        Errno::NOTDIR | Errno::NOSYS => Missing::Unsupported,
        other => files::reason(other),
    }
}

/// Reads an open file of at most `most` bytes. A file that grows meanwhile is read up to its former size, and again at the next pass.
fn read(fd: &OwnedFd, stat: &Stat, most: usize) -> Reading<Vec<u8>> {
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > most {
        return Err(Missing::Malformed);
    }
    let mut bytes = vec![0; size];
    let len = files::read_all(fd, &mut bytes).map_err(files::reason)?;
    bytes.truncate(len);
    Ok(bytes)
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        #[expect(clippy::unnecessary_cast, reason = "the types differ between architectures")]
        Self([
            stat.st_dev as u64,
            stat.st_ino as u64,
            stat.st_size as u64,
            stat.st_mtime as u64,
            stat.st_mtime_nsec as u64,
        ])
    }

    fn settled(stat: &Stat) -> Option<Self> {
        let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        (age > SETTLED).then(|| Self::of(stat))
    }
}
