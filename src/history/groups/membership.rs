//! The groups a process is in.

use std::sync::Arc;
use std::time::Duration;

use crate::group::{GroupBy, GroupNames};
use crate::history::figures::MemorySample;
use crate::history::groups::table::{GroupNumbers, GroupTable, NO_GROUP};
use crate::model::process::{Facts, ProcessSample};
use crate::model::reading::{Missing, Reading};

/// The place of families in [`GroupBy::OF_PROCESSES`].
const FAMILY: usize = GroupBy::Family as usize;

/// The pids of processes on which the families of their children depend, and which changed in this snapshot or in the
/// one before: a child may have the lower pid, and comes first then. A bit stands for several pids, as looking up a
/// family that did not change does no harm.
#[derive(Debug)]
pub(super) struct Changed {
    now: Box<[u64; Self::WORDS]>,
    before: Box<[u64; Self::WORDS]>,
}

impl Changed {
    /// As many bits as there are pids on most machines, in 8 KiB.
    const WORDS: usize = 1024;

    pub(super) fn new() -> Self {
        Self {
            now: Box::new([0; Self::WORDS]),
            before: Box::new([0; Self::WORDS]),
        }
    }

    /// Starts a snapshot.
    pub(super) fn advance(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.fill(0);
    }

    const fn place(pid: u32) -> (usize, u64) {
        (pid as usize / 64 % Self::WORDS, 1 << (pid % 64))
    }

    fn contains(&self, pid: u32) -> bool {
        let (word, bit) = Self::place(pid);
        (self.now[word] | self.before[word]) & bit != 0
    }

    fn insert(&mut self, pid: u32) {
        let (word, bit) = Self::place(pid);
        self.now[word] |= bit;
    }

    /// Returns the places of the processes whose families may change in the snapshot that comes next: those on which
    /// others depend that changed in the one before, or which `changes` now, the heads of their families, and all their
    /// descendants.
    pub(super) fn affected(&self, rows: &[ProcessSample], changes: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut affected = Self {
            now: self.now.clone(),
            before: Box::new([0; Self::WORDS]),
        };
        changes.for_each(|pid| affected.insert(pid));
        if affected.now.iter().all(|word| *word == 0) {
            return Vec::new();
        }
        let names = GroupNames::new(rows);
        let mut places = Vec::new();
        let mut is_found = vec![false; rows.len()];
        // In order of pid one pass finds nearly all: most parents come before their children.
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for (row, at) in rows.iter().zip(0..) {
                let is_affected = affected.contains(row.id.pid) || affected.contains(row.stat.ppid);
                if is_affected && !std::mem::replace(&mut is_found[at as usize], true) {
                    affected.insert(row.id.pid);
                    names
                        .head_of(row)
                        .into_iter()
                        .for_each(|head| affected.insert(head.id.pid));
                    places.push(at);
                    grows = true;
                }
            }
        }
        places
    }
}

/// The part of the sums of its groups that is of one process.
#[derive(Clone, Copy, Debug)]
pub(in crate::history) struct Contribution {
    pub(super) groups: GroupNumbers,
    pub(super) started_at: Option<Duration>,
    pub(super) memory: Option<MemorySample>,
    /// A bit for each kind of group: its memory counts there, and the group waits for its first walk.
    pub(super) memory_in: u8,
    pub(super) waiting_in: u8,
}

/// The groups of one process.
#[derive(Debug)]
pub(in crate::history) struct Membership {
    /// Its groups were found by the facts that it has.
    is_found: bool,
    ppid: u32,
    /// Its name depends on its parent, which has the facts `parent`.
    depends_on_parent: bool,
    parent: Option<Arc<Facts>>,
    groups: GroupNumbers,
    /// A bit for each kind of group: the group began with this process.
    founder: u8,
    /// The process was there when the history began.
    is_initial: bool,
    /// It is counted in its groups; in those of the bits its memory is, and its first walk is waited for.
    is_counted: bool,
    memory_in: u8,
    waiting_in: u8,
}

impl Membership {
    /// Counted in no group.
    pub(in crate::history) const NONE: GroupNumbers = [NO_GROUP; GroupBy::OF_PROCESSES.len()];

    pub(in crate::history) const fn new(is_initial: bool) -> Self {
        Self {
            is_found: false,
            ppid: 0,
            depends_on_parent: false,
            parent: None,
            groups: Self::NONE,
            founder: 0,
            is_initial,
            is_counted: false,
            memory_in: 0,
            waiting_in: 0,
        }
    }

    /// Returns what the process contributes to its groups, `memory` being its figures last known; `None` where it is not
    /// counted.
    pub(in crate::history) fn contribution(
        &self,
        started_at: Option<Duration>,
        memory: Option<MemorySample>,
    ) -> Option<Contribution> {
        self.is_counted.then_some(Contribution {
            groups: self.groups,
            started_at,
            memory,
            memory_in: self.memory_in,
            waiting_in: self.waiting_in,
        })
    }

    /// Sets where it is counted; `None` for nowhere.
    pub(super) fn set_counted(&mut self, bits: Option<[u8; 2]>) {
        self.is_counted = bits.is_some();
        [self.memory_in, self.waiting_in] = bits.unwrap_or_default();
    }

    /// Returns true if its groups, found before, are those of another parent or other facts than this sample has.
    pub(in crate::history) fn is_outdated(&self, sample: &ProcessSample) -> bool {
        !self.is_found || self.ppid != sample.stat.ppid
    }

    /// Returns true if the process was there when the history began.
    pub(super) const fn is_initial(&self) -> bool {
        self.is_initial
    }

    /// Returns its groups, in the order of [`GroupBy::OF_PROCESSES`].
    pub(in crate::history) const fn groups(&self) -> &GroupNumbers {
        &self.groups
    }

    /// Notes that the facts changed.
    pub(in crate::history) const fn mark_changed(&mut self) {
        self.is_found = false;
    }

    /// Returns true if its group of that kind began with it.
    pub(super) const fn is_founder(&self, kind: usize) -> bool {
        self.founder & (1 << kind) != 0
    }

    /// Looks up its groups where they may have changed. Returns true if it is in all of them, or came after the history
    /// began.
    pub(super) fn update(
        &mut self,
        sample: &ProcessSample,
        names: &GroupNames<'_>,
        table: &mut GroupTable,
        changed: &mut Changed,
    ) -> bool {
        let is_same = self.is_found && self.ppid == sample.stat.ppid;
        let is_moved = changed.contains(self.ppid) || changed.contains(sample.id.pid);
        if !is_same || is_moved || !self.is_parent_same(sample, names) {
            let before = self.groups[FAMILY];
            self.look_up(sample, names, table, changed);
            if !is_same || self.groups[FAMILY] != before {
                changed.insert(sample.id.pid);
            }
        }
        // A family of one is no group.
        !self.is_initial || !self.groups[..FAMILY].contains(&NO_GROUP)
    }

    fn is_parent_same(&self, sample: &ProcessSample, names: &GroupNames<'_>) -> bool {
        if !self.depends_on_parent {
            return true;
        }
        match (&self.parent, names.find(sample.stat.ppid)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, &now.facts),
            (before, now) => before.is_none() && now.is_none(),
        }
    }

    fn look_up(
        &mut self,
        sample: &ProcessSample,
        names: &GroupNames<'_>,
        table: &mut GroupTable,
        changed: &mut Changed,
    ) {
        self.is_found = true;
        self.ppid = sample.stat.ppid;
        self.depends_on_parent = names.depends_on_parent(sample);
        let parent = names.find(sample.stat.ppid).filter(|_| self.depends_on_parent);
        self.parent = parent.map(|parent| Arc::clone(&parent.facts));
        for (kind, by) in GroupBy::OF_PROCESSES.into_iter().enumerate() {
            let before = self.groups[kind];
            self.groups[kind] = if by == GroupBy::Family {
                family(sample, names, table, changed)
            } else if is_known(&sample.facts, by) {
                table.find_or_insert(by, names.name_of(sample, by).as_deref())
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

/// Returns the family of a process, if it has more than one process: that of a single one is the process itself. The
/// first process of a family that begins is told, and is in it from the next snapshot on.
fn family(sample: &ProcessSample, names: &GroupNames<'_>, table: &mut GroupTable, changed: &mut Changed) -> u32 {
    let is_known = |of: &ProcessSample| is_known(&of.facts, GroupBy::Family);
    let Some(head) = names.head_of(sample).filter(|head| is_known(head) && is_known(sample)) else {
        return NO_GROUP;
    };
    let name = names.name_of(sample, GroupBy::Family);
    if head.id == sample.id {
        return table.find(GroupBy::Family, name.as_deref());
    }
    let number = table.find_or_insert(GroupBy::Family, name.as_deref());
    if number != NO_GROUP && table.is_new(number) {
        changed.insert(head.id.pid);
    }
    number
}

/// Returns true if the facts that the group depends on were read, or cannot be. The command line is read last.
fn is_known(facts: &Facts, by: GroupBy) -> bool {
    fn is_read<T>(fact: &Reading<T>) -> bool {
        !matches!(fact, Err(Missing::Pending))
    }
    match by {
        GroupBy::Family if facts.host.is_some() => false,
        GroupBy::Command | GroupBy::Family => is_read(&facts.cmdline),
        GroupBy::User => is_read(&facts.user),
        GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup => is_read(&facts.cgroup),
        GroupBy::Host => facts.host.is_some(),
        GroupBy::Mapping => false,
    }
}
