//! Plateaus: a series that no longer moves at the pace that was found.
//!
//! A verdict looks back over hours, and stays for a while after the growth ends; a pace that is shown must be that of
//! now. A series is flat if its floors over the last minute and a half lie within a fifth of what the pace would have
//! added. Where the pace is slow, or the noise is large beside it, twice as long is looked at, and so on, until the
//! pace adds enough to be told from noise.

use std::time::Duration;

use crate::trend::Point;
use crate::trend::parameters::{
    MAX_PLATEAU_RISE, MIN_PACE_BYTES, MIN_PLATEAU_SPANS, PLATEAU_SPANS, SHORTEST_PLATEAU_MS,
};

/// The flat end of a series.
#[derive(Clone, Copy, Debug)]
pub struct Plateau {
    /// Its beginning on the monotonic clock.
    pub since: Duration,
    /// The bytes within which it counts as flat.
    slack: f64,
}

/// Returns the flat end of a series that is said to move by `slope` bytes a second; `None` where it moves, or that cannot
/// be told. Points come newest first; no more than the last `longest` of them is looked at.
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
                // The older half may still be the end of the growth.
                let (low, high) = range(&floors[..PLATEAU_SPANS / 2]);
                let since = beginning(points, low - allowed / 4.0, high + allowed / 4.0);
                return Some(Plateau { since, slack: allowed });
            }
            if is_at_pace(&floors, expected * slope.signum()) {
                // Most of what grows: looking further back would take as long as all the rest of a judgement.
                return None;
            }
        }
        length *= 2;
    }
    None
}

impl Plateau {
    /// Returns true if the series, whose points come in order, rested for as long before, from some moment on: growth in
    /// stairs is flat between them.
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

/// Returns the floors of the equal spans of the last `length` milliseconds, newest first, NaN where one is unknown;
/// `None` where too little of that time was seen.
fn floors(points: impl Iterator<Item = Point>, now: u64, length: u64) -> Option<[f64; PLATEAU_SPANS]> {
    let mut floors = [f64::NAN; PLATEAU_SPANS];
    let span = length / PLATEAU_SPANS as u64;
    for point in points {
        let newest = now.saturating_sub(point.end_ms());
        if newest >= length {
            break;
        }
        let oldest = now.saturating_sub(point.start_ms()).clamp(newest, length - 1);
        for floor in &mut floors[(newest / span) as usize..=(oldest / span) as usize] {
            *floor = floor.min(point.min as f64);
        }
    }
    let known = floors.iter().filter(|floor| !floor.is_nan()).count();
    (known >= MIN_PLATEAU_SPANS && !floors[PLATEAU_SPANS - 1].is_nan()).then_some(floors)
}

/// Returns true if the floors, newest first, plainly moved by what was expected: from the mean of the older half to that of
/// the newer one by about half of it, and by no more than that in all, as noise would.
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

/// Returns the lowest and the highest of the known floors.
fn range(floors: &[f64]) -> (f64, f64) {
    let fold = |from: f64, choose: fn(f64, f64) -> f64| floors.iter().copied().fold(from, choose);
    (fold(f64::MAX, f64::min), fold(f64::MIN, f64::max))
}

/// Returns since when the series has stayed within those bounds. What is above them for a moment is no end of it.
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
