//! The list of the system's kernel figures.
//!
//! An entry is all that a figure needs: the fields of [`SystemSample`](super::SystemSample), the parsers in
//! [`proc::system`](crate::proc::system) and the fields of a `zmtop/1` record all come from this list.

/// Calls the macro `$callback` with the list.
///
/// Each entry is a field's name and where its value comes from, a
/// [`FigureSource`](super::FigureSource). Figures are in bytes unless said. The order is that of the fields in a record.
macro_rules! system_figures {
    ($callback:ident) => {
        $callback! {
            /// `MemTotal`.
            mem_total: Meminfo(&["MemTotal"]),
            /// `MemFree`.
            mem_free: Meminfo(&["MemFree"]),
            /// `MemAvailable` (Linux 3.14).
            mem_available: Meminfo(&["MemAvailable"]),
            /// `Buffers`.
            buffers: Meminfo(&["Buffers"]),
            /// `Cached`: page cache, with shmem, without swap cache.
            cached: Meminfo(&["Cached"]),
            /// `Shmem`.
            shmem: Meminfo(&["Shmem"]),
            /// `AnonPages`.
            anon_pages: Meminfo(&["AnonPages"]),
            /// `Mapped`.
            mapped: Meminfo(&["Mapped"]),
            /// `Slab`.
            slab: Meminfo(&["Slab"]),
            /// `SReclaimable`.
            sreclaimable: Meminfo(&["SReclaimable"]),
            /// `SwapTotal`.
            swap_total: Meminfo(&["SwapTotal"]),
            /// `SwapFree`.
            swap_free: Meminfo(&["SwapFree"]),
            /// `SwapCached`.
            swap_cached: Meminfo(&["SwapCached"]),
            /// `Zswap`: RAM that holds compressed pages (Linux 5.19).
            zswap: Meminfo(&["Zswap"]),
            /// `Zswapped`: the uncompressed size of those pages (Linux 5.19).
            zswapped: Meminfo(&["Zswapped"]),
            /// `pswpin`: pages swapped in since boot, in bytes.
            pswpin: VmstatPages("pswpin"),
            /// `pswpout`: pages swapped out since boot, in bytes.
            pswpout: VmstatPages("pswpout"),
            /// `pgmajfault`: major faults since boot, a count.
            pgmajfault: VmstatCount("pgmajfault"),
            /// Every page that may be reclaimed, once: the lists of anonymous and file pages, active and
            /// inactive, and `Unevictable`.
            lru: Meminfo(&["Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable"]),
            /// `Mlocked`.
            mlocked: Meminfo(&["Mlocked"]),
            /// `Dirty`: waiting to be written.
            dirty: Meminfo(&["Dirty"]),
            /// `Writeback`: being written.
            writeback: Meminfo(&["Writeback"]),
            /// `KReclaimable`: `SReclaimable` and everything else the kernel would give back (Linux 4.20).
            kreclaimable: Meminfo(&["KReclaimable"]),
            /// `SUnreclaim`.
            sunreclaim: Meminfo(&["SUnreclaim"]),
            /// `KernelStack`.
            kernel_stack: Meminfo(&["KernelStack"]),
            /// `PageTables`.
            page_tables: Meminfo(&["PageTables"]),
            /// `SecPageTables`: those of guests and of devices (Linux 6.0).
            sec_page_tables: Meminfo(&["SecPageTables"]),
            /// `Bounce`: buffers for devices that cannot reach all of RAM.
            bounce: Meminfo(&["Bounce"]),
            /// `WritebackTmp`: FUSE's copies of pages being written.
            writeback_tmp: Meminfo(&["WritebackTmp"]),
            /// `VmallocUsed`: pages behind the kernel's own mappings, kernel stacks included.
            vmalloc: Vmalloc,
            /// `Percpu` (Linux 4.20).
            percpu: Meminfo(&["Percpu"]),
            /// `HardwareCorrupted`: bad RAM that is no longer used.
            corrupted: Meminfo(&["HardwareCorrupted"]),
            /// `GPUActive` and `GPUReclaim`: memory held by graphics drivers (Linux 7.0).
            gpu: Meminfo(&["GPUActive", "GPUReclaim"]),
            /// `Balloon`: handed back to the hypervisor (Linux 6.18).
            balloon: Meminfo(&["Balloon"]),
            /// `CommitLimit`.
            commit_limit: Meminfo(&["CommitLimit"]),
            /// `Committed_AS`.
            committed: Meminfo(&["Committed_AS"]),
            /// `AnonHugePages`: anonymous memory in transparent huge pages.
            anon_huge: Meminfo(&["AnonHugePages"]),
            /// `ShmemHugePages`.
            shmem_huge: Meminfo(&["ShmemHugePages"]),
            /// `FileHugePages` (Linux 5.4).
            file_huge: Meminfo(&["FileHugePages"]),
            /// `Hugetlb`: the pools of huge pages of every size, used and free (Linux 4.16).
            hugetlb: Meminfo(&["Hugetlb"]),
            /// `HugePages_Total × Hugepagesize`: the pool of the default size.
            huge_pool: HugePages("HugePages_Total"),
            /// `HugePages_Free × Hugepagesize`.
            huge_free: HugePages("HugePages_Free"),
        }
    };
}

pub(crate) use system_figures;
