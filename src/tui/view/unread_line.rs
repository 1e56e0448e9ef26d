//! The line about what the user may not read, and how to see more.
//!
//! ```text
//!  PSS of 317 processes needs root or CAP_PERFMON  ? shows the commands
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
    let hidden = counted((coverage.hidden - coverage.pending) as u64, "process");
    let mut line = StatusLine::default();
    line.text(90, format!(" PSS of {hidden} needs root"), theme.dim);
    line.text(70, format!(" or {}", app.privilege.capability), theme.dim);
    if coverage.by_rss > 0 && !app.is_blind() {
        line.text(80, ", ≤ is its RSS", theme.dim);
    }
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
