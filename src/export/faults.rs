//! Counts the page faults of groups, so that the sums go on while processes come and go.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::model::{Identity, Snapshot};

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
    /// The counters of each process when it was last seen, and the number of that snapshot.
    processes: HashMap<Identity, (Faults, u64)>,
    /// The sums of each group, by its name.
    groups: HashMap<Arc<[u8]>, Faults>,
    /// The sum of the processes that are in no group.
    ungrouped: Faults,
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
            pushed: 0,
        }
    }

    /// Takes in a snapshot. A process counts from the first time that it is seen.
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let rows = || snapshot.rows().iter().filter(|sample| !sample.stat.is_kernel_thread());
        let names = GroupNames::new(snapshot.rows());
        self.pushed += 1;
        for sample in rows() {
            let now = Faults {
                minor: sample.stat.minflt,
                major: sample.stat.majflt,
            };
            let (before, seen) = self.processes.entry(sample.id).or_insert((now, 0));
            let more = Faults {
                minor: now.minor.saturating_sub(before.minor),
                major: now.major.saturating_sub(before.major),
            };
            (*before, *seen) = (now, self.pushed);
            if more == Faults::default() {
                continue;
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
        if self.processes.len() > snapshot.rows().len() {
            self.processes.retain(|_, (_, seen)| *seen == self.pushed);
        }
        if self.pushed.is_multiple_of(Self::CLEAN_UP_INTERVAL) {
            let living: HashSet<_> = rows().filter_map(|sample| names.name_of(sample, self.by)).collect();
            self.groups.retain(|name, _| living.contains(&**name));
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
