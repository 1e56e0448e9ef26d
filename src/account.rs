//! The accounts of RAM and swap: parts that sum to `MemTotal`, with a line for what nobody accounts for.
//!
//! `zmtop mem` shows them, and forecasts use [`headroom`] and [`countdown`]. This room takes a snapshot and the [`AccountingInputs`]; it
//! reads nothing itself and keeps nothing.
//!
//! Each page is in one part only:
//!
//! - `AnonPages` are mapped by processes; pages that are only in the swap cache are a part of their own.
//! - `Cached` holds shared memory too: files are `Cached − Shmem`. It does not hold `Buffers` or the swap
//!   cache.
//! - `VmallocUsed` holds the kernel's stacks (`CONFIG_VMAP_STACK`, usual since Linux 4.14): they are taken
//!   off. Where a kernel has them elsewhere that much stays unaccounted, but nothing counts twice.
//! - `Percpu` has pages of its own; those of the first moments of a boot are in it and not in `MemTotal`, a
//!   few hundred KiB a processor, which makes what is unaccounted look that much smaller.
//! - What zram and zswap hold compressed is counted compressed, once: nothing else counts it.
//! - Free pages on the lists of each processor are not in `MemFree`.
//!
//! The rest are pages that drivers, graphics, file systems such as ZFS, or a balloon took from the page allocator and
//! that no counter shows. As the figures are read one after another, a small rest may also be the time between.

pub mod countdown;
pub mod headroom;
pub mod overview;
pub mod swap;

use crate::group::Coverage;
use crate::group::totals::Totals;
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;
use crate::model::system::{AccountingInputs, SystemSample};

/// The sums over all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTotals {
    /// The number of processes whose memory could be read.
    pub readable: usize,
    /// The number of processes that have memory.
    pub total: usize,
    /// Σ PSS of those that could be read.
    pub pss: Reading<u64>,
    /// Σ of its shmem part.
    pub pss_shmem: Reading<u64>,
    /// Σ USS.
    pub uss: Reading<u64>,
    /// Σ `SwapPss`.
    pub swap_pss: Reading<u64>,
    /// The reason that the first unreadable process could not be read.
    pub hidden: Option<Missing>,
}

impl ProcessTotals {
    /// Sums the processes of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        // Counts an address space that several processes share once.
        let totals = Totals::of(snapshot.rows(), |_| None);
        let coverage = Coverage::of(snapshot);
        let (readable, total) = (coverage.readable, coverage.total());
        let memory = snapshot.processes.as_ref().map_err(|e| *e).and(totals.memory);
        Self {
            readable,
            total,
            pss: memory.map(|m| m.pss),
            pss_shmem: memory.and_then(|m| m.pss_shmem),
            uss: memory.map(|m| m.uss()),
            swap_pss: memory.and_then(|m| m.swap_pss),
            hidden: snapshot
                .rows()
                .iter()
                .filter_map(|p| p.walk.err())
                .find(|e| e.hides_memory()),
        }
    }

    /// Returns true if some process could not be read, so that the sums are too small.
    pub const fn partial(&self) -> bool {
        self.readable < self.total
    }

    /// Returns a sum if no process is missing in it.
    fn whole(&self, sum: Reading<u64>) -> Reading<u64> {
        self.hidden.map_or(sum, Err)
    }
}

/// A part of the RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in JSON and CSV.
    pub id: &'static str,
    /// Its name in the table.
    pub title: &'static str,
    /// Its size in bytes; an unknown part is in [`Account::rest`].
    pub bytes: Reading<u64>,
    /// Parts of this part; they need not sum to it.
    pub within: Vec<Part>,
}

impl Part {
    const fn new(id: &'static str, title: &'static str, bytes: Reading<u64>) -> Self {
        Self {
            id,
            title,
            bytes,
            within: Vec::new(),
        }
    }

    fn with(mut self, within: impl IntoIterator<Item = Self>) -> Self {
        self.within.extend(within);
        self
    }
}

/// The RAM in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// `MemTotal`.
    pub total: Reading<u64>,
    /// The parts.
    pub parts: Vec<Part>,
    /// `total` less all known parts. Negative where more was counted than there is.
    pub rest: Reading<i64>,
    /// RAM that the kernel never gave to the page allocator: its own image, page structs, the firmware's. Not in `total`.
    pub reserved: Reading<u64>,
}

/// Divides the RAM into parts.
pub fn account(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Account {
    let parts = [user(s, processes), kernel(s), pools(s, inputs), free(s, inputs)].concat();
    let known: i128 = parts.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum();
    Account {
        total: s.mem_total,
        rest: s.mem_total.map(|total| saturated(i128::from(total) - known)),
        reserved: less(inputs.zones.map(|z| z.present), s.mem_total),
        parts,
    }
}

/// Returns the memory of processes and files.
fn user(s: &SystemSample, processes: &ProcessTotals) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    // `Mapped` counts shared memory too; how much of that is mapped only the processes tell.
    let mapped = less(s.mapped, processes.whole(processes.pss_shmem)).and_then(|m| Ok(m.min(files?)));
    vec![
        Part::new("anon", "anonymous memory of processes", s.anon_pages).with([Part::new(
            "anon_huge",
            "in huge pages",
            s.anon_huge,
        )]),
        Part::new("swap_cache", "swap cache beside it", swap_cache(s)),
        Part::new("files", "file cache", files).with([
            Part::new("files_mapped", "mapped by processes", mapped),
            Part::new("files_unmapped", "not mapped", less(files, mapped)),
        ]),
        Part::new("shmem", "shared memory and tmpfs", s.shmem),
        Part::new("buffers", "buffers of block devices", s.buffers),
    ]
}

/// Returns the pages in the swap cache that no process maps: of the pages on the reclaim lists, which hold each page
/// once, those that are neither mapped anonymous memory nor page cache. At most `SwapCached`.
fn swap_cache(s: &SystemSample) -> Reading<u64> {
    let cached = s.swap_cached?;
    if cached == 0 {
        return Ok(0);
    }
    let others = s.anon_pages?.saturating_add(s.cached?).saturating_add(s.buffers?);
    Ok(s.lru?.saturating_sub(others).min(cached))
}

/// Returns the kernel's own memory.
fn kernel(s: &SystemSample) -> Vec<Part> {
    let unreclaimable = s.sunreclaim.or_else(|_| less(s.slab, s.sreclaimable));
    vec![
        Part::new("slab_reclaimable", "slab, reclaimable", s.sreclaimable),
        Part::new("slab_unreclaimable", "slab, unreclaimable", unreclaimable),
        Part::new(
            "kernel_reclaimable",
            "other reclaimable kernel memory",
            less(s.kreclaimable, s.sreclaimable),
        ),
        Part::new("kernel_stacks", "kernel stacks", s.kernel_stack),
        Part::new("page_tables", "page tables", s.page_tables),
        Part::new(
            "sec_page_tables",
            "page tables of guests and devices",
            s.sec_page_tables,
        ),
        Part::new("percpu", "per-processor memory", s.percpu),
        Part::new(
            "vmalloc",
            "vmalloc: modules, BPF, tables",
            less(s.vmalloc, s.kernel_stack),
        ),
        Part::new("gpu", "graphics", s.gpu),
        Part::new("bounce", "bounce buffers", s.bounce),
        Part::new("writeback_tmp", "FUSE write-back copies", s.writeback_tmp),
    ]
}

/// Returns memory that is reserved, or holds compressed pages.
fn pools(s: &SystemSample, inputs: &AccountingInputs) -> Vec<Part> {
    let total = sum_of(&inputs.huge, |pool| pool.total);
    let idle = sum_of(&inputs.huge, |pool| pool.free);
    vec![
        Part::new("hugetlb", "huge page pools", s.hugetlb.or(total).or(s.huge_pool)).with([Part::new(
            "hugetlb_free",
            "free",
            idle.or(s.huge_free),
        )]),
        Part::new("zram", "zram, compressed", sum_of(&inputs.zram, |device| device.used)),
        Part::new("zswap", "zswap, compressed", s.zswap),
        Part::new("corrupted", "bad RAM", s.corrupted),
    ]
}

/// Returns free memory.
fn free(s: &SystemSample, inputs: &AccountingInputs) -> Vec<Part> {
    vec![
        Part::new("free", "free", s.mem_free),
        Part::new(
            "free_lists",
            "free, on processors' lists",
            inputs.zones.map(|z| z.free_lists),
        ),
    ]
}

/// Subtracts two figures. As they are read one after another, the difference may fall below zero; it is 0 then.
fn less(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_sub(b?))
}

/// Sums a figure over a list, if there is one.
fn sum_of<T>(all: &Reading<Vec<T>>, figure: impl Fn(&T) -> u64) -> Reading<u64> {
    let all = all.as_deref().map_err(|e| *e)?;
    Ok(all.iter().map(figure).fold(0, u64::saturating_add))
}

/// Converts to 64 bits, saturating.
fn saturated(n: i128) -> i64 {
    i64::try_from(n.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or_default()
}
