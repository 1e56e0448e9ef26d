//! Figures of the system as a whole: of every tick, of the cgroup that stands for the machine, and the seldom read inputs
//! of the account.
//!
//! Each entry in the list `system_figures` defines a figure: the field of [`SystemSample`], its parser in
//! [`proc::system`](crate::proc::system) and the field of a `zmtop/1` record follow.

use std::sync::Arc;
use std::time::Duration;

use crate::model::cgroup::CgroupFigures;
use crate::model::reading::{Missing, Reading};
use crate::text::named;

/// Calls the macro `$callback` with the list.
///
/// Each entry is the name of a field and its [`FigureSource`]. Figures are in bytes unless stated otherwise. Records have
/// them in this order.
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
            /// All pages on the reclaim lists: anonymous and file pages, active and inactive, and `Unevictable`.
            lru: Meminfo(&["Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable"]),
            /// The reclaim lists of file pages, with buffers.
            lru_file: Meminfo(&["Active(file)", "Inactive(file)"]),
            /// `Unevictable`.
            unevictable: Meminfo(&["Unevictable"]),
            /// `Mlocked`.
            mlocked: Meminfo(&["Mlocked"]),
            /// `Dirty`: pages to be written.
            dirty: Meminfo(&["Dirty"]),
            /// `Writeback`: pages being written.
            writeback: Meminfo(&["Writeback"]),
            /// `KReclaimable`: `SReclaimable` and other reclaimable kernel memory (Linux 4.20).
            kreclaimable: Meminfo(&["KReclaimable"]),
            /// `SUnreclaim`.
            sunreclaim: Meminfo(&["SUnreclaim"]),
            /// `KernelStack`.
            kernel_stack: Meminfo(&["KernelStack"]),
            /// `PageTables`.
            page_tables: Meminfo(&["PageTables"]),
            /// `SecPageTables`: page tables of guests and devices (Linux 6.0).
            sec_page_tables: Meminfo(&["SecPageTables"]),
            /// `Bounce`: buffers for devices that cannot address all RAM.
            bounce: Meminfo(&["Bounce"]),
            /// `WritebackTmp`: FUSE's copies of pages being written.
            writeback_tmp: Meminfo(&["WritebackTmp"]),
            /// `VmallocUsed`: pages of the kernel's own mappings, including kernel stacks.
            vmalloc: Vmalloc,
            /// `Percpu` (Linux 4.20).
            percpu: Meminfo(&["Percpu"]),
            /// `HardwareCorrupted`: defective RAM, no longer used.
            corrupted: Meminfo(&["HardwareCorrupted"]),
            /// `GPUActive` and `GPUReclaim`: memory held by graphics drivers (Linux 7.0).
            gpu: Meminfo(&["GPUActive", "GPUReclaim"]),
            /// `GPUReclaim`: the reclaimable part of it, which graphics drivers keep for later.
            gpu_reclaim: Meminfo(&["GPUReclaim"]),
            /// `size` of the ZFS cache (ARC).
            arc_size: Arcstats(&["size"]),
            /// `c_min`: the size below which the ARC does not shrink.
            arc_min: Arcstats(&["c_min"]),
            /// Pages of the ARC, without its headers. No other counter of the kernel includes them.
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
            /// `balloon_deflate`: pages returned by it since boot, in bytes.
            balloon_deflate: VmstatPages("balloon_deflate"),
            /// `pgscan_kswapd`: pages scanned by kswapd since boot, in bytes (Linux 4.8).
            scan_kswapd: VmstatPages("pgscan_kswapd"),
            /// `pgsteal_kswapd`: pages reclaimed by kswapd.
            steal_kswapd: VmstatPages("pgsteal_kswapd"),
            /// `pgscan_direct`: pages scanned by tasks that waited for memory.
            scan_direct: VmstatPages("pgscan_direct"),
            /// `pgsteal_direct`: pages reclaimed by such tasks.
            steal_direct: VmstatPages("pgsteal_direct"),
            /// `workingset_refault_anon`: pages swapped in soon after their reclaim, since boot, in bytes (Linux 5.9).
            refault_anon: VmstatPages("workingset_refault_anon"),
            /// `workingset_refault_file`: the same for file pages (Linux 5.9).
            refault_file: VmstatPages("workingset_refault_file"),
            /// `zswpwb`: pages that zswap wrote back to swap since boot, in bytes (Linux 6.8).
            zswap_written: VmstatPages("zswpwb"),
            /// `oom_kill`: OOM kills since boot, a count (Linux 4.13).
            oom_kill: VmstatCount("oom_kill"),
        }
    };
}

pub(crate) use system_figures;

/// Calls the macro `$callback` with the list of the figures of a [`Scope`], in bytes.
macro_rules! scope_figures {
    ($callback:ident) => {
        $callback! {
            /// The lowest limit among its own and its visible ancestors'; `max` if there is none. `memory.max`;
            /// `hierarchical_memory_limit` of `memory.stat` in v1.
            limit: Option<u64>,
            /// The lowest soft limit, above which the kernel throttles the tasks and reclaims. `memory.high`; none in v1.
            high: Option<u64>,
            /// Memory charged to it and its descendants. `memory.current`, `memory.usage_in_bytes`.
            current: u64,
            /// The part that cannot be reclaimed at once: `current` − file pages on the reclaim lists − reclaimable slab.
            used: u64,
            /// Memory that may still be charged below every limit without reclaim.
            free: u64,
            /// Memory left, including swap, before a limit is reached or the host's memory is full.
            left: u64,
            /// Memory of sockets. `sock`.
            sockets: u64,
            /// Huge pages, if they are charged. `hugetlb`.
            hugetlb: u64,
            /// Kernel memory that no other figure includes; in v1 all of it.
            kernel: u64,
            /// `MemTotal` of the host.
            host_total: u64,
            /// Available memory of the host.
            host_available: u64,
        }
    };
}

pub(crate) use scope_figures;

named! {
    /// The reason that a cgroup stands for the machine.
    pub enum ScopeKind {
        /// zmtop runs in a container with a limit.
        Container = "container",
        /// The user chose it.
        Chosen = "cgroup",
    }
}

macro_rules! define_scope {
    ($($(#[$doc:meta])* $figure:ident: $type:ty,)*) => {
        /// The cgroup whose memory stands for the machine's in a [`SystemSample`], and the figures that only a cgroup has.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Scope {
            pub kind: ScopeKind,
            /// Raw: foreign bytes.
            pub path: Arc<[u8]>,
            $($(#[$doc])* pub $figure: Reading<$type>,)*
            /// The cgroup and its ancestors that have a limit, innermost first. Not recorded.
            pub levels: Vec<ScopeLevel>,
            /// Not recorded.
            pub events: ScopeEvents,
        }

        impl Scope {
            pub const fn missing(kind: ScopeKind, path: Arc<[u8]>, why: Missing) -> Self {
                Self {
                    kind,
                    path,
                    $($figure: Err(why),)*
                    levels: Vec::new(),
                    events: ScopeEvents::missing(why),
                }
            }
        }
    };
}

scope_figures!(define_scope);

/// The limits of a cgroup or of one of its ancestors: its own, not those above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeLevel {
    /// Raw: foreign bytes. `/..` for one above the root of zmtop's cgroup namespace, `/../..` for the next.
    pub path: Arc<[u8]>,
    pub current: Reading<u64>,
    /// The swapped-out part.
    pub swap: Reading<u64>,
    /// `memory.max`, `memory.limit_in_bytes`; `None` if there is none.
    pub limit: Reading<Option<u64>>,
    /// `memory.high`; none in v1.
    pub high: Reading<Option<u64>>,
    /// `memory.swap.max`; in v1 `memory.memsw.limit_in_bytes` − `memory.limit_in_bytes`.
    pub swap_limit: Reading<Option<u64>>,
}

/// Counts of memory events in a cgroup and below it since it was created: `memory.events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeEvents {
    /// It was reclaimed although it was below its protection.
    pub low: Reading<u64>,
    /// Its tasks were throttled above `memory.high`.
    pub high: Reading<u64>,
    /// It was about to exceed `memory.max`. `memory.failcnt` in v1.
    pub max: Reading<u64>,
    /// It was at its limit, and nothing could be reclaimed.
    pub oom: Reading<u64>,
    /// Killed processes. In v1 without descendants.
    pub oom_kill: Reading<u64>,
    /// Whole cgroups killed at once.
    pub oom_group_kill: Reading<u64>,
}

impl ScopeEvents {
    pub const fn missing(why: Missing) -> Self {
        let [low, high, max, oom, oom_kill, oom_group_kill] = [Err(why); 6];
        Self {
            low,
            high,
            max,
            oom,
            oom_kill,
            oom_group_kill,
        }
    }

    /// Returns the events by name, in the kernel's order.
    pub const fn named(&self) -> [(&'static str, Reading<u64>); 6] {
        [
            ("low", self.low),
            ("high", self.high),
            ("max", self.max),
            ("oom", self.oom),
            ("oom_kill", self.oom_kill),
            ("oom_group_kill", self.oom_group_kill),
        ]
    }
}

impl Scope {
    /// Returns the limit, or else the soft limit; `Ok(None)` if neither is below the host's RAM.
    pub fn ceiling(&self) -> Reading<Option<u64>> {
        let limit = match self.limit? {
            None => self.high?,
            limit => limit,
        };
        Ok(limit.filter(|limit| self.host_total.is_ok_and(|total| *limit < total)))
    }

    /// Returns the soft limit if it is below the limit.
    pub fn soft_limit(&self) -> Option<u64> {
        let high = self.high.ok()??;
        let limit = self.limit.ok()?;
        limit.is_none_or(|limit| high < limit).then_some(high)
    }

    pub fn host_used(&self) -> Reading<u64> {
        Ok(self.host_total?.saturating_sub(self.host_available?))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// The sum of these lines of `/proc/meminfo`; unknown if one of them is.
    Meminfo(&'static [&'static str]),
    /// This line of `/proc/meminfo`, a count of huge pages of the default size, in bytes.
    HugePages(&'static str),
    /// `VmallocUsed` of `/proc/meminfo`. Unknown before Linux 5.3, which wrote 0 or the size of the address space.
    Vmalloc,
    /// This line of `/proc/vmstat`, a count of pages, in bytes.
    VmstatPages(&'static str),
    /// This line of `/proc/vmstat`, a plain count.
    VmstatCount(&'static str),
    /// The sum of these lines of `/proc/spl/kstat/zfs/arcstats`; unknown if one of them is.
    Arcstats(&'static [&'static str]),
}

#[derive(Debug)]
pub struct SystemFigure {
    /// The name of the field, in [`SystemSample`] and in a `zmtop/1` record.
    pub name: &'static str,
    pub source: FigureSource,
    pub field: fn(&mut SystemSample) -> &mut Reading<u64>,
}

macro_rules! define_sample {
    ($($(#[$doc:meta])* $figure:ident: $source:expr,)*) => {
        /// System-wide figures, each of which may be missing with its reason.
        #[derive(Clone, Debug)]
        pub struct SystemSample {
            $($(#[$doc])* pub $figure: Reading<u64>,)*
            /// `/sys/block/zram*/mm_stat`.
            pub zram: Vec<Zram>,
            /// `/proc/swaps`.
            pub swaps: Reading<Vec<SwapArea>>,
            /// `/proc/pressure/memory`: the last 10 s.
            pub psi: Reading<Pressure<1>>,
            /// Time that some task, and all tasks at once, have waited for memory since boot. `total` of `/proc/pressure/memory`.
            pub stalled: Reading<[Duration; 2]>,
            /// Seconds since boot.
            pub uptime: Reading<f64>,
            /// The 1-, 5- and 15-minute load averages.
            pub loadavg: Reading<[f32; 3]>,
            /// Figures of the cgroup with the lowest limit among zmtop's own and its ancestors, or of its own if none has
            /// a limit. Read every few seconds. See [`SystemSample::own_limit`].
            pub limit: CgroupFigures,
            /// The cgroup to which all other figures belong: of zmtop's container, if it has a limit, or the chosen one.
            /// `None` if they are the machine's.
            pub scope: Option<Box<Scope>>,
        }

        impl SystemSample {
            pub const FIGURES: &[SystemFigure] = {
                use FigureSource::{Arcstats, HugePages, Meminfo, Vmalloc, VmstatCount, VmstatPages};
                &[$(SystemFigure {
                    name: stringify!($figure),
                    source: $source,
                    field: |sample| &mut sample.$figure,
                },)*]
            };

            pub fn missing(why: Missing) -> Self {
                Self {
                    $($figure: Err(why),)*
                    zram: Vec::new(),
                    swaps: Err(why),
                    psi: Err(why),
                    stalled: Err(why),
                    uptime: Err(why),
                    loadavg: Err(why),
                    limit: CgroupFigures::missing(why),
                    scope: None,
                }
            }
        }
    };
}

system_figures!(define_sample);

impl SystemSample {
    /// Returns the limit on zmtop's own memory and the figures of the cgroup that has it, if it is below the machine's
    /// RAM. Only in a container is it also the limit of the shown processes: the [scope](Self::scope).
    pub fn own_limit(&self) -> Option<(u64, &CgroupFigures)> {
        let limit = self.limit.limit.ok()??;
        (limit < self.mem_total.ok()?).then_some((limit, &self.limit))
    }

    /// Marks the zram devices that hold a swap area: those in `swaps`, or all if `swaps` is unknown and there is swap.
    pub fn mark_swap(&mut self) {
        let swaps = self.swaps.as_deref().ok();
        let has_swap = self.swap_total != Ok(0);
        for device in &mut self.zram {
            let is_on = |area: &SwapArea| area.path.rsplit(|b| *b == b'/').next() == Some(device.name.as_bytes());
            device.is_swap = swaps.map_or(has_swap, |swaps| swaps.iter().any(is_on));
        }
    }

    /// Returns the memory that programs could still use without swapping, at most `MemTotal`: `MemAvailable`, and the
    /// reclaimable memory that it lacks: `GPUReclaim`, and the ZFS cache above its minimum.
    pub fn available(&self) -> Reading<u64> {
        let credit = [self.gpu_reclaim, self.arc_reclaimable()];
        let credit = credit.into_iter().filter_map(Result::ok);
        let available = credit.fold(self.mem_available?, u64::saturating_add);
        Ok(available.min(self.mem_total.unwrap_or(u64::MAX)))
    }

    /// Returns `MemTotal` − [`available`](Self::available), or the memory of the cgroup that cannot be reclaimed at once.
    pub fn used(&self) -> Reading<u64> {
        if let Some(scope) = &self.scope {
            return scope.used;
        }
        Ok(self.mem_total?.saturating_sub(self.available()?))
    }

    /// Returns the pages of the ZFS cache, or all of it if the size of its headers is unknown.
    pub fn arc(&self) -> Reading<u64> {
        let size = self.credible_arc()?;
        Ok(self.arc_data.map_or(size, |data| data.min(size)))
    }

    /// Returns the reclaimable part of the ZFS cache: `size − c_min`.
    pub fn arc_reclaimable(&self) -> Reading<u64> {
        Ok(self.credible_arc()?.saturating_sub(self.arc_min?))
    }

    /// Returns the size of the ZFS cache, which cannot exceed the RAM.
    fn credible_arc(&self) -> Reading<u64> {
        let size = self.arc_size?;
        if size > self.mem_total? {
            return Err(Missing::Malformed);
        }
        Ok(size)
    }

    /// Returns the memory handed back to the hypervisor: `Balloon`, or before Linux 6.18 the pages inflated − deflated.
    pub fn ballooned(&self) -> Reading<u64> {
        let counted = || Ok(self.balloon_inflate?.saturating_sub(self.balloon_deflate?));
        self.balloon.or_else(|_| counted())
    }

    /// Returns `SwapTotal − SwapFree`.
    pub fn swap_used(&self) -> Reading<u64> {
        Ok(self.swap_total?.saturating_sub(self.swap_free?))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zram {
    pub name: Box<str>,
    /// `orig_data_size` of `mm_stat`: the uncompressed size of the stored data.
    pub stored: u64,
    /// `mem_used_total` of `mm_stat`: the RAM used.
    pub compressed: u64,
    /// `mem_limit` of `mm_stat`: the maximum RAM; `None` if it has no limit or an unknown one.
    pub limit: Option<u64>,
    /// A swap area is on it.
    pub is_swap: bool,
}

/// A swap area: one line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// Raw: foreign bytes.
    pub path: Box<[u8]>,
    /// `file` or `partition`.
    pub kind: Box<str>,
    /// In bytes, as `used` is.
    pub size: u64,
    pub used: u64,
    /// The kernel fills the area with the highest priority first.
    pub priority: Reading<i32>,
}

impl SwapArea {
    pub fn on_zram(&self) -> bool {
        self.path
            .rsplit(|b| *b == b'/')
            .next()
            .is_some_and(|name| name.starts_with(b"zram"))
    }
}

/// Figures of the system that only its account needs.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountingInputs {
    /// `/proc/zoneinfo`.
    pub zones: Reading<Zones>,
    /// Sorted by name; empty without the driver.
    pub zram: Reading<Vec<ZramDevice>>,
    /// `/sys/kernel/mm/hugepages`, sorted by size.
    pub huge: Reading<Vec<HugePool>>,
    /// `/sys/kernel/mm/transparent_hugepage/enabled`: `always`, `madvise` or `never`.
    pub thp: Reading<Box<str>>,
    /// `/sys/kernel/mm/ksm`.
    pub ksm: Reading<Ksm>,
    /// `/sys/module/zswap/parameters/enabled`.
    pub zswap_on: Reading<bool>,
    /// `/sys/module/zswap/parameters/max_pool_percent`: the maximum share of the RAM.
    pub zswap_percent: Reading<u64>,
    /// Pages of one repeated word in zswap, in bytes. They use no RAM. Debugfs, up to Linux 6.11.
    pub zswap_same_filled: Reading<u64>,
    /// `/proc/pressure/memory`.
    pub pressure: Reading<Pressure>,
    /// `/proc/net/sockstat`.
    pub sockets: Reading<Sockets>,
    /// `/proc/sysvipc/shm`, of zmtop's IPC namespace.
    pub sysv: Reading<SysvShm>,
    /// File systems in memory in `/proc/self/mountinfo`, by device.
    pub mounts: Reading<Vec<MemoryMount>>,
}

impl AccountingInputs {
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
    /// `present`: the RAM known to the kernel.
    pub present: u64,
    /// `managed`: the part that the page allocator manages, which is `MemTotal`.
    pub managed: u64,
    /// `count` of each processor's lists: free, and not in `MemFree`.
    pub free_lists: u64,
}

/// A zram device, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZramDevice {
    pub name: Box<str>,
    /// `disksize`: the capacity.
    pub size: Reading<u64>,
    /// `orig_data_size`, field 1 of `mm_stat`: the uncompressed size of the stored data, without pages written back to a
    /// disk.
    pub stored: u64,
    /// `same_pages`, field 6: pages of one repeated word, which use no RAM. Unknown before Linux 4.11.
    pub same_filled: Reading<u64>,
    /// `mem_limit`, field 4: the maximum RAM; 0 for no limit.
    pub limit: Reading<u64>,
    /// `mem_used_total`, field 3: the RAM used.
    pub used: u64,
    /// Field 1 of `bd_stat`: data written back to a disk. Unknown if the driver was built without it.
    pub on_disk: Reading<u64>,
}

/// A pool of huge pages, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugePool {
    /// The page size.
    pub page: u64,
    pub total: u64,
    pub free: u64,
}

/// Memory that KSM merged, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ksm {
    /// `run` is 1.
    pub on: bool,
    /// `pages_shared`: the pages that others were merged into.
    pub shared: u64,
    /// `pages_sharing`: the RAM that merging saves.
    pub saved: u64,
}

/// Time that tasks waited for memory, in percent of the last 10, 60 and 300 seconds, or of the first `N` of these periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure<const N: usize = 3> {
    /// At least one task waited.
    pub some: [f32; N],
    /// All tasks waited.
    pub full: [f32; N],
}

/// Memory of sockets, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// `mem` of `TCP`, of all network namespaces.
    pub tcp: u64,
    /// `mem` of `UDP`, of all network namespaces.
    pub udp: u64,
    /// `memory` of `FRAG`: packets to be reassembled, of zmtop's network namespace.
    pub fragments: u64,
}

/// System V shared memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysvShm {
    pub segments: u64,
    /// `rss`.
    pub resident: u64,
    /// `swap`.
    pub swapped: u64,
    /// `NotAsked` if no segment has pages in RAM.
    pub creator: Reading<SysvCreator>,
    /// `rss` of the segments with `SHM_LOCKED`.
    pub locked: Reading<u64>,
}

impl Default for SysvShm {
    fn default() -> Self {
        Self {
            segments: 0,
            locked: Ok(0),
            resident: 0,
            swapped: 0,
            creator: Err(Missing::NotAsked),
        }
    }
}

/// The user whose System V segments have most RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysvCreator {
    /// `cuid`.
    pub uid: u32,
    /// `cpid` of the segment with most RAM. The process may have ended, and another may have its pid.
    pub pid: u32,
    /// Σ `rss` of the segments of this user, in bytes.
    pub resident: u64,
}

/// A file system in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMount {
    pub device: u64,
    /// The first mount point that leads to it, raw: foreign bytes.
    pub path: Box<[u8]>,
    /// `tmpfs` or `devtmpfs`.
    pub kind: Box<str>,
    /// Bytes of its files, in RAM or swap, including deleted files that are open. Unknown if it has no limit or other
    /// mounts hide it.
    pub used: Reading<u64>,
    /// The maximum size, in bytes.
    pub size: Reading<u64>,
}
