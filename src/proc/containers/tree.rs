//! The file system in which engines keep their files, and bounded reads in it.

use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, fstat, open, openat2, statat};
use rustix::io::Errno;

use crate::model::{Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::number;

/// Maximum size of a file that is read, in bytes.
const MAX_FILE: usize = 4 << 20;
/// Maximum number of names that are read of a directory.
const MAX_NAMES: usize = 20_000;
/// Age from which a change of a file is safe to tell from the next one by its time.
const SETTLED: Duration = Duration::from_secs(2);

/// The root directory of the machine whose processes are read. Links in it cannot lead out of it.
pub struct Tree {
    root: OwnedFd,
    is_own: bool,
}

/// A file's identity, size and time of the last change. A file with the same stamp is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([u64; 5]);

impl Tree {
    /// Opens the root directory. For another `/proc` that is the directory above it. On this machine it is the one of
    /// pid 1, if that is another directory and may be seen: then zmtop runs in a container and shows the host. In a
    /// sandbox of systemd, whose root is the same directory, what the sandbox hides stays hidden.
    pub fn open(roots: &Roots) -> Reading<Self> {
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &[u8]| open(path, directory, Mode::empty()).map_err(files::reason);
        if !roots.is_own() {
            let root = open(roots.proc.join("..").as_os_str().as_encoded_bytes())?;
            return Ok(Self { root, is_own: false });
        }
        let directory = |path: &str| statat(CWD, path, AtFlags::empty()).map(|stat| (stat.st_dev, stat.st_ino));
        let first = match (directory("/"), directory("/proc/1/root")) {
            (Ok(own), Ok(first)) if own != first => open(b"/proc/1/root").ok(),
            _ => None,
        };
        let root = match first {
            Some(root) => root,
            None => open(b"/")?,
        };
        Ok(Self { root, is_own: true })
    }

    fn open_file(&self, path: &[u8], flags: OFlags) -> Reading<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.root, path, flags, Mode::empty(), resolve) {
            // Before Linux 5.6, a link could lead from a captured tree to files of this machine.
            Err(Errno::NOSYS) if self.is_own => open(path, flags, Mode::empty()),
            other => other,
        }
        .map_err(|errno| match errno {
            Errno::NOTDIR | Errno::NOSYS => Missing::Unsupported,
            other => files::reason(other),
        })
    }

    /// Returns the stamp of a file or directory.
    pub(super) fn stamp(&self, path: &[u8]) -> Reading<Stamp> {
        let fd = self.open_file(path, OFlags::PATH)?;
        Ok(Stamp::of(&fstat(&fd).map_err(files::reason)?))
    }

    /// Reads a regular file, and its stamp; no stamp if it has changed so recently that the next change may have the same.
    pub(super) fn read(&self, path: &[u8]) -> Reading<(Vec<u8>, Option<Stamp>)> {
        let fd = self.open_file(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = fstat(&fd).map_err(files::reason)?;
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || size > MAX_FILE {
            return Err(Missing::Malformed);
        }
        // A file that grows meanwhile is read up to its former size, and again at the next pass.
        let mut bytes = vec![0; size];
        let len = files::read_all(&fd, &mut bytes).map_err(files::reason)?;
        bytes.truncate(len);
        Ok((bytes, Stamp::settled(&stat)))
    }

    /// Calls `each` with the names in a directory, up to a maximum number. Returns its stamp as [`read`](Self::read) does.
    pub(super) fn names(&self, path: &[u8], mut each: impl FnMut(&[u8])) -> Reading<Option<Stamp>> {
        let fd = self.open_file(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let stat = fstat(&fd).map_err(files::reason)?;
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
            if count == MAX_NAMES {
                break;
            }
        }
        Ok(Stamp::settled(&stat))
    }

    /// Returns the home directory of a user: on this machine as the name service has it, else as in `etc/passwd`.
    pub(super) fn home(&self, uid: u32) -> Option<Vec<u8>> {
        if self.is_own {
            let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok()??;
            return Some(user.dir.into_os_string().into_encoded_bytes());
        }
        let (passwd, _) = self.read(b"/etc/passwd").ok()?;
        let home = passwd.split(|b| *b == b'\n').find_map(|line| {
            let mut fields = line.split(|b| *b == b':').skip(2);
            let is_user = number(fields.next()?) == Some(uid.into());
            fields.nth(2).filter(|home| is_user && home.starts_with(b"/"))
        });
        home.map(Into::into)
    }
}

impl Stamp {
    fn of(stat: &rustix::fs::Stat) -> Self {
        #[expect(clippy::unnecessary_cast, reason = "the types differ between architectures")]
        Self([
            stat.st_dev as u64,
            stat.st_ino as u64,
            stat.st_size as u64,
            stat.st_mtime as u64,
            stat.st_mtime_nsec as u64,
        ])
    }

    fn settled(stat: &rustix::fs::Stat) -> Option<Self> {
        let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        (age > SETTLED).then(|| Self::of(stat))
    }
}
