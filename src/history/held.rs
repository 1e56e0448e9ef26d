//! The histories of what is held through descriptors: rows of their own beside those of the footprints, for this memory is
//! in nobody's PSS.
//!
//! Most processes hold nothing, and have no row here. One that once held something has, until it ends. Groups have those
//! of their members summed.
//!
//! It is read only where somebody asks. [`HeldHistories::is_suspected`] asks, too, while a part of the RAM grows in which it
//! would be, as its growth is nobody's otherwise.

mod groups;
mod row;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::group::{GroupBy, GroupKey};
use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::figures::{Clock, Tick};
use crate::history::groups::{GroupHistories, GroupNumbers};
use crate::history::parts::PartHistories;
use crate::history::row::RowHistory;
use crate::history::time_series::Retention;
use crate::model::process::{Identity, ProcessSample};
use groups::HeldGroups;
pub use row::HeldHistory;

/// Processes with a row at most: those that hold something first of all, in order of pid.
const MAX_HOLDERS: usize = 4096;
/// The parts of the RAM that what is held is in.
const PARTS: [&str; 6] = [
    "shmem",
    "gpu",
    "vmalloc",
    "percpu",
    "slab_unreclaimable",
    super::parts::REST,
];
/// Time for which it is asked for after the last growth: whoever leaks in bursts is not lost between two.
const SUSPECTED: Duration = Duration::from_secs(600);

/// The histories of what is held, of all processes and groups that held something.
#[derive(Debug, Default)]
pub struct HeldHistories {
    processes: HashMap<Identity, Box<HeldHistory>>,
    /// Further processes that hold something, for which there was no room.
    left_out: HashSet<Identity>,
    groups: HeldGroups,
    /// The time of the last snapshot.
    clock: Clock,
    /// Some process holds something else, or is in other groups, than in the snapshot before.
    is_touched: bool,
    suspected_until: Duration,
}

impl HeldHistories {
    /// Returns the history of what a process holds; `None` where it never held anything, as far as was read.
    pub fn get(&self, id: Identity) -> Option<&HeldHistory> {
        let held = self.processes.get(&id)?;
        held.rest_until(self.clock);
        Some(held)
    }

    /// Returns every process that held something.
    pub fn processes(&self) -> impl Iterator<Item = (Identity, &HeldHistory)> {
        self.processes.iter().map(|(id, held)| {
            held.rest_until(self.clock);
            (*id, &**held)
        })
    }

    /// Returns the number of processes that hold something and have no row here, as there are too many.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Returns every group of that kind with a process that held something.
    pub fn groups_by(&self, by: GroupBy) -> impl Iterator<Item = (&GroupKey, &HeldHistory)> {
        let all = self.groups.iter().filter(move |(key, _)| key.by == by);
        all.inspect(|(_, held)| held.rest_until(self.clock))
    }

    /// Returns the group of that number, if it is still of that name.
    pub(super) fn group(&self, number: u32, key: &GroupKey) -> Option<&HeldHistory> {
        let held = self.groups.get(number, key)?;
        held.rest_until(self.clock);
        Some(held)
    }

    /// Returns true if what is held is to be read though nobody looks: it grows, or a part of the RAM does that it is in.
    pub const fn is_suspected(&self) -> bool {
        !self.suspected_until.is_zero() && self.clock.now.as_nanos() < self.suspected_until.as_nanos()
    }

    /// Returns the processes at which something changes with time alone.
    pub(super) fn awake(&self, now: u32) -> impl Iterator<Item = Identity> {
        let known = self.processes.iter().filter(|(_, held)| held.is_known);
        let awake = known.filter(move |(_, held)| !held.is_resting() || held.is_due(now));
        awake.map(|(id, _)| *id)
    }

    /// Returns true if something changed at a process in the last snapshot, or changes with time.
    pub(super) fn is_awake(&self, id: Identity) -> bool {
        self.processes.get(&id).is_some_and(|held| !held.is_resting())
    }

    /// Goes on from the past of a process that was kept.
    pub(super) fn resume(&mut self, id: Identity, row: RowHistory) {
        self.processes.insert(id, Box::new(HeldHistory::resumed(row)));
    }

    /// Forgets a process: it ended, or is another program now.
    pub(super) fn remove(&mut self, id: Identity) {
        self.left_out.remove(&id);
        self.is_touched |= self.processes.remove(&id).is_some();
    }

    /// Takes in what one process holds.
    pub(super) fn take_in(&mut self, sample: &ProcessSample) {
        if sample.held.is_none() && self.processes.is_empty() {
            return;
        }
        let figures = sample.held().map(|held| held.figures);
        if let Some(held) = self.processes.get_mut(&sample.id) {
            held.is_known = figures.is_ok();
            held.figures = figures.unwrap_or(held.figures);
        } else if let Some(figures) = figures.ok().filter(|figures| figures.total() > 0) {
            if !self.has_room() {
                self.left_out.insert(sample.id);
                return;
            }
            self.left_out.remove(&sample.id);
            self.processes.insert(sample.id, Box::new(HeldHistory::new(figures)));
        } else {
            self.left_out.remove(&sample.id);
            return;
        }
        self.is_touched = true;
    }

    /// Returns true if there is room for another row; those that hold nothing any more give way.
    fn has_room(&mut self) -> bool {
        if self.processes.len() >= MAX_HOLDERS {
            self.processes.retain(|_, held| held.figures.total() > 0);
        }
        self.processes.len() < MAX_HOLDERS
    }

    /// Finishes a snapshot: every row takes in what it holds, and queues up to be judged if due. `about` returns the groups
    /// that a process is counted in, and its processor time.
    pub(super) fn finish(
        &mut self,
        tick: Tick,
        groups: &GroupHistories,
        about: impl Fn(Identity) -> Option<(GroupNumbers, f64)>,
        scheduler: &mut EvaluationScheduler,
    ) {
        let rested = std::mem::replace(&mut self.clock, tick.into());
        for (id, held) in &mut self.processes {
            let cpu = about(*id).map_or(0.0, |(_, cpu)| cpu);
            held.push(tick, rested, cpu);
            held.queue(self.clock, scheduler, RowNumber::Held(*id));
        }
        if std::mem::take(&mut self.is_touched) {
            let holders = self.processes.iter();
            let members = holders.filter_map(|(id, held)| {
                let (groups, cpu) = about(*id)?;
                Some((groups, &**held, cpu))
            });
            self.groups.sum(members, groups);
        }
        self.groups.push(tick, rested, scheduler);
    }

    /// Notes if what is held is to be read for a while.
    pub(super) fn suspect(&mut self, parts: &PartHistories) {
        let grows = |row: &RowHistory| row.trend().verdict.is_growth();
        let is_in_part = || PARTS.iter().any(|id| parts.get(id).is_some_and(grows));
        if self.processes.values().any(|held| grows(held.row())) || is_in_part() {
            self.suspected_until = self.clock.now + SUSPECTED;
        }
    }

    /// Judges one process now.
    pub(super) fn judge(&mut self, id: Identity, scheduler: &mut EvaluationScheduler, started_at: Option<Duration>) {
        if let Some(held) = self.processes.get_mut(&id) {
            held.judge(self.clock, scheduler, None, started_at);
        }
    }

    /// Judges one group now.
    pub(super) fn judge_group(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        self.groups.judge(number, self.clock, scheduler);
    }

    /// Returns what is to be judged, of all of it.
    pub(super) fn numbers(&self) -> Vec<RowNumber> {
        let processes = self.processes.keys().map(|id| RowNumber::Held(*id));
        let mut all: Vec<_> = processes.chain(self.groups.numbers()).collect();
        all.sort_unstable();
        all
    }

    /// Forgets what the changes were over another length of time.
    pub(super) fn clear_windows(&mut self) {
        self.rows_mut().for_each(RowHistory::clear_window);
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.rows_mut().for_each(|row| row.set_retention(retention));
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut RowHistory> {
        let processes = self.processes.values_mut().map(|held| held.row_mut());
        processes.chain(self.groups.rows_mut())
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.processes.values().map(|held| held.bytes());
        let slot = size_of::<(Identity, Box<HeldHistory>)>() + 1;
        rows.sum::<usize>()
            + self.processes.capacity() * slot
            + self.left_out.capacity() * size_of::<Identity>()
            + self.groups.bytes()
    }
}
