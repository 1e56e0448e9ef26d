//! Where the RAM went: parts that sum to `MemTotal`, with a line for what nobody accounts for.
//!
//! Each page is in one part only:
//!
//! - `AnonPages` are those that processes map; what is only in the swap cache is a part of its own.
//! - `Cached` holds shared memory too: files are `Cached − Shmem`. It does not hold `Buffers` or the swap
//!   cache.
//! - `VmallocUsed` holds the kernel's stacks (`CONFIG_VMAP_STACK`, usual since Linux 4.14): they are taken
//!   off. Where a kernel has them elsewhere that much stays unaccounted, but nothing counts twice.
//! - `Percpu` has pages of its own; those of the first moments of a boot are in it and not in `MemTotal`, a
//!   few hundred KiB a processor, which makes what is unaccounted look that much smaller.
//! - What zram and zswap hold compressed is counted compressed, once: nothing else counts it.
//! - Free pages on the lists of each processor are not in `MemFree`.
//!
//! The rest are pages that drivers, graphics, file systems such as ZFS, or a balloon took from the page
//! allocator without telling: or, since each figure is of its own moment, nothing but the time between.

pub mod headroom;
pub mod overview;
pub mod swap;

use crate::group::Coverage;
use crate::group::totals::Totals;
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;
use crate::model::system::{AccountingInputs, SystemSample};

/// What all processes together say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTotals {
    /// How many processes have memory that could be read.
    pub readable: usize,
    /// How many have any.
    pub of: usize,
    /// Σ PSS of those that could be read.
    pub pss: Reading<u64>,
    /// Σ of its shmem part.
    pub pss_shmem: Reading<u64>,
    /// Σ USS.
    pub uss: Reading<u64>,
    /// Σ `SwapPss`.
    pub swap_pss: Reading<u64>,
    /// Why one of those that could not be read could not.
    pub hidden: Option<Missing>,
}

impl ProcessTotals {
    /// The sums over a snapshot's processes.
    pub fn of(snapshot: &Snapshot) -> Self {
        // Counts an address space that several processes share once.
        let totals = Totals::of(snapshot.rows(), |_| None);
        let coverage = Coverage::of(snapshot);
        let (readable, of) = (coverage.readable, coverage.total());
        let memory = snapshot.processes.as_ref().map_err(|e| *e).and(totals.memory);
        Self {
            readable,
            of,
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

    /// Some process could not be read: the sums are too small.
    pub const fn partial(&self) -> bool {
        self.readable < self.of
    }

    /// A sum, if nobody is missing in it.
    fn whole(&self, sum: Reading<u64>) -> Reading<u64> {
        self.hidden.map_or(sum, Err)
    }
}

/// One part of the RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in JSON and CSV.
    pub id: &'static str,
    /// Its name in the table.
    pub title: &'static str,
    /// Bytes; where they are unknown they are in [`Account::rest`].
    pub bytes: Reading<u64>,
    /// What of it is what; not to be summed.
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
    /// `total` less all parts that are known. Below zero where more was counted than there is.
    pub rest: Reading<i64>,
    /// RAM that the kernel knows of and never gave to the page allocator: its own image, page structs, what
    /// the firmware keeps. Not in `total`.
    pub reserved: Reading<u64>,
}

/// Accounts for the RAM.
pub fn account(s: &SystemSample, inputs: &AccountingInputs, userland: &ProcessTotals) -> Account {
    let parts = [user(s, userland), kernel(s), pools(s, inputs), free(s, inputs)].concat();
    let known = parts.iter().filter_map(|p| p.bytes.ok()).map(i128::from);
    let known: i128 = known.sum();
    let rest = |total: u64| {
        let rest = (i128::from(total) - known).clamp(i64::MIN.into(), i64::MAX.into());
        i64::try_from(rest).unwrap_or_default()
    };
    Account {
        total: s.mem_total,
        rest: s.mem_total.map(rest),
        reserved: less(inputs.zones.map(|z| z.present), s.mem_total),
        parts,
    }
}

/// What processes and files hold.
fn user(s: &SystemSample, userland: &ProcessTotals) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    // `Mapped` counts shared memory too. What of that is mapped only the processes know.
    let mapped = less(s.mapped, userland.whole(userland.pss_shmem)).and_then(|m| Ok(m.min(files?)));
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

/// Pages that are in the swap cache and that no process maps: of those on the lists of reclaim, which hold
/// each page once, what is neither mapped anonymous memory nor page cache. At most `SwapCached`.
fn swap_cache(s: &SystemSample) -> Reading<u64> {
    let cached = s.swap_cached?;
    if cached == 0 {
        return Ok(0);
    }
    let others = s.anon_pages?.saturating_add(s.cached?).saturating_add(s.buffers?);
    Ok(s.lru?.saturating_sub(others).min(cached))
}

/// What the kernel holds for itself.
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

/// What is set aside, and what is held compressed.
fn pools(s: &SystemSample, inputs: &AccountingInputs) -> Vec<Part> {
    let pools = inputs.huge.as_deref().map_err(|e| *e);
    let total = pools.map(|p| p.iter().map(|p| p.total).fold(0, u64::saturating_add));
    let idle = pools.map(|p| p.iter().map(|p| p.free).fold(0, u64::saturating_add));
    let zram = inputs.zram.as_deref().map_err(|e| *e);
    vec![
        Part::new("hugetlb", "huge page pools", s.hugetlb.or(total).or(s.huge_pool)).with([Part::new(
            "hugetlb_free",
            "free",
            idle.or(s.huge_free),
        )]),
        Part::new(
            "zram",
            "zram, compressed",
            zram.map(|z| z.iter().map(|z| z.used).fold(0, u64::saturating_add)),
        ),
        Part::new("zswap", "zswap, compressed", s.zswap),
        Part::new("corrupted", "bad RAM", s.corrupted),
    ]
}

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

/// A difference of two figures, each of its own moment: never below zero.
fn less(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_sub(b?))
}
