//! Popups: framed, in the middle of the screen, mostly a list with a cursor.
//!
//! ```text
//! ┌ Title ────────────┐
//! │ HEADING           │   lines of its own above the entries
//! │ entry             │
//! │ entry             │   what is selected stands out
//! │───────────────────│   a note about the selected entry,
//! │ note              │   where there is room
//! └───────────────────┘
//! ```
//!
//! A new popup is a file here with a type that implements [`Popup`], its `mod` line below, and the arm of its key
//! in `update/table.rs`, which opens it.

pub mod alerts;
pub mod columns;
pub mod diagnostics;
pub mod help;
pub mod leaks;
pub mod sort;
pub mod users;

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, Clear};

use super::app::{App, Hint, Modal, Response};
use super::widgets::{ListState, draw_line, line};
use crate::columns::Column;
use crate::config::{Action, Context};
use crate::text;

/// Lines below the entries that explain the selected one: a rule and three lines of text.
const NOTE_LINES: usize = 4;
/// A popup with fewer lines inside has no note, unless all entries have room beside it.
const MIN_LINES_WITH_NOTE: usize = 10;

/// The keys of a list from which an entry is chosen.
const CHOOSE: &[Hint] = &[
    Hint::Action(Action::Accept, "choose"),
    Hint::Action(Action::Cancel, "close"),
];
/// The keys of a list that is only read.
const READ: &[Hint] = &[
    Hint::Action(Action::Down, "down"),
    Hint::Action(Action::Up, "up"),
    Hint::Action(Action::PageDown, "page"),
    Hint::Action(Action::Cancel, "close"),
];

/// A list in a frame.
pub trait Popup: Any + Debug {
    /// The title in the frame.
    const TITLE: &'static str;
    /// The terminal columns it would like to have, the frame included.
    const WIDTH: u16;
    /// The keys that the footer names.
    const HINTS: &'static [Hint] = CHOOSE;
    /// Lines of its own above the entries.
    const HEADING_LINES: usize = 0;
    /// A click on an entry accepts it; otherwise it only goes there.
    const CLICK_ACCEPTS: bool = false;

    /// Returns the title in the frame, with `height` entries on screen.
    fn title(&self, _app: &App, _height: usize) -> Cow<'static, str> {
        Self::TITLE.into()
    }

    /// Returns the cursor.
    fn list(&mut self) -> &mut ListState;

    /// Returns how many entries there are.
    fn len(&self, app: &App) -> usize;

    /// Returns how many places the cursor can take, with `height` entries on screen.
    fn positions(&self, app: &App, _height: usize) -> usize {
        self.len(app)
    }

    /// Returns what is said of the selected entry below the entries.
    fn note(&self, _app: &App) -> Option<Cow<'static, str>> {
        None
    }

    /// Accepts the selected entry.
    fn accept(&mut self, _app: &mut App) -> Response {
        Response::close()
    }

    /// Takes back what was changed, before it is closed.
    fn cancel(&mut self, _app: &mut App) {}

    /// Performs an action that does not move the cursor, with `height` entries on screen.
    fn on_action(&mut self, _app: &mut App, _action: Action, _height: usize) {}

    /// Follows a new snapshot, with `height` entries on screen.
    fn on_snapshot(&mut self, _app: &App, _height: usize) {}

    /// Returns true if it is about the rows that are shown, so that it closes when others are.
    fn is_about_rows(&self) -> bool {
        false
    }

    /// Draws the heading and the entries.
    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer);
}

/// Returns the area of a popup, the frame included.
fn area_of<P: Popup>(popup: &P, app: &App) -> Rect {
    let note = if popup.note(app).is_some() { NOTE_LINES } else { 0 };
    let lines = popup.len(app).max(1) + P::HEADING_LINES + note + 2;
    let height = u16::try_from(lines).unwrap_or(u16::MAX);
    app.layout().popup(P::WIDTH, height)
}

/// Divides the inside of a popup among the entries, with their heading, and the note.
fn split<P: Popup>(popup: &P, app: &App, inside: Rect) -> (Rect, Rect) {
    let entries = popup.len(app) + P::HEADING_LINES;
    let is_roomy = usize::from(inside.height) >= MIN_LINES_WITH_NOTE.min(entries + NOTE_LINES);
    let shown = is_roomy && popup.note(app).is_some();
    let note = if shown { NOTE_LINES as u16 } else { 0 };
    let height = inside.height - note;
    let below = Rect {
        y: inside.y + height,
        height: note,
        ..inside
    };
    (Rect { height, ..inside }, below)
}

/// Returns where the entries are drawn.
fn entries_of<P: Popup>(popup: &P, app: &App) -> Rect {
    let inside = Block::bordered().inner(area_of(popup, app));
    let (list, _) = split(popup, app, inside);
    let heading = (P::HEADING_LINES as u16).min(list.height);
    Rect {
        y: list.y + heading,
        height: list.height - heading,
        ..list
    }
}

/// Moves the cursor, no further than the last entry.
fn move_to<P: Popup>(popup: &mut P, app: &App, to: impl FnOnce(usize, usize) -> usize) {
    let height = usize::from(entries_of(popup, app).height);
    let positions = popup.positions(app, height).max(1);
    let from = popup.list().cursor;
    let to = to(from, height.max(1)).min(positions - 1);
    popup.list().select(to, positions, height);
}

impl<P: Popup> Modal for P {
    fn context(&self) -> Context {
        Context::List
    }

    fn hints(&self) -> &[Hint] {
        P::HINTS
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        match action {
            Action::Cancel => {
                self.cancel(app);
                return Response::close();
            }
            Action::Accept => return self.accept(app),
            Action::Up => move_to(self, app, |at, _| at.saturating_sub(1)),
            Action::Down => move_to(self, app, |at, _| at + 1),
            Action::PageUp => move_to(self, app, usize::saturating_sub),
            Action::PageDown => move_to(self, app, |at, page| at + page),
            Action::First => move_to(self, app, |_, _| 0),
            Action::Last => move_to(self, app, |_, _| usize::MAX),
            _ => {
                let height = usize::from(entries_of(self, app).height);
                Popup::on_action(self, app, action, height);
            }
        }
        Response::stay()
    }

    fn on_wheel(&mut self, app: &mut App, down: bool) {
        move_to(self, app, |at, _| if down { at + 1 } else { at.saturating_sub(1) });
    }

    /// Goes to the entry, and accepts it where that is meant; a click beside the popup closes it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        if !area_of(self, app).contains(at) {
            self.cancel(app);
            return Response::close();
        }
        let entries = entries_of(self, app);
        if !(entries.y..entries.bottom()).contains(&at.y) {
            return Response::stay();
        }
        let to = self.list().offset + usize::from(at.y - entries.y);
        move_to(self, app, |_, _| to);
        if P::CLICK_ACCEPTS {
            return self.accept(app);
        }
        Response::stay()
    }

    fn on_snapshot(&mut self, app: &App) {
        let height = usize::from(entries_of(self, app).height);
        Popup::on_snapshot(self, app, height);
    }

    fn is_about_rows(&self) -> bool {
        Popup::is_about_rows(self)
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        // The state's size may lag behind the terminal's for a moment.
        let area = area_of(self, app).intersection(frame.area());
        frame.render_widget(Clear, area);
        let block = Block::bordered().border_style(theme.frame).style(theme.popup);
        let inside = block.inner(area);
        let (list, note) = split(self, app, inside);
        let shown = usize::from(list.height).saturating_sub(P::HEADING_LINES);
        frame.render_widget(block.title(self.title(app, shown)), area);
        let buf = frame.buffer_mut();
        Popup::draw(self, app, list, buf);
        if let (Some(words), false) = (self.note(app), note.is_empty()) {
            let width = usize::from(note.width);
            draw_line(buf, note, &"─".repeat(width), theme.frame);
            let lines = wrap(&words, width.saturating_sub(2));
            for (at, text) in lines.iter().take(NOTE_LINES - 1).enumerate() {
                let below = line(note, at as u16 + 1);
                draw_line(buf, below, &format!(" {text}"), theme.dim);
            }
        }
        None
    }
}

/// Writes a column as a menu lists it: its name, its title and the beginning of its help.
fn column_label(column: &Column) -> String {
    let sentence = column.help.split(". ").next().unwrap_or_default();
    let first = sentence.split(": ").next().unwrap_or_default();
    format!("{:<10} {:<9} {first}", column.id, column.title)
}

/// Breaks text into lines of at most `width` columns, at spaces; a longer word is cut.
fn wrap(words: &str, width: usize) -> Vec<String> {
    // Narrower than that every word would have a line to itself, and the help thousands of them.
    text::wrap(words, width.max(8))
}
