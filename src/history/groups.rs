//! The histories of groups, which continue while members come and go.
//!
//! All groups by program, user, unit, container, pod, cgroup and family always have a history, ready to be shown. A process stores
//! its groups; they are only looked up again when its facts change. A snapshot then costs six sums per process, and one row
//! per group. A family of one process has no group: it uses the history of the process.

mod membership;
mod population;

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use membership::{Changed, FAMILY, Kin};
pub(super) use membership::{Contribution, Membership};
use population::Number;
pub(super) use population::NumberPast;
pub use population::Population;
use serde::{Deserialize, Serialize};

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::history::evaluation::{EvaluationScheduler, MemberCounts, RowNumber};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Missing;

/// Maximum time to wait until the groups of the first snapshot are complete: reading the facts and memory of all processes
/// takes some ticks.
const MAX_STARTING: Duration = Duration::from_secs(30);

/// The sums of one group in one snapshot.
#[derive(Clone, Copy, Debug, Default)]
struct GroupSums {
    members: u32,
    /// The number of members that have not ended: no zombies.
    living: u32,
    /// The number of those whose parent is gone.
    orphans: u32,
    /// The number of members with known memory.
    known: u32,
    /// The number of living members without.
    unread: u32,
    /// The number of initial members that wait for their first walk.
    waiting: u32,
    /// The start of the oldest member.
    started_at: Option<Duration>,
    /// The number of members with that start that were subtracted.
    starts_lost: u32,
    /// The sums of [`MemorySample::figures`]. They must not saturate, as members are subtracted.
    memory: [u128; MemorySample::COUNT],
    /// The rates of the members that were pushed in this snapshot; the others are idle.
    rates: Rates,
    /// The sums of the known changes of PSS and swap.
    changes: [Option<i64>; 2],
    pushed: u32,
    /// A member was added or subtracted in this snapshot.
    is_touched: bool,
}

impl GroupSums {
    fn add_start(&mut self, started_at: Option<Duration>) {
        self.started_at = self.started_at.into_iter().chain(started_at).min();
    }

    fn add_changes(&mut self, changes: [Option<i64>; 2]) {
        for (sum, change) in self.changes.iter_mut().zip(changes) {
            if let Some(change) = change {
                *sum = Some(sum.unwrap_or(0).saturating_add(change));
            }
        }
    }
}

/// The number of no group. An `Option` would double the memory per process.
pub(super) const NO_GROUP: u32 = u32::MAX;

/// The groups of one process, in the order of [`GroupBy::OF_PROCESSES`].
pub(super) type GroupNumbers = [u32; GroupBy::OF_PROCESSES.len()];

/// Maximum number of groups, so that a storm of names does not fill the memory.
const MAX_GROUPS: usize = 10_000;
/// Maximum number of groups without members.
const MAX_EMPTY: usize = 1024;
/// Time for which the memory of a group may seem to have fallen. If a program moves its memory from process to process by fork(2), no
/// listed process has it at times, or one that was not read yet.
const HOLD: Duration = Duration::from_secs(5);
/// Inverse of the minimum share by which memory must fall to be held.
const HELD_SHARE: u64 = 8;
/// Time for which a group without members is kept: a nightly job is recognized even if it is late.
const EMPTY_KEPT: Duration = Duration::from_secs(26 * 3600);

#[derive(Debug)]
struct GroupHistory {
    by: GroupBy,
    name: Option<Arc<[u8]>>,
    row: RowHistory,
    members: MemberCounts,
    /// The number of its living members, if it is a program or a family.
    number: Number,
    /// It began in this snapshot.
    is_new: bool,
    /// The memory of all its initial members was known at least once. Until then its sums grow as walks come in.
    is_complete: bool,
    empty_since: Option<Duration>,
    /// The number of its living processes, and of those that were not read, at the last sums that count.
    counted: [u32; 2],
    /// The last sums were lower, and are no part of its past: see [`HOLD`].
    is_held: bool,
    /// The start of its oldest initial member.
    started_at: Option<Duration>,
}

impl GroupHistory {
    /// Returns true if the sums fell, and may only be incomplete: for [`HOLD`], and in one snapshot at least.
    fn must_hold(&mut self, sums: &GroupSums, footprint: u64, now: Duration) -> bool {
        let last = self.row.newest_footprint();
        let [living, unread] = self.counted;
        // Processes that may not be read are none that were read before.
        let may_lack = sums.unread > unread || sums.living < living;
        let fell = footprint < last - last / HELD_SHARE;
        let since = self.row.footprint_series().newest().map_or(now, |(at, _)| at);
        let is_recent = !self.is_held || now.saturating_sub(since) <= HOLD;
        self.is_held = may_lack && fell && is_recent;
        if !self.is_held {
            self.counted = [sums.living, sums.unread];
        }
        self.is_held
    }

    /// Returns true if it has been empty for [`HOLD`], and in one snapshot before at least.
    fn is_gone(&mut self, now: Duration) -> bool {
        let since = self.empty_since.unwrap_or(now);
        let was_held = std::mem::replace(&mut self.is_held, true);
        self.counted[0] == 0 || was_held && now.saturating_sub(since) >= HOLD
    }

    /// Returns true for the kinds whose number of processes is meaningful: users and units have many programs.
    const fn counts_number(&self) -> bool {
        matches!(self.by, GroupBy::Command | GroupBy::Family)
    }

    fn bytes(&self) -> usize {
        // 40 bytes for the counters of the Arc and the slot in the index.
        let name = self.name.as_ref().map_or(0, |name| name.len() + 40);
        let series = self.row.bytes() + self.members.0.bytes() + self.number.bytes();
        size_of::<Option<Self>>() - size_of::<RowHistory>() - size_of::<MemberCounts>() + series + name
    }
}

/// The saved history of a group.
#[derive(Debug)]
pub(super) struct GroupPast {
    pub(super) row: RowHistory,
    pub(super) members: MemberCounts,
    /// The number of living members, if it ever changed.
    pub(super) number: Option<NumberPast>,
}

/// The kind of a group, and the digest of its name.
pub(super) type GroupDigest = (u8, u64);

/// The secret key of the digests. Any user can name a program, and without a key could find a name with the digest of another.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct DigestKey([u64; 2]);

impl Default for DigestKey {
    /// Returns a random key.
    fn default() -> Self {
        let random = RandomState::new();
        Self([0_u64, 1].map(|half| random.hash_one(half)))
    }
}

impl DigestKey {
    /// Returns the digest that a group is saved by, which does not contain its name.
    fn digest(self, by: GroupBy, name: Option<&[u8]>) -> GroupDigest {
        let kind = kind(by).map_or(u8::MAX, |kind| kind as u8);
        // The algorithm may change with the compiler. Then a version that is built anew finds no saved group.
        let mut hasher = DefaultHasher::new();
        (self.0, name).hash(&mut hasher);
        (kind, hasher.finish())
    }
}

/// The numbers of the groups of one kind, by name.
#[derive(Debug, Default)]
struct Index {
    named: HashMap<Arc<[u8]>, u32>,
    nameless: Option<u32>,
}

impl Index {
    fn get(&self, name: Option<&[u8]>) -> Option<u32> {
        name.map_or(self.nameless, |name| self.named.get(name).copied())
    }

    fn insert(&mut self, name: Option<Arc<[u8]>>, number: u32) {
        match name {
            Some(name) => drop(self.named.insert(name, number)),
            None => self.nameless = Some(number),
        }
    }

    fn remove(&mut self, name: Option<&[u8]>) {
        match name {
            Some(name) => drop(self.named.remove(name)),
            None => self.nameless = None,
        }
        if self.named.capacity() > 4 * self.named.len() + 1024 {
            self.named.shrink_to_fit();
        }
    }
}

/// The histories of all groups. A group has the same number while it has members.
#[derive(Debug, Default)]
pub(super) struct GroupHistories {
    /// In the order of [`GroupBy::OF_PROCESSES`].
    indexes: [Index; GroupBy::OF_PROCESSES.len()],
    /// Boxed, so that free numbers need little memory.
    groups: Vec<Option<Box<GroupHistory>>>,
    /// By group number. Apart from `groups`, as they are written for every process and should stay in the cache.
    sums: Vec<GroupSums>,
    free: Vec<u32>,
    /// A group was refused, as there were too many.
    lacks_some: bool,
    /// The key of saved digests.
    pub(super) digest_key: DigestKey,
    /// Saved groups that have no process so far.
    pub(super) pasts: HashMap<GroupDigest, GroupPast>,
    /// The time up to which resting groups are valid.
    clock: Clock,
    /// The time of the snapshot that is being added.
    now: Duration,
    began_at: Option<Duration>,
    /// The groups of some process of the first snapshot are not known yet.
    pub(super) is_starting: bool,
    /// Address spaces shared by several processes, and the groups that count them.
    shared: Vec<(Identity, u32)>,
    pub(super) changed: Changed,
}

impl GroupHistories {
    /// Returns true if the groups of the first snapshot may still be incomplete. Until then every snapshot is pushed whole.
    pub(super) fn may_start(&self, now: Duration) -> bool {
        self.began_at
            .is_none_or(|began| now.saturating_sub(began) < MAX_STARTING)
    }

    /// Starts a snapshot; returns true if it is the first. If it `is_whole`, all processes are added again. Else only processes
    /// that changed are added, after their previous contribution is [subtracted](Self::subtract).
    pub(super) fn start_snapshot(&mut self, now: Duration, is_whole: bool) -> bool {
        if is_whole {
            self.sums.fill(GroupSums::default());
        } else {
            for sums in &mut self.sums {
                (sums.rates, sums.pushed, sums.is_touched) = (Rates::default(), 0, false);
            }
        }
        self.shared.clear();
        self.changed.advance();
        self.is_starting = false;
        self.now = now;
        let is_first = self.began_at.is_none();
        self.began_at.get_or_insert(now);
        is_first
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
        membership.follow_parent(sample, names, started_at, self.now);
        self.is_starting |= !membership.update(sample, names, self);
        let kin = membership.kin;
        let is_pending = sample.walk.is_err_and(|why| why == Missing::Pending);
        let rates = Rates::from(row.change());
        let (mut memory_in, mut waiting_in) = (0, 0);
        for (kind, &number) in membership.groups.iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = &mut self.sums[number as usize];
            sums.members += 1;
            sums.living += u32::from(kin != Kin::Zombie);
            sums.orphans += u32::from(kin == Kin::Orphan);
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
            let Some(memory) = row.known() else {
                sums.unread += u32::from(kin != Kin::Zombie);
                continue;
            };
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
            let sums = &mut self.sums[number as usize];
            sums.is_touched = true;
            sums.members -= 1;
            sums.living -= u32::from(contribution.kin != Kin::Zombie);
            sums.orphans -= u32::from(contribution.kin == Kin::Orphan);
            sums.waiting -= u32::from(contribution.waiting_in & (1 << kind) != 0);
            sums.known -= u32::from(figures.is_some());
            sums.unread -= u32::from(figures.is_none() && contribution.kin != Kin::Zombie);
            // The oldest remaining member may have to be found.
            sums.starts_lost += u32::from(sums.started_at == contribution.started_at);
            if contribution.memory_in & (1 << kind) != 0 {
                for (sum, figure) in sums.memory.iter_mut().zip(figures.unwrap_or_default()) {
                    *sum -= u128::from(figure);
                }
            }
        }
    }

    /// Finds the oldest member of incomplete groups that lost it.
    pub(super) fn find_starts(&mut self, all: impl Iterator<Item = Contribution>) {
        let mut is_lost = false;
        for (group, sums) in self.groups.iter().zip(&mut self.sums) {
            if sums.starts_lost > 0 && group.as_ref().is_some_and(|group| !group.is_complete) {
                sums.started_at = None;
                is_lost = true;
            }
            sums.starts_lost = 0;
        }
        if !is_lost {
            return;
        }
        for part in all {
            for number in part.groups.into_iter().filter(|number| *number != NO_GROUP) {
                self.sums[number as usize].add_start(part.started_at);
            }
        }
    }

    /// Returns true if the process is in a family with others.
    pub(super) fn has_family(membership: &Membership) -> bool {
        membership.groups[FAMILY] != NO_GROUP
    }

    /// Returns the number of processes in a group.
    pub(super) fn members(&self, by: GroupBy, name: Option<&[u8]>) -> usize {
        let sums = self.sums.get(self.find(by, name) as usize);
        sums.map_or(0, |sums| sums.members as usize)
    }

    /// Returns the name of the process's group by command.
    pub(super) fn command(&self, membership: &Membership) -> Option<Arc<[u8]>> {
        let at = GroupBy::OF_PROCESSES.iter().position(|by| *by == GroupBy::Command)?;
        self.key(membership.groups[at])?.name
    }

    pub(super) const fn len(&self) -> usize {
        self.groups.len() - self.free.len()
    }

    pub(super) fn get(&self, by: GroupBy, name: Option<&[u8]>) -> Option<&RowHistory> {
        let group = self.groups.get(self.find(by, name) as usize)?;
        Some(group.as_ref()?.row.rested(self.clock))
    }

    /// Returns true once if groups were refused, and there is room for them now: for many, so that not every snapshot of a flood looks all
    /// up again.
    pub(super) fn has_room_again(&mut self) -> bool {
        let has_room = self.lacks_some && self.len() < MAX_GROUPS - MAX_EMPTY;
        self.lacks_some &= !has_room;
        has_room
    }

    /// Returns the number of a group; [`NO_GROUP`] if there is none.
    pub(super) fn find(&self, by: GroupBy, name: Option<&[u8]>) -> u32 {
        let index = kind(by).and_then(|at| self.indexes.get(at));
        index.and_then(|index| index.get(name)).unwrap_or(NO_GROUP)
    }

    /// Returns the number of a group, which is added if it is new; [`NO_GROUP`] if there are too many.
    pub(super) fn find_or_insert(&mut self, by: GroupBy, name: Option<&[u8]>) -> u32 {
        let Some(index) = kind(by).and_then(|at| self.indexes.get_mut(at)) else {
            return NO_GROUP;
        };
        if let Some(number) = index.get(name) {
            return number;
        }
        if self.groups.len() - self.free.len() >= MAX_GROUPS {
            self.lacks_some = true;
            return NO_GROUP;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.groups.push(None);
            self.sums.push(GroupSums::default());
            self.groups.len() as u32 - 1
        });
        self.sums[number as usize] = GroupSums {
            // The head of a family joins with the next snapshot.
            waiting: u32::from(by == GroupBy::Family),
            ..GroupSums::default()
        };
        let past = self.pasts.remove(&self.digest_key.digest(by, name));
        let (row, members, past) = past.map_or_else(Default::default, |past| (past.row, past.members, past.number));
        let name: Option<Arc<[u8]>> = name.map(Arc::from);
        index.insert(name.clone(), number);
        self.groups[number as usize] = Some(Box::new(GroupHistory {
            by,
            name,
            row,
            members,
            number: past.map_or_else(Number::default, Number::resumed),
            is_new: true,
            is_complete: false,
            empty_since: None,
            counted: [0; 2],
            is_held: false,
            started_at: None,
        }));
        number
    }

    /// Records that a process, which still exists, is no longer in a group. The memory of the group falls at once.
    fn moved_out_of(&mut self, number: u32) {
        if let Some(Some(group)) = self.groups.get_mut(number as usize) {
            group.counted[0] = group.counted[0].saturating_sub(1);
        }
    }

    pub(super) fn is_new(&self, number: u32) -> bool {
        self.groups[number as usize].as_ref().is_some_and(|group| group.is_new)
    }

    /// Finishes a snapshot: pushes the sums of every group, and queues the groups that are due. Unchanged groups have `rested`
    /// up to the snapshot before.
    pub(super) fn finish_snapshot(&mut self, tick: Tick, rested: Clock, scheduler: &mut EvaluationScheduler) {
        let is_starting = self.is_starting && self.may_start(tick.now);
        let mut empty = Vec::new();
        for (number, (group, sums)) in self.groups.iter_mut().zip(&mut self.sums).enumerate() {
            let Some(group) = group else { continue };
            let is_quiet = sums.members > 0 && sums.pushed == 0 && !sums.is_touched;
            if is_quiet
                && group.row.evaluation.is_resting
                && group.row.evaluation.due().is_none_or(|due| due > scheduler.now)
                && !group.number.is_due(scheduler.now)
            {
                continue;
            }
            if group.empty_since.is_none() {
                group.row.rested(rested);
            }
            let waiting = sums.waiting;
            if std::mem::take(&mut group.is_new) && group.by == GroupBy::Family {
                sums.waiting -= 1;
            }
            group.row.evaluation.is_resting = false;
            if sums.members > 0 {
                group.empty_since = None;
                if !group.is_complete {
                    group.started_at = sums.started_at;
                }
                group.is_complete |= waiting == 0 && !is_starting;
                let memory = MemorySample::of_sums(sums.memory);
                let is_known = group.is_complete && sums.known > 0;
                let memory = is_known.then_some(memory);
                let footprint = memory.filter(|_| !tick.is_fleet).map(|memory| memory.footprint);
                let tick = Tick {
                    is_doubtful: footprint.is_some_and(|footprint| group.must_hold(sums, footprint, tick.now)),
                    changes: tick.is_fleet.then_some(sums.changes),
                    ..tick
                };
                let mut rates = sums.rates;
                if sums.pushed < sums.members {
                    rates.add(&Rates::RESTING);
                }
                group.row.push(tick, memory, &rates);
                if is_known && !tick.is_doubtful {
                    group.members.push(tick.now, sums.known, tick.retention);
                }
                if group.counts_number() && group.is_complete && !tick.is_fleet {
                    group.number.push(tick.now, rested.now, sums.living, tick.retention);
                    group.number.queue(scheduler, number as u32);
                }
                if group.row.is_without_past() {
                    group.members.0.clear_past();
                    group.number.clear_past();
                }
                group.row.queue(scheduler, RowNumber::Group(number as u32));
                group.row.evaluation.is_resting = group.is_complete && group.row.can_rest();
                continue;
            }
            if group.empty_since.is_none() && group.is_complete && group.counts_number() && !tick.is_fleet {
                group.number.push(tick.now, rested.now, 0, tick.retention);
            }
            let since = *group.empty_since.get_or_insert(tick.now);
            if group.is_complete && group.row.newest_footprint() > 0 {
                // It drops to 0 once; from then on nothing changes.
                let is_doubtful = !tick.is_fleet && !group.is_gone(tick.now);
                let tick = Tick { is_doubtful, ..tick };
                group.row.push(tick, Some(MemorySample::default()), &Rates::default());
            }
            empty.push((since, number));
        }
        self.clock = tick.into();
        self.remove_long_empty(empty, tick.now);
    }

    /// Removes groups that were empty for [`EMPTY_KEPT`], and the longest empty ones if there are too many.
    fn remove_long_empty(&mut self, mut empty: Vec<(Duration, usize)>, now: Duration) {
        let excess = if empty.len() > MAX_EMPTY {
            // A quarter more than needed, so that not every snapshot has to do it.
            empty.sort_unstable();
            empty.len() - MAX_EMPTY * 3 / 4
        } else {
            0
        };
        for (at, (since, number)) in empty.into_iter().enumerate() {
            if at < excess || now.saturating_sub(since) > EMPTY_KEPT {
                self.remove(number);
            }
        }
    }

    /// Returns the bytes freed.
    fn remove(&mut self, number: usize) -> usize {
        let Some(group) = self.groups[number].take() else {
            return 0;
        };
        if let Some(index) = kind(group.by).and_then(|at| self.indexes.get_mut(at)) {
            index.remove(group.name.as_deref());
        }
        self.free.push(number as u32);
        group.bytes()
    }

    /// Removes all groups without members; returns the bytes freed.
    pub(super) fn drop_empty(&mut self) -> usize {
        let numbers = (0..).zip(&self.groups);
        let empty = numbers.filter(|(_, group)| group.as_ref().is_some_and(|group| group.empty_since.is_some()));
        let empty: Vec<_> = empty.map(|(number, _)| number).collect();
        empty.into_iter().map(|number| self.remove(number)).sum()
    }

    /// Prepends the histories of an earlier time. `tick` is the last tick that was pushed.
    pub(super) fn put_before(&mut self, earlier: &Self, tick: Tick) {
        for group in self.groups.iter_mut().flatten() {
            let before = earlier
                .groups
                .get(earlier.find(group.by, group.name.as_deref()) as usize);
            let before = before.and_then(Option::as_ref);
            if let Some(before) = before.filter(|_| !group.row.is_without_past()) {
                group.members.0.put_before(&before.members.0, tick.retention);
                group.number.put_before(&before.number, tick.retention);
                group.row.put_before(&before.row, tick);
            }
        }
    }

    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        if let Some(Some(group)) = self.groups.get_mut(number as usize) {
            group.row.rested(self.clock);
            group.row.evaluate(scheduler, Some(&group.members), group.started_at);
        }
    }

    /// Judges the number of the processes of a group.
    pub(super) fn judge_number(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        if let Some(Some(group)) = self.groups.get_mut(number as usize) {
            let sums = &self.sums[number as usize];
            let living = [sums.living, sums.orphans];
            group.number.judge(scheduler, self.clock.now, group.started_at, living);
        }
    }

    /// Returns the numbers of all groups whose number of processes may be judged.
    pub(super) fn changing(&self) -> Vec<u32> {
        let groups = (0..).zip(&self.groups);
        let changing = groups.filter(|(_, group)| group.as_ref().is_some_and(|group| group.number.is_changing()));
        changing.map(|(number, _)| number).collect()
    }

    /// Returns how many processes a program or a family has, and whether that number grows; `None` for other groups.
    pub(super) fn population(&self, by: GroupBy, name: Option<&[u8]>) -> Option<Population> {
        let number = self.find(by, name) as usize;
        let group = self
            .groups
            .get(number)?
            .as_ref()
            .filter(|group| group.counts_number())?;
        let sums = &self.sums[number];
        Some(group.number.population(sums.living, sums.orphans))
    }

    /// Returns the programs or families whose number of processes may grow.
    pub(super) fn populations(
        &self,
        by: GroupBy,
    ) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory, Population)> {
        let groups = self.groups.iter().zip(&self.sums);
        let groups = groups.filter_map(|(group, sums)| Some((group.as_ref()?, sums)));
        let groups = groups.filter(move |(group, _)| group.by == by && group.number.is_changing());
        groups.map(|(group, sums)| {
            let population = group.number.population(sums.living, sums.orphans);
            (group.name.as_ref(), group.row.rested(self.clock), population)
        })
    }

    pub(super) fn key(&self, number: u32) -> Option<GroupKey> {
        let group = self.groups.get(number as usize)?.as_ref()?;
        Some(GroupKey {
            by: group.by,
            name: group.name.clone(),
        })
    }

    /// Returns the groups of one kind, with their names.
    pub(super) fn iter(&self, by: GroupBy) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory)> {
        let groups = self.groups.iter().flatten().filter(move |group| group.by == by);
        groups.map(|group| (group.name.as_ref(), group.row.rested(self.clock)))
    }

    /// Returns all groups to save, the resumed and the pending.
    pub(super) fn all(&self) -> impl Iterator<Item = (GroupDigest, &RowHistory, &MemberCounts, Option<&NumberPast>)> {
        let known = self.groups.iter().flatten().map(|group| {
            let digest = self.digest_key.digest(group.by, group.name.as_deref());
            let number = group.number.rested(self.clock.now);
            (digest, group.row.rested(self.clock), &group.members, number)
        });
        let pasts = self
            .pasts
            .iter()
            .map(|(digest, past)| (*digest, &past.row, &past.members, past.number.as_ref()));
        known.chain(pasts)
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = (u32, &mut RowHistory)> {
        let clock = self.clock;
        let groups = (0..).zip(&mut self.groups);
        groups.filter_map(move |(number, group)| {
            let group = group.as_mut()?;
            group.row.rested(clock);
            Some((number, &mut group.row))
        })
    }

    /// Returns the number of groups with members and without a past.
    pub(super) fn without_past(&self) -> usize {
        let groups = self.groups.iter().flatten();
        groups
            .filter(|group| group.empty_since.is_none() && group.row.is_without_past())
            .count()
    }

    pub(super) fn bytes(&self) -> usize {
        let groups = self.groups.iter().flatten().map(|group| group.bytes());
        let slots = self.groups.capacity() * size_of::<Option<Box<GroupHistory>>>();
        groups.sum::<usize>() + slots + self.sums.capacity() * size_of::<GroupSums>()
    }
}

/// Returns the index of a kind in [`GroupBy::OF_PROCESSES`].
fn kind(by: GroupBy) -> Option<usize> {
    GroupBy::OF_PROCESSES.iter().position(|kind| *kind == by)
}
