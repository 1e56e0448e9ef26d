//! What is derived from a run of snapshots: changes, rates, sparklines.
//!
//! Pure: the same snapshots give the same history, whether they come live or from a recording.

pub mod levels;
pub mod series;
pub mod window;

use std::collections::HashMap;
use std::time::Duration;

pub use series::{Change, Series};

use super::reading::Reading;
use super::snapshot::{Identity, SelfCost, Snapshot};
use window::Spark;

/// The histories of every process of the last snapshot, and of the system.
#[derive(Debug)]
pub struct History {
    /// What changes are asked over, and what they are taken over.
    window: Duration,
    reach: Duration,
    /// Boxed: half of a hash table is empty.
    processes: HashMap<Identity, Box<Series>>,
    system: SystemHistory,
    tick: u64,
}

impl History {
    /// An empty history whose changes are taken over `window`, or from one snapshot to the next where those
    /// lie further apart.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            reach: window,
            processes: HashMap::new(),
            system: SystemHistory::default(),
            tick: 0,
        }
    }

    /// Takes in one snapshot. A process that made an exec starts anew; one that is no longer listed is
    /// forgotten; where `/proc` could not be listed nothing is.
    pub fn push(&mut self, snapshot: &Snapshot) {
        self.tick += 1;
        self.system.push(snapshot);
        let reach = self.window.max(snapshot.interval.saturating_mul(5) / 4);
        if reach != self.reach {
            self.reach = reach;
            self.processes.values_mut().for_each(|series| series.set_window(reach));
        }
        let Ok(processes) = &snapshot.processes else { return };
        for sample in processes {
            let series = self
                .processes
                .entry(sample.id)
                .or_insert_with(|| Box::new(Series::new(sample.exec, reach)));
            if series.exec() != sample.exec {
                **series = Series::new(sample.exec, reach);
            }
            series.push(sample, snapshot.monotonic, self.tick);
        }
        let tick = self.tick;
        self.processes.retain(|_, series| series.tick() == tick);
        if self.processes.capacity() > 4 * self.processes.len() + 1024 {
            self.processes.shrink_to_fit();
        }
    }

    /// The history of one process.
    pub fn get(&self, id: Identity) -> Option<&Series> {
        self.processes.get(&id).map(AsRef::as_ref)
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
