//! The parts of the RAM, each with its source and formula.

use crate::account::arithmetic::{less, sum_of};
use crate::account::part::{Bound, Part};
use crate::account::processes::ProcessTotals;
use crate::model::Reading;
use crate::model::system::{AccountingInputs, SystemSample};

/// Returns all parts. Each page is in exactly one of them.
pub(super) fn parts(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Vec<Part> {
    [user(s, inputs, processes), kernel(s), pools(s, inputs), free(s, inputs)].concat()
}

/// Returns the memory of processes and files.
fn user(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    // `Mapped` includes shared memory; only the processes show how much of that is mapped.
    let mapped = less(s.mapped, processes.pss_shmem).and_then(|m| Ok(m.min(files?)));
    let unmapped = less(files, mapped);
    let partial = |bound| processes.hidden.map(|_| bound);
    vec![
        Part::new(
            "anon",
            "anonymous memory of processes",
            s.anon_pages,
            "Heaps, stacks and private memory that processes map. Kernel: AnonPages in meminfo.",
        )
        .with([Part::new(
            "anon_huge",
            "in huge pages",
            s.anon_huge,
            "The part of it in transparent huge pages. Kernel: AnonHugePages in meminfo.",
        )]),
        Part::new(
            "swap_cache",
            "swap cache beside it",
            swap_cache(s),
            "Pages read back from swap, or on their way there, that no process maps. Formula: Active and Inactive (anon and \
             file) + Unevictable − AnonPages − Cached − Buffers of meminfo, at most SwapCached.",
        ),
        Part::new(
            "files",
            "file cache",
            files,
            "Pages of files, given back when memory is needed once they are written. Formula: Cached − Shmem of meminfo.",
        )
        .with([
            Part::new(
                "files_mapped",
                "mapped by processes",
                mapped,
                "The part that processes map: programs, libraries and files. Formula: Mapped of meminfo − Σ Pss_Shmem of all \
                 processes; at most that where some could not be read.",
            )
            .bound(partial(Bound::AtMost)),
            Part::new(
                "files_unmapped",
                "not mapped",
                unmapped,
                "The rest of the file cache: files read or written. Formula: file cache − mapped by processes.",
            )
            .bound(partial(Bound::AtLeast)),
        ]),
        Part::new(
            "shmem",
            "shared memory and tmpfs",
            s.shmem,
            "Files in tmpfs, memfd, System V and shared anonymous memory, buffers of graphics drivers in shared memory; what \
             of it is swapped out is not counted. Kernel: Shmem in meminfo.",
        )
        .with([Part::new(
            "shmem_sysv",
            "System V segments",
            inputs.sysv.map(|sysv| sysv.resident),
            "Kernel: Σ rss of sysvipc/shm, of zmtop's IPC namespace.",
        )]),
        Part::new(
            "buffers",
            "buffers of block devices",
            s.buffers,
            "Page cache of block devices: metadata of file systems. Kernel: Buffers in meminfo.",
        ),
    ]
}

/// Returns the pages in the swap cache that no process maps, at most `SwapCached`. The reclaim lists hold each page
/// once: these are their pages that are neither mapped anonymous memory nor page cache.
pub(super) fn swap_cache(s: &SystemSample) -> Reading<u64> {
    let cached = s.swap_cached?;
    if cached == 0 {
        return Ok(0);
    }
    let others = s.anon_pages?.saturating_add(s.cached?).saturating_add(s.buffers?);
    Ok(s.lru?.saturating_sub(others).min(cached))
}

/// Returns the kernel's own memory.
fn kernel(s: &SystemSample) -> Vec<Part> {
    let unreclaimable = s.sunreclaim.or_else(|_| less(s.slab, s.sreclaimable));
    vec![
        Part::new(
            "slab_reclaimable",
            "slab, reclaimable",
            s.sreclaimable,
            "The kernel's caches that it shrinks when memory is needed: dentries, inodes. Kernel: SReclaimable in meminfo.",
        ),
        Part::new(
            "slab_unreclaimable",
            "slab, unreclaimable",
            unreclaimable,
            "The kernel's other objects; what grows here without end is a leak in the kernel. Kernel: SUnreclaim in meminfo.",
        ),
        Part::new(
            "kernel_reclaimable",
            "other reclaimable kernel memory",
            less(s.kreclaimable, s.sreclaimable),
            "Kernel memory outside of slab that it gives back when memory is needed. Formula: KReclaimable − SReclaimable of \
             meminfo.",
        ),
        Part::new(
            "kernel_stacks",
            "kernel stacks",
            s.kernel_stack,
            "A stack for each thread. Kernel: KernelStack in meminfo.",
        ),
        Part::new(
            "page_tables",
            "page tables",
            s.page_tables,
            "Tables that map the memory of processes. Kernel: PageTables in meminfo.",
        ),
        Part::new(
            "sec_page_tables",
            "page tables of guests and devices",
            s.sec_page_tables,
            "Page tables of virtual machines and of an IOMMU. Kernel: SecPageTables in meminfo.",
        ),
        Part::new(
            "percpu",
            "per-processor memory",
            s.percpu,
            "Memory that each processor has a copy of: counters, BPF maps. Kernel: Percpu in meminfo.",
        ),
        Part::new(
            "vmalloc",
            "vmalloc: modules, BPF, tables",
            less(s.vmalloc, s.kernel_stack),
            "Larger tables of the kernel, its modules, BPF programs and maps. Formula: VmallocUsed − KernelStack of meminfo.",
        ),
        Part::new(
            "gpu",
            "graphics",
            s.gpu,
            "Memory held by graphics drivers. Formula: GPUActive + GPUReclaim of meminfo.",
        )
        .with([Part::new(
            "gpu_reclaim",
            "given back when needed",
            s.gpu_reclaim,
            "The part of it that the driver keeps for later and gives back. Kernel: GPUReclaim in meminfo.",
        )]),
        Part::new(
            "arc",
            "ZFS cache (ARC)",
            s.arc(),
            "Pages of the cache of ZFS; its headers are in slab. Formula: data_size + metadata_size of arcstats, at most size.",
        )
        .with([Part::new(
            "arc_reclaimable",
            "given back when needed",
            s.arc_reclaimable(),
            "What ZFS gives back when memory is needed. Formula: size − c_min of arcstats.",
        )]),
        Part::new(
            "bounce",
            "bounce buffers",
            s.bounce,
            "Copies for devices that cannot reach all of RAM. Kernel: Bounce in meminfo.",
        ),
        Part::new(
            "writeback_tmp",
            "FUSE write-back copies",
            s.writeback_tmp,
            "Copies of pages that FUSE writes. Kernel: WritebackTmp in meminfo.",
        ),
    ]
}

/// Returns the pools of reserved memory and of compressed pages.
fn pools(s: &SystemSample, inputs: &AccountingInputs) -> Vec<Part> {
    let total = sum_of(&inputs.huge, |pool| pool.total);
    let idle = sum_of(&inputs.huge, |pool| pool.free);
    vec![
        Part::new(
            "hugetlb",
            "huge page pools",
            s.hugetlb.or(total).or(s.huge_pool),
            "Pools of huge pages of every size, used and free. Kernel: Hugetlb in meminfo.",
        )
        .with([Part::new(
            "hugetlb_free",
            "free",
            idle.or(s.huge_free),
            "The part of the pools that nobody uses. Kernel: Σ free_hugepages × size of /sys/kernel/mm/hugepages.",
        )]),
        Part::new(
            "zram",
            "zram, compressed",
            sum_of(&inputs.zram, |device| device.used),
            "RAM that zram devices take. Kernel: Σ mem_used_total of /sys/block/zram*/mm_stat.",
        ),
        Part::new(
            "zswap",
            "zswap, compressed",
            s.zswap,
            "RAM that holds compressed pages before they go to swap. Kernel: Zswap in meminfo.",
        ),
        Part::new(
            "corrupted",
            "bad RAM",
            s.corrupted,
            "Pages with memory errors, which are used no more. Kernel: HardwareCorrupted in meminfo.",
        ),
    ]
}

fn free(s: &SystemSample, inputs: &AccountingInputs) -> Vec<Part> {
    vec![
        Part::new(
            "free",
            "free",
            s.mem_free,
            "Pages that hold nothing. Kernel: MemFree in meminfo.",
        ),
        Part::new(
            "free_lists",
            "free, on processors' lists",
            inputs.zones.map(|z| z.free_lists),
            "Free pages kept at hand for each processor, which MemFree leaves out. Kernel: Σ count of the pagesets in zoneinfo.",
        ),
    ]
}
