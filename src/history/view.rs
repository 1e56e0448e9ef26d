//! A stretch of a series as it is drawn, and its slope.

use std::time::Duration;

use crate::history::time_series::TimeSeries;

/// One series as seen from the last snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SeriesView<'a> {
    levels: &'a TimeSeries,
    now: Duration,
    /// How long it takes from one snapshot to the next.
    rhythm: Duration,
    /// How much of it is drawn.
    span: Duration,
}

/// What a stretch of time saw, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// The lowest value.
    pub min: u64,
    /// The last one.
    pub last: u64,
    /// The highest one.
    pub max: u64,
}

impl<'a> SeriesView<'a> {
    /// What slopes are taken over.
    pub const SLOPE: Duration = Duration::from_secs(300);
    /// Two values closer than that are no slope.
    const LEAST: f64 = 5.0;

    /// The series at the snapshot of `now`; snapshots come every `rhythm`, so that a value holds until the next
    /// one, and what lies further apart is a gap.
    pub const fn new(levels: &'a TimeSeries, now: Duration, rhythm: Duration) -> Self {
        Self {
            levels,
            now,
            rhythm,
            span: Self::SLOPE,
        }
    }

    /// The same, with another span to draw.
    #[must_use]
    pub const fn over(self, span: Duration) -> Self {
        Self { span, ..self }
    }

    /// Where it ends: the time of the last snapshot, on the monotonic clock.
    pub const fn now(&self) -> Duration {
        self.now
    }

    /// The series.
    pub const fn levels(&self) -> &'a TimeSeries {
        self.levels
    }

    /// The newest value.
    pub fn last(&self) -> Option<u64> {
        self.levels.newest().map(|(_, bytes)| bytes)
    }

    /// Since when there are values.
    pub fn begin(&self) -> Option<Duration> {
        self.levels.begin()
    }

    /// The span to draw, up to now, in `width` columns, oldest first; see [`Self::bands`].
    pub fn recent(&self, width: usize) -> Vec<Option<Band>> {
        self.bands(self.now, self.span, width)
    }

    /// The `span` that ends at `to` in `width` columns, oldest first, each with what it saw; the newest value is
    /// in the last one. Where values come less often than there are columns, each holds until the next; a gap
    /// in the usual rhythm stays a gap. Each is as fine as what is kept of that time.
    pub fn bands(&self, to: Duration, span: Duration, width: usize) -> Vec<Option<Band>> {
        let mut bands: Vec<Option<Band>> = vec![None; width];
        if width == 0 || span.is_zero() {
            return bands;
        }
        let cell = span.as_secs_f64() / width as f64;
        // It may lie before the clock's zero.
        let start = to.as_secs_f64() - span.as_secs_f64();
        let from = to.saturating_sub(span);
        // The column whose time ends at that moment, or later: a value of a column's last second is in it.
        let column = |at: f64| ((at - start) / cell).ceil() as isize - 1;
        let level = self.level(from, cell);
        let (step, _) = TimeSeries::resolution(level);
        // A bucket within a column counts where its middle lies.
        let step_s = step.as_secs_f64();
        let middle = if step_s <= cell { (step_s - 1.0) / 2.0 } else { 0.0 };
        // A snapshot may be late by a half.
        let hold = self.rhythm.mul_f64(1.5).max(step).as_secs_f64();
        let since = from.saturating_sub(Duration::from_secs_f64(hold));
        let mut held = self.before(level, since, from);
        let mut fill = |from: isize, to: isize, band: Band| {
            for at in from.max(0)..=to.min(width.cast_signed() - 1) {
                let known = &mut bands[at as usize];
                *known = Some(known.map_or(band, |old| Band {
                    min: old.min.min(band.min),
                    last: band.last,
                    max: old.max.max(band.max),
                }));
            }
        };
        let points = self.levels.points_since(level, since);
        for point in points {
            let begin = point.from.as_secs_f64();
            if begin > to.as_secs_f64() {
                break;
            }
            // The second in which it was last seen.
            let end = point.to.as_secs_f64().floor().min(self.now.as_secs_f64());
            if let Some((at, bytes)) = held
                && begin - at <= hold + 1.0
            {
                let band = Band {
                    min: bytes,
                    last: bytes,
                    max: bytes,
                };
                fill(column(at) + 1, column(begin) - 1, band);
            }
            let band = Band {
                min: point.min,
                last: point.last,
                max: point.max,
            };
            let until = column(end - middle).min(width.cast_signed() - 1);
            fill(column(begin + middle).min(until), until, band);
            held = Some((end, point.last));
        }
        // The first column may begin within a bucket that is no longer kept.
        let first = bands.iter().position(Option::is_some).unwrap_or(0);
        if first > 0 && (first as f64 - 1.0) * cell < step_s && self.begin().is_some_and(|begin| begin < from) {
            let (blank, known) = bands.split_at_mut(first);
            blank.fill(known[0]);
        }
        bands
    }

    /// What was last seen between two moments that the buckets of that resolution may no longer reach.
    fn before(&self, level: usize, since: Duration, until: Duration) -> Option<(f64, u64)> {
        let points = self
            .levels
            .points_since((level + 1).min(TimeSeries::RESOLUTIONS - 1), since);
        let before = points.take_while(|point| point.from <= until).last()?;
        // In a bucket that goes on beyond, which of its values was when is not known.
        let known = before.to <= until || before.min == before.max;
        known.then_some((before.to.min(until).as_secs_f64(), before.last))
    }

    /// The finest resolution that reaches back to `from`, or a coarser one of which a column still holds some.
    fn level(&self, from: Duration, cell: f64) -> usize {
        let reaches = |level: &usize| {
            let slack = cell.max(TimeSeries::resolution(*level).0.as_secs_f64());
            self.levels.covers(*level).as_secs_f64() <= from.as_secs_f64() + slack
        };
        let coarse = |level: &usize| TimeSeries::resolution(*level).0.as_secs_f64() <= cell / 2.0;
        let finest = (0..TimeSeries::RESOLUTIONS)
            .find(reaches)
            .unwrap_or(TimeSeries::RESOLUTIONS - 1);
        (finest..TimeSeries::RESOLUTIONS).rev().find(coarse).unwrap_or(finest)
    }

    /// The slope over the last five minutes in bytes a second: least squares over its seconds. `None` where
    /// what is known spans less than five seconds.
    pub fn slope(&self) -> Option<f64> {
        let since = self.now.saturating_sub(Self::SLOPE);
        let (newest, base) = self.levels.newest()?;
        if newest < since {
            return None;
        }
        let still = self.levels.still_since()?;
        if still <= since {
            return (newest.saturating_sub(still).as_secs_f64() >= Self::LEAST).then_some(0.0);
        }
        let stride = (self.rhythm.as_secs_f64()).round().max(1.0);
        // Of a second that is not over the last value is not known yet.
        let whole = self.rhythm >= Duration::from_millis(900);
        let end = newest.as_secs_f64();
        let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut span = (f64::MAX, f64::MIN);
        for point in self.levels.points_since(0, since) {
            let from = point.from.as_secs_f64().max(since.as_secs_f64().floor()) - end;
            let mut to = point.to.as_secs_f64().floor() - end;
            if to >= 0.0 && !whole {
                to -= 1.0;
            }
            if to < from {
                continue;
            }
            // So that a steady value gives nothing, not a rounding error that rows would be sorted by.
            let y = point.last as f64 - base as f64;
            // As many values as snapshots: their count, the sum of their times, and of its squares.
            let count = ((to - from) / stride).floor() + 1.0;
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
        let long = span.1 - span.0 >= Self::LEAST;
        (long && spread > 0.0).then(|| f64::mul_add(n, sxy, -(sx * sy)) / spread)
    }
}
