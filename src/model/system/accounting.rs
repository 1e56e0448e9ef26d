//! Inputs of the account of the system: figures that the monitor does not read.

use crate::model::{Missing, Reading};

/// Figures of the system beside those of [`SystemSample`](crate::model::system::SystemSample).
#[derive(Clone, Debug, PartialEq)]
pub struct AccountingInputs {
    /// `/proc/zoneinfo`.
    pub zones: Reading<Zones>,
    /// The zram devices, by name; empty if there is no such driver.
    pub zram: Reading<Vec<ZramDevice>>,
    /// Pools of huge pages, by size. `/sys/kernel/mm/hugepages`.
    pub huge: Reading<Vec<HugePool>>,
    /// The mode of transparent huge pages: `always`, `madvise` or `never`.
    /// `/sys/kernel/mm/transparent_hugepage/enabled`.
    pub thp: Reading<Box<str>>,
    /// Merged pages of equal content. `/sys/kernel/mm/ksm`.
    pub ksm: Reading<Ksm>,
    /// True if zswap is enabled. `/sys/module/zswap/parameters/enabled`.
    pub zswap_on: Reading<bool>,
    /// `/proc/pressure/memory`.
    pub pressure: Reading<Pressure>,
}

impl AccountingInputs {
    /// Creates inputs that are all unknown for one reason.
    pub const fn missing(why: Missing) -> Self {
        Self {
            zones: Err(why),
            zram: Err(why),
            huge: Err(why),
            thp: Err(why),
            ksm: Err(why),
            zswap_on: Err(why),
            pressure: Err(why),
        }
    }
}

/// Sums over the zones of memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    /// `present`: the RAM the kernel knows of.
    pub present: u64,
    /// `managed`: the part given to the page allocator, which is `MemTotal`.
    pub managed: u64,
    /// `count` of each processor's lists: free, and not in `MemFree`.
    pub free_lists: u64,
}

/// A zram device, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZramDevice {
    /// `zram0`.
    pub name: Box<str>,
    /// `disksize`: its capacity.
    pub size: Reading<u64>,
    /// `orig_data_size`, field 1 of `mm_stat`: the uncompressed size of the data stored, without pages written
    /// back to a disk and pages of one repeated word.
    pub stored: u64,
    /// `mem_used_total`, field 3 of `mm_stat`: the RAM it uses.
    pub used: u64,
    /// Field 1 of `bd_stat`: data that was written back to a disk and is there now. Unknown if the driver was
    /// built without it.
    pub on_disk: Reading<u64>,
}

/// A pool of huge pages, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugePool {
    /// The size of a page.
    pub page: u64,
    /// The whole pool.
    pub total: u64,
    /// The unused part of the pool.
    pub free: u64,
}

/// Memory that KSM merged, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ksm {
    /// True if it is enabled: `run` is 1.
    pub on: bool,
    /// `pages_shared`: the pages that others were merged into.
    pub shared: u64,
    /// `pages_sharing`: the RAM that merging saves.
    pub saved: u64,
}

/// Time that tasks waited for memory, in percent of the last 10, 60 and 300 seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure {
    /// Some task.
    pub some: [f32; 3],
    /// Every task.
    pub full: [f32; 3],
}
