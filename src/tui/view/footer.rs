//! The last line: the keys, or how something went, or how far a scan is. A prompt draws over it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::hints;
use crate::tui::widgets::draw_line;

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    match &app.screen.message {
        _ if area.is_empty() => {}
        Some(message) => {
            let style = if message.bad { theme.error } else { theme.text };
            draw_line(buf, area, &format!(" {}", message.text), style);
        }
        None => hints::line(app).0.draw(area, buf),
    }
}
