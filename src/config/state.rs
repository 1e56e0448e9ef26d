//! Files that zmtop writes for its own use: data kept between runs, in the state folder, and its log.
//!
//! Its files are opened safely, whatever their paths lead to.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::fault::shown_path;
use super::file::reason;
use super::trust::{self, Purpose};
use super::{Env, file};

/// An empty file which records that zmtop was started before.
const STARTED: &str = "started";
/// The file that holds the history, in the folder of the black box.
const HISTORY: &str = "history";
/// The folder of the black box.
const BLACKBOX: &str = "blackbox";

/// Returns the reason not to create a path: it is below a home directory that does not exist, and home directories are
/// never created. `None` if the path may be created.
pub fn missing_home(env: &Env, path: &Path) -> Option<String> {
    let home = env.home_folder().filter(|home| path.starts_with(home))?;
    let why = match std::fs::metadata(&home) {
        Ok(meta) if meta.is_dir() => return None,
        Ok(_) => "not a directory".into(),
        Err(error) => reason(&error),
    };
    Some(format!("HOME is {}: {why}", shown_path(&home)))
}

/// Returns the state folder, which need not exist, unless it must not be created.
fn folder(env: &Env) -> Result<PathBuf, String> {
    let folder = env.state_folder();
    let folder = folder.ok_or_else(|| env.why_no_folder("XDG_STATE_HOME"))?;
    missing_home(env, &folder).map_or(Ok(folder), Err)
}

/// Returns true at the first start for this user, which is when the state folder is empty. Leaves a file there, if the
/// folder is writable, so that later starts return false.
pub fn is_first_start(env: &Env) -> bool {
    let Ok(folder) = folder(env) else { return true };
    let is_empty = std::fs::read_dir(&folder).map_or(true, |mut files| files.next().is_none());
    if is_empty {
        // If nothing may be created there, the next start counts as the first one again.
        let _ = make_empty(&folder.join(STARTED));
    }
    is_empty
}

/// Creates an empty file unless one exists. Unlike [`atomic::replace`](super::atomic::replace) it does not sync.
fn make_empty(path: &Path) -> io::Result<()> {
    let place = trust::follow(path, Purpose::Keep)?;
    create_new(&place.dir, &place.name).map(drop)
}

/// Returns the path of the file that holds the history. Neither it nor the directories above it need exist.
///
/// # Errors
/// The environment names no place for it. The text says why, safe to print.
pub fn history_path(env: &Env) -> Result<PathBuf, String> {
    Ok(blackbox_path(env)?.join(HISTORY))
}

/// Returns the path of the directory that holds the black box, which need not exist.
///
/// # Errors
/// The environment names no place for it. The text says why, safe to print.
pub fn blackbox_path(env: &Env) -> Result<PathBuf, String> {
    Ok(folder(env)?.join(BLACKBOX))
}

/// Returns the file that holds the history, and creates the directories above it.
///
/// # Errors
/// No history can be kept there, or keeping one is not allowed. The text says why, safe to print.
pub fn history_file(env: &Env) -> Result<PathBuf, String> {
    let file = history_path(env)?;
    check(&file).map_err(|error| format!("{}: {}", shown_path(&file), reason(&error)))?;
    Ok(file)
}

/// Checks whether a file can be kept at that path, and creates the directories above it. As for recordings, a path that
/// another user controls is refused.
///
/// # Errors
/// The file cannot be kept there.
pub fn check(path: &Path) -> io::Result<()> {
    let place = trust::follow(path, Purpose::Keep)?;
    let access = Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::accessat(&place.dir, ".", access, AtFlags::empty())?)
}

/// Returns the reason not to trust the files of a folder as root, safe to print: another user can change them. `None` if they can be
/// trusted, and for other users.
pub fn folder_doubt(folder: &Path) -> Option<String> {
    let place = geteuid().is_root().then(|| trust::follow(folder, Purpose::Judge))?;
    place.map_or_else(|error| Some(reason(&error)), |place| place.doubt)
}

/// Reads a file of the state folder, whatever it is, of at most `max` bytes; `None` if it does not exist. Never blocks.
///
/// # Errors
/// The file cannot be read, is too large or is not a regular file. For root, also if others can change it.
pub fn read(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = match file::open(path) {
        Ok(file) => file,
        Err(error) if file::absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if let Some(kind) = file::not_regular(kind) {
        return Err(io::Error::other(format!("is {kind}, not a regular file")));
    }
    if geteuid().is_root()
        && let Some(doubt) = trust::doubt(&file, path)
    {
        return Err(io::Error::other(doubt));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("is larger than the {max} bytes allowed")));
    }
    Ok(Some(bytes))
}

/// Opens a log for appending, creating it if necessary. Only its owner can read it. Never blocks.
///
/// # Errors
/// The path is a symbolic link, or is not a regular file, has a second name (hard link) or belongs to another user. In
/// a directory that others can write to, each of these would let them read the log or redirect it to another file. Also
/// fails if others can change a symbolic link on the path.
pub fn open_log(path: &Path) -> io::Result<File> {
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
    if let Some(kind) = file::not_regular(FileType::from_raw_mode(stat.st_mode)) {
        return Err(io::Error::other(format!("is {kind}, not a regular file")));
    }
    if stat.st_nlink > 1 {
        return Err(io::Error::other("has a second name (a hard link)"));
    }
    if stat.st_uid != geteuid().as_raw() {
        return Err(io::Error::other("belongs to another user"));
    }
    rustix::fs::fchmod(&file, private)?;
    Ok(File::from(file))
}

/// A log that follows its path: if the file was renamed or deleted, as logrotate does, the next line goes to a new one. If that cannot
/// be opened, the line goes to the old one, or nowhere once that is deleted: an invisible file must not grow.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Opens the log, as [`open_log`] does.
    ///
    /// # Errors
    /// As of [`open_log`].
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: open_log(path)?,
        })
    }

    /// Returns true if the path is no longer that of the file.
    fn is_replaced(&self) -> bool {
        let id = |stat: &Stat| (stat.st_dev, stat.st_ino);
        let there = rustix::fs::lstat(&self.path);
        let own = rustix::fs::fstat(&self.file);
        there.map(|stat| id(&stat)) != own.map(|stat| id(&stat))
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What cannot be opened is not followed: the lines stay together.
        if self.is_replaced() {
            if let Ok(file) = open_log(&self.path) {
                self.file = file;
            } else if rustix::fs::fstat(&self.file)?.st_nlink == 0 {
                return Ok(bytes.len());
            }
        }
        io::Write::write(&mut self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::Write::flush(&mut self.file)
    }
}

/// Opens a folder for recordings, and creates it if it does not exist, private to this user.
///
/// # Errors
/// It cannot be opened or created, or others could replace what is in it.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let dir = trust::follow(&path.join(BLACKBOX), Purpose::Keep)?.dir;
    // The descriptor of the path cannot list the folder.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&dir, ".", flags, Mode::empty())?)
}

/// Creates a file that only its owner can read.
///
/// # Errors
/// It exists, or cannot be created.
pub fn create_new(dir: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?;
    if let Some((user, group)) = trust::owner_of_new(dir)? {
        rustix::fs::fchown(&file, Some(user), Some(group))?;
    }
    Ok(file.into())
}

/// Creates the file of a recording.
///
/// # Errors
/// It exists or cannot be created, or others could replace it.
pub fn create_recording(path: &Path) -> io::Result<File> {
    let place = trust::follow(path, Purpose::Append)?;
    if let Some(doubt) = place.doubt {
        return Err(io::Error::other(doubt));
    }
    if place.stat.is_some() {
        return Err(io::Error::other("exists already, and is not overwritten"));
    }
    create_new(&place.dir, &place.name)
}
