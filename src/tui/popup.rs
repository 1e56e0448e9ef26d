//! Popups: a list or a text in a frame in the middle of the screen.
//!
//! ```text
//! ┌ Title ────────────┐
//! │ HEADING           │   an optional line above the entries
//! │ entry             │
//! │ entry             │   the selected entry is highlighted
//! │───────────────────│   a note about the selected entry,
//! │ note              │   if there is room
//! └───────────────────┘
//! ```
//!
//! A new popup is a file here with a type that implements [`Popup`], or [`Text`] if there is nothing to choose, its `mod` line
//! below, and the arm of its key in `update/table.rs`, which opens it.

pub mod alerts;
pub mod cache;
pub mod call_paths;
pub mod diagnostics;
pub mod help;
pub mod inquiry;
pub mod leaks;
pub mod mappings;
pub mod menus;
pub mod views;

use std::any::Any;
use std::borrow::Cow;
use std::ops::Range;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget};

use crate::config::theme::Theme;
use crate::config::{Action, Context};
use crate::model::Identity;
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::widgets::{ListState, TextInput, draw_line, draw_text, line, movement};

/// Lines below the entries that explain the selected one: a rule and at least three lines of text.
const NOTE_LINES: u16 = 4;
/// Maximum number of those lines, for a long note on a narrow screen.
const MAX_NOTE_LINES: u16 = 9;
/// Minimum number of lines inside a popup for a note, unless all entries have room beside it.
const MIN_LINES_WITH_NOTE: usize = 10;

/// The hint that typing finds an entry by its name.
const TYPE: Hint = Hint::Key("letters", "find");
const CHOOSE: &[Hint] = &[
    TYPE,
    Hint::Action(Action::Accept, "choose"),
    Hint::Action(Action::Cancel, "close"),
];
/// The keys of a list in which letters are keys.
const LIST: &[Hint] = &[
    Hint::Action(Action::Search, "search"),
    Hint::Action(Action::Down, "down"),
    Hint::Action(Action::Up, "up"),
    Hint::Action(Action::Last, "last"),
    Hint::Action(Action::Accept, "open"),
    Hint::Action(Action::Cancel, "close"),
];
const READ: &[Hint] = &[
    Hint::Action(Action::Search, "search"),
    Hint::Action(Action::Down, "down"),
    Hint::Action(Action::Up, "up"),
    Hint::Action(Action::PageDown, "page"),
    Hint::Action(Action::Cancel, "close"),
];

/// A list or a text in a frame. The cursor is kept by [`Opened`]: `at` is the index of the selected entry.
pub trait Popup: Any {
    const TITLE: &'static str;
    /// The preferred width in terminal columns, the frame included.
    const WIDTH: u16;
    /// It is a text: its cursor is the first line on screen, and nothing is chosen from it.
    const IS_TEXT: bool = false;
    /// It is a menu: letters find an entry. In a list of rows they move the cursor, as in the table, and a key starts the search.
    const IS_MENU: bool = !Self::IS_TEXT;
    /// Its entries are switched on and off, and moved. A click accepts an entry only if they are not.
    const SWITCHES: bool = false;
    /// The keys that the footer names.
    const HINTS: &'static [Hint] = if Self::IS_TEXT {
        READ
    } else if Self::IS_MENU {
        CHOOSE
    } else {
        LIST
    };
    /// Lines above the entries.
    const HEADING_LINES: u16 = 0;
    /// The actions of the tables that open another popup in its place, about the same process.
    const LEADS_TO: &'static [Action] = &[];

    /// Returns the preferred width, if it depends on the entries.
    fn width(&self, _app: &App) -> u16 {
        Self::WIDTH
    }

    /// Returns the title, if it depends on the entries.
    fn title(&self, _app: &App) -> Cow<'static, str> {
        Self::TITLE.into()
    }

    /// Returns the process that it is about, and its name, safe to print.
    fn subject(&self, _app: &App) -> Option<(Identity, String)> {
        None
    }

    /// Returns the index of the entry that a digit leads to.
    fn place_of_digit(&self, _app: &App, _digit: char) -> Option<usize> {
        None
    }

    /// Returns the text of each entry, for the search.
    fn texts(&self, app: &App) -> Vec<String>;

    /// Returns the index of the entry that is selected first.
    fn start(&self) -> usize {
        0
    }

    /// Returns the note about an entry.
    fn note(&self, _app: &App, _at: usize) -> Option<Cow<'static, str>> {
        None
    }

    /// Accepts an entry.
    fn accept(&mut self, _app: &mut App, _at: usize) -> Response {
        Response::close()
    }

    /// Deletes an entry.
    fn delete(&mut self, app: &mut App, _at: usize) -> Response {
        app.screen.say("nothing to delete here");
        Response::stay()
    }

    /// Reverts the changes before it closes.
    fn cancel(&mut self, _app: &mut App) {}

    /// Performs an action that does not move the cursor; returns the index to select then.
    fn on_action(&mut self, _app: &mut App, _action: Action, at: usize) -> usize {
        at
    }

    /// Follows a new snapshot; returns the index to select then.
    fn on_snapshot(&mut self, _app: &App, at: usize) -> usize {
        at
    }

    /// Returns true if it is about the rows that are shown, so that it closes when others are.
    fn is_about_rows(&self) -> bool {
        false
    }

    /// Draws the heading and the entries.
    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer);
}

/// A popup in which there is nothing to choose.
pub trait Text: Any {
    const TITLE: &'static str;
    const WIDTH: u16;
    /// Columns of the labels at the left, 0 for none.
    const LABEL_WIDTH: u16 = 0;
    const HINTS: &'static [Hint] = READ;
    /// The actions of the tables that open another popup in its place, about the same process.
    const LEADS_TO: &'static [Action] = &[];

    /// Returns the title, if it depends on the subject of the text.
    fn title(_app: &App) -> Cow<'static, str> {
        Self::TITLE.into()
    }

    /// Returns the process that it is about, and its name, safe to print.
    fn subject(_app: &App) -> Option<(Identity, String)> {
        None
    }

    /// Returns every line. `width` is the width inside the frame.
    fn lines(app: &App, width: usize) -> Vec<TextLine>;

    /// Returns the index of the line that a digit leads to.
    fn place_of_digit(_lines: &[TextLine], _digit: char) -> Option<usize> {
        None
    }
}

/// A line of a text: a label at the left, and a text beside it, each with its style. A label without a text may be wider.
type TextLine = [(String, Style); 2];

impl<T: Text> Popup for T {
    const TITLE: &'static str = <T as Text>::TITLE;
    const WIDTH: u16 = <T as Text>::WIDTH;
    const IS_TEXT: bool = true;
    const HINTS: &'static [Hint] = <T as Text>::HINTS;
    const LEADS_TO: &'static [Action] = <T as Text>::LEADS_TO;

    fn title(&self, app: &App) -> Cow<'static, str> {
        T::title(app)
    }

    fn subject(&self, app: &App) -> Option<(Identity, String)> {
        T::subject(app)
    }

    fn texts(&self, app: &App) -> Vec<String> {
        let lines = text_lines::<T>(app).into_iter();
        lines.map(|[(label, _), (text, _)]| format!("{label} {text}")).collect()
    }

    fn place_of_digit(&self, app: &App, digit: char) -> Option<usize> {
        T::place_of_digit(&text_lines::<T>(app), digit)
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let lines = text_lines::<T>(app).into_iter().skip(list.cursor);
        for ([label, text], y) in lines.zip(area.y..area.bottom()) {
            let width = usize::from(area.width.saturating_sub(1));
            draw_text(buf, area.x + 1, y, &label.0, width, label.1);
            let x = area.x.saturating_add(T::LABEL_WIDTH).min(area.right());
            let left = usize::from(area.right() - x);
            if !text.0.is_empty() {
                draw_text(buf, x, y, &fit(&text.0, left, Align::Left), left, text.1);
            }
        }
    }
}

fn text_lines<T: Text>(app: &App) -> Vec<TextLine> {
    let width = app.screen.size.0.min(<T as Text>::WIDTH).saturating_sub(2);
    T::lines(app, width.into())
}

/// Wraps text at spaces into lines of at most `width` columns, but at least 8: narrower, every word would have a line of its
/// own, and the help thousands of lines.
fn wrap(words: &str, width: usize) -> Vec<String> {
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

/// A popup on the screen, its cursor, and the search in it.
pub struct Opened<P> {
    popup: P,
    pub list: ListState,
    find: Find,
}

impl App {
    pub fn open_popup<P: Popup>(&mut self, popup: P) {
        let start = popup.start();
        let (list, find) = (ListState::default(), Find::default());
        let mut opened = Opened { popup, list, find };
        opened.move_to(self, |_, _| start);
        self.open(opened);
    }

    /// Returns the open popup if it is of that type.
    pub fn popup<P: Popup>(&self) -> Option<&Opened<P>> {
        self.modal()
    }
}

/// The areas of a popup, and the texts of its entries.
struct Parts {
    /// All of it, the frame included.
    area: Rect,
    /// The heading and the entries.
    list: Rect,
    entries: Rect,
    note: Rect,
    texts: Vec<String>,
}

impl<P: Popup> Opened<P> {
    /// Places the popup, and cuts it to `screen`: the state's size may lag behind the terminal's.
    fn parts(&self, app: &App, screen: Rect) -> Parts {
        let texts = self.popup.texts(app);
        let width = app.screen.size.0.min(self.popup.width(app)).saturating_sub(4);
        let note = self.popup.note(app, self.list.cursor).map_or(0, |words| {
            let lines = u16::try_from(wrap(&words, width.into()).len()).unwrap_or(u16::MAX);
            lines.saturating_add(1).clamp(NOTE_LINES, MAX_NOTE_LINES)
        });
        let around = P::HEADING_LINES + note + 2;
        let height = u16::try_from(texts.len().max(1) + usize::from(around)).unwrap_or(u16::MAX);
        let area = app.layout().popup(self.popup.width(app), height).intersection(screen);
        let inside = Block::bordered().inner(area);
        let all = texts.len() + usize::from(P::HEADING_LINES + NOTE_LINES);
        let is_roomy = usize::from(inside.height) >= all.min(MIN_LINES_WITH_NOTE);
        let note = if is_roomy { note } else { 0 };
        let height = inside.height - note;
        let heading = P::HEADING_LINES.min(height);
        let part = |y: u16, height: u16| Rect {
            y: inside.y + y,
            height,
            ..inside
        };
        Parts {
            area,
            list: part(0, height),
            entries: part(heading, height - heading),
            note: part(height, note),
            texts,
        }
    }

    /// Moves the cursor to the index that `to` returns for the present one and the number of entries on screen, but not
    /// beyond the last entry. In a text the last lines fill the popup.
    fn move_to(&mut self, app: &App, to: impl FnOnce(usize, usize) -> usize) {
        let parts = self.parts(app, Rect::MAX);
        let height = usize::from(parts.entries.height);
        let positions = match parts.texts.len() {
            len if P::IS_TEXT => len.saturating_sub(height) + 1,
            len => len.max(1),
        };
        let to = to(self.list.cursor, height.max(1));
        self.list.select(to, positions, height);
    }

    /// Performs an action that does not move the cursor. An entry that was found stays selected wherever the action put it.
    fn act(&mut self, app: &mut App, action: Action) {
        let found = self.find.found.map(|at| self.popup.texts(app).swap_remove(at));
        let to = self.popup.on_action(app, action, self.list.cursor);
        self.move_to(app, |_, _| to);
        if let Some(found) = found {
            self.find.found = self.popup.texts(app).iter().position(|text| *text == found);
            self.go_to_match(app);
        }
    }

    /// Returns the title in the frame. If a text is longer than the frame, the title shows which lines are on screen.
    fn title(&self, app: &App, all: usize, height: usize) -> Cow<'static, str> {
        let title = self.popup.title(app);
        if !P::IS_TEXT || height >= all {
            return title;
        }
        let first = self.list.cursor;
        let last = (first + height).min(all);
        format!("{}: lines {} to {last} of {all} ", title.trim_end(), first + 1).into()
    }

    /// Returns the lines of a text that are on screen, or the selected entry.
    fn shown(&self, app: &App) -> Range<usize> {
        let height = self.parts(app, Rect::MAX).entries.height;
        let lines = if P::IS_TEXT { usize::from(height) } else { 1 };
        self.list.cursor..self.list.cursor + lines
    }

    /// Goes to the match if it is not on screen. In a text, some lines above it stay on screen.
    fn go_to_match(&mut self, app: &App) {
        let shown = self.shown(app);
        if let Some(line) = self.find.found.filter(|line| !shown.contains(line)) {
            self.move_to(app, |_, _| line.saturating_sub(shown.len() / 3));
        }
    }

    /// Changes the searched text, and goes to the first match, or back if there is none.
    fn search(&mut self, app: &App, edit: impl FnOnce(&mut TextInput)) {
        edit(&mut self.find.input);
        self.find.first(&self.popup.texts(app), P::IS_TEXT);
        if self.find.found.is_none() {
            let from = self.find.from;
            self.move_to(app, |_, _| from);
        }
        self.go_to_match(app);
    }

    fn step(&mut self, app: &App, forward: bool) {
        let shown = self.shown(app);
        self.find.step(&self.popup.texts(app), forward, &shown);
        self.go_to_match(app);
    }

    /// Performs an action while the search is typed; returns `None` if the action has its usual meaning.
    fn on_typing(&mut self, app: &mut App, action: Action) -> Option<Response> {
        match action {
            // In a menu, the key that starts a search goes on with it.
            Action::Search | Action::SearchNext => self.step(app, true),
            Action::SearchPrevious => self.step(app, false),
            // Without a match, the selected entry is not the one that was typed.
            Action::Accept if !self.find.is_empty() && self.find.found.is_none() => {}
            Action::Accept if P::IS_TEXT => self.find.is_typing = false,
            Action::Accept | Action::Toggle | Action::MoveUp | Action::MoveDown => return None,
            _ if !P::IS_TEXT && movement(action).is_some() => return None,
            Action::Up | Action::Down | Action::PageUp | Action::PageDown => return None,
            Action::Backspace if self.find.is_empty() => self.find = Find::default(),
            // Nothing is left to clear.
            Action::Cancel if P::IS_MENU && self.find.is_empty() => return None,
            Action::Cancel => {
                let from = std::mem::take(&mut self.find).from;
                self.move_to(app, |_, _| from);
            }
            action => self.search(app, |input| input.on_action(action)),
        }
        Some(Response::stay())
    }

    /// Returns the actions of the keys while the search is typed: with a match, and always.
    fn search_hints(app: &App) -> [String; 2] {
        let key = |context, action| {
            let key = app.config.keymap.shown_key(context, action);
            key.map_or_else(|| "?".into(), ToString::to_string)
        };
        let keys = [Action::Accept, Action::SearchNext, Action::Cancel];
        let [enter, next, clear] = keys.map(|action| key(Context::Input, action));
        let matched = if P::IS_TEXT {
            let steps = [Action::SearchNext, Action::SearchPrevious].map(|step| key(Context::List, step));
            format!("{enter} keeps it, then {}", steps.join(" and "))
        } else if P::SWITCHES && P::IS_MENU {
            let switch = key(Context::List, Action::Toggle);
            format!("{switch} shows or hides it, {next} next")
        } else {
            format!("{enter} chooses, {next} next")
        };
        [matched, format!("{clear} clears it")]
    }
}

impl<P: Popup> Modal for Opened<P> {
    fn context(&self) -> Context {
        if !P::IS_MENU && self.find.is_typing {
            Context::Input
        } else {
            Context::List
        }
    }

    /// The text that finds an entry of a menu is edited as any other.
    fn further_context(&self) -> Option<Context> {
        P::IS_MENU.then_some(Context::Input)
    }

    /// In a menu, letters and digits find an entry, and so do signs once a text was begun.
    fn types(&self, c: char, bound: Option<Action>) -> bool {
        let switches = P::SWITCHES && matches!(bound, Some(Action::Toggle | Action::MoveUp | Action::MoveDown));
        P::IS_MENU && (c.is_alphanumeric() || self.find.is_typing && !switches)
    }

    fn leads_to(&self, action: Action) -> bool {
        !self.find.is_typing && P::LEADS_TO.contains(&action)
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
            Action::SearchNext | Action::SearchPrevious => !P::IS_MENU,
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
        match action {
            Action::Cancel if !self.find.is_empty() => self.find = Find::default(),
            Action::Cancel => {
                self.popup.cancel(app);
                return Response::close();
            }
            Action::Accept => return self.popup.accept(app, self.list.cursor),
            Action::Delete => return self.popup.delete(app, self.list.cursor),
            Action::Search => self.find = Find::from(self.list.cursor),
            Action::SearchNext | Action::SearchPrevious if self.find.is_empty() => {
                let key = app.config.keymap.shown_key(Context::List, Action::Search);
                let key = key.map_or_else(String::new, |key| format!(": {key} searches"));
                app.screen.say(format!("no search yet{key}"));
            }
            Action::SearchNext => self.step(app, true),
            Action::SearchPrevious => self.step(app, false),
            _ => match movement(action) {
                Some(to) => self.move_to(app, to),
                None if matches!(action, Action::Toggle | Action::MoveUp | Action::MoveDown) => self.act(app, action),
                None if P::IS_MENU => app.screen.say("letters find an entry"),
                None => app.screen.say("this key does nothing here"),
            },
        }
        Response::stay()
    }

    /// Searches for an entry by its name; in a text only after the key that starts a search.
    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        if self.find.is_typing || P::IS_MENU {
            if !self.find.is_typing {
                self.find = Find::from(self.list.cursor);
            }
            self.search(app, |input| input.insert(c.encode_utf8(&mut [0; 4])));
        } else if let Some(to) = self.popup.place_of_digit(app, c) {
            self.move_to(app, |_, _| to);
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
        self.move_to(app, |at, _| if down { at + by } else { at.saturating_sub(by) });
    }

    /// Goes to the entry, and accepts it, or switches it if it was selected already; a click outside of the popup closes it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        let parts = self.parts(app, Rect::MAX);
        if !parts.area.contains(at) {
            self.popup.cancel(app);
            return Response::close();
        }
        let entries = parts.entries;
        let to = self.list.offset + usize::from(at.y.saturating_sub(entries.y));
        if P::IS_TEXT || !(entries.y..entries.bottom()).contains(&at.y) || to >= parts.texts.len() {
            return Response::stay();
        }
        let was_selected = to == self.list.cursor;
        self.move_to(app, |_, _| to);
        if !P::SWITCHES {
            return self.popup.accept(app, to);
        }
        if was_selected {
            self.act(app, Action::Toggle);
        }
        Response::stay()
    }

    fn on_snapshot(&mut self, app: &App) {
        let at = self.list.cursor;
        let to = self.popup.on_snapshot(app, at);
        // The entry that was found may have another place.
        if self.find.found == Some(at) && !P::IS_TEXT {
            self.find.found = Some(to);
        }
        self.move_to(app, |_, _| to);
    }

    fn is_about_rows(&self) -> bool {
        self.popup.is_about_rows()
    }

    fn subject(&self, app: &App) -> Option<(Identity, String)> {
        self.popup.subject(app)
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        let Parts {
            area,
            list,
            entries,
            note,
            texts,
        } = self.parts(app, frame.area());
        frame.render_widget(Clear, area);
        let block = Block::bordered().border_style(theme.frame).style(theme.popup);
        let title = self.title(app, texts.len(), list.height.into());
        frame.render_widget(block.title(title), area);
        let buf = frame.buffer_mut();
        self.popup.draw(app, self.list, list, buf);
        let ListState { cursor, offset } = self.list;
        let first = if P::IS_TEXT { cursor } else { offset };
        self.find.highlight(entries, first, theme, buf);
        if let (Some(words), false) = (self.popup.note(app, cursor), note.is_empty()) {
            let width = usize::from(note.width);
            draw_line(buf, note, &"─".repeat(width), theme.frame);
            let width = width.saturating_sub(2);
            let mut lines = wrap(&words, width);
            let room = usize::from(note.height.saturating_sub(1));
            if lines.len() > room
                && let Some(last) = room.checked_sub(1)
            {
                // The rest of the note does not fit: `fit` ends the line with an ellipsis.
                let rest = lines.split_off(last).join(" ");
                lines.push(fit(&rest, width, Align::Left));
            }
            for (y, text) in (1..note.height).zip(lines) {
                draw_line(buf, line(note, y), &format!(" {text}"), theme.dim);
            }
        }
        let footer = app.layout().footer.intersection(buf.area);
        if !self.find.is_typing || footer.is_empty() {
            return None;
        }
        Some(self.find.draw(&texts, &Self::search_hints(app), footer, theme, buf))
    }
}

// The search in a popup: for words in a text, as in `less`; for an entry of a menu by its name.
//
//  Search  swap  2 of 7; F3 next

#[derive(Default)]
pub(in crate::tui) struct Find {
    pub(in crate::tui) input: TextInput,
    is_typing: bool,
    /// The line or the entry that was found.
    pub(in crate::tui) found: Option<usize>,
    /// The line to return to on Esc.
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

    pub(in crate::tui) fn is_empty(&self) -> bool {
        self.input.text().is_empty()
    }

    fn matching(&self, lines: &[String]) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        let text = self.input.text().to_lowercase();
        let is_match = |at: &usize| lines[*at].to_lowercase().contains(&text);
        (0..lines.len()).filter(is_match).collect()
    }

    /// Finds the first match in a text from where the search began, wrapping around; or the entry of that name: one that begins
    /// with the searched text, else one with a word that does, else any match. Of equal ones, one that has it as a whole word.
    pub(in crate::tui) fn first(&mut self, lines: &[String], is_text: bool) {
        let text = self.input.text().to_lowercase();
        let rank = |at: &usize| {
            if is_text {
                return (*at < self.from, false, false);
            }
            let line = lines[*at].trim_start().to_lowercase();
            let is_letter = |c: char| c.is_alphanumeric() || c == '_';
            let words = line
                .match_indices(&text)
                .filter(|(at, _)| !line[..*at].ends_with(is_letter));
            let mut words = words.map(|(at, _)| &line[at + text.len()..]).peekable();
            let begins_word = words.peek().is_some();
            let is_word = words.any(|after| !after.starts_with(is_letter));
            (!line.starts_with(&text), !begins_word, !is_word)
        };
        self.found = self.matching(lines).into_iter().min_by_key(rank);
    }

    /// Finds the next or the previous match, wrapping around: from the last match if it is on screen, else from the edge of the
    /// `shown` lines.
    pub(in crate::tui) fn step(&mut self, lines: &[String], forward: bool, shown: &Range<usize>) {
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
    }

    /// Highlights the matches in lines that are drawn; `first` is the index of the first of them.
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
            // The offset in the line at which each cell begins.
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

    /// Draws the line in which the text is typed, with the number of matching lines; returns the cursor's place.
    fn draw(
        &self,
        lines: &[String],
        [matched, always]: &[String; 2],
        area: Rect,
        theme: &Theme,
        buf: &mut Buffer,
    ) -> Position {
        Clear.render(area, buf);
        let (end, cursor) = self.input.draw(" Search ", area, theme, buf);
        let matching = self.matching(lines);
        let at = matching.iter().position(|at| Some(*at) == self.found);
        let (note, style) = match at {
            _ if self.is_empty() => (String::new(), theme.dim),
            Some(at) => {
                let text = format!("{} of {}; {matched}, {always}", at + 1, matching.len());
                (text, theme.dim)
            }
            // A filter that was typed where names are found.
            None if self.input.text().contains(':') => {
                let text = format!("no match: type the name alone here; {always}");
                (text, theme.error)
            }
            None => (format!("no match; {always}"), theme.error),
        };
        let x = end.saturating_add(2).min(area.right());
        draw_text(buf, x, area.y, &note, usize::from(area.right() - x), style);
        cursor
    }
}
