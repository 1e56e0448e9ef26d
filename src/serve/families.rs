//! Metric families as plain data.

use std::sync::Arc;
use std::time::SystemTime;

/// A metric and all its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name without the unit and without the `_total` of a counter.
    pub name: &'static str,
    /// The meaning, on one line.
    pub help: String,
    /// The unit, the last part of the full name.
    pub unit: MetricUnit,
    pub kind: Kind,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The values are safe to print.
    pub labels: Labels,
    pub value: f64,
    /// The time from which a counter counts; `None` if it is unknown, and for a gauge.
    pub since: Option<SystemTime>,
}

/// Names and values of labels; series of one group share them.
pub type Labels = Arc<[(&'static str, Box<str>)]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Gauge,
    /// Only rises, except that it starts again from 0.
    Counter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    None,
    Bytes,
    BytesPerSecond,
    Seconds,
    /// A fraction of 1.
    Ratio,
}

impl MetricUnit {
    /// Every unit, the longest suffix first.
    pub const ALL: [Self; 5] = [
        Self::BytesPerSecond,
        Self::Bytes,
        Self::Seconds,
        Self::Ratio,
        Self::None,
    ];

    /// Returns the suffix of names, without its underscore.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Seconds => "seconds",
            Self::Ratio => "ratio",
        }
    }
}

impl Family {
    /// Creates a family of gauges without series. The `metric` name ends with its unit.
    pub fn gauge(metric: &'static str, help: impl Into<String>) -> Self {
        let (name, unit) = split(metric);
        Self {
            name,
            help: help.into(),
            unit,
            kind: Kind::Gauge,
            series: Vec::new(),
        }
    }

    /// Creates a family of counters without series. The `metric` name ends with its unit, without `_total`.
    pub fn counter(metric: &'static str, help: impl Into<String>) -> Self {
        Self {
            kind: Kind::Counter,
            ..Self::gauge(metric, help)
        }
    }

    /// Adds the series of a value, if it is known and finite.
    pub fn push(&mut self, labels: &Labels, value: Option<f64>) {
        self.count(labels, value, None);
    }

    /// Adds the series of a counter, as [`Self::push`] does, and the time from which it counts.
    pub fn count(&mut self, labels: &Labels, value: Option<f64>, since: Option<SystemTime>) {
        let value = value.filter(|value| value.is_finite());
        self.series.extend(value.map(|value| Series {
            labels: Arc::clone(labels),
            value,
            since,
        }));
    }

    /// Adds a series without labels, as [`Self::count`] does.
    #[must_use]
    pub fn with(mut self, value: Option<f64>, since: Option<SystemTime>) -> Self {
        self.count(&Labels::from([]), value, since);
        self
    }
}

/// Splits the unit off a name.
fn split(metric: &'static str) -> (&'static str, MetricUnit) {
    let of = |unit: MetricUnit| {
        let name = metric.strip_suffix(unit.suffix())?.strip_suffix('_')?;
        Some((name, unit))
    };
    let mut found = MetricUnit::ALL.into_iter().filter(|unit| *unit != MetricUnit::None);
    found.find_map(of).unwrap_or((metric, MetricUnit::None))
}
