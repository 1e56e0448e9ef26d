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

pub mod arithmetic;
mod cgroup;
pub mod countdown;
pub mod headroom;
pub mod overview;
mod part;
mod parts;
mod processes;
pub mod shmem;
pub mod swap;

pub use part::{Bound, Part};
pub use processes::ProcessTotals;

use crate::account::arithmetic::{less, saturated};
use crate::model::reading::Reading;
use crate::model::system::{AccountingInputs, SystemSample};

/// The source and formula of [`Account::rest`].
const REST_HELP: &str = "Pages that no counter of the kernel shows: taken by drivers, firmware or a balloon; and what \
     changed while the figures were read. Formula: MemTotal − Σ of all parts.";

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

/// Divides the RAM into parts, or the memory of the cgroup that stands in for the machine.
pub fn account(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Account {
    if let Some(scope) = &s.scope {
        return cgroup::account(s, scope);
    }
    let parts = parts::parts(s, inputs, processes);
    let known: i128 = parts.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum();
    Account {
        total: s.mem_total,
        total_title: "MemTotal",
        rest_help: REST_HELP,
        rest: s.mem_total.map(|total| saturated(i128::from(total) - known)),
        reserved: less(inputs.zones.map(|z| z.present), s.mem_total),
        parts,
    }
}
