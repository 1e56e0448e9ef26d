//! The line below a chart: when its left and its right edge were, and what happened between.
//!
//! ```text
//!  5 min ago ────────b────────────!──── now
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::widgets::draw_text;
use crate::alert::Transition;
use crate::model::Snapshot;
use crate::text;
use crate::units;

/// The time that a chart spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Its right edge, on the snapshots' monotonic clock.
    pub(super) end: Duration,
    /// Its length.
    pub(super) span: Duration,
}

/// Draws the line: `b` where the mark was set, `!` where an alert fired.
pub(super) fn draw(app: &App, snapshot: &Snapshot, axis: Axis, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    draw_text(buf, area.x, area.y, &"─".repeat(width), width, theme.frame);
    let mark = app.data.marks.current();
    let marks = mark.map(|mark| (snapshot.monotonic.saturating_sub(mark.age(snapshot)), "b", theme.title));
    let fired = app.engine.alerts.events().iter();
    let fired = fired.filter(|event| event.transition == Transition::Fired);
    let alerts = fired.map(|event| (event.monotonic, "!", theme.alert));
    for (at, sign, style) in marks.into_iter().chain(alerts) {
        let Some(back) = axis.end.checked_sub(at).filter(|back| *back < axis.span) else {
            continue;
        };
        let column = (back.as_secs_f64() / axis.span.as_secs_f64() * width as f64) as usize;
        let x = area.right() - 1 - column.min(width - 1) as u16;
        draw_text(buf, x, area.y, sign, 1, style);
    }

    let ago = |at: Duration| match snapshot.monotonic.saturating_sub(at) {
        past if past <= snapshot.interval => "now".to_owned(),
        past => format!("{} ago", units::span(past)),
    };
    let end = ago(axis.end);
    let start = match &*end {
        "now" => format!("{} ago", app.screen.chart.span().name),
        _ => ago(axis.end.saturating_sub(axis.span)),
    };
    draw_text(buf, area.x, area.y, &format!("{start} "), width, theme.dim);
    let end = format!(" {end}");
    let at = width.saturating_sub(text::width(&end));
    draw_text(buf, area.x + at as u16, area.y, &end, width - at, theme.dim);
}
