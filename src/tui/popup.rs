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
pub mod diagnostics;
pub mod help;
pub mod leaks;
pub mod menus;

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, Clear, Widget};

use crate::config::theme::Theme;
use crate::config::{Action, Context};
use crate::text;
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::widgets::{ListState, TextInput, draw_line, draw_text, line};

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

/// Breaks text into lines of at most `width` columns, at spaces; a longer word is cut.
fn wrap(words: &str, width: usize) -> Vec<String> {
    // Narrower than that every word would have a line to itself, and the help thousands of them.
    text::wrap(words, width.max(8))
}

// A popup on the screen: its keys, the mouse, the search in it, and its frame.

/// Lines that a notch of the wheel scrolls a text by, as in most programs.
const LINES_PER_NOTCH: usize = 3;

/// The keys of a text in which something was found.
const FOUND: &[Hint] = &[
    Hint::Action(Action::SearchNext, "next match"),
    Hint::Action(Action::SearchPrevious, "previous match"),
    Hint::Action(Action::Cancel, "end the search"),
];

/// A popup on the screen, and what is searched for in it.
#[derive(Debug)]
struct Opened<P> {
    popup: P,
    find: Find,
}

impl App {
    pub fn open_popup(&mut self, popup: impl Popup) {
        let find = Find::default();
        self.open(Opened { popup, find });
    }

    /// Returns the open popup if it is of that type.
    pub fn popup<P: Popup>(&self) -> Option<&P> {
        self.modal().map(|opened: &Opened<P>| &opened.popup)
    }
}

impl<P: Popup> Opened<P> {
    /// Returns the title in the frame; of a text that is higher than the frame, which lines are on screen.
    fn title(&self, app: &App, height: usize) -> Cow<'static, str> {
        let (all, first) = (self.popup.len(app), self.popup.list().cursor);
        if !P::IS_TEXT || height >= all {
            return P::TITLE.into();
        }
        let last = (first + height).min(all);
        format!("{}: lines {} to {last} of {all} ", P::TITLE.trim_end(), first + 1).into()
    }

    /// Returns the lines of a text that are on screen, or the selected entry.
    fn shown(&self, app: &App) -> Range<usize> {
        let (cursor, height) = (self.popup.list().cursor, entries_of(&self.popup, app).height);
        cursor..cursor + if P::IS_TEXT { usize::from(height) } else { 1 }
    }

    /// Goes to a line that was found; in a text, where it is not on screen, to some lines above it.
    fn go_to(&mut self, app: &App, found: Option<usize>) {
        let shown = self.shown(app);
        if let Some(line) = found.filter(|line| !shown.contains(line)) {
            move_to(&mut self.popup, app, |_, _| line.saturating_sub(shown.len() / 3));
        }
    }

    /// Changes what is searched for, and goes there.
    fn search(&mut self, app: &App, edit: impl FnOnce(&mut TextInput)) {
        edit(&mut self.find.input);
        let from = self.find.from;
        let texts = self.popup.texts(app);
        let found = if P::IS_TEXT {
            self.find.find_next(&texts)
        } else {
            self.find.find_named(&texts)
        };
        if found.is_none() {
            move_to(&mut self.popup, app, |_, _| from);
        }
        self.go_to(app, found);
    }

    fn step(&mut self, app: &App, forward: bool) {
        let shown = self.shown(app);
        let found = self.find.step(&self.popup.texts(app), forward, shown);
        self.go_to(app, found);
    }

    /// Performs an action while the search is typed; returns `None` if it means what it does otherwise.
    fn on_typing(&mut self, app: &mut App, action: Action) -> Option<Response> {
        match action {
            Action::SearchNext => self.step(app, true),
            Action::SearchPrevious => self.step(app, false),
            // Whatever was selected before is not what was typed.
            Action::Accept if !self.find.is_empty() && self.find.found.is_none() => {}
            Action::Accept if P::IS_TEXT => self.find.is_typing = false,
            Action::Accept | Action::Up | Action::Down | Action::PageUp | Action::PageDown => return None,
            Action::Backspace if self.find.is_empty() => self.find = Find::default(),
            Action::Cancel => {
                let from = std::mem::take(&mut self.find).from;
                move_to(&mut self.popup, app, |_, _| from);
            }
            action => self.search(app, |input| input.on_action(action)),
        }
        Some(Response::stay())
    }
}

impl<P: Popup> Modal for Opened<P> {
    fn context(&self) -> Context {
        if self.find.is_typing {
            Context::Input
        } else {
            Context::List
        }
    }

    fn hints(&self) -> &[Hint] {
        match (self.find.is_typing, self.find.is_empty()) {
            (true, _) => &[],
            (false, true) => P::HINTS,
            (false, false) => FOUND,
        }
    }

    /// Leaves the keys of actions that mean nothing here to the search.
    fn takes(&self, action: Action) -> bool {
        match action {
            Action::SearchNext | Action::SearchPrevious => P::IS_TEXT || self.find.is_typing,
            Action::Toggle | Action::MoveUp | Action::MoveDown => P::SWITCHES,
            _ => true,
        }
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        if self.find.is_typing
            && let Some(response) = self.on_typing(app, action)
        {
            return response;
        }
        let popup = &mut self.popup;
        match action {
            Action::Cancel if !self.find.is_empty() => self.find = Find::default(),
            Action::Cancel => {
                popup.cancel(app);
                return Response::close();
            }
            Action::Accept => return popup.accept(app),
            Action::Up => move_to(popup, app, |at, _| at.saturating_sub(1)),
            Action::Down => move_to(popup, app, |at, _| at + 1),
            Action::PageUp => move_to(popup, app, usize::saturating_sub),
            Action::PageDown => move_to(popup, app, |at, page| at + page),
            Action::First => move_to(popup, app, |_, _| 0),
            Action::Last => move_to(popup, app, |_, _| usize::MAX),
            Action::Search => self.find = Find::from(popup.list().cursor),
            Action::SearchNext => self.step(app, true),
            Action::SearchPrevious => self.step(app, false),
            _ => {
                let height = usize::from(entries_of(popup, app).height);
                popup.on_action(app, action, height);
            }
        }
        Response::stay()
    }

    /// Searches for an entry that is called so; of a text only once that is asked for.
    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        let is_switch =
            P::SWITCHES && app.config.keymap.action(Context::List, KeyCode::Char(c).into()) == Some(Action::Toggle);
        if is_switch {
            let height = usize::from(entries_of(&self.popup, app).height);
            self.popup.on_action(app, Action::Toggle, height);
        } else if self.find.is_typing || !P::IS_TEXT {
            if !self.find.is_typing {
                self.find = Find::from(self.popup.list().cursor);
            }
            self.search(app, |input| input.insert(c.encode_utf8(&mut [0; 4])));
        } else {
            let shown = text::safe_prefix(c.encode_utf8(&mut [0; 4]).as_bytes(), 2).into_owned();
            app.screen.say(format!("{shown} does nothing here"));
        }
        Response::stay()
    }

    fn on_paste(&mut self, app: &mut App, text: &str) {
        if self.find.is_typing {
            self.search(app, |input| input.insert(text));
        }
    }

    fn on_wheel(&mut self, app: &mut App, down: bool) {
        let by = if P::IS_TEXT { LINES_PER_NOTCH } else { 1 };
        move_to(
            &mut self.popup,
            app,
            |at, _| {
                if down { at + by } else { at.saturating_sub(by) }
            },
        );
    }

    /// Goes to the entry, and accepts it where that is meant, or switches it if it was selected already; a click beside
    /// the popup closes it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        let popup = &mut self.popup;
        if !area_of(popup, app).contains(at) {
            popup.cancel(app);
            return Response::close();
        }
        let entries = entries_of(popup, app);
        if P::IS_TEXT || !(entries.y..entries.bottom()).contains(&at.y) {
            return Response::stay();
        }
        let to = popup.list().offset + usize::from(at.y - entries.y);
        if to >= popup.len(app) {
            return Response::stay();
        }
        let was_selected = to == popup.list().cursor;
        move_to(popup, app, |_, _| to);
        if P::CLICK_ACCEPTS {
            return popup.accept(app);
        }
        if P::SWITCHES && was_selected {
            popup.on_action(app, Action::Toggle, entries.height.into());
        }
        Response::stay()
    }

    fn on_snapshot(&mut self, app: &App) {
        let height = usize::from(entries_of(&self.popup, app).height);
        self.popup.on_snapshot(app, height);
    }

    fn is_about_rows(&self) -> bool {
        self.popup.is_about_rows()
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let (popup, theme) = (&self.popup, &app.config.theme);
        // The state's size may lag behind the terminal's for a moment.
        let area = area_of(popup, app).intersection(frame.area());
        frame.render_widget(Clear, area);
        let block = Block::bordered().border_style(theme.frame).style(theme.popup);
        let inside = block.inner(area);
        let (list, note) = split(popup, app, inside);
        frame.render_widget(block.title(self.title(app, list.height.into())), area);
        let buf = frame.buffer_mut();
        popup.draw(app, list, buf);
        let heading = (P::HEADING_LINES as u16).min(list.height);
        let entries = Rect {
            y: list.y + heading,
            height: list.height - heading,
            ..list
        };
        let list = popup.list();
        let first = if P::IS_TEXT { list.cursor } else { list.offset };
        self.find.highlight(entries, first, theme, buf);
        if let (Some(words), false) = (popup.note(app), note.is_empty()) {
            let width = usize::from(note.width);
            draw_line(buf, note, &"─".repeat(width), theme.frame);
            let lines = wrap(&words, width.saturating_sub(2));
            for (at, text) in lines.iter().take(NOTE_LINES - 1).enumerate() {
                let below = line(note, at as u16 + 1);
                draw_line(buf, below, &format!(" {text}"), theme.dim);
            }
        }
        let footer = app.layout().footer.intersection(buf.area);
        if !self.find.is_typing || footer.is_empty() {
            return None;
        }
        let key = |context, action| {
            let key = app.config.keymap.shown_key(context, action);
            key.map_or_else(|| "?".into(), ToString::to_string)
        };
        let (enter, next) = (
            key(Context::Input, Action::Accept),
            key(Context::Input, Action::SearchNext),
        );
        let hint = if P::IS_TEXT {
            let steps = [Action::SearchNext, Action::SearchPrevious].map(|step| key(Context::List, step));
            format!("{enter} keeps it, then {}", steps.join(" and "))
        } else if P::SWITCHES {
            let switch = key(Context::List, Action::Toggle);
            format!("{switch} shows or hides it, {next} goes to the next")
        } else {
            format!("{enter} chooses, {next} goes to the next")
        };
        Some(self.find.draw(&popup.texts(app), &hint, footer, theme, buf))
    }
}

// Finding in a popup: words in what is read, as in `less`; an entry of a menu by typing what it is called.
//
//  Search  swap  2 of 7; F3 goes to the next

#[derive(Debug, Default)]
struct Find {
    input: TextInput,
    /// It is being typed.
    is_typing: bool,
    found: Option<usize>,
    /// The line to go back to when it is given up.
    from: usize,
}

impl Find {
    /// Returns a search that begins at a line, its text to be typed.
    fn from(line: usize) -> Self {
        Self {
            is_typing: true,
            from: line,
            ..Self::default()
        }
    }

    /// Returns true if nothing is searched for.
    fn is_empty(&self) -> bool {
        self.input.text().is_empty()
    }

    fn matching(&self, lines: &[String]) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        let text = self.input.text().to_lowercase();
        let lines = lines.iter().enumerate();
        let matching = lines.filter(|(_, line)| line.to_lowercase().contains(&text));
        matching.map(|(at, _)| at).collect()
    }

    /// Finds the first line from where the search began on, round and round.
    fn find_next(&mut self, lines: &[String]) -> Option<usize> {
        let matching = self.matching(lines);
        let next = matching.iter().find(|at| **at >= self.from).or(matching.first());
        self.found = next.copied();
        self.found
    }

    /// Finds the line that is called so: one that begins with the text, else one of which a word does, else any that
    /// holds it.
    fn find_named(&mut self, lines: &[String]) -> Option<usize> {
        let text = self.input.text().to_lowercase();
        let rank = |at: &usize| {
            let line = lines[*at].trim_start().to_lowercase();
            let mut words = line.match_indices(&text).map(|(at, _)| &line[..at]);
            let begins_word = words.any(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            (!line.starts_with(&text), !begins_word)
        };
        self.found = self.matching(lines).into_iter().min_by_key(rank);
        self.found
    }

    /// Finds the next line, or the previous one, round and round: from what was found last, or where that is not among
    /// the lines shown, among these.
    fn step(&mut self, lines: &[String], forward: bool, shown: Range<usize>) -> Option<usize> {
        let matching = self.matching(lines);
        let found = self.found.filter(|at| shown.contains(at));
        self.found = if forward {
            let from = found.map_or(shown.start, |at| at + 1);
            matching.iter().find(|at| **at >= from).or(matching.first())
        } else {
            let until = found.unwrap_or(shown.end);
            matching.iter().rfind(|at| **at < until).or(matching.last())
        }
        .copied();
        self.found
    }

    /// Makes what is searched for stand out in lines that are drawn, of which the first is `first`.
    fn highlight(&self, area: Rect, first: usize, theme: &Theme, buf: &mut Buffer) {
        if self.is_empty() {
            return;
        }
        let text = self.input.text().to_lowercase();
        for (at, y) in (first..).zip(area.y..area.bottom()) {
            let style = if self.found == Some(at) {
                theme.selected
            } else {
                theme.found
            };
            let mut line = String::new();
            // Where each cell begins in the line.
            let mut cells = Vec::new();
            let mut x = area.x;
            while x < area.right() {
                let symbol = buf[(x, y)].symbol();
                cells.push((line.len(), x));
                line.push_str(&symbol.to_lowercase());
                x += text::width(symbol).max(1) as u16;
            }
            for (start, _) in line.match_indices(&text) {
                let end = start + text.len();
                for (_, x) in cells.iter().filter(|(at, _)| (start..end).contains(at)) {
                    buf[(*x, y)].set_style(style);
                }
            }
        }
    }

    /// Draws the line in which the text is typed, with how many lines it is in; returns the cursor's place.
    fn draw(&self, lines: &[String], hint: &str, area: Rect, theme: &Theme, buf: &mut Buffer) -> Position {
        Clear.render(area, buf);
        let (end, cursor) = self.input.draw(" Search ", area, theme, buf);
        let matching = self.matching(lines);
        let at = matching.iter().position(|at| Some(*at) == self.found);
        let (note, style) = match at {
            _ if self.is_empty() => (String::new(), theme.dim),
            Some(at) => (format!("{} of {}; {hint}", at + 1, matching.len()), theme.dim),
            None => ("no match".into(), theme.error),
        };
        let x = end.saturating_add(2).min(area.right());
        draw_text(buf, x, area.y, &note, usize::from(area.right() - x), style);
        cursor
    }
}
