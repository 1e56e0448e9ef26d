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
mod find;
pub mod help;
pub mod leaks;
mod opened;
pub mod sort;
pub mod users;

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Block;

use super::app::{App, Hint, Response};
use super::widgets::ListState;
use crate::columns::{Column, TableKind};
use crate::config::Action;
use crate::text;

/// Lines below the entries that explain the selected one: a rule and three lines of text.
const NOTE_LINES: usize = 4;
/// A popup with fewer lines inside has no note, unless all entries have room beside it.
const MIN_LINES_WITH_NOTE: usize = 10;

/// The hint that an entry is found by its name.
const TYPE: Hint = Hint::Key("letters", "find");
/// The keys of a list from which an entry is chosen.
const CHOOSE: &[Hint] = &[
    TYPE,
    Hint::Action(Action::Accept, "choose"),
    Hint::Action(Action::Cancel, "close"),
];
/// The keys of a text.
const READ: &[Hint] = &[
    Hint::Action(Action::Search, "search"),
    Hint::Action(Action::Down, "down"),
    Hint::Action(Action::Up, "up"),
    Hint::Action(Action::PageDown, "page"),
    Hint::Action(Action::Cancel, "close"),
];
/// A list or a text in a frame.
pub trait Popup: Any + Debug {
    /// The title in the frame.
    const TITLE: &'static str;
    /// The terminal columns it would like to have, the frame included.
    const WIDTH: u16;
    /// It is a text: its cursor is the first line on screen, and nothing is chosen from it.
    const IS_TEXT: bool = false;
    /// Its entries are switched on and off, and moved.
    const SWITCHES: bool = false;
    /// The keys that the footer names.
    const HINTS: &'static [Hint] = if Self::IS_TEXT { READ } else { CHOOSE };
    /// Lines of its own above the entries.
    const HEADING_LINES: usize = 0;
    /// A click on an entry accepts it; otherwise it only goes there.
    const CLICK_ACCEPTS: bool = false;

    /// Returns the cursor.
    fn list(&self) -> ListState;

    /// Returns the cursor, to change.
    fn list_mut(&mut self) -> &mut ListState;

    /// Returns the text of each entry, in which is searched.
    fn texts(&self, app: &App) -> Vec<String>;

    /// Returns how many entries there are.
    fn len(&self, app: &App) -> usize;

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

/// Moves the cursor, no further than the last entry, or than the last lines of a text.
fn move_to<P: Popup>(popup: &mut P, app: &App, to: impl FnOnce(usize, usize) -> usize) {
    let height = usize::from(entries_of(popup, app).height);
    let len = popup.len(app);
    let positions = if P::IS_TEXT {
        len.saturating_sub(height) + 1
    } else {
        len
    };
    let to = to(popup.list().cursor, height.max(1)).min(positions.saturating_sub(1));
    popup.list_mut().select(to, positions.max(1), height);
}

/// Writes a column as a menu lists it: its name, its title and the beginning of its help.
fn column_label<T: TableKind>(column: &Column<T>) -> String {
    let sentence = column.help.split(". ").next().unwrap_or_default();
    let first = sentence.split(": ").next().unwrap_or_default();
    format!("{:<10} {:<9} {first}", column.id, column.title)
}

/// Breaks text into lines of at most `width` columns, at spaces; a longer word is cut.
fn wrap(words: &str, width: usize) -> Vec<String> {
    // Narrower than that every word would have a line to itself, and the help thousands of them.
    text::wrap(words, width.max(8))
}
