//! The history of the system as a whole.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::history::row::Tick;
use crate::history::time_series::TimeSeries;
use crate::history::view::SeriesView;
use crate::history::window::rate;
use crate::model::reading::Reading;
use crate::model::snapshot::{SelfCost, Snapshot};

/// Time constant for smoothing the CPU share of walks, in seconds: it varies widely from tick to tick.
const SMOOTHING: f64 = 10.0;
/// Minimum time over which the CPU share of zmtop itself is measured.
const OWN_SPAN: Duration = Duration::from_millis(500);

/// Rates and series of the system. A rate is `None` before the second snapshot, and if a counter decreased.
#[derive(Debug, Default)]
pub struct SystemHistory {
    /// The last counters, and when they were read.
    last: Option<(Duration, [Reading<u64>; 9])>,
    /// The start of the span over which zmtop's own CPU usage is measured, and its CPU time then.
    own: Option<(Duration, Duration)>,
    /// Bytes a second.
    pub swap_in: Option<f64>,
    /// Bytes a second.
    pub swap_out: Option<f64>,
    /// Major faults per second.
    pub majfault: Option<f64>,
    /// Bytes a second that kswapd scanned.
    pub scan_kswapd: Option<f64>,
    /// Bytes a second that kswapd reclaimed.
    pub steal_kswapd: Option<f64>,
    /// Bytes a second that tasks scanned while they waited for memory (direct reclaim).
    pub scan_direct: Option<f64>,
    /// Bytes a second that tasks reclaimed.
    pub steal_direct: Option<f64>,
    /// Bytes a second of anonymous memory that was read back soon after it was reclaimed.
    pub refault_anon: Option<f64>,
    /// Bytes a second of files that were read back soon after they were reclaimed.
    pub refault_file: Option<f64>,
    /// CPU usage of zmtop and its children over the last half second or more; 1.0 is one core.
    pub own_cpu: Option<f64>,
    /// CPU usage of walks, smoothed over about ten seconds; 1.0 is one core.
    pub walked: Option<f64>,
    mem: TimeSeries,
    swap: TimeSeries,
    now: Duration,
    interval: Duration,
}

impl SystemHistory {
    /// RAM [in use](crate::model::SystemSample::used).
    pub const fn mem(&self) -> SeriesView<'_> {
        SeriesView::new(&self.mem, self.now, self.interval)
    }

    pub const fn swap(&self) -> SeriesView<'_> {
        SeriesView::new(&self.swap, self.now, self.interval)
    }

    /// The series to save.
    pub(super) const fn series(&self) -> [&TimeSeries; 2] {
        [&self.mem, &self.swap]
    }

    /// Continues saved series.
    pub(super) fn resume(&mut self, [mem, swap]: [TimeSeries; 2]) {
        (self.mem, self.swap) = (mem, swap);
    }

    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        let now = snapshot.monotonic;
        let s = &snapshot.system;
        let rates = [
            (&mut self.swap_in, s.pswpin),
            (&mut self.swap_out, s.pswpout),
            (&mut self.majfault, s.pgmajfault),
            (&mut self.scan_kswapd, s.scan_kswapd),
            (&mut self.steal_kswapd, s.steal_kswapd),
            (&mut self.scan_direct, s.scan_direct),
            (&mut self.steal_direct, s.steal_direct),
            (&mut self.refault_anon, s.refault_anon),
            (&mut self.refault_file, s.refault_file),
        ];
        let counters = rates.each_ref().map(|(_, counter)| *counter);
        // The counters are read at the start of a tick. If zmtop is stopped within a tick, the next snapshot may follow at once.
        let counted = now.saturating_sub(snapshot.sampling.took);
        if let Some((then, before)) = &self.last {
            let seconds = counted.saturating_sub(*then).as_secs_f64();
            for ((slot, counter), before) in rates.into_iter().zip(before) {
                *slot = before.ok().zip(counter.ok()).and_then(|(b, c)| rate(b, c, seconds));
            }
            if seconds > 0.0 {
                let share = snapshot.sampling.walked.as_secs_f64() / seconds;
                let weight = (seconds / SMOOTHING).min(1.0);
                self.walked = Some(
                    self.walked
                        .map_or(share, |old| old.mul_add(1.0 - weight, share * weight)),
                );
            }
        }
        self.last = Some((counted, counters));
        self.measure_own(now, &snapshot.own);
        (self.now, self.interval) = (tick.now, tick.interval);
        self.mem.push(now, s.used().ok(), tick.retention);
        self.swap.push(now, s.swap_used().ok(), tick.retention);
    }

    /// Measures the processor time of zmtop since a snapshot half a second ago or more: a snapshot that a key causes may follow
    /// the one before at once.
    fn measure_own(&mut self, now: Duration, own: &Reading<SelfCost>) {
        let Ok(own) = own else {
            (self.own, self.own_cpu) = (None, None);
            return;
        };
        let span = self.own.map(|(then, cpu)| (now.saturating_sub(then), cpu));
        match span {
            Some((time, _)) if time < OWN_SPAN => return,
            Some((time, cpu)) => {
                self.own_cpu = Some(own.cpu.saturating_sub(cpu).as_secs_f64() / time.as_secs_f64());
            }
            None => {}
        }
        self.own = Some((now, own.cpu));
    }

    pub(super) const fn bytes(&self) -> usize {
        self.mem.bytes() + self.swap.bytes()
    }
}

/// Minimum length of a suspend, in seconds, as the two clocks are not read at the same moment.
const MIN_LENGTH: f64 = 1.0;
/// Maximum number of suspends; beyond it, the two oldest are merged.
pub(super) const MAX_KEPT: usize = 500;

/// The suspends of the machine, in order.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Suspends {
    /// The highest difference of uptime and monotonic clock so far, in seconds. A late read makes it too low, never too
    /// high.
    offset: Option<f64>,
    /// The time of the first snapshot after each suspend, and its length.
    found: VecDeque<(Duration, Duration)>,
}

impl Suspends {
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let Ok(uptime) = snapshot.system.uptime else { return };
        let now = uptime - snapshot.monotonic.as_secs_f64();
        let Some(before) = self.offset else {
            self.offset = Some(now);
            return;
        };
        if now - before < MIN_LENGTH {
            return;
        }
        self.offset = Some(now);
        if let Ok(length) = Duration::try_from_secs_f64(now - before) {
            self.add(snapshot.monotonic, length);
        }
    }

    fn add(&mut self, at: Duration, length: Duration) {
        self.found.push_back((at, length));
        if self.found.len() > MAX_KEPT
            && let Some((_, oldest)) = self.found.pop_front()
            && let Some((_, next)) = self.found.front_mut()
        {
            *next = next.saturating_add(oldest);
        }
    }

    /// Returns the time of the first snapshot after each suspend, and its length.
    pub fn all(&self) -> impl Iterator<Item = (Duration, Duration)> {
        self.found.iter().copied()
    }

    /// Returns the time between two moments of the monotonic clock, suspends included.
    pub fn elapsed(&self, from: Duration, to: Duration) -> Duration {
        let within = self.all().filter(|(at, _)| *at > from && *at <= to);
        within.fold(to.saturating_sub(from), |sum, (_, length)| sum.saturating_add(length))
    }

    /// Returns how much of the time `elapsed` until `to` the machine was not suspended.
    pub fn awake(&self, to: Duration, elapsed: Duration) -> Duration {
        let (mut sum, mut left) = (Duration::ZERO, elapsed);
        for (at, length) in self.found.iter().rev().filter(|(at, _)| *at <= to) {
            let awake = to.saturating_sub(*at).saturating_sub(sum);
            if left < awake {
                break;
            }
            // A moment within a suspend counts as its end.
            sum += awake;
            left = left.saturating_sub(awake).saturating_sub(*length);
        }
        sum.saturating_add(left)
    }

    /// Returns the moment of the monotonic clock that was `elapsed` before `to`, suspends included: the inverse of
    /// [`Self::elapsed`].
    pub fn moment(&self, to: Duration, elapsed: Duration) -> Duration {
        to.saturating_sub(self.awake(to, elapsed))
    }
}
