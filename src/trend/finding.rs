//! A finding: the verdict of one evaluation of a series; and how findings become a leak.
//!
//! A single evaluation may see a line in noise, and a series is evaluated thousands of times. So a leak must stand for
//! a while to be called ([`Standing`]), and stays called until it is over ([`held`]).
//!
//! A [`fill`] is not a leak. A leaking program keeps requesting memory. A program that fills a buffer pool, the memory
//! of a virtual machine, or pages shared with its parent requested all of it long before, and stops growing when it is
//! used up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::trend::fit::{Fit, PreparedRow};
use crate::trend::parameters::{
    DAY, HELD_SHARE, LEVEL_OFF_SECONDS, LONGEST_HOLD, MAX_EVIDENCE_WITHOUT_LEAK, MAX_LOOK_SECONDS, MIN_GROWTH_HELD,
    MIN_KNOWN_SHARE, MIN_QUARTER_SHARE, MIN_REQUESTED_SHARE, SHORTEST_GROWTH_HOLD, SHORTEST_HOLD, SHORTEST_WINDOW,
    SPANS, STANDING_SHARE,
};
use crate::trend::verdict::{Judgement, Reasons, Standing, Verdict};
use crate::trend::{Params, Point};

/// The verdict of one horizon, or of the comparison of days.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    /// In bytes per second.
    pub(super) slope: f64,
    pub(super) confidence: f64,
    /// The observed time, in seconds.
    pub(super) length: f64,
    /// The growth over that time, in bytes.
    pub(super) growth: f64,
    pub(super) reasons: Option<Reasons>,
}

impl Finding {
    /// Returns true if it compares days, or a window of at least a day.
    pub(super) fn outlasted_a_day(&self) -> bool {
        self.length >= DAY || matches!(self.reasons, Some(Reasons::Days { .. }))
    }

    /// Returns the leak as growth, as it has not stood for long enough to be called.
    pub(super) fn as_growth(&self) -> Self {
        Self {
            verdict: Verdict::Growing,
            confidence: self.confidence.min(confidence(MAX_EVIDENCE_WITHOUT_LEAK)),
            reasons: None,
            ..*self
        }
    }
}

/// Returns the minimum growth that matters relative to a floor, in bytes.
pub(super) fn min_growth(floor: f64, params: &Params) -> f64 {
    (params.least_share * floor).max(params.least_bytes as f64)
}

/// Maps evidence to a confidence: 1 just suffices and corresponds to 0.9; each further 1 divides the doubt by ten.
pub(super) fn confidence(evidence: f64) -> f64 {
    1.0 - 10f64.powf(-evidence.clamp(0.0, 3.0))
}

/// The work of a row and its requested memory, at one moment of its growth.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Mark {
    /// On the monotonic clock.
    pub at: Duration,
    /// The requested memory, touched or not, in bytes.
    pub requested: u64,
    /// The seconds of processor time since the first mark.
    pub work: f32,
}

/// Returns the reasons why an apparent leak is a fill; `None` if it requested a good part of its growth, or if that is
/// unknown for most of the time. Marks are in order.
pub(super) fn fill(marks: &[Mark], leak: &Finding, end: Duration) -> Option<Reasons> {
    let begin = end.saturating_sub(Duration::from_secs_f64(leak.length));
    let inside = &marks[marks.partition_point(|mark| mark.at < begin)..];
    let seconds = inside.last()?.at.saturating_sub(inside.first()?.at).as_secs_f64();
    let growth = leak.slope * seconds;
    let requested = inside.iter().map(|mark| mark.requested);
    // Memory that was released counts too: it may be requested and released all the time.
    let requested = requested.clone().max()? - requested.min()?;
    let is_fill = seconds >= MIN_KNOWN_SHARE * leak.length && (requested as f64) < MIN_REQUESTED_SHARE * growth;
    is_fill.then_some(Reasons::Fill {
        seconds,
        growth: growth as u64,
        requested,
    })
}

impl Standing {
    /// Updates the standing with an evaluation at `end`.
    pub(super) fn after(previous: &Judgement, leak: Option<&Finding>, end: Duration) -> Self {
        let passed = end
            .saturating_sub(previous.standing.at)
            .as_secs_f64()
            .min(MAX_LOOK_SECONDS);
        let gain = leak.map_or(-passed / (STANDING_SHARE * SHORTEST_WINDOW), |leak| {
            passed / (STANDING_SHARE * leak.length)
        });
        Self {
            at: end,
            score: (previous.standing.score + gain as f32).clamp(0.0, 1.0),
            ..previous.standing
        }
    }

    /// Updates the standing with a verdict on growth, found at [`Self::at`], and returns the verdict to report. It changes between
    /// growing and warming only after [`LEVEL_OFF_SECONDS`] of evidence.
    pub(super) fn growing_or_warming(&mut self, previous: &Judgement, found: Verdict) -> Verdict {
        let was = previous.verdict;
        let levels_off = found == Verdict::Warming;
        if !matches!(was, Verdict::Growing | Verdict::Warming) {
            self.levelling = f32::from(u8::from(levels_off));
            return found;
        }
        let passed = self.at.saturating_sub(previous.standing.at).as_secs_f64();
        let [to_warming, to_growing] = LEVEL_OFF_SECONDS;
        let gain = if levels_off {
            passed / to_warming
        } else {
            -passed / to_growing
        };
        self.levelling = (self.levelling + gain as f32).clamp(0.0, 1.0);
        match self.levelling {
            0.0 => Verdict::Growing,
            1.0 => Verdict::Warming,
            _ => was,
        }
    }
}

/// Returns the reported leak, if it still holds: its floor rose within half of the time since it began, at least within the last
/// quarter of an hour. Its pace is the slope of a line through the floors of this time, as a step near either end would distort
/// the difference of two floors. Without data a leak is not over. After a gap in the data, the watched time counts.
pub(super) fn held(points: &[Point], previous: &Judgement) -> Option<Finding> {
    let end = points.last()?.to;
    if previous.verdict != Verdict::Leaking {
        return None;
    }
    let lasted = end.saturating_sub(previous.since.unwrap_or(end));
    let half = |time: Duration| time.mul_f64(HELD_SHARE).clamp(SHORTEST_HOLD, LONGEST_HOLD);
    let usual = half(lasted);
    // If the first quarter of this time is in a gap, half of the watched time counts, and before that is known, all of the time.
    let looks = [usual, half(previous.watched(end).unwrap_or(lasted)), lasted];
    let known = looks
        .into_iter()
        .find_map(|look| Some((look, outer_floors(points, look)?)));
    let look = known.map_or(usual, |(look, _)| look);
    // The two quarters begin three quarters of the time apart.
    let apart = look.as_secs_f64() * 0.75;
    let growth = match known {
        Some((_, (before, now))) => {
            let growth = now - before;
            let share = MIN_GROWTH_HELD * look.div_duration_f64(usual).min(1.0);
            (growth > share * (now - previous.standing.base).max(1.0)).then_some(growth)?
        }
        None => previous.slope * apart,
    };
    let slope = pace(points, end.saturating_sub(look), look).filter(|slope| *slope > 0.0);
    Some(Finding {
        verdict: Verdict::Leaking,
        slope: slope.unwrap_or(growth / apart),
        confidence: previous.confidence,
        length: look.as_secs_f64(),
        growth,
        reasons: previous.reasons,
    })
}

/// Returns the growth reported before, if it continues: over half of the time since it began, the floor rose by a share of what
/// its pace adds. Growth by large steps is in no window even, but has not ended.
pub(super) fn held_growth(points: &[Point], previous: &Judgement, params: &Params) -> Option<Finding> {
    if !matches!(previous.verdict, Verdict::Growing | Verdict::Warming) {
        return None;
    }
    let (first, end) = (points.first()?.from, points.last()?.to);
    let lasted = end.saturating_sub(previous.since?);
    let look = lasted.mul_f64(HELD_SHARE).clamp(SHORTEST_GROWTH_HOLD, SHORTEST_HOLD);
    let look = look.min(end.saturating_sub(first));
    let (before, now) = outer_floors(points, look)?;
    let (growth, apart) = (now - before, look.as_secs_f64() * 0.75);
    let least = (MIN_QUARTER_SHARE * previous.slope * apart).max(params.least_bytes as f64);
    (growth >= least).then_some(Finding {
        verdict: previous.verdict,
        slope: growth / apart,
        confidence: previous.confidence,
        length: look.as_secs_f64(),
        growth,
        reasons: None,
    })
}

/// Returns the floors of the first and the last quarter of the newest `look`; `None` if one is unknown.
pub(super) fn outer_floors(points: &[Point], look: Duration) -> Option<(f64, f64)> {
    let end = points.last()?.to;
    let begin = end.saturating_sub(look);
    let floor = |from: Duration, to: Duration| {
        let first = points.partition_point(|point| point.to < from);
        let inside = points[first..].iter().take_while(|point| point.from <= to);
        inside.map(|point| point.min).min().map(|min| min as f64)
    };
    floor(begin, begin + look / 4).zip(floor(end.saturating_sub(look / 4), end))
}

/// Returns the slope of a line through the floors of [`SPANS`] equal spans, in bytes per second; `None` if too few are
/// known.
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
