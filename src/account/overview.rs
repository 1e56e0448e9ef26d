//! Sums up RAM, swap, and the pools of compressed pages in one line each.

use crate::account::sum;
use crate::model::system::{AccountingInputs, SystemSample};
use crate::model::{Missing, Reading};

/// A line of the overview, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverviewRow {
    /// The size of RAM, or of swap.
    pub total: Reading<u64>,
    /// In use. RAM: `MemTotal` − available. Swap: `SwapTotal − SwapFree`.
    pub used: Reading<u64>,
    pub free: Reading<u64>,
    /// `Shmem`: shared memory and tmpfs.
    pub shared: Reading<u64>,
    /// RAM: `Buffers + Cached + SReclaimable`. Swap: `SwapCached`.
    pub cache: Reading<u64>,
    /// RAM: [what programs could still have](SystemSample::available) without swapping. Swap: the free part.
    pub available: Reading<u64>,
}

pub fn ram(s: &SystemSample) -> OverviewRow {
    let reclaimable_slab = match s.sreclaimable {
        // cgroup v1 does not distinguish kinds of slab.
        Err(Missing::Unsupported) if s.scope.is_some() => Ok(0),
        known => known,
    };
    OverviewRow {
        total: s.mem_total,
        used: s.used(),
        free: s.mem_free,
        shared: s.shmem,
        cache: sum(sum(s.buffers, s.cached), reclaimable_slab),
        available: s.available(),
    }
}

/// Returns the formula of available memory on this machine.
pub fn available_formula(s: &SystemSample) -> String {
    let credits = [
        (s.gpu_reclaim, " + GPUReclaim"),
        (s.arc_reclaimable(), " + ARC size − c_min"),
    ];
    let credits = credits.into_iter().filter(|(bytes, _)| bytes.is_ok_and(|n| n > 0));
    credits.fold("MemAvailable".to_owned(), |formula, (_, text)| formula + text)
}

/// Returns the line for swap, which is never shared.
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

/// Adds RAM and swap. A sum is unknown if either part is.
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

/// A pool of compressed pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressedPool {
    /// `zswap`, or a zram device.
    pub name: Box<str>,
    /// The uncompressed size of its pages.
    pub stored: Reading<u64>,
    /// The RAM that it uses.
    pub in_ram: Reading<u64>,
    /// Pages filled with one repeated word, which use no RAM.
    pub same_filled: Reading<u64>,
    /// The maximum RAM that it may use; `None` for no limit.
    pub limit: Reading<Option<u64>>,
    /// Pages written back to a disk. For zswap, all pages swapped out to a disk.
    pub on_disk: Reading<u64>,
    /// The size of the device.
    pub size: Reading<u64>,
}

impl CompressedPool {
    /// Returns the compression ratio, or `None` if nothing is stored.
    pub fn ratio(&self) -> Reading<Option<f64>> {
        let (stored, in_ram) = (self.stored?, self.in_ram?);
        Ok((stored > 0 && in_ram > 0).then(|| stored as f64 / in_ram as f64))
    }
}

/// Returns the RAM that zswap may use.
pub(super) fn zswap_limit(s: &SystemSample, percent: Reading<u64>) -> Reading<u64> {
    let percent = percent?.min(100);
    Ok((u128::from(s.mem_total?) * u128::from(percent) / 100) as u64)
}

/// Returns zswap and the zram devices.
pub fn compressed(s: &SystemSample, inputs: &AccountingInputs) -> Vec<CompressedPool> {
    let mut all = vec![CompressedPool {
        name: "zswap".into(),
        stored: s.zswapped,
        same_filled: inputs.zswap_same_filled,
        limit: zswap_limit(s, inputs.zswap_percent).map(Some),
        in_ram: s.zswap,
        on_disk: swapped_to_disk(s),
        size: Err(Missing::Unsupported),
    }];
    let devices = inputs.zram.as_deref().unwrap_or_default();
    all.extend(devices.iter().map(|d| CompressedPool {
        name: d.name.clone(),
        stored: Ok(d.stored),
        same_filled: d.same_filled,
        limit: d.limit.map(|n| (n > 0).then_some(n)),
        in_ram: Ok(d.used),
        on_disk: d.on_disk,
        size: d.size,
    }));
    all
}

/// Returns the used swap on disks, without pages that zswap still has in RAM.
pub fn swapped_to_disk(s: &SystemSample) -> Reading<u64> {
    // A kernel without zswap has no such pages.
    Ok(used_swap(s, false)?.saturating_sub(s.zswapped.unwrap_or(0)))
}

pub fn swapped_to_zram(s: &SystemSample) -> Reading<u64> {
    used_swap(s, true)
}

fn used_swap(s: &SystemSample, on_zram: bool) -> Reading<u64> {
    let areas = s.swaps.as_deref().map_err(|e| *e)?;
    let used = areas.iter().filter(|a| a.on_zram() == on_zram).map(|a| a.used);
    Ok(used.fold(0, u64::saturating_add))
}
