//! The floors of a series: its lowest value in each of a few equal spans, for horizons that double. And the statistics
//! of a window of floors: line, curvature and noise.

use crate::trend::Point;
use crate::trend::parameters::{
    AUTOCORRELATION_BIAS, DENSITY_POINTS, HORIZONS, MAX_STEPS, MIN_CURVATURE, MIN_NOISE, MIN_POINTS_PER_SPAN,
    PEAK_HORIZONS, SHORTEST_SPAN_MS, SPANS, STEP_RISE,
};

/// The floors of one horizon, oldest first, in bytes; NaN if unknown.
pub(super) type Row = [f64; SPANS];

/// The floors of all horizons that end now.
#[derive(Debug)]
pub(super) struct Floors {
    rows: [Row; HORIZONS],
    /// The number of horizons with data.
    pub(super) used: usize,
    /// In milliseconds.
    observed: u64,
    /// The average distance of the newest points, in milliseconds.
    spacing: u64,
}

/// Returns the length of a span of a horizon, in seconds.
pub(super) fn span_seconds(horizon: usize) -> f64 {
    (SHORTEST_SPAN_MS << horizon) as f64 / 1000.0
}

impl Floors {
    /// Computes the floors of points in order of time, as of the end of the last one.
    ///
    /// A single pass: a point is added to the shortest horizon that reaches back to it. The newer half of each horizon
    /// is the shorter horizon, folded in two.
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
            // The newer half is copied from the shorter horizon.
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

    /// Returns `None` beyond the observed time.
    pub(super) fn row(&self, horizon: usize) -> Option<&Row> {
        self.rows[..self.used].get(horizon)
    }

    /// Returns true if each span of a horizon has enough values for a floor.
    pub(super) const fn is_dense(&self, horizon: usize) -> bool {
        MIN_POINTS_PER_SPAN * self.spacing <= SHORTEST_SPAN_MS << horizon
    }

    /// Returns the highest floor before a horizon, over seven times its length; NaN if unknown.
    pub(super) fn earlier_peak(&self, horizon: usize) -> f64 {
        (horizon + 1..(horizon + 1 + PEAK_HORIZONS).min(self.used))
            .flat_map(|h| &self.rows[h][..SPANS / 2])
            .fold(f64::NAN, |peak, floor| peak.max(*floor))
    }

    /// The same for the lower of two successive floors, which ignores a tooth longer than one.
    pub(super) fn earlier_peak_below_teeth(&self, horizon: usize) -> f64 {
        (horizon + 1..(horizon + 1 + PEAK_HORIZONS).min(self.used))
            .flat_map(|h| self.rows[h][..=SPANS / 2].windows(2))
            .fold(f64::NAN, |peak, pair| peak.max(pair[0].min(pair[1])))
    }
}

fn spacing(points: &[Point]) -> u64 {
    let newest = &points[points.len().saturating_sub(DENSITY_POINTS)..];
    let gaps: u64 = newest
        .windows(2)
        .map(|pair| pair[1].start_ms().saturating_sub(pair[0].end_ms()))
        .sum();
    gaps / (newest.len() as u64 - 1).max(1)
}

/// Lowers the floors of the spans from `start_age` to `end_age` milliseconds ago to `value`.
fn lower(row: &mut Row, horizon: usize, end_age: u64, start_age: u64, value: f64) {
    // Division by a constant and a shift is cheaper than division by the span: it compiles to a multiplication.
    let spans_back = |age: u64| ((age / SHORTEST_SPAN_MS) >> horizon) as usize;
    let (first, last) = (spans_back(end_age), spans_back(start_age).min(SPANS - 1));
    for back in first..=last {
        let floor = &mut row[SPANS - 1 - back];
        *floor = floor.min(value);
    }
}

/// A line and a parabola fitted to a window of floors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// Robust slope in bytes per span: the median over pairs half the window apart (Theil's incomplete method).
    pub(super) slope: f64,
    /// Least-squares slope in bytes per span, which steps move least.
    pub(super) line: f64,
    /// The least-squares slope divided by its standard error, which accounts for autocorrelation.
    pub(super) t_statistic: f64,
    /// The t-statistic of the parabola: negative if growth slows down.
    pub(super) curvature: f64,
    /// The slope of the second half divided by the slope of the first.
    pub(super) slope_ratio: f64,
}

/// The floors of a horizon, smoothed and with gaps interpolated.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreparedRow {
    filled: Row,
    /// The index of the first known floor.
    start: usize,
    /// A bit per known floor; the lowest bit is the newest floor.
    known: u32,
}

impl PreparedRow {
    /// Returns `None` if the last floor is unknown.
    pub(super) fn new(row: &Row) -> Option<Self> {
        let start = row.iter().position(|floor| !floor.is_nan())?;
        let mut filled = smooth(row);
        let known = filled
            .iter()
            .fold(0, |known, floor| known << 1 | u32::from(!floor.is_nan()));
        interpolate(&mut filled[start..])?;
        Some(Self { filled, start, known })
    }

    /// Returns the newest `count` floors without gaps, and how many were known; `None` if they begin before the first
    /// known one.
    pub(super) fn newest(&self, count: usize) -> Option<(&[f64], usize)> {
        let from = SPANS - count;
        let known = (self.known & ((1 << count) - 1)).count_ones();
        (from >= self.start).then(|| (&self.filled[from..], known as usize))
    }
}

impl Fit {
    pub(super) fn new(floors: &[f64]) -> Self {
        let count = floors.len() as f64;
        let mean = floors.iter().sum::<f64>() / count;
        let centre = (count - 1.0) / 2.0;
        let mean_square = (count * count - 1.0) / 12.0;
        let centred = |i: usize| i as f64 - centre;
        // The sums of squares of the line and of the parabola, which are orthogonal.
        let line_squares = count * mean_square;
        let parabola_squares = line_squares * (count * count - 4.0) / 15.0;
        let (mut line, mut parabola) = (0.0, 0.0);
        for (i, floor) in floors.iter().enumerate() {
            let x = centred(i);
            line += x * (floor - mean);
            parabola += x.mul_add(x, -mean_square) * (floor - mean);
        }
        line /= line_squares;
        parabola /= parabola_squares;

        let (mut squares, mut products, mut previous) = (0.0, 0.0, 0.0);
        for (i, floor) in floors.iter().enumerate() {
            let x = centred(i);
            let residual = (floor - mean) - line * x - parabola * x.mul_add(x, -mean_square);
            squares += residual * residual;
            products += residual * previous;
            previous = residual;
        }
        // Three degrees of freedom are used by mean, line and parabola.
        let noise = (squares / (count - 3.0)).sqrt().max(MIN_NOISE);
        let autocorrelation = if squares > 0.0 {
            products / squares + AUTOCORRELATION_BIAS
        } else {
            0.0
        };
        let autocorrelation = autocorrelation.clamp(0.0, 1.0);
        // The square root of the share of independent values, for a first-order autoregressive process.
        let independence = ((1.0 - autocorrelation) / (1.0 + autocorrelation)).sqrt();

        let slope = theil_slope(floors);
        let half_bend = parabola * count / 2.0;
        let (early_slope, late_slope) = (line - half_bend, line + half_bend);
        Self {
            slope,
            line,
            t_statistic: line * line_squares.sqrt() / noise * independence,
            curvature: parabola * parabola_squares.sqrt() / noise * independence,
            slope_ratio: if early_slope > 0.0 {
                late_slope / early_slope
            } else {
                f64::INFINITY
            },
        }
    }

    pub(super) fn slows_down(&self, level_off: f64) -> bool {
        self.slope_ratio < level_off && self.curvature < -MIN_CURVATURE
    }
}

/// Smooths by a running median of three, and the ends by Tukey's rule: a floor above or below both its neighbours is
/// set to the nearer one.
fn smooth(row: &Row) -> Row {
    let mut out = *row;
    for i in 1..SPANS - 1 {
        out[i] = median(row[i - 1], row[i], row[i + 1]);
    }
    let end = |outer: f64, next: f64, third: f64| median(next, outer, 3.0f64.mul_add(next, -2.0 * third));
    out[0] = end(row[0], out[1], out[2]);
    out[SPANS - 1] = end(row[SPANS - 1], out[SPANS - 2], out[SPANS - 3]);
    out
}

/// Returns the median of three; `b` if another is unknown.
fn median(a: f64, b: f64, c: f64) -> f64 {
    if a.is_nan() || c.is_nan() {
        b
    } else {
        a.max(b).min(a.min(b).max(c))
    }
}

/// Interpolates gaps linearly; `None` if the last value is unknown.
fn interpolate(x: &mut [f64]) -> Option<()> {
    if x.last()?.is_nan() {
        return None;
    }
    let mut previous = 0;
    for i in 0..x.len() {
        if x[i].is_nan() {
            continue;
        }
        for gap in previous + 1..i {
            let share = (gap - previous) as f64 / (i - previous) as f64;
            x[gap] = (x[i] - x[previous]).mul_add(share, x[previous]);
        }
        previous = i;
    }
    Some(())
}

/// Returns the floors without a step: the rises that are far larger than the median rise become as large as that. `None` if there
/// are none, or too many for a step. A curve that levels off still does so without its first rises.
pub(super) fn without_step(floors: &[f64]) -> Option<Row> {
    let count = floors.len();
    let mut rises = [0.0; SPANS - 1];
    let rises = &mut rises[..count - 1];
    for (rise, pair) in rises.iter_mut().zip(floors.windows(2)) {
        *rise = pair[1] - pair[0];
    }
    let mut sorted = [0.0; SPANS - 1];
    let sorted = &mut sorted[..count - 1];
    sorted.copy_from_slice(rises);
    sorted.sort_unstable_by(f64::total_cmp);
    let median = sorted[(count - 1) / 2].max(0.0);
    let least = (STEP_RISE * median).max(MIN_NOISE);
    let steps = sorted.iter().filter(|rise| **rise > least).count();
    if !(1..=MAX_STEPS).contains(&steps) {
        return None;
    }
    let mut level = [floors[0]; SPANS];
    for (i, rise) in rises.iter().enumerate() {
        level[i + 1] = level[i] + if *rise > least { median } else { *rise };
    }
    Some(level)
}

pub(super) fn lowest(floors: &[f64]) -> f64 {
    floors.iter().copied().fold(f64::MAX, f64::min)
}

/// Returns the median slope per span over all pairs half the window apart.
fn theil_slope(x: &[f64]) -> f64 {
    let distance = x.len() / 2;
    let mut rises = [0.0; SPANS / 2 + 1];
    let pairs = x.len() - distance;
    for (rise, (a, b)) in rises.iter_mut().zip(x.iter().zip(&x[distance..])) {
        *rise = b - a;
    }
    let rises = &mut rises[..pairs];
    // Insertion sort, as there are at most nine, and this is the hottest loop of judging.
    for sorted in 1..pairs {
        let mut at = sorted;
        while at > 0 && rises[at - 1] > rises[at] {
            rises.swap(at - 1, at);
            at -= 1;
        }
    }
    let median = f64::midpoint(rises[(pairs - 1) / 2], rises[pairs / 2]);
    median / distance as f64
}
