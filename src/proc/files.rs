//! Reading whole files into a buffer that is used again and again.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::model::{Missing, Reading};

/// Where the trees are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`, or a tree like it.
    pub proc: PathBuf,
    /// `/sys`, or a tree like it; none where a captured `/proc` came without.
    pub sys: Option<PathBuf>,
}

impl Roots {
    /// This machine's, or those of another `/proc`: then sysfs is `../sys` beside it, where there is one.
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

    /// Whether the tree is this machine's own `/proc`.
    pub fn is_own(&self) -> bool {
        self.proc == Path::new("/proc")
    }
}

/// Why a read failed. ENOENT and ESRCH mean that what was listed is no longer there; where a file may be
/// absent for another reason the caller knows better.
pub const fn reason(errno: Errno) -> Missing {
    match errno {
        Errno::ACCESS | Errno::PERM => Missing::Denied,
        Errno::NOENT | Errno::SRCH => Missing::Gone,
        other => Missing::Errno(other.raw_os_error()),
    }
}

/// Opens `path` for reading, whoever is behind it.
pub fn open(path: &[u8]) -> Result<OwnedFd, Errno> {
    open_at(CWD, path)
}

/// Opens `name` below the directory `dir` for reading.
pub fn open_at(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        dir,
        name,
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// Opens the directory `path` only to reach files below it.
pub fn open_dir(path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// The same for a name that is known when zmtop is built.
pub fn open_name(dir: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        dir,
        name,
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// Reads once, again only after a signal. Of a file that the kernel writes as one record this is all.
pub fn read_once(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::retry_on_intr(|| rustix::io::read(&fd, &mut *buf))
}

/// Reads to the end of the file or of the buffer; returns how much there was.
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

/// Reads a record that ends in a newline: one read where the kernel gives it whole, more where it was cut.
pub fn read_record(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    let len = read_once(&fd, buf)?;
    if len == 0 || buf[len - 1] == b'\n' {
        return Ok(len);
    }
    Ok(len + read_all(fd, &mut buf[len..])?)
}

/// The whole file at `path`, as much as the buffer holds.
pub fn slurp<'a>(path: &[u8], buf: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let fd = open(path)?;
    let len = read_all(fd, buf)?;
    Ok(&buf[..len])
}

/// The pids listed in the tree at `proc`, in order.
pub fn pids(proc: &[u8]) -> Reading<Vec<u32>> {
    let mut pids = Vec::new();
    each_pid(proc, 32 << 10, |pid| pids.push(pid))?;
    pids.sort_unstable();
    Ok(pids)
}

/// Calls `each` with every pid listed in the tree at `proc`, in the kernel's order, which for a procfs is that
/// of pids; read in pieces of so many bytes.
pub fn each_pid(proc: &[u8], piece: usize, mut each: impl FnMut(u32)) -> Reading<()> {
    names_by(proc, piece, |name| {
        // The kernel writes no leading zeros; a made tree's would name the same process twice.
        if name.first().is_some_and(|b| *b != b'0') && name.iter().all(u8::is_ascii_digit) {
            let pid = super::parse::number(name).and_then(|n| u32::try_from(n).ok());
            pid.into_iter().for_each(&mut each);
        }
    })
    .map_err(|e| match e {
        Errno::NOENT | Errno::NOTDIR => Missing::Unsupported,
        other => reason(other),
    })
}

/// Calls `each` with every name in the directory at `path`.
pub fn names(path: &[u8], each: impl FnMut(&[u8])) -> Result<(), Errno> {
    names_by(path, 32 << 10, each)
}

fn names_by(path: &[u8], piece: usize, mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(path, flags, Mode::empty())?;
    let mut buf = Vec::with_capacity(piece);
    let mut entries = RawDir::new(dir, buf.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        each(entry?.file_name().to_bytes());
    }
    Ok(())
}
