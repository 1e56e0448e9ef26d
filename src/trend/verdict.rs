//! The result of judging a series.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::trend::parameters::EVEN_LOAD;
use crate::units::{self, Units};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub enum Verdict {
    /// Too little was observed.
    #[default]
    Unknown,
    Shrinking,
    /// It neither grows nor falls beyond its noise.
    Steady,
    /// It grows, and slows down.
    Warming,
    /// It grows by memory that the program freed, and that its allocator or runtime keeps.
    Hoarding,
    /// It grows. Whether it will continue is not established.
    Growing,
    /// Growth that lasted longer than a fill, a warm-up or a load can explain.
    Leaking,
}

impl Verdict {
    /// Every verdict, from the least to the most alarming.
    pub const ALL: [Self; 7] = [
        Self::Unknown,
        Self::Shrinking,
        Self::Steady,
        Self::Warming,
        Self::Hoarding,
        Self::Growing,
        Self::Leaking,
    ];

    /// Returns the number that stands for it in metrics and comparisons: higher is more alarming; `None` if unknown.
    pub const fn rank(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Shrinking => Some(1.0),
            Self::Steady => Some(2.0),
            Self::Warming => Some(3.0),
            // It came later than its neighbours, whose numbers stay.
            Self::Hoarding => Some(3.5),
            Self::Growing => Some(4.0),
            Self::Leaking => Some(5.0),
        }
    }

    /// The inverse of [`Self::rank`].
    pub fn from_rank(rank: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.rank() == Some(rank))
    }

    /// Returns the verdict of that name, or whose name alone begins so: `leak`. Ignores case.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        // No two names begin with the same three letters.
        let is_enough = text.len() >= 3;
        let mut all = Self::ALL.into_iter();
        all.find(|verdict| *verdict != Self::Unknown && is_enough && verdict.id().starts_with(&text))
    }

    /// Returns its name in lower case.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Shrinking => "shrinking",
            Self::Steady => "steady",
            Self::Warming => "warming",
            Self::Hoarding => "hoarding",
            Self::Growing => "growing",
            Self::Leaking => "leaking",
        }
    }

    pub const fn is_growth(self) -> bool {
        matches!(self, Self::Warming | Self::Hoarding | Self::Growing | Self::Leaking)
    }
}

/// The figure that was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum Metric {
    /// PSS + `SwapPss`, if the kernel does not report the kinds of it.
    #[default]
    Footprint,
    /// The footprint without pages of files: anonymous, shared and swapped memory.
    Held,
    /// The pages of files in the footprint. The kernel may reclaim them at any time, so their growth is never a leak.
    File,
    /// For a Java virtual machine: what collections leave of its heap, by its own counters, and its memory beyond the
    /// heap.
    LiveSet,
    /// The heap of a Java virtual machine, which grows while its live set does not, as far as is known.
    Heap,
    /// The held memory without what `malloc` keeps free inside its heap.
    InUse,
    /// The memory that `malloc` keeps free inside its heap, which grows while the memory in use does not.
    Free,
    /// Resident anonymous pages and `VmSwap`, of a process whose memory may not be read. Shared pages count in full.
    Rss,
    /// Memory held through descriptors, which is in no PSS.
    Descriptors,
    /// The lazily freed memory in the footprint (`MADV_FREE`). The kernel may reclaim it at any time, so its growth is
    /// never a leak.
    Lazy,
    /// The number of the processes of a program or a family. The slope is in processes a second.
    Processes,
}

impl Metric {
    pub const ALL: [Self; 11] = [
        Self::Footprint,
        Self::Held,
        Self::File,
        Self::LiveSet,
        Self::Heap,
        Self::InUse,
        Self::Free,
        Self::Rss,
        Self::Descriptors,
        Self::Lazy,
        Self::Processes,
    ];

    /// Returns true if the kernel can reclaim it at any time.
    pub const fn is_reclaimable(self) -> bool {
        matches!(self, Self::File | Self::Lazy)
    }

    /// Returns its name in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Footprint => "footprint",
            Self::Held => "held",
            Self::File => "file",
            Self::LiveSet => "live-set",
            Self::Heap => "heap",
            Self::InUse => "in-use",
            Self::Free => "kept-free",
            Self::Rss => "rss",
            Self::Descriptors => "descriptors",
            Self::Lazy => "lazily-freed",
            Self::Processes => "processes",
        }
    }
}

/// The evidence carried from one judgement of a series to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Standing {
    /// The time of the last judgement, on the monotonic clock.
    pub at: Duration,
    /// The share of the time that a leak must stand for: 1 if it is called.
    pub score: f32,
    /// The share of the time that growth must level off for: the verdict becomes warming at 1, and growing again at 0.
    pub levelling: f32,
    /// The floor at the start of the called growth, in bytes.
    pub base: f64,
}

/// The reasons why growth is called a leak, or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum Reasons {
    /// It grew from part to part of a window.
    Window {
        /// The length of the window.
        seconds: f64,
        parts: u8,
        /// The number of parts that ended higher than the one before.
        grew: u8,
        /// The largest fall, as a share of the growth.
        gave_back: f64,
        /// The rise of its load meanwhile, as a share; `None` if unknown.
        load: Option<f64>,
    },
    /// Its hours are above the same hours of the day before.
    Days {
        /// The number of days compared with the one before.
        days: u8,
        /// The number of hours known both on the last day and on the day before.
        hours: u8,
        /// The number of those that are higher.
        risen: u8,
    },
    /// Not a leak so far: it fills memory that was requested before.
    Fill {
        /// The time over which that is known.
        seconds: f64,
        /// The growth in bytes in that time.
        growth: u64,
        /// The bytes requested or released meanwhile.
        requested: u64,
    },
}

impl Reasons {
    pub(super) fn of_window(floors: &[f64], seconds: f64) -> Self {
        let grew = floors.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let (mut highest, mut gave_back) = (f64::MIN, 0.0_f64);
        for floor in floors {
            highest = highest.max(*floor);
            gave_back = gave_back.max(highest - floor);
        }
        let growth = floors
            .last()
            .zip(floors.first())
            .map_or(0.0, |(last, first)| last - first);
        Self::Window {
            seconds,
            parts: floors.len().saturating_sub(1) as u8,
            grew: grew as u8,
            gave_back: gave_back / growth.max(1.0),
            load: None,
        }
    }

    /// Adds the rise of the load.
    #[must_use]
    pub fn at_load(mut self, rise: Option<f64>) -> Self {
        if let Self::Window { load, .. } = &mut self {
            *load = rise;
        }
        self
    }

    /// Returns the reasons as text, the most important first.
    pub fn texts(&self) -> Vec<String> {
        match *self {
            Self::Window {
                seconds,
                parts,
                grew,
                gave_back,
                load,
            } => {
                let long = units::span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                let back = match (gave_back * 100.0).round() {
                    0.0 => "freed nothing".into(),
                    percent => format!("freed at most {percent:.0}% of it"),
                };
                let load = load.map(|rise| match (rise * 100.0).round() {
                    _ if rise.abs() <= EVEN_LOAD => "with no more work than before".into(),
                    percent if percent > 0.0 => format!("while its work rose by {percent:.0}%"),
                    percent => format!("while its work fell by {:.0}%", -percent),
                });
                let grew = if grew == parts {
                    format!("grew throughout the {long} judged")
                } else {
                    format!("grew in {grew} of {parts} parts of the {long} judged")
                };
                [Some(grew), Some(back), load].into_iter().flatten().collect()
            }
            Self::Days { days, hours, risen } => {
                let risen = format!("{risen} of {hours} hours were above the same hour of the day before");
                let days = (days > 1).then(|| format!("{days} days running"));
                [risen].into_iter().chain(days).collect()
            }
            Self::Fill {
                seconds,
                growth,
                requested,
            } => {
                let long = units::span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                let [growth, requested] = [growth, requested].map(|bytes| units::bytes(bytes, Units::default()));
                let fills = "not a leak so far: it fills memory that it requested earlier".into();
                vec![
                    fills,
                    format!("in {long} it grew by {growth} and requested {requested}"),
                ]
            }
        }
    }
}

/// Times within growth in which zmtop did not watch, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Unwatched {
    /// The bounds of the last one.
    pub from: Duration,
    pub to: Duration,
    /// The sum of all.
    pub total: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The figure that was judged.
    pub metric: Metric,
    /// Slope of the floor in bytes per second; 0 if it is steady, unknown, or flat by now.
    pub slope: f64,
    /// The time since when a leak is flat, on the monotonic clock, as a leak in stairs is between them; else `None`.
    pub flat_since: Option<Duration>,
    /// Confidence that the floor keeps rising, 0 to 1: 0.9 if the evidence just suffices, 0.99 with twice as much, at
    /// most 0.999. Below [`Params::confidence`](super::Params::confidence) nothing is called a leak. Of leaks called
    /// with at least 0.9, nine in ten are leaks.
    pub confidence: f64,
    /// Start of the growth on the monotonic clock; `None` if it does not grow. The time of the first point if it began
    /// earlier. While growth lasts, it only becomes earlier; the call of a leak sets it again, for good.
    pub since: Option<Duration>,
    /// The end of the last long gap before which it did not grow, or not by the same pace: nobody saw when it began.
    pub gap_until: Option<Duration>,
    /// The gaps in the growth since it was first seen, over which it went on by the same pace.
    pub unwatched: Option<Unwatched>,
    /// Lowest footprint of the newest point, in bytes; 0 in a history if the series never changed.
    pub floor: u64,
    /// Present for a leak, or for lasting growth that is not a leak yet.
    pub reasons: Option<Reasons>,
    pub standing: Standing,
}

impl Judgement {
    pub const NONE: Self = Self {
        verdict: Verdict::Unknown,
        metric: Metric::Footprint,
        slope: 0.0,
        flat_since: None,
        confidence: 0.0,
        since: None,
        gap_until: None,
        unwatched: None,
        floor: 0,
        reasons: None,
        standing: Standing {
            at: Duration::ZERO,
            score: 0.0,
            levelling: 0.0,
            base: 0.0,
        },
    };

    /// Returns the growth of the whole footprint if it is much faster than the growth of the held part, which `self` judges:
    /// pages of files, lazily freed memory or a heap (`metric`) then grow.
    #[must_use]
    pub fn or_growth_beside(self, whole: &Self, metric: Metric) -> Self {
        if !whole.verdict.is_growth() || whole.slope <= 2.0 * self.slope.max(0.0) {
            return self;
        }
        Self {
            verdict: whole.verdict.min(Verdict::Growing),
            metric,
            confidence: 0.0,
            reasons: None,
            standing: self.standing,
            ..*whole
        }
    }

    /// Returns the judgement if only this share of the growth counts: it is growth at most, and steady if the share is 0.
    #[must_use]
    pub fn of_share(mut self, share: f64) -> Self {
        self.call_growing();
        self.standing.score = 0.0;
        if share > 0.0 {
            self.slope *= share;
            return self;
        }
        Self {
            verdict: Verdict::Steady,
            metric: self.metric,
            floor: self.floor,
            standing: self.standing,
            ..Self::NONE
        }
    }

    /// Returns as text why it is called a leak, the most important first, or why lasting growth is not called one yet;
    /// otherwise nothing.
    pub fn texts(&self) -> Vec<String> {
        let reasons = self.reasons.map_or_else(Vec::new, |reasons| reasons.texts());
        let source = match self.metric {
            _ if reasons.is_empty() => None,
            Metric::LiveSet => Some("by the memory in use after collections, as the JVM counts it"),
            Metric::InUse => Some("by the memory in use: memory that malloc keeps free does not count"),
            Metric::Rss => Some("by RSS and swap, because PSS cannot be read"),
            Metric::Descriptors => Some("by the memory held through its descriptors, which is in no PSS"),
            _ => None,
        };
        let gaps = self
            .unwatched
            .map(|gaps| format!("not watched for {} of that time", units::span(gaps.total)));
        source
            .map(str::to_owned)
            .into_iter()
            .chain(reasons)
            .chain(gaps)
            .collect()
    }

    /// Returns all times in it, in no order.
    pub(crate) fn times(&self) -> impl Iterator<Item = Duration> + use<> {
        let gap = self.unwatched.map(|gaps| gaps.to);
        let times = [self.flat_since, self.since, self.gap_until, gap, Some(self.standing.at)];
        times.into_iter().flatten()
    }

    /// Returns the time since when the growth was seen: its start, or the end of a gap in it.
    pub fn seen_since(&self) -> Option<Duration> {
        self.since.map(|since| since.max(self.gap_until.unwrap_or(since)))
    }

    /// Returns how long the growth was watched by then, without the gaps in it.
    pub fn watched(&self, now: Duration) -> Option<Duration> {
        let unwatched = self.unwatched.map_or(Duration::ZERO, |gaps| gaps.total);
        Some(now.saturating_sub(self.seen_since()?).saturating_sub(unwatched))
    }

    /// Downgrades a leak to growth.
    pub const fn call_growing(&mut self) {
        if matches!(self.verdict, Verdict::Leaking) {
            self.verdict = Verdict::Growing;
            self.confidence = 0.0;
            self.reasons = None;
        }
    }

    /// Returns the confidence in percent, rounded down.
    pub fn percent(&self) -> f64 {
        (self.confidence * 100.0).floor()
    }

    /// Returns the seconds until growth at this pace uses `headroom` bytes; `None` if no limit is known, if it does not
    /// continue, or if it is only pages of files or lazily freed memory, which are reclaimable, or a heap, which has its own
    /// limit.
    pub fn eta(&self, headroom: Option<u64>) -> Option<f64> {
        let grows = self.verdict >= Verdict::Hoarding && self.slope > 0.0;
        let is_counted_down = !self.metric.is_reclaimable() && !matches!(self.metric, Metric::Heap | Metric::Processes);
        Some(headroom? as f64 / self.slope).filter(|_| grows && is_counted_down)
    }
}
