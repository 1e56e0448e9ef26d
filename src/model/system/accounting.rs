//! Inputs of the account of the system: figures that the monitor does not read.

use crate::model::{Missing, Reading};

/// Figures of the system beside those of [`SystemSample`](crate::model::system::SystemSample).
#[derive(Clone, Debug, PartialEq)]
pub struct AccountingInputs {
    /// `/proc/zoneinfo`.
    pub zones: Reading<Zones>,
    /// The zram devices, by name; empty where there is no such driver.
    pub zram: Reading<Vec<ZramDevice>>,
    /// Pools of huge pages, by size. `/sys/kernel/mm/hugepages`.
    pub huge: Reading<Vec<HugePool>>,
    /// The use of transparent huge pages: `always`, `madvise` or `never`.
    /// `/sys/kernel/mm/transparent_hugepage/enabled`.
    pub thp: Reading<Box<str>>,
    /// Pages of equal content merged. `/sys/kernel/mm/ksm`.
    pub ksm: Reading<Ksm>,
    /// Zswap is on. `/sys/module/zswap/parameters/enabled`.
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
    /// `managed`: what of it was given to the page allocator. That is `MemTotal`.
    pub managed: u64,
    /// `count` of each processor's lists: free, and not in `MemFree`.
    pub free_lists: u64,
}

/// A zram device, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZramDevice {
    /// `zram0`.
    pub name: Box<str>,
    /// `disksize`: how much it may store.
    pub size: Reading<u64>,
    /// `orig_data_size`, field 1 of `mm_stat`: what is stored, uncompressed. Pages written back to a disk
    /// and pages of one repeated word are not in it.
    pub stored: u64,
    /// `mem_used_total`, field 3 of `mm_stat`: the RAM it takes.
    pub used: u64,
    /// Field 1 of `bd_stat`: what was written back to a disk and is there now. Unknown where the driver was
    /// built without.
    pub on_disk: Reading<u64>,
}

/// A pool of huge pages, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugePool {
    /// The size of a page.
    pub page: u64,
    /// The whole pool.
    pub total: u64,
    /// The unused part.
    pub free: u64,
}

/// Memory that KSM merged, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ksm {
    /// `run` is 1: it is at work.
    pub on: bool,
    /// `pages_shared`: the pages that stand for many.
    pub shared: u64,
    /// `pages_sharing`: what would be in RAM besides without them.
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
