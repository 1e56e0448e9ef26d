//! Names and explanations of rows, shared by the parts of the screen.

use std::time::Duration;

use jiff::Timestamp;

use crate::group::{Group, GroupBy, GroupKey};
use crate::model::{CgroupFigures, Facts, Identity, Missing, ProcessSample, Reading, Replaced, Snapshot};
use crate::text;
pub(super) use crate::text::cut;
use crate::trend::Judgement;
use crate::tui::app::App;
use crate::units::{self, Units};

/// A limit that is reached sooner is shown as a warning.
pub(super) const SOON: Duration = Duration::from_secs(86_400);

/// Returns since when growth lasts: ` since 09:14 (at least 32m, not watched 09:20–09:31)`, and on a narrow screen ` for at
/// least 32m`. Empty if it does not grow.
pub(super) fn since(app: &App, snapshot: &Snapshot, judged: &Judgement) -> String {
    let Some(at) = judged.seen_since() else {
        return String::new();
    };
    let history = &app.engine.history;
    let ago = history.elapsed_since(at);
    let long = units::span(judged.watched(snapshot.monotonic).unwrap_or_default());
    match clock(app, snapshot, ago, false) {
        Some(time) if !app.is_narrow() => {
            let earlier = if history.may_be_earlier(at) { " or earlier" } else { "" };
            let time_of = |at| clock(app, snapshot, history.elapsed_since(at), false);
            let gap = judged
                .unwatched
                .and_then(|gap| Some((time_of(gap.from)?, time_of(gap.to)?)));
            let gap = gap.map_or_else(String::new, |(from, to)| format!(", not watched {from}–{to}"));
            format!(" since {time}{earlier} (at least {long}{gap})")
        }
        _ => format!(" for at least {long}"),
    }
}

/// Returns the time of day so long ago, suspends included, with the date if that is more than a day; `None` if it is out of the
/// clock's range.
pub(super) fn clock(app: &App, snapshot: &Snapshot, ago: Duration, has_seconds: bool) -> Option<String> {
    let time = Timestamp::try_from(snapshot.time.checked_sub(ago)?).ok()?;
    let format = match ago.as_secs() {
        86_401.. => "%m-%d %H:%M",
        _ if has_seconds => "%H:%M:%S",
        _ => "%H:%M",
    };
    Some(time.to_zoned(app.screen.zone.clone()).strftime(format).to_string())
}

/// Returns the certainty of a leak: `99% sure that it grows`.
pub(super) fn surety(leak: &Judgement) -> String {
    format!("{:.0}% sure that it grows", leak.percent())
}

/// Returns the name of a group in at most `width` columns. A long path keeps its end: the beginning is mostly the same.
pub(super) fn group_name(key: &GroupKey, width: usize) -> String {
    if matches!(key.by, GroupBy::Cgroup | GroupBy::Mapping) {
        text::truncate_start(&text::safe(key.label()), width)
    } else {
        cut(key.label(), width)
    }
}

/// Returns how many processes a group has: `12 processes`. In a fleet, a group has hosts, and a host has groups.
pub(super) fn process_count(app: &App, group: &Group) -> String {
    let count = group.totals.count as u64;
    match group.key.by {
        _ if app.fleet.is_none() => units::counted(count, "process"),
        GroupBy::Host => units::counted(count, "group"),
        _ => format!("on {}", units::counted(count, "host")),
    }
}

/// Returns what happened to the file of a program that a process still runs.
pub(super) const fn replaced(what: Replaced) -> &'static str {
    match what {
        Replaced::Updated => "updated",
        Replaced::Deleted => "deleted",
    }
}

/// Returns the figures of a cgroup: `cgroup 120M of 512M, swap 3M`.
pub(super) fn cgroup_figures(cgroup: &CgroupFigures, units: Units) -> String {
    let bytes = |figure: Reading<u64>| figure.map_or_else(|_| "?".into(), |n| units::bytes(n, units));
    let limit = match cgroup.limit {
        Ok(Some(limit)) => format!(" of {}", units::bytes(limit, units)),
        Ok(None) => ", no limit".into(),
        Err(_) => String::new(),
    };
    let swap = cgroup.swap.map(|n| format!(", swap {}", units::bytes(n, units)));
    let swap = swap.unwrap_or_default();
    format!("cgroup {}{limit}{swap}", bytes(cgroup.current))
}

/// Returns why figures of a process are missing; empty if none is.
pub(super) fn missing_reasons(sample: &ProcessSample) -> String {
    let facts = &sample.facts;
    let by_rss = sample.walk == Err(Missing::Denied) && sample.counted_rss().is_some();
    let errors = [
        ("memory", sample.walk.as_ref().err()),
        ("command line", facts.cmdline.as_ref().err()),
        ("user", facts.uid.as_ref().err()),
        ("cgroup", facts.cgroup.as_ref().err()),
    ];
    let is_here = facts.host.is_none();
    let errors = errors.into_iter().filter(|(name, _)| is_here || *name == "memory");
    let errors = errors.filter_map(|(name, error)| Some((name, *error?)));
    let list: Vec<(&str, Missing)> = errors.filter(|(_, error)| *error != Missing::Pending).collect();
    match list.as_slice() {
        [(_, e @ (Missing::KernelThread | Missing::Zombie)), ..] => format!("{e}: no memory of its own"),
        list => {
            let words = list.iter().map(|(name, error)| match *name {
                "memory" if by_rss => "RSS instead of PSS, which the kernel denies".into(),
                name => format!("{name}: {error}"),
            });
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns the pid of a process and its command, cut to a width; in a fleet, the names of the group and its host.
pub(super) fn process(id: Identity, facts: Option<&Facts>, width: usize) -> String {
    let Some(facts) = facts else {
        return id.pid.to_string();
    };
    if let Some(host) = &facts.host {
        return format!("{} on {}", cut(&facts.comm, width), cut(host, width));
    }
    format!("{} {}", id.pid, text::cut_command(&facts.short_command(), width))
}
