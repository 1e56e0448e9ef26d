//! A value as the text of a table cell.

use std::time::Duration;

use super::Value;
use crate::history::SeriesView;
use crate::model::Missing;
use crate::text;
use crate::trend::{Judgement, Verdict};
use crate::units::{self, Units};

/// The meaning of a cell, from which a theme's style is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellStyle {
    /// A plain figure or text.
    Plain,
    /// A bound in place of an unknown figure.
    Estimate,
    /// A zero, or something as unimportant.
    Zero,
    /// An increase.
    Up,
    /// A decrease.
    Down,
    /// A sparkline.
    Chart,
    /// A leak.
    Leak,
    /// Unknown.
    Missing,
}

/// A cell to draw: safe text, not yet padded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Safe to print.
    pub text: String,
    /// Its meaning.
    pub style: CellStyle,
}

impl Cell {
    fn new(text: impl Into<String>, style: CellStyle) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

/// Writes a value in at most about `width` columns; the caller pads or cuts with [`text::fit`].
pub fn cell(value: &Value<'_>, units: Units, width: usize) -> Cell {
    let plain = |text: String| Cell::new(text, CellStyle::Plain);
    let zero = || Cell::new("0", CellStyle::Zero);
    let signed = |text: String, sign: f64| {
        let style = if text == "0" || sign == 0.0 {
            CellStyle::Zero
        } else if sign > 0.0 {
            CellStyle::Up
        } else {
            CellStyle::Down
        };
        Cell::new(text, style)
    };
    match value {
        Value::Bytes(0) | Value::Count(0) => zero(),
        Value::Bytes(n) => plain(units::bytes(*n, units)),
        Value::AtLeast(n) => Cell::new(at_least(*n, units, width), CellStyle::Estimate),
        Value::AtMost(n) => Cell::new(at_most(*n, units, width), CellStyle::Estimate),
        Value::Id(n) => plain(n.to_string()),
        Value::Count(n) if *n < 10_000_000 && width >= 7 => plain(n.to_string()),
        Value::Count(n) => plain(units::count(*n)),
        // The kernel counts in KiB; less is the noise of an estimate.
        Value::Delta(n) if n.unsigned_abs() < 1024 && units != Units::Bytes => zero(),
        Value::Delta(n) => signed(units::delta(*n, units), *n as f64),
        Value::Growth(x) => signed(units::growth(*x), *x),
        // What would round to 0.0 is a zero; from 9.95 on a decimal would not fit.
        Value::PerSecond(x) if *x < 0.05 => zero(),
        Value::PerSecond(x) if *x < 9.95 => plain(format!("{x:.1}")),
        Value::PerSecond(x) => plain(units::count(*x as u64)),
        Value::Share(x) if *x < 0.0005 => zero(),
        Value::Share(x) if *x >= 9.995 => plain(format!("{:.0}", x * 100.0)),
        Value::Share(x) => plain(format!("{:.1}", x * 100.0)),
        Value::Seconds(x) => plain(units::span(Duration::try_from_secs_f64(*x).unwrap_or_default())),
        Value::Forecast(x) => plain(units::about(Duration::try_from_secs_f64(*x).unwrap_or_default())),
        Value::Text(bytes) => plain(text::safe_prefix(bytes, width).into_owned()),
        Value::Chart(line, _) => Cell::new(sparkline(line, width), CellStyle::Chart),
        // Where nothing moves, the column has no room for a word.
        Value::Trend(t) if t.verdict == Verdict::Steady && width < 8 => Cell::new("·", CellStyle::Zero),
        Value::Trend(t) => Cell::new(trend(t, width), style_of(t.verdict)),
        Value::Pace(t) => Cell::new(signed_pace(t), style_of(t.verdict)),
        Value::Confidence(t) => plain(format!("{:.0}%", t.percent())),
        Value::Verdict(verdict) => Cell::new(verdict.id(), style_of(*verdict)),
        Value::Missing(Missing::Pending) => Cell::new("…", CellStyle::Missing),
        Value::Missing(_) => Cell::new("-", CellStyle::Missing),
        Value::Never | Value::Blank => plain(String::new()),
    }
}

/// Writes an upper bound. Where there is no room for decimals it is rounded up, which is still one.
fn at_most(n: u64, units: Units, width: usize) -> String {
    let exact = units::bytes(n, units);
    if units != Units::Auto || exact.len() < width {
        return format!("≤{exact}");
    }
    let whole = exact.split_once('.').and_then(|(whole, _)| whole.parse::<u64>().ok());
    match (whole, exact.chars().last()) {
        (Some(whole), Some(unit)) => format!("≤{}{unit}", whole + 1),
        _ => format!("≤{}", units::bytes(n.next_power_of_two(), units)),
    }
}

/// Writes a lower bound. Where there is no room for decimals it is rounded down, which is still one.
fn at_least(n: u64, units: Units, width: usize) -> String {
    let exact = units::bytes(n, units);
    match (exact.split_once('.'), exact.chars().last()) {
        (Some((whole, _)), Some(unit)) if units == Units::Auto && exact.len() >= width => format!("≥{whole}{unit}"),
        _ => format!("≥{exact}"),
    }
}

/// Returns the style of a verdict.
const fn style_of(verdict: Verdict) -> CellStyle {
    match verdict {
        Verdict::Leaking => CellStyle::Leak,
        Verdict::Growing => CellStyle::Up,
        Verdict::Warming => CellStyle::Plain,
        Verdict::Steady => CellStyle::Zero,
        Verdict::Shrinking => CellStyle::Down,
        Verdict::Unknown => CellStyle::Missing,
    }
}

/// The width of a trend from which on it has longer words.
pub const WIDE_TREND: usize = 18;

/// Writes a verdict as a sign, a word and its slope: `▲ leak 12.0M/min`, `▲ leak paused`.
fn trend(judged: &Judgement, width: usize) -> String {
    let pace = match judged.flat_since {
        Some(_) => "paused".into(),
        None => units::pace(judged.slope),
    };
    match judged.verdict {
        Verdict::Leaking => format!("▲ leak {pace}"),
        Verdict::Growing => format!("△ grow {pace}"),
        Verdict::Warming if width >= WIDE_TREND => format!("~ warm-up {pace}"),
        Verdict::Warming => format!("~ warm {pace}"),
        Verdict::Shrinking => format!("▽ fall {pace}"),
        Verdict::Steady => "· steady".into(),
        Verdict::Unknown => "…".into(),
    }
}

/// Writes a slope with a sign only if it falls.
fn signed_pace(judged: &Judgement) -> String {
    match judged.slope {
        _ if judged.flat_since.is_some() => "paused".into(),
        0.0 => "0".into(),
        slope if slope < 0.0 => format!("-{}", units::pace(slope)),
        slope => units::pace(slope),
    }
}

/// Not up to the top, so that the charts of two rows do not flow together.
const BARS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// Draws values as bars, from the lowest to the highest. The scale spans at least 4 % of the highest and 256 KiB,
/// so that the noise of a steady process does not look like growth.
pub fn sparkline(line: &SeriesView<'_>, width: usize) -> String {
    let values: Vec<Option<u64>> = line
        .recent(width)
        .into_iter()
        .map(|band| band.map(|b| b.last))
        .collect();
    let known = || values.iter().flatten().copied();
    let (Some(low), Some(high)) = (known().min(), known().max()) else {
        return " ".repeat(width);
    };
    let span = (high - low).max(high / 25).max(256 << 10) as f64;
    values
        .iter()
        .map(|v| {
            v.map_or(' ', |v| {
                BARS[(((v - low) as f64 / span) * 6.0).round().clamp(0.0, 6.0) as usize]
            })
        })
        .collect()
}
