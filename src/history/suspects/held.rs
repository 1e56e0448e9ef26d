//! Processes and groups of which what is held through descriptors grows or leaks.

use std::sync::Arc;

use super::{Cause, Suspect, groups as of_groups, is_suspect};
use crate::account::headroom::headroom;
use crate::group::{GroupBy, RowKey};
use crate::history::History;
use crate::model::snapshot::Snapshot;
use crate::order;
use crate::trend::{Judgement, Verdict};

/// The parts of the RAM that hold little beside what is mapped, and what is held.
const EXPLAINED: [&str; 2] = ["shmem", "gpu"];

/// Finds the processes.
pub(super) fn processes(history: &History, snapshot: &Snapshot, least: Verdict) -> Vec<Suspect> {
    let all = history.held().processes();
    let suspects = all.filter(|(_, held)| is_suspect(held.row(), least));
    let found = suspects.filter_map(|(id, held)| {
        let sample = snapshot.row(id)?;
        let cgroup = sample.facts.cgroup.as_deref().ok();
        Some(Suspect {
            facts: Some(Arc::clone(&sample.facts)),
            count: 1,
            eta: held.row().trend().eta(headroom(snapshot, cgroup)),
            cause: Some(Cause::Held(held.kind())),
            ..Suspect::new(RowKey::Process(id), history.command(id), held.row())
        })
    });
    let mut found: Vec<Suspect> = found.collect();
    order::sort_by(&mut found, |a, b| a.key.cmp(&b.key));
    found
}

/// Finds the groups of that kind.
pub(super) fn groups(history: &History, snapshot: &Snapshot, by: GroupBy, least: Verdict) -> Vec<Suspect> {
    let all = history.held().groups_by(by);
    let suspects = all.filter(|(_, held)| is_suspect(held.row(), least));
    let found = suspects.map(|(key, held)| Suspect {
        count: history.members(by, key.name.as_deref()),
        cause: Some(Cause::Held(held.kind())),
        ..Suspect::new(RowKey::Group(key.clone()), key.name.clone(), held.row())
    });
    let mut found: Vec<Suspect> = found.collect();
    order::sort_by(&mut found, |a, b| a.key.cmp(&b.key));
    of_groups::set_etas(history, snapshot, by, &mut found);
    found
}

/// Returns true if at least half of the growth of a part of the RAM is that of what is told to be held, with no better verdict.
pub(super) fn explain(told: &[Suspect], part: &str, judged: &Judgement) -> bool {
    let processes = || {
        told.iter()
            .filter(|suspect| suspect.key.process().is_some() || suspect.alike > 0)
    };
    let slope: f64 = processes().map(|suspect| suspect.judgement.slope).sum();
    let worst = processes().map(|suspect| suspect.judgement.verdict).max();
    EXPLAINED.contains(&part) && slope >= judged.slope / 2.0 && worst.is_some_and(|worst| worst >= judged.verdict)
}
