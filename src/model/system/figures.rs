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
            /// `GPUReclaim`: the part of it that graphics drivers keep for later and give back when memory is needed.
            gpu_reclaim: Meminfo(&["GPUReclaim"]),
            /// `size` of the ZFS cache (ARC).
            arc_size: Arcstats(&["size"]),
            /// `c_min`: the size below which the ARC does not shrink.
            arc_min: Arcstats(&["c_min"]),
            /// Pages of the ARC, which are in no other counter of the kernel, unlike its headers.
            arc_data: Arcstats(&["data_size", "metadata_size"]),
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
            /// `balloon_inflate`: pages given to the hypervisor since boot, in bytes; in a virtual machine.
            balloon_inflate: VmstatPages("balloon_inflate"),
            /// `balloon_deflate`: pages taken back from it since boot, in bytes.
            balloon_deflate: VmstatPages("balloon_deflate"),
            /// `pgscan_kswapd`: pages that kswapd looked at since boot, in bytes (Linux 4.8).
            scan_kswapd: VmstatPages("pgscan_kswapd"),
            /// `pgsteal_kswapd`: pages that it reclaimed.
            steal_kswapd: VmstatPages("pgsteal_kswapd"),
            /// `pgscan_direct`: pages that tasks themselves looked at, as they had to wait for memory.
            scan_direct: VmstatPages("pgscan_direct"),
            /// `pgsteal_direct`: pages that they reclaimed.
            steal_direct: VmstatPages("pgsteal_direct"),
            /// `workingset_refault_anon`: pages swapped in that were reclaimed too soon, since boot, in bytes (Linux 5.9).
            refault_anon: VmstatPages("workingset_refault_anon"),
            /// `workingset_refault_file`: the same of files (Linux 5.9).
            refault_file: VmstatPages("workingset_refault_file"),
            /// `zswpwb`: pages that zswap wrote back to swap since boot, in bytes (Linux 6.8).
            zswap_written: VmstatPages("zswpwb"),
            /// `oom_kill`: processes that the kernel killed for lack of memory, since boot, a count (Linux 4.13).
            oom_kill: VmstatCount("oom_kill"),
        }
    };
}

pub(crate) use system_figures;
