//! The columns of the memory that cgroups needed, and of the limits to set.

use std::borrow::Cow;

use super::{Column, Label, Priority, SortKey, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::group::GroupBy;
use crate::limits::{Finding, Proposal};
use crate::model::Reading;
use crate::units::Units;

/// A cgroup; `None` for the totals, which have no figures, since cgroups contain each other.
#[derive(Clone, Copy, Debug)]
pub struct LimitRow<'a>(pub Option<&'a Finding>);

impl<'a> LimitRow<'a> {
    fn value(self, value: impl FnOnce(&'a Finding) -> Value<'a>) -> Value<'a> {
        self.0.map_or(Value::Blank, value)
    }

    fn limit(self, get: fn(&Finding) -> Reading<Option<u64>>) -> Value<'a> {
        self.value(|found| match get(found) {
            Ok(Some(bytes)) => Value::Bytes(bytes),
            Ok(None) => Value::text(Ok(b"max")),
            Err(why) => Value::Missing(why),
        })
    }

    fn count(self, get: fn(&Finding) -> Reading<u64>) -> Value<'a> {
        self.value(|found| get(found).map_or_else(Value::Missing, Value::Count))
    }

    fn proposed(self, get: fn(Proposal) -> u64) -> Value<'a> {
        self.value(|found| {
            found
                .proposal()
                .map_or(Value::Blank, |proposal| Value::Bytes(get(proposal)))
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub enum LimitRows {}

impl TableKind for LimitRows {
    type Row<'a> = LimitRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;

    fn tie<'a>(row: &'a LimitRow<'a>) -> SortKey {
        row.value(|found| Value::Bytes(found.peak)).sort_key()
    }
}

impl Filterable for LimitRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let found = self.0?;
        let name_if = |by| (found.by == by).then_some(Cow::Borrowed(&*found.name));
        match field {
            TextField::CommandLine | TextField::Group => Some(Cow::Borrowed(&found.name)),
            TextField::Unit => name_if(GroupBy::Unit),
            TextField::Container => name_if(GroupBy::Container),
            TextField::Pod => name_if(GroupBy::Pod),
            TextField::Comm | TextField::Cgroup => Some(Cow::Borrowed(&found.path)),
            TextField::Host => Some(Cow::Borrowed(&found.host)),
            _ => None,
        }
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}

type Entry = Column<LimitRows>;

pub static COLUMNS: &[Entry] = &[
    Entry::bytes("median", "MEDIAN", |r| r.value(|found| Value::Bytes(found.median)))
        .help(
            "The median of the need over time. The need is the memory that must stay in RAM or in swap. Formula: \
             memory.current − the memory that reclaim frees first (active_file + inactive_file + slab_reclaimable) + \
             memory.swap.current; Σ PSS + SwapPss of the processes if the basis is processes. At most 1.6 % too high.",
        )
        .additive(false),
    Entry::bytes("p99", "P99", |r| r.value(|found| Value::Bytes(found.p99)))
        .help("The 99th percentile of the need over time. Formula: as MEDIAN.")
        .additive(false)
        .priority(Priority::High),
    Entry::bytes("peak", "PEAK", |r| r.value(|found| Value::Bytes(found.peak)))
        .help(
            "The highest need. If memory.peak rose between two snapshots and exceeds both of them, the whole rise counts. A \
             limit at which a process was killed counts too. Formula: as MEDIAN.",
        )
        .additive(false)
        .priority(Priority::Highest),
    Entry::bytes("limit", "LIMIT", |r| r.limit(|found| found.limit.bytes))
        .help(
            "The limit that applies: the lowest of the cgroup's own limit and the limits of its parents; max if \
             there is none. Kernel: memory.max.",
        )
        .additive(false)
        .priority(Priority::High),
    Entry::text("limit_of", "LIMIT OF", 10, |r| {
        r.value(|found| {
            found
                .limit
                .of
                .as_deref()
                .map_or(Value::Blank, |path| Value::text(Ok(path)))
        })
    })
    .help("The parent cgroup that has this limit; empty if the limit is the cgroup's own.")
    .priority(Priority::Low),
    Entry::bytes("soft", "SOFT", |r| r.limit(|found| found.limit.high))
        .help("The lowest soft limit of the cgroup and its parents; max if there is none. Kernel: memory.high.")
        .additive(false)
        .priority(Priority::Low),
    Entry::figure("near", "NEAR", Unit::Share, 5, |r| {
        r.value(|found| found.near.map_or(Value::Blank, Value::Share))
    })
    .help("How close the cgroup came to its limit: the highest share of the limit that was taken by memory that must stay in \
           RAM.")
    .priority(Priority::High),
    Entry::figure("throttled", "SLOWED", Unit::Count, 6, |r| {
        r.count(|found| found.throttled)
    })
    .help("How often its tasks were throttled at a soft limit during the recording. Kernel: high of memory.events."),
    Entry::figure("limit_hits", "HITS", Unit::Count, 5, |r| {
        r.count(|found| found.limit_hits)
    })
    .help(
        "How often the cgroup was about to exceed its limit, or a cgroup below it was, during the recording. File \
         cache alone can cause this, without harm. Kernel: max of memory.events; memory.failcnt in v1.",
    ),
    Entry::figure("kills", "KILLS", Unit::Count, 5, |r| r.count(|found| found.kills))
        .help(
            "How many of its processes were killed for lack of memory during the recording. Kernel: oom_kill of \
             memory.events, and the kernel's log.",
        )
        .priority(Priority::High),
    Entry::bytes("kernel_peak", "KPEAK", |r| {
        r.value(|found| Value::bytes(found.kernel_peak))
    })
    .help("The most memory that the cgroup ever had, including file cache. Kernel: memory.peak.")
    .additive(false)
    .priority(Priority::Low),
    Entry::figure("observed", "FOR", Unit::Seconds, 6, |r| {
        r.value(|found| Value::Seconds(found.observed.as_secs_f64()))
    })
    .help("The recorded time in which the cgroup existed, without gaps.")
    .priority(Priority::High),
    Entry::figure("verdict", "VERDICT", Unit::Verdict, 9, |r| {
        r.value(|found| Value::Verdict(found.judgement.verdict))
    })
    .help("The verdict on the need at the end of the recording.")
    .priority(Priority::Low),
    Entry::figure("slope", "PACE", Unit::Growth, 9, |r| {
        r.value(|found| Value::Growth(found.judgement.slope))
    })
    .help("The slope of the need at the end of the recording.")
    .priority(Priority::Low),
    Entry::text("basis", "BASIS", 9, |r| {
        r.value(|found| Value::text(Ok(found.basis.id().as_bytes())))
    })
    .help(
        "`cgroup` if the need comes from the kernel's figures. `processes` if the recording does not have them: \
         the need is then the sum of the footprints of the processes, without kernel memory.",
    )
    .priority(Priority::Low),
    Entry::bytes("request", "REQUEST", |r| r.proposed(|proposal| proposal.request))
        .help("The memory to reserve. Formula: P99.")
        .additive(false),
    Entry::bytes("high", "HIGH", |r| r.proposed(|proposal| proposal.high))
        .help("The soft limit to set. Formula: PEAK + growth + half the margin.")
        .additive(false),
    Entry::bytes("max", "MAX", |r| r.proposed(|proposal| proposal.max))
        .help(
            "The limit to set. Formula: PEAK + growth + margin. The margin is 15 % of PEAK after a recording of a \
             week, 25 % after a day, 50 % after an hour, else 100 %; at least 16 MiB. Growth is the expected growth \
             over as much time as was recorded.",
        )
        .additive(false)
        .priority(Priority::High),
    Entry::text("certainty", "SURE", 9, |r| {
        r.value(|found| Value::text(Ok(found.certainty.id().as_bytes())))
    })
    .help(
        "`sure`, or the first reason why MAX may be too low: `partial`: some processes could not be read, so there is \
         no MAX; `killed`: a process was killed; `grows`; `held-back`: its limit held it back; `short`: less than a \
         day was recorded.",
    )
    .priority(Priority::High),
    Entry::text("line", "LINE", 10, |r| {
        r.value(|found| {
            found
                .line()
                .map_or(Value::Blank, |line| Value::Text(line.into_bytes().into()))
        })
    })
    .help(
        "The line to paste: settings of systemd for a unit, resources for a container or a pod of Kubernetes, an \
         option of docker and podman for any other container, else files of the cgroup.",
    ),
    Entry::text("rule", "RULE", 10, |r| {
        r.value(|found| Value::Text(found.rule(Units::default()).into_bytes().into()))
    })
    .help("How MAX was computed.")
    .priority(Priority::Low),
    Entry::text("kind", "KIND", 9, |r| {
        r.value(|found| Value::text(Ok(found.by.id().as_bytes())))
    })
    .help("unit, container, pod or cgroup."),
    Entry::text("host", "HOST", 10, |r| r.value(|found| Value::text(Ok(&found.host))))
        .help("The host.")
        .priority(Priority::Low),
    Entry::text("cgroup", "CGROUP", 10, |r| {
        r.value(|found| Value::text(Ok(&found.path)))
    })
    .help("The path of its most recent cgroup.")
    .priority(Priority::Low),
    Entry::text("name", "NAME", 12, |r| r.value(|found| Value::text(Ok(&found.name))))
        .help("The name of the unit, the container or the pod, or the path of the cgroup.")
        .label(Label::Group)
        .grows()
        .priority(Priority::Highest),
];
