//! The results of judging a series.

use std::time::Duration;

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
    /// It grows, but slows down, or has only just started.
    Warming,
    /// It grows; that it will go on is not established.
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

    /// Returns true if it says that the series grows and does not slow down.
    pub const fn is_growth(self) -> bool {
        matches!(self, Self::Growing | Self::Leaking)
    }
}

/// The figure that was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// PSS + `SwapPss`.
    #[default]
    Footprint,
    /// The anonymous part of it, `Pss_Anon` + `SwapPss`, which is not shared: sharers that come and go move the
    /// footprint and may hide a leak.
    Anonymous,
}

impl Metric {
    /// Returns its name in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Footprint => "footprint",
            Self::Anonymous => "anonymous",
        }
    }
}

/// A verdict, and the figures behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// Confidence that the floor rises for good, 0 to 1. A score, not a probability: 0.9 where the evidence just
    /// suffices, 0.99 where there is twice as much, at most 0.999. Below
    /// [`Params::confidence`](super::Params::confidence) nothing is called a leak.
    pub confidence: f64,
    /// Start of the growth on the monotonic clock; `None` where it does not grow. The time of the first point if it
    /// began earlier.
    pub since: Option<Duration>,
    /// Lowest footprint of the newest point, in bytes; a history keeps 0 of a series that never changed.
    pub floor: u64,
}

impl Judgement {
    /// Returns the confidence in percent, rounded down.
    pub fn percent(&self) -> f64 {
        (self.confidence * 100.0).floor()
    }

    /// Applies hysteresis: a series that was called a leak stays one for as long as it grows, though there is not
    /// always enough evidence to prove it anew.
    #[must_use]
    pub fn with_hysteresis(mut self, previous: &Self) -> Self {
        if previous.verdict == Verdict::Leaking && self.verdict == Verdict::Growing {
            self.verdict = Verdict::Leaking;
            self.confidence = self.confidence.max(previous.confidence);
            self.since = previous.since.or(self.since);
        }
        self
    }

    /// Returns the seconds until growth at this pace has taken `headroom` bytes; `None` where no limit is known, or
    /// it does not go on growing.
    pub fn eta(&self, headroom: Option<u64>) -> Option<f64> {
        let grows = self.verdict.is_growth() && self.slope > 0.0;
        Some(headroom? as f64 / self.slope).filter(|_| grows)
    }
}
