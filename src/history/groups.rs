//! The histories of groups, which go on while their members come and go.
//!
//! Every group by program, user, unit, container, cgroup and family has a history at all times, so that it is there
//! when somebody looks. A process remembers its groups; they are looked up again only where its facts change. A snapshot
//! then costs six sums for each process, and one row for each group. A family of one process has none: its history is
//! the process's.

use std::sync::Arc;
use std::time::Duration;

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::history::evaluation::EvaluationScheduler;
pub(super) use crate::history::group_table::{GroupDigest, GroupNumbers, GroupPast};
use crate::history::group_table::{GroupTable, NO_GROUP};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::{Missing, Reading};

/// Maximum time that the processes of the first snapshot are waited for, until their groups are complete: reading all
/// their facts and memory takes some ticks.
const MAX_STARTING: Duration = Duration::from_secs(30);

/// The histories of all groups.
#[derive(Debug)]
pub(super) struct GroupHistories {
    pub(super) table: GroupTable,
    /// When the history began.
    began_at: Option<Duration>,
    /// Some process of the first snapshot is not known well enough yet to be in its groups.
    is_starting: bool,
    /// Address spaces with more than one process, and the groups they are counted in.
    shared: Vec<(Identity, u32)>,
    changed: Changed,
}

impl GroupHistories {
    /// Creates an empty set.
    pub(super) fn new() -> Self {
        Self {
            table: GroupTable::default(),
            began_at: None,
            is_starting: false,
            shared: Vec::new(),
            changed: Changed::new(),
        }
    }

    /// Returns the places of the processes whose families may change in the snapshot that comes next, where those of these
    /// pids are other ones or have other facts.
    pub(super) fn affected(&self, rows: &[ProcessSample], changed: impl Iterator<Item = u32>) -> Vec<u32> {
        self.changed.affected(rows, changed)
    }

    /// Returns true if some process of the first snapshot may still be waited for: until then each is looked at in every
    /// snapshot.
    pub(super) fn may_start(&self, now: Duration) -> bool {
        self.began_at
            .is_none_or(|began| now.saturating_sub(began) < MAX_STARTING)
    }

    /// Starts a snapshot; returns true if it is the first. If it `is_whole`, every process is added anew; else only those
    /// that changed are, and what they contributed is [subtracted](Self::subtract) before.
    pub(super) fn start_snapshot(&mut self, now: Duration, is_whole: bool) -> bool {
        if is_whole {
            self.table.clear_sums();
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

    /// Leaves out a process of which it cannot be told yet if it is in any group.
    pub(super) fn leave_out(&mut self, membership: &mut Membership) {
        self.is_starting |= membership.is_initial();
        membership.set_counted(None);
    }

    /// Counts a process in its groups. `before` was subtracted of it; `shared` is the process whose address space it
    /// shares, if it shares one, and the groups that one is counted in.
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
        for (kind, &number) in membership.groups().iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = self.table.sums(number);
            sums.members += 1;
            sums.pushed += 1;
            if before.is_some_and(|b| b.groups[kind] == number && b.started_at == started_at)
                && sums.started_at == started_at
            {
                sums.starts_lost -= 1;
            }
            sums.add_start(started_at);
            if is_pending && membership.is_founder(kind) {
                waiting_in |= 1 << kind;
                sums.waiting += 1;
            }
            sums.rates.add(&rates);
            sums.add_changes([row.change().pss, row.change().swap]);
            // The last known, where the read failed this time: else a late walk would look like freed memory.
            let Some(memory) = row.known() else { continue };
            sums.known += 1;
            // An address space that several members have counts once.
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

    /// Takes a process out of the sums, which may be [added](Self::add) anew then.
    pub(super) fn subtract(&mut self, contribution: &Contribution) {
        let figures = contribution.memory.map(|memory| memory.figures());
        for (kind, &number) in contribution.groups.iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = self.table.sums(number);
            sums.is_touched = true;
            sums.members -= 1;
            sums.waiting -= u32::from(contribution.waiting_in & (1 << kind) != 0);
            sums.known -= u32::from(figures.is_some());
            // The oldest of the others may have to be looked for.
            sums.starts_lost += u32::from(sums.started_at == contribution.started_at);
            if contribution.memory_in & (1 << kind) != 0 {
                for (sum, figure) in sums.memory.iter_mut().zip(figures.unwrap_or_default()) {
                    *sum -= u128::from(figure);
                }
            }
        }
    }

    /// Finds the start of the oldest process of the groups that need it and may have lost theirs.
    pub(super) fn find_starts(&mut self, all: impl Iterator<Item = Contribution>) {
        if !self.table.lack_starts() {
            return;
        }
        for part in all {
            for number in part.groups.into_iter().filter(|number| *number != NO_GROUP) {
                self.table.sums(number).add_start(part.started_at);
            }
        }
    }

    /// Finishes a snapshot: every group takes in its sums, and queues up to be judged if due.
    /// Those at which nothing changed have `rested` up to the snapshot before.
    pub(super) fn finish_snapshot(&mut self, tick: Tick, rested: Clock, scheduler: &mut EvaluationScheduler) {
        let waited = tick.now.saturating_sub(self.began_at.unwrap_or(tick.now));
        let is_starting = self.is_starting && waited < MAX_STARTING;
        self.table.push_sums(tick, is_starting, rested, scheduler);
    }

    /// Returns true if the process is in a family with others.
    pub(super) fn has_family(membership: &Membership) -> bool {
        membership.groups()[GroupBy::Family as usize] != NO_GROUP
    }

    /// Returns how many processes a group has.
    pub(super) fn members(&self, by: GroupBy, name: Option<&[u8]>) -> usize {
        self.table.members(self.table.find(by, name)) as usize
    }

    /// Returns the name of the group by command that a process is in.
    pub(super) fn command(&self, membership: &Membership) -> Option<Arc<[u8]>> {
        let at = GroupBy::OF_PROCESSES.iter().position(|by| *by == GroupBy::Command)?;
        self.key(membership.groups()[at])?.name
    }

    /// Returns the number of a group.
    pub(super) fn number(&self, key: &GroupKey) -> Option<u32> {
        Some(self.table.find(key.by, key.name.as_deref())).filter(|number| *number != NO_GROUP)
    }

    /// Returns the group of that number.
    pub(super) fn key(&self, number: u32) -> Option<GroupKey> {
        self.table.key(number)
    }
}

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
pub(super) struct Contribution {
    pub(super) groups: GroupNumbers,
    pub(super) started_at: Option<Duration>,
    pub(super) memory: Option<MemorySample>,
    /// A bit for each kind of group: its memory counts there, and the group waits for its first walk.
    pub(super) memory_in: u8,
    pub(super) waiting_in: u8,
}

/// The groups of one process.
#[derive(Debug)]
pub(super) struct Membership {
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

    /// Returns what the process contributes to its groups, `memory` being its figures last known; `None` where it is not
    /// counted.
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

    /// Sets where it is counted; `None` for nowhere.
    pub(super) fn set_counted(&mut self, bits: Option<[u8; 2]>) {
        self.is_counted = bits.is_some();
        [self.memory_in, self.waiting_in] = bits.unwrap_or_default();
    }

    /// Returns true if its groups, found before, are those of another parent or other facts than this sample has.
    pub(super) fn is_outdated(&self, sample: &ProcessSample) -> bool {
        !self.is_found || self.ppid != sample.stat.ppid
    }

    /// Returns true if the process was there when the history began.
    pub(super) const fn is_initial(&self) -> bool {
        self.is_initial
    }

    /// Returns its groups, in the order of [`GroupBy::OF_PROCESSES`].
    pub(super) const fn groups(&self) -> &GroupNumbers {
        &self.groups
    }

    /// Notes that the facts changed.
    pub(super) const fn mark_changed(&mut self) {
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
        GroupBy::Siblings | GroupBy::Mapping => false,
    }
}
