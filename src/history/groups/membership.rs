//! A process as a member of its groups.

use std::sync::Arc;

use crate::group::{GroupBy, GroupNames};
use crate::history::groups::table::Slots;
use crate::history::row::MemorySample;
use crate::model::process::{Facts, ProcessSample};
use crate::model::reading::{Missing, Reading};

/// In no group.
pub(super) const NOWHERE: u32 = u32::MAX;

const KINDS: usize = GroupBy::OF_PROCESSES.len();

/// Which groups one process is in, and what it last held.
#[derive(Debug)]
pub(in crate::history) struct Member {
    /// The facts that its groups were found by.
    facts: Option<Arc<Facts>>,
    /// Its name hangs on its parent, of which these are the facts.
    asks_parent: bool,
    parent: Option<Arc<Facts>>,
    slots: [u32; KINDS],
    /// Which of the groups it was in when they began, by bit.
    founded: u8,
    /// It was there when the history began.
    starter: bool,
    held: Option<MemorySample>,
}

impl Member {
    /// Counted in no group.
    pub(in crate::history) const UNCOUNTED: [u32; KINDS] = [NOWHERE; KINDS];

    pub(in crate::history) const fn new(starter: bool) -> Self {
        Self {
            facts: None,
            asks_parent: false,
            parent: None,
            slots: Self::UNCOUNTED,
            founded: 0,
            starter,
            held: None,
        }
    }

    /// Its groups, in the order of [`GroupBy::OF_PROCESSES`].
    pub(super) const fn slots(&self) -> &[u32; KINDS] {
        &self.slots
    }

    /// Those of its groups that its memory is counted in: none where that is unknown.
    pub(in crate::history) fn counted(&self) -> [u32; KINDS] {
        self.held.map_or(Self::UNCOUNTED, |_| self.slots)
    }

    /// Whether it was in its group of that kind when the group began.
    pub(super) const fn founded(&self, kind: usize) -> bool {
        self.founded & (1 << kind) != 0
    }

    /// What it holds, or last held where the read failed this time: a walk that is late is no loss. `None`
    /// before the first walk, and where there is no memory.
    pub(super) fn figures(&mut self, sample: &ProcessSample) -> Option<MemorySample> {
        match &sample.walk {
            Ok(walk) => self.held = Some(MemorySample::of(&walk.memory)),
            Err(why) if why.hides_memory() => {}
            Err(_) => self.held = None,
        }
        self.held
    }

    /// Finds its groups, where they may have changed; whether enough is known of it to be in all of them,
    /// or it came after the beginning.
    pub(super) fn place(&mut self, sample: &ProcessSample, names: &GroupNames<'_>, slots: &mut Slots) -> bool {
        if !self.is_settled(sample, names) {
            self.find(sample, names, slots);
        }
        !self.starter || !self.slots.contains(&NOWHERE)
    }

    fn is_settled(&self, sample: &ProcessSample, names: &GroupNames<'_>) -> bool {
        if !self
            .facts
            .as_ref()
            .is_some_and(|facts| Arc::ptr_eq(facts, &sample.facts))
        {
            return false;
        }
        if !self.asks_parent {
            return true;
        }
        match (&self.parent, names.find(sample.stat.ppid)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, &now.facts),
            (before, now) => before.is_none() && now.is_none(),
        }
    }

    fn find(&mut self, sample: &ProcessSample, names: &GroupNames<'_>, slots: &mut Slots) {
        self.facts = Some(Arc::clone(&sample.facts));
        self.asks_parent = names.asks_parent(sample);
        let parent = names.find(sample.stat.ppid).filter(|_| self.asks_parent);
        self.parent = parent.map(|parent| Arc::clone(&parent.facts));
        for (kind, by) in GroupBy::OF_PROCESSES.into_iter().enumerate() {
            let before = self.slots[kind];
            self.slots[kind] = if is_known(&sample.facts, by) {
                slots.find_or_begin(by, names.name_of(sample, by))
            } else {
                NOWHERE
            };
            if self.slots[kind] != before && self.slots[kind] != NOWHERE {
                let founds = slots.is_new(self.slots[kind]) || self.starter;
                self.founded = (self.founded & !(1 << kind)) | (u8::from(founds) << kind);
            }
        }
    }
}

/// Whether the facts that the group hangs on were read, or cannot be. The command line is the last of them.
fn is_known(facts: &Facts, by: GroupBy) -> bool {
    fn read<T>(fact: &Reading<T>) -> bool {
        !matches!(fact, Err(Missing::Pending))
    }
    match by {
        GroupBy::Command => read(&facts.cmdline),
        GroupBy::User => read(&facts.user),
        GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup => read(&facts.cgroup),
        GroupBy::Mapping => false,
    }
}
