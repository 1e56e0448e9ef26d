//! Suspects: what grows or leaks, worst first.

mod fleet;
mod groups;
mod held;
mod parts;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::process_headroom;
use crate::group::{GroupBy, RowKey};
use crate::history::{History, RowHistory};
use crate::model::HeldKind;
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;
use crate::order;
use crate::text;
use crate::trend::{Judgement, Metric, Verdict};
use groups::{add_programs, find_groups};
use parts::find_parts;

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
    /// The number of hosts that a program of a fleet grows on, and of those that it runs on.
    pub hosts: Option<(usize, usize)>,
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
    /// The memory that grows, where the row does not say.
    pub cause: Option<Cause>,
}

/// Columns of the name of a slab cache that are told.
const MAX_NAME: usize = 40;

/// The memory that grows in a row, where it is not its footprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Memory of that kind, held through descriptors.
    Held(HeldKind),
    /// A slab cache, by its raw name.
    Slab(Box<[u8]>),
}

impl Cause {
    /// Returns it in words that are safe to print: `held: memfd`, `slab kmalloc-64`.
    pub fn text(&self) -> String {
        match self {
            Self::Held(kind) => format!("held: {}", kind.id()),
            Self::Slab(name) => format!("slab {}", text::safe_prefix(name, MAX_NAME)),
        }
    }
}

impl Suspect {
    fn new(key: RowKey, command: Option<Arc<[u8]>>, history: &RowHistory) -> Self {
        Self {
            key,
            facts: None,
            command,
            count: 0,
            alike: 0,
            hosts: None,
            judgement: *history.trend(),
            footprint: history.newest_footprint(),
            eta: None,
            ended: None,
            times: 0,
            cause: None,
        }
    }

    /// Returns true if it is what is held through descriptors that grows, and not the footprint: its mappings tell nothing.
    pub const fn is_held(&self) -> bool {
        matches!(self.cause, Some(Cause::Held(_)))
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
/// nearly all of those that live grow, the program does. Of a fleet: the programs that grow on many hosts at once, and what
/// grows on single ones.
pub fn suspects(history: &History, snapshot: &Snapshot, query: SuspectQuery) -> Vec<Suspect> {
    let mut found = Vec::new();
    if let Some(by) = query.by {
        find_groups(history, snapshot, by, query.least, &mut found);
        found.extend(held::groups(history, snapshot, by, query.least));
    } else if snapshot.fleet.is_some() {
        find_living(history, snapshot, query.least, &mut found);
        fleet::find_programs(history, snapshot, &mut found);
    } else {
        find_living(history, snapshot, query.least, &mut found);
        find_ended(history, query.least, &mut found);
        let mut programs = Vec::new();
        find_groups(history, snapshot, GroupBy::Command, query.least, &mut programs);
        add_programs(programs, &mut found);
        let mut held = held::processes(history, snapshot, query.least);
        let programs = held::groups(history, snapshot, GroupBy::Command, query.least);
        add_programs(programs, &mut held);
        find_parts(history, snapshot, query.least, &held, &mut found);
        found.extend(held);
    }
    order::sort_by(&mut found, |a, b| {
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

/// Returns a sample that stands for an ended process in a filter: it has names, and no figures.
pub fn ended_sample(id: Identity, facts: &Arc<Facts>) -> ProcessSample {
    ProcessSample::unread(id, Arc::clone(facts), Missing::Gone)
}
