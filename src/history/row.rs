//! The history of a row, a process or a group: the figures that it is pushed, its changes, and its judgement.

use std::cell::Cell;
use std::time::Duration;

use crate::group::Change;
use crate::history::evaluation::{Evaluation, EvaluationScheduler, JudgedSeries, MemberCounts, RowNumber};
use crate::history::time_series::{Retention, TimeSeries};
use crate::history::view::SeriesView;
use crate::history::window::ChangeWindow;
use crate::model::memory::Memory;
use crate::model::process::ProcessSample;
use crate::model::snapshot::ToldVerdict;
use crate::trend::{Judgement, Metric, Verdict};

/// The memory figures of a row that have a history, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySample {
    /// PSS.
    pub pss: u64,
    /// Swap.
    pub swap: u64,
    /// PSS + `SwapPss`; PSS alone where the kernel gives no `SwapPss`.
    pub footprint: u64,
    /// The part of the footprint that is held: anonymous, shared and swapped memory; 0 where the kernel does not tell.
    pub held: u64,
    /// The memory that it asked for, touched or not: what it may fill. Where that is not known, what is held.
    pub asked: u64,
}

impl MemorySample {
    /// The number of figures.
    pub(super) const COUNT: usize = 5;

    /// Takes the figures from a walk, and what was asked for of private memory.
    pub fn new(memory: &Memory, data: Option<u64>) -> Self {
        let held = memory.pss_anon.map_or(0, |anon| {
            let others = [memory.pss_shmem, memory.swap_pss];
            others
                .iter()
                .fold(anon, |sum, kind| sum.saturating_add(kind.unwrap_or(0)))
        });
        Self {
            pss: memory.pss,
            swap: memory.swap,
            footprint: memory.footprint().unwrap_or(memory.pss),
            held,
            // Shared memory is asked for elsewhere, and any of it counts.
            asked: data.map_or(held, |data| data.saturating_add(memory.pss_shmem.unwrap_or(0))),
        }
    }

    /// Takes the figures that the kernel counts for everyone, of a process whose memory is denied: RSS in place of PSS.
    /// `None` where one of them is not known.
    pub fn counted(sample: &ProcessSample) -> Option<Self> {
        let rss = sample.counted_rss()?;
        let swap = sample.counted.swap()?;
        let held = sample.counted.anon().map_or(0, |anon| anon.saturating_add(swap));
        Some(Self {
            pss: rss,
            swap,
            footprint: rss.saturating_add(swap),
            held,
            asked: sample.data.unwrap_or(held),
        })
    }

    /// Returns all of them, in the order of [`Self::of_sums`].
    pub(super) const fn figures(&self) -> [u64; Self::COUNT] {
        [self.pss, self.swap, self.footprint, self.held, self.asked]
    }

    /// Makes them of sums of [figures](Self::figures), as far as they fit.
    pub(super) fn of_sums(sums: [u128; Self::COUNT]) -> Self {
        let [pss, swap, footprint, held, asked] = sums.map(|sum| u64::try_from(sum).unwrap_or(u64::MAX));
        Self {
            pss,
            swap,
            footprint,
            held,
            asked,
        }
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
    /// The rates of a process that does nothing.
    pub(super) const RESTING: Self = Self {
        minflt: Some(0.0),
        majflt: Some(0.0),
        cpu: Some(0.0),
    };

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

impl From<&Change> for Rates {
    fn from(change: &Change) -> Self {
        Self {
            minflt: change.minflt,
            majflt: change.majflt,
            cpu: change.cpu,
        }
    }
}

/// The time of a snapshot, and how its figures are kept.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The time on the monotonic clock.
    pub now: Duration,
    /// Time from one snapshot to the next.
    pub interval: Duration,
    /// The rows are those of a fleet.
    pub is_fleet: bool,
    /// When the figures were taken: now, except in a fleet, whose hosts are sampled at times of their own.
    pub taken: Duration,
    /// Time that changes are taken over.
    pub window: Duration,
    /// Maximum time between two values whose difference is a change.
    pub reach: Duration,
    /// The changes of PSS and swap, where they are sums of those of members.
    pub changes: Option<[Option<i64>; 2]>,
    /// The share of the buckets that is kept.
    pub retention: Retention,
    /// There is memory for the past of further rows.
    pub has_room: bool,
}

/// The time that rows at which nothing changes have rested until: that of the last snapshot with processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) now: Duration,
    pub(super) interval: Duration,
}

impl From<Tick> for Clock {
    fn from(tick: Tick) -> Self {
        Self {
            now: tick.now,
            interval: tick.interval,
        }
    }
}

/// The changes of rows that do nothing: before there are two values, before there is a slope, and from then on.
pub(super) static COMMON: [Change; 3] = [
    Change {
        pss: None,
        swap: None,
        growth: None,
        minflt: None,
        majflt: None,
        cpu: None,
    },
    Change {
        growth: None,
        ..RESTING
    },
    RESTING,
];

/// The change of a row that did nothing for long enough to have a slope.
pub(super) const RESTING: Change = Change {
    pss: Some(0),
    swap: Some(0),
    growth: Some(0.0),
    minflt: Some(0.0),
    majflt: Some(0.0),
    cpu: Some(0.0),
};

/// The change of a row whose memory was never known, and that does nothing.
pub(super) const UNKNOWN: Change = RESTING.without_memory();

/// Weight of a byte that a row grew by within five minutes beside a byte that it has, where not every past can be kept:
/// a small row that doubles counts as much as one nine times as large that stays.
const GROWTH_WORTH: u64 = 8;

/// The room for the past of a row, where memory is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Room {
    /// It has a past while there is room for all.
    #[default]
    Common,
    /// It is without a past, for want of memory.
    Cut,
    /// It may have one, though memory is short.
    Admitted,
}

/// The history of a row since zmtop first saw it; of a process, since its last exec.
///
/// A row that never changed takes no memory beside this: what changes are computed from, and the past of its series,
/// are allocated with the first change. Where memory is short a row may be without a past: it has its newest figures
/// and changes, but no growth and no verdict.
#[derive(Clone, Debug, Default)]
pub struct RowHistory {
    /// The changes of PSS and of swap, while something changed within the window.
    windows: Option<Box<[ChangeWindow; 2]>>,
    /// The figures last known, and when.
    pub(super) known: Option<MemorySample>,
    pub(super) known_at: Cell<Duration>,
    pub(super) footprint: TimeSeries,
    pub(super) held: TimeSeries,
    /// The series of what is held is of that which collections leave of a heap.
    pub(super) is_live_set: bool,
    /// Its figures are [counted](MemorySample::counted) for everyone, as its memory may not be read.
    pub(super) is_counted: bool,
    /// The changes and rates, where they are none of [`COMMON`], as most are.
    change: Option<Box<Change>>,
    /// The number of that one.
    common: u8,
    pub(super) evaluation: Evaluation,
    /// The second of the last tick; 32 bits, as there are many rows.
    now: Cell<u32>,
    /// The interval of the ticks, in milliseconds.
    interval: Cell<u32>,
    room: Room,
    /// The footprint when it lost its past, in MiB.
    cut_at: u32,
}

impl RowHistory {
    /// Forgets what the changes were over another length of time.
    pub(super) fn clear_window(&mut self) {
        self.windows = None;
    }

    /// Returns the recent changes and rates.
    pub fn change(&self) -> &Change {
        self.change.as_deref().unwrap_or(&COMMON[usize::from(self.common)])
    }

    /// Returns the footprint for as long as it is known.
    pub const fn footprint_series(&self) -> &TimeSeries {
        &self.footprint
    }

    /// Returns the newest footprint in bytes, 0 if there is none.
    pub(super) fn newest_footprint(&self) -> u64 {
        self.footprint.newest().map_or(0, |(_, bytes)| bytes)
    }

    /// Returns the figures last known that sums may have: RSS counts what is shared in each process.
    pub(super) fn known(&self) -> Option<&MemorySample> {
        self.known.as_ref().filter(|_| !self.is_counted)
    }

    /// Returns true if it has figures, and these are RSS, as its memory may not be read.
    pub fn shows_counted(&self) -> bool {
        self.is_counted && self.footprint.newest().is_some()
    }

    /// Takes RSS for its figures from now on, unless it had others before.
    pub(super) fn count(&mut self) {
        self.is_counted |= self.footprint.newest().is_none();
    }

    /// Takes the figures of walks from now on, and forgets any others: RSS is no earlier PSS.
    pub(super) fn walk(&mut self) {
        if self.is_counted {
            *self = Self {
                is_live_set: self.is_live_set,
                ..Self::default()
            };
        }
    }

    /// Forgets the figures last known: it has none any more.
    pub(super) const fn forget_known(&mut self) {
        self.known = None;
    }

    /// Returns the footprint for drawing: the last five minutes, unless another span is asked for.
    pub const fn footprint(&self) -> SeriesView<'_> {
        SeriesView::new(
            &self.footprint,
            Duration::from_secs(self.now.get() as u64),
            Duration::from_millis(self.interval.get() as u64),
        )
    }

    /// Returns the latest judgement, some ten seconds old at most while few processes change.
    pub fn trend(&self) -> &Judgement {
        self.evaluation.latest()
    }

    /// Returns true if its past is not kept, for want of memory: see [`HistoryConfig::max_memory`](super::HistoryConfig::max_memory).
    pub const fn is_without_past(&self) -> bool {
        matches!(self.room, Room::Cut)
    }

    /// Takes in the figures of a tick, `None` where they are unknown, and the rates.
    pub fn push(&mut self, tick: Tick, sample: Option<MemorySample>, rates: &Rates) {
        let previous = self.footprint.newest().map_or(Duration::ZERO, |(at, _)| at);
        let [pss, swap] = self.push_changes(tick, sample);
        if let Some(cpu) = rates.cpu {
            self.evaluation.add_load(cpu * tick.interval.as_secs_f64());
        }
        self.set_time(tick.into());
        let changed = self.push_series(tick, sample);
        // The slope of an unchanged series changes as old values fall out; every five seconds is often enough for that.
        let growth = if changed || previous.as_secs() / 5 != tick.now.as_secs() / 5 {
            self.growth()
        } else {
            self.change().growth
        };
        let change = Change {
            pss,
            swap,
            growth,
            minflt: rates.minflt,
            majflt: rates.majflt,
            cpu: rates.cpu,
        };
        if let Some(common) = COMMON.iter().position(|common| change == *common) {
            (self.change, self.common) = (None, common as u8);
        } else if let Some(kept) = &mut self.change {
            **kept = change;
        } else {
            self.change = Some(Box::new(change));
        }
    }

    fn set_time(&self, clock: Clock) {
        self.now.set(u32::try_from(clock.now.as_secs()).unwrap_or(u32::MAX));
        let interval = u32::try_from(clock.interval.as_millis());
        self.interval.set(interval.unwrap_or(u32::MAX));
    }

    /// Lets time pass, as if the figures of the last tick had been pushed again at every tick since: to be called before
    /// anything is done with a row that was not pushed because it [rests](Self::is_resting).
    pub(super) fn rest_until(&self, clock: Clock) {
        self.set_time(clock);
        if self.footprint.is_known() {
            self.known_at.set(clock.now);
        }
        self.footprint.rest_until(clock.now);
        self.held.rest_until(clock.now);
    }

    /// Returns true if the figures of the last tick, pushed again, would change nothing but the time, however often;
    /// apart from being queued when it is [due](Self::due).
    pub(super) fn is_resting(&self) -> bool {
        let is_flat = || {
            let since = self.footprint.unchanged_since();
            self.footprint.is_constant() || since.is_some_and(|since| since <= self.slope_start())
        };
        self.windows.is_none()
            && match self.footprint.newest() {
                Some(_) => *self.change() == RESTING && self.footprint.is_known() && is_flat(),
                None => *self.change() == UNKNOWN,
            }
    }

    /// Returns the second from which on it is due to be judged; `None` where it never is.
    pub(super) const fn due(&self) -> Option<u32> {
        self.evaluation.due()
    }

    fn push_changes(&mut self, tick: Tick, sample: Option<MemorySample>) -> [Option<i64>; 2] {
        let figures = |sample: MemorySample| [sample.pss, sample.swap];
        let known = self.known;
        let known_at = self.known_at.get();
        let is_same_sample = tick.is_fleet && (sample.is_none() || known.is_some() && tick.taken <= known_at);
        if let Some(sample) = sample {
            self.known = Some(sample);
            self.known_at.set(tick.taken.max(known_at));
        }
        if tick.changes.is_some() || is_same_sample {
            let known = sample.map_or([None; 2], |_| [self.change().pss, self.change().swap]);
            return tick.changes.unwrap_or(known);
        }
        if self.windows.is_none() {
            let (Some(before), Some(now)) = (known.map(figures), sample.map(figures)) else {
                return [None; 2];
            };
            if before == now {
                return [(tick.taken.saturating_sub(known_at) <= tick.reach).then_some(0); 2];
            }
            // Of values that were all the same, the last one tells all.
            let windows = before.map(|value| {
                let mut window = ChangeWindow::new(tick.window, tick.reach);
                window.push(known_at, Some(value));
                window
            });
            self.windows = Some(Box::new(windows));
        }
        let Some(windows) = &mut self.windows else {
            return [None; 2];
        };
        let values = sample.map(figures);
        for (at, window) in windows.iter_mut().enumerate() {
            window.push(tick.taken, values.map(|values| values[at]));
        }
        let changes = [windows[0].change(), windows[1].change()];
        if windows.iter().all(ChangeWindow::is_flat) {
            self.windows = None;
        }
        changes
    }

    /// Takes the figures into the series; returns true if the footprint changed.
    fn push_series(&mut self, tick: Tick, sample: Option<MemorySample>) -> bool {
        let (footprint, held) = (sample.map(|s| s.footprint), sample.map(|s| s.held));
        let needs_room = self.is_constant() && self.room != Room::Admitted;
        if needs_room && !self.is_without_past() && !tick.has_room && self.would_change(sample) {
            self.cut();
        }
        if self.is_without_past() {
            self.held.replace(tick.now, held);
            return self.footprint.replace(tick.now, footprint);
        }
        let changed = self.footprint.push(tick.now, footprint, tick.retention);
        let held_changed = self.held.push(tick.now, held, tick.retention);
        if changed || held_changed {
            self.evaluation.mark_changed();
        }
        changed
    }

    /// Returns true if a sample would be the first change of one of its series.
    fn would_change(&self, sample: Option<MemorySample>) -> bool {
        let would = |series: &TimeSeries, bytes: u64| series.newest().is_some() && series.is_change(bytes);
        sample.is_some_and(|s| would(&self.footprint, s.footprint) || would(&self.held, s.held))
    }

    fn growth(&self) -> Option<f64> {
        let slope = self.footprint().slope();
        // Without a past nothing is known of the time before the newest value.
        slope.filter(|_| {
            !self.is_without_past()
                || self
                    .footprint
                    .unchanged_since()
                    .is_none_or(|since| since <= self.slope_start())
        })
    }

    fn slope_start(&self) -> Duration {
        Duration::from_secs(self.now.get().into()).saturating_sub(SeriesView::SLOPE_SPAN)
    }

    /// Returns true if it never changed: then its past takes no memory.
    pub(super) const fn is_constant(&self) -> bool {
        self.footprint.is_constant() && self.held.is_constant()
    }

    /// Begins the series of what is held anew: from now on it is what collections leave of a heap. A leak that was called by
    /// what was held before goes on until that shows it to be over.
    pub(super) fn judge_live_set(&mut self) {
        self.held = TimeSeries::default();
        self.is_live_set = true;
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.footprint.set_retention(retention);
        self.held.set_retention(retention);
    }

    /// Puts the history of an earlier time before its own, at a tick that it took in.
    pub(super) fn put_before(&mut self, earlier: &Self, tick: Tick) {
        if self.is_without_past() || !tick.has_room {
            return;
        }
        self.footprint.put_before(&earlier.footprint, tick.retention);
        self.held.put_before(&earlier.held, tick.retention);
        self.evaluation.mark_changed();
        let (known, taken) = (self.known, self.known_at.get());
        if self.change().pss.is_some() || known.is_none() {
            return;
        }
        // What changed since the last samples of that time.
        (self.known, self.windows) = (earlier.known, earlier.windows.clone());
        self.known_at.set(earlier.known_at.get());
        let last = earlier.change();
        let (pss, swap) = (last.pss, last.swap);
        let mut change = Change {
            pss,
            swap,
            ..*self.change()
        };
        self.change = Some(Box::new(change));
        [change.pss, change.swap] = self.push_changes(Tick { taken, ..tick }, known);
        self.change = Some(Box::new(change));
    }

    /// Gives up its past, until [`Self::admit`].
    pub(super) fn cut(&mut self) {
        self.footprint.clear_past();
        self.held.clear_past();
        self.evaluation = Evaluation::default();
        self.room = Room::Cut;
        self.cut_at = (self.newest_footprint() >> 20) as u32;
    }

    /// Lets it have a past from now on.
    pub(super) const fn admit(&mut self) {
        self.room = Room::Admitted;
    }

    /// Returns how much its past is worth keeping, where not all can be: growth first, then size and what it grew by.
    pub(super) fn worth(&self) -> (bool, u64) {
        let footprint = self.newest_footprint();
        let grown = if self.is_without_past() {
            footprint.abs_diff(u64::from(self.cut_at) << 20)
        } else {
            (self.change().growth.unwrap_or(0.0).abs() * SeriesView::SLOPE_SPAN.as_secs_f64()) as u64
        };
        let worth = footprint.saturating_add(grown.saturating_mul(GROWTH_WORTH));
        (self.trend().verdict.is_growth(), worth)
    }

    /// Returns its memory in bytes.
    pub const fn bytes(&self) -> usize {
        let windows = match self.windows {
            Some(_) => size_of::<[ChangeWindow; 2]>(),
            None => 0,
        };
        let change = match self.change {
            Some(_) => size_of::<Change>(),
            None => 0,
        };
        let judgement = self.evaluation.bytes();
        size_of::<Self>() - 2 * size_of::<TimeSeries>()
            + judgement
            + windows
            + change
            + self.footprint.bytes()
            + self.held.bytes()
    }
}

impl RowHistory {
    /// Returns the figure that is held, and what grows beside it: pages of files, or what the next collection may free.
    const fn metrics(&self) -> [Metric; 2] {
        match (self.is_live_set, self.is_counted) {
            (true, _) => [Metric::LiveSet, Metric::Heap],
            (false, true) => [Metric::Rss, Metric::File],
            (false, false) => [Metric::Held, Metric::File],
        }
    }

    /// Judges the row now, due or not; a group by its `members`.
    pub(super) fn evaluate(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        if !self.is_without_past() {
            let series = JudgedSeries {
                footprint: &self.footprint,
                held: &self.held,
                asked: self.known.map_or(0, |known| known.asked),
                metrics: self.metrics(),
                members,
            };
            scheduler.evaluate(&mut self.evaluation, &series, started_at);
        }
    }

    /// Judges it now as a part of the kernel's memory: the kernel has run since the clock began, and what work it did for it
    /// is not known. Where it may not leak, it is called growing.
    pub(super) fn evaluate_of_kernel(&mut self, scheduler: &mut EvaluationScheduler, may_leak: bool) {
        self.evaluate(scheduler, None, Some(Duration::ZERO));
        let Some(latest) = &mut self.evaluation.latest else {
            return;
        };
        let judgement = &mut latest.judgement;
        judgement.reasons = judgement.reasons.map(|reasons| reasons.at_load(None));
        if !may_leak {
            judgement.call_growing();
        }
    }

    /// Puts the row, which has that number, in the queue of those to judge if it is due.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler, number: RowNumber) {
        if !self.is_without_past() {
            scheduler.queue(&mut self.evaluation, &self.footprint, &self.held, number);
        }
    }

    /// Judges it now as what is held through descriptors.
    pub(super) fn evaluate_descriptors(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        self.evaluate(scheduler, members, started_at);
        if let Some(latest) = &mut self.evaluation.latest {
            latest.judgement.metric = Metric::Descriptors;
        }
    }
}

impl RowHistory {
    /// Takes in the verdict that was told, if one was: else it has none. Returns true if it grows by that.
    pub(super) fn take_told(&mut self, told: Option<&ToldVerdict>) -> bool {
        let judgement = told.and_then(judgement);
        self.evaluation = judgement.map_or_else(Evaluation::default, Evaluation::told);
        judgement.is_some_and(|judgement| judgement.verdict.is_growth())
    }
}

/// Returns the judgement that was told; `None` for a rank that is none.
fn judgement(told: &ToldVerdict) -> Option<Judgement> {
    Some(Judgement {
        verdict: Verdict::from_rank(told.rank)?,
        metric: Metric::Held,
        slope: told.slope,
        confidence: told.confidence,
        since: told.since,
        ..Judgement::NONE
    })
}
