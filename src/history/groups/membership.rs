//! The groups of one process, and what it contributes to them.

use std::sync::Arc;
use std::time::Duration;

use super::{GroupHistories, GroupNumbers, NO_GROUP};
use crate::group::{GroupBy, GroupNames};
use crate::history::row::MemorySample;
use crate::model::process::{Facts, ProcessSample, Stat};
use crate::model::reading::{Missing, Reading};

/// The index of families in [`GroupBy::OF_PROCESSES`].
pub(super) const FAMILY: usize = GroupBy::Family as usize;

/// A set of pids that changed in this snapshot or in the one before, and that the families of their children depend on. A
/// child may have a lower pid than its parent, and then precedes it. A bit stands for several pids, as looking up an
/// unchanged family does no harm.
#[derive(Debug)]
pub(in crate::history) struct Changed {
    now: Box<[u64; Self::WORDS]>,
    before: Box<[u64; Self::WORDS]>,
}

impl Default for Changed {
    fn default() -> Self {
        Self {
            now: Box::new([0; Self::WORDS]),
            before: Box::new([0; Self::WORDS]),
        }
    }
}

impl Changed {
    /// 65,536 bits, in 8 KiB: one for each pid on most machines.
    const WORDS: usize = 1024;

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

    /// Returns the indices of the processes whose families may change in the next snapshot: the processes that changed in the
    /// last snapshot or are in `changes`, the heads of their families, and all their descendants.
    pub(in crate::history) fn affected(&self, rows: &[ProcessSample], changes: impl Iterator<Item = u32>) -> Vec<u32> {
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
        // Most parents precede their children, so one pass finds nearly all.
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for (row, at) in rows.iter().zip(0..) {
                let is_affected = affected.contains(row.id.pid) || affected.contains(row.stat.ppid);
                if is_affected && !std::mem::replace(&mut is_found[at as usize], true) {
                    affected.insert(row.id.pid);
                    if let Some(head) = names.head_of(row) {
                        affected.insert(head.id.pid);
                    }
                    places.push(at);
                    grows = true;
                }
            }
        }
        places
    }
}

/// The contribution of one process to the sums of its groups.
#[derive(Clone, Copy, Debug)]
pub(in crate::history) struct Contribution {
    pub(in crate::history) groups: GroupNumbers,
    pub(in crate::history) started_at: Option<Duration>,
    pub(in crate::history) memory: Option<MemorySample>,
    /// A bit per kind of group: the group counts its memory, or waits for its first walk.
    pub(in crate::history) memory_in: u8,
    pub(in crate::history) waiting_in: u8,
    pub(in crate::history) kin: Kin,
}

/// The state of the parent of a process. One byte, as there is one per process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::history) enum Kin {
    #[default]
    Child,
    /// Its parent is gone: see [`Membership::follow_parent`].
    Orphan,
    /// It has ended, and waits to be reaped.
    Zombie,
}

/// The time after its start in which a process that leads a session may leave its parent by itself, as a daemon does.
const DAEMONIZING: Duration = Duration::from_secs(10);

/// The groups of one process.
#[derive(Debug)]
pub(in crate::history) struct Membership {
    /// `groups` is up to date with its facts.
    pub(in crate::history) is_found: bool,
    /// Its parent in the last snapshot; 0 if unknown.
    ppid: u32,
    pub(in crate::history) kin: Kin,
    /// The name of its group depends on its parent, which has the facts `parent`.
    depends_on_parent: bool,
    parent: Option<Arc<Facts>>,
    /// In the order of [`GroupBy::OF_PROCESSES`].
    pub(in crate::history) groups: GroupNumbers,
    /// A bit per kind of group: the group began with this process.
    pub(super) founder: u8,
    /// The process was there when the history began.
    pub(in crate::history) is_initial: bool,
    /// Its groups count it. The bits are defined in [`Contribution`].
    pub(in crate::history) is_counted: bool,
    pub(in crate::history) memory_in: u8,
    pub(in crate::history) waiting_in: u8,
}

impl Membership {
    pub(in crate::history) const NONE: GroupNumbers = [NO_GROUP; GroupBy::OF_PROCESSES.len()];

    pub(in crate::history) const fn new(is_initial: bool) -> Self {
        Self {
            is_found: false,
            ppid: 0,
            kin: Kin::Child,
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

    /// Sets `memory_in` and `waiting_in`; `None` if it is not counted.
    pub(in crate::history) fn set_counted(&mut self, bits: Option<[u8; 2]>) {
        self.is_counted = bits.is_some();
        [self.memory_in, self.waiting_in] = bits.unwrap_or_default();
    }

    /// Returns true if its groups may have changed, as its parent or its facts did.
    pub(in crate::history) fn is_outdated(&self, sample: &ProcessSample) -> bool {
        !self.is_found || self.ppid != sample.stat.ppid
    }

    /// Determines whether its parent is gone. There are two cases:
    /// - It had another parent in an earlier snapshot. A process that leads a session may have left its parent by itself
    ///   soon after its start: then it is a daemon.
    /// - Its session is not its parent's, and it leads none. A process inherits its session, so its parent was another
    ///   one. This also finds orphans from before the start of zmtop. A supervisor, such as `containerd-shim`,
    ///   leaves its parent on purpose.
    ///
    /// A child of an init leads its own session, so it is not one. Must be called before [`Self::update`].
    pub(in crate::history) fn follow_parent(
        &mut self,
        sample: &ProcessSample,
        names: &GroupNames<'_>,
        started_at: Option<Duration>,
        now: Duration,
    ) {
        let stat = &sample.stat;
        if stat.is_zombie() {
            self.kin = Kin::Zombie;
            return;
        }
        if stat.state == Stat::UNKNOWN_STATE {
            return;
        }
        let is_moved = self.ppid != 0 && self.ppid != stat.ppid;
        // Without another parent, its session only changes to one that it leads.
        if self.ppid != 0 && !is_moved {
            return;
        }
        let is_leader = stat.session == sample.id.pid;
        let is_young = started_at.is_none_or(|started| now.saturating_sub(started) < DAEMONIZING);
        let parent = names.find(stat.ppid).filter(|parent| !parent.stat.is_kernel_thread());
        let is_adopted = !is_leader
            && stat.session != 0
            && parent.is_some_and(|parent| parent.stat.session != stat.session)
            && !names.is_launcher(sample);
        if is_adopted || is_moved && !(is_leader && is_young) {
            self.kin = Kin::Orphan;
        }
    }

    /// Looks up its groups if they may have changed. Returns false if it is of the first snapshot and a group is not known yet.
    pub(in crate::history) fn update(
        &mut self,
        sample: &ProcessSample,
        names: &GroupNames<'_>,
        groups: &mut GroupHistories,
    ) -> bool {
        let is_same = !self.is_outdated(sample);
        let is_moved = groups.changed.contains(self.ppid) || groups.changed.contains(sample.id.pid);
        if !is_same || is_moved || !self.is_parent_same(sample, names) {
            let before = self.groups[FAMILY];
            self.look_up(sample, names, groups);
            if !is_same || self.groups[FAMILY] != before {
                groups.changed.insert(sample.id.pid);
            }
        }
        // A family of one has no group.
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

    fn look_up(&mut self, sample: &ProcessSample, names: &GroupNames<'_>, groups: &mut GroupHistories) {
        self.is_found = true;
        self.ppid = sample.stat.ppid;
        self.depends_on_parent = names.depends_on_parent(sample);
        let parent = names.find(sample.stat.ppid).filter(|_| self.depends_on_parent);
        self.parent = parent.map(|parent| Arc::clone(&parent.facts));
        for (kind, by) in GroupBy::OF_PROCESSES.into_iter().enumerate() {
            let before = self.groups[kind];
            self.groups[kind] = if by == GroupBy::Family {
                family(sample, names, groups)
            } else if is_known(&sample.facts, by) {
                groups.find_or_insert(by, names.name_of(sample, by).as_deref())
            } else {
                NO_GROUP
            };
            if self.groups[kind] != before {
                groups.moved_out_of(before);
            }
            if self.groups[kind] != before && self.groups[kind] != NO_GROUP {
                let is_founder = groups.is_new(self.groups[kind]) || self.is_initial;
                self.founder = (self.founder & !(1 << kind)) | (u8::from(is_founder) << kind);
            }
        }
    }
}

/// Returns the family of a process, or none if it is alone. When a second process makes a family, its head is put into `changed`,
/// and joins with the next snapshot.
fn family(sample: &ProcessSample, names: &GroupNames<'_>, groups: &mut GroupHistories) -> u32 {
    let is_known = |of: &ProcessSample| is_known(&of.facts, GroupBy::Family);
    let Some(head) = names.head_of(sample).filter(|head| is_known(head) && is_known(sample)) else {
        return NO_GROUP;
    };
    let name = names.name_of(sample, GroupBy::Family);
    if head.id == sample.id {
        return groups.find(GroupBy::Family, name.as_deref());
    }
    let number = groups.find_or_insert(GroupBy::Family, name.as_deref());
    if number != NO_GROUP && groups.is_new(number) {
        groups.changed.insert(head.id.pid);
    }
    number
}

/// Returns true if the facts that the group depends on are not pending. The command line is read last.
fn is_known(facts: &Facts, by: GroupBy) -> bool {
    fn is_read<T>(fact: &Reading<T>) -> bool {
        !matches!(fact, Err(Missing::Pending))
    }
    match by {
        GroupBy::Family if facts.host.is_some() => false,
        GroupBy::Command | GroupBy::Family => is_read(&facts.cmdline),
        GroupBy::User => is_read(&facts.user),
        GroupBy::Unit | GroupBy::Cgroup => is_read(&facts.cgroup),
        GroupBy::Container | GroupBy::Pod => {
            let is_pending = facts.container.as_ref().is_some_and(|container| container.is_pending());
            is_read(&facts.cgroup) && !is_pending
        }
        GroupBy::Host => facts.host.is_some(),
        GroupBy::Siblings | GroupBy::Mapping => false,
    }
}
