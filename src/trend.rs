//! Leak detection: verdicts on series of footprints.
//!
//! [`judge`] maps the points of one series to a [`Judgement`]. It is pure and allocates nothing: the same points lead to the same
//! verdict, live or from a recording. [`history`](crate::history) calls it for each row and decides when; anyone may read the
//! judgement. This module knows no processes.
//!
//! # Verdicts
//! *Growth* is a fact, reported within a minute or two, with its pace. A *leak* is a judgement: growth that outlasted what a
//! fill, a warm-up or a load can explain. After two minutes a leak and a filling cache are the same curve, so a leak takes at
//! least a quarter of an hour. It stays called until it is over, and has [`Reasons`].
//!
//! # Growth
//! The *floors* of a series are the lowest values in each of sixteen equal spans of a *horizon*. Horizons double from 80
//! seconds to 30 days. A running median of three smooths the floors. The newest twelve and sixteen floors of each horizon are
//! *windows*, from a minute up. In the shortest window that decides, each quarter is above the one before by at least two
//! fifths of its share, a line fits beyond its noise, and the level is new: above everything reached over seven times the
//! length before. So a step, a spike or the saw-teeth of a collector are not growth.
//!
//! Growth is *warming* if it levels off, here or in longer windows: no time to a limit follows from it. A step in a window is
//! levelled first, as even growth after a large allocation does not level off. If a window of twice the length grows evenly, the
//! shorter one only has a pause or stairs. The verdict changes between growing and warming only after one or two minutes of
//! evidence. Growth by large steps, which are even in no window, remains reported while it goes on. The reported slope is Theil's,
//! the median over pairs half the window apart, which a spike cannot move. A series that stopped does not grow: if the last minute
//! and a half are flat, and the growth never paused for as long before, the pace is 0 ([`plateau`](fn@plateau)).
//!
//! # Leaks
//! A leak is growth in a window of at least 16 minutes that
//!
//! 1. **does not level off**, in this window or the longer windows around it, as a filling cache does. The first eighth of a
//!    program's life, up to ten minutes, is left out, as programs warm up;
//! 2. **is faster than the load of a day**, and than an idle runtime that leaves its garbage, or lasts longer;
//! 3. **requests memory** while it grows. A program that fills memory requested before, as a buffer pool, a virtual machine or
//!    a heap that was larger once does, stops when that is used up.
//! 4. **raises the mean** as well as the floors. If a series at rest dips less and less, its floors rise, too.
//!
//! Slower leaks are found by comparing each hour of a day with the same hour of the days before (the idea of the seasonal
//! Kendall test). Nearly all hours must be higher than on any of those days, on two successive days, or on one day over which
//! the distance grew gradually instead of in a step. Growth found by days, or in a window of at least a day, is never
//! *warming*, whatever its last hour looks like.
//!
//! If saw-teeth are longer than a span, a span's floor is not the floor of a tooth. If the floors fall repeatedly, the lowest
//! of three successive floors is therefore judged too.
//!
//! A single evaluation may see a line in anything, and a series is evaluated thousands of times. So evaluations that see a
//! leak add to a score, by the time they stand for, and others subtract from it: a leak is called when it has stood for about
//! a seventh of its window. This alone reduces false calls from 41 of 360 harmless series to one. A leak stays called while
//! its floor still rises within half of the time since it began. Its pace is measured over this time, also between stairs.
//!
//! All constants are in [one table](parameters::TABLE), each with the mistake it prevents and the test that shows it.
//!
//! # Accuracy
//! Measured in operation: series as a monitor would have seen them (delayed readings, gaps), pushed into a history, judged at
//! its pace; one call at any moment counts. On seeds, shapes and machines that were not used for tuning:
//!
//! | | precision, recall | calls dropped |
//! |---|---|---|
//! | 34 shapes of four hours, 150 series each | 0.99, 0.98 | 154 of 2351 |
//! | 19 shapes of minutes to days, 150 series each | 0.99, 0.98 | not counted |
//!
//! In 200 MB with the noise of recorded programs, growth of 10 MB a minute is reported after one minute, at most two; 3 MB a
//! minute are called a leak after 15 to 22 minutes, and next to a heap that varies by 3 % after 22 to 36.
//!
//! No shape is below 0.8; the weakest are leaks with saw-teeth of an hour. Of leaks of 1 % an hour planted in 27 real machines,
//! 88 % were called after two days and all after five. Of leaks of 50 to 400 kB a second in machines of 27 GB that begin a day
//! after zmtop, 58 % were called after one day of leaking, 94 % after two, all after three; on 19 machines not used for tuning
//! 54 %, 92 % and all. Of evaluations of the unmodified machines, 2.7 in 1000 were wrong on those used for tuning, most of
//! them on one whose memory rose by half in 30 hours, and 0.9 on the others. Of 22 processes of real services under load that
//! do not leak, among them redis, memcached, mariadb, postgres and Java, one was called within 42 minutes: a cache that fills
//! evenly for more than 16. Of nine that leak, seven were called, within twenty minutes if they grew evenly, and all that grow
//! by themselves were reported within two. Of 420 quiet servers (redis, memcached, nginx, Python, node) none was called in two
//! hours: 34 process-days.
//!
//! The processor time of a row shows if its load rose while it grew, and is reported with the reasons. It decides nothing: in
//! the recorded services, leaks and filling caches alike grew at loads that changed by -30 to +5 %.
//! `cargo test trend:: -- --nocapture` prints the tables, with `ZMTOP_TEST_LONG=1` for more series.
//!
//! # Limits
//! Indistinguishable from a leak until it ends: a cache that fills evenly for more than a quarter of an hour, a saw-tooth
//! longer than everything before it, and a rise of load steeper than [`Params::day_rate`].
//!
//! Called late: a leak that is small relative to the program's noise, slower than the load of the day, or hidden by an
//! allocator that requests far more than it uses; leaks of runtimes whose heaps grow in ever rarer leaps, such as node; and
//! leaks of Java with G1, which may collect old objects only twice in the first quarter of an hour.
//!
//! Not called: a leak within a heap at its maximum, unless the program publishes its live set, as Java virtual machines do.

mod agreement;
mod daily;
mod finding;
mod fit;
pub mod parameters;
mod plateau;
mod verdict;
mod window;

use std::iter;
use std::time::Duration;

pub use agreement::agree;
use daily::Days;
pub use finding::Mark;
use finding::{Finding, fill, held, held_growth, outer_floors};
use fit::Floors;
pub use parameters::Params;
use parameters::{
    GROWTH_BEFORE_GAP, LEVEL_PACE, LEVEL_SHARE, LONG_GAP, MAX_USUAL_GAP, MAX_WARM_UP_SHARE, MIN_OBSERVED_MS,
    ONSET_SLACK, SAME_PACE, SHORTEST_GAP, WARM_UP,
};
pub use plateau::{Plateau, plateau};
pub use verdict::{Judgement, Metric, Reasons, Standing, Unwatched, Verdict};
use window::Windows;

/// The values of one bucket of a series. The time until the next point is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its start on the monotonic clock.
    pub from: Duration,
    /// The end of the bucket, or of a run of equal buckets.
    pub to: Duration,
    /// In bytes. Verdicts are based on it.
    pub min: u64,
    pub last: u64,
    pub max: u64,
}

impl Point {
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

/// Like [`Duration::as_millis`], without 128-bit arithmetic.
const fn millis(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1000)
        .saturating_add(time.subsec_millis() as u64)
}

/// Judges a series as of the end of its last point.
///
/// Points are in order of time; a gap has no points. They may be coarser the older they are: a sixteenth of their age
/// is fine enough. `started_at` is the start of the program (its exec), which may be before the first point; `None`
/// assumes the first point. `previous` is the previous judgement, or the default: a leak must stand for a while to be
/// called, and stays called until it is over. `marks` are the row's requested memory and work while it grew, as far as
/// they are known.
///
/// Allocates nothing. A series that hardly moved costs one pass over its points.
pub fn judge(
    points: &[Point],
    marks: &[Mark],
    started_at: Option<Duration>,
    params: &Params,
    previous: &Judgement,
) -> Judgement {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Judgement::default();
    };
    if last.end_ms().saturating_sub(first.start_ms()) < MIN_OBSERVED_MS {
        return Judgement {
            floor: last.min,
            ..Judgement::default()
        };
    }
    if let Some(steady) = judge_steady(points, params) {
        return steady;
    }
    let warm = without_warm_up(points, started_at.unwrap_or(first.from));
    let floors = Floors::new(warm);
    let windows = Windows::new(warm, &floors, params);
    let days = iter::once_with(|| Days::new(points)?.leak(params)).flatten();
    let mut fills = None;
    let leak = windows.leaks().chain(days).find(|leak| {
        let fill = fill(marks, leak, last.to);
        fills = fills.or(fill);
        fill.is_none()
    });
    let mut standing = Standing::after(previous, leak.as_ref(), last.to);
    let was_leak = previous.verdict == Verdict::Leaking;
    let lasting = leak
        .as_ref()
        .filter(|leak| leak.outlasted_a_day())
        .map(Finding::as_growth);
    let mut finding = if let Some(leak) = leak.filter(|_| standing.score >= 1.0) {
        if !was_leak {
            standing.base = last.min as f64 - leak.growth;
        }
        leak
    } else if let Some(leak) = held(points, previous) {
        leak
    } else {
        if was_leak {
            standing.score = 0.0;
        }
        // Growth for longer than a day is not a warm-up, whatever its last hour looks like.
        let movement = windows.movement();
        let movement = match movement.verdict {
            Verdict::Warming => lasting
                .or_else(|| windows.grows_for_longer(&movement))
                .unwrap_or(movement),
            Verdict::Steady | Verdict::Unknown => held_growth(points, previous, params).unwrap_or(movement),
            _ => movement,
        };
        let is_growth = movement.verdict.is_growth();
        Finding {
            verdict: if is_growth {
                standing.growing_or_warming(previous, movement.verdict)
            } else {
                movement.verdict
            },
            reasons: fills.filter(|_| is_growth),
            ..movement
        }
    };
    let is_leak = finding.verdict == Verdict::Leaking;
    let flat_since = flat_since(points, &finding);
    if flat_since.is_some() {
        finding.slope = 0.0;
        if !is_leak {
            finding.verdict = Verdict::Steady;
            finding.reasons = None;
        }
    }
    let since = finding.verdict.is_growth().then(|| {
        match previous.since {
            Some(since) if was_leak && is_leak => since,
            // The estimate varies, and becomes later as the window moves on. While growth lasts, its start stays, until a leak is
            // called by the whole evidence.
            Some(since) if previous.verdict.is_growth() && !is_leak => {
                let onset = onset(points, &finding);
                let is_earlier = onset < since && !is_level(points, onset, since, finding.slope);
                if is_earlier { onset } else { since }
            }
            _ => onset(points, &finding),
        }
    });
    let (gap_until, unwatched) = since.map_or((None, None), |since| gaps(points, since, &finding));
    Judgement {
        verdict: finding.verdict,
        metric: Metric::Footprint,
        slope: finding.slope,
        flat_since: flat_since.filter(|_| is_leak),
        confidence: finding.confidence,
        since,
        gap_until,
        unwatched,
        floor: last.min,
        reasons: finding.reasons,
        standing,
    }
}

/// Returns the time since when the series is flat; `None` if it moves, or if it paused for as long before, as growth in
/// stairs does.
fn flat_since(points: &[Point], finding: &Finding) -> Option<Duration> {
    let length = Duration::from_secs_f64(finding.length);
    let plateau = plateau(points.iter().rev().copied(), finding.slope, length)?;
    let from = points.last()?.to.saturating_sub(length);
    (!plateau.is_between_stairs(points, from)).then_some(plateau.since)
}

/// Returns the points after the warm-up, which would make all later growth seem to level off. Keeps all points of a
/// program that may still be warming up: its growth is reported, but it is not called a leak.
fn without_warm_up(points: &[Point], started_at: Duration) -> &[Point] {
    let age = points
        .last()
        .map_or(Duration::ZERO, |last| last.to.saturating_sub(started_at));
    if age < WARM_UP {
        return points;
    }
    let warm_at = started_at + (age / MAX_WARM_UP_SHARE).min(WARM_UP);
    &points[points.partition_point(|point| point.to < warm_at)..]
}

/// Minimum observed time for any verdict.
pub const MIN_OBSERVED: Duration = Duration::from_millis(MIN_OBSERVED_MS);

/// Minimum observed time for a leak, rounded up to minutes: most of the shortest window, and the seventh of it that the
/// leak must stand for.
pub const MIN_LEAK_OBSERVED: Duration = Duration::from_secs(960);

/// Returns the judgement of a series that hardly moved.
fn judge_steady(points: &[Point], params: &Params) -> Option<Judgement> {
    let last = points.last()?;
    let (mut low, mut high) = (u64::MAX, 0);
    for point in points {
        low = low.min(point.min);
        high = high.max(point.min);
    }
    (high - low < params.least_bytes).then(|| Judgement {
        verdict: Verdict::Steady,
        floor: last.min,
        ..Judgement::default()
    })
}

/// Finds the gaps in growth since then. Returns the end of the last one in which the growth may have begun, and those after it.
///
/// If the growth continued over a long gap at the same rate, the gap is not its beginning: the series continues its line.
fn gaps(points: &[Point], since: Duration, finding: &Finding) -> (Option<Duration>, Option<Unwatched>) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return (None, None);
    };
    let usual = last.to.saturating_sub(first.from) / points.len() as u32 * MAX_USUAL_GAP;
    let long = last.to.saturating_sub(since) / LONG_GAP;
    let start = points.partition_point(|point| point.to < since);
    let points = &points[start..];
    let (mut cut, mut unwatched) = (None, None::<Unwatched>);
    for (at, pair) in points.windows(2).enumerate() {
        let (from, to) = (pair[0].to, pair[1].from);
        let gap = to.saturating_sub(from);
        if gap <= SHORTEST_GAP.max(usual) {
            continue;
        }
        // Right after a long gap, the growth before it is all that was seen.
        let is_seen = last.to.saturating_sub(to) >= SHORTEST_GAP;
        let is_long = gap >= long && is_seen;
        if from <= since || is_long && !continues(points.split_at(at + 1), finding) {
            (cut, unwatched) = (Some(to), None);
        } else {
            let total = unwatched.map_or(gap, |earlier| earlier.total + gap);
            unwatched = Some(Unwatched { from, to, total });
        }
    }
    (cut, unwatched)
}

/// Returns true if the growth before a gap has the rate of the finding, and continues to the value after the gap.
fn continues((before, after): (&[Point], &[Point]), finding: &Finding) -> bool {
    let (Some(first), Some(last), Some(next)) = (before.first(), before.last(), after.first()) else {
        return false;
    };
    let length = last.to.saturating_sub(first.from);
    if length < GROWTH_BEFORE_GAP {
        return false;
    }
    // Of the first and the last quarter.
    let (early, late) = (first.from + length / 4, first.from + length * 3 / 4);
    let lowest = |points: &[Point]| points.iter().map(|point| point.min).min().map_or(0.0, |min| min as f64);
    let begin = lowest(&before[..before.partition_point(|point| point.from <= early)]);
    let end = lowest(&before[before.partition_point(|point| point.to < late)..]);
    let pace = (end - begin) / (0.75 * length.as_secs_f64());
    let soon = after.partition_point(|point| point.from <= next.from + SHORTEST_GAP);
    let jump = lowest(&after[..soon]) - begin;
    let expected = pace * next.from.saturating_sub(first.from).as_secs_f64();
    let in_gap = pace * next.from.saturating_sub(last.to).as_secs_f64();
    let noise = (in_gap / 2.0).max(finding.growth * ONSET_SLACK);
    pace >= finding.slope * SAME_PACE && (jump - expected).abs() <= noise
}

/// Returns when growth began: the last time that the series was as low as at the start of the finding, followed back as
/// long as the series gets lower.
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
    // Exclude a long level stretch before the rise.
    let since = points[at..]
        .iter()
        .rev()
        .find(|p| p.min <= low.saturating_add(slack))
        .map_or(from, |p| p.to.max(p.from));
    after_level(points, since, finding)
}

/// Moves the start of growth past a step and the long level stretch after it. Noise needs a slack that may hide the step. The growth
/// then begins where its line meets the value before the step.
fn after_level(points: &[Point], since: Duration, finding: &Finding) -> Duration {
    let point_at = |time| points.get(points.partition_point(|point| point.to < time));
    let (Some(first), Some(last)) = (point_at(since), points.last().filter(|_| finding.slope > 0.0)) else {
        return since;
    };
    let all = last.to.saturating_sub(since).as_secs_f64();
    let stretch = all - last.min.saturating_sub(first.min) as f64 / finding.slope;
    if stretch < all * LEVEL_SHARE {
        return since;
    }
    let begin = since + Duration::from_secs_f64(stretch);
    // Not in a gap.
    let begin = point_at(begin).map_or(begin, |point| begin.max(point.from));
    if is_level(points, since, begin, finding.slope) {
        begin
    } else {
        since
    }
}

/// Returns true if the floors of a stretch of time hardly rose, without its ends: a step and the growth after it.
fn is_level(points: &[Point], from: Duration, to: Duration, slope: f64) -> bool {
    let length = to.saturating_sub(from);
    let end = points.partition_point(|point| point.from <= from + length * 7 / 8);
    let look = length * 3 / 8;
    // The floors of the outer quarters are three quarters apart.
    outer_floors(&points[..end], look)
        .is_some_and(|(first, last)| last - first < slope * look.as_secs_f64() * 0.75 * LEVEL_PACE)
}
