//! The history of one row: of a process, or of a group.

use std::time::Duration;

use crate::group::Change;
use crate::history::evaluation::{Case, Judge};
use crate::history::time_series::{Retention, TimeSeries};
use crate::history::view::SeriesView;
use crate::history::window::ChangeWindow;
use crate::model::memory::Memory;
use crate::trend::Judgement;

/// The figures of a row that have a history, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySample {
    /// PSS.
    pub pss: u64,
    /// Swap.
    pub swap: u64,
    /// PSS and `SwapPss`; PSS alone where the kernel gives no `SwapPss`.
    pub footprint: u64,
    /// What of it is anonymous; 0 where the kernel does not say.
    pub anonymous: u64,
}

impl MemorySample {
    /// Those of one walk.
    pub fn of(memory: &Memory) -> Self {
        Self {
            pss: memory.pss,
            swap: memory.swap,
            footprint: memory.footprint().unwrap_or(memory.pss),
            anonymous: memory
                .pss_anon
                .map_or(0, |anon| anon.saturating_add(memory.swap_pss.unwrap_or(0))),
        }
    }

    /// Adds another process's.
    pub const fn add(&mut self, other: &Self) {
        self.pss = self.pss.saturating_add(other.pss);
        self.swap = self.swap.saturating_add(other.swap);
        self.footprint = self.footprint.saturating_add(other.footprint);
        self.anonymous = self.anonymous.saturating_add(other.anonymous);
    }
}

/// Rates since the snapshot before, a second: minor faults, major faults, and shares of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Minor faults.
    pub minflt: Option<f64>,
    /// Major faults.
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

/// When a snapshot was taken, and how its figures are kept.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// When, on the monotonic clock.
    pub now: Duration,
    /// How long it is from one snapshot to the next.
    pub rhythm: Duration,
    /// How much of what was is kept.
    pub detail: Retention,
}

/// The history of one row since zmtop first saw it; of a process, since its last exec.
#[derive(Clone, Debug)]
pub struct RowHistory {
    pss: ChangeWindow,
    swap: ChangeWindow,
    levels: TimeSeries,
    own: TimeSeries,
    change: Change,
    case: Case,
    /// The second of the last tick, and how far apart they are, in milliseconds.
    now: u32,
    rhythm: u32,
}

impl RowHistory {
    /// An empty history whose changes are taken over `window`.
    pub fn new(window: Duration) -> Self {
        Self {
            pss: ChangeWindow::new(window),
            swap: ChangeWindow::new(window),
            levels: TimeSeries::default(),
            own: TimeSeries::default(),
            change: Change::default(),
            case: Case::default(),
            now: 0,
            rhythm: 0,
        }
    }

    /// Takes changes over another length of time from now on.
    pub(super) fn set_window(&mut self, window: Duration) {
        self.pss = ChangeWindow::new(window);
        self.swap = ChangeWindow::new(window);
    }

    /// What changed of late.
    pub const fn change(&self) -> &Change {
        &self.change
    }

    /// The footprint for as long as it is known.
    pub const fn footprint_series(&self) -> &TimeSeries {
        &self.levels
    }

    /// The same, to be drawn: the last five minutes, unless another span is asked for.
    pub const fn footprint(&self) -> SeriesView<'_> {
        SeriesView::new(
            &self.levels,
            Duration::from_secs(self.now as u64),
            Duration::from_millis(self.rhythm as u64),
        )
    }

    /// What the footprint does: the latest verdict on it, some ten seconds old at most while few processes change.
    pub const fn trend(&self) -> &Judgement {
        self.case.judgement()
    }

    /// Takes in the figures at the tick, `None` where they are unknown, and the rates.
    pub fn push(&mut self, tick: Tick, figures: Option<MemorySample>, rates: &Rates) {
        let before = self.levels.newest().map_or(Duration::ZERO, |(at, _)| at);
        self.pss.push(tick.now, figures.map(|f| f.pss));
        self.swap.push(tick.now, figures.map(|f| f.swap));
        self.now = u32::try_from(tick.now.as_secs()).unwrap_or(u32::MAX);
        self.rhythm = u32::try_from(tick.rhythm.as_millis()).unwrap_or(u32::MAX);
        let moved = self.levels.push(tick.now, figures.map(|f| f.footprint), tick.detail);
        let moves = self.own.push(tick.now, figures.map(|f| f.anonymous), tick.detail);
        if moved || moves {
            self.case.stir();
        }
        // Of what does not move the slope is taken anew every five seconds, as old values fall out.
        let growth = if moved || before.as_secs() / 5 != tick.now.as_secs() / 5 {
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

    /// Judges it now, whether it is due or not.
    pub(super) fn decide(&mut self, judge: &mut Judge, born: Option<Duration>) {
        judge.decide(&mut self.case, &self.levels, &self.own, born);
    }

    /// Judges it, if that is due. `born` is when it started; it spreads what is due over time by `salt`.
    pub(super) fn judge(&mut self, judge: &mut Judge, born: Option<Duration>, salt: u32) {
        judge.hear(&mut self.case, &self.levels, &self.own, born, salt);
    }

    /// Keeps no more than that of what was.
    pub(super) fn thin(&mut self, detail: Retention) {
        self.levels.thin(detail);
        self.own.thin(detail);
    }

    /// Forgets all but the newest value.
    pub(super) fn forget(&mut self) {
        self.levels.forget();
        self.own.forget();
        self.case = Case::default();
    }

    /// The bytes it takes.
    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() - 2 * size_of::<TimeSeries>() + self.levels.bytes() + self.own.bytes()
    }
}
