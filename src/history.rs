//! What is derived from a run of snapshots: changes, rates, lines, and verdicts on what grows.
//!
//! Pure: the same snapshots give the same history, whether they come live or from a recording.

mod ended;
pub mod evaluation;
mod groups;
pub mod mapping_diff;
pub mod marks;
mod process;
mod retention;
pub mod row;
mod runs;
pub mod suspects;
mod system;
pub mod time_series;
pub mod view;
pub mod window;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub use ended::Ended;
use ended::Past;
use evaluation::Judge;
use groups::{Groups, Member};
pub use marks::{Mark, Marks};
use process::Track;
use retention::Thrift;
pub use row::{MemorySample, Rates, RowHistory, Tick};
pub use system::SystemHistory;
pub use view::SeriesView;

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Reading;
use crate::model::snapshot::Snapshot;
use crate::trend::Params;

/// How a history is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryConfig {
    /// What changes are taken over; from one snapshot to the next where those lie further apart.
    pub window: Duration,
    /// What verdicts go by.
    pub trend: Params,
    /// The most that all of it may take, in bytes. Where that is not enough, ended processes are forgotten
    /// first, then less is kept of the others.
    pub max_memory: u64,
}

impl HistoryConfig {
    /// 24 MiB, and the verdicts' defaults.
    pub fn with_window(window: Duration) -> Self {
        Self {
            window,
            trend: Params::default(),
            max_memory: 24 << 20,
        }
    }
}

/// The histories of every process of the last snapshot and of those that ended of late, of the groups they are
/// in, and of the system.
#[derive(Debug)]
pub struct History {
    config: HistoryConfig,
    /// What changes are taken over.
    reach: Duration,
    /// Boxed: half of a hash table is empty.
    processes: HashMap<Identity, Box<Track>>,
    past: Past,
    groups: Groups,
    system: SystemHistory,
    judge: Judge,
    thrift: Thrift,
    tick: u64,
    last: Option<Moment>,
    /// When the first one was.
    first: Option<Duration>,
    /// How long it was from one snapshot to the next, the last two times.
    strides: [Duration; 2],
}

/// Whose snapshot was the last, and when it was.
#[derive(Debug)]
pub(super) struct Moment {
    host: Arc<[u8]>,
    boot_id: Reading<Arc<str>>,
    monotonic: Duration,
}

impl Moment {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self {
            host: Arc::clone(&snapshot.host),
            boot_id: snapshot.boot_id.clone(),
            monotonic: snapshot.monotonic,
        }
    }

    /// Whether the snapshot cannot be compared with that one: pids, counters and clocks are others. A host
    /// may change its name, but not within a boot its boot id; the name decides where there is none.
    pub(super) fn parts(&self, snapshot: &Snapshot) -> bool {
        let another = match (&self.boot_id, &snapshot.boot_id) {
            (Ok(one), Ok(other)) => one != other,
            _ => !self.host.is_empty() && !snapshot.host.is_empty() && self.host != snapshot.host,
        };
        another || snapshot.monotonic < self.monotonic
    }
}

/// When a process started, on the monotonic clock; its zero for one that started before that.
fn born(sample: &ProcessSample, snapshot: &Snapshot) -> Option<Duration> {
    let started = sample.id.starttime as f64 / process::TICKS_PER_SECOND;
    let age = Duration::try_from_secs_f64(snapshot.system.uptime.ok()? - started).unwrap_or_default();
    Some(snapshot.monotonic.saturating_sub(age))
}

impl History {
    /// An empty history whose changes are taken over `window`, kept as [`HistoryConfig::with_window`] says.
    pub fn new(window: Duration) -> Self {
        Self::with_config(HistoryConfig::with_window(window))
    }

    /// An empty history.
    pub fn with_config(config: HistoryConfig) -> Self {
        Self {
            config,
            reach: config.window,
            processes: HashMap::new(),
            past: Past::default(),
            groups: Groups::new(config.window),
            system: SystemHistory::default(),
            judge: Judge::new(config.trend),
            thrift: Thrift::new(config.max_memory),
            tick: 0,
            last: None,
            first: None,
            strides: [Duration::ZERO; 2],
        }
    }

    /// How it is kept.
    pub const fn config(&self) -> &HistoryConfig {
        &self.config
    }

    /// Takes in one snapshot. A process that made an exec starts anew; one that is no longer listed is
    /// remembered among those that ended; where `/proc` could not be listed none ends. Everything starts anew
    /// where the snapshot is of another boot or another host than the one before it, or earlier.
    pub fn push(&mut self, snapshot: &Snapshot) {
        if self.last.as_ref().is_some_and(|last| last.parts(snapshot)) {
            *self = Self::with_config(self.config);
        }
        let tick = self.begin(snapshot);
        self.system.push(snapshot, tick);
        let Ok(processes) = &snapshot.processes else { return };
        let names = GroupNames::new(processes);
        let starter = self.groups.begin(tick.now);
        let number = self.tick;
        for sample in processes {
            let space = sample.shares_mm.map(|id| (id, self.counted(id)));
            let track = self.processes.entry(sample.id).or_insert_with(|| {
                let born = born(sample, snapshot);
                Box::new(Track::new(sample, self.reach, born, starter))
            });
            if track.exec != sample.exec {
                **track = Track::new(sample, self.reach, Some(tick.now), false);
            }
            track.push(sample, tick, number);
            track.series.judge(&mut self.judge, track.born, sample.id.pid);
            // They have no memory, and nobody looks for them among the programs.
            if !sample.stat.is_kernel_thread() {
                self.groups
                    .add(sample, &mut track.member, track.born, &track.rates, &names, space);
            }
        }
        self.part(tick);
        self.groups.end(tick, &mut self.judge);
        self.save(tick);
    }

    fn begin(&mut self, snapshot: &Snapshot) -> Tick {
        let now = snapshot.monotonic;
        if let Some(last) = &self.last {
            self.strides = [self.strides[1], now.saturating_sub(last.monotonic)];
        }
        // One stop is not a rhythm, and neither is one that was asked for in between.
        let rhythm = self.strides[0].min(self.strides[1]).max(snapshot.interval);
        self.last = Some(Moment::of(snapshot));
        self.first.get_or_insert(now);
        self.tick += 1;
        let reach = self.config.window.max(snapshot.interval.saturating_mul(5) / 4);
        if reach != self.reach {
            self.reach = reach;
            self.every_series().for_each(|series| series.set_window(reach));
            self.groups.set_window(reach);
        }
        self.judge.begin(now, rhythm);
        Tick {
            now,
            rhythm,
            detail: self.thrift.detail(),
        }
    }

    /// Parts with those that were not in this snapshot.
    fn part(&mut self, tick: Tick) {
        let number = self.tick;
        if self.processes.values().all(|track| track.tick == number) {
            return;
        }
        let ended = self.processes.extract_if(|_, track| track.tick != number);
        let mut ended: Vec<_> = ended.filter(|(_, track)| track.is_of_note()).collect();
        ended.sort_unstable_by_key(|(id, _)| *id);
        for (id, track) in ended {
            let command = self.groups.command(&track.member);
            self.past.add(Box::new(Ended {
                id,
                facts: track.facts,
                command,
                at: tick.now,
                series: track.series,
            }));
        }
        if self.processes.capacity() > 4 * self.processes.len() + 1024 {
            self.processes.shrink_to_fit();
        }
    }

    /// Keeps within the memory there is for it.
    fn save(&mut self, tick: Tick) {
        if !self.thrift.is_due(tick.now) {
            return;
        }
        let mut bytes = self.bytes();
        self.thrift.saw(bytes);
        while self.thrift.exceeds(bytes)
            && let Some(freed) = self.past.drop_oldest()
        {
            bytes -= freed.min(bytes);
        }
        if self.thrift.exceeds(bytes) {
            bytes -= self.groups.drop_empty().min(bytes);
        }
        while let Some(detail) = self.thrift.change(bytes, tick.now) {
            self.every_series().for_each(|series| series.thin(detail));
            bytes = self.bytes();
        }
        if self.thrift.exceeds(bytes) {
            let max = self.thrift.max();
            retention::forget(self.every_series(), bytes, max);
        }
    }

    /// The history of every process and group that there is.
    fn every_series(&mut self) -> impl Iterator<Item = &mut RowHistory> {
        let processes = self.processes.values_mut().map(|track| &mut track.series);
        processes.chain(self.groups.all())
    }

    /// The bytes that all of it takes.
    pub fn bytes(&self) -> usize {
        let slot = size_of::<(Identity, Box<Track>)>() + 1;
        let tracks = self.processes.values().map(|track| track.bytes());
        self.processes.capacity() * slot
            + tracks.sum::<usize>()
            + self.past.bytes()
            + self.groups.bytes()
            + self.system.bytes()
    }

    /// Judges everything now, as far as it is not known; what comes live is judged in turns.
    pub fn judge_all(&mut self) {
        for track in self.processes.values_mut() {
            track.series.decide(&mut self.judge, track.born);
        }
        self.groups.judge_all(&mut self.judge);
    }

    /// The groups in which the memory of that process, which comes earlier in this snapshot, is counted.
    fn counted(&self, id: Identity) -> [u32; GroupBy::OF_PROCESSES.len()] {
        match self.processes.get(&id) {
            Some(first) if first.tick == self.tick => first.member.counted(),
            _ => Member::UNCOUNTED,
        }
    }

    /// The history of one process of the last snapshot.
    pub fn get(&self, id: Identity) -> Option<&RowHistory> {
        self.processes.get(&id).map(|track| &track.series)
    }

    /// When it began, on the monotonic clock; `None` while it is empty.
    pub const fn since(&self) -> Option<Duration> {
        self.first
    }

    /// Every process of the last snapshot.
    pub fn processes(&self) -> impl Iterator<Item = (Identity, &RowHistory)> {
        self.processes.iter().map(|(id, track)| (*id, &track.series))
    }

    /// The name of the group by command that a process of the last snapshot is in.
    pub fn command(&self, id: Identity) -> Option<Arc<[u8]>> {
        self.groups.command(&self.processes.get(&id)?.member)
    }

    /// A process that ended not long ago: a thousand are remembered, as far as there is memory for them.
    pub fn ended(&self, id: Identity) -> Option<&Ended> {
        self.past.get(id)
    }

    /// All of those, the last one first.
    pub fn all_ended(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.past.iter()
    }

    /// The history of a group of processes; it goes on while they come and go, and is kept for a day after the
    /// last, as far as there is memory for it.
    pub fn group(&self, key: &GroupKey) -> Option<&RowHistory> {
        self.groups.get(key)
    }

    /// Every group of that kind, by its name.
    pub fn groups_by(&self, by: GroupBy) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory)> {
        self.groups.iter(by)
    }

    /// How many groups have a history.
    pub const fn groups(&self) -> usize {
        self.groups.len()
    }

    /// How many processes have a history, without those that ended.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Whether no process has a history.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Rates and lines of the system.
    pub const fn system(&self) -> &SystemHistory {
        &self.system
    }
}
