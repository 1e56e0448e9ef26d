//! RAM and swap at a glance, and what is compressed.

use crate::account::less;
use crate::model::Reading;
use crate::model::system::{AccountingInputs, SwapArea, SystemSample};

/// One line of the overview, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverviewRow {
    /// All there is.
    pub total: Reading<u64>,
    /// What is in use. Of RAM `MemTotal − MemAvailable`, as `free` counts: what could not be had by starting
    /// another program. Of swap `SwapTotal − SwapFree`.
    pub used: Reading<u64>,
    /// What is empty.
    pub free: Reading<u64>,
    /// `Shmem`: shared memory and tmpfs.
    pub shared: Reading<u64>,
    /// `Buffers + Cached + SReclaimable`; of swap `SwapCached`.
    pub cache: Reading<u64>,
    /// `MemAvailable`: what programs could still have without swapping; of swap what is free.
    pub available: Reading<u64>,
}

/// RAM.
pub fn ram(s: &SystemSample) -> OverviewRow {
    OverviewRow {
        total: s.mem_total,
        used: less(s.mem_total, s.mem_available),
        free: s.mem_free,
        shared: s.shmem,
        cache: sum(sum(s.buffers, s.cached), s.sreclaimable),
        available: s.mem_available,
    }
}

/// Swap. Nothing of it is shared.
pub fn swap(s: &SystemSample) -> OverviewRow {
    OverviewRow {
        total: s.swap_total,
        used: s.swap_used(),
        free: s.swap_free,
        shared: Ok(0),
        cache: s.swap_cached,
        available: s.swap_free,
    }
}

/// RAM and swap together; unknown where either is.
pub fn both(ram: &OverviewRow, swap: &OverviewRow) -> OverviewRow {
    OverviewRow {
        total: sum(ram.total, swap.total),
        used: sum(ram.used, swap.used),
        free: sum(ram.free, swap.free),
        shared: sum(ram.shared, swap.shared),
        cache: sum(ram.cache, swap.cache),
        available: sum(ram.available, swap.available),
    }
}

/// A sum; unknown where either is.
pub fn sum(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_add(b?))
}

/// Something that holds pages compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressedPool {
    /// `zswap`, or a zram device.
    pub name: Box<str>,
    /// What it holds, uncompressed.
    pub stored: Reading<u64>,
    /// The RAM that takes.
    pub in_ram: Reading<u64>,
    /// What it has written back to a disk. zswap's is swapped out like any other.
    pub on_disk: Reading<u64>,
    /// How much it may store: a device's size.
    pub size: Reading<u64>,
}

impl CompressedPool {
    /// How often smaller; `None` where nothing is stored.
    pub fn ratio(&self) -> Reading<Option<f64>> {
        let (stored, in_ram) = (self.stored?, self.in_ram?);
        Ok((stored > 0 && in_ram > 0).then(|| stored as f64 / in_ram as f64))
    }
}

/// zswap, and the zram devices.
pub fn compressed(s: &SystemSample, inputs: &AccountingInputs) -> Vec<CompressedPool> {
    use crate::model::Missing;
    let mut all = vec![CompressedPool {
        name: "zswap".into(),
        stored: s.zswapped,
        in_ram: s.zswap,
        on_disk: swapped_to_disk(s),
        size: Err(Missing::Unsupported),
    }];
    let devices = inputs.zram.as_deref().unwrap_or_default();
    all.extend(devices.iter().map(|d| CompressedPool {
        name: d.name.clone(),
        stored: Ok(d.stored),
        in_ram: Ok(d.used),
        on_disk: d.on_disk,
        size: d.size,
    }));
    all
}

/// What lies on the disks of swap areas: used, less what lies on zram, and less what zswap holds back.
pub fn swapped_to_disk(s: &SystemSample) -> Reading<u64> {
    let areas = s.swaps.as_deref().map_err(|e| *e)?;
    let used = areas.iter().filter(|a| !a.on_zram()).map(|a| a.used);
    let used = used.fold(0, u64::saturating_add);
    // A kernel without zswap holds nothing back.
    Ok(used.saturating_sub(s.zswapped.unwrap_or(0)))
}

/// What lies on zram's areas of swap.
pub fn swapped_to_zram(s: &SystemSample) -> Reading<u64> {
    let areas = s.swaps.as_deref().map_err(|e| *e)?;
    let used = areas.iter().filter(|a| SwapArea::on_zram(a)).map(|a| a.used);
    Ok(used.fold(0, u64::saturating_add))
}
