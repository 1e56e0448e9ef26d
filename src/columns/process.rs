//! The columns of processes and of groups of them.

use std::borrow::Cow;

use crate::account::headroom;
use crate::columns::{AppliesTo, Column, Label, Needs, Priority, Row, SortKey, TableKind, Unit, Value};
use crate::filter::{Filter, Filterable, TextField};
use crate::group::{Change, Group, GroupBy, GroupNames, Totals};
use crate::history::RowHistory;
use crate::history::mappings::Coldness;
use crate::history::marks::MarkDelta;
use crate::model::cgroup::Count;
use crate::model::mapping::MappedObject;
use crate::model::{
    CgroupFigures, Container, ContainerNames, Facts, HeldFigures, HeldKind, Memory, Missing, ProcessSample, Reading,
};
use crate::text::same;
use crate::trend::{Judgement, Metric, Verdict};

/// Processes, groups, mappings of all processes, and totals.
#[derive(Clone, Copy, Debug)]
pub enum Processes {}

impl TableKind for Processes {
    type Row<'a> = Row<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;

    fn tie<'a>(row: &'a Row<'a>) -> SortKey {
        PSS.get().sort_key(row)
    }
}

/// The column that orders rows which are equal in the sort column.
const PSS: ColumnId = ColumnId::named("pss");

type Entry = Column<Processes>;

const OVER_TIME: Needs = Needs::MEMORY.and(Needs::HISTORY);
const REFERENCED: Needs = Needs::MEMORY.and(Needs::REFERENCED);

/// All columns, in the order of the column chooser.
pub static COLUMNS: &[Entry] = &[
    // The memory of a process, and how it changes.
    Entry::bytes("pss", "PSS", own_pss)
        .help(
            "Proportional set size: each resident page divided by the number of processes that map it. The sum over \
             all processes counts every page once. If it cannot be read, RSS is shown as an upper bound, with ≤; in a \
             group, RSS of such processes is added. Kernel: Pss in smaps_rollup.",
        )
        .metric("zmtop_pss_bytes")
        .metric_help(
            "Proportional set size: each resident page divided by the number of processes that map it. The sum over all processes counts every page once. Absent where it cannot be read. Kernel: Pss in smaps_rollup.",
        )
        .priority(Priority::High),
    Entry::figure("dpss", "ΔPSS", Unit::Delta, 6, |r| delta(r, |c| c.pss))
        .timed()
        .help(
            "Change of PSS over the last seconds (ui.delta in the config, 10 s by default), extrapolated if figures \
             are less frequent. If PSS cannot be read, the change of RSS is shown; sums exclude it. Coloured if at least 1 \
             MiB and 1 % of the footprint. Formula: PSS now − PSS then.",
        )
        .additive(true)
        .needs(OVER_TIME),
    Entry::bytes("swap", "SWAP", |r| swap(r, r.memory, r.counted_swap))
        .help(
            "Swapped-out memory, including shared memory, not divided among sharers. Kernel: Swap in smaps_rollup; if that \
             cannot be read, VmSwap in status, which excludes shared memory.",
        )
        .metric("zmtop_swap_bytes")
        .priority(Priority::High),
    Entry::figure("dswap", "ΔSWAP", Unit::Delta, 6, |r| {
        delta(r, |c| c.swap)
    })
    .timed()
    .help(
        "Change of swap over the last seconds (ui.delta in the config, 10 s by default). Formula: SWAP now − SWAP \
         then.",
    )
    .additive(true)
    .needs(OVER_TIME),
    Entry::bytes("uss", "USS", |r| after_pss(r, |m| Ok(m.uss())))
        .help(
            "Unique set size: pages that no other process maps, freed when this process exits. Formula: Private_Clean + \
             Private_Dirty of smaps_rollup.",
        )
        .metric("zmtop_uss_bytes"),
    Entry::bytes("rss", "RSS", |r| {
        let sums = r.totals.filter(|_| r.sample.is_none());
        match (r.counted_rss, sums.map_or(r.hidden_rss, |sums| sums.counted_rss)) {
            (Some(rss), _) => Value::Bytes(rss),
            // The kernel counts it for every process, readable or not.
            (None, hidden @ 1..) if !r.snapshot.is_partial() => {
                Value::bytes(r.memory.map(|m| m.rss.saturating_add(hidden)))
            }
            (None, _) => after_pss(r, |m| Ok(m.rss)),
        }
    })
        .help(
            "Resident set size: all resident pages; shared pages count fully in each process. Kernel: Rss in \
             smaps_rollup, read together with PSS; if that cannot be read, field 24 of stat.",
        )
        .metric("zmtop_rss_bytes")
        .priority(Priority::Low),
    Entry::bytes("virt", "VIRT", |r| match r.sample {
        Some(sample) if sample.stat.vsize > 0 => Value::Bytes(sample.stat.vsize),
        Some(sample) => Value::Missing(sample.stat.lacks_memory().unwrap_or(Missing::Unsupported)),
        None => Value::Blank,
    })
    .help("The size of the address space, most of which may never have been touched. Field 23 of stat.")
    .additive(false)
    .applies_to(AppliesTo::Processes)
    .needs(Needs::STAT),
    Entry::figure("mem", "MEM%", Unit::Share, 5, |r| match (r.memory, r.counted_rss, r.snapshot.system.mem_total) {
        (Ok(m), _, Ok(ram)) => {
            let share = |bytes: u64| bytes as f64 / ram.max(1) as f64;
            match r.hidden_rss {
                0 => Value::Share(share(m.pss)),
                hidden => Value::ShareWithin(share(m.pss), share(m.pss.saturating_add(hidden))),
            }
        }
        (Err(_), Some(rss), Ok(ram)) => Value::ShareAtMost(rss as f64 / ram.max(1) as f64),
        (Err(why), ..) | (.., Err(why)) => Value::Missing(why),
    })
    .help(
        "PSS in percent of the machine's memory, or of the container's limit. If PSS cannot be read, RSS as an upper \
         bound, with ≤. Formula: PSS ÷ MemTotal.",
    )
    .additive(true)
    .priority(Priority::Low)
    .needs(Needs::MEMORY.and(Needs::SYSTEM)),
    Entry::figure("history", "5 MIN", Unit::Chart, 10, |r| {
        r.footprint
            .map_or(Value::Blank, |line| Value::Chart(line, r.change.and_then(|c| c.growth)))
    })
    .help(
        "The footprint over the last five minutes, from its lowest to its highest value. You can compare the rows on \
         the screen: a row that changed a quarter as much as another one is drawn half as high. A row that changed by \
         less than a tenth of its size is drawn lower still. If PSS cannot be read, RSS and swap are drawn. Sorted by \
         slope.",
    )
    .needs(OVER_TIME),
    Entry::figure("growth", "GROWTH", Unit::Growth, 10, |r| {
        change(r, |c| c.growth, Value::Growth)
    })
    .help("Slope of the footprint over five minutes, by least squares; 0 if flat. Filter: growth>1M/min.")
    .additive(true)
    .priority(Priority::Low)
    .needs(OVER_TIME),
    Entry::bytes("swap_pss", "SWPSS", |r| memory(r, |m| m.swap_pss))
        .help(
            "Proportional swap: each swap slot divided by its sharers; without swapped-out shared memory. Kernel: \
             SwapPss in smaps_rollup (Linux 4.3).",
        )
        .metric("zmtop_swap_pss_bytes"),
    Entry::bytes("footprint", "FOOTP", |r| memory(r, Memory::footprint))
        .help(
            "The total memory of the process, in RAM and in swap. It includes neither pages of hugetlbfs nor swapped-out \
             shared memory. Formula: PSS + SwapPss.",
        )
        .metric("zmtop_footprint_bytes"),
    Entry::bytes("pss_error", "±PSS", |r| Value::bytes(r.memory.map(|_| r.error))).help(
        "Upper bound on the error of PSS and SwapPss of smaps_rollup: 0 after a read. It rises when the process, or \
         other processes that share its memory, change. The error of USS may be twice as large. For a sum, the sum of \
         its members' bounds.",
    ),
    Entry::bytes("tree_pss", "ΣPSS", |r| match subtree(r) {
        Some(tree) => pss(tree.memory.as_ref().map_err(|e| *e), tree.counted_rss),
        None => own_pss(r),
    })
        .help("PSS of the process and all its descendants (tree view; elsewhere its own PSS).")
        .priority(Priority::Highest),
    Entry::bytes("tree_swap", "ΣSWAP", |r| match subtree(r) {
        Some(tree) => swap(r, tree.memory.as_ref().map_err(|e| *e), tree.counted_swap),
        None => swap(r, r.memory, r.counted_swap),
    })
        .help("Swap of the process and all its descendants (tree view; elsewhere its own swap)."),
    Entry::bytes("pss_anon", "ANON", |r| {
        let hidden = r.totals.filter(|_| r.hidden_rss > 0).and_then(|sums| sums.counted_anon);
        match (r.counted_anon, r.memory.and_then(|m| m.pss_anon), hidden) {
            (Some(anon), ..) => Value::AtMost(anon),
            (None, Ok(known), Some(hidden @ 1..)) => Value::Within(known, known.saturating_add(hidden)),
            (None, known, _) => Value::bytes(known),
        }
    })
    .help(
        "The anonymous part of PSS: heap, stack, private writes. If it cannot be read, the same part of RSS is shown \
         as an upper bound, with ≤ (only forked processes share it). Kernel: Pss_Anon in smaps_rollup (Linux 5.4); \
         resident − shared in statm.",
    )
    .metric("zmtop_pss_anon_bytes")
        .metric_help(
            "The anonymous part of PSS: heap, stack, private writes. Absent where it cannot be read. Kernel: Pss_Anon in smaps_rollup (Linux 5.4).",
        ),
    Entry::bytes("pss_file", "FILE", |r| memory(r, |m| m.pss_file)).help(
        "The file-backed part of PSS: programs, libraries, mapped files. Kernel: Pss_File in smaps_rollup (Linux 5.4).",
    )
    .metric("zmtop_pss_file_bytes"),
    Entry::bytes("pss_shmem", "SHMEM", |r| memory(r, |m| m.pss_shmem))
        .help("The shared-memory and tmpfs part of PSS. Kernel: Pss_Shmem in smaps_rollup (Linux 5.4).")
    .metric("zmtop_pss_shmem_bytes"),
    Entry::bytes("pss_dirty", "PDIRTY", |r| memory(r, |m| m.pss_dirty)).help(
        "The dirty part of PSS: pages that must be written back before they can be freed. Kernel: Pss_Dirty in smaps_rollup \
         (Linux 6.0).",
    ),
    Entry::bytes("dirty", "DIRTY", |r| match r.snapshot.fleet {
        Some(_) => Value::Missing(Missing::NotExported),
        None => memory(r, |m| Ok(m.dirty())),
    })
        .help("Dirty pages, not divided among sharers. Formula: Private_Dirty + Shared_Dirty of smaps_rollup."),
    Entry::bytes("shared", "SHARED", |r| after_pss(r, |m| Ok(m.shared())))
        .help("Pages also mapped by other processes, not divided among sharers. Formula: Shared_Clean + Shared_Dirty of smaps_rollup."),
    Entry::bytes("hugetlb", "HUGE", |r| memory(r, Memory::hugetlb)).help(
        "Pages of hugetlbfs, which are in neither RSS nor PSS. Formula: Private_Hugetlb + Shared_Hugetlb of \
         smaps_rollup (Linux 4.4).",
    )
    .metric("zmtop_hugetlb_bytes"),
    Entry::bytes("anon_huge", "THP", |r| memory(r, |m| m.anon_huge)).help(
        "Anonymous memory in transparent huge pages, not divided among sharers. If it rises by as much as PSS, the \
         kernel merged small pages into huge ones, or a fault allocated a whole huge page. READ shows its age. Kernel: \
         AnonHugePages in smaps_rollup.",
    )
    .metric("zmtop_anon_huge_bytes")
        .metric_help(
            "Anonymous memory in transparent huge pages, not divided among sharers, as of the last read of smaps_rollup. Kernel: AnonHugePages in smaps_rollup.",
        ),
    Entry::bytes("lazy_free", "LAZY", |r| memory(r, |m| m.lazy_free)).help(
        "Memory that the process freed lazily (MADV_FREE) and the kernel has not taken back yet, not divided among \
         sharers. It is in RSS and PSS, but is neither growth nor a leak. READ shows its age. Kernel: LazyFree in smaps_rollup \
         (Linux 4.12).",
    )
    .metric("zmtop_lazy_free_bytes")
        .metric_help(
            "Memory that the process freed lazily (MADV_FREE) and the kernel has not taken back yet, not divided among \
             sharers, as of the last read of smaps_rollup. It is in RSS and PSS, but is neither growth nor a leak. \
             Kernel: LazyFree in smaps_rollup (Linux 4.12).",
        ),
    Entry::figure("kept_free", "KEPT", Unit::Bytes, 6, |r| {
        let heap = r.sample.map(|sample| r.snapshot.heaps.get(&sample.id));
        match heap.filter(|_| r.group.is_none()) {
            Some(Some(heap)) => Value::Bytes(heap.kept),
            Some(None) => memory(r, |_| Err(Missing::Pending)),
            None => Value::Blank,
        }
    })
    .help(
        "Memory that the program freed and that malloc of glibc, jemalloc, mimalloc, tcmalloc or musl keeps, in RAM or in swap. It is in \
         PSS, and is not a leak. Read every 30 s or less often, in processes with at least 64M of anonymous memory \
         (sampler.heaps). Kernel: free lists in /proc/PID/mem, with pagemap.",
    )
    .applies_to(AppliesTo::Processes)
    .needs(Needs::MEMORY.and(Needs::HEAPS)),
    // Memory held through descriptors.
    Entry::bytes("held", "HELD", |r| held(r, None, HeldFigures::total))
        .help(
            "Memory held through file descriptors, which is in no process's PSS. Memory that several processes hold is \
             divided among them, so that sums count it once; ≥ if some of it could not be read. Formula: GPU + DMABUF \
             + BPF + MEMFD + URING.",
        )
        .metric("zmtop_held_bytes")
        .metric_help(
            "Memory held through file descriptors, which is in no process's PSS. Memory that several processes hold is divided among them, so that sums count it once; a lower bound where some of it could not be read. Formula: the sum of zmtop_held_gpu_bytes, _dmabuf_, _bpf_, _memfd_ and _uring_.",
        )
        .needs(Needs::HELD),
    Entry::figure("held_unread", "HUNREAD", Unit::Count, 7, |r| {
        held_figures(r, |figures| {
            let unread = HeldKind::ALL.into_iter().filter(|kind| figures.is_partial(Some(*kind)));
            Value::Count(unread.count() as u64)
        })
    })
    .help(
        "Number of kinds of held memory that could not be read completely. HELD is then a lower bound. Formula: the \
         number of GPU, DMABUF, BPF, MEMFD and URING that have a ≥.",
    )
    .additive(true)
    .needs(Needs::HELD),
    Entry::figure("held_change", "ΔHELD", Unit::Delta, 6, |r| {
        over_time(r, Value::Delta(0, 0), |history| {
            let change = history.change().pss;
            change.map_or(Value::Missing(Missing::Pending), |by| Value::Delta(by, held_total(r)))
        })
    })
    .timed()
    .help("Change of HELD over the same period as ΔPSS (ui.delta). Formula: HELD now − HELD then.")
    .needs(HELD_OVER_TIME),
    Entry::figure("held_trend", "HTREND", Unit::Trend, 16, |r| {
        over_time(r, Value::Blank, |history| known(history, |judged| Value::trend(judged, history.change().pss, None)))
    })
    .help(
        "The trend of HELD, and how fast its lowest values change, judged like the footprint. Blank if nothing was \
         ever held. Filter: held_trend>1M/min.",
    )
    .needs(HELD_OVER_TIME),
    Entry::figure("held_verdict", "HVERDICT", Unit::Verdict, 9, |r| {
        over_time(r, Value::Blank, |history| known(history, |judged| Value::Verdict(judged.verdict)))
    })
    .help(
        "The verdict on HELD, as on the footprint: leaking, growing, warming, steady or shrinking. Filter: \
         held_verdict:leaking.",
    )
    .needs(HELD_OVER_TIME),
    Entry::figure("mark_held", "ΔMHELD", Unit::Delta, 6, |r| {
        let change = r.mark.and_then(|mark| match (r.group, r.sample) {
            (Some(group), _) => mark.held_by_group(group, r.snapshot),
            (None, Some(sample)) => mark.held(sample),
            (None, None) => None,
        });
        let delta = |by| Value::Delta(by, held_total(r));
        change.map_or(Value::Blank, |change| change.map_or_else(Value::Missing, delta))
    })
    .help(
        "Change of HELD since the mark (b in the monitor). Blank if HELD was not read at that time. Formula: HELD now \
         − HELD at the mark.",
    )
    .needs(HELD_OVER_TIME.and(Needs::MARK)),
    Entry::bytes("gpu", "GPU", |r| held(r, Some(HeldKind::Gpu), |f| f.of(HeldKind::Gpu)))
        .help(
            "Buffers of graphics and compute devices in RAM, as reported by the drivers. A client is one open \
             file of a device: if several processes hold it, it is divided among them. A buffer that two clients share \
             counts in both. Kernel: drm-resident-memory, -system, -gtt and -cpu in fdinfo; drm-memory-* or \
             drm-total-* where those are missing.",
        )
        .metric("zmtop_held_gpu_bytes")
        .needs(Needs::HELD),
    Entry::bytes("vram", "VRAM", |r| held(r, Some(HeldKind::Gpu), |f| f.vram))
        .help(
            "Buffers in device memory (VRAM), which is neither in RAM nor in HELD. Kernel: the \
             other regions of drm-resident-* in fdinfo.",
        )
        .metric("zmtop_held_vram_bytes")
        .metric_help(
            "Buffers in device memory (VRAM), which is neither in RAM nor in zmtop_held_bytes. Kernel: the regions of drm-resident-* in fdinfo that are not in RAM.",
        )
        .needs(Needs::HELD),
    Entry::bytes("dmabuf", "DMABUF", |r| held(r, Some(HeldKind::DmaBuf), |f| f.of(HeldKind::DmaBuf)))
        .help(
            "Dma-bufs, each divided by the processes that hold it. If the process is a client of a graphics driver, \
             the driver's dma-bufs are in GPU. Kernel: size in fdinfo (Linux 5.3).",
        )
        .metric("zmtop_held_dmabuf_bytes")
        .metric_help(
            "Dma-bufs, each divided by the processes that hold it. If the process is a client of a graphics driver, the driver's dma-bufs are in zmtop_held_gpu_bytes. Kernel: size in fdinfo (Linux 5.3).",
        )
        .needs(Needs::HELD),
    Entry::bytes("bpf", "BPF", |r| held(r, Some(HeldKind::Bpf), |f| f.of(HeldKind::Bpf)))
        .help("BPF maps and programs, each divided by the processes that hold it. Kernel: memlock in fdinfo.")
        .metric("zmtop_held_bpf_bytes")
        .needs(Needs::HELD),
    Entry::bytes("memfd", "MEMFD", |r| held(r, Some(HeldKind::Memfd), |f| f.of(HeldKind::Memfd)))
        .help(
            "Memfds and removed files on tmpfs, each divided among its holders. Pages that the holders map do not \
             count. Swapped-out pages count too. Formula: (st_blocks × 512 − mapped) ÷ holders.",
        )
        .metric("zmtop_held_memfd_bytes")
        .needs(Needs::HELD),
    Entry::bytes("uring", "URING", |r| held(r, Some(HeldKind::Uring), |f| f.of(HeldKind::Uring)))
        .help(
            "Buffers that the process registered with io_uring and then unmapped. They are pinned. Mapped buffers are \
             in PSS. Formula: lengths of UserBufs in fdinfo − mapped.",
        )
        .metric("zmtop_held_uring_bytes")
        .needs(Needs::HELD),
    // Judgements on the footprint, and the time until it reaches a limit.
    Entry::figure("trend", "TREND", Unit::Trend, 16, |r| {
        let size = r.memory.ok().map(|memory| memory.pss);
        trend(r, |judged| Value::trend(judged, r.change.and_then(|change| change.pss), size))
    })
        .help(
            "The trend of the footprint, and how fast its lowest values change: ▲ it leaks, or the leak is paused; △ \
             it grows; ◇ it hoards: its allocator keeps the memory that it freed; ~ it warms up: its growth has just \
             started or is slowing down; ▽ it falls; · it is steady, or varies above a steady level. Leaks sort first. \
             The rate is the median over the time judged, 16 minutes or more for a leak. GROWTH is the rate of the \
             last five minutes. Based on RSS if PSS cannot be read. Filter: trend>1M/min verdict:leaking.",
        )
        .priority(Priority::High)
        .needs(OVER_TIME),
    Entry::figure("verdict", "VERDICT", Unit::Verdict, 9, |r| {
        trend(r, |t| Value::Verdict(t.verdict))
    })
    .help(
        "The verdict: leaking, growing, hoarding, warming, steady or shrinking, based on the lowest values of the \
         footprint without pages of files and without memory that the allocator keeps free. Hoarding: only the memory \
         that the allocator keeps free grows. Growth is reported after one to two minutes. A leak is growth that lasts \
         longer than a cache fill, a warm-up or a load usually does. It is reported after 16 minutes at the earliest. \
         Filter: verdict:leaking, verdict>=growing.",
    )
    .needs(OVER_TIME)
    .metric("zmtop_verdict")
        .metric_help(
            "The verdict on the footprint without pages of files: 1 shrinking, 2 steady, 3 warming, 3.5 hoarding (only \
             memory that the allocator keeps free grows), 4 growing, 5 leaking. Growth is reported after one to two minutes. A leak is growth that lasts longer than a cache \
             fill, a warm-up or a load usually does. It is reported after 16 minutes at the earliest. Absent until it \
             is known.",
        ),
    Entry::figure("slope", "SLOPE", Unit::Growth, 10, |r| {
        trend(r, |t| Value::Growth(t.slope))
    })
    .help("How fast the lowest values of the footprint change; 0 if it is steady or paused. Filter: slope>1M/h.")
    .needs(OVER_TIME)
    .metric("zmtop_slope_bytes_per_second")
        .metric_help(
            "How fast the lowest values of the footprint change; 0 if it is steady or paused.",
        ),
    Entry::figure("confidence", "SURE%", Unit::Share, 5, |r| {
        trend(r, |t| Value::Share(t.confidence))
    })
    .help(
        "The confidence that the lowest values of the footprint rise permanently: a score, not a probability. Below 90 \
         (trend.confidence), no growth is reported as a leak.",
    )
    .needs(OVER_TIME)
    .metric("zmtop_leak_confidence_ratio")
        .metric_help(
            "The confidence that the lowest values of the footprint rise permanently: a score, not a probability. \
             Below 0.9 (trend.confidence in the config), no growth is reported as a leak.",
        ),
    Entry::figure("since", "FOR", Unit::Seconds, 7, |r| {
        growth_time(r, |r, t| Some(t.watched(r.now())?.as_secs_f64()))
    })
    .help(
        "How long the footprint has been growing, at least. Time in which the machine was suspended or zmtop did not run \
         does not count.",
    )
    .needs(OVER_TIME)
    .metric("zmtop_growing_for_seconds"),
    Entry::figure("eta", "FULL IN", Unit::Seconds, 7, |r| {
        let eta = growth_time(r, |r, t| {
            let cgroup = r.limiting_cgroup();
            let is_live_set = t.metric == Metric::LiveSet;
            t.eta(match r.sample.filter(|_| r.group.is_none()) {
                Some(sample) => headroom::process_headroom(r.snapshot, sample.id, is_live_set, cgroup),
                None => headroom::headroom(r.snapshot, cgroup),
            })
        });
        match (eta, r.trend) {
            (Value::Seconds(eta), _) => Value::Forecast(eta),
            // A row that is known not to grow ends an alert about its growth.
            (Value::Blank, Some(judged)) if judged.verdict != Verdict::Unknown => Value::Never,
            (eta, _) => eta,
        }
    })
    .help(
        "How long until growth at this rate reaches the nearest limit: of its cgroup, of its address space (RLIMIT_AS) \
         or of its Java heap, or the end of the machine's memory and swap. Formula: room ÷ SLOPE. Room is the lower \
         of two values: limit − memory of its processes; and mem_available (of the system) + free swap. Free swap is \
         SwapFree + SwapCached, minus the memory that zswap may still use; SwapFree on zram counts × (1 − 1 ÷ compression).",
    )
    .needs(OVER_TIME.and(Needs::SYSTEM).and(Needs::CGROUP_FIGURES))
    .metric("zmtop_full_in_seconds")
        .metric_help(
            "How long until growth at zmtop_slope_bytes_per_second reaches the nearest limit: of its cgroup, of its address space (RLIMIT_AS) or of its Java heap, or the end of the machine's memory and swap. Absent where nothing grows.",
        ),
    // Identity, state, program and activity of a process.
    Entry::figure("age", "READ", Unit::Seconds, 5, |r| {
        let read_at = match (r.group, r.sample) {
            // The reason why none of its processes was read, if known.
            (Some(group), _) => group.walked.ok_or_else(|| r.memory.err().unwrap_or(Missing::Pending)),
            (None, Some(sample)) => sample.walk.map(|walk| walk.at),
            (None, None) => return Value::Blank,
        };
        read_at.map_or_else(Value::Missing, |at| {
            Value::Seconds(r.now().saturating_sub(at).as_secs_f64())
        })
    })
    .help(
        "Time since the kernel last walked the page tables; for a group, since its oldest walk. In between, zmtop \
         updates the figures from the counters of statm, within ±PSS. Kernel: smaps_rollup.",
    )
    .needs(Needs::MEMORY),
    Entry::figure("pid", "PID", Unit::Count, 7, |r| {
        process(r, |s| match s.facts.host {
            Some(_) => Value::Blank,
            None => Value::Id(u64::from(s.id.pid)),
        })
    })
    .help("Process id. Field 1 of stat.")
    .ascending()
    .applies_to(AppliesTo::Processes)
    .priority(Priority::Highest),
    Entry::figure("ppid", "PPID", Unit::Count, 7, |r| {
        common(r, |s| Value::Id(u64::from(s.stat.ppid)))
    })
    .help("The parent's process id. Field 4 of stat.")
    .ascending()
    .applies_to(AppliesTo::Processes)
    .needs(Needs::STAT),
    Entry::text("user", "USER", 9, |r| {
        group_name(r, GroupBy::User, |s| {
            Value::text(s.facts.user.as_deref().map_err(|e| *e))
        })
    })
    .help(
        "The effective user's name, or the uid if it has none. Groups by user count to the OWNER. Uid in status.",
    )
    .priority(Priority::High)
    .needs(Needs::USER),
    Entry::text("owner", "OWNER", 9, |r| {
        group_name(r, GroupBy::User, |s| {
            Value::text(s.facts.owner_name().map(|name| &**name))
        })
    })
    .help(
        "The user, or the owner of a subordinate uid as in /etc/subuid. A uid that systemd gave to a container belongs \
         to its range of 65,536 uids. A program with the set-user-ID bit, such as su, belongs to the user who started it. Uid \
         in status; subuid(5).",
    )
    .needs(Needs::USER),
    Entry::figure("uid", "UID", Unit::Count, 10, |r| {
        common(r, |s| s.facts.uid.map_or_else(Value::Missing, |n| Value::Id(n.into())))
    })
    .help("The effective user id. Uid in status.")
    .applies_to(AppliesTo::Processes)
    .needs(Needs::USER),
    Entry::text("state", "S", 1, |r| {
        process(r, |s| Value::Text(Cow::Owned(vec![s.stat.state])))
    })
    .help(
        "R running, S sleeping, D waiting for a device, T stopped, t traced, Z zombie, I idle kernel thread. Field 3 \
         of stat.",
    )
    .applies_to(AppliesTo::Processes)
    .needs(Needs::STAT),
    Entry::figure("threads", "THR", Unit::Count, 5, |r| match (r.sample, r.totals) {
        (Some(s), _) => Value::Count(s.stat.threads),
        (None, Some(sum)) => Value::Count(sum.threads),
        (None, None) => Value::Blank,
    })
    .help("Number of threads. Field 20 of stat.")
    .additive(true)
    .needs(Needs::STAT),
    Entry::figure("majflt", "MAJ/s", Unit::PerSecond, 5, |r| {
        rate(r, |c| c.majflt, Value::PerSecond)
    })
    .help(
        "Major faults per second: the process waited for a page from disk or swap. A high rate while swap is in use \
         means thrashing. Field 12 of stat.",
    )
    .additive(true)
    .needs(Needs::STAT.and(Needs::HISTORY)),
    Entry::figure("minflt", "MIN/s", Unit::PerSecond, 5, |r| {
        rate(r, |c| c.minflt, Value::PerSecond)
    })
    .help("Minor faults per second: resolved without I/O. Field 10 of stat.")
    .additive(true)
    .needs(Needs::STAT.and(Needs::HISTORY)),
    Entry::figure("cpu", "CPU%", Unit::Share, 5, |r| rate(r, |c| c.cpu, Value::Share))
        .help("Percent of one core since the last snapshot. Fields 14 and 15 of stat.")
        .additive(true)
        .needs(Needs::STAT.and(Needs::HISTORY)),
    Entry::figure("time", "TIME", Unit::Seconds, 6, |r| {
        let ticks = match (r.sample, r.totals) {
            (Some(s), _) => s.stat.cpu_ticks,
            (None, Some(sum)) => sum.cpu_ticks,
            (None, None) => return Value::Blank,
        };
        Value::Seconds(ticks as f64 / 100.0)
    })
    .help("Processor time of all threads, including ended ones. Fields 14 and 15 of stat.")
    .additive(true)
    .needs(Needs::STAT),
    Entry::figure("elapsed", "RUNS", Unit::Seconds, 5, |r| {
        let start = match (r.sample, r.group) {
            (Some(s), _) => Some(s.id.starttime),
            (None, Some(group)) => group.started,
            (None, None) => None,
        };
        let Some(start) = start else { return Value::Blank };
        r.snapshot
            .system
            .uptime
            .map_or(Value::Missing(Missing::Unsupported), |up| {
                Value::Seconds((up - start as f64 / 100.0).max(0.0))
            })
    })
    .help("Time since the process started; for a group, since its oldest process started. Formula: uptime − field 22 \
           of stat.")
    .needs(Needs::STAT.and(Needs::SYSTEM)),
    Entry::figure("oom_score", "OOM", Unit::Count, 4, |r| {
        process(r, |s| {
            s.oom_score.map_or_else(Value::Missing, |n| Value::Count(n.into()))
        })
    })
    .help(
        "Score by which the kernel chooses a process to kill when memory is exhausted, 0 to 2000. Kernel: oom_score; read only while this \
         column is shown.",
    )
    .applies_to(AppliesTo::Processes)
    .needs(Needs::OOM_SCORE),
    Entry::bytes("peak", "PEAK", |r| {
        process(r, |s| s.peak.map_or_else(Value::Missing, Value::Bytes))
    })
    .help(
        "The most RSS that the process had at any time since its start or its last exec. Kernel: VmHWM in status; read only while \
         this column is shown.",
    )
    .additive(false)
    .applies_to(AppliesTo::Processes)
    .needs(Needs::PEAK),
    Entry::bytes("page_tables", "PTE", |r| {
        process(r, |s| s.page_tables.map_or_else(Value::Missing, Value::Bytes))
    })
    .help(
        "The page tables that map the memory of the process: memory of the kernel that is in no PSS or RSS. The kernel also keeps \
         those of memory that the process freed. Kernel: VmPTE in status; read only while this column is shown, or while the \
         machine has many.",
    )
    .additive(false)
    .applies_to(AppliesTo::Processes)
    .needs(Needs::PAGE_TABLES),
    Entry::text("unit", "UNIT", 20, |r| {
        group_name(r, GroupBy::Unit, |s| optional_text(s.facts.unit.as_deref()))
    })
    .help("The systemd unit, from the cgroup path; user@1000/foot.service if a user's service manager runs it, and similar in a container.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("container", "CONTAINER", 12, |r| {
        group_name(r, GroupBy::Container, |s| {
            optional_text(s.facts.container.as_deref().map(Container::name))
        })
    })
    .help(
        "The container's name: web; in Kubernetes, namespace/pod/container; user@1000/web if a user runs it. From the \
         cgroup path and the files of Docker, Podman, containerd, CRI-O, Kubernetes and nerdctl. If these do not have \
         the name or cannot be read, the first twelve digits of the container's id.",
    )
    .needs(Needs::CGROUP_PATH),
    Entry::text("container_id", "CONTAINER ID", 12, |r| {
        common(r, |s| optional_text(s.facts.container.as_deref().map(Container::short_id)))
    })
    .help(
        "The first twelve digits of the container's id, from the cgroup path; if it has none, the name of its cgroup.",
    )
    .needs(Needs::CGROUP_PATH),
    Entry::text("pod", "POD", 20, |r| {
        group_name(r, GroupBy::Pod, |s| container_text(s, |names| names.pod.as_deref()))
    })
    .help("The pod of Kubernetes; a group by pod is named namespace/pod. From files of the engine of the container in the \
           cgroup path.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("namespace", "NAMESPACE", 12, |r| {
        common(r, |s| container_text(s, |names| names.namespace.as_deref()))
    })
    .help("The namespace of the pod, or the project of Docker Compose. From files of the engine of the container in the \
           cgroup path.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("image", "IMAGE", 24, |r| {
        common(r, |s| container_text(s, |names| names.image.as_deref()))
    })
    .help("The image of the container. From files of the engine of the container in the cgroup path.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("cgroup", "CGROUP", 24, |r| {
        group_name(r, GroupBy::Cgroup, |s| {
            Value::text(s.facts.cgroup.as_deref().map_err(|e| *e))
        })
    })
    .help("The cgroup path: in the unified (v2) hierarchy, or in the v1 memory controller.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("family", "FAMILY", 20, |r| match (r.group, r.sample) {
        (Some(group), _) if group.key.by == GroupBy::Family => Value::Text(Cow::Borrowed(group.key.label())),
        (None, Some(sample)) => name_of(r, sample, GroupBy::Family).map_or(Value::Blank, Value::Text),
        _ => Value::Blank,
    })
    .help(
        "The family: a daemon and its descendants, named after the daemon's program and pid. A family begins below \
         pid 1, an init, a supervisor, a shell or a terminal, and at a container's first process. Kernel: ppid of \
         stat.",
    )
    .needs(Needs::FAMILY),
    Entry::text("host", "HOST", 20, |r| {
        group_name(r, GroupBy::Host, |s| optional_text(s.facts.host.as_deref()))
    })
    .help(
        "The host, in zmtop fleet: its own name, or its address if several hosts have the same name. Kernel: nodename \
         of uname.",
    )
    .priority(Priority::High)
    .needs(Needs::STAT),
    Entry::text("comm", "NAME", 15, |r| {
        group_name(r, GroupBy::Command, |s| optional_text(Some(&s.facts.comm)))
    })
    .help("The kernel's short name, at most 15 bytes. Field 2 of stat.")
    .label(Label::Process)
    .needs(Needs::STAT),
    Entry::text("exe", "EXE", 24, |r| {
        process(r, |s| Value::text(s.facts.exe.as_deref().map_err(|e| *e)))
    })
    .help("The path of the program's file, as zmtop or its container sees it. Kernel: the link exe.")
    .applies_to(AppliesTo::Processes)
    .needs(Needs::PROGRAM),
    Entry::text("replaced", "REPLACED", 8, |r| match r.group {
        Some(group) => optional_text(group.replaced.map(|(what, _)| what.id().as_bytes())),
        None => process(r, |s| optional_text(s.facts.replaced.map(|what| what.id().as_bytes()))),
    })
    .help(
        "The state of the program's file: updated or deleted since the start. Such a process should be restarted. For \
         a group, deleted if any of its files was. Kernel: the link exe.",
    )
    .needs(Needs::PROGRAM),
    Entry::text("unread", "UNREAD", 18, |r| match (r.sample, r.memory) {
        (Some(_), Err(why)) => Value::Text(Cow::Borrowed(why.reason().as_bytes())),
        _ => Value::Blank,
    })
    .help("Why the figures of smaps_rollup are unknown, such as permission denied or timed out.")
    .applies_to(AppliesTo::Processes)
    .needs(Needs::MEMORY),
    Entry::text("command", "COMMAND", 12, |r| {
        row_name(r, |s| Value::Text(s.facts.short_command()))
    })
    .help("The command line without its program's directory; the kernel's short name in brackets if there is none.")
    .grows()
    .label(Label::Process)
    .needs(Needs::COMMAND_LINE),
    Entry::text("cmdline", "COMMAND LINE", 12, |r| {
        row_name(r, |s| Value::Text(s.facts.command()))
    })
    .help("The whole command line; the kernel's short name in brackets if there is none.")
    .grows()
    .label(Label::Process)
    .needs(Needs::COMMAND_LINE),
    // Figures of a group, and the kernel's figures of a cgroup.
    Entry::figure("count", "N", Unit::Count, 5, |r| match (r.sample, r.totals) {
        (None, Some(_)) if r.snapshot.fleet.is_some() => processes_of_hosts(r, r.group.map_or(&[], |g| &g.members)),
        (Some(sample), _) if r.snapshot.fleet.is_some() => {
            processes_of_hosts(r, r.snapshot.place(sample.id).as_slice())
        }
        (Some(_), _) => Value::Count(1),
        (None, Some(sum)) => Value::Count(sum.count as u64),
        (None, None) => Value::Blank,
    })
    .help(
        "Number of processes that the row represents: the members of a group, 1 for a process, the processes that map \
         a mapping. Formula: Σ 1.",
    )
    .additive(true)
    .priority(Priority::High)
    .metric("zmtop_processes")
    .metric_help("Number of processes in the group."),
    Entry::figure("orphans", "ORPHAN", Unit::Count, 6, |r| {
        r.population.map_or(Value::Blank, |number| Value::Count(number.orphans.into()))
    })
    .help(
        "Number of processes of a program or a family that lost their parent: they had another parent when zmtop first \
         saw them, or they are in another session than their parent and do not lead one. (Daemons lead a session.) \
         Kernel: ppid and session of stat.",
    )
    .needs(OVER_TIME)
    .priority(Priority::Low),
    Entry::figure("count_pace", "N/H", Unit::Count, 5, |r| {
        r.population.map_or(Value::Blank, |number| Value::Count(number.per_hour.into()))
    })
    .help(
        "Growth of the number of processes of a program or a family per hour, if no pool, build or load explains it, \
         or if it leaves orphans; else 0. Filter: count_pace>10. Formula: Δ N ÷ time since it began.",
    )
    .needs(OVER_TIME)
    .priority(Priority::Low),
    Entry::bytes("shared_pss", "PSHARE", |r| {
        after_pss(r, |m| Ok(m.pss.saturating_sub(m.uss())))
    })
    .help("The shared part of PSS: its share of the pages that other processes map too. Formula: PSS − USS."),
    Entry::bytes("avg_pss", "AVGPSS", |r| match (r.sample, r.group) {
        (Some(_), _) => memory(r, |m| Ok(m.pss)),
        (None, Some(group)) => match (r.memory, group.readable as u64) {
            (Ok(m), n @ 1..) => Value::Bytes(m.pss / n),
            (Ok(_), 0) => Value::Missing(Missing::Pending),
            (Err(e), _) => Value::Missing(e),
        },
        (None, None) => Value::Blank,
    })
    .help("Average PSS of one process. Formula: PSS ÷ N, of the processes whose memory can be read.")
    .additive(false)
    .priority(Priority::High),
    Entry::bytes("cg_current", "CGMEM", |r| cgroup(r, |c| c.current.map(Some)))
        .help(
            "The memory of the cgroup by its own account, with file cache, kernel memory, and memory left by \
             ended processes. Kernel: memory.current of the cgroup path.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .priority(Priority::High)
        .needs(CGROUP),
    Entry::bytes("cg_limit", "CGLIMIT", |r| cgroup(r, |c| c.limit))
        .help(
            "The lowest memory limit of the cgroup and its parents; max if there is none, a dash if it is not visible. \
             Kernel: memory.max of the cgroup path.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .priority(Priority::High)
        .needs(CGROUP),
    Entry::bytes("cg_swap", "CGSWAP", |r| cgroup(r, |c| c.swap.map(Some)))
        .help(
            "The swapped-out memory of the cgroup by its own account. Kernel: memory.swap.current of the cgroup path.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP),
    Entry::bytes("cg_stays", "CGSTAYS", |r| cgroup(r, |c| c.stays().map(Some)))
        .help(
            "The memory of the cgroup that must stay unless it goes to swap: anonymous and shared memory, and memory \
             that the kernel cannot reclaim. Formula: CGMEM − CGFIRST.",
        )
        .metric("zmtop_cgroup_unreclaimable_bytes")
        .metric_help(
            "The memory of the cgroup that must stay unless it goes to swap: anonymous and shared memory, and memory \
             that the kernel cannot reclaim. Formula: memory.current − zmtop_cgroup_reclaimable_bytes.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP_DETAILS),
    Entry::bytes("cg_first", "CGFIRST", |r| cgroup(r, |c| c.reclaimable.map(Some)))
        .help(
            "The memory that the kernel reclaims first when the cgroup reaches its limit: file pages and reclaimable slab. \
             Formula: the lower of active_file + inactive_file and file − shmem − swapcached, + slab_reclaimable, of \
             memory.stat of the cgroup path.",
        )
        .metric("zmtop_cgroup_reclaimable_bytes")
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP_DETAILS),
    Entry::bytes("cg_working_set", "CGWSET", |r| cgroup(r, |c| c.working_set().map(Some)))
        .help(
            "The working set as Kubernetes and cAdvisor count it (container_memory_working_set_bytes). Unlike CGSTAYS, \
             it includes active file pages and reclaimable slab, which the kernel frees before it kills a process. \
             Formula: CGMEM − inactive_file of memory.stat of the cgroup path.",
        )
        .metric("zmtop_cgroup_working_set_bytes")
        .metric_help(
            "The working set as Kubernetes and cAdvisor count it (container_memory_working_set_bytes). Unlike \
             zmtop_cgroup_unreclaimable_bytes, it includes active file pages and reclaimable slab, which the kernel \
             frees before it kills a process. Formula: memory.current − inactive_file of memory.stat.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP_DETAILS),
    Entry::bytes("cg_high", "CGHIGH", |r| cgroup(r, |c| c.high))
        .help(
            "The lowest soft limit of the cgroup and its parents; max if there is none. Above it, the kernel reclaims \
             memory of the cgroup and throttles its processes. Kernel: memory.high of the cgroup path.",
        )
        .metric("zmtop_cgroup_high_bytes")
        .metric_help(
            "The lowest soft limit of the cgroup and its parents; absent if there is none. Above it, the kernel \
             reclaims memory of the cgroup and throttles its processes. Kernel: memory.high of the cgroup path.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP),
    Entry::bytes("cg_peak", "CGPEAK", |r| cgroup(r, |c| c.peak.map(Some)))
        .help(
            "The most memory that the cgroup has ever had by its own account. Kernel: memory.peak of the cgroup path \
             (Linux 5.19); memory.max_usage_in_bytes in v1.",
        )
        .metric("zmtop_cgroup_peak_bytes")
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP_DETAILS),
    Entry::figure("cg_kills", "CGKILLS", Unit::Count, 7, |r| cgroup_count(r, |c| c.oom_kills))
        .help(
            "Number of processes of the cgroup that the kernel killed because a limit was reached or the machine's \
             memory was full. In v1, cgroups below it do not count. Kernel: oom_kill in memory.events of the cgroup \
             path.",
        )
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP_DETAILS),
    Entry::figure("cg_dying", "CGDYING", Unit::Count, 7, |r| cgroup_count(r, |c| c.dying))
        .help(
            "Number of removed cgroups below it that still hold memory. This looks like a leak, but no process has the \
             memory. Kernel: nr_dying_descendants in cgroup.stat of the cgroup path (Linux 4.14); unknown in v1.",
        )
        .metric("zmtop_cgroup_dying")
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP_DETAILS),
    Entry::text("group", "GROUP", 15, |r| match r.named_group() {
        Some(group) => Value::Text(Cow::Borrowed(group.key.label())),
        None => match r.sample.or_else(|| r.first_sibling()) {
            Some(sample) => name_of(r, sample, GroupBy::Command).map_or(Value::Blank, Value::Text),
            None => Value::Blank,
        },
    })
    .help(
        "The group's name. For a process, the name of its program, which is the first of these: a title in brackets from the \
         command line; an interpreter with its script (python3 ingest.py); the file's name, if it begins with the kernel's short \
         name or the parent runs the same file; the kernel's short name.",
    )
    .label(Label::Group)
    .needs(Needs::PROGRAM_NAME),
    // Changes since the mark.
    Entry::figure("mark_pss", "ΔMARK", Unit::Delta, 6, |r| since_mark(r, |s| s.pss))
        .help(
            "Change of PSS since the mark (b in the monitor). A process that started later counts from 0; for a group, the \
             memory of processes that ended since is subtracted. Formula: PSS now − PSS at the mark.",
        )
        .needs(Needs::MEMORY.and(Needs::HISTORY).and(Needs::MARK)),
    Entry::figure("mark_swap", "ΔMSWAP", Unit::Delta, 6, |r| since_mark(r, |s| s.swap))
        .help(
            "Change of swap since the mark (b in the monitor). A process that started later counts from 0; for a group, the \
             memory of processes that ended since is subtracted. Formula: SWAP now − SWAP at the mark.",
        )
        .needs(Needs::MEMORY.and(Needs::HISTORY).and(Needs::MARK)),
    // Hot and cold memory, of processes that the user asked for.
    Entry::bytes("hot", "HOT", |r| coldness(r, |c| Ok(Value::Bytes(c.total?.hot))))
        .help(
            "The working set: resident pages that the process touched since `r` was pressed (COLDFOR ago). A huge page counts \
             in full. Kernel: Referenced in smaps, after clear_refs.",
        )
        .additive(false)
        .applies_to(AppliesTo::Processes)
        .needs(REFERENCED),
    Entry::bytes("cold", "COLD", |r| coldness(r, |c| Ok(Value::Bytes(c.total?.cold()))))
        .help(
            "Resident pages that the process did not touch since `r` was pressed. Other processes may have touched \
             them. Leaked memory stays cold. Formula: Rss − Referenced of smaps.",
        )
        .additive(false)
        .applies_to(AppliesTo::Processes)
        .needs(REFERENCED),
    Entry::figure("cold_for", "COLDFOR", Unit::Seconds, 7, |r| {
        coldness(r, |c| Ok(Value::Seconds(c.since.as_secs_f64())))
    })
    .help("Time from `r` to the last read of the referenced bits. Formula: time since clear_refs was written.")
    .applies_to(AppliesTo::Processes)
    .needs(REFERENCED),
];

/// A column by its index in [`COLUMNS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub usize);

impl ColumnId {
    /// Returns the column with this id.
    ///
    /// # Panics
    /// If there is none: in a constant that is a compile error.
    pub(super) const fn named(id: &str) -> Self {
        let mut at = 0;
        while at < COLUMNS.len() {
            if same(COLUMNS[at].id, id) {
                return Self(at);
            }
            at += 1;
        }
        panic!("no column has this id")
    }

    pub fn get(self) -> &'static Column {
        &COLUMNS[self.0]
    }

    /// Returns true if the value of a column over time is not known yet for this row.
    pub fn is_open(self, row: &Row<'_>) -> bool {
        match (self.get().value)(row) {
            Value::Missing(Missing::Pending) => true,
            // Such as the time to a limit, of what does not grow.
            Value::Blank => row.trend.is_none_or(|judged| judged.verdict == Verdict::Unknown),
            _ => false,
        }
    }

    pub fn all() -> impl Iterator<Item = Self> {
        (0..COLUMNS.len()).map(Self)
    }
}

/// Returns the column with an id, or with a heading as the screen shows it.
pub fn find(id: &str) -> Option<ColumnId> {
    super::named(COLUMNS, id).map(ColumnId)
}

fn memory<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    Value::bytes(row.memory.and_then(get))
}

/// Returns a figure of the memory; pending if only PSS of a large fleet has arrived yet.
fn after_pss<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    if row.snapshot.is_partial() {
        return Value::Missing(Missing::Pending);
    }
    memory(row, get)
}

/// Returns the sums of the whole subtree of a process in a tree.
fn subtree<'a>(row: &Row<'a>) -> Option<&'a Totals> {
    row.totals.filter(|_| row.sample.is_some())
}

/// Returns PSS, with the RSS of what could not be read as a bound.
fn pss<'a>(memory: Reading<&Memory>, counted_rss: u64) -> Value<'a> {
    match (memory, counted_rss) {
        (memory, 0) => Value::bytes(memory.map(|m| m.pss)),
        (Ok(memory), hidden) => Value::Within(memory.pss, memory.pss.saturating_add(hidden)),
        (Err(_), rss) => Value::AtMost(rss),
    }
}

fn own_pss<'a>(row: &Row<'a>) -> Value<'a> {
    pss(row.memory, row.counted_rss.unwrap_or(row.hidden_rss))
}

/// Returns swap, with `VmSwap` of what could not be read; pending if only PSS of a large fleet has arrived yet.
fn swap<'a>(row: &Row<'a>, memory: Reading<&Memory>, counted: Option<u64>) -> Value<'a> {
    match counted {
        _ if row.snapshot.is_partial() => Value::Missing(Missing::Pending),
        Some(hidden) => Value::Bytes(memory.map_or(0, |m| m.swap).saturating_add(hidden)),
        None => Value::bytes(memory.map(|m| m.swap)),
    }
}

/// Returns a change of memory, or of RSS in its place; if neither is known, the reason why the memory is missing.
fn change<'a, T>(row: &Row<'a>, get: fn(&Change) -> Option<T>, wrap: fn(T) -> Value<'a>) -> Value<'a> {
    match row.memory {
        Err(e) if !row.is_counted => Value::Missing(e),
        _ => rate(row, get, wrap),
    }
}

/// Returns a change of memory in bytes, beside the size now.
fn delta<'a>(row: &Row<'a>, get: fn(&Change) -> Option<i64>) -> Value<'a> {
    match change(row, get, |by| Value::Delta(by, 0)) {
        Value::Delta(by, _) => Value::Delta(by, size(row)),
        other => other,
    }
}

/// Returns the memory of a row in bytes, or RSS in its place.
fn size(row: &Row<'_>) -> u64 {
    let footprint = |m: &Memory| m.pss.saturating_add(m.swap_pss.unwrap_or(0));
    row.memory.map_or(row.counted_rss.unwrap_or(0), footprint)
}

/// Returns a rate from `stat`, which every process has.
fn rate<'a, T>(row: &Row<'a>, get: fn(&Change) -> Option<T>, wrap: fn(T) -> Value<'a>) -> Value<'a> {
    row.change.and_then(get).map_or(Value::Missing(Missing::Pending), wrap)
}

/// Returns a value of the process; blank in a sum.
fn process<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    row.sample.map_or(Value::Blank, get)
}

/// Returns a value of the process, or the common value of equal siblings; blank in another sum.
fn common<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    row.sample.or_else(|| row.first_sibling()).map_or(Value::Blank, get)
}

fn optional_text(text: Option<&[u8]>) -> Value<'_> {
    text.map_or(Value::Blank, |bytes| Value::text(Ok(bytes)))
}

/// Returns one of the names of the container that a process is in.
fn container_text(sample: &ProcessSample, get: fn(&ContainerNames) -> Option<&[u8]>) -> Value<'_> {
    match sample.facts.container.as_deref().map(|container| &container.names) {
        Some(Ok(names)) => optional_text(get(names)),
        Some(Err(why)) => Value::Missing(*why),
        None => Value::Blank,
    }
}

/// Returns the name of the group that a process is in.
fn name_of<'a>(row: &Row<'a>, sample: &'a ProcessSample, by: GroupBy) -> Option<Cow<'a, [u8]>> {
    GroupNames::new(row.snapshot.rows()).name_of(sample, by)
}

/// Returns the name of a group of that kind, else a value of the process.
fn group_name<'a>(row: &Row<'a>, by: GroupBy, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    match row.group {
        Some(group) if group.key.by == by => Value::text(Ok(group.key.label())),
        _ => common(row, get),
    }
}

/// Returns the name of a group of any kind, marked if its program was replaced, else a value of the process.
fn row_name<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    match row.group {
        Some(group) => Value::Text(group.name_with_replaced()),
        None => process(row, get),
    }
}

/// Returns a figure of the cgroup that the row is, or that the process is in. `None` means no limit and is written as the
/// kernel writes it: `max`.
fn cgroup<'a>(row: &Row<'a>, get: fn(&CgroupFigures) -> Reading<Option<u64>>) -> Value<'a> {
    cgroup_value(row, |figures| {
        get(figures).map(|bytes| bytes.map_or(Value::text(Ok(b"max")), Value::Bytes))
    })
}

fn cgroup_count<'a>(row: &Row<'a>, get: fn(&CgroupFigures) -> Reading<Count>) -> Value<'a> {
    cgroup_value(row, |figures| get(figures).map(|count| Value::Count(count.0)))
}

/// Returns a value of the cgroup that the row is, or that the process is in; blank in another row.
fn cgroup_value<'a>(row: &Row<'a>, get: impl Fn(&CgroupFigures) -> Reading<Value<'a>>) -> Value<'a> {
    let sample = row.sample.or_else(|| row.first_sibling());
    let figures = match (row.group, sample) {
        (Some(group), _)
            if matches!(
                group.key.by,
                GroupBy::Unit | GroupBy::Container | GroupBy::Pod | GroupBy::Cgroup
            ) =>
        {
            if group.key.name.is_none() {
                return Value::Blank;
            }
            group.cgroup.as_ref()
        }
        (_, Some(sample)) => match &sample.facts.cgroup {
            Ok(path) => row.snapshot.cgroups.get(path),
            Err(e) => return Value::Missing(*e),
        },
        _ => return Value::Blank,
    };
    match figures.map(get) {
        Some(Ok(value)) => value,
        // Its details were not needed so far.
        Some(Err(Missing::Unlimited)) => Value::Missing(Missing::Pending),
        Some(Err(e)) => Value::Missing(e),
        // Cgroup figures are read on demand: if there are none, they were not requested yet.
        None if row.snapshot.cgroups.is_empty() => Value::Missing(Missing::Pending),
        None => Value::Missing(Missing::Unsupported),
    }
}

/// Returns a part of the judgement on the footprint; blank in a sum.
fn trend<'a>(row: &Row<'a>, get: impl FnOnce(&Judgement) -> Value<'a>) -> Value<'a> {
    match (row.memory, row.trend) {
        (Err(e), Some(_)) if !row.is_counted => Value::Missing(e),
        (_, Some(t)) if t.verdict == Verdict::Unknown => Value::Missing(Missing::Pending),
        (_, Some(t)) => get(t),
        (_, None) => Value::Blank,
    }
}

/// Returns a time in seconds that only a growing footprint has.
fn growth_time<'a>(row: &Row<'a>, get: fn(&Row<'a>, &Judgement) -> Option<f64>) -> Value<'a> {
    match row.trend {
        Some(t) if t.verdict >= Verdict::Warming => get(row, t).map_or(Value::Blank, Value::Seconds),
        _ => Value::Blank,
    }
}

/// Returns a change since the mark; blank without one. The change is of the process alone, even if its row shows the sum of
/// its subtree.
fn since_mark<'a>(row: &Row<'a>, get: fn(&MarkDelta) -> i64) -> Value<'a> {
    let Some(mark) = row.mark else { return Value::Blank };
    let since = match (row.group, row.sample) {
        (Some(group), _) => mark.group(group, row.snapshot),
        (None, Some(sample)) => mark.process(sample),
        (None, None) => return Value::Blank,
    };
    since.map_or_else(Value::Missing, |s| Value::Delta(get(&s), size(row)))
}

/// Returns a figure of hot and cold memory; if the memory cannot be read, the reason. Blank in a sum.
fn coldness<'a>(row: &Row<'a>, get: fn(&Coldness) -> Reading<Value<'a>>) -> Value<'a> {
    match (row.sample, row.memory) {
        (None, _) => Value::Blank,
        (Some(_), Err(why)) => Value::Missing(why),
        (Some(_), Ok(_)) => row.coldness.and_then(get).unwrap_or_else(Value::Missing),
    }
}

/// Returns a figure of held memory, of one kind or of all; of a group, the sum. Mappings hold nothing.
fn held<'a>(row: &Row<'a>, kind: Option<HeldKind>, get: fn(&HeldFigures) -> u64) -> Value<'a> {
    held_figures(row, |figures| {
        let bytes = get(figures);
        if figures.is_partial(kind) {
            Value::AtLeast(bytes)
        } else {
            Value::Bytes(bytes)
        }
    })
}

fn held_figures<'a>(row: &Row<'a>, get: impl FnOnce(&HeldFigures) -> Value<'a>) -> Value<'a> {
    if row.group.is_some_and(|group| group.key.by == GroupBy::Mapping) {
        return Value::Blank;
    }
    let figures = match (row.sample, row.totals) {
        (Some(sample), _) => sample.held().map(|held| held.figures),
        (None, Some(totals)) => totals.held,
        (None, None) => return Value::Blank,
    };
    figures.map_or_else(Value::Missing, |figures| get(&figures))
}

const HELD_OVER_TIME: Needs = Needs::HELD.and(Needs::HISTORY);

/// Returns a value of the history of held memory; `nothing` if nothing was ever held. Blank without any history. Unknown for
/// processes beyond the number that have a history.
fn over_time<'a>(row: &Row<'a>, nothing: Value<'a>, get: impl FnOnce(&'a RowHistory) -> Value<'a>) -> Value<'a> {
    match (row.sample.map(ProcessSample::held), row.held) {
        (Some(Err(why)), _) => Value::Missing(why),
        (_, Some(history)) => get(history),
        (Some(Ok(held)), None) if row.change.is_some() && held.figures.total() > 0 => Value::Missing(Missing::TooMany),
        (Some(Ok(_)), None) if row.change.is_some() => nothing,
        _ => Value::Blank,
    }
}

/// Returns the held bytes, as far as they are known.
fn held_total(row: &Row<'_>) -> u64 {
    match held(row, None, HeldFigures::total) {
        Value::Bytes(bytes) | Value::AtLeast(bytes) => bytes,
        _ => 0,
    }
}

/// Returns a part of a judgement; pending while there is too little history.
fn known<'a>(history: &'a RowHistory, get: impl FnOnce(&'a Judgement) -> Value<'a>) -> Value<'a> {
    let judged = history.trend();
    if judged.verdict == Verdict::Unknown {
        return Value::Missing(Missing::Pending);
    }
    get(judged)
}

const CGROUP: Needs = Needs::CGROUP_PATH.and(Needs::CGROUP_FIGURES);
const CGROUP_DETAILS: Needs = CGROUP.and(Needs::CGROUP_DETAILS);

/// Sums the processes of rows that are groups on hosts; blank for none, as in a total.
fn processes_of_hosts<'a>(row: &Row<'a>, places: &[usize]) -> Value<'a> {
    let known = places.iter().filter_map(|at| row.snapshot.fleet_row(*at)?.processes);
    match (places, known.reduce(|sum, n| sum + n)) {
        ([], _) => Value::Blank,
        (_, Some(sum)) => Value::Count(sum),
        (_, None) => Value::Missing(Missing::NotExported),
    }
}

/// Returns the data that must be read to evaluate a filter.
pub fn needs_of_filter(filter: &Filter) -> Needs {
    let columns = filter.columns().into_iter().map(|at| ColumnId(at).get().needs);
    columns
        .chain(filter.text_fields().into_iter().map(needs_of_text))
        .collect()
}

const fn needs_of_text(field: TextField) -> Needs {
    match field {
        TextField::CommandLine => Needs::COMMAND_LINE,
        TextField::Comm | TextField::Host | TextField::State => Needs::STAT,
        TextField::User | TextField::Owner => Needs::USER,
        TextField::Unit
        | TextField::Container
        | TextField::ContainerId
        | TextField::Pod
        | TextField::Namespace
        | TextField::Image
        | TextField::Cgroup => Needs::CGROUP_PATH,
        TextField::Group => Needs::PROGRAM_NAME,
        TextField::Family => Needs::FAMILY,
        TextField::Exe | TextField::Replaced => Needs::PROGRAM,
        TextField::Mapped => Needs::MAPPED,
        TextField::Unread => Needs::MEMORY,
    }
}

impl Filterable for Row<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let Some(sample) = self.sample else {
            return self.group.and_then(|group| name_of_group(group, field));
        };
        let facts = &sample.facts;
        Some(match field {
            TextField::CommandLine if self.snapshot.repeats.binary_search(&sample.id.pid).is_ok() => first_word(facts),
            TextField::CommandLine => facts.command(),
            TextField::Comm => Cow::Borrowed(&facts.comm),
            TextField::User => Cow::Borrowed(facts.user.as_ref().ok()?),
            TextField::Owner => Cow::Borrowed(facts.owner_name().ok()?),
            TextField::Unit => Cow::Borrowed(facts.unit.as_deref()?),
            TextField::Container => Cow::Borrowed(facts.container.as_deref()?.name()),
            TextField::ContainerId => Cow::Borrowed(facts.container.as_deref()?.id_in_path()),
            TextField::Pod => Cow::Borrowed(container_name(facts, |names| names.pod.as_deref())?),
            TextField::Namespace => Cow::Borrowed(container_name(facts, |names| names.namespace.as_deref())?),
            TextField::Image => Cow::Borrowed(container_name(facts, |names| names.image.as_deref())?),
            TextField::Cgroup => Cow::Borrowed(facts.cgroup.as_deref().ok()?),
            TextField::Group => name_of(self, sample, GroupBy::Command)?,
            TextField::Family => name_of(self, sample, GroupBy::Family)?,
            TextField::Host => Cow::Borrowed(facts.host.as_deref()?),
            TextField::Exe => Cow::Borrowed(facts.exe.as_deref().ok()?),
            TextField::Replaced => Cow::Borrowed(facts.replaced?.id().as_bytes()),
            TextField::Unread => Cow::Borrowed(self.memory.err()?.reason().as_bytes()),
            TextField::State => Cow::Owned(vec![sample.stat.state]),
            TextField::Mapped => {
                let objects = self.snapshot.mapped.get(&sample.id)?.as_ref().ok()?;
                let names: Vec<_> = objects.iter().map(MappedObject::text).collect();
                Cow::Owned(names.join(&b'\n'))
            }
        })
    }

    fn pid(&self) -> Option<u32> {
        self.sample.map(|s| s.id.pid)
    }

    fn number(&self, column: usize) -> Option<f64> {
        (ColumnId(column).get().value)(self).number()
    }

    fn is_per_process(&self, column: usize) -> bool {
        ColumnId(column).get().applies_to == AppliesTo::Processes
    }
}

/// Returns one of the names of a container; empty if the process is in none or it has none, `None` if that is unknown.
fn container_name(facts: &Facts, get: fn(&ContainerNames) -> Option<&[u8]>) -> Option<&[u8]> {
    match (&facts.container, &facts.cgroup) {
        (Some(container), _) => Some(get(container.names.as_ref().ok()?).unwrap_or_default()),
        (None, cgroup) => cgroup.is_ok().then_some(b""),
    }
}

/// Returns the command line up to its first argument.
fn first_word(facts: &Facts) -> Cow<'_, [u8]> {
    match facts.cmdline.as_deref() {
        Ok(line) => line.split(|b| *b == 0).next().unwrap_or_default().into(),
        Err(_) => facts.command(),
    }
}

/// Returns the name of a group, its only text, if the filter matches that.
fn name_of_group(group: &Group, field: TextField) -> Option<Cow<'_, [u8]>> {
    let named_by = match field {
        TextField::CommandLine | TextField::Comm => GroupBy::Command,
        TextField::User | TextField::Owner => GroupBy::User,
        TextField::Unit => GroupBy::Unit,
        TextField::Container => GroupBy::Container,
        TextField::Pod => GroupBy::Pod,
        TextField::Cgroup => GroupBy::Cgroup,
        TextField::Family => GroupBy::Family,
        TextField::Host => GroupBy::Host,
        TextField::Group => group.key.by,
        TextField::ContainerId
        | TextField::Namespace
        | TextField::Image
        | TextField::Exe
        | TextField::Replaced
        | TextField::Unread
        | TextField::Mapped
        | TextField::State => return None,
    };
    let name = group.key.name.as_deref().filter(|_| group.key.by == named_by)?;
    Some(Cow::Borrowed(name))
}
