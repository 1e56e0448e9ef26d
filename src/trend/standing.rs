//! From looks to a leak: what one look takes for a leak must stand for a while to be called one, and what was called stays
//! called until it is over.
//!
//! Any single look may take noise for a line, and series are looked at thousands of times. Looks that see a leak add up
//! to a score, by the time they stand for and the length of their window; looks that see none take it down again.

use std::time::Duration;

use crate::trend::Point;
use crate::trend::finding::Finding;
use crate::trend::fit::{Fit, PreparedRow};
use crate::trend::parameters::{
    HELD_SHARE, LONGEST_HOLD, MAX_LOOK_SECONDS, MIN_GROWTH_HELD, MIN_KNOWN_SHARE, SHORTEST_HOLD, SHORTEST_WINDOW,
    SPANS, STANDING_SHARE,
};
use crate::trend::verdict::{Judgement, Standing, Verdict};

impl Standing {
    /// Takes in a look as of the end of the last point.
    pub(super) fn after(previous: &Judgement, leak: Option<&Finding>, end: Duration) -> Self {
        let Self { at, score, base } = previous.standing;
        let passed = end.saturating_sub(at).as_secs_f64().min(MAX_LOOK_SECONDS);
        let score = match leak {
            Some(leak) => (score + passed / (STANDING_SHARE * leak.length)).min(1.0),
            None => (score - passed / (STANDING_SHARE * SHORTEST_WINDOW)).max(0.0),
        };
        Self { at: end, score, base }
    }

    /// Returns true if it has stood for long enough to be called.
    pub(super) fn is_proven(&self) -> bool {
        self.score >= 1.0
    }

    /// Notes where the growth began that is called now.
    pub(super) const fn call(&mut self, base: f64) {
        self.base = base;
    }

    /// Forgets a leak that is over.
    pub(super) const fn clear(&mut self) {
        self.score = 0.0;
    }
}

/// Returns the leak that was called, if it still is one: its floor rose within half of the time since it began, at least
/// within the last quarter of an hour. Its pace is that of a line through its floors of this time: two floors alone would take
/// a step near either end for the pace. Nothing is over where nothing was seen.
pub(super) fn held(points: &[Point], previous: &Judgement) -> Option<Finding> {
    let end = points.last()?.to;
    if previous.verdict != Verdict::Leaking {
        return None;
    }
    let lasted = end.saturating_sub(previous.since.unwrap_or(end));
    let look = lasted.mul_f64(HELD_SHARE).clamp(SHORTEST_HOLD, LONGEST_HOLD);
    let begin = end.saturating_sub(look);
    let floor = |from: Duration, to: Duration| {
        let first = points.partition_point(|point| point.to < from);
        let inside = points[first..].iter().take_while(|point| point.from <= to);
        inside.map(|point| point.min).min().map(|min| min as f64)
    };
    // The two quarters begin three quarters of it apart.
    let apart = look.as_secs_f64() * 0.75;
    let growth = match (floor(begin, begin + look / 4), floor(end.saturating_sub(look / 4), end)) {
        (Some(before), Some(now)) => {
            let growth = now - before;
            let least = MIN_GROWTH_HELD * (now - previous.standing.base).max(1.0);
            (growth > least).then_some(growth)?
        }
        _ => previous.slope * apart,
    };
    let slope = pace(points, begin, look).filter(|slope| *slope > 0.0);
    Some(Finding {
        verdict: Verdict::Leaking,
        slope: slope.unwrap_or(growth / apart),
        confidence: previous.confidence,
        length: look.as_secs_f64(),
        growth,
        reasons: previous.reasons,
    })
}

/// Returns the slope of a line through the floors of as many equal spans as a horizon has, in bytes a second; `None` where
/// too few of them are known.
fn pace(points: &[Point], begin: Duration, length: Duration) -> Option<f64> {
    let span = length.as_secs_f64() / SPANS as f64;
    let at = |time: Duration| (time.saturating_sub(begin).as_secs_f64() / span) as usize;
    let mut floors = [f64::NAN; SPANS];
    let first = points.partition_point(|point| point.to < begin);
    for point in &points[first..] {
        let spans = at(point.from).min(SPANS - 1)..=at(point.to).min(SPANS - 1);
        for floor in &mut floors[spans] {
            *floor = floor.min(point.min as f64);
        }
    }
    let row = PreparedRow::new(&floors)?;
    let (floors, known) = row.newest(SPANS)?;
    (known as f64 >= SPANS as f64 * MIN_KNOWN_SHARE).then(|| Fit::new(floors).line / span)
}
