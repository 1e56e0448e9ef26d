//! Opens zmtop's own log, whatever lies at its path.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::file::not_regular;
use super::trust::{self, Purpose};

/// Opens a log to append to, and creates it if necessary; only its owner can read it. Never blocks.
///
/// # Errors
/// The path is a symbolic link, or a file that is not regular, has a second name or is someone else's: in a
/// directory that others may write to, each is a way to read the log or to have another file written to. So is a
/// symbolic link on the way that others can set.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    let harmless = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let private = Mode::RUSR | Mode::WUSR;
    let place = trust::follow(path, Purpose::Append)?;
    if let Some(link) = place.foreign_link {
        return Err(io::Error::other(format!("others can change the symbolic link {link}")));
    }
    let file = rustix::fs::openat(&place.dir, &place.name, flags | harmless, private).map_err(|e| match e {
        Errno::LOOP => io::Error::other("is a symbolic link"),
        Errno::NXIO => io::Error::other("is a FIFO or a socket, not a regular file"),
        e => e.into(),
    })?;
    let stat = rustix::fs::fstat(&file)?;
    if let Some(kind) = not_regular(FileType::from_raw_mode(stat.st_mode)) {
        return Err(io::Error::other(format!("is {kind}, not a regular file")));
    }
    if stat.st_nlink > 1 {
        return Err(io::Error::other("has a second name (a hard link)"));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("belongs to another user"));
    }
    rustix::fs::fchmod(&file, private)?;
    Ok(File::from(file))
}
