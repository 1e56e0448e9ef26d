//! Opens and reads files and directories, and returns the reason if one could not be read.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::thread::CapabilitySet;

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
    /// Returns this machine's roots, or the roots of another `/proc`. The sysfs of the latter is `../sys` beside it,
    /// if it exists.
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

    pub fn is_own(&self) -> bool {
        self.proc == Path::new("/proc")
    }
}

/// Returns true if pids in the tree at `proc` are the pids that zmtop's system calls use.
pub fn has_own_pids(proc: &Path) -> bool {
    let own = rustix::fs::readlinkat(CWD, proc.join("self"), Vec::new());
    own.is_ok_and(|link| link.to_bytes() == std::process::id().to_string().as_bytes())
}

/// Returns true if zmtop is in the initial pid namespace of the machine, according to the tree at `proc`.
pub fn is_in_first_pid_namespace(proc: &Path) -> bool {
    /// The inode of that namespace's file, `PROC_PID_INIT_INO` of `include/linux/proc_ns.h`.
    const FIRST: &[u8] = b"pid:[4026531836]";
    let own = rustix::fs::readlinkat(CWD, proc.join("self/ns/pid"), Vec::new());
    own.is_ok_and(|link| link.to_bytes() == FIRST)
}

/// Returns the reason why a process's file could not be read. ENOENT and ESRCH mean that the process is gone.
pub const fn reason(errno: Errno) -> Missing {
    match errno {
        Errno::ACCESS | Errno::PERM => Missing::Denied,
        Errno::NOENT | Errno::SRCH => Missing::Gone,
        Errno::TIMEDOUT => Missing::TimedOut,
        other => Missing::Errno(other.raw_os_error()),
    }
}

/// Returns the reason why a file could not be read that not every kernel has.
pub const fn optional_reason(errno: Errno) -> Missing {
    match errno {
        // The pressure files return EOPNOTSUPP if pressure is built in but switched off.
        Errno::NOENT | Errno::NOTDIR | Errno::OPNOTSUPP => Missing::Unsupported,
        other => reason(other),
    }
}

/// Flags for opening a file. A terminal must not become zmtop's controlling terminal, and no child may inherit the
/// descriptor.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

pub fn open(path: &[u8]) -> Result<OwnedFd, Errno> {
    open_at(CWD, path)
}

pub fn open_at(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, READ, Mode::empty())
}

/// Opens a regular file for reading that was found with `O_PATH`, even if its path now names another file. So nothing is opened that
/// reaches a driver: opening a watchdog, for example, starts it. `NONBLOCK`: does not wait for the holder of a lease.
///
/// # Errors
/// `EINVAL` if it is no regular file.
pub fn open_pinned(pinned: impl AsFd, more: OFlags) -> Result<OwnedFd, Errno> {
    if FileType::from_raw_mode(rustix::fs::fstat(&pinned)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let path = format!("/proc/self/fd/{}", pinned.as_fd().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Opens the directory `path` only as a base for opening files in it.
pub fn open_dir(path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Reads once, and repeats only if a signal interrupts. A file that the kernel writes as one record is then complete.
pub fn read_once(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::retry_on_intr(|| rustix::io::read(&fd, &mut *buf))
}

/// Reads to the end of the file or of the buffer. Returns the number of bytes.
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

/// Reads a record that ends in a newline. One read is enough if the kernel returns it whole.
pub fn read_record(fd: impl AsFd, buf: &mut [u8]) -> Result<usize, Errno> {
    let len = read_once(&fd, buf)?;
    if len == 0 || buf[len - 1] == b'\n' {
        return Ok(len);
    }
    Ok(len + read_all(fd, &mut buf[len..])?)
}

/// Reads as much of the file at `path` as the buffer holds.
pub fn slurp<'a>(path: &[u8], buf: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let fd = open(path)?;
    let len = read_all(fd, buf)?;
    Ok(&buf[..len])
}

/// Passes the file at `path` to `each` in pieces, for a file that is too large to keep.
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

/// Maximum number of bytes read of a `mountinfo`: enough for about 10,000 mounts.
pub const MAX_MOUNTINFO: usize = 2 << 20;

/// Reads the file at `path` into a buffer of `first` bytes that grows up to about `most` bytes.
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

pub fn mountinfo(roots: &Roots) -> Result<Vec<u8>, Errno> {
    slurp_mountinfo(&roots.proc.join("self/mountinfo"))
}

/// Returns the state of the process or thread with that folder, such as `S`; `None` if it has ended or cannot be read.
pub fn state(folder: &Path) -> Option<u8> {
    let mut buf = [0; 1024];
    let bytes = slurp(folder.join("stat").as_os_str().as_encoded_bytes(), &mut buf).ok()?;
    Some(super::pid::stat(bytes, 1).ok()?.stat.state)
}

/// Returns the folder of a process, or of another of its threads if the first has ended. The kernel then shows the memory, the program and
/// the descriptors only below `task`.
pub fn living(proc: &Path, pid: u32) -> PathBuf {
    let dir = proc.join(pid.to_string());
    let has_ended = |dir: &Path| matches!(state(dir), Some(b'Z' | b'X'));
    if !has_ended(&dir) {
        return dir;
    }
    let threads = std::fs::read_dir(dir.join("task")).into_iter().flatten().flatten();
    threads
        .map(|thread| thread.path())
        .find(|path| !has_ended(path))
        .unwrap_or(dir)
}

/// Reads the `mountinfo` at a path.
pub fn slurp_mountinfo(path: &Path) -> Result<Vec<u8>, Errno> {
    slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, MAX_MOUNTINFO)
}

/// Calls `each` with every entry of the directory `name` below `dir` whose name is a number, in the kernel's order.
/// Reads the directory in pieces of `piece` bytes.
pub fn numbers(dir: impl AsFd, name: &[u8], piece: usize, mut each: impl FnMut(u32)) -> Result<(), Errno> {
    entries(open_list(dir, name)?, piece, |name, _| {
        number(name).into_iter().for_each(&mut each);
        true
    })
}

/// Lists up to `most` of the numbers in a directory of procfs, from the index on that `from` returns for their count. The directory has a
/// link for each of them and two more, and the position of each is its index after `.` and `..` (`proc_task_readdir` of `fs/proc/base.c`).
pub fn numbers_from(
    dir: impl AsFd,
    name: &[u8],
    from: impl FnOnce(usize) -> usize,
    most: usize,
) -> Result<Vec<u32>, Errno> {
    let list = open_list(dir, name)?;
    let count = rustix::fs::fstat(&list)?.st_nlink.saturating_sub(2);
    let from = from(count as usize);
    if from > 0 {
        rustix::fs::seek(&list, rustix::fs::SeekFrom::Start(from as u64 + 2))?;
    }
    let mut found = Vec::new();
    entries(list, 1 << 10, |name, _| {
        found.extend(number(name));
        found.len() < most
    })?;
    Ok(found)
}

pub(crate) fn number(name: &[u8]) -> Option<u32> {
    // The kernel writes no leading zeros. In a made-up tree they would name the same process twice.
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

/// Calls `each` with the name of every directory in the directory at `path`.
pub fn directories(path: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
    let mut buf = Vec::with_capacity(8 << 10);
    let mut entries = RawDir::new(open_list(CWD, path)?, buf.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if entry.file_type() == FileType::Directory && !matches!(name, b"." | b"..") {
            each(name);
        }
    }
    Ok(())
}

/// Opens the directory `path` below `dir` for listing.
pub(super) fn open_list(dir: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, path, flags, Mode::empty())
}

/// Calls `each` with the names in a directory from its current position, each with the position after it, until `each`
/// returns false. Reads pieces of `piece` bytes.
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

/// Returns the capability that this kernel requires for the memory of other users' processes. Since Linux 6.15
/// `CAP_PERFMON` suffices for `smaps` and `smaps_rollup`.
pub fn memory_capability() -> &'static str {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|n| n.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (6, 15) {
        "CAP_PERFMON"
    } else {
        "CAP_SYS_PTRACE"
    }
}

/// Returns advice on a denied file of another user's process. `capability` names the required capability.
pub fn advice(capability: &str) -> String {
    advice_to(rustix::process::geteuid().is_root(), held(capability), capability)
}

/// Returns the capability that this process has and that suffices where `capability` is required.
fn held(capability: &str) -> Option<&'static str> {
    let own = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    match capability {
        "CAP_PERFMON" if own.contains(CapabilitySet::PERFMON) => Some("CAP_PERFMON"),
        _ => own.contains(CapabilitySet::SYS_PTRACE).then_some("CAP_SYS_PTRACE"),
    }
}

/// Returns advice on the denied memory of a process.
pub fn trace_advice() -> String {
    let is_root = rustix::process::geteuid().is_root();
    trace_advice_to(is_root, held("CAP_SYS_PTRACE"), ptrace_scope())
}

/// Returns advice on the denied memory of a process, as [`advice_to`]. `scope` is that of yama.
pub fn trace_advice_to(is_root: bool, held: Option<&str>, scope: Option<u8>) -> String {
    match scope {
        Some(3) => "denied to all: kernel.yama.ptrace_scope is 3, until the machine restarts".to_owned(),
        Some(scope @ 1..) if held.is_none() && !is_root => format!(
            "permission denied; run as root or grant CAP_SYS_PTRACE: kernel.yama.ptrace_scope is {scope}, so the same user is not enough"
        ),
        _ => advice_to(is_root, held, "CAP_SYS_PTRACE"),
    }
}

/// Returns yama's `ptrace_scope`, from 0 to 3, if the kernel has yama: with 1 and more, a user may not trace its own processes
/// (`Documentation/admin-guide/LSM/Yama.rst`).
fn ptrace_scope() -> Option<u8> {
    let mut buf = [0; 8];
    let scope = slurp(b"/proc/sys/kernel/yama/ptrace_scope", &mut buf).ok()?;
    super::parse::number(scope.trim_ascii()).and_then(|scope| u8::try_from(scope).ok())
}

/// Returns `kernel.perf_event_paranoid` if it is above 2, the highest level of the mainline kernel. The kernels of Debian and Ubuntu
/// then let only `CAP_SYS_ADMIN` sample, and `CAP_PERFMON` does not suffice.
pub fn raised_perf_level() -> Option<u64> {
    let mut buf = [0; 8];
    let level = slurp(b"/proc/sys/kernel/perf_event_paranoid", &mut buf).ok()?;
    super::parse::number(level.trim_ascii()).filter(|level| *level > 2)
}

/// Returns advice on a denied file, for root or for another user. `held` is the capability that this process has and
/// that suffices.
///
/// Root is denied in a container without the capability, for a process of another user namespace, and by a security
/// module.
pub fn advice_to(is_root: bool, held: Option<&str>, capability: &str) -> String {
    let denied = if is_root {
        "denied to root, too"
    } else {
        "permission denied"
    };
    match held {
        Some(held) => format!(
            "{denied}, although zmtop has {held}: a security module or another user namespace may be the \
             cause"
        ),
        None if is_root => format!("{denied}: this root has no {capability}"),
        None => format!("{denied}; run as root or as its user, or grant {capability}"),
    }
}

/// Divisor for the descriptors reserved for acting on processes. Open files only make sampling faster, but acting on
/// a process without an open file is unsafe.
const ACTING_SHARE: u64 = 4;
/// Maximum number of descriptors that are reserved for acting.
const MAX_ACTING: u64 = 2000;

/// Returns the number of descriptors that are reserved for acting on processes.
pub fn for_acting() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let share = limit.map_or(MAX_ACTING, |limit| (limit / ACTING_SHARE).min(MAX_ACTING));
    usize::try_from(share).unwrap_or(usize::MAX)
}
