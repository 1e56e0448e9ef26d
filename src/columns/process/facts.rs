//! Identity, state, program and activity of a process.

use std::borrow::Cow;

use super::Entry;
use super::read::{group_name, optional_text, process, rate, row_name};
use crate::columns::{AppliesTo, Label, Needs, Priority, Unit, Value};
use crate::group::{GroupBy, GroupNames};
use crate::model::Missing;

pub(super) const COLUMNS: &[Entry] = &[
    Entry::figure("age", "AGE", Unit::Seconds, 5, |r| {
        let read_at = match (r.group, r.sample) {
            // Why none of its processes was read, if that is known.
            (Some(group), _) => group.walked.ok_or_else(|| r.memory.err().unwrap_or(Missing::Pending)),
            (None, Some(sample)) => sample.walk.map(|walk| walk.at),
            (None, None) => return Value::Blank,
        };
        read_at.map_or_else(Value::Missing, |at| {
            Value::Seconds(r.now().saturating_sub(at).as_secs_f64())
        })
    })
    .help("How long ago the figures of smaps_rollup were read; of a group, the oldest of them.")
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
        process(r, |s| Value::Id(u64::from(s.stat.ppid)))
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
    .help("The effective user's name, or the uid where it has none. Uid in status.")
    .priority(Priority::High)
    .needs(Needs::USER),
    Entry::figure("uid", "UID", Unit::Count, 10, |r| {
        process(r, |s| s.facts.uid.map_or_else(Value::Missing, |n| Value::Id(n.into())))
    })
    .help("The effective user id. Uid in status.")
    .applies_to(AppliesTo::Processes)
    .needs(Needs::USER),
    Entry::text("state", "S", 1, |r| {
        process(r, |s| Value::Text(Cow::Owned(vec![s.stat.state])))
    })
    .help(
        "R running, S sleeping, D waiting for a device, T stopped, t traced, Z zombie, I idle kernel thread. \
         Field 3 of stat.",
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
        "Major faults a second: pages waited for from disk or swap. High beside swap: it is thrashing. Field 12 \
         of stat.",
    )
    .additive(true)
    .needs(Needs::STAT.and(Needs::HISTORY)),
    Entry::figure("minflt", "MIN/s", Unit::PerSecond, 5, |r| {
        rate(r, |c| c.minflt, Value::PerSecond)
    })
    .help("Minor faults a second: pages given without waiting. Field 10 of stat.")
    .additive(true)
    .needs(Needs::STAT.and(Needs::HISTORY)),
    Entry::figure("cpu", "CPU%", Unit::Share, 5, |r| rate(r, |c| c.cpu, Value::Share))
        .help("Percent of one core since the last snapshot. Fields 14 and 15 of stat.")
        .additive(true)
        .needs(Needs::STAT.and(Needs::HISTORY)),
    Entry::figure("time", "TIME", Unit::Seconds, 6, |r| {
        process(r, |s| Value::Seconds(s.stat.cpu_ticks as f64 / 100.0))
    })
    .help("Processor time since the start, of all threads. Fields 14 and 15 of stat.")
    .applies_to(AppliesTo::Processes)
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
    .help("How long the process has been running; of a group, its oldest. Formula: uptime − field 22 of stat.")
    .needs(Needs::STAT.and(Needs::SYSTEM)),
    Entry::figure("oom_score", "OOM", Unit::Count, 4, |r| {
        process(r, |s| {
            s.oom_score.map_or_else(Value::Missing, |n| Value::Count(n.into()))
        })
    })
    .help(
        "How likely the kernel is to kill it when memory runs out, 0 to 2000. Kernel: oom_score; read only while \
         this column is shown.",
    )
    .applies_to(AppliesTo::Processes)
    .needs(Needs::OOM_SCORE),
    Entry::text("unit", "UNIT", 20, |r| {
        group_name(r, GroupBy::Unit, |s| optional_text(s.facts.unit.as_deref()))
    })
    .help("The systemd unit, from the cgroup path.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("container", "CONTAINER", 12, |r| {
        group_name(r, GroupBy::Container, |s| optional_text(s.facts.container.as_deref()))
    })
    .help("The container id, its first twelve digits, from the cgroup path.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("cgroup", "CGROUP", 24, |r| {
        group_name(r, GroupBy::Cgroup, |s| {
            Value::text(s.facts.cgroup.as_deref().map_err(|e| *e))
        })
    })
    .help("The cgroup path: the unified (v2) one, or that of the v1 memory controller.")
    .needs(Needs::CGROUP_PATH),
    Entry::text("family", "FAMILY", 20, |r| match (r.group, r.sample) {
        (Some(group), _) if group.key.by == GroupBy::Family => Value::Text(Cow::Borrowed(group.key.label())),
        (None, Some(sample)) => {
            let name = GroupNames::new(r.snapshot.rows()).name_of(sample, GroupBy::Family);
            name.map_or(Value::Blank, Value::Text)
        }
        _ => Value::Blank,
    })
    .help(
        "The family, by the program and the pid of its first process: a daemon and its descendants, below an init, \
         a supervisor, a shell, a terminal or a container's first process. Kernel: ppid of stat.",
    )
    .needs(Needs::FAMILY),
    Entry::text("host", "HOST", 20, |r| {
        group_name(r, GroupBy::Host, |s| optional_text(s.facts.host.as_deref()))
    })
    .help("The host, in zmtop fleet: the name that it gives itself, or its address where hosts have the same name. Kernel: nodename of uname.")
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
        "What became of the program's file since the start: updated or deleted. Such a process should be started \
         anew. Of a group: deleted if that became of any of its files. Kernel: the link exe.",
    )
    .needs(Needs::PROGRAM),
    Entry::text("unread", "UNREAD", 18, |r| match (r.sample, r.memory) {
        (Some(_), Err(why)) => Value::Text(Cow::Borrowed(why.reason().as_bytes())),
        _ => Value::Blank,
    })
    .help("Why the figures of smaps_rollup are not known: permission denied, timed out and the like.")
    .applies_to(AppliesTo::Processes)
    .needs(Needs::MEMORY),
    Entry::text("command", "COMMAND", 12, |r| {
        row_name(r, |s| Value::Text(s.facts.short_command()))
    })
    .help(
        "The command line without its program's directory; the kernel's short name in brackets where there is \
         none.",
    )
    .grows()
    .label(Label::Process)
    .needs(Needs::COMMAND_LINE),
    Entry::text("cmdline", "COMMAND LINE", 12, |r| {
        row_name(r, |s| Value::Text(s.facts.command()))
    })
    .help("The whole command line; the kernel's short name in brackets where there is none.")
    .grows()
    .label(Label::Process)
    .needs(Needs::COMMAND_LINE),
];
