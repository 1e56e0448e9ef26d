//! The table of groups: an index by name, and the history and the current sums of each group by number.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use crate::group::{GroupBy, GroupKey};
use crate::history::evaluation::{EvaluationScheduler, MemberCounts, RowNumber};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};

/// The sums of one group in one snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupSums {
    pub(super) members: u32,
    /// The number of members with known memory.
    pub(super) known: u32,
    /// The number of initial members that wait for their first walk.
    pub(super) waiting: u32,
    /// The start of the oldest member.
    pub(super) started_at: Option<Duration>,
    /// The number of members with that start that were subtracted.
    pub(super) starts_lost: u32,
    /// The sums of [`MemorySample::figures`]. They must not saturate, as members are subtracted.
    pub(super) memory: [u128; MemorySample::COUNT],
    /// The rates of the members that were pushed in this snapshot; the others are idle.
    pub(super) rates: Rates,
    /// The sums of the known changes of PSS and swap.
    pub(super) changes: [Option<i64>; 2],
    pub(super) pushed: u32,
    /// A member was added or subtracted in this snapshot.
    pub(super) is_touched: bool,
}

impl GroupSums {
    pub(super) fn add_start(&mut self, started_at: Option<Duration>) {
        self.started_at = match (self.started_at, started_at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    pub(super) fn add_changes(&mut self, changes: [Option<i64>; 2]) {
        for (sum, change) in self.changes.iter_mut().zip(changes) {
            if let Some(change) = change {
                *sum = Some(sum.unwrap_or(0).saturating_add(change));
            }
        }
    }

    pub(super) fn all_rates(&self) -> Rates {
        let mut rates = self.rates;
        if self.pushed < self.members {
            rates.add(&Rates::RESTING);
        }
        rates
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
/// Time for which a group without members is kept: a nightly job is recognized even if it is late.
const EMPTY_KEPT: Duration = Duration::from_secs(26 * 3600);

#[derive(Debug)]
struct GroupHistory {
    by: GroupBy,
    name: Option<Arc<[u8]>>,
    row: RowHistory,
    members: MemberCounts,
    /// It began in this snapshot.
    is_new: bool,
    /// The memory of all its initial members was known at least once. Until then its sums grow as walks come in.
    is_complete: bool,
    empty_since: Option<Duration>,
    /// The start of its oldest initial member.
    started_at: Option<Duration>,
}

impl GroupHistory {
    fn bytes(&self) -> usize {
        // 40 bytes for the counters of the Arc and the slot in the index.
        let name = self.name.as_ref().map_or(0, |name| name.len() + 40);
        let series = self.row.bytes() + self.members.0.bytes();
        size_of::<Option<Self>>() - size_of::<RowHistory>() - size_of::<MemberCounts>() + series + name
    }
}

/// The saved history of a group.
#[derive(Debug)]
pub(super) struct GroupPast {
    pub(super) row: RowHistory,
    pub(super) members: MemberCounts,
}

/// The kind of a group, and the digest of its name.
pub(super) type GroupDigest = (u8, u64);

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

/// All groups. A group has the same number while it has members.
#[derive(Debug, Default)]
pub(super) struct GroupTable {
    /// In the order of [`GroupBy::OF_PROCESSES`].
    indexes: [Index; GroupBy::OF_PROCESSES.len()],
    groups: Vec<Option<GroupHistory>>,
    /// By group number. Apart from `groups`, as they are written for every process and should stay in the cache.
    pub(super) sums: Vec<GroupSums>,
    free: Vec<u32>,
    /// Saved groups that have no process so far.
    pub(super) pasts: HashMap<GroupDigest, GroupPast>,
    /// The time up to which resting groups are valid.
    clock: Clock,
}

impl GroupTable {
    pub(super) const fn len(&self) -> usize {
        self.groups.len() - self.free.len()
    }

    pub(super) fn get(&self, by: GroupBy, name: Option<&[u8]>) -> Option<&RowHistory> {
        let number = self.indexes.get(kind(by)?)?.get(name)?;
        Some(self.groups[number as usize].as_ref()?.row.rested(self.clock))
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
        let past = self.pasts.remove(&digest(by, name));
        let (row, members) = past.map_or_else(Default::default, |past| (past.row, past.members));
        let name: Option<Arc<[u8]>> = name.map(Arc::from);
        index.insert(name.clone(), number);
        self.groups[number as usize] = Some(GroupHistory {
            by,
            name,
            row,
            members,
            is_new: true,
            is_complete: false,
            empty_since: None,
            started_at: None,
        });
        number
    }

    pub(super) fn is_new(&self, number: u32) -> bool {
        self.groups[number as usize].as_ref().is_some_and(|group| group.is_new)
    }

    /// Clears the part of the sums that belongs to one snapshot.
    pub(super) fn clear_rates(&mut self) {
        for sums in &mut self.sums {
            (sums.rates, sums.pushed, sums.is_touched) = (Rates::default(), 0, false);
        }
    }

    /// Clears the start of incomplete groups that lost their oldest member; returns true if there are any.
    pub(super) fn lack_starts(&mut self) -> bool {
        let mut lack = false;
        for (group, sums) in self.groups.iter().zip(&mut self.sums) {
            let is_needed = group.as_ref().is_some_and(|group| !group.is_complete);
            if sums.starts_lost > 0 && is_needed {
                sums.started_at = None;
                lack = true;
            }
            sums.starts_lost = 0;
        }
        lack
    }

    /// Pushes the sums into the rows. No group is complete while the history `is_starting`.
    pub(super) fn push_sums(
        &mut self,
        tick: Tick,
        is_starting: bool,
        rested: Clock,
        scheduler: &mut EvaluationScheduler,
    ) {
        let mut empty = Vec::new();
        for (number, (group, sums)) in self.groups.iter_mut().zip(&mut self.sums).enumerate() {
            let Some(group) = group else { continue };
            let is_quiet = sums.members > 0 && sums.pushed == 0 && !sums.is_touched;
            if is_quiet && group.row.is_resting && group.row.evaluation.due().is_none_or(|due| due > scheduler.now) {
                continue;
            }
            if group.empty_since.is_none() {
                group.row.rested(rested);
            }
            let waiting = sums.waiting;
            if std::mem::take(&mut group.is_new) && group.by == GroupBy::Family {
                sums.waiting -= 1;
            }
            group.row.is_resting = false;
            if sums.members > 0 {
                group.empty_since = None;
                if !group.is_complete {
                    group.started_at = sums.started_at;
                }
                group.is_complete |= waiting == 0 && !is_starting;
                let is_known = group.is_complete && sums.known > 0;
                let memory = is_known.then(|| MemorySample::of_sums(sums.memory));
                let tick = Tick {
                    changes: tick.is_fleet.then_some(sums.changes),
                    ..tick
                };
                group.row.push(tick, memory, &sums.all_rates());
                if is_known {
                    group.members.push(tick.now, sums.known, tick.retention);
                }
                if group.row.is_without_past() {
                    group.members.0.clear_past();
                }
                group.row.queue(scheduler, RowNumber::Group(number as u32));
                group.row.is_resting = group.is_complete && group.row.can_rest();
                continue;
            }
            if group.empty_since.is_none() && group.is_complete {
                // It drops to 0 once; from then on nothing changes.
                group.row.push(tick, Some(MemorySample::default()), &Rates::default());
            }
            empty.push((*group.empty_since.get_or_insert(tick.now), number));
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
        let is_empty = |group: &Option<GroupHistory>| group.as_ref().is_some_and(|group| group.empty_since.is_some());
        let mut freed = 0;
        for number in 0..self.groups.len() {
            if is_empty(&self.groups[number]) {
                freed += self.remove(number);
            }
        }
        freed
    }

    /// Prepends the histories of an earlier time. `tick` is the last tick that was pushed.
    pub(super) fn put_before(&mut self, earlier: &Self, tick: Tick) {
        for group in self.groups.iter_mut().flatten() {
            let before = kind(group.by).and_then(|at| earlier.indexes[at].get(group.name.as_deref()));
            let before = before.and_then(|number| earlier.groups[number as usize].as_ref());
            if let Some(before) = before.filter(|_| !group.row.is_without_past()) {
                group.members.0.put_before(&before.members.0, tick.retention);
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
    pub(super) fn all(&self) -> impl Iterator<Item = (GroupDigest, &RowHistory, &MemberCounts)> {
        let known = self.groups.iter().flatten().map(|group| {
            let digest = digest(group.by, group.name.as_deref());
            (digest, group.row.rested(self.clock), &group.members)
        });
        let pasts = self
            .pasts
            .iter()
            .map(|(digest, past)| (*digest, &past.row, &past.members));
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
        let groups = self.groups.iter().flatten().map(GroupHistory::bytes);
        // A free slot takes as much as the inline part of a group.
        let slots = (self.groups.capacity() - self.len()) * size_of::<Option<GroupHistory>>();
        groups.sum::<usize>() + slots + self.sums.capacity() * size_of::<GroupSums>()
    }
}

/// Returns the index of a kind in [`GroupBy::OF_PROCESSES`].
fn kind(by: GroupBy) -> Option<usize> {
    GroupBy::OF_PROCESSES.iter().position(|kind| *kind == by)
}

/// Returns the key that a group is saved by, which does not contain its name.
fn digest(by: GroupBy, name: Option<&[u8]>) -> GroupDigest {
    let kind = kind(by).map_or(u8::MAX, |kind| kind as u8);
    (kind, digest_of_name(name))
}

/// Returns a digest of a name that is the same in every build: FNV-1a.
pub(super) fn digest_of_name(name: Option<&[u8]>) -> u64 {
    // An empty name differs from no name.
    let bytes = iter::once(u8::from(name.is_some())).chain(name.unwrap_or_default().iter().copied());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
