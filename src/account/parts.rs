//! The registry of parts: each with its names, its source and formula, and the meaning of its growth.

use Growth::{Free, Leak, Processes, Reclaimed};

/// A kind of memory that an account has a part for.
#[derive(Debug)]
pub struct PartKind {
    /// The name in filters, JSON and CSV.
    pub id: &'static str,
    /// The name in the account.
    pub title: &'static str,
    /// The source and formula for the machine and for a cgroup.
    pub(super) help: &'static str,
    pub(super) cgroup_help: &'static str,
    pub growth: Growth,
    /// The name beside processes and groups: `kernel: page tables`.
    pub label: &'static str,
    /// The reason for `growth`. Empty for a part of a part, which is not judged.
    pub reason: &'static str,
}

/// The meaning of a part's growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It may be a leak.
    Leak,
    /// The processes explain it, and are judged themselves.
    Processes,
    /// The kernel reclaims it when memory is needed: never a leak.
    Reclaimed,
    /// It is no use of memory: not judged.
    Free,
}

impl Growth {
    /// Returns the meaning of a part's growth. An unknown part may grow.
    pub fn of(id: &str) -> Self {
        PartKind::find(id).map_or(Free, |kind| kind.growth)
    }

    pub const fn is_judged(self) -> bool {
        !matches!(self, Free)
    }
}

/// The id of anonymous memory.
pub const ANON: &str = "anon";
/// The id of unreclaimable slab, whose caches are judged too.
pub const SLAB: &str = "slab_unreclaimable";
/// The id of shared memory, whose file systems are judged too.
pub const SHMEM: &str = "shmem";
/// The id of page tables, whose processes are known while they are many.
pub const PAGE_TABLES: &str = "page_tables";
pub const HUGETLB: &str = "hugetlb";
/// The id of the page cache.
pub const FILES: &str = "files";
/// The id of a cgroup's page cache that no process maps.
pub const CACHED: &str = "files_cached";
/// The id of the memory that is not accounted for.
pub const REST: &str = "unattributed";

impl PartKind {
    const fn new(id: &'static str, title: &'static str) -> Self {
        Self {
            id,
            title,
            help: "",
            cgroup_help: "",
            growth: Free,
            label: title,
            reason: "",
        }
    }

    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn in_cgroup(self, cgroup_help: &'static str) -> Self {
        Self { cgroup_help, ..self }
    }

    const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    const fn grows(self, growth: Growth, reason: &'static str) -> Self {
        Self { growth, reason, ..self }
    }

    const fn may_leak(self, reason: &'static str) -> Self {
        self.grows(Leak, reason)
    }

    const fn of_processes(self, reason: &'static str) -> Self {
        self.grows(Processes, reason)
    }

    const fn reclaimed(self, reason: &'static str) -> Self {
        self.grows(Reclaimed, reason)
    }

    const fn not_judged(self, reason: &'static str) -> Self {
        self.grows(Free, reason)
    }

    pub fn find(id: &str) -> Option<&'static Self> {
        PARTS.iter().find(|kind| kind.id == id)
    }

    /// Returns the kind with this id.
    ///
    /// # Panics
    /// If there is none: in a constant that is a compile error.
    pub(super) const fn named(id: &str) -> &'static Self {
        let mut at = 0;
        while at < PARTS.len() {
            if crate::text::same(PARTS[at].id, id) {
                return &PARTS[at];
            }
            at += 1;
        }
        panic!("no part has this id")
    }
}

/// All kinds. Those in another kind have no reason: only the whole is judged.
pub static PARTS: &[PartKind] = &[
    PartKind::new(ANON, "anonymous memory of processes")
        .help("Heaps, stacks and private memory that processes map. Kernel: AnonPages in meminfo.")
        .in_cgroup("Heaps, stacks and private memory that processes map. Kernel: anon in memory.stat; rss in v1.")
        .label("anonymous memory")
        .of_processes("each process is judged by itself"),
    PartKind::new("anon_huge", "in huge pages")
        .help("The part of it in transparent huge pages. Kernel: AnonHugePages in meminfo.")
        .in_cgroup("The part of it in transparent huge pages. Kernel: anon_thp in memory.stat; rss_huge in v1."),
    PartKind::new("swap_cache", "swap cache beside it")
        .help(
            "Pages read back from swap, or on their way there, that no process maps. Formula: Active and Inactive \
             (anon and file) + Unevictable − AnonPages − Cached − Buffers of meminfo, at most SwapCached.",
        )
        .in_cgroup(
            "Pages read back from swap, or on their way there, that no process maps. Formula: active and inactive \
             (anon and file) + unevictable − anon − (file − swapcached) of memory.stat, at most swapcached.",
        )
        .label("swap cache")
        .reclaimed("the kernel drops it when memory is needed: it is in swap too"),
    PartKind::new(FILES, "file cache")
        .help(
            "Pages of files. The kernel drops them when memory is needed; changed ones must be written first. Formula: Cached − \
             Shmem of meminfo − file cache, locked.",
        )
        .in_cgroup(
            "Pages of files. The kernel drops them when memory is needed; changed ones must be written first. Formula: file − \
             swapcached − shmem of memory.stat; cache − swapcached − shmem in v1.",
        )
        .reclaimed("it grows as files are read, and the kernel drops it when memory is needed"),
    PartKind::new("files_mapped", "mapped by processes")
        .help(
            "The part that processes map: programs, libraries and files. Formula: Mapped of meminfo − Σ Pss_Shmem of \
             all processes; an upper bound if some could not be read.",
        )
        .in_cgroup(
            "The part that processes map; of shared memory, too. Formula: file_mapped of memory.stat, at most the file \
             cache.",
        ),
    PartKind::new("files_unmapped", "not mapped")
        .help("The rest of the file cache: files read or written. Formula: file cache − mapped by processes.")
        .in_cgroup("The rest of the file cache: files read or written. Formula: file cache − mapped by processes."),
    PartKind::new("files_locked", "file cache, locked")
        .help(
            "Pages of files that the kernel cannot drop: of memfd_secret and ramfs, and those that a program locked (mlock). \
             Formula: Cached − Shmem + Buffers − Active(file) − Inactive(file) of meminfo + Σ LazyFree of all processes, at \
             most Unevictable.",
        )
        .label("locked file cache")
        .may_leak("it stays until the file is deleted or unlocked; growth is attributed to those who hold it if they explain it"),
    PartKind::new("shmem", "shared memory and tmpfs")
        .help(
            "Files in tmpfs, memfd, System V and shared anonymous memory, buffers of graphics drivers in shared \
             memory; without swapped-out data. Kernel: Shmem in meminfo.",
        )
        .in_cgroup("Files in tmpfs, memfd, System V and shared anonymous memory. Kernel: shmem in memory.stat.")
        .may_leak("it stays until the file, the segment or the last descriptor is gone, even after its creator ended"),
    PartKind::new("shmem_sysv", "System V segments").help("Kernel: Σ rss of sysvipc/shm, of zmtop's IPC namespace."),
    PartKind::new("buffers", "buffers of block devices")
        .help("Page cache of block devices: metadata of file systems. Kernel: Buffers in meminfo.")
        .label("buffers")
        .reclaimed("the kernel drops it when memory is needed"),
    PartKind::new("slab_reclaimable", "slab, reclaimable")
        .help(
            "The kernel's caches that it shrinks when memory is needed: dentries, inodes. Kernel: SReclaimable in \
             meminfo.",
        )
        .in_cgroup(
            "The kernel's caches that it shrinks when memory is needed: dentries, inodes. Kernel: slab_reclaimable in \
             memory.stat.",
        )
        .label("kernel: reclaimable slab")
        .reclaimed("caches of names and inodes grow as files are accessed, and shrink when memory is needed"),
    PartKind::new(SLAB, "slab, unreclaimable")
        .help(
            "The kernel's other objects; what grows here without end is a leak in the kernel. Kernel: SUnreclaim in \
             meminfo.",
        )
        .in_cgroup("The kernel's other objects. Kernel: slab_unreclaimable in memory.stat.")
        .label("kernel: unreclaimable slab")
        .may_leak("only the code that allocated an object frees it"),
    PartKind::new("kernel_reclaimable", "other reclaimable kernel memory")
        .help(
            "Kernel memory outside of slab that is freed when memory is needed. Formula: KReclaimable − \
             SReclaimable of meminfo.",
        )
        .label("kernel: reclaimable memory")
        .reclaimed("the kernel frees it when memory is needed"),
    PartKind::new("kernel_stacks", "kernel stacks")
        .help("A stack for each thread. Kernel: KernelStack in meminfo.")
        .in_cgroup("A stack for each thread. Kernel: kernel_stack in memory.stat.")
        .label("kernel: stacks of threads")
        .may_leak("threads that never end keep their stacks; growth is attributed to new processes if they explain it"),
    PartKind::new(PAGE_TABLES, "page tables")
        .help("Tables that map the memory of processes. Kernel: PageTables in meminfo.")
        .in_cgroup("Tables that map the memory of processes. Kernel: pagetables in memory.stat.")
        .label("kernel: page tables")
        .may_leak(
            "a process keeps them after the memory that they mapped is freed; growth is attributed to processes if they explain \
             it",
        ),
    PartKind::new("sec_page_tables", "page tables of guests and devices")
        .help("Page tables of virtual machines and of an IOMMU. Kernel: SecPageTables in meminfo.")
        .in_cgroup("Page tables of virtual machines and of an IOMMU. Kernel: sec_pagetables in memory.stat.")
        .label("kernel: page tables of guests and devices")
        .may_leak("only the driver that allocated them frees them"),
    PartKind::new("percpu", "per-processor memory")
        .help("Memory that each processor has a copy of: counters, BPF maps. Kernel: Percpu in meminfo.")
        .in_cgroup("Memory that each processor has a copy of: counters, BPF maps. Kernel: percpu in memory.stat.")
        .label("kernel: per-processor memory")
        .may_leak("only the code that allocated it frees it: cgroups that are never freed, BPF maps"),
    PartKind::new("vmalloc", "vmalloc: modules, BPF, tables")
        .help(
            "Larger tables of the kernel, its modules, BPF programs and maps. Formula: VmallocUsed − KernelStack of \
             meminfo.",
        )
        .in_cgroup("Larger tables of the kernel, BPF programs and maps. Kernel: vmalloc in memory.stat.")
        .label("kernel: vmalloc")
        .may_leak("only the code that allocated it frees it"),
    PartKind::new("gpu", "graphics")
        .help("Memory held by graphics drivers. Formula: GPUActive + GPUReclaim of meminfo.")
        .label("graphics memory")
        .may_leak("only the program or driver that allocated a buffer frees it"),
    PartKind::new("gpu_reclaim", "given back when needed")
        .help("The part of it that the driver keeps for later and can free. Kernel: GPUReclaim in meminfo.")
        .label("graphics memory kept for later")
        .reclaimed("the driver frees it when memory is needed"),
    PartKind::new("arc", "ZFS cache (ARC)")
        .help(
            "Pages of the cache of ZFS; its headers are in slab. Formula: data_size + metadata_size of arcstats, at \
             most size.",
        )
        .label("ZFS cache")
        .reclaimed("ZFS frees it when memory is needed, down to c_min"),
    PartKind::new("arc_reclaimable", "given back when needed")
        .help("What ZFS frees when memory is needed. Formula: size − c_min of arcstats."),
    PartKind::new("bounce", "bounce buffers")
        .help("Copies for devices that cannot reach all of RAM. Kernel: Bounce in meminfo.")
        .label("kernel: bounce buffers")
        .may_leak("a copy is freed when its device is done"),
    PartKind::new("writeback_tmp", "FUSE write-back copies")
        .help("Copies of pages that FUSE writes. Kernel: WritebackTmp in meminfo.")
        .label("kernel: FUSE write-back copies")
        .may_leak("a copy is freed when it is written"),
    PartKind::new(HUGETLB, "huge page pools")
        .help("Pools of huge pages of every size, used and free. Kernel: Hugetlb in meminfo.")
        .in_cgroup("Huge pages in use, if they are charged. Kernel: hugetlb in memory.stat.")
        .may_leak("a pool keeps its pages until it is made smaller"),
    PartKind::new("hugetlb_free", "free")
        .help("The unused part of the pools. Kernel: Σ free_hugepages × size of /sys/kernel/mm/hugepages."),
    PartKind::new("zram", "zram, compressed")
        .help("RAM that zram devices take. Kernel: Σ mem_used_total of /sys/block/zram*/mm_stat.")
        .label("zram")
        .of_processes("it grows as processes are swapped out"),
    PartKind::new("zswap", "zswap, compressed")
        .help("RAM that holds compressed pages before they go to swap. Kernel: Zswap in meminfo.")
        .in_cgroup("RAM that holds compressed pages before they go to swap. Kernel: zswap in memory.stat.")
        .label("zswap")
        .of_processes("it grows as processes are swapped out"),
    PartKind::new("kernel", "other kernel memory")
        .in_cgroup(
            "Kernel memory without a figure of its own: pipes, memory charged in advance; in v1 all kernel memory. \
             Formula: kernel − the parts of it above, of memory.stat. Kernel: memory.kmem.usage_in_bytes in v1.",
        )
        .label("kernel: other memory")
        .may_leak("only the code that allocated it frees it"),
    PartKind::new("sockets", "buffers of sockets")
        .in_cgroup("Data that was received and not read, or sent and not acknowledged. Kernel: sock in memory.stat.")
        .may_leak("received data stays until it is read"),
    PartKind::new("limit_others", "taken by others below the same limit")
        .in_cgroup(
            "What other cgroups use of the limit of a cgroup above this one. Formula: limit − free − memory.current.",
        )
        .label("memory of other cgroups")
        .not_judged("others take it"),
    PartKind::new("corrupted", "bad RAM")
        .help("Pages with memory errors, which are no longer used. Kernel: HardwareCorrupted in meminfo.")
        .may_leak("bad pages never come back"),
    PartKind::new("free", "free")
        .help("Pages that hold nothing. Kernel: MemFree in meminfo.")
        .in_cgroup(
            "What may still be charged without anything being reclaimed. Formula: the least of memory.max − \
             memory.current of this cgroup and those above it.",
        )
        .label("free memory")
        .not_judged("it is free"),
    PartKind::new("free_kept_back", "the kernel keeps back").help(
        "Free memory and cache that no program can get, because the kernel needs them: they count as used. Formula: MemFree + \
         file cache + Buffers + SReclaimable − MemAvailable.",
    ),
    PartKind::new("free_lists", "free, on processors' lists")
        .help(
            "Free pages kept at hand for each processor, which MemFree leaves out. Kernel: Σ count of the pagesets in \
             zoneinfo.",
        )
        .label("free memory of processors")
        .not_judged("it is free"),
    PartKind::new("processes", "its processes, charged to it")
        .in_cgroup(
            "The PSS of the processes in it, as far as it is charged to it. Formula: the lesser of Σ Pss_Anon and anon of \
             memory.stat + the lesser of the rest of Σ Pss and file_mapped. v1 calls these rss and mapped_file.",
        )
        .label("memory of its processes")
        .of_processes("each process is judged by itself"),
    PartKind::new("processes_pss", "sum of their PSS").in_cgroup("Kernel: Σ Pss of smaps_rollup."),
    PartKind::new("processes_elsewhere", "charged to other cgroups").in_cgroup(
        "Memory of its processes that is charged to other cgroups: shared libraries and files that another cgroup used first, \
         and memory from before the processes were moved here. A lower bound. Formula: Σ Pss − what is charged to it.",
    ),
    PartKind::new("mapped_elsewhere", "of processes that are not in it")
        .in_cgroup(
            "Mapped memory charged to it that no process in it maps: processes of other cgroups share it, or processes that \
             moved away still map it. Formula: anon + file_mapped of memory.stat − the memory of its processes.",
        )
        .label("memory of processes outside")
        .of_processes("each process is judged by itself"),
    PartKind::new(CACHED, "file cache, not mapped")
        .in_cgroup(
            "Files that were read or written. The kernel drops their pages when memory is needed; changed ones must be written \
             first. Formula: file − swapcached − shmem of memory.stat − their part of file_mapped.",
        )
        .label("file cache")
        .reclaimed("it grows as files are read, and the kernel drops it when memory is needed"),
    PartKind::new("shmem_kept", "tmpfs, shared: not mapped")
        .in_cgroup(
            "Files in tmpfs, memfd and System V segments that no process maps now. Formula: shmem of memory.stat − its part of \
             file_mapped. This part is Σ Pss_Shmem, plus what exceeds the file cache.",
        )
        .label("unmapped shared memory and tmpfs")
        .may_leak("it stays until the file, the segment or the last descriptor is gone, even after its creator ended"),
    PartKind::new(REST, "not accounted for")
        .help(
            "Pages that no counter of the kernel shows: taken by drivers, firmware or a balloon; pages in pipes, in \
             packet rings and in the queues of TCP sockets, and those that only a pipe keeps (vmsplice); and what changed while \
             the figures were read. \
             Formula: MemTotal − Σ of all parts.",
        )
        .in_cgroup(
            "Memory charged that no counter shows: pages that only a pipe keeps (vmsplice), charged in advance for each \
             processor, or changed while the figures were read. Formula: memory.current − Σ of all parts that are in it.",
        )
        .label("memory not accounted for")
        .may_leak(
            "pages that a driver does not free, or that a program leaves in pipes or TCP sockets, are in no other figure: compare \
             the cgroups",
        ),
];
