//! The history of one row of any kind: its figures, changes, series and judgement.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::group::Change;
use crate::history::evaluation::{
    Evaluation, EvaluationScheduler, GrowthLog, HEAD_START, INTERVAL, LONG_INTERVAL, LONG_KNOWN, Latest, MemberCounts,
    NEVER, Resumed, RowNumber, Turn,
};
use crate::history::growth::{Growth, GrowthStart, Kinds, LastGrowth};
use crate::history::time_series::{Retention, TimeSeries};
use crate::history::view::SeriesView;
use crate::history::window::ChangeWindow;
use crate::model::memory::Memory;
use crate::model::process::ProcessSample;
use crate::model::snapshot::ScrapedVerdict;
use crate::trend::parameters::WARM_UP;
use crate::trend::{Judgement, MIN_OBSERVED, Metric, Verdict};

/// The memory figures of a row, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct MemorySample {
    pub pss: u64,
    pub swap: u64,
    /// PSS + `SwapPss`; PSS alone if the kernel has no `SwapPss`.
    pub footprint: u64,
    /// The part of the footprint that is neither file pages nor lazily freed: anonymous, shared and swapped memory; 0 if
    /// unknown.
    pub held: u64,
    /// The memory that it requested, touched or not: the maximum that a fill can reach. If unknown, same as `held`.
    pub requested: u64,
    /// RSS and swap, not divided by sharers; 0 if unknown.
    pub(super) resident: u64,
    /// The lazily freed memory, as far as it is known.
    pub(super) lazy: Kibibytes,
    /// The anonymous memory in transparent huge pages, as far as it is known.
    pub(super) huge: Kibibytes,
    /// The mapped shared memory and files of tmpfs, as far as it is known.
    pub(super) shmem: Kibibytes,
    /// The memory that its allocator keeps free, or that the next garbage collection may free, as far as it is known. It is
    /// not in `held`.
    pub(super) free: Kibibytes,
}

/// A size of up to 4 TiB, rounded down, to keep rows small. It has a niche, so that an optional sample needs no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Kibibytes(NonZeroU32);

impl Kibibytes {
    const ZERO: Self = Self(NonZeroU32::MIN);

    pub(super) fn new(bytes: u64) -> Self {
        let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
        Self(NonZeroU32::MIN.saturating_add(kib))
    }

    pub(super) const fn bytes(self) -> u64 {
        (self.0.get() as u64 - 1) << 10
    }
}

impl Default for Kibibytes {
    fn default() -> Self {
        Self::ZERO
    }
}

impl MemorySample {
    pub(super) const COUNT: usize = 10;

    /// Creates the sample of a walk. `data` is the private memory that the process requested.
    pub fn new(memory: &Memory, data: Option<u64>) -> Self {
        let held = memory.used_anon().map_or(0, |anon| {
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
            // `data` does not include shared memory, all of which counts as requested.
            requested: data.map_or(held, |data| data.saturating_add(memory.pss_shmem.unwrap_or(0))),
            resident: memory.rss.saturating_add(memory.swap),
            lazy: Kibibytes::new(memory.lazy_alone()),
            huge: Kibibytes::new(memory.anon_huge.unwrap_or(0)),
            shmem: Kibibytes::new(memory.pss_shmem.unwrap_or(0)),
            free: Kibibytes::ZERO,
        }
    }

    /// Creates the sample of a process whose memory may not be read, from counters that any user may read: RSS in place of
    /// PSS. Returns `None` if one is unknown.
    pub fn counted(sample: &ProcessSample) -> Option<Self> {
        let rss = sample.counted_rss()?;
        let swap = sample.counted.swap()?;
        let held = sample.counted.anon().map_or(0, |anon| anon.saturating_add(swap));
        Some(Self {
            pss: rss,
            swap,
            footprint: rss.saturating_add(swap),
            held,
            requested: sample.data.unwrap_or(held),
            resident: rss.saturating_add(swap),
            lazy: Kibibytes::ZERO,
            huge: Kibibytes::ZERO,
            shmem: Kibibytes::ZERO,
            free: Kibibytes::ZERO,
        })
    }

    /// Creates a sample of memory that is not broken down. All of it was requested.
    pub(super) const fn of_total(bytes: u64) -> Self {
        Self {
            pss: bytes,
            swap: 0,
            footprint: bytes,
            held: 0,
            requested: bytes,
            resident: bytes,
            lazy: Kibibytes::ZERO,
            huge: Kibibytes::ZERO,
            shmem: Kibibytes::ZERO,
            free: Kibibytes::ZERO,
        }
    }

    const fn kinds(self) -> Kinds {
        Kinds {
            footprint: self.footprint,
            resident: self.resident,
            lazy: self.lazy.bytes(),
            huge: self.huge.bytes(),
            shmem: self.shmem.bytes(),
            free: self.free.bytes(),
            held: self.held.saturating_add(self.free.bytes()),
        }
    }

    /// Returns all figures, in the order of [`Self::of_sums`].
    pub(super) const fn figures(&self) -> [u64; Self::COUNT] {
        [
            self.pss,
            self.swap,
            self.footprint,
            self.held,
            self.requested,
            self.resident,
            self.lazy.bytes(),
            self.huge.bytes(),
            self.shmem.bytes(),
            self.free.bytes(),
        ]
    }

    /// Creates a sample from sums of [`Self::figures`], saturating.
    pub(super) fn of_sums(sums: [u128; Self::COUNT]) -> Self {
        let [pss, swap, footprint, held, requested, resident, lazy, huge, shmem, free] =
            sums.map(|sum| u64::try_from(sum).unwrap_or(u64::MAX));
        Self {
            pss,
            swap,
            footprint,
            held,
            requested,
            resident,
            lazy: Kibibytes::new(lazy),
            huge: Kibibytes::new(huge),
            shmem: Kibibytes::new(shmem),
            free: Kibibytes::new(free),
        }
    }
}

/// Rates per second since the previous snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    pub minflt: Option<f64>,
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

impl Rates {
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

/// The time of a snapshot, and how its figures are stored.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The time on the monotonic clock.
    pub now: Duration,
    /// The time between snapshots.
    pub interval: Duration,
    pub is_fleet: bool,
    /// The time of the sample: now, except in a fleet, whose hosts are sampled at different times.
    pub taken: Duration,
    /// The time that changes are computed over.
    pub window: Duration,
    /// Maximum time between two values that are compared.
    pub reach: Duration,
    /// The changes of PSS and swap, if they are sums over members.
    pub changes: Option<[Option<i64>; 2]>,
    pub retention: Retention,
    /// There is memory for the past of more rows.
    pub has_room: bool,
    /// The figures may be too low. They are shown but not stored in the past.
    pub is_doubtful: bool,
}

/// The time up to which resting rows are valid: the time of the last snapshot with processes.
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

/// The changes of an inactive row: before it has two values, before it has a slope, and from then on.
static COMMON: [Change; 3] = [
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

/// The change of a row that was inactive for long enough to have a slope.
const RESTING: Change = Change {
    pss: Some(0),
    swap: Some(0),
    growth: Some(0.0),
    minflt: Some(0.0),
    majflt: Some(0.0),
    cpu: Some(0.0),
};

/// The change of an inactive row whose memory was never known.
const UNKNOWN: Change = RESTING.without_memory();

/// Weight of a byte of growth within five minutes relative to a byte of size, when memory is short: a small row that doubles
/// counts as much as a constant one nine times as large.
const GROWTH_WORTH: u64 = 8;

/// The memory of a row that verdicts are based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Judged {
    /// Anonymous, shared and swapped memory.
    #[default]
    Held,
    /// The live set of a heap after garbage collections, plus the memory outside of the heap.
    LiveSet,
    /// Held memory without what `malloc` keeps free.
    InUse,
}

/// Permission of a row to store a past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Room {
    /// Yes, while there is memory for all.
    #[default]
    Common,
    /// No, as memory is short.
    Cut,
    /// Yes, though memory is short.
    Admitted,
}

/// The history of a row since zmtop first saw it; of a process, since its last exec.
///
/// A row that never changed needs no further memory: the change windows and the past of the series are allocated with the
/// first change. If memory is short, a row may be without a past: it has its newest figures and changes, but no growth and
/// no verdict.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RowHistory {
    /// The values of PSS and swap within the window, if they differ.
    #[serde(skip)]
    windows: Option<Box<[ChangeWindow; 2]>>,
    /// The last known figures, and their time.
    pub(super) known: Option<MemorySample>,
    pub(super) known_at: Cell<Duration>,
    pub(super) footprint: TimeSeries,
    pub(super) held: TimeSeries,
    /// The memory in `held`.
    pub(super) judged: Judged,
    /// Its figures are from [counters](MemorySample::counted), as its memory may not be read.
    pub(super) is_counted: bool,
    /// The changes and rates, unless they are one of [`COMMON`], as most are.
    #[serde(skip)]
    change: Option<Box<Change>>,
    /// The index in [`COMMON`].
    #[serde(skip)]
    common: u8,
    pub(super) evaluation: Evaluation,
    /// The second of the last tick; 32 bits to save memory.
    #[serde(skip)]
    now: Cell<u32>,
    /// In milliseconds.
    #[serde(skip)]
    interval: Cell<u32>,
    #[serde(skip)]
    room: Room,
    /// The footprint when it lost its past, in MiB.
    #[serde(skip)]
    cut_at: u32,
}

impl RowHistory {
    /// Continues a row that was saved at `at`; `None` if a time in it is later.
    pub(super) fn resumed(mut self, at: Duration) -> Option<Self> {
        let is_past = |time: Duration| time <= at + TimeSeries::LONGEST_STEP;
        let mut are_past = is_past(self.known_at.get()) && self.footprint.ends_by(at) && self.held.ends_by(at);
        if let Some(latest) = &mut self.evaluation.latest {
            let growth = latest.last_growth.as_ref().map(|last| last.until);
            are_past &= latest.judgement.times().chain(growth).all(is_past);
            let marks = &latest.log.marks;
            are_past &= marks.is_sorted_by_key(|mark| mark.at) && marks.last().is_none_or(|mark| is_past(mark.at));
            // The work in between is unknown.
            latest.log.known_since = at + Duration::from_nanos(1);
            let newest = self.known.map_or(0, |known| known.footprint);
            latest.resumed = Some(Resumed::at(at, newest));
        }
        self.evaluation.changed = true;
        are_past.then_some(self)
    }

    /// Returns about the least number of bytes that it needs when it is saved.
    pub(super) fn least_saved_bytes(&self) -> usize {
        self.footprint.least_saved_bytes() + self.held.least_saved_bytes()
    }

    /// Sets the maximum time between two values that are compared, after the interval changed.
    pub(super) fn set_reach(&mut self, reach: Duration) {
        for window in self.windows.iter_mut().flat_map(|windows| windows.iter_mut()) {
            window.set_reach(reach);
        }
    }

    pub fn change(&self) -> &Change {
        self.change.as_deref().unwrap_or(&COMMON[usize::from(self.common)])
    }

    pub const fn footprint_series(&self) -> &TimeSeries {
        &self.footprint
    }

    /// Returns the newest footprint in bytes, or 0.
    pub(super) fn newest_footprint(&self) -> u64 {
        self.footprint.newest().map_or(0, |(_, bytes)| bytes)
    }

    /// Returns the newest footprint of a process without pages of files, which the kernel can reclaim, in bytes; all of it if they are not
    /// known.
    pub(super) fn newest_taken(&self) -> u64 {
        self.without_files(self.newest_footprint() as f64, |held| held.last().unwrap_or(0) as f64) as u64
    }

    /// Returns the newest memory of a process that goes with it, in bytes: without pages of files and shared memory.
    pub(super) fn newest_own(&self) -> u64 {
        let shmem = self.known.map_or(0, |known| known.shmem.bytes());
        let held = self.held.newest().map_or(0, |(_, bytes)| bytes);
        let taken = if self.is_counted && held > 0 {
            held
        } else {
            self.newest_taken()
        };
        taken.saturating_sub(shmem)
    }

    /// Returns the growth of the footprint of a process over `span`, without that of pages of files, in bytes. If other processes no longer map
    /// them, the PSS of the last one rises, but nothing was taken.
    pub(super) fn taken_over(&self, span: Duration) -> f64 {
        self.without_files(self.footprint().change_over(span), |held| held.change_over(span))
    }

    /// Returns the part of the newest RSS that PSS leaves to other sharers, in bytes; `None` if it is unknown.
    pub(super) fn newest_shared(&self) -> Option<u64> {
        let known = self.known.filter(|known| known.resident > known.swap)?;
        Some((known.resident - known.swap).saturating_sub(known.pss))
    }

    /// Returns the held memory before `span`, in bytes; `None` unless the verdict is on all of it, or if it is not known.
    pub(super) fn held_before(&self, span: Duration) -> Option<f64> {
        let (_, newest) = self.held.newest()?;
        let is_whole = self.judged == Judged::Held && !self.is_counted;
        is_whole.then(|| newest as f64 - self.held().change_over(span))
    }

    /// Returns a view of the held memory; `None` unless the verdict is on all of it, or if it is not known.
    pub(crate) fn whole_held(&self) -> Option<SeriesView<'_>> {
        let newest = self.held.newest().filter(|(_, newest)| *newest > 0);
        let is_whole = self.judged == Judged::Held && !self.is_counted;
        newest.filter(|_| is_whole).map(|_| self.held())
    }

    /// Returns true if its footprint is known now.
    pub(super) const fn is_known(&self) -> bool {
        self.footprint.is_known()
    }

    /// Returns true if the verdict is on a part of the held memory, as the rest is free in a heap or may become so. A group has no heap itself.
    pub(crate) fn has_heap(&self) -> bool {
        self.judged != Judged::Held
    }

    /// Returns a measure of the held memory: what is unmapped of files does not make up for it. Returns the measure of the footprint if the
    /// verdict is on a part of the held memory, or if it is RSS, as its shared memory is not in `held` then.
    fn without_files(&self, footprint: f64, held: impl FnOnce(SeriesView<'_>) -> f64) -> f64 {
        self.whole_held().map_or(footprint, held)
    }

    /// Returns the last known figures that may be summed. RSS may not, as it counts shared pages once per process.
    pub(super) fn known(&self) -> Option<&MemorySample> {
        self.known.as_ref().filter(|_| !self.is_counted)
    }

    /// Returns true if it has figures, and they are RSS, as its memory may not be read.
    pub fn shows_counted(&self) -> bool {
        self.is_counted && self.footprint.newest().is_some()
    }

    /// Uses RSS from now on, unless PSS was known before.
    pub(super) fn count(&mut self) {
        self.is_counted |= self.footprint.newest().is_none();
    }

    /// Uses PSS from now on. Drops any RSS, as the two are not comparable.
    pub(super) fn walk(&mut self) {
        if self.is_counted {
            *self = Self {
                judged: self.judged,
                ..Self::default()
            };
        }
    }

    /// Returns a view of the footprint, for drawing.
    pub const fn footprint(&self) -> SeriesView<'_> {
        self.view_of(&self.footprint)
    }

    pub(super) const fn held(&self) -> SeriesView<'_> {
        self.view_of(&self.held)
    }

    const fn view_of<'a>(&'a self, series: &'a TimeSeries) -> SeriesView<'a> {
        SeriesView::new(
            series,
            Duration::from_secs(self.now.get() as u64),
            Duration::from_millis(self.interval.get() as u64),
        )
    }

    /// Returns the latest judgement, about ten seconds old at most unless many processes change.
    pub fn trend(&self) -> &Judgement {
        self.evaluation.latest()
    }

    /// Returns what its growth is made of; `None` if it does not grow, or if that is unknown.
    pub(super) fn growth_since_start(&self) -> Option<Growth> {
        let start = self.evaluation.latest.as_ref()?.start.filter(|_| self.is_growing())?;
        Some(start.growth(self.known?.kinds()))
    }

    /// Returns its last growth if that has stopped, was recent and large, and was not given back.
    pub(super) fn stopped_growth(&self, now: Duration) -> Option<LastGrowth> {
        let last = **self.evaluation.latest.as_ref()?.last_growth.as_ref()?;
        let is_reported = !self.is_growing() && last.is_worth_reporting(now, self.newest_footprint());
        is_reported.then_some(last)
    }

    pub(super) fn is_growing(&self) -> bool {
        self.trend().verdict.is_growth()
    }

    /// Returns true if its past is not stored, as memory is short: see [`HistoryConfig::max_memory`](super::HistoryConfig::max_memory).
    pub const fn is_without_past(&self) -> bool {
        matches!(self.room, Room::Cut)
    }

    /// Adds the figures of a tick, `None` if they are unknown, and the rates.
    pub fn push(&mut self, tick: Tick, sample: Option<MemorySample>, rates: &Rates) {
        let previous = self.footprint.newest().map_or(Duration::ZERO, |(at, _)| at);
        let [pss, swap] = self.push_changes(tick, sample);
        if let Some(cpu) = rates.cpu {
            self.evaluation.add_work(cpu * tick.interval.as_secs_f64());
        }
        if let Some(minflt) = rates.minflt {
            self.evaluation.add_faults(minflt * tick.interval.as_secs_f64());
        }
        self.set_time(tick.into());
        let changed = self.push_series(tick, sample);
        // The slope of an unchanged series changes as old values leave it; every five seconds is often enough.
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

    /// Returns the row as of `clock`. Must be called before any use of a row that may rest.
    pub(super) fn rested(&self, clock: Clock) -> &Self {
        if self.evaluation.is_resting {
            self.rest_until(clock);
        }
        self
    }

    /// Lets time pass, as if the last figures had been pushed at every tick since.
    pub(super) fn rest_until(&self, clock: Clock) {
        self.set_time(clock);
        if self.footprint.is_known() {
            self.known_at.set(clock.now);
        }
        self.footprint.rest_until(clock.now);
        self.held.rest_until(clock.now);
    }

    /// Returns true if pushing the last figures again, however often, would change only the time, and queue the row when it is
    /// due.
    pub(super) fn can_rest(&self) -> bool {
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
            // Until now all values were the same, so the last one stands for all.
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

    /// Adds the figures to the series; returns true if the footprint changed.
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
        let sure = |value: Option<u64>| value.filter(|_| !tick.is_doubtful);
        let changed = self.footprint.push(tick.now, sure(footprint), tick.retention);
        let held_changed = self.held.push(tick.now, sure(held), tick.retention);
        if changed || held_changed {
            self.evaluation.changed = true;
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
        // Without a past, nothing is known of the time before the newest value.
        let is_flat = |since| since <= self.slope_start();
        slope.filter(|_| !self.is_without_past() || self.footprint.unchanged_since().is_none_or(is_flat))
    }

    fn slope_start(&self) -> Duration {
        Duration::from_secs(self.now.get().into()).saturating_sub(SeriesView::SLOPE_SPAN)
    }

    /// Returns true if it never changed: its past then needs no memory.
    pub(super) const fn is_constant(&self) -> bool {
        self.footprint.is_constant() && self.held.is_constant()
    }

    /// Restarts the `held` series, which from now on has that memory. An earlier leak is still reported until the new series
    /// shows that it has ended.
    pub(super) fn judge(&mut self, judged: Judged) {
        self.held = TimeSeries::default();
        self.judged = judged;
    }

    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.footprint.set_retention(retention);
        self.held.set_retention(retention);
    }

    /// Prepends the history of an earlier time. `tick` is the last tick that was pushed.
    pub(super) fn put_before(&mut self, earlier: &Self, tick: Tick) {
        if self.is_without_past() || !tick.has_room {
            return;
        }
        self.footprint.put_before(&earlier.footprint, tick.retention);
        self.held.put_before(&earlier.held, tick.retention);
        self.evaluation.changed = true;
        let (known, taken) = (self.known, self.known_at.get());
        if self.change().pss.is_some() || known.is_none() {
            return;
        }
        // Compute the changes since the last samples of that time.
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

    /// Drops the past, and stores none until [`Self::admit`].
    pub(super) fn cut(&mut self) {
        self.footprint.clear_past();
        self.held.clear_past();
        self.evaluation = Evaluation {
            is_resting: self.evaluation.is_resting,
            ..Evaluation::default()
        };
        self.room = Room::Cut;
        self.cut_at = (self.newest_footprint() >> 20) as u32;
    }

    /// Stores a past from now on.
    pub(super) const fn admit(&mut self) {
        self.room = Room::Admitted;
    }

    /// Returns the priority of keeping its past: growing rows first, then by size and recent growth.
    pub(super) fn worth(&self) -> (bool, u64) {
        let footprint = self.newest_footprint();
        let grown = if self.is_without_past() {
            footprint.abs_diff(u64::from(self.cut_at) << 20)
        } else {
            (self.change().growth.unwrap_or(0.0).abs() * SeriesView::SLOPE_SPAN.as_secs_f64()) as u64
        };
        let worth = footprint.saturating_add(grown.saturating_mul(GROWTH_WORTH));
        (self.is_growing(), worth)
    }

    pub const fn bytes(&self) -> usize {
        let windows = match self.windows {
            Some(_) => size_of::<[ChangeWindow; 2]>(),
            None => 0,
        };
        let change = match self.change {
            Some(_) => size_of::<Change>(),
            None => 0,
        };
        size_of::<Self>() - 2 * size_of::<TimeSeries>()
            + self.evaluation.bytes()
            + windows
            + change
            + self.footprint.bytes()
            + self.held.bytes()
    }
}

impl RowHistory {
    /// Judges the row now, even if it is not due; a group with its `members`.
    pub(super) fn evaluate(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        if self.is_without_past() {
            return;
        }
        let (footprint, held, evaluation) = (&self.footprint, &self.held, &mut self.evaluation);
        let previous = *evaluation.latest();
        let now = Duration::from_secs(scheduler.now.into());
        let latest = evaluation.latest.take();
        let (mut log, start, last_growth, mut resumed) = latest.map_or_else(Default::default, |latest| {
            (latest.log, latest.start, latest.last_growth, latest.resumed)
        });
        let has_held = held.newest().is_some_and(|(_, bytes)| bytes > 0);
        let judged = if has_held { held } else { footprint };
        let mut judgement = scheduler.judge(judged, members, &log.marks, started_at, &previous);
        if has_held {
            // The rest of the footprint is pages of files or freed lazily, or what the next collection may free.
            let growth = start.zip(self.known).map(|(start, now)| start.growth(now.kinds()));
            let is_mostly = |part: fn(&Growth) -> bool| growth.as_ref().is_some_and(part);
            judgement.metric = match self.judged {
                Judged::LiveSet => Metric::LiveSet,
                Judged::InUse => Metric::InUse,
                Judged::Held if self.is_counted => Metric::Rss,
                Judged::Held => Metric::Held,
            };
            let rest = match self.judged {
                Judged::LiveSet => Metric::Heap,
                _ if is_mostly(Growth::is_kept_free) => Metric::Free,
                _ if is_mostly(Growth::is_lazily_freed) => Metric::Lazy,
                // The next read of its heap shows how much of the growth is in use.
                Judged::InUse if is_mostly(Growth::is_held) => Metric::InUse,
                _ => Metric::File,
            };
            if !judgement.verdict.is_growth() && !footprint.is_constant() {
                let whole = scheduler.judge(footprint, members, &[], started_at, &Judgement::NONE);
                judgement = judgement.or_growth_beside(&whole, rest);
                if judgement.verdict == Verdict::Growing && is_mostly(Growth::is_kept_free) {
                    judgement.verdict = Verdict::Hoarding;
                }
                // A program's files page in as it starts.
                let is_starting = started_at.is_some_and(|at| now.saturating_sub(at) < WARM_UP);
                if is_starting && judgement.metric == Metric::File {
                    judgement.verdict = judgement.verdict.min(Verdict::Warming);
                }
            }
        }
        // While others unmap memory that they share with it, only its PSS rises.
        let grows = judgement.verdict.is_growth();
        let growth = start.zip(self.known).map(|(start, now)| start.growth(now.kinds()));
        if let Some(share) = growth.and_then(|growth| growth.own_share()).filter(|_| grows) {
            judgement = judgement.of_share(share);
        }
        let newest = self.known.map_or(0, |known| known.footprint);
        let ends = [start.map_or(newest, |start| start.footprint()), newest];
        let stands = |resumed: &mut Resumed| resumed.standing(&previous, &judgement, now, ends);
        let standing = resumed.as_mut().and_then(stands);
        resumed = resumed.filter(|_| standing.is_some());
        judgement = standing.unwrap_or(judgement);
        let moves = evaluation.changed || judgement.verdict >= Verdict::Warming;
        if judgement.verdict.is_growth() {
            log.mark(now, self.known.map_or(0, |known| known.requested));
        } else {
            log.rest(now);
        }
        judgement.reasons = judgement.reasons.map(|reasons| reasons.at_load(log.rise()));
        let last_growth = LastGrowth::after(last_growth.map(|last| *last), &judgement, now, ends).map(Box::new);
        let start = start.filter(|_| grows || judgement.verdict.is_growth());
        let start = start.or_else(|| self.known.map(|known| GrowthStart::new(known.kinds())));
        evaluation.latest = Some(Box::new(Latest {
            judgement,
            log,
            start,
            last_growth,
            resumed,
        }));
        let start = footprint.start().map_or(0, |start| start.as_secs() as u32);
        let is_recent = scheduler.now.saturating_sub(start) < LONG_KNOWN;
        let wait = if moves && is_recent { INTERVAL } else { LONG_INTERVAL };
        evaluation.due = scheduler.now.saturating_add(wait);
        evaluation.changed = false;
    }

    /// Queues the row for evaluation if it is due. A row that never changed is judged at once.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler, row: RowNumber) {
        if self.is_without_past() {
            return;
        }
        let (evaluation, now) = (&mut self.evaluation, scheduler.now);
        if evaluation.changed && evaluation.due > now.saturating_add(LONG_INTERVAL) {
            evaluation.due = now.saturating_add(INTERVAL);
        }
        if evaluation.due > now || self.footprint.newest().is_none() {
            return;
        }
        if evaluation.due == 0 {
            let stagger = match row {
                RowNumber::Part(number)
                | RowNumber::Inspected(number)
                | RowNumber::Mount(number)
                | RowNumber::Slab(number)
                | RowNumber::Site(number)
                | RowNumber::Group(number)
                | RowNumber::Population(number)
                | RowNumber::HeldGroup(number) => number,
                RowNumber::Process(id) | RowNumber::Held(id) => id.pid,
            };
            // Otherwise all rows of the first snapshot would be due at the same time.
            evaluation.due = now.saturating_add(1 + stagger % INTERVAL);
            return;
        }
        // A steady row stays steady while nothing changes.
        if !evaluation.changed && evaluation.latest().verdict == Verdict::Steady {
            evaluation.due = NEVER;
            return;
        }
        if self.footprint.is_constant() && self.held.is_constant() {
            // A single point.
            let judgement = scheduler.judge(&self.footprint, None, &[], None, &Judgement::NONE);
            evaluation.is_steady = judgement.verdict == Verdict::Steady;
            evaluation.latest = None;
            evaluation.due = if evaluation.is_steady {
                NEVER
            } else {
                // A multiple of the interval, so that turns stay spread.
                let observed_at = self.footprint.start().unwrap_or_default().saturating_add(MIN_OBSERVED);
                let left = observed_at.saturating_sub(Duration::from_secs(now.into()));
                let turns = left.as_secs().div_ceil(INTERVAL.into()).max(1);
                now.saturating_add(turns as u32 * INTERVAL)
            };
            evaluation.changed = false;
            return;
        }
        let is_urgent = matches!(row, RowNumber::Part(_) | RowNumber::Group(_) | RowNumber::HeldGroup(_))
            || evaluation.latest().verdict >= Verdict::Warming;
        scheduler.queue.push(Turn {
            order: evaluation.due.saturating_sub(if is_urgent { HEAD_START } else { 0 }),
            row,
            due: evaluation.due,
        });
    }

    /// Sets the verdict to one that a host exported; if `None` or invalid, to none. Returns true if it is growth.
    pub(super) fn set_scraped(&mut self, scraped: Option<&ScrapedVerdict>) -> bool {
        self.evaluation = Evaluation::default();
        let Some((scraped, verdict)) = scraped.and_then(|scraped| Some((scraped, Verdict::from_rank(scraped.rank)?)))
        else {
            return false;
        };
        self.evaluation.is_steady = verdict == Verdict::Steady;
        if verdict != Verdict::Steady {
            let judgement = Judgement {
                verdict,
                metric: Metric::Held,
                slope: scraped.slope,
                confidence: scraped.confidence,
                since: scraped.since,
                ..Judgement::NONE
            };
            self.evaluation.latest = Some(Box::new(Latest {
                judgement,
                log: GrowthLog::default(),
                start: None,
                last_growth: None,
                resumed: None,
            }));
        }
        verdict.is_growth()
    }
}
