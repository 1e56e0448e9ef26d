//! A time series at several resolutions: finer for recent values, and run-length encoded.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::trend::Point;

/// A bucket, or a run of buckets with one value. Values are in KiB, as in the kernel.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The number of its first bucket since the clock's zero.
    first: u32,
    /// The number of buckets; more than 1 only if the value is constant.
    len: u32,
    min: u32,
    last: u32,
    max: u32,
}

impl Run {
    #[inline]
    const fn newest(&self) -> u32 {
        self.first + self.len - 1
    }

    /// Returns the second at which it ends. Buckets are `step` seconds long.
    #[inline]
    fn end(&self, step: u32) -> u64 {
        (u64::from(self.first) + u64::from(self.len)) * u64::from(step)
    }

    const fn constant(first: u32, newest: u32, kib: u32) -> Self {
        Self {
            first,
            len: newest - first + 1,
            min: kib,
            last: kib,
            max: kib,
        }
    }

    /// Buckets are `step` seconds long.
    #[inline]
    fn point(&self, step: u32) -> Point {
        let bytes = |kib: u32| u64::from(kib) * 1024;
        Point {
            from: Duration::from_secs(u64::from(self.first) * u64::from(step)),
            // One millisecond less, as the end belongs to the next bucket.
            to: Duration::from_secs(u64::from(self.first + self.len) * u64::from(step))
                .saturating_sub(Duration::from_millis(1)),
            min: bytes(self.min),
            last: bytes(self.last),
            max: bytes(self.max),
        }
    }
}

/// The newest value, and the seconds of the clock from and to which it stayed. It is in no bucket yet.
#[derive(Clone, Copy, Debug)]
struct CurrentValue {
    kib: u32,
    from: u32,
    to: u32,
}

/// Appends a value to the newest run, if any; returns up to three runs that replace it.
fn append(newest: Option<Run>, value: CurrentValue, step: u32) -> [Option<Run>; 3] {
    let kib = value.kib;
    let (from, to) = (value.from / step, value.to / step);
    let Some(mut run) = newest else {
        return [Some(Run::constant(from, to, kib)), None, None];
    };
    // A time before the newest bucket counts as in it.
    let (newest, to) = (run.newest(), to.max(run.newest()));
    if run.min == kib && run.max == kib && from <= newest + 1 {
        run.len = to - run.first + 1;
        return [Some(run), None, None];
    }
    if from > newest {
        return [Some(run), Some(Run::constant(from, to, kib)), None];
    }
    // The newest bucket has a second value now: split it off the run.
    let before = (run.len > 1).then(|| Run {
        len: run.len - 1,
        ..run
    });
    let bucket = Run {
        first: newest,
        len: 1,
        min: run.min.min(kib),
        last: kib,
        max: run.max.max(kib),
    };
    let after = (to > newest).then(|| Run::constant(newest + 1, to, kib));
    [before, Some(bucket), after]
}

/// Appends a run of a later series, which begins in the newest bucket or later.
fn join(ring: &mut VecDeque<Run>, later: Run) {
    let Some(newest) = ring.back().copied().filter(|newest| newest.newest() >= later.first) else {
        ring.push_back(later);
        return;
    };
    ring.pop_back();
    if newest.len > 1 {
        ring.push_back(Run {
            len: newest.len - 1,
            ..newest
        });
    }
    ring.push_back(Run {
        first: newest.newest(),
        len: 1,
        min: newest.min.min(later.min),
        last: later.last,
        max: newest.max.max(later.max),
    });
    if later.newest() > newest.newest() {
        ring.push_back(Run {
            first: newest.newest() + 1,
            len: later.newest() - newest.newest(),
            ..later
        });
    }
}

/// The bucket length in seconds, and the number of buckets.
#[derive(Clone, Copy, Debug)]
struct Resolution {
    step: u32,
    buckets: u32,
}

impl Resolution {
    /// Returns the number of buckets at that retention. It stays large enough that judging recent values needs no
    /// coarser resolution.
    fn kept(self, retention: Retention) -> u32 {
        (self.buckets >> retention.halvings)
            .max(BUCKETS_PER_AGE + 2)
            .min(self.buckets)
    }
}

/// Five minutes by the second, an hour by 10 s, a day by the minute, a week by 10 min, a month by 2 h.
const RESOLUTIONS: [Resolution; 5] = [
    Resolution { step: 1, buckets: 300 },
    Resolution { step: 10, buckets: 360 },
    Resolution {
        step: 60,
        buckets: 1440,
    },
    Resolution {
        step: 600,
        buckets: 1008,
    },
    Resolution {
        step: 7200,
        buckets: 372,
    },
];

/// The number of buckets in the age of a judged bucket. Judging needs 16 (see [`crate::trend::judge`]); twice as many
/// make up for buckets across the border of two spans.
const BUCKETS_PER_AGE: u32 = 32;

/// Returns by how many KiB a value may differ to count as unchanged. PSS moves by a few pages whenever a sharer comes
/// or goes, and each change needs a run.
const fn tolerance(kib: u32) -> u32 {
    if kib < 16_384 { 4 } else { kib / 4096 }
}

fn to_kib(bytes: u64) -> u32 {
    u32::try_from(bytes / 1024).unwrap_or(u32::MAX)
}

fn second(now: Duration) -> u32 {
    u32::try_from(now.as_secs()).unwrap_or(u32::MAX - 1).min(u32::MAX - 1)
}

/// Drops the runs that are more than `kept` buckets old.
fn trim(ring: &mut VecDeque<Run>, kept: u32) {
    let newest = ring.back().map_or(0, Run::newest);
    while ring.front().is_some_and(|run| newest - run.newest() >= kept) {
        ring.pop_front();
    }
}

/// The share of the buckets that is stored when memory is short: all, a half, a quarter or an eighth. Verdicts are then
/// based on coarser spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retention {
    halvings: u8,
}

impl Retention {
    /// An eighth of all buckets: at most 9 KB a series.
    pub const LEAST: Self = Self { halvings: 3 };

    /// Returns half as much, if there is less.
    #[must_use]
    pub fn halved(self) -> Self {
        Self {
            halvings: (self.halvings + 1).min(Self::LEAST.halvings),
        }
    }

    /// Returns twice as much, up to all.
    #[must_use]
    pub const fn doubled(self) -> Self {
        Self {
            halvings: self.halvings.saturating_sub(1),
        }
    }
}

/// A series over a month: the lowest, last and highest value of each bucket at five resolutions.
///
/// A constant value needs no more memory over time: a process that never changed needs none, an idle one some hundred
/// bytes, and one that changed every second of a month at most 70 KB.
#[derive(Clone, Debug, Default)]
pub struct TimeSeries {
    /// The newest value. A cell, as time passes in a series that is not pushed to.
    current: Cell<Option<CurrentValue>>,
    /// The second of the first value.
    first: u32,
    /// The value has been unknown since.
    has_gap: bool,
    /// Allocated with the first change.
    past: Option<Box<Past>>,
}

/// The buckets of each resolution, without the newest value.
#[derive(Clone, Debug, Default)]
struct Past {
    rings: [VecDeque<Run>; RESOLUTIONS.len()],
    retention: Retention,
    /// In bytes.
    bytes: u32,
}

impl TimeSeries {
    pub const RESOLUTIONS: usize = RESOLUTIONS.len();
    /// The longest bucket: a saved time may be the end of the one in which it was saved.
    pub(super) const LONGEST_STEP: Duration = Self::resolution(Self::RESOLUTIONS - 1).0;

    /// Returns the bucket length and the time span of a resolution; the finest is 0.
    ///
    /// # Panics
    /// If there is no such resolution.
    pub const fn resolution(level: usize) -> (Duration, Duration) {
        let Resolution { step, buckets } = RESOLUTIONS[level];
        (
            Duration::from_secs(step as u64),
            Duration::from_secs(step as u64 * buckets as u64),
        )
    }

    /// Appends the value at `now`, in bytes; returns true if it changed. `None` leaves a gap.
    ///
    /// A value within 4 KiB, or 1/4096, of the previous one counts as equal, and the time in between as covered. A time
    /// before the last one counts as the last one.
    pub fn push(&mut self, now: Duration, bytes: Option<u64>, retention: Retention) -> bool {
        let previous = self.current.get();
        let changed = self.set_current(now, bytes);
        if let Some(previous) = previous.filter(|_| changed) {
            self.past.get_or_insert_default().append(previous, retention);
        }
        changed
    }

    /// Lets time pass up to `now` with an unchanged value.
    pub(super) fn rest_until(&self, now: Duration) {
        if let Some(current) = self.current.get().filter(|_| !self.has_gap) {
            let to = current.to.max(second(now));
            self.current.set(Some(CurrentValue { to, ..current }));
        }
    }

    pub(super) const fn is_known(&self) -> bool {
        self.current.get().is_some() && !self.has_gap
    }

    /// Replaces the previous value, which is dropped; returns true if it changed.
    pub(super) fn replace(&mut self, now: Duration, bytes: Option<u64>) -> bool {
        let changed = self.set_current(now, bytes);
        if let Some(current) = self.current.get().filter(|_| changed) {
            self.first = current.from;
        }
        changed
    }

    /// Returns true if a value would count as a change.
    pub(super) fn is_change(&self, bytes: u64) -> bool {
        let is_same = |current: CurrentValue| current.kib.abs_diff(to_kib(bytes)) <= tolerance(current.kib);
        self.has_gap || !self.current.get().is_some_and(is_same)
    }

    /// Sets the newest value; returns true if it changed.
    fn set_current(&mut self, now: Duration, bytes: Option<u64>) -> bool {
        let Some(bytes) = bytes else {
            self.has_gap = true;
            return false;
        };
        let is_change = self.is_change(bytes);
        let (now, kib) = (second(now), to_kib(bytes));
        let current = self.current.get_mut();
        if let Some(current) = current.as_mut().filter(|_| !is_change) {
            current.to = current.to.max(now);
            return false;
        }
        let from = current.map_or(now, |previous| now.max(previous.to));
        if current.is_none() {
            self.first = now;
        }
        *current = Some(CurrentValue { kib, from, to: from });
        self.has_gap = false;
        true
    }

    pub fn set_retention(&mut self, retention: Retention) {
        if let Some(past) = &mut self.past {
            past.set_retention(retention);
        }
    }

    /// Drops all but the newest value.
    pub fn clear_past(&mut self) {
        self.past = None;
        if let Some(current) = self.current.get_mut() {
            current.from = current.to;
            self.first = current.to;
        }
    }

    fn retention(&self) -> Retention {
        self.past.as_ref().map(|past| past.retention).unwrap_or_default()
    }

    /// Returns the second at which the newest value was last seen, and the value in bytes.
    pub fn newest(&self) -> Option<(Duration, u64)> {
        self.current
            .get()
            .map(|current| (Duration::from_secs(current.to.into()), u64::from(current.kib) * 1024))
    }

    /// Returns true if it has no later value than that.
    pub(super) fn ends_by(&self, at: Duration) -> bool {
        self.newest().is_none_or(|(time, _)| time <= at)
    }

    /// Returns about the least number of bytes that it needs when it is saved.
    pub(super) fn least_saved_bytes(&self) -> usize {
        let rings = self.past.as_ref().map(|past| past.rings.iter().map(VecDeque::len));
        rings.map_or(4, |lengths| lengths.sum::<usize>() * "0,1,0,0,0,".len())
    }

    /// Returns the time of the first value that is still stored.
    pub fn start(&self) -> Option<Duration> {
        let first = Duration::from_secs(self.first.into());
        self.current
            .get()
            .map(|_| first.max(self.covered_since(Self::RESOLUTIONS - 1)))
    }

    pub fn unchanged_since(&self) -> Option<Duration> {
        self.current
            .get()
            .map(|current| Duration::from_secs(current.from.into()))
    }

    pub const fn is_constant(&self) -> bool {
        self.past.is_none()
    }

    /// Returns the time since when a resolution stores all values.
    pub fn covered_since(&self, level: usize) -> Duration {
        let resolution = RESOLUTIONS[level.min(RESOLUTIONS.len() - 1)];
        let newest = self.current.get().map_or(0, |current| current.to / resolution.step);
        let oldest = (newest + 1).saturating_sub(resolution.kept(self.retention()));
        Duration::from_secs(u64::from(oldest) * u64::from(resolution.step))
    }

    /// Returns the runs of one resolution that end after the second `since`, oldest first, including the current value.
    #[inline]
    fn runs(&self, level: usize, since: u64) -> impl DoubleEndedIterator<Item = Run> + Clone + '_ {
        let step = RESOLUTIONS.get(level).map_or(1, |resolution| resolution.step);
        let ring = self.past.as_ref().and_then(|past| past.rings.get(level));
        let newest = ring.and_then(VecDeque::back).copied();
        let tail = self
            .current
            .get()
            .map_or([newest, None, None], |current| append(newest, current, step));
        let past = ring.map(|ring| {
            let until = ring.len().saturating_sub(1);
            let from = ring.partition_point(|run| run.end(step) <= since).min(until);
            ring.range(from..until)
        });
        let tail = tail.into_iter().flatten().filter(move |run| run.end(step) > since);
        past.into_iter().flatten().copied().chain(tail)
    }

    /// Returns the buckets of one resolution that end after `since`, oldest first. A run of equal buckets is one point.
    #[inline]
    pub fn points_since(&self, level: usize, since: Duration) -> impl DoubleEndedIterator<Item = Point> + Clone + '_ {
        let level = level.min(RESOLUTIONS.len() - 1);
        let step = RESOLUTIONS[level].step;
        // The current value may be older than the stored buckets.
        let oldest = (self.covered_since(level).as_secs() / u64::from(step)) as u32;
        let runs = self.runs(level, since.as_secs());
        runs.filter(move |run| run.newest() >= oldest).map(move |mut run| {
            let cut = oldest.saturating_sub(run.first);
            run.first += cut;
            run.len -= cut;
            run.point(step)
        })
    }

    /// Collects the points for [`crate::trend::judge`] into `points`, oldest first: each age at the coarsest resolution
    /// that has about 30 buckets for it.
    pub fn collect_points(&self, points: &mut Vec<Point>) {
        points.clear();
        let Some(current) = self.current.get() else { return };
        let now = u64::from(current.to);
        // The second up to which points are collected. Finer resolutions continue from there.
        let mut until = 0;
        for (level, resolution) in RESOLUTIONS.iter().enumerate().rev() {
            let step = u64::from(resolution.step);
            // The second from which on the next finer resolution is used.
            let seam = level.checked_sub(1).map_or(u64::MAX, |finer| {
                let finer = RESOLUTIONS[finer];
                // One bucket less, as the buckets of two resolutions end at different times.
                let kept = (u64::from(finer.kept(self.retention())) * u64::from(finer.step)).saturating_sub(step);
                now.saturating_sub(kept.min(u64::from(BUCKETS_PER_AGE) * step))
            });
            for run in self.runs(level, until) {
                if u64::from(run.first) * step >= seam {
                    break;
                }
                let mut point = run.point(resolution.step);
                point.from = point.from.max(Duration::from_secs(until));
                if run.len > 1 && run.end(resolution.step) > seam {
                    point.to = Duration::from_secs(seam).saturating_sub(Duration::from_millis(1));
                }
                points.push(point);
            }
            // A bucket across the seam belongs to the coarser side.
            until = points.last().map_or(until, |p| until.max(p.to.as_secs() + 1));
        }
    }

    /// Prepends the values of an earlier series from before its own first value.
    pub(super) fn put_before(&mut self, earlier: &Self, retention: Retention) {
        let Some(mut before) = earlier.current.get() else {
            return;
        };
        if self.current.get().is_none() || before.from >= self.first {
            return;
        }
        before.to = before.to.min(self.first - 1);
        let mut joined = earlier.past.clone().unwrap_or_default();
        joined.append(before, retention);
        let own = self.past.take().unwrap_or_default();
        for ((ring, own), resolution) in joined.rings.iter_mut().zip(own.rings).zip(RESOLUTIONS) {
            for run in own {
                join(ring, run);
            }
            trim(ring, resolution.kept(retention));
        }
        joined.count();
        (self.first, self.past) = (earlier.first, Some(joined));
    }

    /// Returns its memory in bytes, on and off the heap.
    pub const fn bytes(&self) -> usize {
        let past = match &self.past {
            Some(past) => past.bytes as usize,
            None => 0,
        };
        size_of::<Self>() + past
    }
}

impl Past {
    fn append(&mut self, value: CurrentValue, retention: Retention) {
        self.retention = retention;
        for (ring, resolution) in self.rings.iter_mut().zip(RESOLUTIONS) {
            let kept = resolution.kept(retention);
            for run in append(ring.pop_back(), value, resolution.step).into_iter().flatten() {
                // Beyond half of `kept`, reserve the rest at once: doubling would exceed the bound.
                if ring.len() == ring.capacity() && ring.len() * 2 > kept as usize {
                    ring.reserve_exact((kept as usize + 1).saturating_sub(ring.len()).max(1));
                }
                ring.push_back(run);
            }
            trim(ring, kept);
            if ring.capacity() > 2 * kept as usize {
                ring.shrink_to(kept as usize + 1);
            }
        }
        self.count();
    }

    fn set_retention(&mut self, retention: Retention) {
        self.retention = retention;
        for (ring, resolution) in self.rings.iter_mut().zip(RESOLUTIONS) {
            trim(ring, resolution.kept(retention));
            ring.shrink_to_fit();
        }
        self.count();
    }

    fn count(&mut self) {
        let runs: usize = self.rings.iter().map(VecDeque::capacity).sum();
        self.bytes = (size_of::<Self>() + runs * size_of::<Run>()) as u32;
    }
}

/// The newest value in KiB, and the seconds from and to which it stayed; the second of the first value; and five numbers for
/// each run of each resolution. `None` if no value is known.
type Saved = Option<(u32, u32, u32, u32, Option<[Vec<i64>; RESOLUTIONS.len()]>)>;

impl Serialize for TimeSeries {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let rings = || self.past.as_ref().map(|past| past.rings.each_ref().map(to_numbers));
        let saved: Saved = (self.current.get()).map(|value| (value.kib, value.from, value.to, self.first, rings()));
        saved.serialize(to)
    }
}

/// Adds a gap after the last value.
impl<'de> Deserialize<'de> for TimeSeries {
    fn deserialize<D: Deserializer<'de>>(saved: D) -> Result<Self, D::Error> {
        let mut series = Self {
            has_gap: true,
            ..Self::default()
        };
        let Some((kib, from, to, first, saved)) = Saved::deserialize(saved)? else {
            return Ok(series);
        };
        let wrong = || D::Error::custom("the times of a series are wrong");
        if first > from || from > to {
            return Err(wrong());
        }
        series.first = first;
        series.current.set(Some(CurrentValue { kib, from, to }));
        if let Some(saved) = saved {
            let mut past = Box::<Past>::default();
            for ((ring, numbers), resolution) in past.rings.iter_mut().zip(&saved).zip(RESOLUTIONS) {
                *ring = from_numbers(numbers, resolution, from).ok_or_else(wrong)?;
            }
            past.count();
            series.past = Some(past);
        }
        Ok(series)
    }
}

/// Returns each run as its difference from the one before it.
fn to_numbers(ring: &VecDeque<Run>) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(ring.len() * 5);
    let (mut next, mut before) = (0, 0);
    for run in ring {
        let min = i64::from(run.min) - i64::from(before);
        let [skipped, len, last, max] =
            [run.first - next, run.len, run.last - run.min, run.max - run.last].map(i64::from);
        numbers.extend([skipped, len, min, last, max]);
        (next, before) = (run.first + run.len, run.last);
    }
    numbers
}

/// Returns the runs of one resolution; `None` if they are not in order, too many, or begin after the second `until`.
fn from_numbers(numbers: &[i64], resolution: Resolution, until: u32) -> Option<VecDeque<Run>> {
    let (runs, []) = numbers.as_chunks::<5>() else {
        return None;
    };
    let mut ring = VecDeque::with_capacity(runs.len());
    let (mut next, mut before) = (0_u32, 0_u32);
    for numbers in runs {
        let [skipped, len, last, max] = [numbers[0], numbers[1], numbers[3], numbers[4]].map(|n| u32::try_from(n).ok());
        let run_first = next.checked_add(skipped?)?;
        let min = i64::from(before).checked_add(numbers[2])?.try_into().ok()?;
        let run = Run {
            first: run_first,
            len: len.filter(|len| *len > 0)?,
            min,
            last: u32::checked_add(min, last?)?,
            max: u32::checked_add(min, last?)?.checked_add(max?)?,
        };
        next = run.first.checked_add(run.len)?;
        before = run.last;
        ring.push_back(run);
    }
    let is_past = ring.back().is_none_or(|run| run.newest() <= until / resolution.step);
    (is_past && runs.len() <= resolution.buckets as usize + 1).then_some(ring)
}
