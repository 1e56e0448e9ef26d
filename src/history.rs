//! Histories: changes, rates, series and verdicts, from one snapshot after another.
//!
//! [`History::push`] takes in each snapshot; the screen, the printed reports and the alerts read the result. A history
//! is pure: the same snapshots give the same history, live or from a recording. It never does I/O, never asks for a
//! snapshot, and draws nothing.
//!
//! # Resolutions
//! Each process and group has a [`RowHistory`] with two [time series](time_series::TimeSeries), of its footprint and
//! of the anonymous part of it, a month back: by the second for 5 minutes, by 10 s for an hour, by the minute for a day,
//! by 10 minutes for a week, by 2 hours for a month. A *bucket* is one such step: its lowest, last and
//! highest value. Equal buckets in a row are stored as one *run*, so a value that stays takes no space.
//!
//! # Memory bound
//! All of it stays within [`HistoryConfig::max_memory`]. Where that is not enough, ended processes are dropped first,
//! then groups without members; then every series keeps a half, a quarter or an eighth of its buckets; at last the rows
//! that are small and grow least are without a past, which [`History::shortfall`] tells of. A process that never
//! changed takes some 400 bytes, one that changes every second of a month 70 KB for each series.
//!
//! # Verdicts
//! A series is judged (see [`crate::trend`]) every ten seconds while it changes, every thirty otherwise, in turns, so
//! that no snapshot pays for all: see [`evaluation`].
//!
//! # Adding a figure with a history
//! 1. Add a field to [`MemorySample`], and a line for it in `new` and in `add`; groups sum it from then on.
//! 2. Add a [`TimeSeries`](time_series::TimeSeries) to [`RowHistory`], and a line for it in `push_series`,
//!    `set_retention`, `cut` and `bytes`, so that it keeps within the memory bound.
//! 3. Add an accessor that returns a [`SeriesView`], as [`RowHistory::footprint`] does, for a column or a chart.
//!
//! # Modules within
//! [`marks`] compares a snapshot with an earlier one; [`mapping_diff`] does the same for the mappings of one process;
//! [`suspects`] lists what grows or leaks.

mod ended;
pub mod evaluation;
mod groups;
pub mod mapping_diff;
pub mod marks;
mod origin;
mod process;
mod retention;
pub mod row;
mod runs;
pub mod suspects;
mod system;
pub mod time_series;
mod upkeep;
pub mod view;
pub mod window;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

pub use ended::Ended;
use ended::EndedProcesses;
use evaluation::{EvaluationScheduler, RowNumber};
use groups::{GroupHistories, GroupNumbers, Membership};
pub use marks::{Mark, Marks};
use origin::Origin;
use process::{ProcessHistory, start_time};
use retention::RetentionPolicy;
pub use retention::Shortfall;
pub use row::{MemorySample, Rates, RowHistory, Tick};
pub use system::SystemHistory;
use upkeep::all_rows;
pub use view::SeriesView;

use crate::group::{Group, GroupBy, GroupKey, GroupNames};
use crate::model::process::{Identity, ProcessSample};
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
}

impl HistoryConfig {
    /// Returns the default configuration, 64 MiB, for changes over `window`.
    pub fn with_window(window: Duration) -> Self {
        Self {
            window,
            trend: Params::default(),
            // 40 000 processes, of which 5 000 change every second, take 50 MiB; a thousand that rest, a half.
            max_memory: 64 << 20,
        }
    }
}

/// The histories of the processes of the last snapshot, of those that ended recently, of groups, and of the system.
#[derive(Debug)]
pub struct History {
    config: HistoryConfig,
    /// Time that changes are taken over now.
    window: Duration,
    /// Boxed, as half of a hash table is empty.
    processes: HashMap<Identity, Box<ProcessHistory>>,
    ended: EndedProcesses,
    groups: GroupHistories,
    system: SystemHistory,
    scheduler: EvaluationScheduler,
    retention: RetentionPolicy,
    /// The number of the last snapshot.
    number: u64,
    last: Option<Origin>,
    /// The time of the first snapshot.
    first: Option<Duration>,
    /// The time of the last snapshot in which the processes were listed.
    listed_at: Duration,
    /// The time between snapshots, the last two times.
    intervals: [Duration; 2],
    shortfall: Shortfall,
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
            window: config.window,
            processes: HashMap::new(),
            ended: EndedProcesses::default(),
            groups: GroupHistories::new(),
            system: SystemHistory::default(),
            scheduler: EvaluationScheduler::new(config.trend),
            retention: RetentionPolicy::new(config.max_memory),
            number: 0,
            last: None,
            first: None,
            listed_at: Duration::ZERO,
            intervals: [Duration::ZERO; 2],
            shortfall: Shortfall::default(),
        }
    }

    /// Takes in one snapshot. A process that made an exec starts anew. One that is no longer listed has ended; where
    /// `/proc` could not be listed none ends. Everything starts anew where the snapshot is of another boot or host than
    /// the one before, or earlier.
    pub fn push(&mut self, snapshot: &Snapshot) {
        self.push_chosen(snapshot, |_| Some(true));
    }

    /// Takes in the processes of a snapshot that are chosen: others have no history, and are in no group. One that was
    /// chosen stays so until it ends or makes an exec: it must not look like growth that it no longer is what was asked
    /// for, and then is again. `None` says that it cannot be told yet; such a process is in no group so far.
    pub fn push_chosen(&mut self, snapshot: &Snapshot, choose: impl Fn(&ProcessSample) -> Option<bool>) {
        if self.last.as_ref().is_some_and(|last| !last.precedes(snapshot)) {
            *self = Self::with_config(self.config);
        }
        let tick = self.start_tick(snapshot);
        self.system.push(snapshot, tick);
        let Ok(processes) = &snapshot.processes else { return };
        let names = GroupNames::new(processes);
        let is_first = self.groups.start_snapshot(tick.now);
        let (mut bytes, mut without_past) = (0, 0);
        for sample in processes {
            let shared = sample.shares_mm.map(|id| (id, self.counted_in(id)));
            let entry = self.processes.entry(sample.id);
            let is_chosen = |known: &ProcessHistory| known.is_chosen && known.exec == sample.exec;
            let choice = match &entry {
                Entry::Occupied(known) if is_chosen(known.get()) => Some(true),
                _ => choose(sample),
            };
            if choice == Some(false) {
                if let Entry::Occupied(known) = entry {
                    known.remove();
                }
                continue;
            }
            let process = entry.or_insert_with(|| {
                let started_at = start_time(sample, snapshot);
                Box::new(ProcessHistory::new(sample, started_at, is_first))
            });
            if process.exec != sample.exec {
                **process = ProcessHistory::new(sample, Some(tick.now), false);
            }
            process.is_chosen = choice.is_some();
            process.push(sample, tick, self.number, self.listed_at);
            process.row.queue(&mut self.scheduler, RowNumber::Process(sample.id));
            // Kernel threads have no memory, and nobody looks for them among the programs.
            if !process.is_chosen {
                self.groups.wait_for(&process.membership);
            } else if !sample.stat.is_kernel_thread() {
                self.groups.add(
                    sample,
                    &mut process.membership,
                    process.started_at,
                    &process.row,
                    &names,
                    shared,
                );
            }
            bytes += process.bytes();
            without_past += usize::from(process.row.is_without_past());
        }
        self.listed_at = tick.now;
        self.remove_ended(tick);
        self.groups.finish_snapshot(tick, &mut self.scheduler);
        self.judge_due();
        self.shortfall.processes = without_past;
        self.bound_memory(tick, bytes + self.bytes_without_processes());
    }

    fn start_tick(&mut self, snapshot: &Snapshot) -> Tick {
        let now = snapshot.monotonic;
        if let Some(last) = &self.last {
            self.intervals = [self.intervals[1], now.saturating_sub(last.monotonic)];
        }
        // A single pause, or a manual refresh, must not change the detected interval.
        let interval = self.intervals[0].min(self.intervals[1]).max(snapshot.interval);
        self.last = Some(Origin::of(snapshot));
        self.first.get_or_insert(now);
        self.number += 1;
        // A quarter more than the interval, as a snapshot may be late: a window must hold the one before.
        let window = self.config.window.max(snapshot.interval.saturating_mul(5) / 4);
        if window != self.window {
            self.window = window;
            all_rows(&mut self.processes, &mut self.groups).for_each(|(_, row)| row.clear_window());
        }
        self.scheduler.start_snapshot(now, interval);
        Tick {
            now,
            interval,
            window,
            retention: self.retention.retention(),
            has_room: self.retention.has_room(),
        }
    }

    /// Moves the processes that were not in this snapshot to those that ended.
    fn remove_ended(&mut self, tick: Tick) {
        let number = self.number;
        if self.processes.values().all(|process| process.seen_in == number) {
            return;
        }
        let ended = self.processes.extract_if(|_, process| process.seen_in != number);
        let mut ended: Vec<_> = ended.filter(|(_, process)| process.is_memorable()).collect();
        // The order of a hash table differs from run to run; a history must not.
        ended.sort_unstable_by_key(|(id, _)| *id);
        for (id, process) in ended {
            let command = self.groups.command(&process.membership);
            self.ended.push(Box::new(Ended {
                id,
                facts: process.facts,
                command,
                at: tick.now,
                history: process.row,
            }));
        }
        if self.processes.capacity() > 4 * self.processes.len() + 1024 {
            self.processes.shrink_to_fit();
        }
    }

    /// Returns what is not kept, or not judged yet, for want of memory or time.
    pub const fn shortfall(&self) -> &Shortfall {
        &self.shortfall
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
            + self.scheduler.bytes()
    }

    /// Judges every row now, rather than in turns: for a history that gets no further snapshots.
    pub fn judge_all(&mut self) {
        for process in self.processes.values_mut() {
            process.row.evaluate(&mut self.scheduler, process.started_at);
        }
        self.groups.table.judge_all(&mut self.scheduler);
    }

    /// Returns the groups in which the memory of a process, which comes earlier in this snapshot, is counted.
    fn counted_in(&self, id: Identity) -> GroupNumbers {
        match self.processes.get(&id) {
            Some(process) if process.seen_in == self.number => process.counted_in(),
            _ => Membership::NONE,
        }
    }

    /// Returns the history of a process of the last snapshot.
    pub fn get(&self, id: Identity) -> Option<&RowHistory> {
        self.processes.get(&id).map(|process| &process.row)
    }

    /// Returns the time of the first snapshot on the monotonic clock; `None` while it is empty.
    pub const fn since(&self) -> Option<Duration> {
        self.first
    }

    /// Returns every process of the last snapshot.
    pub fn processes(&self) -> impl Iterator<Item = (Identity, &RowHistory)> {
        self.processes.iter().map(|(id, process)| (*id, &process.row))
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

    /// Returns the rates and series of the system.
    pub const fn system(&self) -> &SystemHistory {
        &self.system
    }
}
