//! A value as data: what JSON and CSV write.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::Value;
use crate::text;

/// A value without its unit. Bytes are bytes, times are seconds, growth is bytes a second, a share is a
/// fraction (1.0 being one core).
#[derive(Clone, Debug, PartialEq)]
pub enum Plain<'a> {
    /// Unknown, or nothing to say.
    Null,
    /// A size, a count or a number that names something.
    Integer(u64),
    /// A change.
    Signed(i64),
    /// A rate, a share or a time; always finite.
    Float(f64),
    /// Foreign bytes.
    Text(Cow<'a, [u8]>),
    /// Values over time from oldest to newest, `None` where nothing was known.
    Series(Vec<Option<u64>>),
}

impl<'a> Value<'a> {
    /// How many values a chart has as data.
    const CHART: usize = 60;

    /// The value as data. Why one is unknown is not in it: see [`Value::Missing`].
    pub fn plain(self) -> Plain<'a> {
        match self {
            Self::Bytes(n) | Self::Count(n) | Self::Id(n) => Plain::Integer(n),
            Self::Delta(n) => Plain::Signed(n),
            Self::Growth(x) | Self::PerSecond(x) | Self::Share(x) | Self::Seconds(x) => Plain::float(x),
            Self::Text(bytes) => Plain::Text(bytes),
            Self::Trend(t) => Plain::word(t.verdict.id()),
            Self::Verdict(verdict) => Plain::word(verdict.id()),
            Self::Chart(line, _) => {
                let bands = line.recent(Self::CHART);
                Plain::Series(bands.into_iter().map(|band| band.map(|band| band.last)).collect())
            }
            Self::Missing(_) | Self::Blank => Plain::Null,
        }
    }
}

impl Plain<'_> {
    /// A word of zmtop's own.
    const fn word(word: &'static str) -> Self {
        Self::Text(Cow::Borrowed(word.as_bytes()))
    }

    /// A number with a fraction; what is not finite is unknown.
    pub fn float(x: f64) -> Self {
        if x.is_finite() { Self::Float(x) } else { Self::Null }
    }
}

/// As JSON has it; text by [`text::lossless`].
impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_none(),
            Self::Integer(n) => to.serialize_u64(*n),
            Self::Signed(n) => to.serialize_i64(*n),
            Self::Float(x) => to.serialize_f64(*x),
            Self::Text(bytes) => to.serialize_str(&text::lossless(bytes)),
            Self::Series(values) => to.collect_seq(values),
        }
    }
}
