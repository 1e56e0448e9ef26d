//! Suspects: what grows or leaks, worst first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::{headroom, machine_headroom, process_headroom};
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::{History, RowHistory};
use crate::model::cgroup::CgroupFigures;
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;
use crate::trend::{Judgement, Metric, Verdict};

/// The number of processes of a program from which on they are told of together, and the share of all of its processes that
/// must grow for that: where a few of many do, it is those that matter.
const MIN_FELLOWS: usize = 3;
const MIN_FELLOWS_SHARE: f64 = 0.75;
/// Multiple of the median pace of those from which on one is told of by itself.
const MAX_FELLOWS_PACE: f64 = 4.0;

/// A process, a group or a part of the RAM with the verdict that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The process, the group, whose members may come and go, or the part of the RAM.
    pub key: RowKey,
    /// The names of the process, also after it ended; `None` for a group.
    pub facts: Option<Arc<Facts>>,
    /// The name of its program, raw: as in groups by command; of a group, its own.
    pub command: Option<Arc<[u8]>>,
    /// The number of processes of the group; 1 for a process, 0 for a part of the RAM.
    pub count: usize,
    /// The number of processes of a program that are told of by its line, as nearly all of them grow; 0 where they are not.
    pub alike: usize,
    /// The judgement.
    pub judgement: Judgement,
    /// Its newest footprint, in bytes.
    pub footprint: u64,
    /// Seconds until it reaches the nearest limit at this pace; `None` where it does not go on, or no limit is known.
    pub eta: Option<f64>,
    /// When it ended, on the monotonic clock.
    pub ended: Option<Duration>,
    /// The number of processes of that program that ended like this, this last one included; 0 while it lives.
    pub times: usize,
}

impl Suspect {
    fn new(key: RowKey, command: Option<Arc<[u8]>>, history: &RowHistory) -> Self {
        Self {
            key,
            facts: None,
            command,
            count: 0,
            alike: 0,
            judgement: *history.trend(),
            footprint: history.newest_footprint(),
            eta: None,
            ended: None,
            times: 0,
        }
    }
}

/// A query for suspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectQuery {
    /// The least alarming verdict.
    pub least: Verdict,
    /// Groups of this kind only. `None` asks for processes, ended ones included, and for programs whose growth is not
    /// that of single processes: those whose workers come and go.
    pub by: Option<GroupBy>,
}

impl SuspectQuery {
    /// Everything that grows or leaks.
    pub const GROWING: Self = Self {
        least: Verdict::Warming,
        by: None,
    };
}

/// Returns the suspects of a history whose last snapshot this is: leaks first, the living before the ended, what is held
/// before pages of files, the fastest first. Of the processes of a program that ended, the last stands for all; where
/// nearly all of those that live grow, the program does.
pub fn suspects(history: &History, snapshot: &Snapshot, query: SuspectQuery) -> Vec<Suspect> {
    let mut found = Vec::new();
    if let Some(by) = query.by {
        find_groups(history, snapshot, by, query.least, &mut found);
    } else {
        find_parts(history, snapshot, query.least, &mut found);
        find_living(history, snapshot, query.least, &mut found);
        find_ended(history, query.least, &mut found);
        let mut programs = Vec::new();
        find_groups(history, snapshot, GroupBy::Command, query.least, &mut programs);
        for program in &mut programs {
            fold_alike(program, &mut found);
        }
        programs.retain(|program| program.alike > 0 || !is_explained(program, &found));
        found.extend(programs);
    }
    found.sort_by(|a, b| {
        let rank = |s: &Suspect| {
            (
                s.judgement.verdict,
                s.ended.is_none(),
                s.judgement.metric != Metric::File,
            )
        };
        let by_slope = b.judgement.slope.total_cmp(&a.judgement.slope);
        rank(b).cmp(&rank(a)).then(by_slope)
    });
    found
}

/// Returns true if the row has a verdict at least that alarming.
fn is_suspect(history: &RowHistory, least: Verdict) -> bool {
    let verdict = history.trend().verdict;
    verdict != Verdict::Unknown && verdict >= least
}

/// Finds the parts of the RAM that may leak. One that only slows down is no news.
fn find_parts(history: &History, snapshot: &Snapshot, least: Verdict, found: &mut Vec<Suspect>) {
    let least = least.max(Verdict::Growing);
    let parts = history.parts().that_may_leak();
    found.extend(
        parts
            .filter(|(_, row)| is_suspect(row, least))
            .map(|(key, row)| Suspect {
                eta: row.trend().eta(machine_headroom(snapshot)),
                ..Suspect::new(RowKey::Part(key), None, row)
            }),
    );
}

fn find_living(history: &History, snapshot: &Snapshot, least: Verdict, found: &mut Vec<Suspect>) {
    let (growing, all) = if least >= Verdict::Warming {
        (Some(history.growing()), None)
    } else {
        (None, Some(history.processes()))
    };
    let listed = growing.into_iter().flatten().chain(all.into_iter().flatten());
    for (id, row) in listed.filter(|(_, row)| is_suspect(row, least)) {
        let Some(sample) = snapshot.row(id) else {
            continue;
        };
        // An address space that several processes share is listed once.
        if sample.shares_mm.is_some_and(|first| history.get(first).is_some()) {
            continue;
        }
        let cgroup = sample.facts.cgroup.as_deref().ok();
        found.push(Suspect {
            facts: Some(Arc::clone(&sample.facts)),
            count: 1,
            eta: row.trend().eta(process_headroom(
                snapshot,
                id,
                row.trend().metric == Metric::LiveSet,
                cgroup,
            )),
            ..Suspect::new(RowKey::Process(id), history.command(id), row)
        });
    }
}

fn find_ended(history: &History, least: Verdict, found: &mut Vec<Suspect>) {
    let mut programs: HashMap<&[u8], usize> = HashMap::new();
    for ended in history.all_ended().filter(|ended| is_suspect(&ended.history, least)) {
        let name = ended.command.as_deref().unwrap_or(&ended.facts.comm);
        if let Some(at) = programs.get(name) {
            let last: &mut Suspect = &mut found[*at];
            last.times += 1;
            continue;
        }
        programs.insert(name, found.len());
        found.push(Suspect {
            facts: Some(Arc::clone(&ended.facts)),
            count: 1,
            ended: Some(ended.at),
            times: 1,
            ..Suspect::new(RowKey::Process(ended.id), ended.command.clone(), &ended.history)
        });
    }
}

fn find_groups(history: &History, snapshot: &Snapshot, by: GroupBy, least: Verdict, found: &mut Vec<Suspect>) {
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
    if found.len() == from {
        return;
    }
    // Where no cgroup has a limit, it is no matter which they are in.
    let has_limit = |figures: &CgroupFigures| matches!(figures.limit, Ok(Some(_)));
    let cgroups = if by != GroupBy::Cgroup && snapshot.cgroups.values().any(has_limit) {
        common_cgroups(history, snapshot, by, &found[from..])
    } else {
        HashMap::new()
    };
    for suspect in &mut found[from..] {
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

/// Returns a sample that stands for an ended process in a filter: it has names, and no figures.
pub fn ended_sample(id: Identity, facts: &Arc<Facts>) -> ProcessSample {
    ProcessSample::unread(id, Arc::clone(facts), Missing::Gone)
}
