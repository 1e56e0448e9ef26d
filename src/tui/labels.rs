//! Names and explanations of rows, shared by the parts of the screen.

use std::time::Duration;

use crate::group::{Group, GroupBy, GroupKey};
use crate::model::{CgroupFigures, Facts, Identity, Missing, ProcessSample, Reading, Replaced};
use crate::text;
use crate::units::{self, Units};

/// A limit that is reached sooner is worth a warning.
pub(super) const SOON: Duration = Duration::from_secs(86_400);

/// Returns the name of a group in at most `width` columns. Of a longer path the end is shown: the beginning is mostly
/// the same.
pub(super) fn group_name(key: &GroupKey, width: usize) -> String {
    if matches!(key.by, GroupBy::Cgroup | GroupBy::Mapping) {
        text::truncate_start(&text::safe(key.label()), width)
    } else {
        cut(key.label(), width)
    }
}

/// Returns how many processes a group has: `12 processes`.
pub(super) fn process_count(group: &Group) -> String {
    match group.totals.count {
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
    let known = errors.into_iter().filter_map(|(name, error)| Some((name, *error?)));
    let list: Vec<(&str, Missing)> = known.filter(|(_, error)| *error != Missing::Pending).collect();
    match list.as_slice() {
        [(_, e @ (Missing::KernelThread | Missing::Zombie)), ..] => format!("{e}: no memory of its own"),
        list => {
            let words = list.iter().map(|(name, error)| match *name {
                "memory" if by_rss => "shown by RSS: its PSS is not yours to read".into(),
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

/// Returns the pid of a process and, if its facts are known, its command, cut to a width.
pub(super) fn process(id: Identity, facts: Option<&Facts>, width: usize) -> String {
    match facts {
        Some(facts) => format!("{} {}", id.pid, cut(&facts.short_command(), width)),
        None => id.pid.to_string(),
    }
}
