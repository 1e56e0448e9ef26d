//! The store of groups: found by name, counted by number.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::group::GroupBy;
use crate::history::evaluation::Judge;
use crate::history::groups::membership::NOWHERE;
use crate::history::groups::{KEPT, Sums};
use crate::history::row::{MemorySample, Rates, RowHistory, Tick};

/// No more groups than that have a history.
const MOST: usize = 10_000;
/// No more groups than that are remembered without members.
const MOST_EMPTY: usize = 1024;

/// One group.
#[derive(Debug)]
struct Slot {
    by: GroupBy,
    name: Option<Arc<[u8]>>,
    series: RowHistory,
    /// It began in this snapshot.
    new: bool,
    /// The memory of all that it began with was known once; until then its sums only seem to grow.
    complete: bool,
    /// Since when it has had no members.
    empty: Option<Duration>,
    /// When the first of those that it began with started.
    born: Option<Duration>,
}

impl Slot {
    fn bytes(&self) -> usize {
        let named = self.name.as_ref().map_or(0, |name| name.len() + 40);
        size_of::<Option<Self>>() - size_of::<RowHistory>() + self.series.bytes() + named
    }
}

/// Every group. A number stays that of its group for as long as the group has members.
#[derive(Debug)]
pub(super) struct Slots {
    /// In the order of [`GroupBy::OF_PROCESSES`].
    index: [Index; GroupBy::OF_PROCESSES.len()],
    groups: Vec<Option<Slot>>,
    /// What the snapshot says of each, apart from the rest: these few bytes are written for every process.
    sums: Vec<Sums>,
    free: Vec<u32>,
    window: Duration,
}

#[derive(Debug, Default)]
struct Index {
    named: HashMap<Arc<[u8]>, u32>,
    nameless: Option<u32>,
}

impl Index {
    fn get(&self, name: Option<&[u8]>) -> Option<u32> {
        match name {
            Some(name) => self.named.get(name).copied(),
            None => self.nameless,
        }
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

impl Slots {
    pub(super) fn new(window: Duration) -> Self {
        Self {
            index: Default::default(),
            groups: Vec::new(),
            sums: Vec::new(),
            free: Vec::new(),
            window,
        }
    }

    /// Takes changes over another length of time from now on.
    pub(super) fn set_window(&mut self, window: Duration) {
        self.window = window;
        for slot in self.groups.iter_mut().flatten() {
            slot.series.set_window(window);
        }
    }

    /// How many groups there are.
    pub(super) const fn len(&self) -> usize {
        self.groups.len() - self.free.len()
    }

    /// The history of one group.
    pub(super) fn get(&self, by: GroupBy, name: Option<&[u8]>) -> Option<&RowHistory> {
        let number = self.index.get(place(by)?)?.get(name)?;
        self.groups[number as usize].as_ref().map(|slot| &slot.series)
    }

    /// The number of a group, new if there was none; [`NOWHERE`] where there are too many.
    pub(super) fn find_or_begin(&mut self, by: GroupBy, name: Option<&[u8]>) -> u32 {
        let Some(index) = place(by).and_then(|at| self.index.get_mut(at)) else {
            return NOWHERE;
        };
        if let Some(number) = index.get(name) {
            return number;
        }
        if self.groups.len() - self.free.len() >= MOST {
            return NOWHERE;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.groups.push(None);
            self.sums.push(Sums::default());
            self.groups.len() as u32 - 1
        });
        let name: Option<Arc<[u8]>> = name.map(Arc::from);
        index.insert(name.clone(), number);
        self.groups[number as usize] = Some(Slot {
            by,
            name,
            series: RowHistory::new(self.window),
            new: true,
            complete: false,
            empty: None,
            born: None,
        });
        number
    }

    /// Whether it began in this snapshot.
    pub(super) fn is_new(&self, number: u32) -> bool {
        self.groups[number as usize].as_ref().is_some_and(|slot| slot.new)
    }

    /// Begins a snapshot.
    pub(super) fn clear(&mut self) {
        self.sums.fill(Sums::default());
    }

    /// What the snapshot says of a group.
    pub(super) fn sums(&mut self, number: u32) -> &mut Sums {
        &mut self.sums[number as usize]
    }

    /// Ends a snapshot. While it is `starting` no group counts as complete.
    pub(super) fn end(&mut self, tick: Tick, starting: bool, judge: &mut Judge) {
        let now = tick.now;
        let mut empty = Vec::new();
        for (number, (slot, sums)) in self.groups.iter_mut().zip(&self.sums).enumerate() {
            let Some(slot) = slot else { continue };
            slot.new = false;
            if sums.members > 0 {
                slot.empty = None;
                if !slot.complete {
                    slot.born = sums.born;
                }
                slot.complete |= sums.waiting == 0 && !starting;
                let known = slot.complete && sums.known > 0;
                slot.series.push(tick, known.then_some(sums.figures), &sums.rates);
                slot.series.judge(judge, slot.born, number as u32);
                continue;
            }
            if slot.empty.is_none() && slot.complete {
                // It fell to nothing; from here on there is nothing to tell.
                slot.series.push(tick, Some(MemorySample::default()), &Rates::default());
            }
            empty.push((*slot.empty.get_or_insert(now), number));
        }
        self.forget(empty, now);
    }

    /// Forgets the groups that have long been empty, and the longest empty ones where there are too many.
    fn forget(&mut self, mut empty: Vec<(Duration, usize)>, now: Duration) {
        let excess = if empty.len() > MOST_EMPTY {
            // More than must be, so that this is not done at every snapshot.
            empty.sort_unstable();
            empty.len() - MOST_EMPTY * 3 / 4
        } else {
            0
        };
        for (at, (since, number)) in empty.into_iter().enumerate() {
            if at >= excess && now.saturating_sub(since) <= KEPT {
                continue;
            }
            self.remove(number);
        }
    }

    /// Forgets one; what that frees, in bytes.
    fn remove(&mut self, number: usize) -> usize {
        let Some(slot) = self.groups[number].take() else {
            return 0;
        };
        if let Some(index) = place(slot.by).and_then(|at| self.index.get_mut(at)) {
            index.remove(slot.name.as_deref());
        }
        self.free.push(number as u32);
        slot.bytes()
    }

    /// Forgets those without members; what that frees, in bytes.
    pub(super) fn drop_empty(&mut self) -> usize {
        let is_empty = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.empty.is_some());
        (0..self.groups.len())
            .filter(|number| is_empty(&self.groups[*number]))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|number| self.remove(number))
            .sum()
    }

    /// Judges all of them now.
    pub(super) fn judge_all(&mut self, judge: &mut Judge) {
        for slot in self.groups.iter_mut().flatten() {
            slot.series.decide(judge, slot.born);
        }
    }

    /// The name of one; `None` where it has none, or there is no such group.
    pub(super) fn name(&self, number: u32) -> Option<Arc<[u8]>> {
        self.groups.get(number as usize)?.as_ref()?.name.clone()
    }

    /// The histories of those of that kind, by name.
    pub(super) fn iter(&self, by: GroupBy) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory)> {
        let slots = self.groups.iter().flatten().filter(move |slot| slot.by == by);
        slots.map(|slot| (slot.name.as_ref(), &slot.series))
    }

    /// Every group's history, to be changed.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut RowHistory> {
        self.groups.iter_mut().flatten().map(|slot| &mut slot.series)
    }

    /// The bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.groups.iter().flatten().map(Slot::bytes).sum::<usize>() + self.sums.capacity() * size_of::<Sums>()
    }
}

/// Where the index of a kind is.
fn place(by: GroupBy) -> Option<usize> {
    GroupBy::OF_PROCESSES.iter().position(|kind| *kind == by)
}
