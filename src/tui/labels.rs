//! Names and explanations of rows, shared by the parts of the screen.

use std::time::Duration;

use jiff::Timestamp;

use crate::group::{Group, GroupBy, GroupKey};
use crate::model::{CgroupFigures, Facts, Identity, Missing, ProcessSample, Reading, Replaced, Snapshot};
use crate::text;
use crate::trend::Judgement;
use crate::tui::app::App;
use crate::units::{self, Units};

/// A limit that is reached sooner is worth a warning.
pub(super) const SOON: Duration = Duration::from_secs(86_400);

/// Time after the first snapshot in which growth that was there before is first seen.
const FIRST_SEEN: Duration = Duration::from_secs(180);
/// The parts of that time of which each must have been watched.
const PARTS: usize = 9;

/// Returns true if what is seen since then may have begun while zmtop did not watch: before it began to, or in a gap.
pub(super) fn may_be_earlier(app: &App, since: Duration) -> bool {
    let machine = app.engine.history.system().mem();
    // Of a fleet it is not known.
    machine.start().is_some() && machine.bands(since, FIRST_SEEN, PARTS).iter().any(Option::is_none)
}

/// Says since when something goes on: `since 09:14 (at least 32m)`, and on a narrow screen ` for at least 32m`.
pub(super) fn since(app: &App, snapshot: &Snapshot, at: Duration) -> String {
    let ago = app.engine.history.elapsed_since(at);
    let long = units::span(ago);
    match clock(app, snapshot, ago, false) {
        Some(time) if !app.is_narrow() && may_be_earlier(app, at) => {
            format!(" since {time} or earlier (at least {long})")
        }
        Some(time) if !app.is_narrow() => format!(" since {time} (at least {long})"),
        _ => format!(" for at least {long}"),
    }
}

/// Returns the time of the day so long ago, suspends included, with its date if that is more than a day; `None` where the clock cannot tell it.
pub(super) fn clock(app: &App, snapshot: &Snapshot, ago: Duration, has_seconds: bool) -> Option<String> {
    let time = Timestamp::try_from(snapshot.time.checked_sub(ago)?).ok()?;
    let format = match ago.as_secs() {
        86_401.. => "%m-%d %H:%M",
        _ if has_seconds => "%H:%M:%S",
        _ => "%H:%M",
    };
    Some(time.to_zoned(app.screen.zone.clone()).strftime(format).to_string())
}

/// Says how sure a leak is: `99% sure that it grows`.
pub(super) fn surety(leak: &Judgement) -> String {
    format!("{:.0}% sure that it grows", leak.percent())
}

/// Returns the name of a group in at most `width` columns. Of a longer path the end is shown: the beginning is mostly
/// the same.
pub(super) fn group_name(key: &GroupKey, width: usize) -> String {
    if matches!(key.by, GroupBy::Cgroup | GroupBy::Mapping) {
        text::truncate_start(&text::safe(key.label()), width)
    } else {
        cut(key.label(), width)
    }
}

/// Returns how many processes a group has: `12 processes`; in a fleet how many hosts, and a host how many groups.
pub(super) fn process_count(app: &App, group: &Group) -> String {
    match group.totals.count {
        n if app.fleet.is_some() && group.key.by == GroupBy::Host => units::counted(n as u64, "group"),
        n if app.fleet.is_some() => format!("on {}", units::counted(n as u64, "host")),
        1 => "1 process".into(),
        n => format!("{n} processes"),
    }
}

/// Returns what became of a program's file that a process still runs.
pub(super) const fn replaced(what: Replaced) -> &'static str {
    match what {
        Replaced::Updated => "updated",
        Replaced::Deleted => "deleted",
    }
}

/// Returns what a cgroup says of itself: `cgroup 120M of 512M, swap 3M`.
pub(super) fn cgroup_figures(cgroup: &CgroupFigures, units: Units) -> String {
    let bytes = |figure: Reading<u64>| figure.map_or_else(|_| "?".into(), |n| units::bytes(n, units));
    let limit = match cgroup.limit {
        Ok(Some(limit)) => format!(" of {}", units::bytes(limit, units)),
        Ok(None) => ", no limit".into(),
        Err(_) => String::new(),
    };
    let swap = cgroup
        .swap
        .map_or_else(|_| String::new(), |n| format!(", swap {}", units::bytes(n, units)));
    format!("cgroup {}{limit}{swap}", bytes(cgroup.current))
}

/// Returns why figures of a process are missing; empty where none is.
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
    let known = errors.filter_map(|(name, error)| Some((name, *error?)));
    let list: Vec<(&str, Missing)> = known.filter(|(_, error)| *error != Missing::Pending).collect();
    match list.as_slice() {
        [(_, e @ (Missing::KernelThread | Missing::Zombie)), ..] => format!("{e}: no memory of its own"),
        list => {
            let words = list.iter().map(|(name, error)| match *name {
                "memory" if by_rss => "shown by RSS, as the kernel refuses its PSS".into(),
                name => format!("{name}: {error}"),
            });
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns foreign bytes, made safe and cut to a width.
fn cut(bytes: &[u8], width: usize) -> String {
    text::truncate(&text::safe_prefix(bytes, width), width)
}

/// Returns the pid of a process and, if its facts are known, its command, cut to a width; of a group on a host both names.
pub(super) fn process(id: Identity, facts: Option<&Facts>, width: usize) -> String {
    match facts {
        Some(facts) if facts.host.is_some() => {
            let host = facts.host.as_deref().unwrap_or_default();
            format!("{} on {}", cut(&facts.comm, width), cut(host, width))
        }
        Some(facts) => {
            let command = facts.short_command();
            let command = text::safe_prefix(&command, 4 * width);
            let command = text::without_directories(&command, width);
            format!("{} {}", id.pid, text::truncate(&command, width))
        }
        None => id.pid.to_string(),
    }
}
