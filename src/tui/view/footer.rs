//! The last line: the keys, how something went, or the line being edited.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::strip::Strip;
use crate::config::{Action, Context};
use crate::text::{self, Align};
use crate::tui::app::{App, Mode, Prompt};
use crate::tui::input::LineEdit;
use crate::tui::mappings::Scan;
use crate::tui::popup::Popup;
use crate::tui::scope::Scope;

/// Draws the line; returns where the terminal's cursor belongs.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    if let Mode::Input(prompt, line, _) = &app.mode {
        return Some(edit(app, *prompt, line, area, buf));
    }
    let theme = &app.config.theme;
    if let Some(message) = &app.screen.message {
        let style = if message.bad { theme.error } else { theme.text };
        buf.set_stringn(
            area.x,
            area.y,
            format!(" {}", message.text),
            usize::from(area.width),
            style,
        );
        return None;
    }
    if let (Some(scan), Mode::Table) = (app.requests.scan, &app.mode) {
        progress(app, scan, area, buf);
        return None;
    }
    let (context, keys): (Context, &[(Action, &str)]) = match &app.mode {
        Mode::Popup(Popup::Columns(..)) => (Context::List, CHOOSER_KEYS),
        Mode::Popup(Popup::Help(_) | Popup::Alerts(_)) => (Context::List, HELP_KEYS),
        Mode::Popup(_) => (Context::List, LIST_KEYS),
        Mode::Act(dialog) => (Context::Input, super::act::keys(dialog)),
        _ => (Context::Table, TABLE_KEYS),
    };
    let mut strip = Strip::default();
    super::act::own_keys(app, &mut strip);
    for (at, (action, label)) in keys.iter().enumerate() {
        let idle = match action {
            Action::Fold => !app.query.shows_tree(),
            Action::Open => !matches!(app.query.scope, Scope::Groups(_)) && !app.shows_panel(),
            Action::Panel => !matches!(app.query.scope, Scope::Groups(_)),
            Action::Back => matches!(app.query.scope, Scope::Processes | Scope::Groups(_)),
            Action::Mappings => !matches!(app.query.scope, Scope::Mappings(_)),
            Action::Signal => app.config.settings.ui.readonly || matches!(app.query.scope, Scope::Mappings(_)),
            _ => false,
        };
        if idle {
            continue;
        }
        let Some(key) = app
            .config
            .keymap
            .keys(context, *action)
            .find(|k| k.to_string().len() == 1)
            .or_else(|| app.config.keymap.keys(context, *action).next())
        else {
            continue;
        };
        // Help and quit stay longest.
        let need = if matches!(action, Action::Help | Action::Quit | Action::Cancel) {
            99
        } else {
            90 - at as u8
        };
        strip.add(
            need,
            vec![
                (format!(" {key} "), theme.key),
                (
                    match action {
                        Action::Open if app.shows_panel() && app.query.scope.lists_processes() => "close ".into(),
                        _ => format!("{label} "),
                    },
                    theme.key_label,
                ),
            ],
        );
    }
    strip.draw(area, buf);
    None
}

const TABLE_KEYS: &[(Action, &str)] = &[
    (Action::Filter, "filter"),
    (Action::Open, "open"),
    (Action::Panel, "panel"),
    (Action::Back, "back"),
    (Action::Mappings, "read again"),
    (Action::NextGroups, "group"),
    (Action::SortMenu, "sort"),
    (Action::SortPss, "PSS"),
    (Action::SortSwap, "swap"),
    (Action::Leaks, "leaks"),
    (Action::SortGrowth, "trend"),
    (Action::Users, "user"),
    (Action::Tree, "tree"),
    (Action::Fold, "fold"),
    (Action::TwoTables, "two tables"),
    (Action::Columns, "columns"),
    (Action::Tag, "tag"),
    (Action::Signal, "signal"),
    (Action::Freeze, "freeze"),
    (Action::Pause, "pause"),
    (Action::Save, "save"),
    (Action::Help, "help"),
    (Action::Quit, "quit"),
];
/// How wide the bar of that is.
const BAR: usize = 20;

/// How far the reading of mappings is: ` reading mappings ████░░░░ 120 of 412 processes   Esc break off`.
fn progress(app: &App, scan: Scan, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut strip = Strip::default();
    let full = (BAR * scan.done).checked_div(scan.all).unwrap_or(0).min(BAR);
    strip.text(70, " reading mappings ", theme.text);
    strip.add(
        60,
        vec![
            ("█".repeat(full), theme.bar_anon),
            ("░".repeat(BAR - full), theme.bar_free),
        ],
    );
    strip.text(80, format!(" {} of {} processes ", scan.done, scan.all), theme.text);
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Cancel).next() {
        strip.add(
            90,
            vec![(format!("  {key} "), theme.key), ("break off".into(), theme.key_label)],
        );
    }
    strip.draw(area, buf);
}

const LIST_KEYS: &[(Action, &str)] = &[(Action::Accept, "choose"), (Action::Cancel, "close")];
const HELP_KEYS: &[(Action, &str)] = &[
    (Action::Down, "down"),
    (Action::Up, "up"),
    (Action::PageDown, "page"),
    (Action::Cancel, "close"),
];
const CHOOSER_KEYS: &[(Action, &str)] = &[
    (Action::Toggle, "show or hide"),
    (Action::MoveUp, "left"),
    (Action::MoveDown, "right"),
    (Action::Accept, "keep"),
    (Action::Cancel, "take back"),
];

/// The label of the line being edited.
fn label(prompt: Prompt) -> &'static str {
    match prompt {
        Prompt::Filter => " Filter ",
        Prompt::Search => " Search ",
        Prompt::Interval => " Interval ",
    }
}

/// What is said of the line being edited, and whether it is bad.
fn note(app: &App, prompt: Prompt) -> (String, bool) {
    match (prompt, &app.query.filter.error, &app.screen.message) {
        (Prompt::Filter, Some(error), _) => (error.to_string(), true),
        (_, _, Some(message)) => (message.text.clone(), message.bad),
        (Prompt::Filter, ..) => (format!("{} match", app.rows.matching), false),
        (Prompt::Search, ..) if app.query.search.is_some() => ("Enter keeps it, then n and N".into(), false),
        (Prompt::Interval, ..) => ("100ms to 1h".into(), false),
        (Prompt::Search, ..) => (String::new(), false),
    }
}

/// Where on the line a fault of the filter lies, in columns from the screen's left edge.
fn fault_column(app: &App, line: &LineEdit, area: Rect) -> Option<u16> {
    let error = app.query.filter.error.as_ref()?;
    let before: String = line.text().chars().take(error.at).collect();
    let (x, from) = window(Prompt::Filter, line, area);
    let column = text::width(&before).checked_sub(from)?;
    Some(x.saturating_add(u16::try_from(column).ok()?)).filter(|x| *x < area.right())
}

/// Where the text begins on screen, and how many of its columns are scrolled away: the cursor stays in sight.
fn window(prompt: Prompt, line: &LineEdit, area: Rect) -> (u16, usize) {
    let x = (area.x + text::width(label(prompt)) as u16 + 1).min(area.right());
    let room = usize::from(area.right() - x).max(1);
    (x, (line.column() + 1).saturating_sub(room))
}

fn edit(app: &App, prompt: Prompt, line: &LineEdit, area: Rect, buf: &mut Buffer) -> Position {
    let theme = &app.config.theme;
    buf.set_style(area, theme.input);
    buf.set_stringn(area.x, area.y, label(prompt), usize::from(area.width), theme.key);
    let (x, from) = window(prompt, line, area);
    let room = usize::from(area.right() - x);
    let end = buf
        .set_stringn(x, area.y, text::skip(line.text(), from), room, theme.input)
        .0;
    if let Some(spot) = fault_column(app, line, area).filter(|_| prompt == Prompt::Filter) {
        buf.set_style(Rect::new(spot, area.y, 1, 1), theme.error);
    }
    let (note, bad) = note(app, prompt);
    let left = usize::from(area.right().saturating_sub(end)).saturating_sub(2);
    let style: Style = if bad { theme.error } else { theme.dim };
    let note = text::fit(&note, text::width(&note).min(left), Align::Left);
    // What is wrong stands in the line above, at its place; here only where there is no such line.
    if !(bad && prompt == Prompt::Filter && !app.layout().detail.is_empty()) {
        buf.set_stringn(end.saturating_add(2).min(area.right()), area.y, note, left, style);
    }
    let cursor = u16::try_from(line.column() - from).unwrap_or(0);
    Position::new(x.saturating_add(cursor).min(area.right().saturating_sub(1)), area.y)
}

/// The line above one whose filter does not parse: points at the place and says what is wrong there.
pub(super) fn fault(app: &App, area: Rect, buf: &mut Buffer) -> bool {
    let Mode::Input(Prompt::Filter, line, _) = &app.mode else {
        return false;
    };
    let (Some(error), false) = (&app.query.filter.error, area.is_empty()) else {
        return false;
    };
    let style = app.config.theme.error;
    let words = error.what.as_str();
    match fault_column(app, line, area) {
        Some(x) if usize::from(area.right() - x) > text::width(words) + 2 => {
            buf.set_stringn(x, area.y, format!("▾ {words}"), usize::from(area.right() - x), style);
        }
        // No room to the right of the place: the words end at it.
        Some(x) => {
            let room = usize::from(x - area.x);
            let text = text::fit(&format!(" {words} "), room, Align::Right);
            buf.set_stringn(area.x, area.y, text, room, style);
            buf.set_stringn(x, area.y, "▾", 1, style);
        }
        None => {
            buf.set_stringn(area.x, area.y, format!(" {words}"), usize::from(area.width), style);
        }
    }
    true
}
