//! The machine's memory in use over time, from nothing to all there is.
//!
//! ```text
//!  23.5G ┤
//!        │            ▁▂▂▃▄▄▅
//!      0 └5 min ago ── 4m ── 3m ──b mark ── 1m ──── now
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::time_axis::{self, Axis};
use crate::tui::value_axis::{self, Scale};
use crate::tui::widgets::draw_bar;

/// Draws the graph.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let gutter = value_axis::width(area.width, app.screen.units);
    let (Ok(total), true) = (snapshot.system.mem_total, area.height > 1 && area.width > gutter + 1) else {
        return;
    };
    let inside = Rect {
        x: area.x + gutter,
        width: area.width - gutter - 1,
        height: area.height - 1,
        ..area
    };
    let scale = Scale::whole(total, inside.height);
    value_axis::draw(&scale, app.screen.units, theme, Rect { width: gutter, ..area }, buf);
    let window = app.screen.chart.window(snapshot.monotonic, usize::from(inside.width));
    let series = app.engine.history.system().mem();
    let bands = series.bands(window.end, window.span, usize::from(inside.width));
    for (x, band) in (inside.x..).zip(&bands) {
        if let Some(band) = band {
            let column = Rect { x, width: 1, ..inside };
            draw_bar(buf, column, scale.eighths(band.last, inside.height), theme.chart);
        }
    }
    let axis = Axis {
        end: window.end,
        span: window.span,
        is_cut: false,
    };
    let below = Rect {
        height: area.height,
        ..inside
    };
    time_axis::draw(app, snapshot, axis, &time_axis::common(app, snapshot), below, buf);
}
