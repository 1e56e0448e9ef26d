//! Reads which part of a file is in the page cache: `cachestat(2)`, or `mincore(2)` if the kernel lacks it.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use rustix::fs::{Access, AtFlags, CWD, FsWord, Statx, accessat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use super::files;
use super::parse::{mount_lines, number};
use crate::model::page_cache::{CacheFigures, FileKind};
use crate::model::{Missing, Reading};

/// The number of `cachestat` on all architectures but alpha and mips, on which it is not used.
#[cfg(not(any(target_arch = "mips", target_arch = "mips64")))]
const CACHESTAT: Option<libc::c_long> = Some(451);
#[cfg(any(target_arch = "mips", target_arch = "mips64"))]
const CACHESTAT: Option<libc::c_long> = None;

/// Bytes of a file that one call covers: the kernel examines each cached page, so that a call takes less than a second.
const PIECE: u64 = 16 << 30;
/// Maximum number of pieces. Those of larger files are larger: the machine has no more pages to examine.
const MAX_PIECES: u64 = 1024;
/// The same for `mincore`, which examines all pages and writes a byte for each.
const MINCORE_PIECE: u64 = 1 << 30;
const MINCORE_MAX: u64 = MAX_PIECES * MINCORE_PIECE;

const OVERLAYFS: FsWord = 0x794c_7630;
const TMPFS: FsWord = 0x0102_1994;

/// The file systems whose files have no pages in a cache, as `mountinfo` names them. To open one of their files may have
/// an effect. Most of their files have no size, and such files are never opened.
const WITHOUT_PAGES: [&[u8]; 19] = [
    b"binfmt_misc",
    b"bpf",
    b"cgroup",
    b"cgroup2",
    b"configfs",
    b"debugfs",
    b"devpts",
    b"efivarfs",
    b"fusectl",
    b"hugetlbfs",
    b"mqueue",
    b"nfsd",
    b"proc",
    b"pstore",
    b"rpc_pipefs",
    b"securityfs",
    b"selinuxfs",
    b"sysfs",
    b"tracefs",
];

/// The kind of a file system, and whether it holds the pages of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    pub kind: FileKind,
    /// Its files are files of another file system, to which their pages belong: `cachestat` finds none.
    pub is_overlay: bool,
}

impl FileSystem {
    /// A file system on a disk or a server.
    pub const PLAIN: Self = Self {
        kind: FileKind::Cache,
        is_overlay: false,
    };

    /// Returns the file system of that name; `None` if its files have no pages.
    pub fn named(name: &[u8]) -> Option<Self> {
        let kind = match name {
            b"tmpfs" | b"devtmpfs" => FileKind::Shmem,
            _ => FileKind::Cache,
        };
        (!WITHOUT_PAGES.contains(&name)).then_some(Self {
            kind,
            is_overlay: name == b"overlay",
        })
    }

    /// Returns the file system of that type (`f_type` of `statfs`), for file systems that no `mountinfo` lists, such as the
    /// one of memfds.
    pub const fn of_type(magic: FsWord) -> Self {
        Self {
            kind: if magic == TMPFS {
                FileKind::Shmem
            } else {
                FileKind::Cache
            },
            is_overlay: magic == OVERLAYFS,
        }
    }
}

/// Returns the mounted file systems by device number, as a `mountinfo` lists them, without the first one: `rootfs` is
/// tmpfs or ramfs.
pub fn file_systems(mountinfo: &[u8]) -> impl Iterator<Item = ((u32, u32), Option<FileSystem>)> {
    let lines = mount_lines(mountinfo).filter(|line| line.kind != b"rootfs");
    lines.filter_map(|line| {
        let colon = line.device.iter().position(|b| *b == b':')?;
        let part = |digits| u32::try_from(number(digits)?).ok();
        let device = (part(&line.device[..colon])?, part(&line.device[colon + 1..])?);
        Some((device, FileSystem::named(line.kind)))
    })
}

/// Returns the cached part of a regular file. Reads no page of it. Calls `progress` between slow system calls.
///
/// # Errors
/// [`Missing::Denied`] if the kernel does not report this to the user: `cachestat` (since 6.15) and `mincore` (since 5.2) report
/// only the owner of a file and users with write access. `mincore` then says that all of it is cached.
pub fn figures(file: BorrowedFd<'_>, stat: &Statx, is_overlay: bool, progress: &dyn Fn()) -> Reading<CacheFigures> {
    let counted = if is_overlay {
        Err(Errno::OPNOTSUPP)
    } else {
        cachestat(file, stat.stx_size, progress)
    };
    counted.or_else(|_| {
        if !mincore_is_true(file, stat) {
            return Err(Missing::Denied);
        }
        let cached = mincore(file, stat.stx_size, progress).map_err(files::reason)?;
        Ok(CacheFigures::only(cached, Err(Missing::Unsupported)))
    })
}

/// `struct cachestat_range` and `struct cachestat` of `include/uapi/linux/mman.h`.
#[repr(C)]
struct Range {
    off: u64,
    len: u64,
}

#[repr(C)]
#[derive(Default)]
struct Counts {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Counts the pages of a file of `size` bytes.
///
/// # Errors
/// `ENOSYS` before Linux 6.5 and under many seccomp filters; `EPERM`; `EOPNOTSUPP` for hugetlbfs.
pub fn cachestat(file: BorrowedFd<'_>, size: u64, progress: &dyn Fn()) -> Result<CacheFigures, Errno> {
    let call = CACHESTAT.ok_or(Errno::NOSYS)?;
    let page = rustix::param::page_size() as u64;
    let mut sum = CacheFigures::NONE;
    let piece = piece(size);
    for off in pieces(size, piece) {
        progress();
        // A length of 0 means up to the end.
        let len = if size - off <= piece { 0 } else { piece };
        let (range, mut counts) = (Range { off, len }, Counts::default());
        #[expect(unsafe_code, reason = "no library offers cachestat(2)")]
        // SAFETY: both structures are as the kernel defines them, and live during the call. It reads the range, and writes whole
        // numbers to the counts.
        let done = unsafe { libc::syscall(call, file.as_raw_fd(), &raw const range, &raw mut counts, 0) };
        if done != 0 {
            return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
        }
        let bytes = |pages: u64| pages.saturating_mul(page);
        sum = sum.plus(&CacheFigures {
            cached: bytes(counts.cache),
            dirty: Ok(bytes(counts.dirty)),
            writeback: Ok(bytes(counts.writeback)),
            evicted: Ok(bytes(counts.evicted)),
            recently_evicted: Ok(bytes(counts.recently_evicted)),
        });
    }
    Ok(sum)
}

/// Returns how many bytes of a file of `size` bytes one `cachestat` covers: whole pages.
pub fn piece(size: u64) -> u64 {
    size.div_ceil(MAX_PIECES).next_multiple_of(PIECE).max(PIECE)
}

/// Returns the offsets of the pieces of a file of `size` bytes.
fn pieces(size: u64, piece: u64) -> impl Iterator<Item = u64> {
    (0..size.div_ceil(piece)).map(move |at| at * piece)
}

/// Returns true if `mincore` reports to this user which pages of the file are cached (`can_do_mincore` of `mm/mincore.c`).
fn mincore_is_true(file: BorrowedFd<'_>, stat: &Statx) -> bool {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    stat.stx_uid == rustix::process::geteuid().as_raw()
        || accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Returns how many bytes of a file of `size` bytes are cached. Maps the file for that, without touching a page.
///
/// # Errors
/// `ENODEV` if the file cannot be mapped; `EFBIG` if it has more than 1 TiB.
pub fn mincore(file: BorrowedFd<'_>, size: u64, progress: &dyn Fn()) -> Result<u64, Errno> {
    if size > MINCORE_MAX {
        return Err(Errno::FBIG);
    }
    let page = rustix::param::page_size();
    let longest = usize::try_from(size.min(MINCORE_PIECE)).map_err(|_| Errno::OVERFLOW)?;
    let mut is_cached = vec![0_u8; longest.div_ceil(page)];
    let mut pages = 0;
    for off in pieces(size, MINCORE_PIECE) {
        progress();
        let len = longest.min(usize::try_from(size - off).unwrap_or(longest));
        #[expect(unsafe_code, reason = "no library offers mincore(2)")]
        // SAFETY: the kernel chooses the place of the mapping, so that it replaces no other. Nothing can access it, and it ends here:
        // if the file shrinks meanwhile, nothing faults. The vector has a byte for each page of `len`, which is at most `longest`.
        let done = unsafe {
            let area = rustix::mm::mmap(null_mut(), len, ProtFlags::empty(), MapFlags::PRIVATE, file, off)?;
            let done = match libc::mincore(area, len, is_cached.as_mut_ptr().cast()) {
                0 => Ok(()),
                _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            };
            rustix::mm::munmap(area, len)?;
            done
        };
        done?;
        // The other bits are reserved.
        let of_piece = is_cached[..len.div_ceil(page)].iter();
        pages += of_piece.filter(|flags| **flags & 1 == 1).count() as u64;
    }
    Ok(pages.saturating_mul(page as u64))
}
