//! The machine's memory in use over time, from nothing to all there is.
//!
//! ```text
//!  23.5G │
//!        │            ▁▂▂▃▄▄▅
//!      0 └▇▇▇▇▇▇▇▇▇▇▇▇███████─
//!         5 min ago      b  now
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::time_axis::{self, Axis};
use crate::tui::widgets::{draw_bar, draw_text, line};
use crate::units::{self, Units};

/// The columns of the labels at the left: a margin, a figure, a space and the axis.
const LABELS: u16 = 8;

/// Draws the graph.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let (Ok(total), true) = (snapshot.system.mem_total, area.height > 1 && area.width > LABELS + 1) else {
        return;
    };
    let inside = Rect {
        x: area.x + LABELS,
        width: area.width - LABELS - 1,
        height: area.height - 1,
        ..area
    };
    let top = format!("{:>6} ", units::bytes(total, Units::Auto));
    draw_text(buf, area.x, area.y, &top, usize::from(LABELS), theme.dim);
    let zero = line(area, area.height - 2);
    draw_text(buf, area.x, zero.y, "     0 ", usize::from(LABELS), theme.dim);
    for y in inside.top()..inside.bottom() {
        draw_text(buf, inside.x - 1, y, "│", 1, theme.frame);
    }
    let window = app.screen.chart.window(snapshot.monotonic, usize::from(inside.width));
    let series = app.engine.history.system().mem();
    let bands = series.bands(window.end, window.span, usize::from(inside.width));
    let eighths = f64::from(inside.height) * 8.0;
    let filled = |value: u64| ((value as f64 / total.max(1) as f64) * eighths).round().min(eighths) as u16;
    for (x, band) in (inside.x..).zip(&bands) {
        if let Some(band) = band {
            let column = Rect { x, width: 1, ..inside };
            draw_bar(buf, column, filled(band.last).max(1), theme.chart);
        }
    }
    let axis = Axis {
        end: window.end,
        span: window.span,
    };
    time_axis::draw(
        app,
        snapshot,
        axis,
        Rect {
            y: inside.bottom(),
            height: 1,
            ..inside
        },
        buf,
    );
}
