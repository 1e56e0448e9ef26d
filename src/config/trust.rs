//! Decides whether anyone except this user and root can change the file at a path.
//!
//! A path is followed component by component. Each component is opened in the directory before it, so that the checked
//! file is the one used even if names change meanwhile. The rule is the same as `StrictModes` in sshd: a file is
//! trusted if it, each directory above it and each symbolic link on its path belongs to this user or root and is not
//! writable by anyone else. A directory with the sticky bit may be writable, since only the owner of a file can replace
//! it there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::fault::shown_path;
use super::file::reason;

/// The maximum number of symbolic links followed, which is the kernel's limit.
const MAX_LINKS: usize = 40;
/// The mode bits that let users other than the owner write.
const WRITABLE: u32 = 0o022;
/// The mode bit of directories in which only a file's owner may rename or remove it.
const STICKY: u32 = 0o1000;

/// The purpose of following a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Check whether it can be trusted.
    Judge,
    /// Replace the file. Creates missing directories, private to the owner of the directory above them.
    Replace,
    /// Keep data in the file. As [`Replace`](Purpose::Replace), but a path that is not trusted is refused before anything
    /// is created.
    Keep,
    /// Append to the file, which must not be a symbolic link.
    Append,
}

/// The end of a path after following symbolic links.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory that holds the file.
    pub(super) dir: OwnedFd,
    /// The name of the file in that directory.
    pub(super) name: OsString,
    /// The file's status; `None` if it does not exist.
    pub(super) stat: Option<Stat>,
    /// The first reason not to trust the path, safe to print.
    pub(super) doubt: Option<String>,
    /// The first symbolic link on the path that others can change, safe to print.
    pub(super) foreign_link: Option<String>,
}

/// Returns the reason not to trust an open file with this path, safe to print; `None` if it is trusted.
pub(super) fn doubt(file: impl AsFd, path: &Path) -> Option<String> {
    let place = match follow(path, Purpose::Judge) {
        Ok(place) => place,
        Err(e) => return Some(format!("its path cannot be resolved: {}", reason(&e))),
    };
    let open = rustix::fs::fstat(file).ok();
    let ids = |stat: Option<Stat>| stat.map(|stat| (stat.st_dev, stat.st_ino));
    let is_same = open.is_some() && ids(open) == ids(place.stat);
    place
        .doubt
        .or_else(|| (!is_same).then(|| "it was replaced meanwhile".into()))
}

/// Follows a path; its last component need not exist.
///
/// # Errors
/// The path cannot be followed, does not end in a name, or is not trusted although [`Purpose::Keep`] requires it.
pub(super) fn follow(path: &Path, purpose: Purpose) -> io::Result<Place> {
    let mut walk = Walk::new()?;
    walk.require_trust(purpose)?;
    let mut todo = Vec::new();
    push_components(&mut todo, &std::path::absolute(path)?);
    while let Some(name) = todo.pop() {
        let is_last = todo.is_empty();
        let file = match walk.open(&name) {
            Err(Errno::NOENT) if is_last => return Ok(walk.end(name, None)),
            Err(Errno::NOENT) if matches!(purpose, Purpose::Replace | Purpose::Keep) => walk.make_directory(&name)?,
            other => other?,
        };
        let stat = rustix::fs::fstat(&file)?;
        walk.judge(&stat, &name);
        walk.require_trust(purpose)?;
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if is_link && !(is_last && purpose == Purpose::Append) {
            walk.follow_link(&file, &name, &mut todo)?;
        } else if is_last && name != ".." {
            return Ok(walk.end(name, Some(stat)));
        } else {
            walk.enter(file, &name);
        }
    }
    Err(io::Error::other("is a directory"))
}

/// Returns the owner for files created in a directory: the directory's owner, so that files which root creates in a
/// user's home belong to the user. `None` if the creator keeps it.
pub(super) fn owner_of_new(dir: impl AsFd) -> io::Result<Option<(Uid, Gid)>> {
    let stat = rustix::fs::fstat(dir)?;
    let foreign = geteuid().is_root() && stat.st_uid != 0;
    Ok(foreign.then(|| (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid))))
}

/// Adds the components of a path to a stack, the first on top.
fn push_components(todo: &mut Vec<OsString>, path: &Path) {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    todo.extend(names);
}

/// The state of following a path.
struct Walk {
    dir: OwnedFd,
    /// The path of `dir`, for messages.
    path: PathBuf,
    links: usize,
    doubt: Option<String>,
    foreign_link: Option<String>,
}

impl Walk {
    fn new() -> io::Result<Self> {
        let mut walk = Self {
            dir: root()?,
            path: "/".into(),
            links: 0,
            doubt: None,
            foreign_link: None,
        };
        let stat = rustix::fs::fstat(&walk.dir)?;
        walk.judge(&stat, OsStr::new(""));
        Ok(walk)
    }

    fn open(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.dir, name, flags, Mode::empty())
    }

    /// Records the first component of the path that others control.
    fn judge(&mut self, stat: &Stat, name: &OsStr) {
        if self.doubt.is_some() {
            return;
        }
        let shared = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => false,
            FileType::Directory if stat.st_mode & STICKY != 0 => false,
            _ => stat.st_mode & WRITABLE != 0,
        };
        let owner = stat.st_uid;
        let shown = || shown_path(&self.path.join(name));
        if owner != 0 && owner != geteuid().as_raw() {
            self.doubt = Some(format!("{} belongs to user {owner}", shown()));
        } else if shared {
            self.doubt = Some(format!("others can write to {}", shown()));
        }
    }

    fn enter(&mut self, dir: OwnedFd, name: &OsStr) {
        self.dir = dir;
        if name == ".." {
            self.path.pop();
        } else {
            self.path.push(name);
        }
    }

    fn follow_link(&mut self, link: &OwnedFd, name: &OsStr, todo: &mut Vec<OsString>) -> io::Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(io::Error::other("too many symbolic links"));
        }
        if self.doubt.is_some() && self.foreign_link.is_none() {
            self.foreign_link = Some(shown_path(&self.path.join(name)));
        }
        let target = rustix::fs::readlinkat(link, "", Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            (self.dir, self.path) = (root()?, "/".into());
        }
        push_components(todo, &target);
        Ok(())
    }

    /// Returns the reason not to trust the path so far as an error, if the purpose requires trust.
    fn require_trust(&self, purpose: Purpose) -> io::Result<()> {
        match &self.doubt {
            Some(doubt) if purpose == Purpose::Keep => Err(io::Error::other(doubt.clone())),
            _ => Ok(()),
        }
    }

    /// Creates a directory and opens it.
    ///
    /// The owner of the directory above it can replace it at any time, even by another file of root's. Only a directory
    /// of root's that is empty is given to that user.
    fn make_directory(&self, name: &OsStr) -> io::Result<OwnedFd> {
        rustix::fs::mkdirat(&self.dir, name, Mode::RWXU)?;
        let Some((user, group)) = owner_of_new(&self.dir)? else {
            return Ok(self.open(name)?);
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = rustix::fs::openat(&self.dir, name, flags, Mode::empty())?;
        let is_own = rustix::fs::fstat(&new)?.st_uid == geteuid().as_raw();
        if !is_own || !is_empty(&new)? {
            let path = shown_path(&self.path.join(name));
            return Err(io::Error::other(format!("{path} was replaced meanwhile")));
        }
        rustix::fs::fchown(&new, Some(user), Some(group))?;
        Ok(new)
    }

    fn end(self, name: OsString, stat: Option<Stat>) -> Place {
        Place {
            dir: self.dir,
            name,
            stat,
            doubt: self.doubt,
            foreign_link: self.foreign_link,
        }
    }
}

fn is_empty(dir: &OwnedFd) -> io::Result<bool> {
    for entry in Dir::read_from(dir)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn root() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, "/", flags, Mode::empty())?)
}
