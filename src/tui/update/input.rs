//! Keys in a line of text.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::search;
use crate::config::Action;
use crate::config::settings::{MAX_INTERVAL, MIN_INTERVAL};
use crate::tui::app::{App, Message, Mode, Prompt};
use crate::tui::event::Effect;
use crate::tui::input::LineEdit;
use crate::tui::rows::rebuild;
use crate::units;

/// A character typed.
pub(super) fn typed(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    if let (KeyCode::Char(c), true) = (key.code, plain) {
        change(app, |line| line.insert(c.encode_utf8(&mut [0; 4])));
    }
    Vec::new()
}

/// Text pasted; nothing where no line is being edited.
pub(super) fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    match app.mode {
        Mode::Input(..) => change(app, |line| line.insert(text)),
        Mode::Act(_) => super::act::paste(app, text),
        Mode::Table | Mode::Popup(_) => {}
    }
    Vec::new()
}

/// Performs an action on the line.
pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    let height = app.rows_shown();
    let page = height.cast_signed();
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Accept => return accept(app),
        Action::Cancel => cancel(app),
        Action::Left => change(app, LineEdit::left),
        Action::Right => change(app, LineEdit::right),
        Action::First => change(app, LineEdit::home),
        Action::Last => change(app, LineEdit::end),
        Action::Delete => change(app, LineEdit::delete),
        Action::DeleteWord => change(app, LineEdit::delete_word),
        Action::DeleteLine => change(app, LineEdit::delete_line),
        Action::Backspace => change(app, |line| {
            line.backspace();
        }),
        Action::Up => app.tables.current_mut().step(-1, height),
        Action::Down => app.tables.current_mut().step(1, height),
        Action::PageUp => app.tables.current_mut().step(-page, height),
        Action::PageDown => app.tables.current_mut().step(page, height),
        Action::SearchNext => search::next(app, 1),
        Action::SearchPrevious => search::next(app, -1),
        _ => {}
    }
    Vec::new()
}

/// Edits the line; the filter and the search take effect while they are typed.
fn change(app: &mut App, edit: impl FnOnce(&mut LineEdit)) {
    let Mode::Input(prompt, line, _) = &mut app.mode else {
        return;
    };
    let before = line.text().to_owned();
    edit(line);
    if before == line.text() {
        return;
    }
    let (prompt, text) = (*prompt, line.text().to_owned());
    match prompt {
        Prompt::Filter => {
            app.query.filter.set(&text);
            rebuild(app);
        }
        Prompt::Search => {
            app.query.search = Some(text.to_lowercase()).filter(|s| !s.is_empty());
            search::here(app);
        }
        Prompt::Interval => {}
    }
}

fn accept(app: &mut App) -> Vec<Effect> {
    let Mode::Input(prompt, line, _) = &app.mode else {
        return Vec::new();
    };
    let (prompt, text) = (*prompt, line.text().to_owned());
    match prompt {
        Prompt::Filter => {
            // One that does not parse stays open, so that it can be mended.
            if app.query.filter.error.is_some() {
                return Vec::new();
            }
            app.mode = Mode::Table;
        }
        Prompt::Search => app.mode = Mode::Table,
        Prompt::Interval => match interval(&text) {
            Ok(interval) => {
                app.mode = Mode::Table;
                app.requests.interval = interval;
            }
            Err(text) => app.screen.message = Some(Message { text, bad: true }),
        },
    }
    Vec::new()
}

/// An interval within its limits, or what is wrong with it.
fn interval(text: &str) -> Result<Duration, String> {
    units::parse_span(text)
        .filter(|d| (MIN_INTERVAL..=MAX_INTERVAL).contains(d))
        .ok_or_else(|| "an interval is 100ms to 1h, such as 500ms, 2s, 1m".into())
}

fn cancel(app: &mut App) {
    let mode = std::mem::replace(&mut app.mode, Mode::Table);
    let Mode::Input(prompt, _, before) = mode else { return };
    match prompt {
        Prompt::Filter => {
            app.query.filter.set(&before);
            rebuild(app);
        }
        Prompt::Search => app.query.search = None,
        Prompt::Interval => {}
    }
}
