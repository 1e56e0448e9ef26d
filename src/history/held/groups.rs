//! The histories of what groups hold through their descriptors: the sums of their members that hold something.

use std::collections::HashMap;

use crate::group::GroupKey;
use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::figures::{Clock, Tick};
use crate::history::groups::{GroupHistories, GroupNumbers};
use crate::history::held::row::HeldHistory;
use crate::history::members::MemberCounts;
use crate::history::row::RowHistory;
use crate::model::held::HeldFigures;

/// A group with a process that held something.
#[derive(Debug)]
struct HeldGroup {
    key: GroupKey,
    held: HeldHistory,
    /// The number of members that hold something, now and over time.
    holders: u32,
    members: MemberCounts,
    cpu: f64,
}

/// The groups with a process that held something, by their numbers.
#[derive(Debug, Default)]
pub(super) struct HeldGroups(HashMap<u32, HeldGroup>);

/// The sum of the members of a group.
#[derive(Default)]
struct Sum {
    figures: HeldFigures,
    holders: u32,
    is_known: bool,
    cpu: f64,
}

impl HeldGroups {
    /// Returns a group that is still of that name: a number may be given anew.
    pub(super) fn get(&self, number: u32, key: &GroupKey) -> Option<&HeldHistory> {
        let group = self.0.get(&number).filter(|group| group.key == *key)?;
        Some(&group.held)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&GroupKey, &HeldHistory)> {
        self.0.values().map(|group| (&group.key, &group.held))
    }

    /// Sums what the members of each group hold, told with the groups they are in and their processor time.
    pub(super) fn sum<'a>(
        &mut self,
        members: impl Iterator<Item = (GroupNumbers, &'a HeldHistory, f64)>,
        groups: &GroupHistories,
    ) {
        let mut sums: HashMap<u32, Sum> = HashMap::new();
        for (numbers, held, cpu) in members {
            for number in numbers {
                let sum = sums.entry(number).or_default();
                sum.figures.add(&held.figures);
                sum.holders += u32::from(held.figures.total() > 0);
                sum.is_known |= held.is_known;
                sum.cpu += cpu;
            }
        }
        self.0
            .retain(|number, group| groups.key(*number).is_some_and(|key| key == group.key));
        for (number, group) in &mut self.0 {
            // Without a member it holds nothing, which is known.
            let sum = sums.remove(number).unwrap_or(Sum {
                is_known: true,
                ..Sum::default()
            });
            group.take_in(&sum);
        }
        for (number, sum) in sums.into_iter().filter(|(_, sum)| sum.figures.total() > 0) {
            if let Some(key) = groups.key(number) {
                let mut group = HeldGroup {
                    key,
                    held: HeldHistory::default(),
                    holders: 0,
                    members: MemberCounts::default(),
                    cpu: 0.0,
                };
                group.take_in(&sum);
                self.0.insert(number, group);
            }
        }
    }

    /// Takes the sums into the histories, and queues those that are due.
    pub(super) fn push(&mut self, tick: Tick, rested: Clock, scheduler: &mut EvaluationScheduler) {
        for (number, group) in &mut self.0 {
            group.held.push(tick, rested, group.cpu);
            if group.held.is_known && group.holders > 0 {
                group.members.push(tick.now, group.holders, tick.retention);
            }
            if group.held.row().is_without_past() {
                group.members.clear_past();
            }
            group.held.queue(tick.into(), scheduler, RowNumber::HeldGroup(*number));
        }
    }

    /// Judges one of them now.
    pub(super) fn judge(&mut self, number: u32, clock: Clock, scheduler: &mut EvaluationScheduler) {
        if let Some(group) = self.0.get_mut(&number) {
            group.held.judge(clock, scheduler, Some(&group.members), None);
        }
    }

    /// Returns the number of each.
    pub(super) fn numbers(&self) -> impl Iterator<Item = RowNumber> {
        self.0.keys().map(|number| RowNumber::HeldGroup(*number))
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut RowHistory> {
        self.0.values_mut().map(|group| group.held.row_mut())
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.0.capacity() * (size_of::<(u32, HeldGroup)>() + 1);
        let rows = self.0.values().map(|group| {
            let own = group.held.bytes() - size_of::<HeldHistory>();
            own + group.members.bytes() - size_of::<MemberCounts>()
        });
        slots + rows.sum::<usize>()
    }
}

impl HeldGroup {
    fn take_in(&mut self, sum: &Sum) {
        (self.held.figures, self.held.is_known) = (sum.figures, sum.is_known);
        (self.holders, self.cpu) = (sum.holders, sum.cpu);
    }
}
