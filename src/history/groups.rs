//! The histories of groups, which continue while members come and go.
//!
//! All groups by program, user, unit, container, cgroup and family always have a history, ready to be shown. A process stores
//! its groups; they are only looked up again when its facts change. A snapshot then costs six sums per process, and one row
//! per group. A family of one process has no group: its history is that of the process.

use std::sync::Arc;
use std::time::Duration;

use crate::group::{GroupBy, GroupNames};
use crate::history::evaluation::EvaluationScheduler;
pub(super) use crate::history::group_table::{GroupDigest, GroupNumbers, GroupPast};
use crate::history::group_table::{GroupSums, GroupTable, NO_GROUP};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::{Missing, Reading};

/// Maximum time to wait until the groups of the first snapshot are complete: reading the facts and memory of all processes
/// takes some ticks.
const MAX_STARTING: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct GroupHistories {
    pub(super) table: GroupTable,
    began_at: Option<Duration>,
    /// The groups of some process of the first snapshot are not known yet.
    is_starting: bool,
    /// Address spaces shared by several processes, and the groups that count them.
    shared: Vec<(Identity, u32)>,
    pub(super) changed: Changed,
}

impl GroupHistories {
    pub(super) fn new() -> Self {
        Self {
            table: GroupTable::default(),
            began_at: None,
            is_starting: false,
            shared: Vec::new(),
            changed: Changed::new(),
        }
    }

    /// Returns true if the groups of the first snapshot may still be incomplete. Until then every snapshot is pushed whole.
    pub(super) fn may_start(&self, now: Duration) -> bool {
        self.began_at
            .is_none_or(|began| now.saturating_sub(began) < MAX_STARTING)
    }

    /// Starts a snapshot; returns true if it is the first. If it `is_whole`, all processes are added anew. Else only processes
    /// that changed are added, after their previous contribution is [subtracted](Self::subtract).
    pub(super) fn start_snapshot(&mut self, now: Duration, is_whole: bool) -> bool {
        if is_whole {
            self.table.sums.fill(GroupSums::default());
        } else {
            self.table.clear_rates();
        }
        self.shared.clear();
        self.changed.advance();
        self.is_starting = false;
        let is_first = self.began_at.is_none();
        self.began_at.get_or_insert(now);
        is_first
    }

    /// Leaves out a process that is not known yet to be chosen.
    pub(super) fn leave_out(&mut self, membership: &mut Membership) {
        self.is_starting |= membership.is_initial;
        membership.set_counted(None);
    }

    /// Adds a process to its groups. `before` is its contribution that was subtracted. `shared` is an earlier process with the
    /// same address space, if any, and the groups that count its memory.
    #[expect(clippy::too_many_arguments, reason = "parts of one process, borrowed apart")]
    pub(super) fn add(
        &mut self,
        sample: &ProcessSample,
        membership: &mut Membership,
        started_at: Option<Duration>,
        row: &RowHistory,
        names: &GroupNames<'_>,
        shared: Option<(Identity, GroupNumbers)>,
        before: Option<&Contribution>,
    ) {
        self.is_starting |= !membership.update(sample, names, &mut self.table, &mut self.changed);
        let is_pending = sample.walk.is_err_and(|why| why == Missing::Pending);
        let rates = Rates::from(row.change());
        let (mut memory_in, mut waiting_in) = (0, 0);
        for (kind, &number) in membership.groups.iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = &mut self.table.sums[number as usize];
            sums.members += 1;
            sums.pushed += 1;
            if before.is_some_and(|b| b.groups[kind] == number && b.started_at == started_at)
                && sums.started_at == started_at
            {
                sums.starts_lost -= 1;
            }
            sums.add_start(started_at);
            if is_pending && membership.founder & (1 << kind) != 0 {
                waiting_in |= 1 << kind;
                sums.waiting += 1;
            }
            sums.rates.add(&rates);
            sums.add_changes([row.change().pss, row.change().swap]);
            // If the read failed, the last known memory counts. Otherwise a late walk would look like freed memory.
            let Some(memory) = row.known() else { continue };
            sums.known += 1;
            // An address space that members share counts once.
            if let Some((space, counted_in)) = &shared {
                if counted_in[kind] == number || self.shared.contains(&(*space, number)) {
                    continue;
                }
                self.shared.push((*space, number));
            }
            memory_in |= 1 << kind;
            for (sum, figure) in sums.memory.iter_mut().zip(memory.figures()) {
                *sum += u128::from(figure);
            }
        }
        membership.set_counted(Some([memory_in, waiting_in]));
    }

    /// Subtracts a process from the sums, before it is [added](Self::add) again or has ended.
    pub(super) fn subtract(&mut self, contribution: &Contribution) {
        let figures = contribution.memory.map(|memory| memory.figures());
        for (kind, &number) in contribution.groups.iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = &mut self.table.sums[number as usize];
            sums.is_touched = true;
            sums.members -= 1;
            sums.waiting -= u32::from(contribution.waiting_in & (1 << kind) != 0);
            sums.known -= u32::from(figures.is_some());
            // The oldest remaining member may have to be found.
            sums.starts_lost += u32::from(sums.started_at == contribution.started_at);
            if contribution.memory_in & (1 << kind) != 0 {
                for (sum, figure) in sums.memory.iter_mut().zip(figures.unwrap_or_default()) {
                    *sum -= u128::from(figure);
                }
            }
        }
    }

    /// Finds the oldest member of the groups that lost it and need it.
    pub(super) fn find_starts(&mut self, all: impl Iterator<Item = Contribution>) {
        if !self.table.lack_starts() {
            return;
        }
        for part in all {
            for number in part.groups.into_iter().filter(|number| *number != NO_GROUP) {
                self.table.sums[number as usize].add_start(part.started_at);
            }
        }
    }

    /// Finishes a snapshot: pushes the sums of every group, and queues the groups that are due. Unchanged groups have `rested`
    /// up to the snapshot before.
    pub(super) fn finish_snapshot(&mut self, tick: Tick, rested: Clock, scheduler: &mut EvaluationScheduler) {
        let waited = tick.now.saturating_sub(self.began_at.unwrap_or(tick.now));
        let is_starting = self.is_starting && waited < MAX_STARTING;
        self.table.push_sums(tick, is_starting, rested, scheduler);
    }

    /// Returns true if the process is in a family with others.
    pub(super) fn has_family(membership: &Membership) -> bool {
        membership.groups[FAMILY] != NO_GROUP
    }

    /// Returns the number of processes in a group.
    pub(super) fn members(&self, by: GroupBy, name: Option<&[u8]>) -> usize {
        let sums = self.table.sums.get(self.table.find(by, name) as usize);
        sums.map_or(0, |sums| sums.members as usize)
    }

    /// Returns the name of the process's group by command.
    pub(super) fn command(&self, membership: &Membership) -> Option<Arc<[u8]>> {
        let at = GroupBy::OF_PROCESSES.iter().position(|by| *by == GroupBy::Command)?;
        self.table.key(membership.groups[at])?.name
    }
}

/// The index of families in [`GroupBy::OF_PROCESSES`].
const FAMILY: usize = GroupBy::Family as usize;

/// A set of pids that changed in this snapshot or in the one before, and that the families of their children depend on. A
/// child may have a lower pid than its parent, and then precedes it. A bit stands for several pids, as looking up an
/// unchanged family does no harm.
#[derive(Debug)]
pub(super) struct Changed {
    now: Box<[u64; Self::WORDS]>,
    before: Box<[u64; Self::WORDS]>,
}

impl Changed {
    /// 65,536 bits, in 8 KiB: one for each pid on most machines.
    const WORDS: usize = 1024;

    fn new() -> Self {
        Self {
            now: Box::new([0; Self::WORDS]),
            before: Box::new([0; Self::WORDS]),
        }
    }

    /// Starts a snapshot.
    fn advance(&mut self) {
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

/// What one process contributes to the sums of its groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contribution {
    pub(super) groups: GroupNumbers,
    pub(super) started_at: Option<Duration>,
    pub(super) memory: Option<MemorySample>,
    /// A bit per kind of group: the group counts its memory, or waits for its first walk.
    pub(super) memory_in: u8,
    pub(super) waiting_in: u8,
}

/// The groups of one process.
#[derive(Debug)]
pub(super) struct Membership {
    /// `groups` is up to date with its facts.
    pub(super) is_found: bool,
    ppid: u32,
    /// The name of its group depends on its parent, which has the facts `parent`.
    depends_on_parent: bool,
    parent: Option<Arc<Facts>>,
    /// In the order of [`GroupBy::OF_PROCESSES`].
    pub(super) groups: GroupNumbers,
    /// A bit per kind of group: the group began with this process.
    founder: u8,
    /// The process was there when the history began.
    is_initial: bool,
    /// Its groups count it. The bits are those of [`Contribution`].
    is_counted: bool,
    memory_in: u8,
    waiting_in: u8,
}

impl Membership {
    pub(super) const NONE: GroupNumbers = [NO_GROUP; GroupBy::OF_PROCESSES.len()];

    pub(super) const fn new(is_initial: bool) -> Self {
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

    /// Returns the contribution of the process, with its last known `memory`; `None` if it is not counted.
    pub(super) fn contribution(
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

    /// Sets `memory_in` and `waiting_in`; `None` if it is not counted.
    pub(super) fn set_counted(&mut self, bits: Option<[u8; 2]>) {
        self.is_counted = bits.is_some();
        [self.memory_in, self.waiting_in] = bits.unwrap_or_default();
    }

    /// Returns true if its groups may have changed, as its parent or its facts did.
    pub(super) fn is_outdated(&self, sample: &ProcessSample) -> bool {
        !self.is_found || self.ppid != sample.stat.ppid
    }

    /// Looks up its groups if they may have changed. Returns false if it is of the first snapshot and a group is not known yet.
    pub(super) fn update(
        &mut self,
        sample: &ProcessSample,
        names: &GroupNames<'_>,
        table: &mut GroupTable,
        changed: &mut Changed,
    ) -> bool {
        let is_same = !self.is_outdated(sample);
        let is_moved = changed.contains(self.ppid) || changed.contains(sample.id.pid);
        if !is_same || is_moved || !self.is_parent_same(sample, names) {
            let before = self.groups[FAMILY];
            self.look_up(sample, names, table, changed);
            if !is_same || self.groups[FAMILY] != before {
                changed.insert(sample.id.pid);
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

/// Returns the family of a process, or none if it is alone. When a second process makes a family, its head is put into `changed`,
/// and joins with the next snapshot.
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

/// Returns true if the facts that the group depends on are not pending. The command line is read last.
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
        GroupBy::Siblings | GroupBy::Mapping => false,
    }
}
