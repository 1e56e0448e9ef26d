//! Leak detection: verdicts on series of footprints.
//!
//! [`judge`] takes the points of one series and returns a [`Judgement`]. It is pure and allocates nothing: the same
//! points give the same verdict, live or from a recording. [`history`](crate::history) calls it for each process and
//! group; anybody may read a judgement. This module never decides when a series is judged, and knows no process.
//!
//! # What is said
//! *Growth* is a fact, said within a minute or two: it grows, so fast. A *leak* is a judgement: growth that outlasted what
//! a fill, a warm-up or a load can explain. At two minutes a leak and a cache that fills are the same curve, so it takes a
//! quarter of an hour at the least; it stays called until it is over, and tells its [`Reasons`].
//!
//! # Growth
//! The *floors* of a series, the lowest value in each of sixteen equal spans, are looked at for horizons that double from
//! 80 seconds to 30 days. A running median of three smooths them. The shortest horizon decides in which a line through
//! the floors rises or falls beyond its noise, by so much that it matters, and by more than a few steps. It is *warming*
//! where the second half is slower than the first, here or in the next longer horizons, or while the program starts. The
//! slope that is reported is Theil's, the median over pairs half the horizon apart, which a spike cannot move. It is that
//! of now: 0 where the last minute and a half show no growth ([`flat_since`]).
//!
//! # Leaks
//! The newest twelve and sixteen floors of each horizon make windows of 16 minutes and more. In one that leaks
//!
//! 1. **each quarter stands above the one before**, by two fifths of its share at least: a step, a ramp or a fill does not;
//! 2. **growth does not level off**, nor in the longer windows around it: a cache that fills does;
//! 3. **the level is new**: above what the series reached over seven times as long before. What wanders, or comes back
//!    every hour, has been there already;
//! 4. **it is faster than the load of a day**, or longer.
//!
//! For what is slower, each hour of a day is compared with the same hour of the day before (the idea of the seasonal Kendall
//! test): nearly all of them stand higher, two days running.
//!
//! A single look may see a line in anything, and a series is looked at thousands of times. So looks that see a leak add up,
//! by the time they stand for, and others take down again what they added: a leak is called when it has stood for about a
//! seventh of its window. This alone takes false calls from 41 of 360 harmless series to one. It stays called while
//! its floor still rises within half of the time since it began.
//!
//! All numbers stand in [one table](parameters::TABLE), each with what it guards against and what shows it.
//!
//! # Accuracy
//! Measured as it runs: series as a monitor would have seen them (readings that are held, gaps), taken into a history,
//! judged at its pace, where one call at any moment counts. On seeds, shapes and machines that it was not tuned to:
//!
//! | | precision, recall | calls dropped |
//! |---|---|---|
//! | 34 shapes of four hours, 20 series each | 0.97, 0.99 | 27 of 316 |
//! | 19 shapes of minutes to days, 30 series each | 0.97, 1.00 | 59 of 239 |
//!
//! In 200 MB with the noise of recorded programs, 10 MB a minute are said to grow after one minute, at most two; 3 MB a
//! minute are called a leak after 15 to 22 minutes, beside a heap that goes up and down by 3 % after 22 to 36.
//!
//! No shape is below 0.8: weakest are caches that fill as an exponential with a time constant of half an hour. Of leaks of
//! 0.5 to 4 % an hour planted in 27 real machines, 81 in 100 were called after two days and all after five. Of 30
//! processes of real services under load that do not leak, among them redis, memcached, mariadb, postgres and Java, none was
//! called within 36 minutes; of nine that leak seven were, within twenty minutes where they grew evenly.
//! `cargo test trend:: -- --nocapture` prints the tables, with `ZMTOP_TEST_LONG=1` those of more series.
//!
//! # Limits
//! Not to be told from a leak before it ends: a cache that fills at an even pace for more than a quarter of an hour, one
//! tooth that takes longer than all that was seen before it, a rise of load steeper than [`Params::day_rate`]. Told late: a
//! leak that is small beside the program's own noise, or slower than the load of the day. Not told: a leak within a heap
//! that has reached its maximum, where the program does not say itself what is alive in it, as Java virtual machines do.

mod daily;
mod finding;
mod fit;
mod floors;
mod horizon;
mod leak;
pub mod parameters;
mod plateau;
mod standing;
mod verdict;

use std::time::Duration;

use daily::Days;
use finding::{Finding, min_growth};
use floors::Floors;
use horizon::HorizonAnalysis;
pub use parameters::Params;
use parameters::{LOADING_TIME, MAX_LOADING_SHARE, MIN_LOADED_POINTS, MIN_OBSERVED_MS, MOVEMENT_SHARE, ONSET_SLACK};
pub use plateau::flat_since;
use standing::holds;
pub use verdict::{Judgement, Metric, Reasons, Standing, Verdict};

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
/// `None` takes it to have started with that. `previous` is the judgement before, the default for the first: a leak must
/// stand for a while to be called, and stays called until it is over.
///
/// Nothing is allocated. A series that hardly moved costs one pass over its points.
pub fn judge(points: &[Point], started_at: Option<Duration>, params: &Params, previous: &Judgement) -> Judgement {
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
    let analysis = HorizonAnalysis::new(&floors, age(last.to), params);
    let mut finding = analysis.decide();
    let leak = analysis.leak().or_else(|| Days::new(points)?.leak(params));
    let mut standing = Standing::after(previous, leak.as_ref(), last.to);
    let was_leak = previous.verdict == Verdict::Leaking;
    if let Some(leak) = leak.filter(|_| standing.is_proven()) {
        finding = leak;
        if !was_leak {
            standing.call(last.min as f64 - leak.growth);
        }
    } else if holds(points, previous) {
        finding = Finding {
            verdict: Verdict::Leaking,
            confidence: previous.confidence,
            reasons: previous.reasons,
            ..finding
        };
    } else if was_leak {
        standing.clear();
    }
    let is_same_leak = was_leak && finding.verdict == Verdict::Leaking;
    let grows = finding.verdict.is_growth() || finding.verdict == Verdict::Warming;
    let looked_back = Duration::from_secs_f64(finding.length);
    let flat_since = flat_since(points.iter().rev().copied(), finding.slope, looked_back);
    Judgement {
        verdict: finding.verdict,
        metric: Metric::Footprint,
        slope: if flat_since.is_some() { 0.0 } else { finding.slope },
        flat_since,
        confidence: finding.confidence,
        since: previous
            .since
            .filter(|_| is_same_leak)
            .or_else(|| grows.then(|| onset(points, &finding))),
        floor: last.min,
        reasons: finding.reasons,
        standing,
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

/// Observed time before anything is called a leak, rounded up to minutes: most of the shortest window, and a seventh of it
/// that the leak must stand for.
pub const MIN_LEAK_OBSERVED: Duration = Duration::from_secs(960);

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
