//! Views of a series: any span of it in columns, and its slope.

use std::time::Duration;

use crate::history::time_series::TimeSeries;
use crate::trend::{Point, plateau};

#[derive(Clone, Copy, Debug)]
pub struct SeriesView<'a> {
    series: &'a TimeSeries,
    now: Duration,
    /// The time between snapshots.
    interval: Duration,
    /// The span to draw.
    span: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    pub min: u64,
    pub last: u64,
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

    /// Returns the sums of the columns of several series. A missing value counts as 0, unless all are missing.
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

    /// Merges it with a later band.
    fn merged(self, later: Self) -> Self {
        Self {
            min: self.min.min(later.min),
            last: later.last,
            max: self.max.max(later.max),
        }
    }
}

impl<'a> SeriesView<'a> {
    /// The time that slopes are computed over.
    pub const SLOPE_SPAN: Duration = Duration::from_secs(300);
    /// Minimum time between values for a slope, in seconds. Below it, a single page fault would count as megabytes a minute.
    const MIN_SLOPE_SECONDS: f64 = 5.0;

    /// Views a series as of `now`. Snapshots come every `interval`: a value holds until the next one, and values
    /// further apart have a gap between them.
    pub const fn new(series: &'a TimeSeries, now: Duration, interval: Duration) -> Self {
        Self {
            series,
            now,
            interval,
            span: Self::SLOPE_SPAN,
        }
    }

    #[must_use]
    pub const fn over(self, span: Duration) -> Self {
        Self { span, ..self }
    }

    pub const fn now(&self) -> Duration {
        self.now
    }

    pub fn last(&self) -> Option<u64> {
        self.series.newest().map(|(_, bytes)| bytes)
    }

    /// Returns the growth in bytes over `time`, at most five minutes, or since the first value.
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

    /// Returns the highest value within `span`.
    pub fn highest_within(&self, span: Duration) -> Option<u64> {
        let points = self.series.points_since(0, self.now.saturating_sub(span));
        points.map(|point| point.max).max()
    }

    /// Returns the highest value of the last five minutes that is at least `age` old.
    pub fn highest_before(&self, age: Duration) -> Option<u64> {
        let (from, end) = (self.now.saturating_sub(Self::SLOPE_SPAN), self.now.saturating_sub(age));
        let points = self.series.points_since(0, from).take_while(|point| point.from <= end);
        points.map(|point| point.max).max()
    }

    pub fn start(&self) -> Option<Duration> {
        self.series.start()
    }

    /// Returns the [`bands`](Self::bands) of the span up to now.
    pub fn recent(&self, width: usize) -> Vec<Option<Band>> {
        self.bands(self.now, self.span, width)
    }

    /// Returns the `span` that ends at `to` in `width` columns, oldest first; the last column has the newest value. The
    /// finest resolution stored for that time is used.
    ///
    /// If values are rarer than columns, each holds until the next for 1.5 intervals, or 2.5 times the distance of the
    /// values around it, as in the past from a server. A longer gap stays a gap.
    pub fn bands(&self, to: Duration, span: Duration, width: usize) -> Vec<Option<Band>> {
        let mut bands: Vec<Option<Band>> = vec![None; width];
        if width == 0 || span.is_zero() {
            return bands;
        }
        let cell = span.as_secs_f64() / width as f64;
        // It may be before the zero of the clock.
        let start = to.as_secs_f64() - span.as_secs_f64();
        let from = to.saturating_sub(span);
        // The column that ends at that moment or later: it contains a value of its last second.
        let column = |at: f64| ((at - start) / cell).ceil() as isize - 1;
        let level = self.resolution(from, cell);
        let step = TimeSeries::resolution(level).0.as_secs_f64();
        // A bucket shorter than a column is drawn where its middle is.
        let middle = if step <= cell { (step - 1.0) / 2.0 } else { 0.0 };
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
        // The seconds without a value before each of the last two points.
        let mut waits = [None; 2];
        while let Some(point) = points.next() {
            let begin = point.from.as_secs_f64();
            if begin > to.as_secs_f64() {
                break;
            }
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
        // The first column may start within a bucket that is no longer stored.
        let first = bands.iter().position(Option::is_some).unwrap_or(0);
        if first > 0 && (first as f64 - 1.0) * cell < step && self.start().is_some_and(|start| start < from) {
            let (blank, known) = bands.split_at_mut(first);
            blank.fill(known[0]);
        }
        bands
    }

    /// Multiple of the usual time between values up to which there is no gap.
    const FEW: f64 = 2.5;

    /// Returns the last value from `since` to `until`, which buckets of that resolution may no longer cover, and its
    /// time in seconds.
    fn value_before(&self, level: usize, since: Duration, until: Duration) -> Option<(f64, u64)> {
        let coarser = (level + 1).min(TimeSeries::RESOLUTIONS - 1);
        let points = self.series.points_since(coarser, since);
        let before = points.take_while(|point| point.from <= until).last()?;
        // If the bucket continues after `until`, its last value may be from a later time.
        let is_known = before.to <= until || before.min == before.max;
        is_known.then_some((before.to.min(until).as_secs_f64(), before.last))
    }

    /// Returns the finest resolution that reaches back to `from`, or a coarser one with at least two buckets per
    /// column.
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

    /// Returns the least-squares slope over the last five minutes in bytes per second; 0 once it is flat. `None` if the
    /// known values span less than five seconds.
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
        // With several snapshots a second, the newest second is not complete yet.
        let is_final = self.interval >= Duration::from_millis(900);
        let end = newest.as_secs_f64();
        let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut span = (f64::MAX, f64::MIN);
        self.series.points_since(0, since).for_each(|point| {
            // Use whole seconds instead of `floor`, which is a function call on most builds: this runs for every change of a row.
            let from = point.from.as_secs().max(since.as_secs()) as f64 - end;
            let mut to = point.to.as_secs() as f64 - end;
            if to >= 0.0 && !is_final {
                to -= 1.0;
            }
            if to < from {
                return;
            }
            // Relative to the newest value, so that a steady series has a slope of exactly 0 instead of a rounding
            // error, which would affect sorting.
            let y = point.last as f64 - base as f64;
            span = (span.0.min(from), span.1.max(to));
            // The number of snapshots, and the sums of their times and squared times.
            let (mut count, mut middle, mut squares) = (1.0, from, from * from);
            // Most points are one second.
            if to > from {
                count = f64::from(((to - from) / stride) as u32) + 1.0;
                middle = f64::midpoint(from, to);
                let step = if count > 1.0 { (to - from) / (count - 1.0) } else { 0.0 };
                squares = count * (middle * middle + step * step * (count * count - 1.0) / 12.0);
            }
            n += count;
            sx += count * middle;
            sy += count * y;
            sxx += squares;
            sxy += count * middle * y;
        });
        let spread = f64::mul_add(n, sxx, -(sx * sx));
        let is_long = span.1 - span.0 >= Self::MIN_SLOPE_SECONDS;
        let slope = (is_long && spread > 0.0).then(|| f64::mul_add(n, sxy, -(sx * sy)) / spread)?;
        let newest_first = self.series.points_since(0, since).rev();
        let is_flat = plateau(newest_first, slope, Self::SLOPE_SPAN).is_some();
        Some(if is_flat { 0.0 } else { slope })
    }
}

/// Returns true if a wait before a point is at most [`SeriesView::FEW`] times the median of the waits around it: the
/// two before, and up to two that follow. The median keeps one gap from making the next one usual.
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
