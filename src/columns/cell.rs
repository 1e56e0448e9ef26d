//! A value as the text of a table cell.

use super::Value;
use crate::history::SeriesView;
use crate::model::Missing;
use crate::text;
use crate::trend::{Judgement, Verdict};
use crate::units::{self, Units};

/// What a cell says, beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A plain figure or word.
    Plain,
    /// Nothing: a zero.
    Zero,
    /// A change upwards.
    Up,
    /// A change downwards.
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
    /// How it is meant.
    pub tone: Tone,
}

/// Writes a value in at most about `width` columns; the caller pads or cuts with [`text::fit`].
pub fn cell(value: &Value<'_>, units: Units, width: usize) -> Cell {
    let plain = |text: String| Cell {
        text,
        tone: Tone::Plain,
    };
    let signed = |text: String, sign: f64| Cell {
        tone: if text == "0" || sign == 0.0 {
            Tone::Zero
        } else if sign > 0.0 {
            Tone::Up
        } else {
            Tone::Down
        },
        text,
    };
    match value {
        Value::Bytes(0) | Value::Count(0) => Cell {
            text: "0".into(),
            tone: Tone::Zero,
        },
        Value::Bytes(n) => plain(units::bytes(*n, units)),
        Value::Id(n) => plain(n.to_string()),
        Value::Count(n) if *n < 10_000_000 && width >= 7 => plain(n.to_string()),
        Value::Count(n) => plain(units::count(*n)),
        Value::Delta(n) => signed(units::delta(*n, units), *n as f64),
        Value::Growth(x) => signed(units::growth(*x), *x),
        Value::PerSecond(x) if *x < 0.05 => Cell {
            text: "0".into(),
            tone: Tone::Zero,
        },
        Value::PerSecond(x) if *x < 9.95 => plain(format!("{x:.1}")),
        Value::PerSecond(x) => plain(units::count(*x as u64)),
        Value::Share(x) if *x < 0.0005 => Cell {
            text: "0".into(),
            tone: Tone::Zero,
        },
        Value::Share(x) if *x >= 9.995 => plain(format!("{:.0}", x * 100.0)),
        Value::Share(x) => plain(format!("{:.1}", x * 100.0)),
        Value::Seconds(x) => plain(units::span(
            std::time::Duration::try_from_secs_f64(*x).unwrap_or_default(),
        )),
        Value::Text(bytes) => plain(text::safe_prefix(bytes, width).into_owned()),
        Value::Chart(line, _) => Cell {
            text: sparkline(line, width),
            tone: Tone::Chart,
        },
        Value::Trend(t) => trend(t),
        Value::Verdict(verdict) => Cell {
            text: verdict.id().into(),
            tone: trend_tone(*verdict),
        },
        Value::Missing(Missing::Pending) => Cell {
            text: "…".into(),
            tone: Tone::Missing,
        },
        Value::Missing(_) => Cell {
            text: "-".into(),
            tone: Tone::Missing,
        },
        Value::Blank => plain(String::new()),
    }
}

/// The tone of a verdict.
pub(super) const fn trend_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Leaking => Tone::Leak,
        Verdict::Growing => Tone::Up,
        Verdict::Warming => Tone::Plain,
        Verdict::Steady => Tone::Zero,
        Verdict::Shrinking => Tone::Down,
        Verdict::Unknown => Tone::Missing,
    }
}

/// A verdict as a sign, its slope, and how sure a leak is: `▲ 12.0M/min 98%`.
fn trend(judged: &Judgement) -> Cell {
    let pace = units::pace(judged.slope);
    let text = match judged.verdict {
        Verdict::Leaking => format!("▲ {pace} {:.0}%", judged.percent()),
        Verdict::Growing => format!("△ {pace}"),
        Verdict::Warming => format!("~ {pace}"),
        Verdict::Shrinking => format!("▽ {pace}"),
        Verdict::Steady => "· steady".into(),
        Verdict::Unknown => "…".into(),
    };
    Cell {
        text,
        tone: trend_tone(judged.verdict),
    }
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The values as bars, from their least to their greatest. The scale spans at least 4 % of the greatest
/// and 256 KiB, so that the trembling of a steady process does not look like a mountain.
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
                BARS[(((v - low) as f64 / span) * 7.0).round().clamp(0.0, 7.0) as usize]
            })
        })
        .collect()
}
