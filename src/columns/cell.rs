//! A value as the text of a table cell.

use std::time::Duration;

use super::Value;
use crate::history::SeriesView;
use crate::model::{Missing, Walk, tolerance};
use crate::text;
use crate::trend::{Judgement, Verdict};
use crate::units::{self, Units};

/// The meaning of a cell, for which the theme has a style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellStyle {
    Plain,
    /// A bound in place of an unknown figure.
    Estimate,
    /// A zero, or something equally unimportant.
    Zero,
    /// An increase above the noise.
    Up,
    /// A decrease above the noise.
    Down,
    Chart,
    Leak,
    Missing,
}

/// A cell to draw: text that is safe to print, not yet padded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
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

/// Writes a value in about `width` columns or fewer; the caller pads or cuts with [`text::fit`].
pub fn cell(value: &Value<'_>, units: Units, width: usize) -> Cell {
    let plain = |text: String| Cell::new(text, CellStyle::Plain);
    let zero = || Cell::new("0", CellStyle::Zero);
    let signed = |text: String, by: f64, noise: u64| {
        let style = if text == "0" || by == 0.0 {
            CellStyle::Zero
        } else {
            style_of_change(by, noise)
        };
        Cell::new(text, style)
    };
    match value {
        Value::Bytes(0) | Value::Count(0) => zero(),
        Value::Bytes(n) => plain(units::bytes(*n, units)),
        Value::AtLeast(n) => Cell::new(at_least(*n, units, width), CellStyle::Estimate),
        Value::AtMost(n) | Value::Within(_, n) => Cell::new(at_most(*n, units, width), CellStyle::Estimate),
        Value::Id(n) => plain(n.to_string()),
        Value::Count(n) if *n < 10_000_000 && width >= 7 => plain(n.to_string()),
        Value::Count(n) => plain(units::count(*n)),
        // The kernel counts in KiB; a smaller change is the noise of an estimate.
        Value::Delta(n, _) if n.unsigned_abs() < 1024 && units != Units::Bytes => zero(),
        Value::Delta(n, of) => signed(units::delta(*n, units), *n as f64, tolerance(*of)),
        Value::Growth(x) => signed(units::growth(*x), *x, Walk::TOLERATED / 60),
        // Below 0.05 it would round to 0.0; from 9.95 on a decimal would not fit.
        Value::PerSecond(x) if *x < 0.05 => zero(),
        Value::PerSecond(x) if *x < 9.95 => plain(format!("{x:.1}")),
        Value::PerSecond(x) => plain(units::count(*x as u64)),
        Value::ShareAtMost(x) | Value::ShareWithin(_, x) if *x < 0.0005 => zero(),
        Value::ShareAtMost(x) | Value::ShareWithin(_, x) => {
            Cell::new(format!("≤{:.1}", x * 100.0), CellStyle::Estimate)
        }
        Value::Share(x) if *x < 0.0005 => zero(),
        Value::Share(x) if *x >= 9.995 => plain(format!("{:.0}", x * 100.0)),
        Value::Share(x) => plain(format!("{:.1}", x * 100.0)),
        Value::Seconds(x) => plain(units::span(Duration::try_from_secs_f64(*x).unwrap_or_default())),
        Value::Forecast(x) => plain(units::about(Duration::try_from_secs_f64(*x).unwrap_or_default())),
        Value::Text(bytes) => plain(text::safe_prefix(bytes, width).into_owned()),
        Value::Chart(line, _) => Cell::new(sparkline(line, width), CellStyle::Chart),
        // If all rows are steady, the column is too narrow for a word.
        Value::Trend(t, _) if t.verdict == Verdict::Steady && width < 8 => Cell::new("·", CellStyle::Zero),
        Value::Trend(t, change) => Cell::new(trend(t, *change), style_of(t.verdict)),
        Value::Pace(t) => Cell::new(signed_pace(t), style_of(t.verdict)),
        Value::Confidence(t) => plain(format!("{:.0}%", t.percent())),
        Value::Verdict(verdict) => Cell::new(verdict.id(), style_of(*verdict)),
        Value::Missing(Missing::Pending) => Cell::new("…", CellStyle::Missing),
        Value::Missing(_) => Cell::new("-", CellStyle::Missing),
        Value::Never | Value::Blank => plain(String::new()),
    }
}

/// Returns the style of a change. A change below `noise` is plain.
pub fn style_of_change(by: f64, noise: u64) -> CellStyle {
    match by {
        _ if by.abs() < noise as f64 => CellStyle::Plain,
        _ if by > 0.0 => CellStyle::Up,
        _ => CellStyle::Down,
    }
}

/// Writes an upper bound. If decimals do not fit it is rounded up, which is still an upper bound.
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

/// Writes a lower bound. If decimals do not fit it is rounded down, which is still a lower bound.
fn at_least(n: u64, units: Units, width: usize) -> String {
    let exact = units::bytes(n, units);
    match (exact.split_once('.'), exact.chars().last()) {
        (Some((whole, _)), Some(unit)) if units == Units::Auto && exact.len() >= width => format!("≥{whole}{unit}"),
        _ => format!("≥{exact}"),
    }
}

const fn style_of(verdict: Verdict) -> CellStyle {
    match verdict {
        Verdict::Leaking => CellStyle::Leak,
        Verdict::Growing | Verdict::Hoarding => CellStyle::Up,
        Verdict::Warming => CellStyle::Plain,
        Verdict::Steady => CellStyle::Zero,
        Verdict::Shrinking => CellStyle::Down,
        Verdict::Unknown => CellStyle::Missing,
    }
}

/// The width of a trend without a pace.
pub const WITHOUT_PACE: u16 = 9;
/// The smallest change that can contradict a slope: 1 MiB.
const MIN_CONTRARY: u64 = 1 << 20;

/// Writes a verdict as a sign, a word and its slope: `▲ leak 12.0M/min`, `▲ leak paused`. The slope is omitted for a warm-up,
/// which slows down or has only started, and for growth with a recent change in the other direction. A leak always has it.
/// A steady value varies if its recent [change](Value::trend) is large.
fn trend(judged: &Judgement, change: Option<i64>) -> String {
    let is_contrary = change.is_some_and(|by| by as f64 * judged.slope < 0.0 && by.unsigned_abs() >= MIN_CONTRARY);
    let pace = match judged.flat_since {
        Some(_) => " paused".into(),
        None if is_contrary && judged.verdict != Verdict::Leaking => String::new(),
        None => format!(" {}", units::pace(judged.slope)),
    };
    match judged.verdict {
        Verdict::Leaking => format!("▲ leak{pace}"),
        Verdict::Growing => format!("△ grow{pace}"),
        Verdict::Hoarding => format!("◇ hoard{pace}"),
        Verdict::Warming => "~ warm-up".into(),
        Verdict::Shrinking => format!("▽ fall{pace}"),
        Verdict::Steady if change.is_some_and(|by| by.unsigned_abs() >= MIN_CONTRARY) => "· varies".into(),
        Verdict::Steady => "· steady".into(),
        Verdict::Unknown => "…".into(),
    }
}

/// Writes a slope. Only a negative one has a sign.
fn signed_pace(judged: &Judgement) -> String {
    match judged.slope {
        _ if judged.flat_since.is_some() => "paused".into(),
        0.0 => "0".into(),
        slope if slope < 0.0 => format!("-{}", units::pace(slope)),
        slope => units::pace(slope),
    }
}

/// The full block is not used: the charts of two rows would touch.
const BARS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// Draws a series as bars, scaled from its lowest value to its highest.
pub fn sparkline(line: &SeriesView<'_>, width: usize) -> String {
    bars(&newest_of(line, width), 0)
}

/// Draws the charts of a table, a text for each row, so that they can be compared: the row that changed most has full height,
/// a row that changed a quarter as much has half. Rows that started later do not set the scale, as they grew from nothing.
pub fn sparklines<'a>(column: impl Iterator<Item = Value<'a>>, width: usize) -> Vec<String> {
    let rows: Vec<_> = column.map(|value| newest(&value, width)).collect();
    sparklines_of(&rows)
}

/// Draws the charts of a table, as [`sparklines`] does, from the values of each row.
pub fn sparklines_of(rows: &[Vec<Option<u64>>]) -> Vec<String> {
    let start = |row: &Vec<Option<u64>>| row.iter().position(Option::is_some);
    let first = rows.iter().filter_map(start).min();
    let old = rows.iter().filter(|row| start(row) == first);
    let moves = old.filter_map(|row| range(row)).map(|(low, high)| high - low);
    let greatest = moves.max().unwrap_or(0);
    rows.iter().map(|row| bars(row, greatest)).collect()
}

/// Returns the values that a chart draws in `width` columns; unknown for any other value.
pub fn newest(value: &Value<'_>, width: usize) -> Vec<Option<u64>> {
    match value {
        Value::Chart(line, _) => newest_of(line, width),
        _ => vec![None; width],
    }
}

fn newest_of(line: &SeriesView<'_>, width: usize) -> Vec<Option<u64>> {
    let bands = line.recent(width).into_iter();
    bands.map(|band| band.map(|band| band.last)).collect()
}

fn range(values: &[Option<u64>]) -> Option<(u64, u64)> {
    let known = || values.iter().flatten().copied();
    Some((known().min()?, known().max()?))
}

/// Draws values as bars, beside rows that changed by at most `greatest`. The scale spans at least a tenth of the highest value
/// and 1 MiB, so that the noise of a steady process does not look like growth.
fn bars(values: &[Option<u64>], greatest: u64) -> String {
    let Some((low, high)) = range(values) else {
        return " ".repeat(values.len());
    };
    let own = (high - low) as f64;
    // The geometric mean: heights are proportional to the square root of the change.
    let among_others = (own * greatest as f64).sqrt();
    let span = own.max(among_others).max((high / 10).max(1 << 20) as f64);
    let bar = |value: u64| BARS[(((value - low) as f64 / span) * 6.0).round().clamp(0.0, 6.0) as usize];
    values.iter().map(|value| value.map_or(' ', bar)).collect()
}
