//! The groups a process is in.

use std::sync::Arc;

use crate::group::{GroupBy, GroupNames};
use crate::history::groups::table::{GroupNumbers, GroupTable, NO_GROUP};
use crate::history::row::MemorySample;
use crate::model::process::{Facts, ProcessSample};
use crate::model::reading::{Missing, Reading};

/// The groups of one process, and the memory it last had.
#[derive(Debug)]
pub(in crate::history) struct Membership {
    /// The facts that its groups were found by.
    facts: Option<Arc<Facts>>,
    /// Its name depends on its parent, which has the facts `parent`.
    depends_on_parent: bool,
    parent: Option<Arc<Facts>>,
    groups: GroupNumbers,
    /// A bit for each kind of group: the group began with this process.
    founder: u8,
    /// The process was there when the history began.
    is_initial: bool,
    memory: Option<MemorySample>,
}

impl Membership {
    /// Counted in no group.
    pub(in crate::history) const NONE: GroupNumbers = [NO_GROUP; GroupBy::OF_PROCESSES.len()];

    pub(in crate::history) const fn new(is_initial: bool) -> Self {
        Self {
            facts: None,
            depends_on_parent: false,
            parent: None,
            groups: Self::NONE,
            founder: 0,
            is_initial,
            memory: None,
        }
    }

    /// Returns its groups, in the order of [`GroupBy::OF_PROCESSES`].
    pub(super) const fn groups(&self) -> &GroupNumbers {
        &self.groups
    }

    /// Returns the groups that its memory is counted in: none where the memory is unknown.
    pub(in crate::history) fn counted_in(&self) -> GroupNumbers {
        self.memory.map_or(Self::NONE, |_| self.groups)
    }

    /// Returns true if its group of that kind began with it.
    pub(super) const fn is_founder(&self, kind: usize) -> bool {
        self.founder & (1 << kind) != 0
    }

    /// Returns its memory, or the last one known where the read failed this time: else a late walk would look like
    /// freed memory. `None` before the first walk, and where there is no memory.
    pub(super) fn memory(&mut self, sample: &ProcessSample) -> Option<MemorySample> {
        match &sample.walk {
            Ok(walk) => self.memory = Some(MemorySample::new(&walk.memory)),
            Err(why) if why.hides_memory() => {}
            Err(_) => self.memory = None,
        }
        self.memory
    }

    /// Looks up its groups where they may have changed. Returns true if it is in all of them, or came after the history
    /// began.
    pub(super) fn update(&mut self, sample: &ProcessSample, names: &GroupNames<'_>, table: &mut GroupTable) -> bool {
        if !self.is_current(sample, names) {
            self.look_up(sample, names, table);
        }
        !self.is_initial || !self.groups.contains(&NO_GROUP)
    }

    fn is_current(&self, sample: &ProcessSample, names: &GroupNames<'_>) -> bool {
        let is_same = |facts: &Arc<Facts>| Arc::ptr_eq(facts, &sample.facts);
        if !self.facts.as_ref().is_some_and(is_same) {
            return false;
        }
        if !self.depends_on_parent {
            return true;
        }
        match (&self.parent, names.find(sample.stat.ppid)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, &now.facts),
            (before, now) => before.is_none() && now.is_none(),
        }
    }

    fn look_up(&mut self, sample: &ProcessSample, names: &GroupNames<'_>, table: &mut GroupTable) {
        self.facts = Some(Arc::clone(&sample.facts));
        self.depends_on_parent = names.depends_on_parent(sample);
        let parent = names.find(sample.stat.ppid).filter(|_| self.depends_on_parent);
        self.parent = parent.map(|parent| Arc::clone(&parent.facts));
        for (kind, by) in GroupBy::OF_PROCESSES.into_iter().enumerate() {
            let before = self.groups[kind];
            self.groups[kind] = if is_known(&sample.facts, by) {
                table.find_or_insert(by, names.name_of(sample, by))
            } else {
                NO_GROUP
            };
            if self.groups[kind] != before && self.groups[kind] != NO_GROUP {
                let is_founder = table.is_new(self.groups[kind]) || self.is_initial;
                self.founder = (self.founder & !(1 << kind)) | (u8::from(is_founder) << kind);
            }
        }
    }
}

/// Returns true if the facts that the group depends on were read, or cannot be. The command line is read last.
fn is_known(facts: &Facts, by: GroupBy) -> bool {
    fn is_read<T>(fact: &Reading<T>) -> bool {
        !matches!(fact, Err(Missing::Pending))
    }
    match by {
        GroupBy::Command => is_read(&facts.cmdline),
        GroupBy::User => is_read(&facts.user),
        GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup => is_read(&facts.cgroup),
        GroupBy::Mapping => false,
    }
}
