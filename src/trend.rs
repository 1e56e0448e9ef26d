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
//! 80 seconds to 30 days. A running median of three smooths them. The newest twelve and sixteen floors of each make
//! *windows*, from a minute up. The shortest decides in which each quarter stands above the one before, by two fifths of its
//! share at least, a line fits beyond its noise, and the level is new: above what the series reached over seven times as
//! long before. So a step, a spike or the teeth of a collector are no growth. It is *warming* where it levels off, here or in
//! longer windows: growth all the same, but no time to a limit follows from it. The slope that is reported is Theil's, the
//! median over pairs half the window apart, which a spike cannot move. What no longer moves does not grow: where the last
//! minute and a half are flat, and what grew never rested for as long before, there is no pace ([`plateau`](fn@plateau)).
//!
//! # Leaks
//! A leak is growth in a window of 16 minutes and more that
//!
//! 1. **does not level off**, nor do the longer windows around it: a cache that fills does. The first eighth of a program's
//!    life, up to ten minutes, is left out, as programs warm up;
//! 2. **is faster than the load of a day**, and than an idle runtime that leaves its garbage, or longer;
//! 3. **asks for memory** as it takes it. What fills what it asked for before, as a buffer pool, the memory of a virtual
//!    machine, or a heap that was larger once, stops when that is used up.
//!
//! For what is slower, each hour of a day is compared with the same hour of the days before (the idea of the seasonal Kendall
//! test): nearly all of them stand higher than on any of those, two days running, or for one day over which the distance
//! grew bit by bit, as that of a step does not. What is said to grow by such days, or by a window of a day and more, is no
//! *warming*, whatever its last hour looks like.
//!
//! Where teeth are longer than a span, its floors are not those of the teeth. So the lowest of three floors in a row is judged
//! too, where the floors fall again and again.
//!
//! A single look may see a line in anything, and a series is looked at thousands of times. So looks that see a leak add up,
//! by the time they stand for, and others take down again what they added: a leak is called when it has stood for about a
//! seventh of its window. This alone takes false calls from 41 of 360 harmless series to one. It stays called while
//! its floor still rises within half of the time since it began; its pace is that over this time, also between stairs.
//!
//! All numbers stand in [one table](parameters::TABLE), each with what it guards against and what shows it.
//!
//! # Accuracy
//! Measured as it runs: series as a monitor would have seen them (readings that are held, gaps), taken into a history,
//! judged at its pace, where one call at any moment counts. On seeds, shapes and machines that it was not tuned to:
//!
//! | | precision, recall | calls dropped |
//! |---|---|---|
//! | 34 shapes of four hours, 20 series each | 0.99, 0.97 | 21 of 310 |
//! | 19 shapes of minutes to days, 30 series each | 0.97, 0.99 | 51 of 238 |
//!
//! In 200 MB with the noise of recorded programs, 10 MB a minute are said to grow after one minute, at most two; 3 MB a
//! minute are called a leak after 15 to 22 minutes, beside a heap that goes up and down by 3 % after 22 to 36.
//!
//! No shape is below 0.8: weakest are leaks on teeth of an hour. Of leaks of 1 % an hour planted in 27 real machines, 88 in
//! 100 were called after two days and all after five. Of leaks of 50 to 400 kB a second in machines of 27 GB that begin a day
//! after zmtop does, 58 in 100 were called after one day of leaking, 94 after two, all after three; on 19 machines that it was
//! not tuned to 54, 92 and all. Of looks at the machines as they are 2.7 in 1000 were wrong on those it was tuned to, most of
//! them on one whose memory rose by half in 30 hours, and 0.9 on the others. Of 22 processes of real services under load that do not leak,
//! among them redis, memcached, mariadb, postgres and Java, one was called within 42 minutes: a cache that fills evenly for
//! more than 16. Of nine that leak seven were called, within twenty minutes where they grew evenly, and all that grow by
//! themselves were said to within two. Of 420 quiet servers (redis, memcached, nginx, Python, node) none was called in two
//! hours: 34 process-days.
//!
//! The processor time of a row tells if its load rose while it grew, and is told with the reasons. It decides nothing: in
//! the recorded services leaks and filling caches alike grew at a load that changed by -30 to +5 %.
//! `cargo test trend:: -- --nocapture` prints the tables, with `ZMTOP_TEST_LONG=1` those of more series.
//!
//! # Limits
//! Not to be told from a leak before it ends: a cache that fills at an even pace for more than a quarter of an hour, one
//! tooth that takes longer than all that was seen before it, a rise of load steeper than [`Params::day_rate`]. Told late: a
//! leak that is small beside the program's own noise, or slower than the load of the day, or of a program whose allocator
//! asks for far more than it uses, when that is used up. Told late too: leaks of runtimes whose heaps grow by leaps that get
//! rarer, as those of node do, and of Java with G1, which may collect old objects but twice in the first quarter of an hour.
//! Not told: a leak within a heap that has reached its maximum, where the program does not say itself what is alive in it, as
//! Java virtual machines do.

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

pub use agreement::{Agreement, HostVerdict, agree};
use daily::Days;
pub use finding::Mark;
use finding::{Finding, fill, held};
use fit::Floors;
pub use parameters::Params;
use parameters::{MAX_WARM_UP_SHARE, MIN_OBSERVED_MS, ONSET_SLACK, WARM_UP};
pub use plateau::{Plateau, plateau};
pub use verdict::{Judgement, Metric, Reasons, Standing, Verdict};
use window::Look;

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
/// stand for a while to be called, and stays called until it is over. `marks` tell what the row did besides while it grew, as
/// far as that is known.
///
/// Nothing is allocated. A series that hardly moved costs one pass over its points.
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
    let floors = Floors::new(without_warm_up(points, started_at.unwrap_or(first.from)));
    let look = Look::new(&floors, params);
    let days = iter::once_with(|| Days::new(points)?.leak(params)).flatten();
    let mut fills = None;
    let leak = look.leaks().chain(days).find(|leak| {
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
    let mut finding = if let Some(leak) = leak.filter(|_| standing.is_proven()) {
        if !was_leak {
            standing.call(last.min as f64 - leak.growth);
        }
        leak
    } else if let Some(leak) = held(points, previous) {
        leak
    } else {
        if was_leak {
            standing.clear();
        }
        // What grew for longer than a day does not warm up, whatever its last hour looks like.
        let movement = match (look.movement(), lasting) {
            (movement, Some(lasting)) if movement.verdict == Verdict::Warming => lasting,
            (movement, _) => movement,
        };
        Finding {
            reasons: fills.filter(|_| movement.verdict.is_growth()),
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
    Judgement {
        verdict: finding.verdict,
        metric: Metric::Footprint,
        slope: finding.slope,
        flat_since: flat_since.filter(|_| is_leak),
        confidence: finding.confidence,
        since: previous
            .since
            .filter(|_| was_leak && is_leak)
            .or_else(|| finding.verdict.is_growth().then(|| onset(points, &finding))),
        floor: last.min,
        reasons: finding.reasons,
        standing,
    }
}

/// Returns since when the series does not move any more; `None` where it moves, or rested for as long before, as growth in
/// stairs does between them.
fn flat_since(points: &[Point], finding: &Finding) -> Option<Duration> {
    let length = Duration::from_secs_f64(finding.length);
    let plateau = plateau(points.iter().rev().copied(), finding.slope, length)?;
    let from = points.last()?.to.saturating_sub(length);
    (!plateau.is_between_stairs(points, from)).then_some(plateau.since)
}

/// Returns the points without those of a program that was still warming up: that start would make all later growth look as
/// if it levelled off. Of a program that may still do so nothing is left out: that it grows is told, and no more.
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

/// Observed time before any verdict.
pub const MIN_OBSERVED: Duration = Duration::from_millis(MIN_OBSERVED_MS);

/// Observed time before anything is called a leak, rounded up to minutes: most of the shortest window, and a seventh of it
/// that the leak must stand for.
pub const MIN_LEAK_OBSERVED: Duration = Duration::from_secs(960);

/// Returns the verdict of a series in which nothing moved enough to matter.
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
