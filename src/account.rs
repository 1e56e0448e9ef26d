//! The accounts of RAM and swap: parts that sum to `MemTotal`, with a line for the unaccounted rest.
//!
//! `zmtop mem` shows them, and forecasts use [`headroom`] and [`countdown`]. The input is a snapshot and the
//! [`AccountingInputs`]. This module reads nothing itself and keeps no state.
//!
//! Each page is in exactly one part:
//!
//! - `AnonPages` are mapped by processes. Pages that are only in the swap cache are a separate part.
//! - `Cached` includes shared memory, so files are `Cached − Shmem`. It excludes `Buffers` and the swap cache.
//! - `VmallocUsed` includes the kernel's stacks (`CONFIG_VMAP_STACK`, usual since Linux 4.14), so they are subtracted.
//!   If a kernel has them elsewhere, they stay unaccounted, but nothing counts twice.
//! - `Percpu` has pages of its own. Those allocated early in the boot are in it but not in `MemTotal`: a few hundred
//!   KiB per CPU, by which the unaccounted rest is too small.
//! - Data in zram and zswap is counted at its compressed size, once. No other counter includes it.
//! - The cache of ZFS takes its pages from the page allocator, and no other counter includes them. Its headers are in
//!   slab.
//! - `MemFree` excludes free pages on the per-CPU lists.
//!
//! The rest consists of pages that drivers, graphics or a balloon allocated and that no counter shows. A small rest may also come
//! from reading the figures one after another.

mod cgroup;
pub mod countdown;
pub mod headroom;
pub mod overview;
mod parts;
pub mod swap;

pub use cgroup::explained;
pub use parts::{ANON, CACHED, FILES, Growth, HUGETLB, PAGE_TABLES, PARTS, PartKind, REST, SHMEM, SLAB};

use crate::group::Coverage;
use crate::group::totals::Totals;
use crate::model::memory::Memory;
use crate::model::process::ProcessSample;
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;
use crate::model::system::{AccountingInputs, SystemSample};

/// The RAM in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// `MemTotal`. For a cgroup, its limit (hard or soft), or the memory charged to it if it has none.
    pub total: Reading<u64>,
    /// The name of `total`.
    pub total_title: &'static str,
    pub parts: Vec<Part>,
    /// `total` minus all known parts. Negative if the parts exceed the total.
    pub rest: Reading<i64>,
    /// The source and formula of `rest`.
    pub rest_help: &'static str,
    /// RAM that the kernel never gave to the page allocator: its own image, page structs and firmware memory. Not in
    /// `total`.
    pub reserved: Reading<u64>,
}

/// A part of the RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in filters, JSON and CSV.
    pub id: &'static str,
    /// Its name in the table.
    pub title: &'static str,
    /// Its source and formula.
    pub help: &'static str,
    /// Its size in bytes. If unknown, the part is included in [`Account::rest`].
    pub bytes: Reading<u64>,
    /// The direction in which the true size may differ; `None` if the size is exact.
    pub bound: Option<Bound>,
    /// Subdivisions, which need not sum to it.
    pub within: Vec<Self>,
}

impl Part {
    const fn new(kind: &PartKind, help: &'static str, bytes: Reading<u64>) -> Self {
        Self {
            id: kind.id,
            title: kind.title,
            help,
            bytes,
            bound: None,
            within: Vec::new(),
        }
    }

    const fn bound(mut self, bound: Option<Bound>) -> Self {
        self.bound = bound;
        self
    }

    /// Adds subdivisions.
    fn with(mut self, within: impl IntoIterator<Item = Self>) -> Self {
        self.within.extend(within);
        self
    }
}

/// The direction in which the true size of a part may differ, if some process that counts in it could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    AtMost,
    AtLeast,
}

impl Bound {
    /// Returns the mark shown before the size.
    pub const fn mark(self) -> char {
        match self {
            Self::AtMost => '≤',
            Self::AtLeast => '≥',
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
        }
    }
}

/// Creates a part. Its id must be in the registry, or this does not compile.
macro_rules! part {
    ($id:literal, $bytes:expr) => {{
        const KIND: &PartKind = PartKind::named($id);
        Part::new(KIND, KIND.help, $bytes)
    }};
}

/// Divides the RAM into parts, or the memory of the cgroup that stands in for the machine.
pub fn account(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Account {
    if let Some(scope) = &s.scope {
        return cgroup::account(s, scope);
    }
    let parts = parts(s, inputs, processes);
    Account {
        total: s.mem_total,
        total_title: "MemTotal",
        rest_help: const { PartKind::named(REST).help },
        rest: rest(s.mem_total, &parts),
        reserved: less(inputs.zones.map(|z| z.present), s.mem_total),
        parts,
    }
}

fn parts(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Vec<Part> {
    let locked = locked_files(s, inputs, processes);
    let files = less(less(s.cached, s.shmem), Ok(locked.unwrap_or(0)));
    // `Mapped` includes shared memory; only the processes show how much of that is mapped.
    let mapped_shmem = processes.memory.and_then(|m| m.pss_shmem);
    let mapped = less(s.mapped, mapped_shmem).and_then(|m| Ok(m.min(files?)));
    let partial = |bound| processes.hidden.map(|_| bound);
    let pools = sum_of(&inputs.huge, |pool| pool.total);
    let unused_pools = sum_of(&inputs.huge, |pool| pool.free);
    vec![
        part!("anon", s.anon_pages).with([part!("anon_huge", s.anon_huge)]),
        part!("swap_cache", swap_cache(s)),
        part!("files", files).with([
            part!("files_mapped", mapped).bound(partial(Bound::AtMost)),
            part!("files_unmapped", less(files, mapped)).bound(partial(Bound::AtLeast)),
        ]),
        part!("files_locked", locked),
        part!("shmem", s.shmem).with([part!("shmem_sysv", inputs.sysv.map(|sysv| sysv.resident))]),
        part!("buffers", s.buffers),
        part!("slab_reclaimable", s.sreclaimable),
        part!(
            "slab_unreclaimable",
            s.sunreclaim.or_else(|_| less(s.slab, s.sreclaimable))
        ),
        part!("kernel_reclaimable", less(s.kreclaimable, s.sreclaimable)),
        part!("kernel_stacks", s.kernel_stack),
        part!("page_tables", s.page_tables),
        part!("sec_page_tables", s.sec_page_tables),
        part!("percpu", s.percpu),
        part!("vmalloc", less(s.vmalloc, s.kernel_stack)),
        part!("gpu", s.gpu).with([part!("gpu_reclaim", s.gpu_reclaim)]),
        part!("arc", s.arc()).with([part!("arc_reclaimable", s.arc_reclaimable())]),
        part!("bounce", s.bounce),
        part!("writeback_tmp", s.writeback_tmp),
        part!("hugetlb", s.hugetlb.or(pools).or(s.huge_pool))
            .with([part!("hugetlb_free", unused_pools.or(s.huge_free))]),
        part!("zram", sum_of(&inputs.zram, |device| device.used)),
        part!("zswap", s.zswap),
        part!("corrupted", s.corrupted),
        part!("free", s.mem_free).with([part!("free_kept_back", kept_back(s, locked))]),
        part!("free_lists", inputs.zones.map(|z| z.free_lists)),
    ]
}

/// Returns what `MemAvailable` leaves out of the free and the reclaimable memory: the reserves of the zones, and the cache that
/// reclaim would keep.
fn kept_back(s: &SystemSample, locked: Reading<u64>) -> Reading<u64> {
    let cache = less(less(s.cached, s.shmem), Ok(locked.unwrap_or(0)))?
        .saturating_add(s.buffers?)
        .saturating_add(s.sreclaimable?);
    less(Ok(s.mem_free?.saturating_add(cache)), s.mem_available)
}

/// Returns the cache of files, without shared memory.
fn file_pages(s: &SystemSample) -> Reading<u64> {
    sum(less(s.cached, s.shmem), s.buffers)
}

/// Returns the pages of files that cannot be reclaimed, at most `Unevictable`. There are two lower bounds: the pages that are on none of
/// the lists of file pages, which may also hold anonymous memory that was lazily freed; and the unevictable pages that neither `mlock(2)`
/// nor `SHM_LOCK` locked.
fn locked_files(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Reading<u64> {
    let files = file_pages(s);
    let lazy = processes.memory.and_then(|memory| memory.lazy_free).unwrap_or(0);
    let listed = s.lru_file.map(|listed| listed.saturating_sub(lazy));
    let segments = match inputs.sysv {
        Err(Missing::Unsupported) => Ok(0),
        sysv => sysv.and_then(|sysv| sysv.locked),
    };
    let others = less(less(s.unevictable, s.mlocked), segments).unwrap_or(0);
    Ok(less(files, listed)?.max(others).min(s.unevictable?).min(files?))
}

/// Returns the pages in the swap cache that no process maps, at most `SwapCached`. The reclaim lists hold each page
/// once: these are their pages that are neither mapped anonymous memory nor page cache.
fn swap_cache(s: &SystemSample) -> Reading<u64> {
    let cached = s.swap_cached?;
    if cached == 0 {
        return Ok(0);
    }
    let others = s.anon_pages?.saturating_add(s.cached?).saturating_add(s.buffers?);
    Ok(s.lru?.saturating_sub(others).min(cached))
}

/// Subtracts all known parts.
fn rest(total: Reading<u64>, parts: &[Part]) -> Reading<i64> {
    let known: i128 = parts.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum();
    Ok(saturated(i128::from(total?) - known))
}

/// Subtracts two figures. The difference is at least 0: since figures are read one after another, it could fall below.
fn less(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_sub(b?))
}

/// Sums a figure over a list. The sum is unknown if the list is.
fn sum_of<T>(all: &Reading<Vec<T>>, figure: impl Fn(&T) -> u64) -> Reading<u64> {
    let all = all.as_deref().map_err(|e| *e)?;
    Ok(all.iter().map(figure).fold(0, u64::saturating_add))
}

/// Converts to 64 bits, saturating.
fn saturated(n: i128) -> i64 {
    i64::try_from(n.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or_default()
}

/// Adds two figures. The sum is unknown if either is.
pub fn sum(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_add(b?))
}

/// The sums over all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTotals {
    /// The number of processes whose memory could be read.
    pub readable: usize,
    /// The number of processes that have memory.
    pub total: usize,
    /// The memory of the readable processes. An address space that several processes share counts once.
    pub memory: Reading<Memory>,
    /// Σ `VmSwap` of the unreadable processes.
    pub swap_unreadable: Reading<u64>,
    /// The reason why the first unreadable process could not be read.
    pub hidden: Option<Missing>,
}

impl ProcessTotals {
    /// Returns sums that are all unknown for one reason.
    pub const fn missing(why: Missing) -> Self {
        Self {
            readable: 0,
            total: 0,
            memory: Err(why),
            swap_unreadable: Err(why),
            hidden: Some(why),
        }
    }

    pub fn of(snapshot: &Snapshot) -> Self {
        Self::of_those(snapshot, |_| true)
    }

    /// Returns the sums over the processes that `is_one` accepts.
    pub fn of_those(snapshot: &Snapshot, is_one: impl Fn(&ProcessSample) -> bool) -> Self {
        let rows = || snapshot.rows().iter().filter(|row| is_one(row));
        let totals = Totals::of(rows(), |_| None);
        let coverage = Coverage::of_rows(rows());
        Self {
            readable: coverage.readable,
            total: coverage.total(),
            memory: snapshot.processes.as_ref().map_err(|e| *e).and(totals.memory),
            swap_unreadable: swap_unreadable(rows()),
            hidden: hidden(rows()).next().map(|(_, why)| why),
        }
    }

    /// Returns true if some process could not be read and the sums are therefore too small.
    pub const fn partial(&self) -> bool {
        self.readable < self.total
    }
}

/// Returns the processes whose memory is hidden, and why.
fn hidden<'a>(rows: impl Iterator<Item = &'a ProcessSample>) -> impl Iterator<Item = (&'a ProcessSample, Missing)> {
    rows.filter_map(|p| Some((p, p.walk.err().filter(|why| why.hides_memory())?)))
}

/// Sums `VmSwap` over the unreadable processes. The sum is unknown if one of them is.
fn swap_unreadable<'a>(rows: impl Iterator<Item = &'a ProcessSample>) -> Reading<u64> {
    hidden(rows).try_fold(0_u64, |sum, (process, why)| {
        Ok(sum.saturating_add(process.counted.swap().ok_or(why)?))
    })
}
