//! Replaces a file completely or not at all.
//!
//! The new text is written to `.NAME.new` beside the file, which is then renamed. If a writer is killed, that file
//! stays behind and the next writer removes it, so there is never more than one. Concurrent writers of a file, in this
//! or another process, wait for each other by a lock on it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::fault::shown_path;
use super::trust::{self, Purpose};

/// Maximum number of attempts to create the new file if other writers always come first.
const MAX_TRIES: u32 = 1000;

/// Replaces the file at `path` by the bytes that `write` writes. A reader sees the old file or the new one, never a
/// mixture. If `path` is a symbolic link, its target is replaced and the link stays. The new file inherits the owner
/// and mode of the old one. If there is no old one, it is private and belongs to its directory's owner. Missing
/// directories are created in the same way. Blocks while another writer replaces the same file.
///
/// Any failure, including one of `write`: the old file is then unchanged, and nothing is left beside it. Also fails if
/// others can change a symbolic link on the path and thereby choose the file.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let place = trust::follow(path, Purpose::Replace)?;
    if let Some(link) = &place.foreign_link {
        return Err(io::Error::other(format!("others can change the symbolic link {link}")));
    }
    let is_regular = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !place.stat.as_ref().is_none_or(is_regular) {
        return Err(io::Error::other("is not a regular file"));
    }
    let mut temporary = Temporary::create(place.dir.as_fd(), &place.name)?;
    let file = &mut temporary.file;
    match &place.stat {
        Some(old) => keep_owner(file, old)?,
        None => {
            if let Some((user, group)) = trust::owner_of_new(&place.dir)? {
                rustix::fs::fchown(&*file, Some(user), Some(group))?;
            }
        }
    }
    write(file)?;
    file.sync_all()?;
    // On file systems without locks, another writer may have removed this file as a leftover.
    if !temporary.has_its_name() {
        return Err(io::Error::other("something else replaced it at the same time"));
    }
    rustix::fs::renameat(&place.dir, &temporary.name, &place.dir, &place.name)?;
    drop(temporary);
    // The rename is durable only once the directory is synced. Some file systems cannot do that.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = rustix::fs::openat(&place.dir, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(dir);
    }
    Ok(())
}

/// The new file before it is renamed. It is locked, and removed when dropped.
struct Temporary<'d> {
    dir: BorrowedFd<'d>,
    name: OsString,
    file: File,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.has_its_name() {
            let _ = rustix::fs::unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

impl<'d> Temporary<'d> {
    fn create(dir: BorrowedFd<'d>, base: &OsStr) -> io::Result<Self> {
        let mut name = OsString::from(".");
        name.push(base);
        name.push(".new");
        // Always create a new inode: a leftover may be a link or have a second name.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_TRIES {
            match rustix::fs::openat(dir, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    let file = File::from(file);
                    // Another writer may have locked or removed it in the meantime.
                    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
                    if locked != Err(Errno::WOULDBLOCK) && is_at(dir, &name, &file) {
                        return Ok(Self { dir, name, file });
                    }
                }
                Err(Errno::EXIST) => remove_left(dir, &name)?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("too many other processes write it"))
    }

    fn has_its_name(&self) -> bool {
        is_at(self.dir, &self.name, &self.file)
    }
}

/// Returns true if `name` refers to the open file.
fn is_at(dir: BorrowedFd<'_>, name: &OsStr, file: &File) -> bool {
    let ids = |stat: Result<Stat, Errno>| stat.map(|stat| (stat.st_dev, stat.st_ino));
    let named = ids(rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW));
    named.is_ok() && named == ids(rustix::fs::fstat(file))
}

/// Waits until no process writes the file of that name, then removes it if it still exists.
fn remove_left(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let remove = || match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    };
    let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        stat => stat?,
    };
    // In a directory that others can write to, another user could have created it and could hold its lock for ever.
    let is_own = [geteuid().as_raw(), rustix::fs::fstat(dir)?.st_uid].contains(&stat.st_uid);
    if !is_own {
        let name = shown_path(Path::new(name));
        return Err(io::Error::other(format!(
            "its temporary file {name} belongs to another user"
        )));
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        // No writer creates such a file.
        return remove();
    }
    // Locking on a network file system requires a file opened for writing.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(()),
        // The file was created with a mode that denies its owner write access.
        Err(Errno::ACCESS) => return remove(),
        Err(error) => return Err(error.into()),
    };
    while rustix::fs::flock(&file, FlockOperation::LockExclusive) == Err(Errno::INTR) {}
    if is_at(dir, name, &file) { remove() } else { Ok(()) }
}

/// Sets the owner and mode of the new file to those of the old one. A file in a user's home thus stays the user's if root saves
/// it.
fn keep_owner(file: &File, old: &Stat) -> io::Result<()> {
    let new = rustix::fs::fstat(file)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        rustix::fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))?;
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777))?;
    Ok(())
}
