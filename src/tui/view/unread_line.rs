//! The line about what the user may not read, and how to see more.
//!
//! ```text
//!  317 of 318 shown by RSS (≤), 5 more unreadable: for PSS run as root, or grant CAP_PERFMON
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::widgets::StatusLine;

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let coverage = &app.rows.coverage;
    let hidden = coverage.hidden - coverage.pending;
    let by_rss = hidden.saturating_sub(coverage.unseen);
    let mut line = StatusLine::default();
    if by_rss > 0 {
        let text = format!(" {by_rss} of {} shown by RSS (≤)", coverage.total());
        line.text(90, text, theme.dim);
    }
    if coverage.unseen > 0 {
        let comma = if by_rss > 0 { "," } else { "" };
        line.text(80, format!("{comma} {} more unreadable", coverage.unseen), theme.dim);
    }
    line.text(95, ": for PSS run as root", theme.dim);
    line.text(70, format!(", or grant {}", app.privilege.capability), theme.dim);
    line.draw(area, buf);
}
