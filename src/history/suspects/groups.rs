//! Groups that grow or leak, and which of a program and its processes are told of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Suspect, is_suspect};
use crate::account::headroom::headroom;
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::History;
use crate::model::cgroup::CgroupFigures;
use crate::model::process::ProcessSample;
use crate::model::snapshot::Snapshot;
use crate::trend::Verdict;

/// The number of processes of a program from which on they are told of together, and the share of all of its processes that
/// must grow for that: where a few of many do, it is those that matter.
const MIN_FELLOWS: usize = 3;
const MIN_FELLOWS_SHARE: f64 = 0.75;
/// Multiple of the median pace of those from which on one is told of by itself.
const MAX_FELLOWS_PACE: f64 = 4.0;

/// Adds the programs that grow to their processes, which are told of by one line where nearly all of them do; leaves out those
/// whose growth is that of single processes.
pub(super) fn add_programs(mut programs: Vec<Suspect>, found: &mut Vec<Suspect>) {
    for program in &mut programs {
        fold_alike(program, found);
    }
    programs.retain(|program| program.alike > 0 || !is_explained(program, found));
    found.extend(programs);
}

/// Finds the groups of that kind.
pub(super) fn find_groups(
    history: &History,
    snapshot: &Snapshot,
    by: GroupBy,
    least: Verdict,
    found: &mut Vec<Suspect>,
) {
    let from = found.len();
    for (name, row) in history.groups_by(by).filter(|(_, row)| is_suspect(row, least)) {
        let name = name.cloned();
        let key = GroupKey { by, name: name.clone() };
        let count = history.members(by, name.as_deref());
        found.push(Suspect {
            count,
            ..Suspect::new(RowKey::Group(key), name, row)
        });
    }
    let names = GroupNames::new(snapshot.rows());
    if by == GroupBy::Family {
        // A family of one has the history of its process.
        let alone = history
            .processes()
            .filter(|(id, row)| is_suspect(row, least) && !history.has_family(*id));
        for (id, row) in alone {
            let sample = names.find(id.pid).filter(|sample| sample.id == id);
            let Some(name) = sample.and_then(|sample| names.name_of(sample, by)) else {
                continue;
            };
            let name: Option<Arc<[u8]>> = Some(name.as_ref().into());
            let key = GroupKey { by, name: name.clone() };
            found.push(Suspect {
                count: 1,
                ..Suspect::new(RowKey::Group(key), name, row)
            });
        }
    }
    set_etas(history, snapshot, by, &mut found[from..]);
}

/// Sets how long it takes until groups of that kind reach a limit.
pub(super) fn set_etas(history: &History, snapshot: &Snapshot, by: GroupBy, found: &mut [Suspect]) {
    if found.is_empty() {
        return;
    }
    // Where no cgroup has a limit, it is no matter which they are in.
    let has_limit = |figures: &CgroupFigures| matches!(figures.limit, Ok(Some(_)));
    let cgroups = if by != GroupBy::Cgroup && snapshot.cgroups.values().any(has_limit) {
        common_cgroups(history, snapshot, by, found)
    } else {
        HashMap::new()
    };
    for suspect in found {
        let cgroup = if by == GroupBy::Cgroup {
            suspect.command.as_deref()
        } else {
            cgroups.get(&suspect.command).copied().flatten()
        };
        suspect.eta = suspect.judgement.eta(headroom(snapshot, cgroup));
    }
}

/// Returns the cgroup that all members of each of these groups are in, by the name of the group; `None` where they are in
/// several.
fn common_cgroups<'a>(
    history: &History,
    snapshot: &'a Snapshot,
    by: GroupBy,
    groups: &[Suspect],
) -> HashMap<Option<Arc<[u8]>>, Option<&'a [u8]>> {
    let names = GroupNames::new(snapshot.rows());
    let wanted: HashSet<Option<&[u8]>> = groups.iter().map(|group| group.command.as_deref()).collect();
    let mut cgroups = HashMap::new();
    // A history may be of chosen processes alone.
    let is_member = |sample: &&ProcessSample| !sample.stat.is_kernel_thread() && history.get(sample.id).is_some();
    for sample in snapshot.rows().iter().filter(is_member) {
        let name = names.name_of(sample, by);
        if !wanted.contains(&name.as_deref()) {
            continue;
        }
        let own = sample.facts.cgroup.as_deref().ok();
        let common = cgroups.entry(name.as_deref().map(Arc::from)).or_insert(own);
        if *common != own {
            *common = None;
        }
    }
    cgroups
}

/// Takes the processes of a program that grows out of those found, where nearly all of them grow alike: one line says it.
/// One that is much faster, or has the worse verdict, stays.
fn fold_alike(program: &mut Suspect, found: &mut Vec<Suspect>) {
    let verdict = program.judgement.verdict;
    let is_own = |s: &Suspect| s.ended.is_none() && s.command == program.command && s.judgement.verdict.is_growth();
    let mut paces: Vec<f64> = found.iter().filter(|s| is_own(s)).map(|s| s.judgement.slope).collect();
    paces.sort_unstable_by(f64::total_cmp);
    let least = (program.count as f64 * MIN_FELLOWS_SHARE).max(MIN_FELLOWS as f64);
    if !verdict.is_growth() || (paces.len() as f64) < least {
        return;
    }
    let fastest = paces[paces.len() / 2] * MAX_FELLOWS_PACE;
    let is_alike = |s: &Suspect| is_own(s) && s.judgement.slope <= fastest && s.judgement.verdict <= verdict;
    let all = found.len();
    found.retain(|s| !is_alike(s));
    program.alike = all - found.len();
}

/// Returns true if the growth of a program is that of its processes, which are listed themselves.
fn is_explained(program: &Suspect, found: &[Suspect]) -> bool {
    let own = found
        .iter()
        .filter(|s| s.ended.is_none() && s.command == program.command);
    let (slope, worst) = own.fold((0.0, Verdict::Unknown), |(slope, worst), s| {
        (slope + s.judgement.slope, worst.max(s.judgement.verdict))
    });
    // Processes that only grow do not explain a leak.
    program.count <= 1 || (slope >= program.judgement.slope / 2.0 && worst >= program.judgement.verdict)
}
