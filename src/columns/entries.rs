//! The entries.

use std::borrow::Cow;

use super::get::{change, fact, memory, own, rate, subtree};
use super::{Column, Unit, Value};
use crate::model::{Memory, Missing};
use crate::text::Align;

type Get = for<'a> fn(&super::Row<'a>) -> Value<'a>;

/// A byte figure that can be summed.
const fn bytes(id: &'static str, title: &'static str, help: &'static str, value: Get) -> Column {
    Column {
        id,
        title,
        help,
        unit: Unit::Bytes,
        width: 5,
        grows: false,
        align: Align::Right,
        metric: None,
        additive: true,
        value,
    }
}

/// A figure of some other unit.
const fn figure(
    id: &'static str,
    title: &'static str,
    help: &'static str,
    unit: Unit,
    width: u16,
    value: Get,
) -> Column {
    Column {
        unit,
        width,
        additive: false,
        ..bytes(id, title, help, value)
    }
}

/// A word.
const fn word(id: &'static str, title: &'static str, help: &'static str, width: u16, value: Get) -> Column {
    Column {
        align: Align::Left,
        ..figure(id, title, help, Unit::Text, width, value)
    }
}

/// Every column there is, in the order the chooser offers them.
pub static COLUMNS: &[Column] = &[
    Column {
        metric: Some("zmtop_pss_bytes"),
        ..bytes(
            "pss",
            "PSS",
            "Proportional set size: each resident page divided by the number of processes that map it. \
             The sum over all processes counts every page once. Kernel: Pss in smaps_rollup.",
            |r| memory(r, |m| Ok(m.pss)),
        )
    },
    Column {
        additive: true,
        ..figure(
            "dpss",
            "ΔPSS",
            "Change of PSS over the last seconds (ui.delta in the config, 10 s by default). Formula: PSS now − PSS then.",
            Unit::Delta,
            6,
            |r| change(r, |c| c.pss, Value::Delta),
        )
    },
    Column {
        metric: Some("zmtop_swap_bytes"),
        ..bytes(
            "swap",
            "SWAP",
            "Swapped-out memory, whole, swapped-out shared memory with it. Kernel: Swap in smaps_rollup.",
            |r| memory(r, |m| Ok(m.swap)),
        )
    },
    Column {
        additive: true,
        ..figure(
            "dswap",
            "ΔSWAP",
            "Change of swap over the last seconds (ui.delta in the config, 10 s by default). Formula: SWAP now − SWAP then.",
            Unit::Delta,
            6,
            |r| change(r, |c| c.swap, Value::Delta),
        )
    },
    Column {
        metric: Some("zmtop_uss_bytes"),
        ..bytes(
            "uss",
            "USS",
            "Unique set size: pages that no other process maps, freed at once if it ended. \
             Formula: Private_Clean + Private_Dirty of smaps_rollup.",
            |r| memory(r, |m| Ok(m.uss())),
        )
    },
    Column {
        metric: Some("zmtop_rss_bytes"),
        ..bytes(
            "rss",
            "RSS",
            "Resident set size: every resident page, whole, so shared pages count once in each process. \
             Kernel: Rss in smaps_rollup, from the same walk as PSS.",
            |r| memory(r, |m| Ok(m.rss)),
        )
    },
    Column {
        align: Align::Left,
        ..figure(
            "history",
            "5 MIN",
            "The footprint over the last five minutes, from its least to its greatest; the scale spans at \
             least 4 % of it. Sorted by slope.",
            Unit::Chart,
            10,
            |r| r.spark.map_or(Value::Blank, Value::Chart),
        )
    },
    Column {
        additive: true,
        ..figure(
            "growth",
            "GROWTH",
            "Slope of the footprint over the last five minutes, by least squares. Filter: growth>1M/min.",
            Unit::Growth,
            10,
            |r| change(r, |c| c.growth, Value::Growth),
        )
    },
    Column {
        metric: Some("zmtop_swap_pss_bytes"),
        ..bytes(
            "swap_pss",
            "SWPSS",
            "Proportional swap: each swap slot divided by its sharers; without swapped-out shared memory. \
             Kernel: SwapPss in smaps_rollup (Linux 4.3).",
            |r| memory(r, |m| m.swap_pss),
        )
    },
    bytes(
        "footprint",
        "FOOTP",
        "What the process costs the machine, in RAM or in swap. Formula: PSS + SwapPss.",
        |r| memory(r, Memory::footprint),
    ),
    bytes(
        "tree_pss",
        "ΣPSS",
        "PSS of the process and all its descendants (tree view; elsewhere its own PSS).",
        |r| subtree(r, |m| Ok(m.pss)),
    ),
    bytes(
        "tree_swap",
        "ΣSWAP",
        "Swap of the process and all its descendants (tree view; elsewhere its own swap).",
        |r| subtree(r, |m| Ok(m.swap)),
    ),
    bytes(
        "pss_anon",
        "ANON",
        "The anonymous part of PSS: heap, stack, private writes. Kernel: Pss_Anon in smaps_rollup (Linux 5.4).",
        |r| memory(r, |m| m.pss_anon),
    ),
    bytes(
        "pss_file",
        "FILE",
        "The file-backed part of PSS: programs, libraries, mapped files. Kernel: Pss_File in smaps_rollup (Linux 5.4).",
        |r| memory(r, |m| m.pss_file),
    ),
    bytes(
        "pss_shmem",
        "SHMEM",
        "The shared-memory and tmpfs part of PSS. Kernel: Pss_Shmem in smaps_rollup (Linux 5.4).",
        |r| memory(r, |m| m.pss_shmem),
    ),
    bytes(
        "pss_dirty",
        "PDIRTY",
        "The dirty part of PSS: must be written somewhere before it can be freed. Kernel: Pss_Dirty in smaps_rollup (Linux 6.0).",
        |r| memory(r, |m| m.pss_dirty),
    ),
    bytes(
        "dirty",
        "DIRTY",
        "Dirty pages, whole. Formula: Private_Dirty + Shared_Dirty of smaps_rollup.",
        |r| memory(r, |m| Ok(m.dirty())),
    ),
    bytes(
        "shared",
        "SHARED",
        "Pages that other processes map too, whole. Formula: Shared_Clean + Shared_Dirty of smaps_rollup.",
        |r| memory(r, |m| Ok(m.shared())),
    ),
    bytes(
        "hugetlb",
        "HUGE",
        "Pages of hugetlbfs, which are in neither RSS nor PSS. Formula: Private_Hugetlb + Shared_Hugetlb of \
         smaps_rollup (Linux 4.4).",
        |r| memory(r, Memory::hugetlb),
    ),
    figure("age", "AGE", "How old the shown walk is.", Unit::Seconds, 5, |r| {
        own(r, |s| {
            s.walk
                .map_or_else(Value::Missing, |w| Value::Seconds(w.at.as_secs_f64()))
        })
        .since(r.now.as_secs_f64())
    }),
    figure("pid", "PID", "Process id. Field 1 of stat.", Unit::Count, 7, |r| {
        own(r, |s| Value::Id(u64::from(s.id.pid)))
    }),
    figure(
        "ppid",
        "PPID",
        "The parent's process id. Field 4 of stat.",
        Unit::Count,
        7,
        |r| own(r, |s| Value::Id(u64::from(s.stat.ppid))),
    ),
    word(
        "user",
        "USER",
        "The real user's name, or the uid where it has none. Uid in status.",
        9,
        |r| own(r, |s| Value::text(s.facts.user.as_deref().map_err(|e| *e))),
    ),
    figure("uid", "UID", "The real user id. Uid in status.", Unit::Count, 10, |r| {
        own(r, |s| s.facts.uid.map_or_else(Value::Missing, |n| Value::Id(n.into())))
    }),
    word(
        "state",
        "S",
        "R running, S sleeping, D waiting for a device, T stopped, t traced, Z zombie, I idle kernel thread. \
         Field 3 of stat.",
        1,
        |r| own(r, |s| Value::Text(Cow::Owned(vec![s.stat.state]))),
    ),
    Column {
        additive: true,
        ..figure(
            "threads",
            "THR",
            "Number of threads. Field 20 of stat.",
            Unit::Count,
            5,
            |r| match (r.sample, r.subtree) {
                (Some(s), _) => Value::Count(s.stat.threads),
                (None, Some(sum)) => Value::Count(sum.threads),
                (None, None) => Value::Blank,
            },
        )
    },
    Column {
        additive: true,
        ..figure(
            "majflt",
            "MAJ/s",
            "Major faults a second: pages waited for from disk or swap. High beside swap: it is thrashing. Field 12 of stat.",
            Unit::PerSecond,
            5,
            |r| rate(r, |c| c.majflt, Value::PerSecond),
        )
    },
    Column {
        additive: true,
        ..figure(
            "minflt",
            "MIN/s",
            "Minor faults a second: pages given without waiting. Field 10 of stat.",
            Unit::PerSecond,
            5,
            |r| rate(r, |c| c.minflt, Value::PerSecond),
        )
    },
    Column {
        additive: true,
        ..figure(
            "cpu",
            "CPU%",
            "Percent of one core since the last snapshot. Fields 14 and 15 of stat.",
            Unit::Share,
            5,
            |r| rate(r, |c| c.cpu, Value::Share),
        )
    },
    figure(
        "elapsed",
        "RUNS",
        "How long the process has been running. Formula: uptime − field 22 of stat.",
        Unit::Seconds,
        5,
        |r| {
            let Some(s) = r.sample else { return Value::Blank };
            r.uptime.map_or(Value::Missing(Missing::Unsupported), |up| {
                Value::Seconds((up - s.id.starttime as f64 / 100.0).max(0.0))
            })
        },
    ),
    figure(
        "oom_score",
        "OOM",
        "How likely the kernel is to kill it when memory runs out, 0 to 2000. Kernel: oom_score; read only \
         while this column is shown.",
        Unit::Count,
        4,
        |r| {
            own(r, |s| {
                s.oom_score.map_or_else(Value::Missing, |n| Value::Count(n.into()))
            })
        },
    ),
    word("unit", "UNIT", "The systemd unit, from the cgroup path.", 20, |r| {
        fact(r, |f| f.unit.as_deref())
    }),
    word(
        "container",
        "CONTAINER",
        "The container id, its first twelve digits, from the cgroup path.",
        12,
        |r| fact(r, |f| f.container.as_deref()),
    ),
    word(
        "cgroup",
        "CGROUP",
        "The cgroup path: the unified (v2) one, or that of the v1 memory controller.",
        24,
        |r| own(r, |s| Value::text(s.facts.cgroup.as_deref().map_err(|e| *e))),
    ),
    word(
        "comm",
        "NAME",
        "The kernel's short name, at most 15 bytes. Field 2 of stat.",
        15,
        |r| fact(r, |f| Some(&f.comm)),
    ),
    word(
        "exe",
        "EXE",
        "The path of the program's file. Kernel: the link exe.",
        24,
        |r| own(r, |s| Value::text(s.facts.exe.as_deref().map_err(|e| *e))),
    ),
    word(
        "replaced",
        "REPLACED",
        "What became of the program's file while it ran: updated or deleted. Kernel: the link exe.",
        8,
        |r| fact(r, |f| f.replaced.map(|what| what.id().as_bytes())),
    ),
    Column {
        grows: true,
        ..word(
            "command",
            "COMMAND",
            "The command line without its program's directory; the kernel's short name in brackets where \
             there is none.",
            12,
            |r| own(r, |s| Value::Text(s.facts.short_command())),
        )
    },
    Column {
        grows: true,
        ..word(
            "cmdline",
            "COMMAND LINE",
            "The whole command line; the kernel's short name in brackets where there is none.",
            12,
            |r| own(r, |s| Value::Text(s.facts.command())),
        )
    },
];

impl Value<'_> {
    /// A moment as the time since it.
    fn since(self, now: f64) -> Self {
        match self {
            Self::Seconds(at) => Self::Seconds((now - at).max(0.0)),
            other => other,
        }
    }
}
