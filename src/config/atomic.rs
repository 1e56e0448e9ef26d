//! Replaces a file whole or not at all.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};

use super::env::directory;

/// The maximum number of symbolic links followed: that of the kernel.
const MAX_LINKS: usize = 40;
/// The number of names tried for the new file, in case files of earlier runs were left behind.
const MAX_NAMES: u32 = 16;

/// Replaces the file at `path` by the bytes that `write` writes; a reader sees the old file or the new one,
/// never a part. If `path` is a symbolic link, its target is replaced and the link stays. The new file has the
/// old one's owner and mode, or is private; missing directories are created, private.
///
/// # Errors
/// Any failure, that of `write` included: then the old file is unchanged, and nothing is left beside it.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let path = follow(path)?;
    let dir = directory(&path);
    let old = match fs::symlink_metadata(&path) {
        Ok(old) if old.is_file() => Some(old),
        Ok(_) => return Err(io::Error::other("is not a regular file")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let (mut file, temporary) = create(dir, &path)?;
    if let Some(old) = &old {
        keep_owner(&file, old)?;
    }
    write(&mut file)?;
    file.sync_all()?;
    fs::rename(&temporary.0, &path)?;
    std::mem::forget(temporary);
    // The new name is durable only once the directory is on the disk, too; not every file system can sync one.
    let _ = File::open(dir).and_then(|d| d.sync_all());
    Ok(())
}

/// Follows the symbolic links of the last component; their target need not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = directory(&path).join(to),
            // It is not a link, or does not exist.
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => return Ok(path),
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The path of the new file until it has its name: removed when dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn create(dir: &Path, path: &Path) -> io::Result<(File, Temporary)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let base = path.file_name().unwrap_or_default().to_string_lossy();
    let pid = std::process::id();
    let mut last = None;
    for n in 0..MAX_NAMES {
        let name = dir.join(format!(".{base}.{pid}.{n}.new"));
        match rustix::fs::openat(CWD, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((File::from(file), Temporary(name))),
            Err(rustix::io::Errno::EXIST) => last = Some(rustix::io::Errno::EXIST),
            Err(e) => return Err(e.into()),
        }
    }
    Err(last.map_or_else(|| io::Error::other("no name for a new file"), Into::into))
}

/// Gives the new file the old one's owner and mode, so that saving as root in a user's home leaves it the user's.
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        rustix::fs::fchown(file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())))?;
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(old.mode() & 0o777))?;
    Ok(())
}
