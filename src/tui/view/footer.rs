//! The last line: the keys, or how something went, or how far a scan is.
//!
//! ```text
//!  / filter  Tab group  s sort  M PSS  …  ? help  q quit
//!  reading mappings ████████░░░░░░░░░░░░ 120 of 412 processes   Esc stop
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::config::{Action, Context};
use crate::tui::app::{App, Hint, ScanProgress};
use crate::tui::scope::Scope;
use crate::tui::widgets::{StatusLine, draw_line};

/// The keys of the table, the most needed first.
const TABLE_KEYS: &[Hint] = &[
    Hint::Action(Action::Filter, "filter"),
    Hint::Action(Action::Open, "open"),
    Hint::Action(Action::Panel, "panel"),
    Hint::Action(Action::Back, "back"),
    Hint::Action(Action::Mappings, "read again"),
    Hint::Action(Action::NextGroups, "group"),
    Hint::Action(Action::SortMenu, "sort"),
    Hint::Action(Action::SortPss, "PSS"),
    Hint::Action(Action::SortSwap, "swap"),
    Hint::Action(Action::Leaks, "leaks"),
    Hint::Action(Action::SortGrowth, "trend"),
    Hint::Action(Action::Users, "user"),
    Hint::Action(Action::Tree, "tree"),
    Hint::Action(Action::Fold, "fold"),
    Hint::Action(Action::TwoTables, "two tables"),
    Hint::Action(Action::Columns, "columns"),
    Hint::Action(Action::Tag, "tag"),
    Hint::Action(Action::Signal, "signal"),
    Hint::Action(Action::Freeze, "freeze"),
    Hint::Action(Action::Pause, "pause"),
    Hint::Action(Action::Save, "save"),
    Hint::Action(Action::Help, "help"),
    Hint::Action(Action::Quit, "quit"),
];

/// The width of the bar that shows how far a scan is.
const BAR_WIDTH: usize = 20;

/// Draws the line. A prompt draws over it.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    if area.is_empty() {
        return;
    }
    if let Some(message) = &app.screen.message {
        let style = if message.bad { theme.error } else { theme.text };
        return draw_line(buf, area, &format!(" {}", message.text), style);
    }
    match (&app.modal, app.requests.scan) {
        (None, Some(scan)) => draw_progress(app, scan, area, buf),
        (None, None) => draw_hints(app, Context::Table, TABLE_KEYS, area, buf),
        (Some(modal), _) => draw_hints(app, modal.context(), modal.hints(), area, buf),
    }
}

fn draw_hints(app: &App, context: Context, hints: &[Hint], area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    for (at, hint) in (0_u8..).zip(hints) {
        let (key, label, priority) = match *hint {
            // Typed keys stand first, and stay.
            Hint::Key(key, label) => (key.to_owned(), label, 98),
            Hint::Action(action, _) if context == Context::Table && is_idle(app, action) => continue,
            Hint::Action(action, label) => {
                let Some(key) = app.config.keymap.shown_key(context, action) else {
                    continue;
                };
                let label = match action {
                    Action::Open if picks(app) => "pick",
                    Action::Open if app.shows_panel() && app.query.scope.lists_processes() => "close",
                    _ => label,
                };
                // Help and quit stay longest.
                let stays = matches!(action, Action::Help | Action::Quit | Action::Cancel);
                (key.to_string(), label, if stays { 99 } else { 90 - at })
            }
        };
        let (key, label) = (format!(" {key} "), format!("{label} "));
        line.labeled(priority, &key, theme.key, label, theme.key_label);
    }
    line.draw(area, buf);
}

/// Returns true if Enter chooses what is selected.
const fn picks(app: &App) -> bool {
    app.screen.picking && app.query.scope.lists_processes()
}

/// Returns true if an action does nothing with the rows that are shown.
const fn is_idle(app: &App, action: Action) -> bool {
    let scope = &app.query.scope;
    match action {
        Action::Fold => !app.query.shows_tree(),
        Action::Open => !matches!(scope, Scope::Groups(_)) && !app.shows_panel() && !picks(app),
        Action::Panel => !matches!(scope, Scope::Groups(_)),
        Action::Back => matches!(scope, Scope::Processes | Scope::Groups(_)),
        Action::Mappings => !app.query.shows_mappings(),
        Action::Signal => app.config.settings.ui.readonly || app.query.shows_mappings(),
        _ => false,
    }
}

/// Draws how far the scan of mappings is.
fn draw_progress(app: &App, scan: ScanProgress, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let full = (BAR_WIDTH * scan.done)
        .checked_div(scan.all)
        .unwrap_or(0)
        .min(BAR_WIDTH);
    line.text(70, " reading mappings ", theme.text);
    let bar = vec![
        ("█".repeat(full), theme.bar_anon),
        ("░".repeat(BAR_WIDTH - full), theme.bar_free),
    ];
    line.spans(60, bar);
    line.text(80, format!(" {} of {} processes ", scan.done, scan.all), theme.text);
    if let Some(key) = app.config.keymap.shown_key(Context::Table, Action::Cancel) {
        line.labeled(90, &format!("  {key} "), theme.key, "stop", theme.key_label);
    }
    line.draw(area, buf);
}
