//! Leak detection: verdicts on series of footprints.
//!
//! [`judge`] takes the points of one series and returns a [`Judgement`]. It is pure and allocates nothing: the same
//! points give the same verdict, live or from a recording. [`history`](crate::history) calls it for each process and
//! group; anybody may read a judgement. This module never decides when a series is judged, and knows no process.
//!
//! # The method
//! A heap that is collected makes a saw-tooth, caches fill and level off, programs warm up, load follows the day. A
//! leak is what remains: the *floor* of the saw-tooth rises, goes on rising, and does not slow down. Therefore the
//! floors of a series are judged, the lowest value in each of sixteen equal spans, for horizons that double from
//! 100 seconds to 38 days. A running median of three smooths them. Each horizon is asked:
//!
//! 1. **Does the floor rise beyond its noise?** A line and a parabola are fitted to the floors. The t-statistic of the
//!    slope must reach [`Params::significance`]; its standard error allows for the autocorrelation of the residuals,
//!    and the two shortest horizons need more. (The Mann–Kendall test alone takes values for independent and calls
//!    any slow wander a trend: Machida et al., ISSREW 2013.) The slope that is reported is Theil's, the median over
//!    pairs half the horizon apart, which a spike cannot move.
//! 2. **Does the growth matter?** It must reach [`Params::least_bytes`] and [`Params::least_share`] of the floor.
//! 3. **Is it more than a few steps?** Without its four largest jumps the floor must still have risen.
//! 4. **Does it go on?** The second half's pace must reach [`Params::level_off`] of the first half's, here, in the next
//!    shorter horizon and in the longer ones, and the last quarter must have grown.
//! 5. **Is the level new?** The floor must have left what the series reached over a time seven times as long: what
//!    wanders, or comes back every hour, has been there already. Growth of an old program that was met in the middle
//!    of it may be the flank of a saw-tooth, and is watched for longer.
//! 6. **Is the program starting?** One younger than [`Params::warmup`] may grow by a fifth and more, unless it does so
//!    in a straight line. Its first half minute, while it was loaded, does not count.
//! 7. **Is it the load of the day?** Growth slower than [`Params::day_rate`] is a leak only if it went on for nearly a
//!    day, or if on two days running nearly every hour stood above the same hour of the day before (the idea of the
//!    seasonal Kendall test).
//! 8. **Was it there a moment ago?** The same horizon, a little earlier, must have seen growth.
//!
//! The verdict looks back over the horizon that decided. The pace that is reported is that of now: 0 where the last
//! minute and a half show no growth ([`flat_since`]).
//!
//! Questions 1 and 2 give a score each, 1 where the answer just suffices; the lower one is the evidence, from which
//! [`Judgement::confidence`] follows. The others say yes or no. The horizon of the highest confidence decides. All
//! numbers stand in [one table](parameters::TABLE), each with what it guards against and the test that shows it.
//!
//! # Accuracy
//! On a corpus of 19 shapes (8 leak) of 50 series each with the noise of recorded programs, judged as often as a
//! history does it, where one call at any moment counts: precision 0.98, recall 0.99, no false alarm in 200 steady,
//! saw-tooth, warm-up and step series. A third of the shapes was held out of the tuning (precision 0.97, recall 0.99
//! on those). `ZMTOP_TEST_LONG=1 cargo test trend:: -- --nocapture` prints the table; without the variable, that of
//! 15 series each. Weakest are random walks and caches that fill: of
//! those some 10 and 6 in a hundred are called a leak for a moment. Of leaks in a 200 MB process with up to 1 % of
//! noise, 97 in 100 are called within two minutes at 10 MB a minute, and 97 in 100 within ten at 1 MB. Real Python
//! services that leak, cache, warm up, collect garbage and fork are tried too, at forty times their pace
//! (`ZMTOP_TEST_LONG=1 cargo test programs -- --nocapture`).
//!
//! # Limits
//! Not to be told from a leak before it ends: a cache that fills at an even pace, one tooth that takes longer than all
//! that was seen before it, a rise of load steeper than [`Params::day_rate`]. Told late: a leak that is small beside
//! the program's own noise, or slower than the load of the day.

mod daily;
mod finding;
mod fit;
mod floors;
mod horizon;
pub mod parameters;
mod plateau;
mod verdict;

use std::time::Duration;

use daily::Days;
use finding::{Finding, min_growth};
use floors::Floors;
use horizon::HorizonAnalysis;
pub use parameters::Params;
use parameters::{
    LOADING_TIME, MAX_CONFIDENCE_WITHOUT_LEAK, MAX_LOADING_SHARE, MIN_LOADED_POINTS, MIN_OBSERVED_MS, MOVEMENT_SHARE,
    ONSET_SLACK, RECHECK_SHARE, RECHECK_SHARE_SHORT,
};
pub use plateau::flat_since;
pub use verdict::{Judgement, Metric, Verdict};

/// The values of one bucket of a series. A point says nothing of the time between it and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its start on the monotonic clock.
    pub from: Duration,
    /// Its end: that of the bucket, or of the run of buckets over which nothing changed.
    pub to: Duration,
    /// The lowest footprint, in bytes; verdicts are on this one.
    pub min: u64,
    /// The last one.
    pub last: u64,
    /// The highest one.
    pub max: u64,
}

impl Point {
    /// A single value at one moment.
    pub const fn at(at: Duration, bytes: u64) -> Self {
        Self {
            from: at,
            to: at,
            min: bytes,
            last: bytes,
            max: bytes,
        }
    }

    const fn start_ms(&self) -> u64 {
        millis(self.from)
    }

    const fn end_ms(&self) -> u64 {
        millis(self.to)
    }
}

/// Converts a time of the clock to milliseconds, without the 128 bits of [`Duration::as_millis`].
const fn millis(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1000)
        .saturating_add(time.subsec_millis() as u64)
}

/// Judges a series as of the end of its last point.
///
/// Points are in order of time; a gap is no point. They may be coarser the older they are: a length of a sixteenth of
/// their age is fine enough. `started_at` is when the program started (its exec), which may be before the first point;
/// `None` takes it to have started with that.
///
/// Nothing is allocated. A series that hardly moved costs one pass over its points.
pub fn judge(points: &[Point], started_at: Option<Duration>, params: &Params) -> Judgement {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Judgement::default();
    };
    if let Some(steady) = judge_steady(points, params) {
        return steady;
    }
    let started_at = started_at.unwrap_or(first.from);
    let points = without_loading(points, started_at);
    let age = |at: Duration| at.saturating_sub(started_at).as_secs_f64();
    let floors = Floors::new(points);
    let mut finding = HorizonAnalysis::new(&floors, age(last.to), params).decide();
    if finding.verdict == Verdict::Leaking {
        // A single look may see a line in anything: a little earlier it must have been there too.
        let share = if finding.length < params.warmup.as_secs_f64() {
            RECHECK_SHARE_SHORT
        } else {
            RECHECK_SHARE
        };
        let earlier = last.to.saturating_sub(Duration::from_secs_f64(finding.length * share));
        let floors = Floors::new(&points[..points.partition_point(|point| point.to <= earlier)]);
        if !HorizonAnalysis::new(&floors, age(earlier), params).grows(finding.horizon) {
            finding.verdict = Verdict::Growing;
            finding.confidence = finding.confidence.min(MAX_CONFIDENCE_WITHOUT_LEAK);
        }
    }
    let days = Days::new(points).and_then(|days| days.leak(params));
    let finding = days
        .filter(|days| days.confidence > finding.confidence)
        .unwrap_or(finding);
    let grows = finding.verdict.is_growth() || finding.verdict == Verdict::Warming;
    let looked_back = Duration::from_secs_f64(finding.length);
    let flat_since = flat_since(points.iter().rev().copied(), finding.slope, looked_back);
    Judgement {
        verdict: finding.verdict,
        metric: Metric::Footprint,
        slope: if flat_since.is_some() { 0.0 } else { finding.slope },
        flat_since,
        confidence: finding.confidence,
        since: grows.then(|| onset(points, &finding)),
        floor: last.min,
    }
}

/// Returns the points without those of a program that was still being loaded: its low start would make all later
/// growth look as if it slowed down.
fn without_loading(points: &[Point], started_at: Duration) -> &[Point] {
    let end = points.last().map_or(Duration::ZERO, |last| last.to);
    let loaded_at = started_at + (end.saturating_sub(started_at) / MAX_LOADING_SHARE).min(LOADING_TIME);
    let from = points.partition_point(|point| point.from < loaded_at);
    if from + MIN_LOADED_POINTS < points.len() {
        &points[from..]
    } else {
        points
    }
}

/// Observed time before any verdict.
pub const MIN_OBSERVED: Duration = Duration::from_millis(MIN_OBSERVED_MS);

/// Returns the verdict of a series in which nothing moved enough to matter.
fn judge_steady(points: &[Point], params: &Params) -> Option<Judgement> {
    let (first, last) = (points.first()?, points.last()?);
    if last.end_ms().saturating_sub(first.start_ms()) < MIN_OBSERVED_MS {
        return None;
    }
    let (mut low, mut high) = (u64::MAX, 0);
    for point in points {
        low = low.min(point.min);
        high = high.max(point.min);
    }
    let moves = min_growth(low as f64, params) * MOVEMENT_SHARE;
    (((high - low) as f64) < moves).then(|| Judgement {
        verdict: Verdict::Steady,
        floor: last.min,
        ..Judgement::default()
    })
}

/// Returns when growth began: the last time that the series stood as low as at the start of the finding's horizon,
/// followed back from there for as long as the series only gets lower.
fn onset(points: &[Point], finding: &Finding) -> Duration {
    let last = points.last().map_or(Duration::ZERO, |p| p.to);
    let from = last.saturating_sub(Duration::from_secs_f64(finding.length));
    let start = points.partition_point(|p| p.to < from);
    let slack = (finding.growth * ONSET_SLACK) as u64;
    let mut low = points[start..].iter().take(3).map(|p| p.min).min().unwrap_or(0);
    let mut at = start;
    for (i, point) in points[..start].iter().enumerate().rev() {
        if point.min > low.saturating_add(slack) {
            break;
        }
        low = low.min(point.min);
        at = i;
    }
    // A long level stretch before the rise is not part of it.
    points[at..]
        .iter()
        .rev()
        .find(|p| p.min <= low.saturating_add(slack))
        .map_or(from, |p| p.to.max(p.from))
}
