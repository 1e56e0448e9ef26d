//! A popup on the screen: its keys, the mouse, the search in it, and its frame.

use std::borrow::Cow;
use std::ops::Range;

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, Clear};

use super::find::Find;
use super::{NOTE_LINES, Popup, area_of, entries_of, move_to, split, wrap};
use crate::config::{Action, Context};
use crate::text;
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::widgets::{TextInput, draw_line, line};

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
pub(super) struct Opened<P> {
    popup: P,
    find: Find,
}

impl App {
    /// Opens a popup.
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
