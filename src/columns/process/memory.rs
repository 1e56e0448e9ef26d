//! The memory of a process, and how it changes.

use super::read::{after_pss, change, memory, subtree};
use super::{Entry, OVER_TIME};
use crate::columns::{AppliesTo, Needs, Priority, Row, Unit, Value};
use crate::model::{Memory, Missing, Reading};

/// Returns what is swapped out of a process whose memory is hidden, if that is known.
fn swapped(row: &Row<'_>) -> Option<u64> {
    row.sample.filter(|_| row.memory.is_err())?.counted.swap()
}

/// Returns the memory there is for processes.
fn ram(row: &Row<'_>) -> Reading<u64> {
    let system = &row.snapshot.system;
    system.container().map_or(system.mem_total, |(limit, _)| Ok(limit))
}

pub(super) const COLUMNS: &[Entry] = &[
    Entry::bytes("pss", "PSS", |r| match r.counted_rss {
        Some(rss) => Value::AtMost(rss),
        None => memory(r, |m| Ok(m.pss)),
    })
        .help(
            "Proportional set size: each resident page divided by the number of processes that map it. The sum over \
             all processes counts every page once. Where it may not be read, ≤ stands before RSS. Kernel: Pss in smaps_rollup.",
        )
        .metric("zmtop_pss_bytes")
        .priority(Priority::High),
    Entry::figure("dpss", "ΔPSS", Unit::Delta, 6, |r| change(r, |c| c.pss, Value::Delta))
        .timed()
        .help(
            "Change of PSS over the last seconds (ui.delta in the config, 10 s by default); of RSS where PSS may not be \
             read, which no sum counts. Formula: PSS now − PSS then.",
        )
        .additive(true)
        .needs(OVER_TIME),
    Entry::bytes("swap", "SWAP", |r| match swapped(r) {
        Some(bytes) => Value::Bytes(bytes),
        None => after_pss(r, |m| Ok(m.swap)),
    })
        .help(
            "Swapped-out memory, whole, swapped-out shared memory with it. Kernel: Swap in smaps_rollup; where that may \
             not be read, VmSwap in status, which lacks shared memory.",
        )
        .metric("zmtop_swap_bytes")
        .priority(Priority::High),
    Entry::figure("dswap", "ΔSWAP", Unit::Delta, 6, |r| {
        change(r, |c| c.swap, Value::Delta)
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
            "Unique set size: pages that no other process maps, freed at once if it ended. Formula: Private_Clean + \
             Private_Dirty of smaps_rollup.",
        )
        .metric("zmtop_uss_bytes"),
    Entry::bytes("rss", "RSS", |r| match (r.counted_rss, r.totals.filter(|_| r.sample.is_none())) {
        (Some(rss), _) => Value::Bytes(rss),
        // The kernel counts it of every process, whatever of the rest may be read.
        (None, Some(sum)) if !r.snapshot.is_partial() => {
            Value::bytes(r.memory.map(|m| m.rss.saturating_add(sum.counted_rss)))
        }
        (None, _) => after_pss(r, |m| Ok(m.rss)),
    })
        .help(
            "Resident set size: every resident page, whole, so shared pages count once in each process. Kernel: Rss \
             in smaps_rollup, read together with PSS; where that may not be read, field 24 of stat.",
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
    Entry::figure("mem", "MEM%", Unit::Share, 5, |r| match (r.memory, r.counted_rss, ram(r)) {
        (Ok(m), _, Ok(ram)) => Value::Share(m.pss as f64 / ram.max(1) as f64),
        (Err(_), Some(rss), Ok(ram)) => Value::ShareAtMost(rss as f64 / ram.max(1) as f64),
        (Err(why), ..) | (.., Err(why)) => Value::Missing(why),
    })
    .help(
        "PSS in percent of the machine's memory, or of that which the container may use. Where PSS may not be read, ≤ stands before \
         that of RSS. Formula: PSS ÷ MemTotal.",
    )
    .additive(true)
    .priority(Priority::Low)
    .needs(Needs::MEMORY.and(Needs::SYSTEM)),
    Entry::figure("history", "5 MIN", Unit::Chart, 10, |r| {
        r.footprint
            .map_or(Value::Blank, |line| Value::Chart(line, r.change.and_then(|c| c.growth)))
    })
    .help(
        "The footprint over the last five minutes, from its least to its greatest. Rows on the screen can be compared: what \
         moved a quarter as much as another is drawn half as high, and what moved by less than a tenth of itself lower \
         still. Where PSS may not be read, RSS and swap. Sorted by slope.",
    )
    .needs(OVER_TIME),
    Entry::figure("growth", "GROWTH", Unit::Growth, 10, |r| {
        change(r, |c| c.growth, Value::Growth)
    })
    .help("Slope of the footprint over five minutes, by least squares; 0 where flat. Filter: growth>1M/min.")
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
        .help("What the process costs the machine, in RAM or in swap. Formula: PSS + SwapPss.")
    .metric("zmtop_footprint_bytes"),
    Entry::bytes("pss_error", "±PSS", |r| Value::bytes(r.memory.map(|_| r.error))).help(
        "The most that PSS and SwapPss of smaps_rollup may be off by: 0 when they are read, more as the process, or others that share \
         memory with it, change since. USS may be off by twice as much. Of a sum, that of its members together.",
    ),
    Entry::bytes("tree_pss", "ΣPSS", |r| subtree(r, |m| Ok(m.pss)))
        .help("PSS of the process and all its descendants (tree view; elsewhere its own PSS).")
        .priority(Priority::Highest),
    Entry::bytes("tree_swap", "ΣSWAP", |r| subtree(r, |m| Ok(m.swap)))
        .help("Swap of the process and all its descendants (tree view; elsewhere its own swap)."),
    Entry::bytes("pss_anon", "ANON", |r| match r.counted_anon {
        Some(anon) => Value::AtMost(anon),
        None => memory(r, |m| m.pss_anon),
    })
    .help(
        "The anonymous part of PSS: heap, stack, private writes. Where that may not be read, ≤ stands before the same part of RSS, \
         which only a fork shares. Kernel: Pss_Anon in smaps_rollup (Linux 5.4); resident − shared in statm.",
    )
    .metric("zmtop_pss_anon_bytes"),
    Entry::bytes("pss_file", "FILE", |r| memory(r, |m| m.pss_file)).help(
        "The file-backed part of PSS: programs, libraries, mapped files. Kernel: Pss_File in smaps_rollup (Linux \
         5.4).",
    )
    .metric("zmtop_pss_file_bytes"),
    Entry::bytes("pss_shmem", "SHMEM", |r| memory(r, |m| m.pss_shmem))
        .help("The shared-memory and tmpfs part of PSS. Kernel: Pss_Shmem in smaps_rollup (Linux 5.4).")
    .metric("zmtop_pss_shmem_bytes"),
    Entry::bytes("pss_dirty", "PDIRTY", |r| memory(r, |m| m.pss_dirty)).help(
        "The dirty part of PSS: must be written somewhere before it can be freed. Kernel: Pss_Dirty in \
         smaps_rollup (Linux 6.0).",
    ),
    Entry::bytes("dirty", "DIRTY", |r| match r.snapshot.fleet {
        Some(_) => Value::Missing(Missing::NotExported),
        None => memory(r, |m| Ok(m.dirty())),
    })
        .help("Dirty pages, whole. Formula: Private_Dirty + Shared_Dirty of smaps_rollup."),
    Entry::bytes("shared", "SHARED", |r| after_pss(r, |m| Ok(m.shared())))
        .help("Pages that other processes map too, whole. Formula: Shared_Clean + Shared_Dirty of smaps_rollup."),
    Entry::bytes("hugetlb", "HUGE", |r| memory(r, Memory::hugetlb)).help(
        "Pages of hugetlbfs, which are in neither RSS nor PSS. Formula: Private_Hugetlb + Shared_Hugetlb of \
         smaps_rollup (Linux 4.4).",
    )
    .metric("zmtop_hugetlb_bytes"),
];
