//! Counts the page faults of groups, so that the sums go on while processes come and go.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::model::{Identity, ProcessSample, Snapshot};

/// Page faults of a process or of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) minor: u64,
    pub(super) major: u64,
}

impl Faults {
    fn add(&mut self, more: Self) {
        self.minor += more.minor;
        self.major += more.major;
    }
}

/// The page faults of every group since its first process was seen.
#[derive(Debug)]
pub(super) struct FaultCounters {
    by: GroupBy,
    /// The counters of each process when it was last seen.
    processes: HashMap<Identity, Faults>,
    /// The sums of each group, by its name.
    groups: HashMap<Arc<[u8]>, Faults>,
    /// The sum of the processes that are in no group.
    ungrouped: Faults,
    /// The tick of the last snapshot that could list processes.
    tick: Option<u64>,
    /// The number of snapshots taken in.
    pushed: u64,
}

impl FaultCounters {
    /// Snapshots between two looks for groups that have ended. Until then their counters go on if they come back.
    const CLEAN_UP_INTERVAL: u64 = 600;

    pub(super) fn new(by: GroupBy) -> Self {
        Self {
            by,
            processes: HashMap::new(),
            groups: HashMap::new(),
            ungrouped: Faults::default(),
            tick: None,
            pushed: 0,
        }
    }

    /// Takes in a snapshot. A process counts from the first time that it is seen.
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let Ok(rows) = &snapshot.processes else { return };
        let names = GroupNames::new(rows);
        let changes = self.tick.and_then(|tick| snapshot.changes_since(tick));
        if let Some(changes) = changes {
            for sample in changes.rows.iter().filter_map(|at| rows.get(*at as usize)) {
                self.count(sample, &names);
            }
            for id in &changes.removed {
                self.processes.remove(id);
            }
        } else {
            for sample in rows {
                self.count(sample, &names);
            }
            self.processes.retain(|id, _| snapshot.place(*id).is_some());
        }
        self.tick = Some(snapshot.tick);
        self.pushed += 1;
        if self.pushed.is_multiple_of(Self::CLEAN_UP_INTERVAL) {
            let living: HashSet<_> = rows.iter().filter_map(|row| names.name_of(row, self.by)).collect();
            self.groups.retain(|name, _| living.contains(&**name));
        }
    }

    fn count<'a>(&mut self, sample: &'a ProcessSample, names: &GroupNames<'a>) {
        if sample.stat.is_kernel_thread() {
            return;
        }
        let now = Faults {
            minor: sample.stat.minflt,
            major: sample.stat.majflt,
        };
        let before = self.processes.insert(sample.id, now).unwrap_or(now);
        let more = Faults {
            minor: now.minor.saturating_sub(before.minor),
            major: now.major.saturating_sub(before.major),
        };
        if more == Faults::default() {
            return;
        }
        match names.name_of(sample, self.by) {
            None => self.ungrouped.add(more),
            Some(name) => match self.groups.get_mut(&*name) {
                Some(sum) => sum.add(more),
                None => {
                    self.groups.insert(name.as_ref().into(), more);
                }
            },
        }
    }

    /// Returns the sums of a group.
    pub(super) fn of(&self, key: &GroupKey) -> Faults {
        match &key.name {
            Some(name) => self.groups.get(name).copied().unwrap_or_default(),
            None => self.ungrouped,
        }
    }
}
