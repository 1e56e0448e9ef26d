//! Replaces a file whole or not at all.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};

use super::trust::{self, Purpose};

/// The number of names tried for the new file, in case files of earlier runs were left behind.
const MAX_NAMES: u32 = 16;

/// Replaces the file at `path` by the bytes that `write` writes; a reader sees the old file or the new one,
/// never a part. If `path` is a symbolic link, its target is replaced and the link stays. The new file has the
/// old one's owner and mode, or is private and its directory's owner's; missing directories are created likewise.
///
/// # Errors
/// Any failure, that of `write` included: then the old file is unchanged, and nothing is left beside it. Also if
/// others can set a symbolic link on the way, and thus choose the file.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let place = trust::follow(path, Purpose::Replace)?;
    if let Some(link) = &place.foreign_link {
        return Err(io::Error::other(format!("others can change the symbolic link {link}")));
    }
    let is_regular = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !place.stat.as_ref().is_none_or(is_regular) {
        return Err(io::Error::other("is not a regular file"));
    }
    let (mut file, temporary) = create(place.dir.as_fd(), &place.name.to_string_lossy())?;
    match &place.stat {
        Some(old) => keep_owner(&file, old)?,
        None => {
            if let Some((user, group)) = trust::owner_of_new(&place.dir)? {
                rustix::fs::fchown(&file, Some(user), Some(group))?;
            }
        }
    }
    write(&mut file)?;
    file.sync_all()?;
    rustix::fs::renameat(&place.dir, &temporary.name, &place.dir, &place.name)?;
    std::mem::forget(temporary);
    // The new name is durable only once the directory is on the disk, too; not every file system can sync one.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = rustix::fs::openat(&place.dir, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(dir);
    }
    Ok(())
}

/// The name of the new file until it has its own: removed when dropped.
struct Temporary<'d> {
    dir: BorrowedFd<'d>,
    name: OsString,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(self.dir, &self.name, AtFlags::empty());
    }
}

fn create<'d>(dir: BorrowedFd<'d>, base: &str) -> io::Result<(File, Temporary<'d>)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let pid = std::process::id();
    let mut last = None;
    for n in 0..MAX_NAMES {
        let name = OsString::from(format!(".{base}.{pid}.{n}.new"));
        match rustix::fs::openat(dir, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((File::from(file), Temporary { dir, name })),
            Err(rustix::io::Errno::EXIST) => last = Some(rustix::io::Errno::EXIST),
            Err(e) => return Err(e.into()),
        }
    }
    Err(last.map_or_else(|| io::Error::other("no name for a new file"), Into::into))
}

/// Gives the new file the old one's owner and mode, so that saving as root in a user's home leaves it the user's.
fn keep_owner(file: &File, old: &Stat) -> io::Result<()> {
    let new = rustix::fs::fstat(file)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        rustix::fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))?;
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777))?;
    Ok(())
}
