//! A series for drawing: any span of it in columns, and its slope.

use std::time::Duration;

use crate::history::time_series::TimeSeries;
use crate::trend::{Point, plateau};

/// A series as of the last snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SeriesView<'a> {
    series: &'a TimeSeries,
    now: Duration,
    /// Time from one snapshot to the next.
    interval: Duration,
    /// The span to draw.
    span: Duration,
}

/// The values of one column, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// The lowest value.
    pub min: u64,
    /// The last one.
    pub last: u64,
    /// The highest one.
    pub max: u64,
}

impl Band {
    const fn constant(bytes: u64) -> Self {
        Self {
            min: bytes,
            last: bytes,
            max: bytes,
        }
    }

    /// Returns the sums of the columns of several series, where one of them has a value.
    pub fn sums(mut all: impl Iterator<Item = Vec<Option<Self>>>) -> Vec<Option<Self>> {
        let first = all.next().unwrap_or_default();
        all.fold(first, |mut sums, more| {
            for (sum, band) in sums.iter_mut().zip(more) {
                *sum = match (*sum, band) {
                    (Some(a), Some(b)) => Some(Self {
                        min: a.min.saturating_add(b.min),
                        last: a.last.saturating_add(b.last),
                        max: a.max.saturating_add(b.max),
                    }),
                    (one, other) => one.or(other),
                };
            }
            sums
        })
    }

    /// Returns the band of both, `later` being the later one.
    fn merged(self, later: Self) -> Self {
        Self {
            min: self.min.min(later.min),
            last: later.last,
            max: self.max.max(later.max),
        }
    }
}

impl<'a> SeriesView<'a> {
    /// The time that slopes are taken over.
    pub const SLOPE_SPAN: Duration = Duration::from_secs(300);
    /// Minimum time between two values for a slope, in seconds: below it a single page fault is megabytes a minute.
    const MIN_SLOPE_SECONDS: f64 = 5.0;

    /// Views a series at the snapshot of `now`. Snapshots come every `interval`: a value holds until the next one, and
    /// values further apart have a gap between them.
    pub const fn new(series: &'a TimeSeries, now: Duration, interval: Duration) -> Self {
        Self {
            series,
            now,
            interval,
            span: Self::SLOPE_SPAN,
        }
    }

    /// Returns the same view with another span to draw.
    #[must_use]
    pub const fn over(self, span: Duration) -> Self {
        Self { span, ..self }
    }

    /// Returns the time of the last snapshot, on the monotonic clock.
    pub const fn now(&self) -> Duration {
        self.now
    }

    /// Returns the newest value.
    pub fn last(&self) -> Option<u64> {
        self.series.newest().map(|(_, bytes)| bytes)
    }

    /// Returns how much it grew over that time, up to five minutes, or since its first value, in bytes.
    pub fn change_over(&self, time: Duration) -> f64 {
        let Some((_, newest)) = self.series.newest() else {
            return 0.0;
        };
        let from = self.now.saturating_sub(time);
        let before = self
            .series
            .points_since(0, from)
            .next()
            .map_or(newest, |point| point.min);
        newest as f64 - before as f64
    }

    /// Returns since when there are values.
    pub fn start(&self) -> Option<Duration> {
        self.series.start()
    }

    /// Returns the span to draw, up to now, in `width` columns; see [`Self::bands`].
    pub fn recent(&self, width: usize) -> Vec<Option<Band>> {
        self.bands(self.now, self.span, width)
    }

    /// Returns the `span` that ends at `to` in `width` columns, oldest first; the newest value is in the last one.
    /// Where values come less often than there are columns, each holds until the next: for one and a half intervals, or
    /// two and a half times as long as the values around it are apart, as those of a server's past are. A longer gap stays a
    /// gap. The finest resolution that is kept of that time is used.
    pub fn bands(&self, to: Duration, span: Duration, width: usize) -> Vec<Option<Band>> {
        let mut bands: Vec<Option<Band>> = vec![None; width];
        if width == 0 || span.is_zero() {
            return bands;
        }
        let cell = span.as_secs_f64() / width as f64;
        // It may lie before the clock's zero.
        let start = to.as_secs_f64() - span.as_secs_f64();
        let from = to.saturating_sub(span);
        // The column that ends at that moment, or later: a value of a column's last second is in it.
        let column = |at: f64| ((at - start) / cell).ceil() as isize - 1;
        let level = self.resolution(from, cell);
        let step = TimeSeries::resolution(level).0.as_secs_f64();
        // A bucket shorter than a column counts where its middle lies.
        let middle = if step <= cell { (step - 1.0) / 2.0 } else { 0.0 };
        // A snapshot may be late by half an interval.
        let hold = self.interval.mul_f64(1.5).as_secs_f64().max(step);
        let since = from.saturating_sub(Duration::from_secs_f64(hold));
        // The last value so far: its time, the last column that it fills, and its bytes.
        let mut previous = self
            .value_before(level, since, from)
            .map(|(at, bytes)| (at, column(at), bytes));
        let newest_column = width.cast_signed() - 1;
        let mut fill = |from: isize, to: isize, band: Band| {
            for at in from.max(0)..=to.min(newest_column) {
                let known = &mut bands[at as usize];
                *known = Some(known.map_or(band, |earlier| earlier.merged(band)));
            }
        };
        let mut points = self.series.points_since(level, since);
        // The times without a value, in seconds, before the last two points.
        let mut waits = [None; 2];
        while let Some(point) = points.next() {
            let begin = point.from.as_secs_f64();
            if begin > to.as_secs_f64() {
                break;
            }
            // The second in which it was last seen.
            let end = point.to.as_secs_f64().floor().min(self.now.as_secs_f64());
            if let Some((at, filled, bytes)) = previous {
                let wait = begin - at;
                if wait <= hold + 1.0 || is_usual(wait, &waits, &point, points.clone()) {
                    fill(filled + 1, column(begin + middle) - 1, Band::constant(bytes));
                }
                waits = [waits[1], Some(wait)];
            }
            let until = column(end - middle).min(newest_column);
            let band = Band {
                min: point.min,
                last: point.last,
                max: point.max,
            };
            fill(column(begin + middle).min(until), until, band);
            previous = Some((end, until, point.last));
        }
        // The first column may start within a bucket that is no longer kept.
        let first = bands.iter().position(Option::is_some).unwrap_or(0);
        if first > 0 && (first as f64 - 1.0) * cell < step && self.start().is_some_and(|start| start < from) {
            let (blank, known) = bands.split_at_mut(first);
            blank.fill(known[0]);
        }
        bands
    }

    /// Multiple of the usual time between two values up to which there is no gap between them.
    const FEW: f64 = 2.5;

    /// Returns the last value between two moments that the buckets of that resolution may no longer reach, and its
    /// time in seconds.
    fn value_before(&self, level: usize, since: Duration, until: Duration) -> Option<(f64, u64)> {
        let coarser = (level + 1).min(TimeSeries::RESOLUTIONS - 1);
        let points = self.series.points_since(coarser, since);
        let before = points.take_while(|point| point.from <= until).last()?;
        // In a bucket that goes on beyond, it is unknown which of its values came when.
        let is_known = before.to <= until || before.min == before.max;
        is_known.then_some((before.to.min(until).as_secs_f64(), before.last))
    }

    /// Returns the finest resolution that reaches back to `from`, or a coarser one of which a column still holds two
    /// buckets.
    fn resolution(&self, from: Duration, cell: f64) -> usize {
        let step = |level: usize| TimeSeries::resolution(level).0.as_secs_f64();
        let reaches = |level: &usize| {
            let covered = self.series.covered_since(*level).as_secs_f64();
            covered <= from.as_secs_f64() + cell.max(step(*level))
        };
        let levels = 0..TimeSeries::RESOLUTIONS;
        let finest = levels.clone().find(reaches).unwrap_or(TimeSeries::RESOLUTIONS - 1);
        (finest..levels.end)
            .rev()
            .find(|level| step(*level) <= cell / 2.0)
            .unwrap_or(finest)
    }

    /// Returns the slope over the last five minutes in bytes a second: least squares over its seconds. 0 once it is
    /// flat; `None` where what is known spans less than five seconds.
    pub fn slope(&self) -> Option<f64> {
        let since = self.now.saturating_sub(Self::SLOPE_SPAN);
        let (newest, base) = self.series.newest()?;
        if newest < since {
            return None;
        }
        let unchanged = self.series.unchanged_since()?;
        if unchanged <= since {
            let seconds = newest.saturating_sub(unchanged).as_secs_f64();
            return (seconds >= Self::MIN_SLOPE_SECONDS).then_some(0.0);
        }
        let stride = (self.interval.as_secs_f64()).round().max(1.0);
        // With several snapshots a second, the last value of the newest second is not known yet.
        let is_final = self.interval >= Duration::from_millis(900);
        let end = newest.as_secs_f64();
        let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut span = (f64::MAX, f64::MIN);
        for point in self.series.points_since(0, since) {
            // Whole seconds, and no `floor`, which is a call on most builds: every change of a row comes here.
            let from = point.from.as_secs_f64().max(since.as_secs() as f64) - end;
            let mut to = point.to.as_secs() as f64 - end;
            if to >= 0.0 && !is_final {
                to -= 1.0;
            }
            if to < from {
                continue;
            }
            // Less the newest value: a steady series then gives exactly 0, not a rounding error that rows would be
            // sorted by.
            let y = point.last as f64 - base as f64;
            // As many values as snapshots: their count, and the sums of their times and of the squares of these.
            let count = f64::from(((to - from) / stride) as u32) + 1.0;
            let middle = f64::midpoint(from, to);
            let step = if count > 1.0 { (to - from) / (count - 1.0) } else { 0.0 };
            span = (span.0.min(from), span.1.max(to));
            n += count;
            sx += count * middle;
            sy += count * y;
            sxx += count * (middle * middle + step * step * (count * count - 1.0) / 12.0);
            sxy += count * middle * y;
        }
        let spread = f64::mul_add(n, sxx, -(sx * sx));
        let is_long = span.1 - span.0 >= Self::MIN_SLOPE_SECONDS;
        let slope = (is_long && spread > 0.0).then(|| f64::mul_add(n, sxy, -(sx * sy)) / spread)?;
        let newest_first = self.series.points_since(0, since).rev();
        let is_flat = plateau(newest_first, slope, Self::SLOPE_SPAN).is_some();
        Some(if is_flat { 0.0 } else { slope })
    }
}

/// Returns true if the time without a value before a point is about as long as those around it: the two before, and the two
/// between this point and those that follow. Half of these tell what is usual, so that one gap does not make the next usual.
fn is_usual(wait: f64, before: &[Option<f64>; 2], point: &Point, following: impl Iterator<Item = Point>) -> bool {
    let mut end = point.to;
    let after = following.take(2).map(|next| {
        let wait = next.from.as_secs_f64() - end.as_secs_f64().floor();
        end = next.to;
        wait
    });
    let mut around: Vec<f64> = before.iter().flatten().copied().chain(after).collect();
    around.sort_unstable_by(f64::total_cmp);
    let usual = around.get(around.len() / 2);
    usual.is_some_and(|usual| wait <= SeriesView::FEW * usual)
}
