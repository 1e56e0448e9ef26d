//! The axis at the left of a chart: the values that its lines stand for, at round figures where it need not end at one.
//!
//! ```text
//!  1.4G ┤          from nothing, or where little changed from a round value: ┄ below says that it is not 0
//!       │
//!  1.2G ┤
//!       │
//!  1.0G └┄┄┄
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::widgets::draw_text;
use crate::config::Theme;
use crate::text;
use crate::units::{self, Units};

/// The width of a screen from which on charts have an axis at the left: below it every column is needed for the chart.
const MIN_WIDTH: u16 = 40;
/// Lines to a label, at least.
const LINES: u64 = 2;
/// Change, as a share of the greatest value, from which on the axis starts at nothing.
const FROM_ZERO: u64 = 3;

/// The values at the bottom and the top of a chart, and the round ones between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The value at the bottom.
    pub base: u64,
    /// The value at the top.
    pub top: u64,
    /// The values that are labelled, from the bottom to the top.
    pub labels: Vec<u64>,
    /// The unit of all labels, and how many decimals they have.
    unit: u64,
    decimals: usize,
}

impl Scale {
    /// Returns a scale over these values and a little more, of at least `range` bytes, in so many lines.
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
        // A label beside the line that it is of would tell lies about all heights near it.
        if labels.len() == 2 && lines >= 2 * LINES && lines.is_multiple_of(2) {
            let middle = base + (top - base) / 2;
            labels.insert(1, middle);
            decimals = decimals.max(decimals_of(middle, unit));
        }
        Self {
            base,
            top,
            labels,
            unit,
            decimals,
        }
    }

    /// Returns a scale from nothing to `total`, in so many lines, labelled where lines end: a round value between would stand
    /// beside another one.
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
            decimals: decimals(total, unit).min(1),
        }
    }

    /// Returns how high a value stands in so many lines, in eighths of a line: at least one, to be told from none at all.
    ///
    /// The strokes of the axis, that of nothing too, are in the middle of their lines, and the bars stand on the line above
    /// that: they are half a line lower, so that one ends at the stroke of its value.
    pub fn eighths(&self, value: u64, lines: u16) -> u16 {
        let share = value.saturating_sub(self.base) as f64 / (self.top - self.base).max(1) as f64;
        let stroke = share.min(1.0) * f64::from(lines) * 8.0;
        ((stroke - 4.0).round().max(1.0)) as u16
    }

    /// Returns the label of a value.
    pub fn label(&self, value: u64, units: Units) -> String {
        if units != Units::Auto {
            return units::bytes(value, units);
        }
        let suffix = match self.unit.ilog2() / 10 {
            0 => "B",
            1 => "K",
            2 => "M",
            3 => "G",
            4 => "T",
            5 => "P",
            _ => "E",
        };
        let value = value as f64 / self.unit as f64;
        match value {
            0.0 => "0".into(),
            _ if value >= 99.95 => format!("{value:.0}{suffix}"),
            _ => format!("{value:.*}{suffix}", self.decimals),
        }
    }
}

/// Returns the largest unit that is not more than a value.
fn unit(value: u64) -> u64 {
    1 << (value.max(1).ilog2() / 10 * 10)
}

/// Returns the decimals that multiples of a step have in that unit.
const fn decimals(step: u64, unit: u64) -> usize {
    match step {
        step if step.is_multiple_of(unit) => 0,
        step if step >= unit / 10 => 1,
        _ => 2,
    }
}

/// Returns the decimals that tell a value in that unit, two at most.
fn decimals_of(value: u64, unit: u64) -> usize {
    let hundredths = (value as f64 / unit as f64 * 100.0).round() as u64;
    match hundredths {
        n if n.is_multiple_of(100) => 0,
        n if n.is_multiple_of(10) => 1,
        _ => 2,
    }
}

/// Returns round distances of labels in that unit, the least first.
fn steps(unit: u64) -> impl Iterator<Item = u64> {
    let hundredths = (0..6).flat_map(|n| [1, 2, 5].map(|k| k * 10_u128.pow(n)));
    let steps = hundredths.map(move |n| (u128::from(unit) * n / 100).min(u64::MAX.into()) as u64);
    steps.filter(|step| *step > 0)
}

/// Returns the columns that the axis takes at the left of a screen of that width: none where that is narrow.
pub(super) fn width(screen: u16, units: Units) -> u16 {
    // A margin, the figure, a space and the line.
    if screen < MIN_WIDTH { 1 } else { units.width() + 3 }
}

/// Draws the axis in an area that ends at the chart, the lowest line of which is that of the time axis.
pub(super) fn draw(scale: &Scale, units: Units, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.width < 2 || area.height < 2 {
        return;
    }
    let x = area.right() - 1;
    let lines = area.height - 1;
    for y in area.top()..area.top() + lines {
        draw_text(buf, x, y, "│", 1, theme.frame);
    }
    draw_text(buf, x, area.bottom() - 1, "└", 1, theme.frame);
    // The ends are labelled first, and what lies between them where there is room.
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
