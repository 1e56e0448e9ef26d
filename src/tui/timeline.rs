//! The time line of a replay: the machine's memory over the whole recording, and its events.
//!
//! ```text
//!  11-20 21:00 ▁▁▂▂▂▃▃▃▄▄▅▅▆▆▇▇█▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃ 09:14
//!                         !    ✖       ▲ 03:12:05
//! ```
//!
//! The height is the share of the RAM that is not available, at its highest in the time of a column. The played part is brighter.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::app::App;
use super::replay::Timeline;
use super::widgets::draw_text;
use crate::config::Theme;
use crate::record::IncidentKind;
use crate::text;

const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A longer recording has dates at its ends.
const DAY: Duration = Duration::from_secs(86_400);

/// The area of the columns, and the time that they span.
struct Axis {
    area: Rect,
    first: SystemTime,
    last: SystemTime,
    /// The labels of both ends.
    ends: [String; 2],
}

impl Axis {
    /// Returns `None` if there is no recording, or no room.
    fn new(app: &App, timeline: &Timeline) -> Option<Self> {
        let lines = app.layout().timeline;
        let (first, last) = timeline.span()?;
        let is_long = last.duration_since(first).unwrap_or_default() >= DAY;
        let format = if is_long { "%m-%d %H:%M" } else { "%H:%M:%S" };
        let ends = [first, last].map(|time| local(app, time, format));
        let [left, right] = ends.each_ref().map(|end| text::width(end) as u16 + 2);
        let width = lines.width.checked_sub(left + right).filter(|width| *width >= 10)?;
        let area = Rect::new(lines.x + left, lines.y, width, lines.height);
        (!area.is_empty()).then_some(Self {
            area,
            first,
            last,
            ends,
        })
    }

    /// Returns the column of a time; the nearest one if it is outside.
    fn column(&self, time: SystemTime) -> u16 {
        let span = self.last.duration_since(self.first).unwrap_or_default().as_secs_f64();
        let since = time.duration_since(self.first).unwrap_or_default().as_secs_f64();
        let width = f64::from(self.area.width);
        let column = if span > 0.0 { since / span * width } else { 0.0 };
        (column as u16).min(self.area.width - 1)
    }

    /// Returns the time of the middle of a column of the screen. The first column is the beginning, and the last one the end.
    fn time(&self, x: u16) -> SystemTime {
        let column = x.saturating_sub(self.area.x).min(self.area.width - 1);
        let span = self.last.duration_since(self.first).unwrap_or_default();
        let share = match column {
            0 => 0.0,
            column if column == self.area.width - 1 => 1.0,
            column => (f64::from(column) + 0.5) / f64::from(self.area.width),
        };
        self.first + span.mul_f64(share)
    }

    /// Returns the highest share of the RAM in use in each column, in eighths; `None` where nothing was recorded.
    fn heights(&self, timeline: &Timeline) -> Vec<Option<u8>> {
        let mut heights = vec![None; usize::from(self.area.width)];
        for group in timeline.groups.iter().filter(|group| group.total > 0) {
            let used = group.total.saturating_sub(group.available) as f64 / group.total as f64;
            let height = (used * 8.0).round().clamp(1.0, 8.0) as u8;
            // If the clock was set back within the group, it ends before it begins.
            let ends = [group.from, group.to].map(|time| usize::from(self.column(time)));
            for known in &mut heights[ends[0].min(ends[1])..=ends[0].max(ends[1])] {
                *known = (*known).max(Some(height));
            }
        }
        heights
    }
}

fn local(app: &App, time: SystemTime, format: &str) -> String {
    let time = Timestamp::try_from(time).ok();
    let local = time.map(|time| time.to_zoned(app.screen.zone.clone()));
    local.map_or_else(String::new, |local| local.strftime(format).to_string())
}

/// Returns the time of the recording at a position of the screen, if the time line is there. While the button stays down, any
/// position is on it.
pub(super) fn time_at(app: &App, at: Position, is_dragged: bool) -> Option<SystemTime> {
    let replay = app.replay.as_ref()?;
    let axis = Axis::new(app, &replay.timeline)?;
    (is_dragged || app.layout().timeline.contains(at)).then(|| axis.time(at.x))
}

/// Returns the sign of an event and its style.
const fn sign(kind: IncidentKind, theme: &Theme) -> (&'static str, Style) {
    match kind {
        IncidentKind::Kill => ("✖", theme.killed),
        IncidentKind::Danger => ("!", theme.danger),
        IncidentKind::Stall => ("~", theme.warning),
        IncidentKind::Leak => ("▲", theme.leak),
        IncidentKind::Alert => ("•", theme.alert),
        IncidentKind::Boot => ("┊", theme.title),
    }
}

pub(super) fn draw(app: &App, lines: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(replay) = app.replay.as_ref().filter(|_| !lines.is_empty()) else {
        return;
    };
    let Some(axis) = Axis::new(app, &replay.timeline) else {
        draw_text(
            buf,
            lines.x,
            lines.y,
            " nothing is recorded yet",
            lines.width.into(),
            theme.dim,
        );
        return;
    };
    let area = axis.area.intersection(lines);
    let at = replay.position.map(|time| axis.column(time));
    draw_text(buf, lines.x + 1, area.y, &axis.ends[0], lines.width.into(), theme.dim);
    let end = area.right() + 1;
    let room = lines.right().saturating_sub(end).into();
    draw_text(buf, end, area.y, &axis.ends[1], room, theme.dim);
    for (column, height) in (0..).zip(axis.heights(&replay.timeline)) {
        let style = if at.is_some_and(|at| column <= at) {
            theme.chart
        } else {
            theme.dim
        };
        let symbol = height.map_or("·", |height| BARS[usize::from(height)]);
        draw_text(buf, area.x + column, area.y, symbol, 1, style);
    }
    if let Some(at) = at {
        buf.set_style(Rect::new(area.x + at, area.y, 1, 1), theme.selected);
    }
    if area.height < 2 {
        return;
    }
    let below = area.y + 1;
    for incident in &replay.timeline.incidents {
        let (symbol, style) = sign(incident.kind, theme);
        draw_text(buf, area.x + axis.column(incident.at()), below, symbol, 1, style);
    }
    // Last, so that no sign stands in its time.
    if let (Some(at), Some(time)) = (at, replay.position) {
        draw_pointer(app, &axis, at, time, below, buf);
    }
}

/// Draws the pointer to the position, and its time beside it.
fn draw_pointer(app: &App, axis: &Axis, at: u16, time: SystemTime, y: u16, buf: &mut Buffer) {
    let style = app.config.theme.title;
    let x = axis.area.x + at;
    let time = local(app, time, "%H:%M:%S");
    let width = text::width(&time) as u16;
    draw_text(buf, x, y, "↑", 1, style);
    if x + 2 + width <= axis.area.right() {
        draw_text(buf, x + 2, y, &time, width.into(), style);
    } else {
        draw_text(buf, x.saturating_sub(width + 1), y, &time, width.into(), style);
    }
}
