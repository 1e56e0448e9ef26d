//! Reads whole files into a buffer that is used again and again.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::model::Missing;

/// The roots of the trees to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`, or a tree like it.
    pub proc: PathBuf,
    /// `/sys`, or a tree like it; `None` if a captured `/proc` came without one.
    pub sys: Option<PathBuf>,
}

impl Roots {
    /// Returns this machine's roots, or those of another `/proc`, whose sysfs is `../sys` beside it, if it exists.
    pub fn new(proc: Option<&Path>) -> Self {
        proc.map_or_else(
            || Self {
                proc: "/proc".into(),
                sys: Some("/sys".into()),
            },
            |proc| Self {
                proc: proc.into(),
                sys: Some(proc.join("../sys")).filter(|sys| sys.is_dir()),
            },
        )
    }

    /// Returns true if the tree is this machine's own `/proc`.
    pub fn is_own(&self) -> bool {
        self.proc == Path::new("/proc")
    }
}

/// Returns true if the tree at `proc` numbers processes as this one's system calls do.
pub fn has_own_pids(proc: &Path) -> bool {
    let own = rustix::fs::readlinkat(CWD, proc.join("self"), Vec::new());
    own.is_ok_and(|link| link.to_bytes() == std::process::id().to_string().as_bytes())
}

/// Returns the reason of a failed read of a process's file. ENOENT and ESRCH mean that the process is gone.
pub const fn reason(errno: Errno) -> Missing {
    match errno {
        Errno::ACCESS | Errno::PERM => Missing::Denied,
        Errno::NOENT | Errno::SRCH => Missing::Gone,
        other => Missing::Errno(other.raw_os_error()),
    }
}

/// Returns the reason of a failed read of a file that not every kernel has.
pub const fn optional_reason(errno: Errno) -> Missing {
    match errno {
        // EOPNOTSUPP is what pressure gives where it is built in but switched off.
        Errno::NOENT | Errno::NOTDIR | Errno::OPNOTSUPP => Missing::Unsupported,
        other => reason(other),
    }
}

/// The flags to open a file with: a terminal must not become ours, nor a program inherit it.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Opens `path` for reading.
pub fn open(path: &[u8]) -> Result<OwnedFd, Errno> {
    open_at(CWD, path)
}

/// Opens `name` below the directory `dir` for reading.
pub fn open_at(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, READ, Mode::empty())
}

/// Opens the directory `path` only to reach files below it.
pub fn open_dir(path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Opens `name`, a constant, below the directory `dir` for reading.
pub fn open_name(dir: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, READ, Mode::empty())
}

/// Reads once, and again only after a signal. A file that the kernel writes as one record is then complete.
pub fn read_once(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::retry_on_intr(|| rustix::io::read(&fd, &mut *buf))
}

/// Reads to the end of the file or of the buffer; returns the number of bytes.
pub fn read_all(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    let mut len = 0;
    while len < buf.len() {
        match read_once(&fd, &mut buf[len..])? {
            0 => break,
            n => len += n,
        }
    }
    Ok(len)
}

/// Reads a record that ends in a newline: by one read if the kernel gives it whole, otherwise by more.
pub fn read_record(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    let len = read_once(&fd, buf)?;
    if len == 0 || buf[len - 1] == b'\n' {
        return Ok(len);
    }
    Ok(len + read_all(fd, &mut buf[len..])?)
}

/// Reads the file at `path`, as much of it as the buffer holds.
pub fn slurp<'a>(path: &[u8], buf: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let fd = open(path)?;
    let len = read_all(fd, buf)?;
    Ok(&buf[..len])
}

/// Gives `each` the file at `path` in pieces, for one that is too large to keep.
pub fn pieces(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
    let fd = open(path.as_os_str().as_encoded_bytes())?;
    let mut buf = vec![0; 64 << 10];
    loop {
        match read_once(&fd, &mut buf)? {
            0 => return Ok(()),
            length => each(&buf[..length]),
        }
    }
}

/// The number of bytes read of a `mountinfo`: enough for about ten thousand mounts.
pub const MAX_MOUNTINFO: usize = 2 << 20;

/// Reads the file at `path` into a buffer of `first` bytes that grows up to about `most`.
pub fn slurp_grown(path: &[u8], first: usize, most: usize) -> Result<Vec<u8>, Errno> {
    let fd = open(path)?;
    let mut buf = vec![0; first];
    let mut len = 0;
    loop {
        len += read_all(&fd, &mut buf[len..])?;
        if len < buf.len() || len >= most {
            buf.truncate(len);
            return Ok(buf);
        }
        buf.resize(len * 2, 0);
    }
}

/// Calls `each` with every number that is a name in the directory `name` below `dir`, in the kernel's order. The
/// directory is read in pieces of `piece` bytes.
pub fn numbers(dir: impl AsFd, name: &[u8], piece: usize, mut each: impl FnMut(u32)) -> Result<(), Errno> {
    entries(open_list(dir, name)?, piece, |name, _| {
        number(name).into_iter().for_each(&mut each);
        true
    })
}

/// Returns the number that a name is.
pub(crate) fn number(name: &[u8]) -> Option<u32> {
    // The kernel writes no leading zeros; a made tree's would name the same process twice.
    let is_number = name.first().is_some_and(|b| *b != b'0') && name.iter().all(u8::is_ascii_digit);
    let number = is_number.then(|| super::parse::number(name)).flatten();
    number.and_then(|n| u32::try_from(n).ok())
}

/// Calls `each` with every name in the directory at `path`.
pub fn names(path: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
    entries(open_list(CWD, path)?, 32 << 10, |name, _| {
        each(name);
        true
    })
}

/// Opens the directory `path` below `dir` to list it.
pub(super) fn open_list(dir: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, path, flags, Mode::empty())
}

/// Calls `each` with the names in a directory from its position on, and with the position behind each, until it returns
/// false. Reads pieces of `piece` bytes.
pub(super) fn entries(dir: OwnedFd, piece: usize, mut each: impl FnMut(&[u8], u64) -> bool) -> Result<(), Errno> {
    let mut buf = Vec::with_capacity(piece);
    let mut entries = RawDir::new(dir, buf.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !each(entry.file_name().to_bytes(), entry.next_entry_cookie()) {
            return Ok(());
        }
    }
    Ok(())
}
