//! The line about what the user may not read, and how to see more.
//!
//! ```text
//!  317 processes by RSS (≤), 5 not at all: PSS needs root or CAP_PERFMON  ? shows the commands
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::config::{Action, Context};
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
        line.text(90, format!(" {} by RSS (≤)", processes(coverage.by_rss)), theme.dim);
    }
    match (coverage.by_rss, dashes) {
        (_, 0) => {}
        (0, _) => line.text(80, format!(" {} not readable", processes(dashes)), theme.dim),
        _ => line.text(80, format!(", {dashes} not at all"), theme.dim),
    }
    line.text(95, ": PSS needs root", theme.dim);
    line.text(70, format!(" or {}", app.privilege.capability), theme.dim);
    if let Some(key) = app.config.keymap.shown_key(Context::Table, Action::Help) {
        line.labeled(
            75,
            &format!("  {key}"),
            theme.key,
            " shows the commands",
            theme.key_label,
        );
    }
    line.draw(area, buf);
}
