//! The memory of a process, and how it changes.

use super::read::{change, memory, subtree};
use super::{Entry, OVER_TIME};
use crate::columns::{Priority, Unit, Value};
use crate::model::Memory;

pub(super) const COLUMNS: &[Entry] = &[
    Entry::bytes(
            "pss",
            "PSS",
            "Proportional set size: each resident page divided by the number of processes that map it. \
             The sum over all processes counts every page once. Kernel: Pss in smaps_rollup.",
            |r| memory(r, |m| Ok(m.pss)),
        )
.metric("zmtop_pss_bytes")
    .priority(Priority::High),
    Entry::figure(
            "dpss",
            "ΔPSS",
            "Change of PSS over the last seconds (ui.delta in the config, 10 s by default). Formula: PSS now − PSS then.",
            Unit::Delta,
            6,
            |r| change(r, |c| c.pss, Value::Delta),
        )
.additive(true)
    .needs(OVER_TIME),
    Entry::bytes(
            "swap",
            "SWAP",
            "Swapped-out memory, whole, swapped-out shared memory with it. Kernel: Swap in smaps_rollup.",
            |r| memory(r, |m| Ok(m.swap)),
        )
.metric("zmtop_swap_bytes")
    .priority(Priority::High),
    Entry::figure(
            "dswap",
            "ΔSWAP",
            "Change of swap over the last seconds (ui.delta in the config, 10 s by default). Formula: SWAP now − SWAP then.",
            Unit::Delta,
            6,
            |r| change(r, |c| c.swap, Value::Delta),
        )
.additive(true)
    .needs(OVER_TIME),
    Entry::bytes(
            "uss",
            "USS",
            "Unique set size: pages that no other process maps, freed at once if it ended. \
             Formula: Private_Clean + Private_Dirty of smaps_rollup.",
            |r| memory(r, |m| Ok(m.uss())),
        )
.metric("zmtop_uss_bytes"),
    Entry::bytes(
            "rss",
            "RSS",
            "Resident set size: every resident page, whole, so shared pages count once in each process. \
             Kernel: Rss in smaps_rollup, from the same walk as PSS.",
            |r| memory(r, |m| Ok(m.rss)),
        )
.metric("zmtop_rss_bytes")
    .priority(Priority::Low),
    Entry::figure(
            "history",
            "5 MIN",
            "The footprint over the last five minutes, from its least to its greatest; the scale spans at \
             least 4 % of it. Sorted by slope.",
            Unit::Chart,
            10,
            |r| {
                r.line
                    .map_or(Value::Blank, |line| Value::Chart(line, r.change.and_then(|c| c.growth)))
            },
        )
.left()
    .needs(OVER_TIME),
    Entry::figure(
            "growth",
            "GROWTH",
            "Slope of the footprint over the last five minutes, by least squares. Filter: growth>1M/min.",
            Unit::Growth,
            10,
            |r| change(r, |c| c.growth, Value::Growth),
        )
.additive(true)
    .priority(Priority::Low)
    .needs(OVER_TIME),
    Entry::bytes(
            "swap_pss",
            "SWPSS",
            "Proportional swap: each swap slot divided by its sharers; without swapped-out shared memory. \
             Kernel: SwapPss in smaps_rollup (Linux 4.3).",
            |r| memory(r, |m| m.swap_pss),
        )
.metric("zmtop_swap_pss_bytes"),
    Entry::bytes(
        "footprint",
        "FOOTP",
        "What the process costs the machine, in RAM or in swap. Formula: PSS + SwapPss.",
        |r| memory(r, Memory::footprint),
    ),
    Entry::bytes(
        "tree_pss",
        "ΣPSS",
        "PSS of the process and all its descendants (tree view; elsewhere its own PSS).",
        |r| subtree(r, |m| Ok(m.pss)),
    )
    .priority(Priority::Highest),
    Entry::bytes(
        "tree_swap",
        "ΣSWAP",
        "Swap of the process and all its descendants (tree view; elsewhere its own swap).",
        |r| subtree(r, |m| Ok(m.swap)),
    ),
    Entry::bytes(
        "pss_anon",
        "ANON",
        "The anonymous part of PSS: heap, stack, private writes. Kernel: Pss_Anon in smaps_rollup (Linux 5.4).",
        |r| memory(r, |m| m.pss_anon),
    ),
    Entry::bytes(
        "pss_file",
        "FILE",
        "The file-backed part of PSS: programs, libraries, mapped files. Kernel: Pss_File in smaps_rollup (Linux 5.4).",
        |r| memory(r, |m| m.pss_file),
    ),
    Entry::bytes(
        "pss_shmem",
        "SHMEM",
        "The shared-memory and tmpfs part of PSS. Kernel: Pss_Shmem in smaps_rollup (Linux 5.4).",
        |r| memory(r, |m| m.pss_shmem),
    ),
    Entry::bytes(
        "pss_dirty",
        "PDIRTY",
        "The dirty part of PSS: must be written somewhere before it can be freed. Kernel: Pss_Dirty in smaps_rollup (Linux 6.0).",
        |r| memory(r, |m| m.pss_dirty),
    ),
    Entry::bytes(
        "dirty",
        "DIRTY",
        "Dirty pages, whole. Formula: Private_Dirty + Shared_Dirty of smaps_rollup.",
        |r| memory(r, |m| Ok(m.dirty())),
    ),
    Entry::bytes(
        "shared",
        "SHARED",
        "Pages that other processes map too, whole. Formula: Shared_Clean + Shared_Dirty of smaps_rollup.",
        |r| memory(r, |m| Ok(m.shared())),
    ),
    Entry::bytes(
        "hugetlb",
        "HUGE",
        "Pages of hugetlbfs, which are in neither RSS nor PSS. Formula: Private_Hugetlb + Shared_Hugetlb of \
         smaps_rollup (Linux 4.4).",
        |r| memory(r, Memory::hugetlb),
    ),
];
