//! Does it leak? A verdict from a series of footprints.
//!
//! # The method
//! Memory that is collected makes saw-teeth, caches fill and level off, programs warm up, load comes and goes
//! with the day. A leak is what stays: the *floor* of the teeth rises, goes on rising, and does not slow down.
//! So the lowest value in each of sixteen equal spans is taken, for horizons that double from 100 seconds to
//! 38 days; a floor that stands alone gives way to its neighbours (a running median of three). Each horizon is
//! put to these questions:
//!
//! 1. **Does the floor rise, beyond its noise?** A line and a bow are fitted to the floors; the line's slope
//!    must be [`Params::significance`] times its own error, which is widened by the autocorrelation of what
//!    the fit leaves, and more for the two shortest horizons. (The Mann–Kendall test alone takes values for
//!    independent and so calls any slow wander a trend: Machida et al., ISSREW 2013.) The slope that is told is
//!    the median over pairs half the horizon apart (Theil's), which a spike cannot move.
//! 2. **Is it enough to matter?** At least [`Params::least_bytes`] and [`Params::least_share`] of the floor.
//! 3. **Is it more than a few steps?** Without its four largest jumps the floor must still have risen.
//! 4. **Does it go on?** The second half's pace must not be less than [`Params::level_off`] of the first's, here,
//!    in the next shorter horizon and in the longer ones, and the last quarter must have grown.
//! 5. **Did it stand there before?** The floor must have left behind what the series reached over a time seven
//!    times as long: what wanders, or comes back every hour, has been there already. What is met in the middle
//!    of a growth that an old program cannot have had all its life may be the flank of a tooth, and is watched
//!    for longer.
//! 6. **Is it only starting?** A program younger than [`Params::warmup`] may grow by a fifth and more, unless
//!    it does so along a ruler. What it held in its first half minute, while it was loaded, does not count.
//! 7. **Is it the day?** Growth slower than [`Params::day_rate`] is a leak only where it went on for nearly a
//!    day, or where, for two days running, nearly every hour stood above the same hour of the day before
//!    (the idea of the seasonal Kendall test).
//! 8. **Was it there a moment ago?** The same horizon, a little earlier, must have seen it grow.
//!
//! Questions 1 and 2 give a mark each, 1 where the answer just suffices; the lower one is the confidence
//! ([`Judgement::confidence`]). The others say yes or no. The best horizon decides.
//!
//! # How often it is right
//! On a corpus of 19 shapes (8 leak) of 50 series each with the noise of recorded programs, judged as often as a
//! history does it, where one call at any moment counts: precision 0.98, recall 0.99; no false alarm in 200 steady,
//! saw-tooth, warm-up and step series. A third of the shapes was held out of the tuning (precision 0.97, recall
//! 0.99 on those). The tests print the table. The weakest are random walks and caches that fill: of those, some 10
//! and 6 in a hundred are called a leak for a moment.
//!
//! What cannot be told from a leak before it ends: a cache that fills at an even pace, one tooth that takes
//! longer than all that was seen before it, a rise of load that is steeper than [`Params::day_rate`]. What is
//! told late: a leak that is small beside the program's teeth and noise, or slower than the day's load.

mod daily;
mod fit;
mod floors;
mod horizon;

use std::time::Duration;

use daily::Days;
use floors::Floors;
use horizon::Case;

/// What one bucket of a series saw. A point says nothing of the time between it and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Where it begins, on the monotonic clock.
    pub from: Duration,
    /// Where it ends: the end of the bucket, or of the run of buckets over which nothing changed.
    pub to: Duration,
    /// The lowest footprint seen, bytes: verdicts are on this.
    pub min: u64,
    /// The last one seen.
    pub last: u64,
    /// The highest one seen.
    pub max: u64,
}

impl Point {
    /// One value, at one moment.
    pub const fn at(at: Duration, bytes: u64) -> Self {
        Self {
            from: at,
            to: at,
            min: bytes,
            last: bytes,
            max: bytes,
        }
    }

    const fn begin(&self) -> u64 {
        millis(self.from)
    }

    const fn end(&self) -> u64 {
        millis(self.to)
    }
}

/// Milliseconds of a time on the clock: half a billion years of them fit.
const fn millis(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1000)
        .saturating_add(time.subsec_millis() as u64)
}

/// What a series does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Too little was seen to say.
    #[default]
    Unknown,
    /// It falls.
    Shrinking,
    /// It goes nowhere, whatever its noise.
    Steady,
    /// It grows, but slows down, or has only just started.
    Warming,
    /// It grows; whether for good is not established.
    Growing,
    /// Its floor rises and goes on rising.
    Leaking,
}

impl Verdict {
    /// Every verdict, from the least to the most alarming.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Shrinking,
        Self::Steady,
        Self::Warming,
        Self::Growing,
        Self::Leaking,
    ];

    /// Its place in [`Self::ALL`], from 1 for the least alarming one that says something; `None` where nothing
    /// is known.
    pub const fn rank(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            known => Some(known as u8 as f64),
        }
    }

    /// The verdict of that [rank](Self::rank).
    pub fn from_rank(rank: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.rank() == Some(rank))
    }

    /// Its name, in small letters.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Shrinking => "shrinking",
            Self::Steady => "steady",
            Self::Warming => "warming",
            Self::Growing => "growing",
            Self::Leaking => "leaking",
        }
    }
}

/// What was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// PSS and `SwapPss`.
    #[default]
    Footprint,
    /// What of that is anonymous, and so nobody else's: `Pss_Anon` and `SwapPss`. What others share in rises and
    /// falls as they end and start, which may hide what a process gathers for itself.
    Anonymous,
}

impl Metric {
    /// Its name in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Footprint => "footprint",
            Self::Anonymous => "anonymous",
        }
    }
}

/// A verdict, and what it rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What it is on.
    pub metric: Metric,
    /// How fast the floor moves, bytes a second; 0 where it is steady or unknown.
    pub slope: f64,
    /// How sure it is that the floor rises for good, 0 to 1: a score, not a probability: 0.9 where the
    /// evidence just suffices, 0.99 where there is twice as much, never above 0.999. Below
    /// [`Params::confidence`] nothing is called a leak.
    pub confidence: f64,
    /// When the growth began, on the monotonic clock; `None` where it does not grow. Where it began before
    /// anything was seen, the time of the first point.
    pub since: Option<Duration>,
    /// The lowest footprint of the newest point, bytes.
    pub floor: u64,
}

impl Judgement {
    /// The confidence in percent, as it is shown: never rounded up to what it is not.
    pub fn percent(&self) -> f64 {
        (self.confidence * 100.0).floor()
    }

    /// This judgement after another of the same series a little earlier: what was established to leak leaks for
    /// as long as it grows, though there is not always as much to prove it.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        if before.verdict == Verdict::Leaking && self.verdict == Verdict::Growing {
            self.verdict = Verdict::Leaking;
            self.confidence = self.confidence.max(before.confidence);
            self.since = before.since.or(self.since);
        }
        self
    }
}

/// What it takes to be called a leak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// From which confidence on a growth is called a leak, 0 to 1. Higher is later and surer.
    pub confidence: f64,
    /// The least growth of the floor, in bytes, that is worth a word: below it nothing grows. 1 MiB: allocators
    /// take and return memory by the megabyte.
    pub least_bytes: u64,
    /// The least growth of the floor as a share of it. 0.025: a wander of a percent or two is what large
    /// processes do.
    pub least_share: f64,
    /// How many times its own error the floor's slope must be. 8: a random walk often has 4, and every series is
    /// judged thousands of times.
    pub significance: f64,
    /// The pace below which growth is said to level off, as a share of the pace before. 0.85: an even growth
    /// has 1, one that began as the square root of time 0.45.
    pub level_off: f64,
    /// How long a program may load and multiply after its start. 10 min.
    pub warmup: Duration,
    /// The growth, as a share of the floor per hour, below which it may be the load of the day, and is called
    /// a leak only once it outlasted the day. 0.10: load that doubles within six hours has 0.11.
    pub day_rate: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            confidence: 0.9,
            least_bytes: 1 << 20,
            least_share: 0.025,
            significance: 8.0,
            level_off: 0.85,
            warmup: Duration::from_secs(600),
            day_rate: 0.10,
        }
    }
}

/// The verdict on a series, as seen at the end of its last point.
///
/// Points are in order of time; a gap is no point. Their spacing may vary, finer for what is near: a span of
/// a sixteenth of their age, or less, is enough. `born` is when the program started (its exec), which may be
/// before anything was seen of it; `None` takes it to have started with the first point.
///
/// Nothing is allocated. A series that hardly moved is done after one pass over its points.
pub fn judge(points: &[Point], born: Option<Duration>, params: &Params) -> Judgement {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Judgement::default();
    };
    if let Some(steady) = steady(points, params) {
        return steady;
    }
    let born = born.unwrap_or(first.from);
    let points = loaded(points, born);
    let age = |at: Duration| at.saturating_sub(born).as_secs_f64();
    let floors = Floors::new(points);
    let mut found = Case::new(&floors, age(last.to), params).verdict();
    if found.verdict == Verdict::Leaking {
        // One look may see a line in anything: a little earlier it must have been there too.
        let ago = if found.reach < params.warmup.as_secs_f64() {
            AGO_SOON
        } else {
            AGO
        };
        let until = last.to.saturating_sub(Duration::from_secs_f64(found.reach * ago));
        let floors = Floors::new(&points[..points.partition_point(|point| point.to <= until)]);
        if !Case::new(&floors, age(until), params).grows(found.horizon) {
            found.verdict = Verdict::Growing;
            found.confidence = found.confidence.min(horizon::UNSURE);
        }
    }
    let days = Days::of(points).and_then(|days| days.leak(params));
    let found = match days {
        Some(days) if days.confidence > found.confidence => days,
        _ => found,
    };
    let since = matches!(found.verdict, Verdict::Warming | Verdict::Growing | Verdict::Leaking)
        .then(|| since(points, found.reach, found.growth));
    Judgement {
        verdict: found.verdict,
        metric: Metric::Footprint,
        slope: found.slope,
        confidence: found.confidence,
        since,
        floor: last.min,
    }
}

/// How much earlier it is looked at again, as a share of how far back it looked: of a long horizon, and of a
/// short one, where there is no time to lose.
const AGO: f64 = 0.2;
const AGO_SOON: f64 = 0.06;

/// The points without those of a program that is only being loaded: as many of its first seconds as are a
/// sixteenth of its age, half a minute of it at the most. What it held before it was whole would make all that
/// came later look as if it slowed down.
fn loaded(points: &[Point], born: Duration) -> &[Point] {
    let until = points.last().map_or(Duration::ZERO, |last| last.to);
    let start = born + (until.saturating_sub(born) / 16).min(LOADING);
    let from = points.partition_point(|point| point.from < start);
    // Where hardly anything would be left all of it counts.
    if from + 8 < points.len() {
        &points[from..]
    } else {
        points
    }
}

/// How long a program may take until it is whole.
const LOADING: Duration = Duration::from_secs(30);

/// The verdict where nothing moved enough to be worth a word.
fn steady(points: &[Point], params: &Params) -> Option<Judgement> {
    let (first, last) = (points.first()?, points.last()?);
    if millis(last.to) - millis(first.from).min(millis(last.to)) < horizon::SOONEST {
        return None;
    }
    let (mut low, mut high) = (u64::MAX, 0);
    for point in points {
        low = low.min(point.min);
        high = high.max(point.min);
    }
    // Half of what matters, as growing begins there.
    let moves = horizon::least(low as f64, params) / 2.0;
    (((high - low) as f64) < moves).then(|| Judgement {
        verdict: Verdict::Steady,
        floor: last.min,
        ..Judgement::default()
    })
}

/// When a growth over the last `reach` seconds began: the last time that the series stood as low as it did
/// before, going back from there for as long as it only gets lower.
fn since(points: &[Point], reach: f64, growth: f64) -> Duration {
    let last = points.last().map_or(Duration::ZERO, |p| p.to);
    let from = last.saturating_sub(Duration::from_secs_f64(reach));
    let within = points.partition_point(|p| p.to < from);
    let slack = (growth / 16.0) as u64;
    let mut low = points[within..].iter().take(3).map(|p| p.min).min().unwrap_or(0);
    let mut at = within;
    for (i, point) in points[..within].iter().enumerate().rev() {
        if point.min > low.saturating_add(slack) {
            break;
        }
        if point.min < low {
            low = point.min;
        }
        at = i;
    }
    // A long level before the rise is not part of it.
    points[at..]
        .iter()
        .rev()
        .find(|p| p.min <= low.saturating_add(slack))
        .map_or(from, |p| p.to.max(p.from))
}

/// Seconds until growth at this pace has taken so many bytes more; `None` where nothing bounds it, or it does
/// not go on growing.
pub fn eta(judgement: &Judgement, room: Option<u64>) -> Option<f64> {
    let grows = matches!(judgement.verdict, Verdict::Growing | Verdict::Leaking) && judgement.slope > 0.0;
    Some(room? as f64 / judgement.slope).filter(|_| grows)
}
