//! The history of a row: of a process, or of a group.

use std::time::Duration;

use crate::group::Change;
use crate::history::evaluation::{Evaluation, EvaluationScheduler};
use crate::history::time_series::{Retention, TimeSeries};
use crate::history::view::SeriesView;
use crate::history::window::ChangeWindow;
use crate::model::memory::Memory;
use crate::trend::Judgement;

/// The memory figures of a row that have a history, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySample {
    /// PSS.
    pub pss: u64,
    /// Swap.
    pub swap: u64,
    /// PSS + `SwapPss`; PSS alone where the kernel gives no `SwapPss`.
    pub footprint: u64,
    /// The anonymous part of the footprint; 0 where the kernel does not tell.
    pub anonymous: u64,
}

impl MemorySample {
    /// Takes the figures from a walk.
    pub fn new(memory: &Memory) -> Self {
        Self {
            pss: memory.pss,
            swap: memory.swap,
            footprint: memory.footprint().unwrap_or(memory.pss),
            anonymous: memory
                .pss_anon
                .map_or(0, |anon| anon.saturating_add(memory.swap_pss.unwrap_or(0))),
        }
    }

    /// Adds another process's figures.
    pub const fn add(&mut self, other: &Self) {
        self.pss = self.pss.saturating_add(other.pss);
        self.swap = self.swap.saturating_add(other.swap);
        self.footprint = self.footprint.saturating_add(other.footprint);
        self.anonymous = self.anonymous.saturating_add(other.anonymous);
    }
}

/// Rates per second since the previous snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Minor faults.
    pub minflt: Option<f64>,
    /// Major faults.
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

impl Rates {
    /// Adds another process's rates; unknown counts as 0.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |a: &mut Option<f64>, b: Option<f64>| {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0.0) + b);
            }
        };
        sum(&mut self.minflt, other.minflt);
        sum(&mut self.majflt, other.majflt);
        sum(&mut self.cpu, other.cpu);
    }
}

/// The time of a snapshot, and how its figures are kept.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The time on the monotonic clock.
    pub now: Duration,
    /// Time from one snapshot to the next.
    pub interval: Duration,
    /// The share of the buckets that is kept.
    pub retention: Retention,
}

/// The history of a row since zmtop first saw it; of a process, since its last exec.
#[derive(Clone, Debug)]
pub struct RowHistory {
    pss: ChangeWindow,
    swap: ChangeWindow,
    footprint: TimeSeries,
    anonymous: TimeSeries,
    change: Change,
    evaluation: Evaluation,
    /// The second of the last tick; 32 bits, as there are many rows.
    now: u32,
    /// The interval of the ticks, in milliseconds.
    interval: u32,
}

impl RowHistory {
    /// Creates an empty history whose changes are taken over `window`.
    pub fn new(window: Duration) -> Self {
        Self {
            pss: ChangeWindow::new(window),
            swap: ChangeWindow::new(window),
            footprint: TimeSeries::default(),
            anonymous: TimeSeries::default(),
            change: Change::default(),
            evaluation: Evaluation::default(),
            now: 0,
            interval: 0,
        }
    }

    /// Takes changes over another length of time from now on.
    pub(super) fn set_window(&mut self, window: Duration) {
        self.pss = ChangeWindow::new(window);
        self.swap = ChangeWindow::new(window);
    }

    /// Returns the recent changes and rates.
    pub const fn change(&self) -> &Change {
        &self.change
    }

    /// Returns the footprint for as long as it is known.
    pub const fn footprint_series(&self) -> &TimeSeries {
        &self.footprint
    }

    /// Returns the newest footprint in bytes, 0 if there is none.
    pub(super) fn newest_footprint(&self) -> u64 {
        self.footprint.newest().map_or(0, |(_, bytes)| bytes)
    }

    /// Returns the footprint for drawing: the last five minutes, unless another span is asked for.
    pub const fn footprint(&self) -> SeriesView<'_> {
        SeriesView::new(
            &self.footprint,
            Duration::from_secs(self.now as u64),
            Duration::from_millis(self.interval as u64),
        )
    }

    /// Returns the latest judgement, some ten seconds old at most while few processes change.
    pub const fn trend(&self) -> &Judgement {
        self.evaluation.latest()
    }

    /// Takes in the figures of a tick, `None` where they are unknown, and the rates.
    pub fn push(&mut self, tick: Tick, sample: Option<MemorySample>, rates: &Rates) {
        let previous = self.footprint.newest().map_or(Duration::ZERO, |(at, _)| at);
        self.pss.push(tick.now, sample.map(|s| s.pss));
        self.swap.push(tick.now, sample.map(|s| s.swap));
        self.now = u32::try_from(tick.now.as_secs()).unwrap_or(u32::MAX);
        self.interval = u32::try_from(tick.interval.as_millis()).unwrap_or(u32::MAX);
        let changed = self
            .footprint
            .push(tick.now, sample.map(|s| s.footprint), tick.retention);
        let anonymous_changed = self
            .anonymous
            .push(tick.now, sample.map(|s| s.anonymous), tick.retention);
        if changed || anonymous_changed {
            self.evaluation.mark_changed();
        }
        // The slope of an unchanged series changes as old values fall out; every five seconds is often enough for that.
        let growth = if changed || previous.as_secs() / 5 != tick.now.as_secs() / 5 {
            self.footprint().slope()
        } else {
            self.change.growth
        };
        self.change = Change {
            pss: self.pss.change(),
            swap: self.swap.change(),
            growth,
            minflt: rates.minflt,
            majflt: rates.majflt,
            cpu: rates.cpu,
        };
    }

    /// Judges the row now, due or not.
    pub(super) fn evaluate(&mut self, scheduler: &mut EvaluationScheduler, started_at: Option<Duration>) {
        scheduler.evaluate(&mut self.evaluation, &self.footprint, &self.anonymous, started_at);
    }

    /// Judges the row if it is due. `stagger` spreads the rows over time.
    pub(super) fn evaluate_if_due(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        started_at: Option<Duration>,
        stagger: u32,
    ) {
        let evaluation = &mut self.evaluation;
        scheduler.evaluate_if_due(evaluation, &self.footprint, &self.anonymous, started_at, stagger);
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.footprint.set_retention(retention);
        self.anonymous.set_retention(retention);
    }

    /// Drops all but the newest value.
    pub(super) fn clear_past(&mut self) {
        self.footprint.clear_past();
        self.anonymous.clear_past();
        self.evaluation = Evaluation::default();
    }

    /// Returns its memory in bytes.
    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() - 2 * size_of::<TimeSeries>() + self.footprint.bytes() + self.anonymous.bytes()
    }
}
