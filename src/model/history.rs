//! What is derived from a run of snapshots: changes, rates, sparklines.
//!
//! Pure: the same snapshots give the same history, whether they come live or from a recording.

mod groups;
pub mod levels;
pub mod series;
mod track;
pub mod window;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub use series::{Change, Figures, Rates, Series};

use super::group::{GroupBy, GroupKey, Names};
use super::reading::Reading;
use super::snapshot::{Identity, SelfCost, Snapshot};
use groups::{Groups, Member};
use track::Track;
use window::Spark;

/// The histories of every process of the last snapshot, of the groups they are in, and of the system.
#[derive(Debug)]
pub struct History {
    /// What changes are asked over, and what they are taken over.
    window: Duration,
    reach: Duration,
    /// Boxed: half of a hash table is empty.
    processes: HashMap<Identity, Box<Track>>,
    groups: Groups,
    system: SystemHistory,
    tick: u64,
    last: Option<Moment>,
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

impl History {
    /// An empty history whose changes are taken over `window`, or from one snapshot to the next where those
    /// lie further apart.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            reach: window,
            processes: HashMap::new(),
            groups: Groups::new(window),
            system: SystemHistory::default(),
            tick: 0,
            last: None,
        }
    }

    /// Takes in one snapshot. A process that made an exec starts anew; one that is no longer listed is
    /// forgotten; where `/proc` could not be listed nothing is. Everything starts anew where the snapshot is
    /// of another boot or another host than the one before it, or earlier.
    pub fn push(&mut self, snapshot: &Snapshot) {
        if self.last.as_ref().is_some_and(|last| last.parts(snapshot)) {
            *self = Self::new(self.window);
        }
        self.last = Some(Moment::of(snapshot));
        self.tick += 1;
        self.system.push(snapshot);
        let reach = self.window.max(snapshot.interval.saturating_mul(5) / 4);
        if reach != self.reach {
            self.reach = reach;
            let series = self.processes.values_mut().map(|track| &mut track.series);
            series.for_each(|series| series.set_window(reach));
            self.groups.set_window(reach);
        }
        let Ok(processes) = &snapshot.processes else { return };
        let now = snapshot.monotonic;
        let names = Names::new(processes);
        let starter = self.groups.begin(now);
        for sample in processes {
            let space = sample.shares_mm.map(|id| (id, self.counted(id)));
            let track = self
                .processes
                .entry(sample.id)
                .or_insert_with(|| Box::new(Track::new(sample, reach, starter)));
            if track.exec != sample.exec {
                **track = Track::new(sample, reach, false);
            }
            track.push(sample, now, self.tick);
            // They have no memory, and nobody looks for them among the programs.
            if !sample.stat.is_kernel_thread() {
                self.groups.add(sample, &mut track.member, &track.rates, &names, space);
            }
        }
        self.groups.end(now);
        let tick = self.tick;
        self.processes.retain(|_, track| track.tick == tick);
        if self.processes.capacity() > 4 * self.processes.len() + 1024 {
            self.processes.shrink_to_fit();
        }
    }

    /// The groups in which the memory of that process, which comes earlier in this snapshot, is counted.
    fn counted(&self, id: Identity) -> [u32; GroupBy::OF_PROCESSES.len()] {
        match self.processes.get(&id) {
            Some(first) if first.tick == self.tick => first.member.counted(),
            _ => Member::UNCOUNTED,
        }
    }

    /// The history of one process.
    pub fn get(&self, id: Identity) -> Option<&Series> {
        self.processes.get(&id).map(|track| &track.series)
    }

    /// The history of a group of processes; it goes on while they come and go, and is kept for ten minutes
    /// after the last.
    pub fn group(&self, key: &GroupKey) -> Option<&Series> {
        self.groups.get(key)
    }

    /// How many groups have a history.
    pub const fn groups(&self) -> usize {
        self.groups.len()
    }

    /// How many processes have a history.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Whether no process has a history.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Rates and sparklines of the system.
    pub const fn system(&self) -> &SystemHistory {
        &self.system
    }
}

/// Rates and sparklines of the system as a whole. A rate is `None` until two snapshots were seen, and
/// where a counter ran backwards.
#[derive(Debug, Default)]
pub struct SystemHistory {
    last: Option<(Duration, [Reading<u64>; 3], Reading<SelfCost>)>,
    /// Bytes a second read back from swap.
    pub swap_in: Option<f64>,
    /// Bytes a second written to swap.
    pub swap_out: Option<f64>,
    /// Major faults a second.
    pub majfault: Option<f64>,
    /// The share of one core that zmtop itself used, 1.0 being all of it.
    pub own_cpu: Option<f64>,
    /// The share of one core that walks took, smoothed over some ten seconds.
    pub walked: Option<f64>,
    /// RAM in use (`MemTotal − MemAvailable`) over five minutes.
    pub mem: Spark,
    /// Swap in use over five minutes.
    pub swap: Spark,
}

impl SystemHistory {
    fn push(&mut self, snapshot: &Snapshot) {
        let now = snapshot.monotonic;
        let s = &snapshot.system;
        let counters = [s.pswpin, s.pswpout, s.pgmajfault];
        if let Some((then, before, own)) = &self.last {
            let seconds = now.saturating_sub(*then).as_secs_f64();
            let rate = |i: usize| window::rate(before[i].ok()?, counters[i].ok()?, seconds);
            self.swap_in = rate(0);
            self.swap_out = rate(1);
            self.majfault = rate(2);
            if seconds > 0.0 {
                let share = snapshot.sampling.walked.as_secs_f64() / seconds;
                let weight = (seconds / 10.0).min(1.0);
                self.walked = Some(
                    self.walked
                        .map_or(share, |old| old.mul_add(1.0 - weight, share * weight)),
                );
            }
            self.own_cpu = match (own, &snapshot.own) {
                (Ok(a), Ok(b)) if seconds > 0.0 => Some(b.cpu.saturating_sub(a.cpu).as_secs_f64() / seconds),
                _ => None,
            };
        }
        self.last = Some((now, counters, snapshot.own));
        let used = |total: Reading<u64>, free: Reading<u64>| Some(total.ok()?.saturating_sub(free.ok()?));
        self.mem.push(now, used(s.mem_total, s.mem_available));
        self.swap.push(now, used(s.swap_total, s.swap_free));
    }
}
