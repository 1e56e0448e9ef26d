//! Figures of a group, and the kernel's figures of a cgroup.

use std::borrow::Cow;

use super::Entry;
use super::read::{after_pss, cgroup, memory};
use crate::columns::{AppliesTo, Label, Needs, Priority, Row, Unit, Value};
use crate::group::{GroupBy, GroupNames};
use crate::model::Missing;

/// Figures of the cgroup that the path leads to.
const CGROUP: Needs = Needs::CGROUP_PATH.and(Needs::CGROUP_FIGURES);

/// Sums the processes of rows that are groups on hosts; blank for none, as in a total.
fn processes_of_hosts<'a>(row: &Row<'a>, places: &[usize]) -> Value<'a> {
    let told = places.iter().filter_map(|at| row.snapshot.fleet_row(*at)?.processes);
    match (
        places,
        told.fold(None, |sum: Option<u64>, n| Some(sum.unwrap_or(0) + n)),
    ) {
        ([], _) => Value::Blank,
        (_, Some(sum)) => Value::Count(sum),
        (_, None) => Value::Missing(Missing::NotExported),
    }
}

pub(super) const COLUMNS: &[Entry] = &[
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
        "How many processes the row stands for: those of a group, 1 for a process, for a mapping those that map \
         it. Formula: Σ 1.",
    )
    .additive(true)
    .priority(Priority::High)
    .metric("zmtop_processes"),
    Entry::bytes("shared_pss", "PSHARE", |r| {
        after_pss(r, |m| Ok(m.pss.saturating_sub(m.uss())))
    })
    .help("The shared part of PSS: its part of the pages that other processes map too. Formula: PSS − USS."),
    Entry::bytes("avg_pss", "AVGPSS", |r| match (r.sample, r.group) {
        (Some(_), _) => memory(r, |m| Ok(m.pss)),
        (None, Some(group)) => match (r.memory, group.readable as u64) {
            (Ok(m), n @ 1..) => Value::Bytes(m.pss / n),
            (Ok(_), 0) => Value::Missing(Missing::Pending),
            (Err(e), _) => Value::Missing(e),
        },
        (None, None) => Value::Blank,
    })
    .help("PSS of one process on average. Formula: PSS ÷ N, of those whose memory can be read.")
    .additive(false)
    .priority(Priority::High),
    Entry::bytes("cg_current", "CGMEM", |r| cgroup(r, |c| c.current.map(Some)))
        .help(
            "What the cgroup itself says it holds: file cache, kernel memory and what ended processes left are in it \
             too. Kernel: memory.current of the cgroup path.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .priority(Priority::High)
        .needs(CGROUP),
    Entry::bytes("cg_limit", "CGLIMIT", |r| cgroup(r, |c| c.limit))
        .help(
            "The most that the cgroup may hold, by its own limit or one above it; max where there is none. Kernel: \
             memory.max of the cgroup path.",
        )
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .priority(Priority::High)
        .needs(CGROUP),
    Entry::bytes("cg_swap", "CGSWAP", |r| cgroup(r, |c| c.swap.map(Some)))
        .help("What of the cgroup is swapped out, by its own account. Kernel: memory.swap.current of the cgroup path.")
        .additive(false)
        .applies_to(AppliesTo::CgroupRows)
        .needs(CGROUP),
    Entry::text("group", "GROUP", 15, |r| match (r.group, r.sample) {
        (Some(group), _) => Value::Text(Cow::Borrowed(group.key.label())),
        (None, Some(sample)) => {
            let name = GroupNames::new(r.snapshot.rows()).name_of(sample, GroupBy::Command);
            name.map_or(Value::Blank, Value::Text)
        }
        (None, None) => Value::Blank,
    })
    .help(
        "The group's name; of a process that of its program: a title in brackets from the command line, what an \
         interpreter runs (python3 ingest.py), the file's name where the kernel's short name begins it or the parent \
         runs the same, else the short name.",
    )
    .label(Label::Group)
    .needs(Needs::PROGRAM_NAME),
];
