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
//! The rest consists of pages that drivers, graphics or a balloon took from the page allocator and that no counter
//! shows. A small rest may also come from reading the figures one after another.

mod cgroup;
pub mod countdown;
pub mod headroom;
mod machine;
pub mod overview;
mod parts;
mod processes;
pub mod swap;

pub use parts::{Growth, PARTS, PartKind, REST, SLAB};
pub use processes::ProcessTotals;

use crate::model::reading::Reading;
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

/// Divides the RAM into parts, or the memory of the cgroup that stands in for the machine.
pub fn account(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Account {
    if let Some(scope) = &s.scope {
        return cgroup::account(s, scope);
    }
    let parts = machine::parts(s, inputs, processes);
    Account {
        total: s.mem_total,
        total_title: "MemTotal",
        rest_help: const { PartKind::named(REST).help },
        rest: rest(s.mem_total, &parts),
        reserved: less(inputs.zones.map(|z| z.present), s.mem_total),
        parts,
    }
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
