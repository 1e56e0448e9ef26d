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
//! - The cache of ZFS takes its pages from the page allocator, where no other counter has them; its headers are in slab.
//! - Free pages on the lists of each processor are not in `MemFree`.
//!
//! The rest are pages that drivers, graphics, or a balloon took from the page allocator and
//! that no counter shows. As the figures are read one after another, a small rest may also be the time between.

pub mod arithmetic;
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
pub const REST_HELP: &str = "Pages that no counter of the kernel shows: taken by drivers, firmware or a balloon; and what \
     changed while the figures were read. Formula: MemTotal − Σ of all parts.";

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
    let parts = parts::parts(s, inputs, processes);
    let known: i128 = parts.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum();
    Account {
        total: s.mem_total,
        rest: s.mem_total.map(|total| saturated(i128::from(total) - known)),
        reserved: less(inputs.zones.map(|z| z.present), s.mem_total),
        parts,
    }
}
