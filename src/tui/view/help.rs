//! The help, drawn from the keymap, the table of columns and the filter's own examples.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::columns::COLUMNS;
use crate::config::Context;
use crate::tui::app::App;
use crate::{filter, text};

/// A line of the help: a heading, or a term and what it means.
pub(super) enum HelpLine {
    /// A heading.
    Heading(&'static str),
    /// A term and a line about it.
    Entry(String, String),
}

/// Where what is said of a term begins.
const TERM: usize = 22;

/// Every line, for a popup whose inside is `width` wide.
pub(super) fn lines(app: &App, width: usize) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    let mut section = |title: &'static str, entries: Vec<(String, String)>| {
        lines.push(HelpLine::Heading(title));
        for (term, about) in entries {
            // A long term has the line to itself.
            let (first, rest) = if text::width(&term) < TERM - 1 {
                (term, None)
            } else {
                (String::new(), Some(term))
            };
            lines.extend(rest.map(|t| HelpLine::Entry(t, String::new())));
            for (at, line) in wrap(&about, width.saturating_sub(TERM + 1)).into_iter().enumerate() {
                lines.push(HelpLine::Entry(
                    if at == 0 { first.clone() } else { String::new() },
                    line,
                ));
            }
        }
        lines.push(HelpLine::Entry(String::new(), String::new()));
    };
    let keys = |context: Context| -> Vec<(String, String)> {
        let readonly = app.config.settings.ui.readonly;
        let bindings = app.config.keymap.bindings.iter();
        let bindings = bindings.filter(|b| b.context == context && !(readonly && b.run.acts()));
        bindings
            .map(|b| {
                let keys: Vec<String> = b.on.iter().map(ToString::to_string).collect();
                (keys.join(" "), b.desc.clone())
            })
            .collect()
    };
    section("KEYS", keys(Context::Table));
    section(
        "FILTER",
        filter::help()
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect(),
    );
    section(
        "COLUMNS",
        COLUMNS
            .iter()
            .map(|c| (format!("{} ({})", c.title, c.id), c.help.to_owned()))
            .collect(),
    );
    section("IN MENUS", keys(Context::List));
    section("IN A LINE OF TEXT", keys(Context::Input));
    lines
}

/// Breaks text into lines of at most `width` columns, at spaces; a longer word is cut.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if text::width(line) + 1 + text::width(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Draws the lines from `from` on.
pub(super) fn draw(app: &App, from: usize, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let width = usize::from(area.width);
    let all = lines(app, width);
    for (at, line) in all.iter().skip(from).take(usize::from(area.height)).enumerate() {
        let y = area.y + at as u16;
        match line {
            HelpLine::Heading(title) => {
                buf.set_stringn(area.x + 1, y, title, width.saturating_sub(1), theme.title);
            }
            HelpLine::Entry(term, about) => {
                buf.set_stringn(area.x + 1, y, term, width.saturating_sub(1), theme.key);
                let x = area.x.saturating_add(TERM as u16);
                if x < area.right() {
                    buf.set_stringn(x, y, about, usize::from(area.right() - x), theme.popup);
                }
            }
        }
    }
}
