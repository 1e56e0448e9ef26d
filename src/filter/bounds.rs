//! The bounds that figures are compared with.

use crate::trend::Verdict;
use crate::units::{self, Unit};

/// Returns what a bound in that unit looks like, for messages.
pub(super) const fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes | Unit::Delta => "a size such as 100M or 1.5G",
        Unit::Growth | Unit::Chart | Unit::Trend => "a size per time such as 10K/s or 1M/min",
        Unit::PerSecond | Unit::Count | Unit::Text => "a number such as 12 or 10k",
        Unit::Share => "a percentage such as 50 or 0.5%",
        Unit::Seconds => "a time such as 90, 5m or 2h",
        Unit::Verdict => "shrinking, steady, warming, growing or leaking",
    }
}

/// Parses a bound with its sign; the result is in the unit of the column's figures.
pub(super) fn parse(text: &str, unit: Unit) -> Option<f64> {
    let (sign, size) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match unit {
        Unit::Verdict => return rank(text),
        Unit::Bytes | Unit::Delta => units::parse_size(size)?,
        // Zero is the same in every unit of time, so it needs none.
        Unit::Growth | Unit::Chart | Unit::Trend if units::parse_size(size) == Some(0.0) => 0.0,
        Unit::Growth | Unit::Chart | Unit::Trend => units::parse_rate(size)?,
        Unit::PerSecond | Unit::Count => parse_number(size)?,
        Unit::Share => parse_number(size.strip_suffix('%').unwrap_or(size))? / 100.0,
        Unit::Seconds => units::parse_span(size)?.as_secs_f64(),
        Unit::Text => return None,
    };
    Some(sign * value)
}

/// Returns the rank of the verdict of that name.
fn rank(name: &str) -> Option<f64> {
    let name = name.to_lowercase();
    Verdict::ALL.into_iter().find(|verdict| verdict.id() == name)?.rank()
}

/// Parses a plain number, or thousands and millions of them, as such columns are written.
fn parse_number(text: &str) -> Option<f64> {
    let at = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let scale = match &text[at..] {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return None,
    };
    let value = text[..at].parse::<f64>().ok()? * scale;
    value.is_finite().then_some(value)
}
