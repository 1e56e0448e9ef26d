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
    last: Option<(Duration, [Reading<u64>; 9], Reading<SelfCost>)>,
    /// Bytes a second read back from swap.
    pub swap_in: Option<f64>,
    /// Bytes a second written to swap.
    pub swap_out: Option<f64>,
    /// Major faults a second.
    pub majfault: Option<f64>,
    /// Bytes a second that kswapd looked at to reclaim memory.
    pub scan_kswapd: Option<f64>,
    /// Bytes a second that it reclaimed.
    pub steal_kswapd: Option<f64>,
    /// Bytes a second that tasks themselves looked at, as they had to wait for memory (direct reclaim).
    pub scan_direct: Option<f64>,
    /// Bytes a second that they reclaimed.
    pub steal_direct: Option<f64>,
    /// Bytes a second of anonymous memory read back soon after it was reclaimed.
    pub refault_anon: Option<f64>,
    /// Bytes a second of files read back soon after they were reclaimed.
    pub refault_file: Option<f64>,
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
    /// Returns RAM [in use](crate::model::SystemSample::used).
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
        let counters = [
            s.pswpin,
            s.pswpout,
            s.pgmajfault,
            s.scan_kswapd,
            s.steal_kswapd,
            s.scan_direct,
            s.steal_direct,
            s.refault_anon,
            s.refault_file,
        ];
        if let Some((then, before, own)) = &self.last {
            let seconds = now.saturating_sub(*then).as_secs_f64();
            let rate = |i: usize| rate(before[i].ok()?, counters[i].ok()?, seconds);
            let rates = [
                &mut self.swap_in,
                &mut self.swap_out,
                &mut self.majfault,
                &mut self.scan_kswapd,
                &mut self.steal_kswapd,
                &mut self.scan_direct,
                &mut self.steal_direct,
                &mut self.refault_anon,
                &mut self.refault_file,
            ];
            for (i, slot) in rates.into_iter().enumerate() {
                *slot = rate(i);
            }
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
        self.mem.push(now, s.used().ok(), tick.retention);
        self.swap.push(now, s.swap_used().ok(), tick.retention);
    }

    /// Returns the memory of its series in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.mem.bytes() + self.swap.bytes()
    }
}
