//! Inputs of the account of the system: figures that are read seldom.

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
    /// The part of RAM that zswap may take, in percent. `/sys/module/zswap/parameters/max_pool_percent`.
    pub zswap_percent: Reading<u64>,
    /// Pages of one repeated word that zswap holds, in bytes: they take no RAM. Debugfs, up to Linux 6.11.
    pub zswap_same_filled: Reading<u64>,
    /// `/proc/pressure/memory`.
    pub pressure: Reading<Pressure>,
    /// Memory of sockets. `/proc/net/sockstat`.
    pub sockets: Reading<Sockets>,
    /// System V shared memory of zmtop's IPC namespace. `/proc/sysvipc/shm`.
    pub sysv: Reading<SysvShm>,
    /// File systems in memory of zmtop's mount namespace, by device. `/proc/self/mountinfo`.
    pub mounts: Reading<Vec<MemoryMount>>,
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
            zswap_percent: Err(why),
            zswap_same_filled: Err(why),
            pressure: Err(why),
            sockets: Err(why),
            sysv: Err(why),
            mounts: Err(why),
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
    /// back to a disk.
    pub stored: u64,
    /// `same_pages`, field 6: pages of one repeated word, which take no RAM. Unknown before Linux 4.11.
    pub same_filled: Reading<u64>,
    /// `mem_limit`, field 4: the most RAM that it may use; 0 for no limit.
    pub limit: Reading<u64>,
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

/// Memory of sockets, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// `mem` of `TCP`, of all network namespaces.
    pub tcp: u64,
    /// `mem` of `UDP`, of all network namespaces.
    pub udp: u64,
    /// `memory` of `FRAG`: packets to be put together, of zmtop's network namespace.
    pub fragments: u64,
}

/// System V shared memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SysvShm {
    /// The number of segments.
    pub segments: u64,
    /// `rss`: the part in RAM.
    pub resident: u64,
    /// `swap`: the part that is swapped out.
    pub swapped: u64,
}

/// A file system in memory, such as `tmpfs`, wherever it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMount {
    /// Its device number.
    pub device: u64,
    /// The first place where it can be reached, raw: foreign bytes.
    pub path: Box<[u8]>,
    /// `tmpfs` or `devtmpfs`.
    pub kind: Box<str>,
    /// Bytes that its files have, in RAM or in swap, deleted files that are open included. Unknown if it has no limit,
    /// or if other mounts hide it.
    pub used: Reading<u64>,
    /// The limit of its size, in bytes.
    pub size: Reading<u64>,
}
