//! Histories: changes, rates, series and verdicts, from one snapshot after another.
//!
//! [`History::push`] takes in each snapshot; the screen, the printed reports and the alerts read the result. A history
//! is pure: the same snapshots give the same history, live or from a recording. It never does I/O, never asks for a
//! snapshot, and draws nothing.
//!
//! # Resolutions
//! Each process and group has a [`RowHistory`] with two [time series](time_series::TimeSeries), of its footprint and
//! of the held part of it, a month back: by the second for 5 minutes, by 10 s for an hour, by the minute for a day,
//! by 10 minutes for a week, by 2 hours for a month. A *bucket* is one such step: its lowest, last and
//! highest value. Equal buckets in a row are stored as one *run*, so a value that stays takes no space.
//!
//! # Memory bound
//! All of it stays within [`HistoryConfig::max_memory`]. Where that is not enough, ended processes are dropped first,
//! then groups without members; then every series keeps a half, a quarter or an eighth of its buckets; at last the rows
//! that are small and grow least are without a past, which [`History::shortfall`] tells of. A process that never
//! changed takes some 400 bytes, one that changes every second of a month 70 KB for each series.
//!
//! # What does not change
//! A snapshot may say which of its rows changed. Of the others only those are pushed at which time changes something:
//! a change that leaves its window, a judgement that is due. The rest *rests*: time passes in it when somebody looks.
//! The result is the same as if every row were pushed at every snapshot.
//!
//! # Verdicts
//! A series is judged (see [`crate::trend`]) every ten seconds while it changes, every thirty otherwise, in turns, so
//! that no snapshot pays for all: see [`evaluation`].
//!
//! # Adding a figure with a history
//! 1. Add a field to [`MemorySample`], and a line for it in `new`, `figures` and `of_sums`; groups sum it from then on.
//! 2. Add a [`TimeSeries`](time_series::TimeSeries) to [`RowHistory`], and a line for it in `push_series`,
//!    `set_retention`, `cut` and `bytes`, so that it keeps within the memory bound.
//! 3. Add an accessor that returns a [`SeriesView`], as [`RowHistory::footprint`] does, for a column or a chart.
//!
//! # Modules within
//! [`marks`] compares a snapshot with an earlier one; [`mappings`] does the same for the mappings of one process,
//! and shows which of them it touched; [`suspects`] lists what grows or leaks; [`dangers`] the limits that are reached soon;
//! [`kernel`] follows the parts of the RAM, the slab caches and allocation sites, [`held`] what is held through descriptors. [`kept`] writes a history as bytes, for the next time that zmtop
//! runs. `MemberCounts` makes the sum of a group comparable while its members come and go.

pub mod dangers;
mod digest;
pub mod evaluation;
mod group_table;
mod groups;
pub mod held;
pub mod kept;
pub mod kernel;
pub mod mappings;
pub mod marks;
mod process;
mod push;
mod retention;
pub mod row;
pub mod suspects;
pub mod system;
pub mod time_series;
pub mod view;
pub mod window;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use dangers::DangerWatch;
use evaluation::EvaluationScheduler;
use groups::GroupHistories;
use held::{HeldHistories, HeldHistory};
use kept::Kept;
use kernel::{KernelHistories, PartHistories, TableHistories};
use marks::Origin;
pub use marks::{Mark, Marks};
pub use process::Ended;
use process::{EndedProcesses, ProcessHistory};
use push::Wakeups;
use retention::RetentionPolicy;
pub use retention::Shortfall;
pub use row::{MemorySample, Rates, RowHistory, Tick};
use system::Suspends;
pub use system::SystemHistory;
pub use view::SeriesView;

use crate::group::{Group, GroupBy, GroupKey, GroupNames};
use crate::model::process::Identity;
use crate::model::snapshot::Snapshot;
use crate::trend::Params;

/// The configuration of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryConfig {
    /// Time that changes are taken over; at least from one snapshot to the next.
    pub window: Duration,
    /// Parameters of the verdicts.
    pub trend: Params,
    /// Maximum memory of all of it, in bytes.
    pub max_memory: u64,
    /// The process that this history is in: what the history takes of it has that limit, and is not judged.
    pub own_pid: Option<u32>,
}

impl HistoryConfig {
    /// Returns the default configuration, 64 MiB, for changes over `window`.
    pub fn with_window(window: Duration) -> Self {
        Self {
            window,
            trend: Params::default(),
            // 40 000 processes, of which 5 000 change every second, take 50 MiB; a thousand that rest, a half.
            max_memory: 64 << 20,
            own_pid: None,
        }
    }
}

/// The histories of the processes of the last snapshot, of those that ended recently, of groups, and of the system.
#[derive(Debug)]
pub struct History {
    config: HistoryConfig,
    /// Maximum time between two values whose difference is a change.
    reach: Duration,
    /// Boxed, as half of a hash table is empty.
    processes: HashMap<Identity, Box<ProcessHistory>>,
    ended: EndedProcesses,
    groups: GroupHistories,
    system: SystemHistory,
    parts: PartHistories,
    kernel: KernelHistories,
    held: HeldHistories,
    /// The past that was kept when zmtop ended, as far as no row has it yet.
    kept: Option<Box<Kept>>,
    danger_watch: DangerWatch,
    scheduler: EvaluationScheduler,
    retention: RetentionPolicy,
    /// The number of the last snapshot.
    number: u64,
    last: Option<Origin>,
    last_tick: Option<Tick>,
    /// The time of the first snapshot.
    first: Option<Duration>,
    /// The time between snapshots, the last two times.
    intervals: [Duration; 2],
    shortfall: Shortfall,
    suspends: Suspends,
    wakeups: Wakeups,
    /// The places of the processes that the last snapshot pushed, where not all; and of those among them that did not
    /// merely come to be judged.
    pushed: Option<Vec<u32>>,
    moved: Vec<u32>,
    /// The processes that grow or leak, and some that did.
    growing: BTreeSet<Identity>,
    /// The memory of the processes in bytes, and the number of those without a past, as of their last push.
    process_bytes: usize,
    without_past: usize,
    /// The memory of all of it as of the last snapshot.
    own_bytes: u64,
}

impl History {
    /// Creates an empty history with the default configuration, for changes over `window`.
    pub fn new(window: Duration) -> Self {
        Self::with_config(HistoryConfig::with_window(window))
    }

    /// Creates an empty history.
    pub fn with_config(config: HistoryConfig) -> Self {
        Self {
            config,
            reach: Duration::ZERO,
            processes: HashMap::new(),
            ended: EndedProcesses::default(),
            groups: GroupHistories::new(),
            system: SystemHistory::default(),
            parts: PartHistories::default(),
            kernel: KernelHistories::default(),
            held: HeldHistories::default(),
            kept: None,
            danger_watch: DangerWatch::default(),
            scheduler: EvaluationScheduler::new(config.trend),
            retention: RetentionPolicy::new(config.max_memory),
            number: 0,
            last: None,
            last_tick: None,
            first: None,
            intervals: [Duration::ZERO; 2],
            shortfall: Shortfall::default(),
            suspends: Suspends::default(),
            wakeups: Wakeups::default(),
            pushed: None,
            moved: Vec::new(),
            growing: BTreeSet::new(),
            process_bytes: 0,
            without_past: 0,
            own_bytes: 0,
        }
    }

    /// Returns what is not kept, or not judged yet, for want of memory or time.
    pub const fn shortfall(&self) -> &Shortfall {
        &self.shortfall
    }

    /// Says that this history is in the process of that pid, one of the machine whose snapshots it takes in.
    pub const fn set_own_pid(&mut self, pid: u32) {
        self.config.own_pid = Some(pid);
    }

    /// Returns the memory of all of it, in bytes.
    pub fn bytes(&self) -> usize {
        let processes = self.processes.values().map(|process| process.bytes());
        processes.sum::<usize>() + self.bytes_without_processes()
    }

    fn bytes_without_processes(&self) -> usize {
        // A slot of the hash table: key, value, and a control byte.
        let slot = size_of::<(Identity, Box<ProcessHistory>)>() + 1;
        self.processes.capacity() * slot
            + self.ended.bytes()
            + self.groups.table.bytes()
            + self.system.bytes()
            + self.parts.bytes()
            + self.kernel.bytes()
            + self.held.bytes()
            + self.danger_watch.bytes()
            + self.scheduler.bytes()
            + self.processes.len() * Wakeups::BYTES_PER_PROCESS
    }

    /// Returns the history of a process of the last snapshot.
    pub fn get(&self, id: Identity) -> Option<&RowHistory> {
        self.processes
            .get(&id)
            .map(|process| process.rested(self.wakeups.clock))
    }

    /// Returns when the program that a process of the last snapshot runs started: the process, or its last exec that was
    /// seen; `None` where the machine does not tell.
    pub fn started_at(&self, id: Identity) -> Option<Duration> {
        // Zero stands for any time before the clock began.
        self.processes.get(&id)?.started_at.filter(|at| !at.is_zero())
    }

    /// Returns the places in the last snapshot of the processes whose rows, changes or judgements may differ from those of
    /// the snapshot before; `None` for all.
    pub fn pushed(&self) -> Option<&[u32]> {
        self.pushed.as_deref()
    }

    /// Returns those of them whose figures or changes may differ; the others were only judged.
    pub fn moved(&self) -> &[u32] {
        &self.moved
    }

    /// Returns the time of the first snapshot on the monotonic clock; `None` while it is empty.
    pub const fn since(&self) -> Option<Duration> {
        self.first
    }

    /// Returns the times at which the machine was suspended.
    pub const fn suspends(&self) -> &Suspends {
        &self.suspends
    }

    /// Returns the time from that moment of the monotonic clock to the last snapshot, suspends included.
    pub fn elapsed_since(&self, at: Duration) -> Duration {
        let now = self.last.as_ref().map_or(at, |last| last.monotonic);
        self.suspends.elapsed(at, now)
    }

    /// Returns every process of the last snapshot.
    pub fn processes(&self) -> impl Iterator<Item = (Identity, &RowHistory)> {
        let clock = self.wakeups.clock;
        self.processes
            .iter()
            .map(move |(id, process)| (*id, process.rested(clock)))
    }

    /// Returns those of them that grow or leak, and some that did, in order.
    pub(crate) fn growing(&self) -> impl Iterator<Item = (Identity, &RowHistory)> {
        self.growing.iter().filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Returns the name of the group by command that a process of the last snapshot is in.
    pub fn command(&self, id: Identity) -> Option<Arc<[u8]>> {
        self.groups.command(&self.processes.get(&id)?.membership)
    }

    /// Returns a process that ended recently: a thousand are remembered, as far as there is memory for them.
    pub fn ended(&self, id: Identity) -> Option<&Ended> {
        self.ended.get(id)
    }

    /// Returns all of those, the last that ended first.
    pub fn all_ended(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.ended.iter()
    }

    /// Returns the history of a group of processes. It goes on while they come and go, and is kept for a day after the
    /// last, as far as there is memory for it.
    pub fn group(&self, key: &GroupKey) -> Option<&RowHistory> {
        self.groups.table.get(key.by, key.name.as_deref())
    }

    /// Returns the history of a group that was made of this snapshot; of a family of one process that process's.
    pub fn of_group(&self, group: &Group, snapshot: &Snapshot) -> Option<&RowHistory> {
        self.group(&group.key).or_else(|| match *group.members {
            [only] if group.key.by == GroupBy::Family => self.get(snapshot.rows().get(only)?.id),
            _ => None,
        })
    }

    /// Returns true if a group has a history, or is a family of one in this snapshot.
    pub fn has_group(&self, key: &GroupKey, snapshot: &Snapshot) -> bool {
        let is_known = self.group(key).is_some();
        if is_known || key.by != GroupBy::Family {
            return is_known;
        }
        let names = GroupNames::new(snapshot.rows());
        let is_it = |sample| names.name_of(sample, key.by).as_deref() == key.name.as_deref();
        snapshot.rows().iter().any(is_it)
    }

    /// Returns true if a process of the last snapshot is in a family with others.
    pub(crate) fn has_family(&self, id: Identity) -> bool {
        let process = self.processes.get(&id);
        process.is_some_and(|process| GroupHistories::has_family(&process.membership))
    }

    /// Returns every group of that kind, by its name.
    pub fn groups_by(&self, by: GroupBy) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory)> {
        self.groups.table.iter(by)
    }

    /// Returns how many processes of the last snapshot a group has; 0 of a family of one, which is no group.
    pub(crate) fn members(&self, by: GroupBy, name: Option<&[u8]>) -> usize {
        self.groups.members(by, name)
    }

    /// Returns how many groups have a history.
    pub const fn groups(&self) -> usize {
        self.groups.table.len()
    }

    /// Returns how many processes have a history, without those that ended.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Returns true if no process has a history.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Returns the parts of the RAM.
    pub const fn parts(&self) -> &PartHistories {
        &self.parts
    }

    /// Returns the slab caches of the kernel.
    pub const fn slab(&self) -> &TableHistories {
        &self.kernel.slab
    }

    /// Returns the allocation sites of the kernel.
    pub const fn sites(&self) -> &TableHistories {
        &self.kernel.sites
    }

    /// Returns what is held through descriptors, by process.
    pub const fn held(&self) -> &HeldHistories {
        &self.held
    }

    /// Returns what a group holds through descriptors; of a family of one process what that holds.
    pub fn held_of_group(&self, group: &Group, snapshot: &Snapshot) -> Option<&HeldHistory> {
        let of_group = |number| self.held.group(number, &group.key);
        self.groups
            .number(&group.key)
            .and_then(of_group)
            .or_else(|| match *group.members {
                [only] if group.key.by == GroupBy::Family => self.held.get(snapshot.rows().get(only)?.id),
                _ => None,
            })
    }

    /// Returns the rates and series of the system.
    pub const fn system(&self) -> &SystemHistory {
        &self.system
    }
}
