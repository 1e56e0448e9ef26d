//! The histories of what is held through descriptors: rows of their own beside those of the footprints, for this memory is
//! in nobody's PSS.
//!
//! Most processes hold nothing, and have no row here. One that once held something has, until it ends. Groups have those
//! of their members summed.
//!
//! It is read only where somebody asks. [`HeldHistories::is_suspected`] asks, too, while a part of the RAM grows in which it
//! would be, as its growth is nobody's otherwise.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::account::REST;
use crate::group::{GroupBy, GroupKey};
use crate::history::evaluation::{EvaluationScheduler, MemberCounts, RowNumber};
use crate::history::groups::{GroupHistories, GroupNumbers};
use crate::history::kernel::PartHistories;
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::history::time_series::Retention;
use crate::model::held::{HeldFigures, HeldKind};
use crate::model::process::{Identity, ProcessSample};

/// Processes with a row at most: those that hold something first of all, in order of pid.
const MAX_HOLDERS: usize = 4096;
/// The parts of the RAM that what is held is in.
const PARTS: [&str; 6] = ["shmem", "gpu", "vmalloc", "percpu", "slab_unreclaimable", REST];
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

/// The history of what a process or a group holds.
#[derive(Debug, Default)]
pub struct HeldHistory {
    /// The figures last known.
    pub(super) figures: HeldFigures,
    /// The figures of when it did not grow yet.
    before: HeldFigures,
    /// It is known in this snapshot.
    pub(super) is_known: bool,
    /// Nothing but time changes at it while it is the same.
    is_resting: bool,
    row: RowHistory,
}

impl HeldHistory {
    /// Begins with these figures.
    pub(super) fn new(figures: HeldFigures) -> Self {
        Self {
            figures,
            before: figures,
            is_known: true,
            ..Self::default()
        }
    }

    /// Goes on from a past that was kept.
    pub(super) fn resumed(row: RowHistory) -> Self {
        Self { row, ..Self::default() }
    }

    /// Returns its history.
    pub const fn row(&self) -> &RowHistory {
        &self.row
    }

    /// Returns the kind that grew most, since it began to grow; where none did, that of which most is held.
    pub fn kind(&self) -> HeldKind {
        let grown = |kind: HeldKind| self.figures.of(kind).saturating_sub(self.before.of(kind));
        let most = |of: &dyn Fn(HeldKind) -> u64| HeldKind::ALL.into_iter().rev().max_by_key(|kind| of(*kind));
        let grew = most(&grown).filter(|kind| grown(*kind) > 0);
        grew.or_else(|| most(&|kind| self.figures.of(kind)))
            .unwrap_or(HeldKind::Memfd)
    }

    /// Takes in the figures of this snapshot; where nothing changed since it came to rest, only time passes.
    pub(super) fn push(&mut self, tick: Tick, rested: Clock, cpu: f64) {
        let bytes = self.figures.total();
        let sample = self.is_known.then_some(MemorySample {
            pss: bytes,
            swap: 0,
            footprint: bytes,
            held: 0,
            // Of most kinds what is asked for is taken at once.
            asked: bytes,
        });
        if self.is_resting && sample == self.row.known {
            return;
        }
        if self.is_resting {
            self.row.rest_until(rested);
        }
        let cpu = Some(cpu).filter(|_| self.row.trend().verdict.is_growth());
        let rates = Rates {
            cpu: cpu.or(Rates::RESTING.cpu),
            ..Rates::RESTING
        };
        self.row.push(tick, sample, &rates);
        self.is_resting = self.is_known && self.row.is_resting();
    }

    /// Lets time pass in it until then, if it rests.
    pub(super) fn rest_until(&self, clock: Clock) {
        if self.is_resting {
            self.row.rest_until(clock);
        }
    }

    /// Judges it now; a group by its `members`.
    pub(super) fn judge(
        &mut self,
        clock: Clock,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        self.rest_until(clock);
        self.row.evaluate_descriptors(scheduler, members, started_at);
        if !self.row.trend().verdict.is_growth() {
            self.before = self.figures;
        }
    }

    /// Puts it in the queue of what is judged, if it is due.
    pub(super) fn queue(&mut self, clock: Clock, scheduler: &mut EvaluationScheduler, number: RowNumber) {
        if self.is_due(scheduler.now()) || !self.is_resting {
            self.rest_until(clock);
            self.row.queue(scheduler, number);
        }
    }

    pub(super) fn is_due(&self, now: u32) -> bool {
        self.row.due().is_some_and(|due| due <= now)
    }

    pub(super) const fn is_resting(&self) -> bool {
        self.is_resting
    }

    pub(super) const fn row_mut(&mut self) -> &mut RowHistory {
        &mut self.row
    }

    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<RowHistory>() + self.row.bytes()
    }
}

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
