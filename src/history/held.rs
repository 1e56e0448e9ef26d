//! Histories of memory held through descriptors. It is in no PSS, so it has rows of its own.
//!
//! A process has a row from the time it first holds something until it ends. The row of a group sums its members.
//!
//! Descriptors are only read on demand. [`HeldHistories::is_suspected`] requests it too, while a part of the RAM grows that
//! contains such memory.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::account::REST;
use crate::group::{GroupBy, GroupKey};
use crate::history::evaluation::{EvaluationScheduler, MemberCounts, RowNumber};
use crate::history::groups::{GroupHistories, GroupNumbers};
use crate::history::kernel::PartHistories;
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::model::held::{HeldFigures, HeldKind};
use crate::model::process::{Identity, ProcessSample};
use crate::trend::Metric;

/// Maximum number of processes with a row: those that hold most.
const MAX_HOLDERS: usize = 4096;
/// The parts of the RAM that contain held memory.
const PARTS: [&str; 6] = ["shmem", "gpu", "vmalloc", "percpu", "slab_unreclaimable", REST];
/// Time for which descriptors are still read after growth, so that a leak in bursts is not lost between two bursts.
const SUSPECTED: Duration = Duration::from_secs(600);

/// The held memory of all processes and groups that ever held something.
#[derive(Debug, Default)]
pub struct HeldHistories {
    processes: HashMap<Identity, Box<HeldHistory>>,
    /// Holders beyond [`MAX_HOLDERS`], which have no row.
    left_out: HashSet<Identity>,
    groups: HashMap<u32, HeldGroup>,
    /// The time of the last snapshot.
    clock: Clock,
    /// The held memory, or the groups, of the process changed since the previous snapshot.
    is_touched: bool,
    suspected_until: Duration,
}

/// A group with a process that held something.
#[derive(Debug)]
struct HeldGroup {
    key: GroupKey,
    held: HeldHistory,
    sum: Sum,
    /// The number of holders over time.
    members: MemberCounts,
}

/// The sum of the members of a group.
#[derive(Debug, Default)]
struct Sum {
    figures: HeldFigures,
    holders: u32,
    is_known: bool,
    cpu: f64,
}

impl HeldHistories {
    /// Returns `None` if the process is not known to have ever held anything.
    pub fn get(&self, id: Identity) -> Option<&HeldHistory> {
        Some(self.processes.get(&id)?.rested(self.clock))
    }

    pub fn processes(&self) -> impl Iterator<Item = (Identity, &HeldHistory)> {
        self.processes.iter().map(|(id, held)| (*id, held.rested(self.clock)))
    }

    /// Returns the number of holders without a row.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    pub fn groups_by(&self, by: GroupBy) -> impl Iterator<Item = (&GroupKey, &HeldHistory)> {
        let groups = self.groups.values().filter(move |group| group.key.by == by);
        groups.map(|group| (&group.key, group.held.rested(self.clock)))
    }

    /// Returns the group of that number, unless the number was reused for another key.
    pub(super) fn group(&self, number: u32, key: &GroupKey) -> Option<&HeldHistory> {
        let group = self.groups.get(&number).filter(|group| group.key == *key)?;
        Some(group.held.rested(self.clock))
    }

    /// Returns true if descriptors must be read even if no column needs them, because held memory, or a part of the RAM that
    /// contains it, grows.
    pub const fn is_suspected(&self) -> bool {
        !self.suspected_until.is_zero() && self.clock.now.as_nanos() < self.suspected_until.as_nanos()
    }

    /// Returns the processes that change as time passes.
    pub(super) fn awake(&self, now: u32) -> impl Iterator<Item = Identity> {
        let known = self.processes.iter().filter(|(_, held)| held.is_known);
        let awake = known.filter(move |(_, held)| !held.row.evaluation.is_resting || held.is_due(now));
        awake.map(|(id, _)| *id)
    }

    /// Returns true if a process changed in the last snapshot, or changes as time passes.
    pub(super) fn is_awake(&self, id: Identity) -> bool {
        self.processes
            .get(&id)
            .is_some_and(|held| !held.row.evaluation.is_resting)
    }

    /// Continues the saved history of a process.
    pub(super) fn resume(&mut self, id: Identity, row: RowHistory) {
        let held = HeldHistory {
            row,
            ..HeldHistory::default()
        };
        self.processes.insert(id, Box::new(held));
    }

    /// Drops a process that ended or ran exec.
    pub(super) fn remove(&mut self, id: Identity) {
        self.left_out.remove(&id);
        self.is_touched |= self.processes.remove(&id).is_some();
    }

    /// Records what a process holds.
    pub(super) fn record(&mut self, sample: &ProcessSample) {
        if sample.held.is_none() && self.processes.is_empty() {
            return;
        }
        let figures = sample.held().map(|held| held.figures);
        if let Some(held) = self.processes.get_mut(&sample.id) {
            held.is_known = figures.is_ok();
            held.figures = figures.unwrap_or(held.figures);
        } else if let Some(figures) = figures.ok().filter(|figures| figures.total() > 0) {
            if self.processes.len() >= MAX_HOLDERS {
                // A user's many small holders must not hide a large one.
                let rows = self.processes.iter();
                let rows = rows.map(|(id, held)| (held.figures.total(), Reverse(*id)));
                let Some((bytes, Reverse(least))) = rows.min().filter(|(least, _)| *least < figures.total()) else {
                    self.left_out.insert(sample.id);
                    return;
                };
                self.processes.remove(&least);
                if bytes > 0 {
                    self.left_out.insert(least);
                }
            }
            self.left_out.remove(&sample.id);
            let held = HeldHistory {
                figures,
                before: figures,
                is_known: true,
                ..HeldHistory::default()
            };
            self.processes.insert(sample.id, Box::new(held));
        } else {
            self.left_out.remove(&sample.id);
            return;
        }
        self.is_touched = true;
    }

    /// Finishes a snapshot: pushes the figures of every row, and queues the rows that are due. `about` returns the groups that
    /// a process is counted in, and its processor time.
    pub(super) fn finish(
        &mut self,
        tick: Tick,
        groups: &GroupHistories,
        about: impl Fn(Identity) -> Option<(GroupNumbers, f64)>,
        scheduler: &mut EvaluationScheduler,
    ) {
        let rested = std::mem::replace(&mut self.clock, tick.into());
        for (id, held) in &mut self.processes {
            held.push(tick, rested, about(*id).map_or(0.0, |(_, cpu)| cpu));
            held.queue(self.clock, scheduler, RowNumber::Held(*id));
        }
        if std::mem::take(&mut self.is_touched) {
            self.sum_groups(groups, about);
        }
        for (number, group) in &mut self.groups {
            group.held.push(tick, rested, group.sum.cpu);
            if group.held.is_known && group.sum.holders > 0 {
                group.members.push(tick.now, group.sum.holders, tick.retention);
            }
            if group.held.row.is_without_past() {
                group.members.0.clear_past();
            }
            group.held.queue(self.clock, scheduler, RowNumber::HeldGroup(*number));
        }
    }

    fn sum_groups(&mut self, groups: &GroupHistories, about: impl Fn(Identity) -> Option<(GroupNumbers, f64)>) {
        let mut sums: HashMap<u32, Sum> = HashMap::new();
        for (id, held) in &self.processes {
            let Some((numbers, cpu)) = about(*id) else { continue };
            for number in numbers {
                let sum = sums.entry(number).or_default();
                sum.figures.add(&held.figures);
                sum.holders += u32::from(held.figures.total() > 0);
                sum.is_known |= held.is_known;
                sum.cpu += cpu;
            }
        }
        self.groups
            .retain(|number, group| groups.key(*number).is_some_and(|key| key == group.key));
        for (number, sum) in &sums {
            if sum.figures.total() > 0
                && !self.groups.contains_key(number)
                && let Some(key) = groups.key(*number)
            {
                let group = HeldGroup {
                    key,
                    held: HeldHistory::default(),
                    sum: Sum::default(),
                    members: MemberCounts::default(),
                };
                self.groups.insert(*number, group);
            }
        }
        for (number, group) in &mut self.groups {
            // A group without members holds nothing, and that is known.
            group.sum = sums.remove(number).unwrap_or(Sum {
                is_known: true,
                ..Sum::default()
            });
            (group.held.figures, group.held.is_known) = (group.sum.figures, group.sum.is_known);
        }
    }

    /// Starts or prolongs the time in which [`Self::is_suspected`].
    pub(super) fn suspect(&mut self, parts: &PartHistories) {
        let grows = |row: &RowHistory| row.trend().verdict.is_growth();
        let is_in_part = || PARTS.iter().any(|id| parts.get(id).is_some_and(grows));
        if self.processes.values().any(|held| grows(&held.row)) || is_in_part() {
            self.suspected_until = self.clock.now + SUSPECTED;
        }
    }

    pub(super) fn judge(&mut self, id: Identity, scheduler: &mut EvaluationScheduler, started_at: Option<Duration>) {
        if let Some(held) = self.processes.get_mut(&id) {
            held.judge(self.clock, scheduler, None, started_at);
        }
    }

    pub(super) fn judge_group(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        if let Some(group) = self.groups.get_mut(&number) {
            group.held.judge(self.clock, scheduler, Some(&group.members), None);
        }
    }

    /// Returns the rows of processes and groups.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = (RowNumber, &mut RowHistory)> {
        let processes = self.processes.iter_mut();
        let processes = processes.map(|(id, held)| (RowNumber::Held(*id), &mut held.row));
        let groups = self.groups.iter_mut();
        processes.chain(groups.map(|(number, group)| (RowNumber::HeldGroup(*number), &mut group.held.row)))
    }

    /// Returns the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let without_row = size_of::<HeldHistory>() - size_of::<RowHistory>();
        let processes = self.processes.values().map(|held| without_row + held.row.bytes());
        let groups = self.groups.values().map(|group| {
            let own = group.held.row.bytes() - size_of::<RowHistory>();
            own + group.members.0.bytes() - size_of::<MemberCounts>()
        });
        processes.chain(groups).sum::<usize>()
            + self.processes.capacity() * (size_of::<(Identity, Box<HeldHistory>)>() + 1)
            + self.groups.capacity() * (size_of::<(u32, HeldGroup)>() + 1)
            + self.left_out.capacity() * size_of::<Identity>()
    }
}

/// The held memory of a process or a group.
#[derive(Debug, Default)]
pub struct HeldHistory {
    /// The figures last known.
    figures: HeldFigures,
    /// The figures from before it grew.
    before: HeldFigures,
    /// The last snapshot has its figures.
    is_known: bool,
    row: RowHistory,
}

impl HeldHistory {
    pub const fn row(&self) -> &RowHistory {
        &self.row
    }

    fn rested(&self, clock: Clock) -> &Self {
        self.row.rested(clock);
        self
    }

    /// Returns the kind that grew most since growth began; if none grew, the kind that holds most.
    pub fn kind(&self) -> HeldKind {
        let grown = |kind: HeldKind| self.figures.of(kind).saturating_sub(self.before.of(kind));
        let most = |of: &dyn Fn(HeldKind) -> u64| HeldKind::ALL.into_iter().rev().max_by_key(|kind| of(*kind));
        let grew = most(&grown).filter(|kind| grown(*kind) > 0);
        grew.or_else(|| most(&|kind| self.figures.of(kind)))
            .unwrap_or(HeldKind::Memfd)
    }

    fn push(&mut self, tick: Tick, rested: Clock, cpu: f64) {
        let sample = self.is_known.then(|| MemorySample::of_total(self.figures.total()));
        if self.row.evaluation.is_resting && sample == self.row.known {
            return;
        }
        self.row.rested(rested);
        let cpu = Some(cpu).filter(|_| self.row.trend().verdict.is_growth());
        let rates = Rates {
            cpu: cpu.or(Rates::RESTING.cpu),
            ..Rates::RESTING
        };
        self.row.push(tick, sample, &rates);
        self.row.evaluation.is_resting = self.is_known && self.row.can_rest();
    }

    /// Judges it now; a group with its `members`.
    fn judge(
        &mut self,
        clock: Clock,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        self.row.rested(clock);
        self.row.evaluate(scheduler, members, started_at);
        if let Some(latest) = &mut self.row.evaluation.latest {
            latest.judgement.metric = Metric::Descriptors;
        }
        if !self.row.trend().verdict.is_growth() {
            self.before = self.figures;
        }
    }

    fn queue(&mut self, clock: Clock, scheduler: &mut EvaluationScheduler, number: RowNumber) {
        if self.is_due(scheduler.now) || !self.row.evaluation.is_resting {
            self.row.rested(clock);
            self.row.queue(scheduler, number);
        }
    }

    fn is_due(&self, now: u32) -> bool {
        self.row.evaluation.due().is_some_and(|due| due <= now)
    }
}
