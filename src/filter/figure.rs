//! Bounds on columns.

use crate::filter::eval::Test;
use crate::filter::lexer::{Compare, Text};
use crate::filter::{Catalog, FilterError, hint};
use crate::trend::Verdict;
use crate::units::{self, Unit};

/// The test that `verdict:leaking` asks for; `None` where the key is no such column.
pub(super) fn keyed(key: &Text, value: &Text, catalog: &dyn Catalog) -> Option<Result<Test, FilterError>> {
    let (_, unit) = catalog.column(&hint::normal(&key.body))?;
    (unit == Unit::Verdict).then(|| test(key, Compare::Equal, value, catalog))
}

/// The test that `column>figure` asks for.
pub(super) fn test(key: &Text, compare: Compare, value: &Text, catalog: &dyn Catalog) -> Result<Test, FilterError> {
    let name = hint::normal(&key.body);
    let Some((column, unit)) = catalog.column(&name) else {
        return Err(hint::unknown_column(key, value, catalog));
    };
    let wants = example(unit);
    if value.body.is_empty() {
        let what = format!("a figure is missing after {name}: write {wants}");
        return Err(FilterError::new(value.at, what));
    }
    let bound = read(&value.body, unit).ok_or_else(|| {
        FilterError::new(
            value.at,
            format!("{name} wants {wants}, not {}", hint::show(&value.body)),
        )
    })?;
    Ok(Test::Figure { column, compare, bound })
}

const fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes | Unit::Delta => "a size such as 100M or 1.5G",
        Unit::Growth | Unit::Chart | Unit::Trend => "a size per time such as 10K/s or 1M/min",
        Unit::PerSecond | Unit::Count | Unit::Text => "a number such as 12 or 10k",
        Unit::Share => "a percentage such as 50 or 0.5%",
        Unit::Seconds => "a time such as 90, 5m or 2h",
        Unit::Verdict => "shrinking, steady, warming, growing or leaking",
    }
}

/// Reads a figure, with its sign, in the column's kind.
fn read(text: &str, unit: Unit) -> Option<f64> {
    if unit == Unit::Verdict {
        let known = Verdict::ALL
            .into_iter()
            .filter_map(|verdict| Some((verdict, verdict.rank()?)));
        return known
            .into_iter()
            .find_map(|(verdict, rank)| (verdict.id() == text.to_lowercase()).then_some(rank));
    }
    let (sign, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match unit {
        Unit::Bytes | Unit::Delta => units::parse_size(text)?,
        // Zero needs no time.
        Unit::Growth | Unit::Chart | Unit::Trend if units::parse_size(text) == Some(0.0) => 0.0,
        Unit::Growth | Unit::Chart | Unit::Trend => units::parse_rate(text)?,
        Unit::PerSecond | Unit::Count => number(text)?,
        Unit::Share => number(text.strip_suffix('%').unwrap_or(text))? / 100.0,
        Unit::Seconds => units::parse_span(text)?.as_secs_f64(),
        Unit::Text | Unit::Verdict => return None,
    };
    Some(sign * value)
}

/// A plain number, or thousands and millions of them, as such columns are written.
fn number(text: &str) -> Option<f64> {
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
