//! What one tick saw of the system as a whole.

pub mod accounting;
pub mod detail;

pub use accounting::Deep;
pub use detail::Detail;

use super::cgroup::CgroupFigures;
use super::reading::{Missing, Reading};

/// System-wide figures. Bytes, unless said; each may be missing with its reason.
#[derive(Clone, Debug)]
pub struct SystemSample {
    /// `MemTotal`.
    pub mem_total: Reading<u64>,
    /// `MemFree`.
    pub mem_free: Reading<u64>,
    /// `MemAvailable` (Linux 3.14).
    pub mem_available: Reading<u64>,
    /// `Buffers`.
    pub buffers: Reading<u64>,
    /// `Cached`: page cache, with shmem, without swap cache.
    pub cached: Reading<u64>,
    /// `Shmem`.
    pub shmem: Reading<u64>,
    /// `AnonPages`.
    pub anon_pages: Reading<u64>,
    /// `Mapped`.
    pub mapped: Reading<u64>,
    /// `Slab`.
    pub slab: Reading<u64>,
    /// `SReclaimable`.
    pub sreclaimable: Reading<u64>,
    /// `SwapTotal`.
    pub swap_total: Reading<u64>,
    /// `SwapFree`.
    pub swap_free: Reading<u64>,
    /// `SwapCached`.
    pub swap_cached: Reading<u64>,
    /// `Zswap`: RAM that holds compressed pages (Linux 5.19).
    pub zswap: Reading<u64>,
    /// `Zswapped`: what those pages would take uncompressed (Linux 5.19).
    pub zswapped: Reading<u64>,
    /// zram devices, from `/sys/block/zram*/mm_stat`.
    pub zram: Vec<Zram>,
    /// Swap areas, from `/proc/swaps`.
    pub swaps: Reading<Vec<SwapArea>>,
    /// `pswpin` of vmstat: pages swapped in since boot, in bytes.
    pub pswpin: Reading<u64>,
    /// `pswpout` of vmstat: pages swapped out since boot, in bytes.
    pub pswpout: Reading<u64>,
    /// `pgmajfault` of vmstat: faults since boot.
    pub pgmajfault: Reading<u64>,
    /// `/proc/pressure/memory`.
    pub psi: Reading<Psi>,
    /// Seconds since boot.
    pub uptime: Reading<f64>,
    /// The 1-, 5- and 15-minute load averages.
    pub loadavg: Reading<[f32; 3]>,
    /// What holds zmtop itself: of its own cgroup and those above it, the one with the least limit; its own
    /// where none has any. Read once in some seconds. See [`SystemSample::container`].
    pub limit: CgroupFigures,
    /// The rest of `/proc/meminfo`.
    pub detail: Detail,
}

impl SystemSample {
    /// A sample of which nothing is known yet, for one reason.
    pub fn missing(why: Missing) -> Self {
        let e = Err(why);
        Self {
            mem_total: e,
            mem_free: e,
            mem_available: e,
            buffers: e,
            cached: e,
            shmem: e,
            anon_pages: e,
            mapped: e,
            slab: e,
            sreclaimable: e,
            swap_total: e,
            swap_free: e,
            swap_cached: e,
            zswap: e,
            zswapped: e,
            zram: Vec::new(),
            swaps: Err(why),
            pswpin: e,
            pswpout: e,
            pgmajfault: e,
            psi: Err(why),
            uptime: Err(why),
            loadavg: Err(why),
            limit: CgroupFigures::missing(why),
            detail: Detail::missing(why),
        }
    }

    /// The limit that zmtop runs under, where it is less than what the machine has, and the figures of the
    /// cgroup that sets it: inside a container this is the memory there is.
    pub fn container(&self) -> Option<(u64, &CgroupFigures)> {
        let limit = self.limit.limit.ok()??;
        (limit < self.mem_total.ok()?).then_some((limit, &self.limit))
    }

    /// `SwapTotal − SwapFree`.
    pub fn swap_used(&self) -> Reading<u64> {
        Ok(self.swap_total?.saturating_sub(self.swap_free?))
    }
}

/// One zram device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zram {
    /// `zram0`.
    pub name: Box<str>,
    /// `orig_data_size` of `mm_stat`: what is stored, uncompressed.
    pub stored: u64,
    /// `mem_used_total` of `mm_stat`: the RAM it takes.
    pub compressed: u64,
    /// Whether a swap area lies on it.
    pub is_swap: bool,
}

/// One line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// The path, raw: its bytes are whoever's that named it.
    pub path: Box<[u8]>,
    /// `file` or `partition`.
    pub kind: Box<str>,
    /// Size in bytes.
    pub size: u64,
    /// Used, in bytes.
    pub used: u64,
    /// The kernel takes from the area of the greatest priority first.
    pub priority: Reading<i32>,
}

impl SwapArea {
    /// Whether the area lies on a zram device.
    pub fn on_zram(&self) -> bool {
        self.path
            .rsplit(|b| *b == b'/')
            .next()
            .is_some_and(|name| name.starts_with(b"zram"))
    }
}

/// Memory pressure, in percent of the last ten seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Psi {
    /// Some task waited for memory.
    pub some_avg10: f32,
    /// Every task waited for memory.
    pub full_avg10: f32,
}
