//! The time that charts and sparklines span, and the cursor in it.

pub(in crate::tui) mod draw;

use std::borrow::Cow;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::config::Theme;
use crate::text;
use crate::tui::widgets::draw_text;
use crate::units::{self, Units};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The name in the config.
    pub id: &'static str,
    /// The name in a heading, and in a sentence.
    pub title: &'static str,
    pub name: &'static str,
    pub time: Duration,
}

const fn span(id: &'static str, title: &'static str, name: &'static str, seconds: u64) -> Span {
    let time = Duration::from_secs(seconds);
    Span { id, title, name, time }
}

/// Every span, the shortest first.
pub const SPANS: [Span; 11] = [
    span("5m", "5 MIN", "5 min", 300),
    span("15m", "15 MIN", "15 min", 900),
    span("30m", "30 MIN", "30 min", 1800),
    span("1h", "1 HOUR", "1 hour", 3600),
    span("2h", "2 HOURS", "2 hours", 2 * 3600),
    span("3h", "3 HOURS", "3 hours", 3 * 3600),
    span("6h", "6 HOURS", "6 hours", 6 * 3600),
    span("12h", "12 HOURS", "12 hours", 12 * 3600),
    span("1d", "1 DAY", "1 day", 86_400),
    span("1w", "1 WEEK", "1 week", 7 * 86_400),
    span("30d", "30 DAYS", "30 days", 30 * 86_400),
];

/// The span of the charts, and the cursor of the panel's chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// The index in [`SPANS`].
    index: usize,
    /// The time of the cursor on the monotonic clock, if there is a cursor.
    cursor: Option<Duration>,
    /// The span is longer than the chosen one, so that it covers the growth.
    is_auto: bool,
}

/// The time that a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its end on the monotonic clock.
    pub end: Duration,
    pub span: Duration,
    /// The column of the cursor.
    pub cursor: Option<usize>,
}

impl Chart {
    /// Returns a chart over the span with that id, or the shortest if there is none.
    pub fn over(id: &str) -> Self {
        Self {
            index: SPANS.iter().position(|span| span.id == id).unwrap_or(0),
            cursor: None,
            is_auto: false,
        }
    }

    pub const fn span(&self) -> &'static Span {
        &SPANS[self.index]
    }

    /// Returns a chart without a cursor over the same span, or a longer one that covers `time`.
    #[must_use]
    pub fn covering(&self, time: Duration) -> Self {
        let longer = SPANS.iter().position(|span| span.time >= time);
        let index = longer.unwrap_or(SPANS.len() - 1).max(self.index);
        Self {
            index,
            cursor: None,
            is_auto: index > self.index,
        }
    }

    /// Returns the name of the span for a sentence, `2 hours`, and whether it is not the one that was chosen: `2 hours (auto)`.
    pub fn name(&self) -> Cow<'static, str> {
        match self.span().name {
            name if self.is_auto => format!("{name} (auto)").into(),
            name => name.into(),
        }
    }

    /// Returns the time of the cursor on the monotonic clock.
    pub const fn cursor(&self) -> Option<Duration> {
        self.cursor
    }

    pub const fn has_cursor(&self) -> bool {
        self.cursor.is_some()
    }

    /// Switches to the next longer or shorter span; returns false if there is none. The time under the cursor stays on screen.
    pub(super) fn zoom(&mut self, out: bool) -> bool {
        let index = if out {
            (self.index + 1).min(SPANS.len() - 1)
        } else {
            self.index.saturating_sub(1)
        };
        std::mem::replace(&mut self.index, index) != index
    }

    /// Removes the cursor; returns false if there was none.
    pub(super) const fn remove_cursor(&mut self) -> bool {
        self.cursor.take().is_some()
    }

    /// Moves the cursor by some of `width` columns. It appears and disappears at the right edge.
    pub(super) fn step(&mut self, columns: i32, now: Duration, width: usize) {
        let cell = self.span().time / u32::try_from(width.max(1)).unwrap_or(u32::MAX);
        let by = cell.saturating_mul(columns.unsigned_abs());
        let at = self.cursor.unwrap_or(now);
        let at = if columns < 0 {
            at.saturating_sub(by)
        } else {
            at.saturating_add(by)
        };
        // Within half a column of the edge, it leaves.
        self.cursor = (at + cell / 2 < now || columns < 0).then_some(at.min(now));
    }

    /// Returns the time that a chart of `width` columns shows: up to now, or around the cursor if that is further back.
    pub fn window(&self, now: Duration, width: usize) -> Window {
        let span = self.span().time;
        let end = match self.cursor {
            Some(at) if at + span <= now => (at + span / 2).min(now),
            _ => now,
        };
        let cell = span.as_secs_f64() / width.max(1) as f64;
        let cursor = self.cursor.map(|at| {
            let back = end.saturating_sub(at).as_secs_f64() / cell;
            width.saturating_sub(1 + back.round() as usize)
        });
        Window { end, span, cursor }
    }
}

// The axis at the left of a chart, labelled at round values.
//
//  1.4G ┤          it starts at 0, or at a round value if little changed: then ┄ is below
//       │
//  1.2G ┤
//       │
//  1.0G └┄┄┄

/// Minimum width of a screen for an axis at the left of charts.
const MIN_WIDTH: u16 = 40;
/// Minimum lines between labels.
const LINES: u64 = 2;
/// The axis starts at 0 if the values change by the greatest value divided by this, or more.
const FROM_ZERO: u64 = 3;

/// The values at the bottom and the top of a chart, and the labelled ones from the bottom to the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    pub base: u64,
    pub top: u64,
    pub labels: Vec<u64>,
    /// The unit and the decimals of all labels.
    unit: u64,
    decimals: usize,
}

impl Scale {
    /// Returns a scale of `lines` from `low` to `high` or slightly beyond, over at least `range` bytes.
    pub fn over(low: u64, high: u64, range: u64, lines: u16) -> Self {
        let high = high.max(low.saturating_add(range));
        let low = if high - low >= high / FROM_ZERO { 0 } else { low };
        let unit = unit(high);
        let most = u64::from(lines.max(2));
        let fits = |step: &u64| high.div_ceil(*step) - low / step <= most;
        let step = steps(unit).find(fits).unwrap_or(high.max(1));
        let base = low / step * step;
        let top = high.div_ceil(step).saturating_mul(step);
        let (count, lines) = ((top - base) / step, u64::from(lines));
        let at_line = |n: &u64| (n * lines).is_multiple_of(count.max(1));
        let mut labels: Vec<u64> = (0..=count).filter(at_line).map(|n| base + n * step).collect();
        let mut decimals = decimals(step, unit);
        // The round values between are beside lines: label the middle instead.
        if labels.len() == 2 && lines >= 2 * LINES && lines.is_multiple_of(2) {
            let middle = base + (top - base) / 2;
            labels.insert(1, middle);
            decimals = decimals.max(self::decimals(middle, unit));
        }
        Self {
            base,
            top,
            labels,
            unit,
            decimals,
        }
    }

    /// Returns a scale of `lines` from 0 to `total`, labelled where lines end.
    pub fn whole(total: u64, lines: u16) -> Self {
        let (total, lines) = (total.max(1), u64::from(lines.max(1)));
        let unit = unit(total);
        let apart = (LINES..=lines).find(|n| lines.is_multiple_of(*n)).unwrap_or(lines);
        let share = |line: u64| (u128::from(total) * u128::from(line) / u128::from(lines)) as u64;
        let labels = (0..=lines / apart).map(|n| share(n * apart)).collect();
        Self {
            base: 0,
            top: total,
            labels,
            unit,
            decimals: usize::from(!total.is_multiple_of(unit)),
        }
    }

    /// Returns the height of a value in eighths of a line: at least one, to distinguish it from an unknown one.
    ///
    /// The strokes of the axis are in the middle of their lines, and the bars stand on the line above the stroke of the base. So
    /// bars are half a line lower, to end at the stroke of their value.
    pub fn eighths(&self, value: u64, lines: u16) -> u16 {
        let share = value.saturating_sub(self.base) as f64 / (self.top - self.base).max(1) as f64;
        let stroke = share.min(1.0) * f64::from(lines) * 8.0;
        ((stroke - 4.0).round().max(1.0)) as u16
    }

    pub fn label(&self, value: u64, units: Units) -> String {
        if units != Units::Auto {
            return units::bytes(value, units);
        }
        let suffix = ["B", "K", "M", "G", "T", "P", "E"][self.unit.ilog2() as usize / 10];
        let value = value as f64 / self.unit as f64;
        match value {
            0.0 => "0".into(),
            _ if value >= 99.95 => format!("{value:.0}{suffix}"),
            _ => format!("{value:.*}{suffix}", self.decimals),
        }
    }
}

/// Returns the largest unit up to a value.
fn unit(value: u64) -> u64 {
    1 << (value.max(1).ilog2() / 10 * 10)
}

/// Returns the number of decimals of a value in a unit, two at most.
fn decimals(value: u64, unit: u64) -> usize {
    let hundredths = (value as f64 / unit as f64 * 100.0).round() as u64;
    match hundredths {
        n if n.is_multiple_of(100) => 0,
        n if n.is_multiple_of(10) => 1,
        _ => 2,
    }
}

/// Returns round distances between labels, the least first.
fn steps(unit: u64) -> impl Iterator<Item = u64> {
    let hundredths = (0..6).flat_map(|n| [1, 2, 5].map(|k| k * 10_u128.pow(n)));
    let steps = hundredths.map(move |n| (u128::from(unit) * n / 100).min(u64::MAX.into()) as u64);
    steps.filter(|step| *step > 0)
}

/// Returns the width of the axis at the left of a chart; on a narrow screen, the width of the margin.
pub(super) fn axis_width(screen: u16, units: Units) -> u16 {
    // A margin, the figure, a space and the line.
    if screen < MIN_WIDTH { 1 } else { units.width() + 3 }
}

/// Draws the axis in an area that ends at the chart. Its lowest line is level with the time axis.
pub(super) fn draw_value_axis(scale: &Scale, units: Units, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.width < 2 || area.height < 2 {
        return;
    }
    let x = area.right() - 1;
    let lines = area.height - 1;
    for y in area.top()..area.top() + lines {
        draw_text(buf, x, y, "│", 1, theme.frame);
    }
    draw_text(buf, x, area.bottom() - 1, "└", 1, theme.frame);
    // Label the ends first, then the values between if there is room.
    let (between, last) = scale.labels.split_at(scale.labels.len().saturating_sub(1));
    let mut taken: Vec<u16> = Vec::new();
    for value in between.first().into_iter().chain(last).chain(between.iter().skip(1)) {
        let above = if *value == scale.base {
            0
        } else {
            scale.eighths(*value, lines).div_ceil(8)
        };
        if taken.iter().any(|line| u64::from(line.abs_diff(above)) < LINES) {
            continue;
        }
        taken.push(above);
        let y = area.bottom() - 1 - above;
        let label = scale.label(*value, units);
        let width = usize::from(area.width - 1);
        let at = width.saturating_sub(1 + text::width(&label));
        draw_text(buf, area.x + at as u16, y, &label, width - at, theme.dim);
        if above > 0 {
            draw_text(buf, x, y, "┤", 1, theme.frame);
        }
    }
}

/// Returns the columns of a chart on a screen of that width, without the axis and a space at the right edge.
pub(super) fn chart_width(width: u16, units: Units) -> usize {
    usize::from(width.saturating_sub(1 + axis_width(width, units)))
}
