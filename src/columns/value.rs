//! The value that a column reads from a row, its order, and its form in JSON and CSV.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Serialize, Serializer};

use crate::history::SeriesView;
use crate::model::{Missing, Reading};
use crate::text;
use crate::trend::{Judgement, Verdict};

#[derive(Clone, Debug)]
pub enum Value<'a> {
    Bytes(u64),
    /// Unknown, but at most this many bytes: the sort key. Unknown to filters and as data.
    AtMost(u64),
    /// The known bytes. There are more that could not be read.
    AtLeast(u64),
    /// The known bytes, and an upper bound that includes what could not be read. Shown and sorted by the bound.
    Within(u64, u64),
    /// A change in bytes, and the size now.
    Delta(i64, u64),
    /// Bytes a second.
    Growth(f64),
    /// Events a second.
    PerSecond(f64),
    /// A fraction; 1.0 is the whole.
    Share(f64),
    /// Unknown, but at most this fraction, as [`AtMost`](Self::AtMost).
    ShareAtMost(f64),
    /// A known fraction and its bound, as [`Within`](Self::Within).
    ShareWithin(f64, f64),
    Count(u64),
    /// A number that names something: never shortened.
    Id(u64),
    Seconds(f64),
    /// Seconds until something is expected to happen.
    Forecast(f64),
    /// A time that is not expected to come: infinite for filters, empty on the screen and as data.
    Never,
    /// Foreign bytes; made safe when written.
    Text(Cow<'a, [u8]>),
    /// Values over time, and their slope in bytes per second.
    Chart(SeriesView<'a>, Option<f64>),
    /// A verdict on a footprint with its slope, and the footprint's last change; of a steady one only a large change. See
    /// [`trend`](Self::trend).
    Trend(Judgement, Option<i64>),
    /// The slope of a verdict.
    Pace(Judgement),
    /// The confidence of a verdict, in whole percent.
    Confidence(Judgement),
    Verdict(Verdict),
    /// Unknown, with the reason.
    Missing(Missing),
    /// Not applicable, such as the pid of a total.
    Blank,
}

impl<'a> Value<'a> {
    /// The number of values of a chart as data.
    const CHART_POINTS: usize = 60;

    pub fn bytes(reading: Reading<u64>) -> Self {
        reading.map_or_else(Self::Missing, Self::Bytes)
    }

    pub fn text(reading: Reading<&'a [u8]>) -> Self {
        reading.map_or_else(Self::Missing, |b| Self::Text(Cow::Borrowed(b)))
    }

    /// Returns a trend with the last change of its value. `size` is its size now, if known: what is steady by its lowest values
    /// may still move by an eighth of that and more.
    pub fn trend(judged: &Judgement, change: Option<i64>, size: Option<u64>) -> Self {
        let is_large = |by: &i64| size.is_some_and(|size| by.unsigned_abs() >= size / 8);
        Self::Trend(
            *judged,
            change.filter(|by| judged.verdict != Verdict::Steady || is_large(by)),
        )
    }

    /// Returns a part of a whole; blank if the whole is nothing.
    pub fn share(part: Reading<f64>, whole: Reading<u64>) -> Self {
        match (part, whole) {
            (Ok(_), Ok(0)) => Self::Blank,
            (Ok(part), Ok(whole)) => Self::Share(part / whole as f64),
            (Err(why), _) | (_, Err(why)) => Self::Missing(why),
        }
    }

    /// Returns the number for filters and sorting.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Bytes(n) | Self::AtLeast(n) | Self::Within(n, _) | Self::Count(n) | Self::Id(n) => Some(*n as f64),
            Self::Delta(n, _) => Some(*n as f64),
            Self::Growth(x)
            | Self::PerSecond(x)
            | Self::Share(x)
            | Self::ShareWithin(x, _)
            | Self::Seconds(x)
            | Self::Forecast(x) => Some(*x),
            Self::Chart(_, slope) => *slope,
            Self::Trend(t, _) | Self::Pace(t) => Some(t.slope),
            Self::Confidence(t) => Some(t.confidence),
            Self::Verdict(verdict) => verdict.rank(),
            Self::Never => Some(f64::INFINITY),
            Self::AtMost(_) | Self::ShareAtMost(_) | Self::Text(_) | Self::Missing(_) | Self::Blank => None,
        }
    }

    pub fn sort_key(&self) -> SortKey {
        match self {
            // The worst verdict first, then the fastest: slopes are clamped so that a rank outweighs them.
            Self::Trend(t, _) => {
                let rank = t.verdict.rank().filter(|_| t.slope.is_finite());
                rank.map_or(SortKey::Missing, |rank| {
                    SortKey::Number(rank.mul_add(1e13, t.slope.clamp(-4e12, 4e12)))
                })
            }
            Self::Text(bytes) => SortKey::Text(String::from_utf8_lossy(bytes).to_lowercase()),
            Self::AtMost(n) | Self::Within(_, n) => SortKey::Number(*n as f64),
            Self::ShareAtMost(x) | Self::ShareWithin(_, x) => SortKey::Number(*x),
            // As infinity it would come first in descending order.
            Self::Never => SortKey::Missing,
            other => other
                .number()
                .filter(|x| !x.is_nan())
                .map_or(SortKey::Missing, SortKey::Number),
        }
    }

    /// Converts to data, without the reason of [`Value::Missing`].
    pub fn into_data(self) -> DataValue<'a> {
        match self {
            Self::Bytes(n) | Self::AtLeast(n) | Self::Within(n, _) | Self::Count(n) | Self::Id(n) => {
                DataValue::Integer(n)
            }
            Self::Delta(n, _) => DataValue::Signed(n),
            Self::Growth(x)
            | Self::PerSecond(x)
            | Self::Share(x)
            | Self::ShareWithin(x, _)
            | Self::Seconds(x)
            | Self::Forecast(x) => DataValue::float(x),
            Self::Pace(t) => DataValue::float(t.slope),
            Self::Confidence(t) => DataValue::float(t.confidence),
            Self::Text(bytes) => DataValue::Text(bytes),
            Self::Trend(Judgement { verdict, .. }, _) | Self::Verdict(verdict) => {
                DataValue::Text(Cow::Borrowed(verdict.id().as_bytes()))
            }
            Self::Chart(line, _) => {
                let bands = line.recent(Self::CHART_POINTS);
                DataValue::Series(bands.into_iter().map(|band| band.map(|band| band.last)).collect())
            }
            Self::AtMost(_) | Self::ShareAtMost(_) | Self::Missing(_) | Self::Never | Self::Blank => DataValue::Null,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    Number(f64),
    /// A text in lower case.
    Text(String),
    /// Unknown: last in either direction, so that a dash is never above a figure.
    Missing,
}

impl SortKey {
    /// Returns a number that is lower, or equal, for a key that comes earlier in this direction.
    fn rank(&self, descending: bool) -> u64 {
        let rank = match self {
            Self::Missing => return u64::MAX,
            Self::Number(x) => {
                let bits = (x + 0.0).to_bits();
                let sign = 1 << 63;
                let ordered = if bits & sign == 0 { bits | sign } else { !bits };
                ordered / 2
            }
            Self::Text(_) => u64::MAX / 2 + 1,
        };
        if descending { u64::MAX / 2 + 1 - rank } else { rank }
    }

    pub fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let turn = |o: Ordering| if descending { o.reverse() } else { o };
        match (self, other) {
            (Self::Missing, Self::Missing) => Ordering::Equal,
            (Self::Missing, _) => Ordering::Greater,
            (_, Self::Missing) => Ordering::Less,
            (Self::Number(a), Self::Number(b)) => turn((a + 0.0).total_cmp(&(b + 0.0))), // −0 is 0
            (Self::Text(a), Self::Text(b)) => turn(a.cmp(b)),
            (Self::Number(_), Self::Text(_)) => turn(Ordering::Less),
            (Self::Text(_), Self::Number(_)) => turn(Ordering::Greater),
        }
    }
}

/// The key of a row in a table's order.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderKey {
    /// The key in the sort column.
    pub key: SortKey,
    /// Among equal rows the greater comes first, in either direction: PSS.
    pub tie: SortKey,
}

impl OrderKey {
    pub const MISSING: Self = Self {
        key: SortKey::Missing,
        tie: SortKey::Missing,
    };

    pub fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let order = self.key.compare(&other.key, descending);
        order.then_with(|| self.tie.compare(&other.tie, true))
    }
}

/// Returns the indices `0..keys.len()` in order of their keys. Equal rows keep their order (by pid), so that they do not
/// jump.
pub fn order(keys: &[OrderKey], descending: bool) -> Vec<usize> {
    // The rank decides in most cases, and comparing it is cheap.
    let ranks = keys.iter().map(|key| key.key.rank(descending));
    let mut order: Vec<(u64, u32)> = ranks.zip(0..).collect();
    order.sort_by(|(rank, a), (other, b)| {
        let full = || keys[*a as usize].compare(&keys[*b as usize], descending);
        rank.cmp(other).then_with(full)
    });
    order.into_iter().map(|(_, at)| at as usize).collect()
}

/// A value in JSON and CSV, without a unit: bytes, seconds, bytes per second, or fractions of 1.
#[derive(Clone, Debug, PartialEq)]
pub enum DataValue<'a> {
    /// Unknown, or not applicable.
    Null,
    Integer(u64),
    Signed(i64),
    /// A rate, a fraction or a time; always finite.
    Float(f64),
    Text(Cow<'a, [u8]>),
    /// Values over time from oldest to newest, `None` where unknown.
    Series(Vec<Option<u64>>),
}

impl DataValue<'_> {
    /// Wraps a float. Infinity and NaN become null, since JSON has neither.
    pub fn float(x: f64) -> Self {
        if x.is_finite() { Self::Float(x) } else { Self::Null }
    }
}

/// Writes JSON; text by [`text::lossless`].
impl Serialize for DataValue<'_> {
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
