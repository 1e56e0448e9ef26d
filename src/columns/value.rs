//! What a column takes from a row, before it is written.

use std::borrow::Cow;

use crate::columns::sort::SortKey;
use crate::history::SeriesView;
use crate::model::{Missing, Reading};
use crate::trend::{Judgement, Verdict};

/// A value of a column.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Bytes.
    Bytes(u64),
    /// A change in bytes.
    Delta(i64),
    /// Bytes a second.
    Growth(f64),
    /// Events a second.
    PerSecond(f64),
    /// A share, 1.0 being the whole.
    Share(f64),
    /// A plain number.
    Count(u64),
    /// A number that names something: never shortened.
    Id(u64),
    /// Seconds.
    Seconds(f64),
    /// Foreign bytes; made safe when written.
    Text(Cow<'a, [u8]>),
    /// Values over time, and their slope in bytes a second.
    Chart(SeriesView<'a>, Option<f64>),
    /// What a footprint does, with how fast and how sure.
    Trend(Judgement),
    /// What a footprint does.
    Verdict(Verdict),
    /// Unknown, and why.
    Missing(Missing),
    /// Nothing to say here, such as the pid of a total.
    Blank,
}

impl<'a> Value<'a> {
    /// A byte reading.
    pub fn bytes(reading: Reading<u64>) -> Self {
        reading.map_or_else(Self::Missing, Self::Bytes)
    }

    /// Borrowed foreign bytes.
    pub fn text(reading: Reading<&'a [u8]>) -> Self {
        reading.map_or_else(Self::Missing, |b| Self::Text(Cow::Borrowed(b)))
    }

    /// The figure, for sorting and for filters.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Bytes(n) | Self::Count(n) | Self::Id(n) => Some(*n as f64),
            Self::Delta(n) => Some(*n as f64),
            Self::Growth(x) | Self::PerSecond(x) | Self::Share(x) | Self::Seconds(x) => Some(*x),
            Self::Chart(_, slope) => *slope,
            Self::Trend(t) => Some(t.slope),
            Self::Verdict(verdict) => verdict.rank(),
            Self::Text(_) | Self::Missing(_) | Self::Blank => None,
        }
    }

    /// What to order by.
    pub fn sort_key(&self) -> SortKey {
        match self {
            // Leaks first, the fastest of them first.
            Self::Trend(t) => {
                let rank = t.verdict.rank().filter(|_| t.slope.is_finite());
                rank.map_or(SortKey::Missing, |rank| {
                    SortKey::Number(rank.mul_add(1e13, t.slope.clamp(-4e12, 4e12)))
                })
            }
            Self::Text(bytes) => SortKey::Text(String::from_utf8_lossy(bytes).to_lowercase()),
            other => other
                .number()
                .filter(|x| !x.is_nan())
                .map_or(SortKey::Missing, SortKey::Number),
        }
    }
}
