//! The line about what the user may not read, and how to see more.
//!
//! ```text
//!  317 processes shown by RSS (≤), 5 not at all: for PSS run as root, or grant CAP_PERFMON
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::widgets::StatusLine;
use crate::units::counted;

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let coverage = &app.rows.coverage;
    let dashes = coverage.hidden - coverage.pending - coverage.by_rss;
    let mut line = StatusLine::default();
    let processes = |n: usize| counted(n as u64, "process");
    if coverage.by_rss > 0 {
        line.text(
            90,
            format!(" {} shown by RSS (≤)", processes(coverage.by_rss)),
            theme.dim,
        );
    }
    match (coverage.by_rss, dashes) {
        (_, 0) => {}
        (0, _) => line.text(80, format!(" {} not readable", processes(dashes)), theme.dim),
        _ => line.text(80, format!(", {dashes} not at all"), theme.dim),
    }
    line.text(95, ": for PSS run as root", theme.dim);
    line.text(70, format!(", or grant {}", app.privilege.capability), theme.dim);
    line.draw(area, buf);
}
