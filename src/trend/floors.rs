//! The floors of a series: its lowest value in each of a few equal spans, for horizons that double.

use crate::trend::Point;

/// Spans in a horizon.
pub(super) const SPANS: usize = 16;

/// How many horizons there are: 100 s, 200 s, 400 s … 38 days.
pub(super) const HORIZONS: usize = 16;

/// The shortest span, in milliseconds: sixteen of them are 100 s.
const SHORTEST: u64 = 6_250;

/// The floors over one horizon, oldest first, in bytes; NaN where nothing is known.
pub(super) type Row = [f64; SPANS];

/// The floors over every horizon that ends now.
#[derive(Debug)]
pub(super) struct Floors {
    rows: [Row; HORIZONS],
    /// How many of the rows hold anything.
    used: usize,
    /// How long the series was seen, milliseconds.
    seen: u64,
    /// How far apart its newest values lie, milliseconds.
    apart: u64,
}

/// How many of the newest points tell how far apart they lie.
const NEWEST: usize = 9;

/// How long a span of that horizon is, in seconds.
pub(super) fn span(horizon: usize) -> f64 {
    (SHORTEST << horizon) as f64 / 1000.0
}

impl Floors {
    /// The floors of points in order of time, as seen at the last one's end.
    ///
    /// Each point is looked at once: it is entered in the shortest horizon that reaches it, and the newer half
    /// of a horizon is the shorter one folded in two.
    pub(super) fn new(points: &[Point]) -> Self {
        let mut floors = Self {
            rows: [[f64::NAN; SPANS]; HORIZONS],
            used: 0,
            seen: 0,
            apart: apart(points),
        };
        let Some(newest) = points.last() else { return floors };
        let now = newest.end();
        let oldest = now.saturating_sub(points.first().map_or(now, Point::begin));
        floors.seen = oldest;
        let mut points = points.iter().rev().peekable();
        for horizon in 0..HORIZONS {
            if horizon > 0 {
                let finer = floors.rows[horizon - 1];
                for (i, pair) in finer.chunks_exact(2).enumerate() {
                    floors.rows[horizon][SPANS / 2 + i] = pair[0].min(pair[1]);
                }
            }
            let reach = (SHORTEST << horizon) * SPANS as u64;
            let from = if horizon == 0 { 0 } else { reach / 2 };
            floors.used = horizon + 1;
            while let Some(point) = points.peek() {
                let young = now.saturating_sub(point.end());
                if young >= reach {
                    break;
                }
                let old = now.saturating_sub(point.begin()).max(young);
                enter(
                    &mut floors.rows[horizon],
                    horizon,
                    young.max(from),
                    old,
                    point.min as f64,
                );
                // One that reaches further back is entered in the next horizon too.
                if old >= reach {
                    break;
                }
                points.next();
            }
            if oldest < reach {
                break;
            }
        }
        floors
    }

    /// The floors over one horizon; `None` beyond what was seen.
    pub(super) fn row(&self, horizon: usize) -> Option<&Row> {
        self.rows[..self.used].get(horizon)
    }

    /// How many horizons hold anything.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// How long the series was seen, in seconds.
    pub(super) fn seen(&self) -> f64 {
        self.seen as f64 / 1000.0
    }

    /// Whether the spans of that horizon hold enough values, each, to have a floor: two or more.
    pub(super) const fn is_fine(&self, horizon: usize) -> bool {
        2 * self.apart <= SHORTEST << horizon
    }

    /// The highest floor of the three horizons before this one: what the series did in the past, over seven
    /// times as long. NaN where it was not seen.
    pub(super) fn peak_before(&self, horizon: usize) -> f64 {
        (horizon + 1..(horizon + 4).min(self.used))
            .flat_map(|h| &self.rows[h][..SPANS / 2])
            .fold(f64::NAN, |peak, floor| peak.max(*floor))
    }
}

/// How far apart the newest points lie, in milliseconds, on the average.
fn apart(points: &[Point]) -> u64 {
    let newest = &points[points.len().saturating_sub(NEWEST)..];
    let gaps: u64 = newest
        .windows(2)
        .map(|pair| pair[1].begin().saturating_sub(pair[0].end()))
        .sum();
    gaps / (newest.len() as u64 - 1).max(1)
}

/// Enters a value that held from `old` to `young` milliseconds ago.
fn enter(row: &mut Row, horizon: usize, young: u64, old: u64, value: f64) {
    // Not by the span itself: a division by a constant is a product.
    let back = |ago: u64| ((ago / SHORTEST) >> horizon) as usize;
    let (first, last) = (back(young), back(old).min(SPANS - 1));
    for back in first..=last {
        let cell = &mut row[SPANS - 1 - back];
        *cell = cell.min(value);
    }
}
