//! The history of the system as a whole.

use std::time::Duration;

use crate::history::figures::Tick;
use crate::history::time_series::TimeSeries;
use crate::history::view::SeriesView;
use crate::history::window::rate;
use crate::model::reading::Reading;
use crate::model::snapshot::{SelfCost, Snapshot};

/// Seconds over which the share of walks is smoothed: the walks of a single tick vary widely.
const SMOOTHING: f64 = 10.0;

/// Rates and series of the system. A rate is `None` until two snapshots were seen, and where a counter ran backwards.
#[derive(Debug, Default)]
pub struct SystemHistory {
    last: Option<(Duration, [Reading<u64>; 3], Reading<SelfCost>)>,
    /// Bytes a second read back from swap.
    pub swap_in: Option<f64>,
    /// Bytes a second written to swap.
    pub swap_out: Option<f64>,
    /// Major faults a second.
    pub majfault: Option<f64>,
    /// Processor time of zmtop itself, 1.0 being one core.
    pub own_cpu: Option<f64>,
    /// Processor time of walks, 1.0 being one core, smoothed over some ten seconds.
    pub walked: Option<f64>,
    mem: TimeSeries,
    swap: TimeSeries,
    now: Duration,
    interval: Duration,
}

impl SystemHistory {
    /// Returns RAM in use (`MemTotal − MemAvailable`).
    pub const fn mem(&self) -> SeriesView<'_> {
        SeriesView::new(&self.mem, self.now, self.interval)
    }

    /// Returns swap in use.
    pub const fn swap(&self) -> SeriesView<'_> {
        SeriesView::new(&self.swap, self.now, self.interval)
    }

    /// Returns its series: of RAM and of swap in use.
    pub(super) const fn series(&self) -> [&TimeSeries; 2] {
        [&self.mem, &self.swap]
    }

    /// Goes on from series that were kept.
    pub(super) fn resume(&mut self, [mem, swap]: [TimeSeries; 2]) {
        (self.mem, self.swap) = (mem, swap);
    }

    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        let now = snapshot.monotonic;
        let s = &snapshot.system;
        let counters = [s.pswpin, s.pswpout, s.pgmajfault];
        if let Some((then, before, own)) = &self.last {
            let seconds = now.saturating_sub(*then).as_secs_f64();
            let rate = |i: usize| rate(before[i].ok()?, counters[i].ok()?, seconds);
            self.swap_in = rate(0);
            self.swap_out = rate(1);
            self.majfault = rate(2);
            if seconds > 0.0 {
                let share = snapshot.sampling.walked.as_secs_f64() / seconds;
                let weight = (seconds / SMOOTHING).min(1.0);
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
        (self.now, self.interval) = (tick.now, tick.interval);
        let used = |total: Reading<u64>, free: Reading<u64>| Some(total.ok()?.saturating_sub(free.ok()?));
        self.mem.push(now, used(s.mem_total, s.mem_available), tick.retention);
        self.swap.push(now, used(s.swap_total, s.swap_free), tick.retention);
    }

    /// Returns the memory of its series in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.mem.bytes() + self.swap.bytes()
    }
}
