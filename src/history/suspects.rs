//! Who leaks: the suspects, worst first.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom;
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::{History, RowHistory};
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;
use crate::trend::{Judgement, Verdict};

/// Somebody whose footprint grows, or does what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The process, or the group, whose members may come and go.
    pub key: RowKey,
    /// The names of the process, also after it ended; `None` for a group.
    pub facts: Option<Arc<Facts>>,
    /// The name of its program, raw: as in groups by command; of a group, its own.
    pub command: Option<Arc<[u8]>>,
    /// How many processes the group has; 1 for a process.
    pub count: usize,
    /// What was judged.
    pub judgement: Judgement,
    /// The footprint it was judged on, in bytes: the newest.
    pub footprint: u64,
    /// Seconds until it reaches the nearest wall at this pace; `None` where it does not go on, or no wall is known.
    pub eta: Option<f64>,
    /// When it ended, on the monotonic clock.
    pub ended: Option<Duration>,
    /// How many processes of that program ended like this, this one, the last, included; 0 while it lives.
    pub times: usize,
}

/// Who is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectQuery {
    /// The least alarming verdict.
    pub least: Verdict,
    /// Groups of this kind alone. `None` asks for processes, those that ended too, and for programs whose
    /// growth is not that of some of its processes: of those that come and go.
    pub by: Option<GroupBy>,
}

impl SuspectQuery {
    /// What grows or leaks.
    pub const GROWING: Self = Self {
        least: Verdict::Growing,
        by: None,
    };
}

/// The suspects in a history whose last snapshot this is: leaks first, the living before the ended, the fastest
/// first. Of the processes of a program that ended as suspects the last stands for all.
pub fn suspects(history: &History, snapshot: &Snapshot, ask: SuspectQuery) -> Vec<Suspect> {
    let mut found = Vec::new();
    if let Some(by) = ask.by {
        groups(history, snapshot, by, ask.least, &mut found);
    } else {
        living(history, snapshot, ask.least, &mut found);
        ended(history, ask.least, &mut found);
        let mut programs = Vec::new();
        groups(history, snapshot, GroupBy::Command, ask.least, &mut programs);
        programs.retain(|program| !is_explained(program, &found));
        found.extend(programs);
    }
    found.sort_by(|a, b| {
        let rank = |s: &Suspect| (s.judgement.verdict, s.ended.is_none());
        let slopes = b
            .judgement
            .slope
            .partial_cmp(&a.judgement.slope)
            .unwrap_or(Ordering::Equal);
        rank(b).cmp(&rank(a)).then(slopes)
    });
    found
}

/// Whether it is to be told of.
fn grows(series: &RowHistory, least: Verdict) -> bool {
    let judged = series.trend();
    judged.verdict != Verdict::Unknown && judged.verdict >= least
}

fn living(history: &History, snapshot: &Snapshot, least: Verdict, found: &mut Vec<Suspect>) {
    let rows = snapshot.rows();
    for (id, series) in history.processes().filter(|(_, series)| grows(series, least)) {
        let Ok(at) = rows.binary_search_by_key(&id.pid, |sample| sample.id.pid) else {
            continue;
        };
        let sample = &rows[at];
        // One address space is told of once.
        if sample.id != id || sample.shares_mm.is_some() {
            continue;
        }
        let cgroup = sample.facts.cgroup.as_deref().ok();
        found.push(Suspect {
            key: RowKey::Process(id),
            facts: Some(Arc::clone(&sample.facts)),
            command: history.command(id),
            count: 1,
            judgement: *series.trend(),
            footprint: newest(series),
            eta: series.trend().eta(headroom::headroom(snapshot, cgroup)),
            ended: None,
            times: 0,
        });
    }
}

fn newest(series: &RowHistory) -> u64 {
    series.footprint_series().newest().map_or(0, |(_, bytes)| bytes)
}

fn ended(history: &History, least: Verdict, found: &mut Vec<Suspect>) {
    let mut programs: HashMap<&[u8], usize> = HashMap::new();
    for gone in history.all_ended().filter(|gone| grows(&gone.series, least)) {
        let name = gone.command.as_deref().unwrap_or(&gone.facts.comm);
        if let Some(at) = programs.get(name) {
            let last: &mut Suspect = &mut found[*at];
            last.times += 1;
            continue;
        }
        programs.insert(name, found.len());
        found.push(Suspect {
            key: RowKey::Process(gone.id),
            facts: Some(Arc::clone(&gone.facts)),
            command: gone.command.clone(),
            count: 1,
            judgement: *gone.series.trend(),
            footprint: newest(&gone.series),
            eta: None,
            ended: Some(gone.at),
            times: 1,
        });
    }
}

fn groups(history: &History, snapshot: &Snapshot, by: GroupBy, least: Verdict, found: &mut Vec<Suspect>) {
    let from = found.len();
    for (name, series) in history.groups_by(by).filter(|(_, series)| grows(series, least)) {
        found.push(Suspect {
            command: name.cloned(),
            key: RowKey::Group(GroupKey {
                by,
                name: name.cloned(),
            }),
            facts: None,
            count: 0,
            judgement: *series.trend(),
            footprint: newest(series),
            eta: None,
            ended: None,
            times: 0,
        });
    }
    let places: HashMap<Option<Arc<[u8]>>, usize> =
        (from..found.len()).map(|at| (found[at].command.clone(), at)).collect();
    if places.is_empty() {
        return;
    }
    let names = GroupNames::new(snapshot.rows());
    // The one cgroup of all members, as far as they are in one.
    let mut cgroups: HashMap<usize, Option<&[u8]>> = HashMap::new();
    for sample in snapshot.rows().iter().filter(|sample| !sample.stat.is_kernel_thread()) {
        let Some(at) = places.get(&names.name_of(sample, by).map(Arc::from)) else {
            continue;
        };
        found[*at].count += 1;
        let own = sample.facts.cgroup.as_deref().ok();
        let all = cgroups.entry(*at).or_insert(own);
        if *all != own {
            *all = None;
        }
    }
    for (at, suspect) in found.iter_mut().enumerate().skip(from) {
        let own = cgroups.get(&at).copied().flatten();
        let cgroup = if by == GroupBy::Cgroup {
            suspect.command.as_deref()
        } else {
            own
        };
        suspect.eta = suspect.judgement.eta(headroom::headroom(snapshot, cgroup));
    }
}

/// Whether the growth of a program is that of its processes, who are told of themselves.
fn is_explained(program: &Suspect, found: &[Suspect]) -> bool {
    let own = found
        .iter()
        .filter(|s| s.ended.is_none() && s.command == program.command);
    let (slope, worst) = own.fold((0.0, Verdict::Unknown), |(slope, worst), s| {
        (slope + s.judgement.slope, worst.max(s.judgement.verdict))
    });
    // A leak is not explained by what only grows.
    program.count <= 1 || (slope >= program.judgement.slope / 2.0 && worst >= program.judgement.verdict)
}

/// A process that ended as a filter can ask about it: by its words. Nothing is known of its figures any more.
pub fn ended_sample(id: Identity, facts: &Arc<Facts>) -> ProcessSample {
    ProcessSample::unread(id, Arc::clone(facts), Missing::Gone)
}
