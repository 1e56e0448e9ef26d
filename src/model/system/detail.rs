//! The lines of `/proc/meminfo` that only the account of the system needs.

use crate::model::{Missing, Reading};

/// Figures of `/proc/meminfo` beside those of [`SystemSample`](super::SystemSample), in bytes unless said.
/// They come with the same read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// `Active(anon)`, `Inactive(anon)`, `Active(file)`, `Inactive(file)` and `Unevictable` together: every
    /// page that may be reclaimed, once.
    pub lru: Reading<u64>,
    /// `Mlocked`.
    pub mlocked: Reading<u64>,
    /// `Dirty`: waiting to be written.
    pub dirty: Reading<u64>,
    /// `Writeback`: being written.
    pub writeback: Reading<u64>,
    /// `KReclaimable`: `SReclaimable` and what else the kernel would give back (Linux 4.20).
    pub kreclaimable: Reading<u64>,
    /// `SUnreclaim`.
    pub sunreclaim: Reading<u64>,
    /// `KernelStack`.
    pub kernel_stack: Reading<u64>,
    /// `PageTables`.
    pub page_tables: Reading<u64>,
    /// `SecPageTables`: those of guests and of devices (Linux 6.0).
    pub sec_page_tables: Reading<u64>,
    /// `Bounce`: buffers for devices that reach not all of RAM.
    pub bounce: Reading<u64>,
    /// `WritebackTmp`: FUSE's copies of what is being written.
    pub writeback_tmp: Reading<u64>,
    /// `VmallocUsed`: pages behind the kernel's own mappings, kernel stacks with them. Unknown before Linux
    /// 5.3, which writes 0 there, or how much of the address space is taken.
    pub vmalloc: Reading<u64>,
    /// `Percpu` (Linux 4.20).
    pub percpu: Reading<u64>,
    /// `HardwareCorrupted`: bad RAM that is used no more.
    pub corrupted: Reading<u64>,
    /// `GPUActive` and `GPUReclaim` together: what graphics drivers hold (Linux 7.0).
    pub gpu: Reading<u64>,
    /// `Balloon`: handed back to the machine below (Linux 6.18).
    pub balloon: Reading<u64>,
    /// `CommitLimit`.
    pub commit_limit: Reading<u64>,
    /// `Committed_AS`.
    pub committed: Reading<u64>,
    /// `AnonHugePages`: anonymous memory in transparent huge pages.
    pub anon_huge: Reading<u64>,
    /// `ShmemHugePages`.
    pub shmem_huge: Reading<u64>,
    /// `FileHugePages` (Linux 5.4).
    pub file_huge: Reading<u64>,
    /// `Hugetlb`: the pools of huge pages of every size, in use and free (Linux 4.16).
    pub hugetlb: Reading<u64>,
    /// `HugePages_Total × Hugepagesize`: the pool of the usual size.
    pub huge_pool: Reading<u64>,
    /// `HugePages_Free × Hugepagesize`.
    pub huge_free: Reading<u64>,
}

impl Detail {
    /// Nothing known, for one reason.
    pub const fn missing(why: Missing) -> Self {
        let e = Err(why);
        Self {
            lru: e,
            mlocked: e,
            dirty: e,
            writeback: e,
            kreclaimable: e,
            sunreclaim: e,
            kernel_stack: e,
            page_tables: e,
            sec_page_tables: e,
            bounce: e,
            writeback_tmp: e,
            vmalloc: e,
            percpu: e,
            corrupted: e,
            gpu: e,
            balloon: e,
            commit_limit: e,
            committed: e,
            anon_huge: e,
            shmem_huge: e,
            file_huge: e,
            hugetlb: e,
            huge_pool: e,
            huge_free: e,
        }
    }
}
