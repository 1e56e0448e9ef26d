//! What a process is and does.

use std::borrow::Cow;

use super::{Column, Unit, Value, figure, word};
use crate::columns::get::{fact, memory, named, own, rate, title};
use crate::group::GroupBy;
use crate::model::Missing;

pub(super) const COLUMNS: &[Column] = &[
    figure(
        "age",
        "AGE",
        "How old the shown walk is; of a group, its oldest.",
        Unit::Seconds,
        5,
        |r| {
            match r.group {
                Some(group) => group.walked.map_or_else(
                    || memory(r, |_| Err(Missing::Pending)),
                    |at| Value::Seconds(at.as_secs_f64()),
                ),
                None => own(r, |s| {
                    s.walk
                        .map_or_else(Value::Missing, |w| Value::Seconds(w.at.as_secs_f64()))
                }),
            }
            .since(r.now.as_secs_f64())
        },
    ),
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
        "The effective user's name, or the uid where it has none. Uid in status.",
        9,
        |r| {
            named(r, GroupBy::User, |s| {
                Value::text(s.facts.user.as_deref().map_err(|e| *e))
            })
        },
    ),
    figure(
        "uid",
        "UID",
        "The effective user id. Uid in status.",
        Unit::Count,
        10,
        |r| own(r, |s| s.facts.uid.map_or_else(Value::Missing, |n| Value::Id(n.into()))),
    ),
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
        "How long the process has been running; of a group, its oldest. Formula: uptime − field 22 of stat.",
        Unit::Seconds,
        5,
        |r| {
            let start = match (r.sample, r.group) {
                (Some(s), _) => Some(s.id.starttime),
                (None, Some(group)) => group.started,
                (None, None) => None,
            };
            let Some(start) = start else { return Value::Blank };
            r.uptime.map_or(Value::Missing(Missing::Unsupported), |up| {
                Value::Seconds((up - start as f64 / 100.0).max(0.0))
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
        named(r, GroupBy::Unit, |s| fact(s.facts.unit.as_deref()))
    }),
    word(
        "container",
        "CONTAINER",
        "The container id, its first twelve digits, from the cgroup path.",
        12,
        |r| named(r, GroupBy::Container, |s| fact(s.facts.container.as_deref())),
    ),
    word(
        "cgroup",
        "CGROUP",
        "The cgroup path: the unified (v2) one, or that of the v1 memory controller.",
        24,
        |r| {
            named(r, GroupBy::Cgroup, |s| {
                Value::text(s.facts.cgroup.as_deref().map_err(|e| *e))
            })
        },
    ),
    word(
        "comm",
        "NAME",
        "The kernel's short name, at most 15 bytes. Field 2 of stat.",
        15,
        |r| named(r, GroupBy::Command, |s| fact(Some(&s.facts.comm))),
    ),
    word(
        "exe",
        "EXE",
        "The path of the program's file, as zmtop or its container sees it. Kernel: the link exe.",
        24,
        |r| own(r, |s| Value::text(s.facts.exe.as_deref().map_err(|e| *e))),
    ),
    word(
        "replaced",
        "REPLACED",
        "What became of the program's file since the start: updated or deleted. Such a process should be started anew. \
         Of a group: deleted if that became of any of its files. Kernel: the link exe.",
        8,
        |r| match r.group {
            Some(group) => fact(group.replaced.map(|(what, _)| what.id().as_bytes())),
            None => own(r, |s| fact(s.facts.replaced.map(|what| what.id().as_bytes()))),
        },
    ),
    word(
        "unread",
        "UNREAD",
        "Why the figures of smaps_rollup are not known: permission denied, timed out and the like.",
        18,
        |r| match (r.sample, r.memory) {
            (Some(_), Err(why)) => Value::Text(Cow::Borrowed(why.reason().as_bytes())),
            _ => Value::Blank,
        },
    ),
    Column {
        grows: true,
        ..word(
            "command",
            "COMMAND",
            "The command line without its program's directory; the kernel's short name in brackets where \
             there is none.",
            12,
            |r| title(r, |s| Value::Text(s.facts.short_command())),
        )
    },
    Column {
        grows: true,
        ..word(
            "cmdline",
            "COMMAND LINE",
            "The whole command line; the kernel's short name in brackets where there is none.",
            12,
            |r| title(r, |s| Value::Text(s.facts.command())),
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
