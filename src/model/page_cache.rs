//! The files whose pages fill the page cache.

use super::{Missing, Reading};
use crate::text::{self, named};
use crate::units::{self, Units};

/// The part of a file that is in memory, in bytes of whole pages: the figures of `cachestat(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheFigures {
    pub cached: u64,
    /// Changed, and not written to the disk yet. `mincore(2)`, which kernels before 6.5 have instead, reports the cached pages
    /// alone.
    pub dirty: Reading<u64>,
    pub writeback: Reading<u64>,
    /// Was cached once and was reclaimed since, as far as the kernel remembers.
    pub evicted: Reading<u64>,
    /// Was reclaimed so recently that a read of it now would mean that memory is short.
    pub recently_evicted: Reading<u64>,
}

impl CacheFigures {
    /// The sum of no file.
    pub const NONE: Self = Self::only(0, Ok(0));

    /// Creates figures that have only the cached bytes; the others are `rest`.
    pub const fn only(cached: u64, rest: Reading<u64>) -> Self {
        Self {
            cached,
            dirty: rest,
            writeback: rest,
            evicted: rest,
            recently_evicted: rest,
        }
    }

    /// Adds figures. A sum is unknown only if both summands are.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        let both = |a: Reading<u64>, b: Reading<u64>| match (a, b) {
            (Ok(a), Ok(b)) => Ok(a.saturating_add(b)),
            (one, other) => one.or(other),
        };
        Self {
            cached: self.cached.saturating_add(other.cached),
            dirty: both(self.dirty, other.dirty),
            writeback: both(self.writeback, other.writeback),
            evicted: both(self.evicted, other.evicted),
            recently_evicted: both(self.recently_evicted, other.recently_evicted),
        }
    }
}

named! {
    /// The kind of memory that the pages of a file count as.
    pub enum FileKind {
        /// The page cache: the file is on a disk or a server.
        Cache = "cache",
        /// Shared memory: a file of tmpfs, whose pages are its only copy.
        Shmem = "shmem",
    }
}

/// A file, and its cached part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedFile {
    /// Raw, as its process sees it.
    pub path: Box<[u8]>,
    /// It was removed or replaced, and is kept by those that use it.
    pub is_deleted: bool,
    pub kind: FileKind,
    pub size: Reading<u64>,
    pub figures: Reading<CacheFigures>,
    /// The number of examined processes that have it open or mapped. Unknown if there is none, and some could not be looked at.
    pub processes: Reading<u32>,
    /// The process among them with the lowest pid, and its raw short name.
    pub first: Option<(u32, Box<[u8]>)>,
}

impl CachedFile {
    /// Describes the file, its size in memory and the first process that has it open, safe to print: `queue.dat 224M, open in 6576
    /// python3`.
    pub fn text(&self, units: Units) -> String {
        let size = self
            .figures
            .map_or_else(|why| why.to_string(), |figures| units::bytes(figures.cached, units));
        let holder = match (&self.first, self.processes) {
            (Some((pid, comm)), _) => format!(", open in {pid} {}", text::safe(comm)),
            (None, Ok(0)) => ", open in no process".into(),
            (None, _) => String::new(),
        };
        format!("{} {size}{holder}", text::safe(&self.path))
    }

    /// Describes the file by its name without the folder, and the first process that has it open, safe to print: `queue.dat, open in
    /// 6576 python3`.
    pub fn short_text(&self) -> String {
        let name = self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let holder = self.first.as_ref();
        let holder = holder.map(|(pid, comm)| format!(", open in {pid} {}", text::safe(comm)));
        format!("{}{}", text::safe(name), holder.unwrap_or_default())
    }

    /// Returns the share of its pages that is cached. `page` is the page size.
    pub fn share(&self, page: u64) -> Option<f64> {
        let pages = self.size.ok()?.div_ceil(page);
        let cached = self.figures.ok()?.cached / page;
        (pages > 0).then(|| (cached as f64 / pages as f64).min(1.0))
    }
}

/// The files that processes have open or mapped, or that were named, and their cached parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCache {
    /// True if it covers all processes, rather than the named files, processes or cgroups.
    pub is_of_all: bool,
    /// The files that were read, in no particular order.
    pub files: Vec<CachedFile>,
    /// The number of those left out, which are smaller, and the sum of their sizes.
    pub left_out: (u64, u64),
    /// Processes whose files could not be listed, and why.
    pub unread_processes: Vec<(u32, Missing)>,
    /// Named files and directories that could not be listed, and why.
    pub unread_paths: Vec<(Box<[u8]>, Missing)>,
    /// The page cache of the whole machine: `Cached − Shmem` of meminfo.
    pub machine: Reading<u64>,
    /// The size of a page in bytes.
    pub page: u64,
}

impl PageCache {
    /// Returns the sums of the files of that kind.
    pub fn total(&self, kind: FileKind) -> CacheFigures {
        total(self.files.iter(), kind)
    }

    /// Returns how many files are refused for that reason.
    pub fn unread(&self, why: Missing) -> usize {
        let unread = self.files.iter().filter(|file| file.figures == Err(why));
        unread.count()
    }
}

/// Returns the sums of the files of that kind, of as many as are known.
pub fn total<'a>(files: impl Iterator<Item = &'a CachedFile>, kind: FileKind) -> CacheFigures {
    let of_kind = files.filter(|file| file.kind == kind);
    let sum = of_kind
        .filter_map(|file| file.figures.ok())
        .reduce(|sum, figures| sum.plus(&figures));
    sum.unwrap_or(CacheFigures::NONE)
}
