//! The results of judging a series.

use std::time::Duration;

use crate::trend::parameters::EVEN_LOAD;
use crate::units::{self, Units};

/// The behaviour of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Too little was seen to say.
    #[default]
    Unknown,
    /// It falls.
    Shrinking,
    /// It neither grows nor falls beyond its noise.
    Steady,
    /// It grows, and slows down.
    Warming,
    /// It grows: a fact. That it will go on is not established.
    Growing,
    /// It outlasted what a fill, a warm-up or a load can explain.
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

    /// Returns its place in [`Self::ALL`]; `None` where nothing is known.
    pub const fn rank(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            known => Some(known as u8 as f64),
        }
    }

    /// Returns the verdict of that [rank](Self::rank).
    pub fn from_rank(rank: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.rank() == Some(rank))
    }

    /// Returns its name, in small letters.
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

    /// Returns true if it says that the series grows.
    pub const fn is_growth(self) -> bool {
        matches!(self, Self::Warming | Self::Growing | Self::Leaking)
    }
}

/// The figure that was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// PSS + `SwapPss`, where the kernel does not tell the kinds of it.
    #[default]
    Footprint,
    /// The memory in it that is held: anonymous, shared and swapped.
    Held,
    /// The pages of files in it, which the kernel may take back at any time: their growth is never a leak.
    File,
    /// The part of a Java virtual machine's heap that collections left, by its own counters, and all that it holds beside it.
    LiveSet,
    /// The heap of a Java virtual machine, which grows though what is alive in it does not, as far as is known.
    Heap,
    /// Resident anonymous pages and `VmSwap`, of a process whose memory may not be read: what it shares counts whole.
    Rss,
    /// The memory that it holds through its descriptors, which is in nobody's PSS.
    Descriptors,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 7] = [
        Self::Footprint,
        Self::Held,
        Self::File,
        Self::LiveSet,
        Self::Heap,
        Self::Rss,
        Self::Descriptors,
    ];

    /// Returns its name in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Footprint => "footprint",
            Self::Held => "held",
            Self::File => "file",
            Self::LiveSet => "live-set",
            Self::Heap => "heap",
            Self::Rss => "rss",
            Self::Descriptors => "descriptors",
        }
    }
}

/// The standing of a leak, from one judgement of a series to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// When it was judged last, on the monotonic clock.
    pub at: Duration,
    /// The share of the time that a leak must stand for: 1 where it is called.
    pub score: f64,
    /// The floor at the beginning of the growth that was called, in bytes.
    pub base: f64,
}

impl Standing {
    /// The standing of a series that was not judged yet.
    pub(super) const NONE: Self = Self {
        at: Duration::ZERO,
        score: 0.0,
        base: 0.0,
    };
}

/// The reasons to call growth a leak, or not yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reasons {
    /// It grew, part by part, over that time.
    Window {
        /// The time that was looked back over, in seconds.
        seconds: f64,
        /// The number of parts of that time.
        parts: u8,
        /// The number of those that ended higher than the part before.
        grew: u8,
        /// The most that it gave back at once, as a share of what it grew by.
        gave_back: f64,
        /// By how much its load rose meanwhile, as a share; `None` where that is not known.
        load: Option<f64>,
    },
    /// The hours of its days stand above the same hours of the day before.
    Days {
        /// The number of days compared with the one before.
        days: u8,
        /// The hours known of the last day and the one before.
        hours: u8,
        /// The number of those that stand higher.
        risen: u8,
    },
    /// It would be called a leak, but for that it fills memory that was asked for before.
    Fill {
        /// The time over which that is known, in seconds.
        seconds: f64,
        /// The bytes that it grew by in that time.
        growth: u64,
        /// The bytes that were asked for meanwhile, or given back.
        asked: u64,
    },
}

impl Reasons {
    /// Counts how the floors of a window grew.
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

    /// Returns the same with what is known of the load.
    #[must_use]
    pub fn at_load(mut self, rise: Option<f64>) -> Self {
        if let Self::Window { load, .. } = &mut self {
            *load = rise;
        }
        self
    }

    /// Returns them in words, the weightiest first.
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
                    0.0 => "gave nothing back".into(),
                    percent => format!("gave back {percent:.0}% of it at most"),
                };
                let load = load.map(|rise| match (rise * 100.0).round() {
                    _ if rise.abs() <= EVEN_LOAD => "with no more work than before".into(),
                    percent if percent > 0.0 => format!("while its work rose by {percent:.0}%"),
                    percent => format!("while its work fell by {:.0}%", -percent),
                });
                let grew = if grew == parts {
                    format!("grew all through the last {long}")
                } else {
                    format!("grew in {grew} of {parts} parts of the last {long}")
                };
                [Some(grew), Some(back), load].into_iter().flatten().collect()
            }
            Self::Days { days, hours, risen } => {
                let risen = format!("{risen} of {hours} hours stand above the same hour of the day before");
                let days = (days > 1).then(|| format!("{days} days running"));
                [risen].into_iter().chain(days).collect()
            }
            Self::Fill { seconds, growth, asked } => {
                let long = units::span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                let [growth, asked] = [growth, asked].map(|bytes| units::bytes(bytes, Units::default()));
                let fills = "no leak so far: it fills memory that it asked for before".into();
                vec![fills, format!("in {long} it grew by {growth} and asked for {asked}")]
            }
        }
    }
}

/// A verdict, and the figures behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The figure that was judged.
    pub metric: Metric,
    /// Slope of the floor in bytes a second; 0 where it is steady, unknown, or flat by now.
    pub slope: f64,
    /// Since when it has not moved any more, on the monotonic clock; `None` where it moves, or is steady. A leak in
    /// stairs is flat between them.
    pub flat_since: Option<Duration>,
    /// Confidence that the floor rises for good, 0 to 1: 0.9 where the evidence just suffices, 0.99 where there is twice
    /// as much, at most 0.999. Below [`Params::confidence`](super::Params::confidence) nothing is called a leak. Of what
    /// is called with 0.9 at least nine in ten are leaks.
    pub confidence: f64,
    /// Start of the growth on the monotonic clock; `None` where it does not grow. The time of the first point if it
    /// began earlier.
    pub since: Option<Duration>,
    /// Lowest footprint of the newest point, in bytes; a history keeps 0 of a series that never changed.
    pub floor: u64,
    /// The reasons to call it a leak, or growth that has lasted not to be one yet; else `None`.
    pub reasons: Option<Reasons>,
    /// The evidence that the next judgement of the series goes on from.
    pub standing: Standing,
}

impl Default for Judgement {
    fn default() -> Self {
        Self::NONE
    }
}

impl Judgement {
    /// The judgement of a series of which nothing is known.
    pub const NONE: Self = Self {
        verdict: Verdict::Unknown,
        metric: Metric::Footprint,
        slope: 0.0,
        flat_since: None,
        confidence: 0.0,
        since: None,
        floor: 0,
        reasons: None,
        standing: Standing::NONE,
    };

    /// Returns the growth of the whole footprint, if it grows much faster than what is held of it, which this judgement is on:
    /// that of pages of files, or of a heap.
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

    /// Returns in words why it is called a leak, the weightiest first, or why growth that has lasted is not called one yet;
    /// empty for the rest.
    pub fn texts(&self) -> Vec<String> {
        let reasons = self.reasons.map_or_else(Vec::new, |reasons| reasons.texts());
        let source = match self.metric {
            _ if reasons.is_empty() => None,
            Metric::LiveSet => Some("what collections leave, by the counters of the Java machine itself"),
            Metric::Rss => Some("by RSS and swap, as PSS may not be read"),
            Metric::Descriptors => Some("held through its descriptors, which is in no PSS"),
            _ => None,
        };
        source.map(str::to_owned).into_iter().chain(reasons).collect()
    }

    /// Calls growing what was judged as leaking: that it grows is a fact, that it leaks a judgement.
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

    /// Returns the seconds until growth at this pace has taken `headroom` bytes; `None` where no limit is known, or
    /// it does not go on growing at this pace, or only by pages of files, which the kernel takes back, or within a heap,
    /// which has a limit of its own.
    pub fn eta(&self, headroom: Option<u64>) -> Option<f64> {
        let grows =
            self.verdict >= Verdict::Growing && self.slope > 0.0 && !matches!(self.metric, Metric::File | Metric::Heap);
        Some(headroom? as f64 / self.slope).filter(|_| grows)
    }
}
