//! Plateaus: a series that no longer moves at the pace that was found.
//!
//! A verdict covers hours, and stays for a while after growth ends, but the pace shown must be the present one. A
//! series is flat if its floors over the last minute and a half vary by less than a fifth of what the pace would have
//! added. If the pace is slow or the noise is large, twice that time is examined, and so on, until the pace adds enough
//! to stand out from noise.

use std::time::Duration;

use crate::trend::Point;
use crate::trend::parameters::{
    MAX_PLATEAU_RISE, MIN_PACE_BYTES, MIN_PLATEAU_SPANS, PLATEAU_SPANS, SHORTEST_PLATEAU_MS,
};

#[derive(Clone, Copy, Debug)]
pub struct Plateau {
    /// Its start on the monotonic clock.
    pub since: Duration,
    /// The range that counts as flat, in bytes.
    slack: f64,
}

/// Returns the flat end of a series with a slope of `slope` bytes per second; `None` if it moves, or if that cannot be
/// decided. Points are newest first; at most the last `longest` is examined.
pub fn plateau(points: impl Iterator<Item = Point> + Clone, slope: f64, longest: Duration) -> Option<Plateau> {
    let now = points.clone().next()?.end_ms();
    let mut length = SHORTEST_PLATEAU_MS;
    while u128::from(length) <= longest.as_millis() {
        let expected = slope.abs() * length as f64 / 1000.0;
        if expected >= MIN_PACE_BYTES {
            let floors = floors(points.clone(), now, length)?;
            let (low, high) = range(&floors);
            let allowed = expected * MAX_PLATEAU_RISE;
            if high - low < allowed {
                // The older half may still contain the end of the growth.
                let (low, high) = range(&floors[..PLATEAU_SPANS / 2]);
                let since = beginning(points, low - allowed / 4.0, high + allowed / 4.0);
                return Some(Plateau { since, slack: allowed });
            }
            if is_at_pace(&floors, expected * slope.signum()) {
                // Most growing series end here. Examining longer times would take as long as the rest of a judgement.
                return None;
            }
        }
        length *= 2;
    }
    None
}

impl Plateau {
    /// Returns true if the series paused for as long before, since `from`: growth in stairs is flat between them.
    /// Points are in order of time.
    pub(super) fn is_between_stairs(&self, points: &[Point], from: Duration) -> bool {
        let (mut high, mut risen_at, mut longest) = (None, from, Duration::ZERO);
        let first = points.partition_point(|point| point.to < from);
        for point in points[first..].iter().take_while(|point| point.from <= self.since) {
            if high.is_none_or(|high| point.min as f64 > high + self.slack) {
                high = Some(point.min as f64);
                longest = longest.max(point.from.saturating_sub(risen_at));
                risen_at = point.from;
            }
        }
        let end = points.last().map_or(self.since, |point| point.to);
        end.saturating_sub(self.since) <= longest
    }
}

/// Returns the floors of equal spans of the last `length` milliseconds, newest first, NaN if unknown; `None` if too few
/// are known.
fn floors(points: impl Iterator<Item = Point>, now: u64, length: u64) -> Option<[f64; PLATEAU_SPANS]> {
    let mut floors = [f64::NAN; PLATEAU_SPANS];
    let span = length / PLATEAU_SPANS as u64;
    let age = |point: &Point| now.saturating_sub(point.end_ms());
    points.take_while(|point| age(point) < length).for_each(|point| {
        let newest = age(&point);
        let oldest = now.saturating_sub(point.start_ms()).clamp(newest, length - 1);
        for floor in &mut floors[(newest / span) as usize..=(oldest / span) as usize] {
            *floor = floor.min(point.min as f64);
        }
    });
    let known = floors.iter().filter(|floor| !floor.is_nan()).count();
    (known >= MIN_PLATEAU_SPANS && !floors[PLATEAU_SPANS - 1].is_nan()).then_some(floors)
}

/// Returns true if the floors, newest first, clearly moved at the expected pace: the means of the two halves differ by
/// about half of `expected`, and the range is not larger than that, as noise would make it.
fn is_at_pace(floors: &[f64; PLATEAU_SPANS], expected: f64) -> bool {
    let mean = |floors: &[f64]| {
        let known = floors.iter().filter(|floor| !floor.is_nan());
        known.clone().sum::<f64>() / known.count() as f64
    };
    let (newer, older) = floors.split_at(PLATEAU_SPANS / 2);
    let moved = (mean(newer) - mean(older)) / expected;
    let (low, high) = range(floors);
    (0.4..0.6).contains(&moved) && (high - low) / expected.abs() < 1.1
}

/// Returns the lowest and the highest known floor.
fn range(floors: &[f64]) -> (f64, f64) {
    let fold = |from: f64, choose: fn(f64, f64) -> f64| floors.iter().copied().fold(from, choose);
    (fold(f64::MAX, f64::min), fold(f64::MIN, f64::max))
}

/// Returns the time since when the series stayed between `low` and `high`. A momentary value above `high` does not end
/// it.
fn beginning(points: impl Iterator<Item = Point>, low: f64, high: f64) -> Duration {
    let mut begun = Duration::ZERO;
    for point in points {
        if (point.min as f64) < low {
            break;
        }
        if (point.min as f64) <= high {
            begun = point.from;
        }
    }
    begun
}
