//! The floors of a series: its lowest value in each of a few equal spans, for horizons that double.

use crate::trend::Point;
use crate::trend::parameters::{DENSITY_POINTS, HORIZONS, MIN_POINTS_PER_SPAN, PEAK_HORIZONS, SHORTEST_SPAN_MS, SPANS};

/// The floors of one horizon, oldest first, in bytes; NaN where nothing is known.
pub(super) type Row = [f64; SPANS];

/// The floors of every horizon that ends now.
#[derive(Debug)]
pub(super) struct Floors {
    rows: [Row; HORIZONS],
    /// The number of rows that hold anything.
    used: usize,
    /// The observed time, in milliseconds.
    observed: u64,
    /// Average distance of its newest values, in milliseconds.
    spacing: u64,
}

/// Returns the length of a span of that horizon, in seconds.
pub(super) fn span_seconds(horizon: usize) -> f64 {
    (SHORTEST_SPAN_MS << horizon) as f64 / 1000.0
}

impl Floors {
    /// Computes the floors of points in order of time, as seen at the end of the last one.
    ///
    /// A single pass: a point is entered in the shortest horizon that reaches back to it, and the newer half of each
    /// horizon is the shorter one folded in two.
    pub(super) fn new(points: &[Point]) -> Self {
        let mut floors = Self {
            rows: [[f64::NAN; SPANS]; HORIZONS],
            used: 0,
            observed: 0,
            spacing: spacing(points),
        };
        let Some(newest) = points.last() else { return floors };
        let now = newest.end_ms();
        floors.observed = now.saturating_sub(points.first().map_or(now, Point::start_ms));
        let mut points = points.iter().rev().peekable();
        for horizon in 0..HORIZONS {
            if horizon > 0 {
                let finer = floors.rows[horizon - 1];
                for (i, pair) in finer.chunks_exact(2).enumerate() {
                    floors.rows[horizon][SPANS / 2 + i] = pair[0].min(pair[1]);
                }
            }
            let length = (SHORTEST_SPAN_MS << horizon) * SPANS as u64;
            // The newer half is known from the shorter horizon.
            let from = if horizon == 0 { 0 } else { length / 2 };
            floors.used = horizon + 1;
            while let Some(point) = points.peek() {
                let end_age = now.saturating_sub(point.end_ms());
                if end_age >= length {
                    break;
                }
                let start_age = now.saturating_sub(point.start_ms()).max(end_age);
                let row = &mut floors.rows[horizon];
                lower(row, horizon, end_age.max(from), start_age, point.min as f64);
                // A point that reaches further back belongs to the next horizon too.
                if start_age >= length {
                    break;
                }
                points.next();
            }
            if floors.observed < length {
                break;
            }
        }
        floors
    }

    /// Returns the floors of one horizon; `None` beyond what was observed.
    pub(super) fn row(&self, horizon: usize) -> Option<&Row> {
        self.rows[..self.used].get(horizon)
    }

    /// Returns the number of horizons that hold anything.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Returns true if each span of that horizon holds enough values to have a floor.
    pub(super) const fn is_dense(&self, horizon: usize) -> bool {
        MIN_POINTS_PER_SPAN * self.spacing <= SHORTEST_SPAN_MS << horizon
    }

    /// Returns the highest floor of the time before this horizon, over seven times its length; NaN where that was not
    /// observed.
    pub(super) fn earlier_peak(&self, horizon: usize) -> f64 {
        (horizon + 1..(horizon + 1 + PEAK_HORIZONS).min(self.used))
            .flat_map(|h| &self.rows[h][..SPANS / 2])
            .fold(f64::NAN, |peak, floor| peak.max(*floor))
    }
}

/// Returns the average distance of the newest points, in milliseconds.
fn spacing(points: &[Point]) -> u64 {
    let newest = &points[points.len().saturating_sub(DENSITY_POINTS)..];
    let gaps: u64 = newest
        .windows(2)
        .map(|pair| pair[1].start_ms().saturating_sub(pair[0].end_ms()))
        .sum();
    gaps / (newest.len() as u64 - 1).max(1)
}

/// Lowers the floors of the spans from `start_age` to `end_age` milliseconds ago to a value that held there.
fn lower(row: &mut Row, horizon: usize, end_age: u64, start_age: u64, value: f64) {
    // Dividing by a constant and shifting is cheaper than dividing by the span: it compiles to a product.
    let spans_back = |age: u64| ((age / SHORTEST_SPAN_MS) >> horizon) as usize;
    let (first, last) = (spans_back(end_age), spans_back(start_age).min(SPANS - 1));
    for back in first..=last {
        let floor = &mut row[SPANS - 1 - back];
        *floor = floor.min(value);
    }
}
