//! The line that is edited in place of the footer: the filter, a search, or the interval.
//!
//! ```text
//!             ▾ expected a size, such as 100M      a fault, above its place
//!  Filter  pss>x  cmd:postgres  12 match           the text, and a note
//! ```

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Clear, Widget};

use crate::config::settings::{MAX_INTERVAL, MIN_INTERVAL};
use crate::config::{Action, Context};
use crate::text::{self, Align};
use crate::tui::app::{App, FilterState, Modal, Response};
use crate::tui::navigation::select_match;
use crate::tui::rows::rebuild;
use crate::tui::widgets::{TextInput, draw_line, draw_text};
use crate::units;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// Takes effect while it is typed.
    Filter,
    /// Selects the next match while it is typed.
    Search,
    /// Takes effect when it is accepted.
    Interval,
}

#[derive(Clone, Debug)]
pub struct Prompt {
    pub kind: PromptKind,
    pub input: TextInput,
    /// The text to restore on Esc.
    before: String,
}

impl Prompt {
    pub fn new(kind: PromptKind, text: &str) -> Self {
        Self {
            kind,
            input: TextInput::new(text),
            before: text.into(),
        }
    }

    /// Edits the text; the filter and the search follow it.
    fn edit(&mut self, app: &mut App, edit: impl FnOnce(&mut TextInput)) {
        let before = self.input.text().to_owned();
        edit(&mut self.input);
        let text = self.input.text();
        if before == text {
            return;
        }
        match self.kind {
            PromptKind::Filter => set_filter(app, text),
            PromptKind::Search => {
                app.query.search = Some(text.to_lowercase()).filter(|s| !s.is_empty());
                select_match(app, 0, 1);
            }
            PromptKind::Interval => {}
        }
    }

    fn accept(&self, app: &mut App) -> Response {
        match self.kind {
            // A filter that does not parse stays open for correction.
            PromptKind::Filter if filter(app).error.is_some() => return Response::stay(),
            PromptKind::Filter | PromptKind::Search => {}
            PromptKind::Interval => match units::parse_span(self.input.text()) {
                Some(interval) if (MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) => app.requests.interval = interval,
                _ => {
                    app.screen.fail("an interval is 100ms to 1h, such as 500ms, 2s, 1m");
                    return Response::stay();
                }
            },
        }
        Response::close()
    }

    fn cancel(&self, app: &mut App) -> Response {
        match self.kind {
            PromptKind::Filter => set_filter(app, &self.before),
            PromptKind::Search => app.query.search = None,
            PromptKind::Interval => {}
        }
        Response::close()
    }

    const fn label(&self) -> &'static str {
        match self.kind {
            PromptKind::Filter => " Filter ",
            PromptKind::Search => " Search ",
            PromptKind::Interval => " Interval ",
        }
    }

    /// Returns the note beside the text, and whether it is a fault.
    fn note(&self, app: &App) -> (String, bool) {
        match (self.kind, &filter(app).error, &app.screen.message) {
            (PromptKind::Filter, Some(error), _) => (error.to_string(), true),
            (_, _, Some(message)) => (message.text.clone(), message.bad),
            (PromptKind::Filter, ..) => {
                let rows = app.page().map_or(app.rows.matching, |page| page.keys(app).len());
                (format!("{rows} match"), false)
            }
            (PromptKind::Search, ..) if app.query.search.is_some() => ("Enter keeps it, then n and N".into(), false),
            (PromptKind::Interval, ..) => ("100ms to 1h".into(), false),
            (PromptKind::Search, ..) => (String::new(), false),
        }
    }

    /// Draws the fault of the filter on the line above, with a mark above its place.
    fn draw_fault(app: &App, words: &str, column: Option<u16>, area: Rect, buf: &mut Buffer) {
        let style = app.config.theme.error;
        Clear.render(area, buf);
        buf.set_style(area, app.config.theme.text);
        match column {
            Some(x) if usize::from(area.right() - x) > text::width(words) + 2 => {
                let left = usize::from(area.right() - x);
                draw_text(buf, x, area.y, &format!("▾ {words}"), left, style);
            }
            // Without room at the right, the words end at the mark.
            Some(x) => {
                let room = usize::from(x - area.x);
                let text = text::fit(&format!(" {words} "), room, Align::Right);
                draw_text(buf, area.x, area.y, &text, room, style);
                draw_text(buf, x, area.y, "▾", 1, style);
            }
            None => draw_line(buf, area, &format!(" {words}"), style),
        }
    }
}

/// Returns the filter of the open page, or else of the processes.
fn filter(app: &App) -> &FilterState {
    app.page().map_or(&app.query.filter, |page| &page.table().filter)
}

fn set_filter(app: &mut App, text: &str) {
    if app.page().is_some() {
        app.with_page(|page, app| page.set_filter(app, text));
    } else {
        app.query.filter.set(text);
        rebuild(app);
    }
}

impl Modal for Prompt {
    fn context(&self) -> Context {
        Context::Input
    }

    /// Up and down move in the table, so that all rows that pass the filter can be seen.
    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        match action {
            Action::Accept => return self.accept(app),
            Action::Cancel => return self.cancel(app),
            Action::Up | Action::Down | Action::PageUp | Action::PageDown if app.page().is_some() => {
                app.with_page(|page, app| page.move_selection(app, action));
            }
            Action::Up | Action::Down | Action::PageUp | Action::PageDown => {
                app.on_movement(action);
            }
            Action::SearchNext => select_match(app, 1, 1),
            Action::SearchPrevious => select_match(app, -1, -1),
            action => self.edit(app, |input| input.on_action(action)),
        }
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        self.edit(app, |input| input.insert(c.encode_utf8(&mut [0; 4])));
        Response::stay()
    }

    fn on_paste(&mut self, app: &mut App, text: &str) {
        self.edit(app, |input| input.insert(text));
    }

    fn takes_mouse(&self) -> bool {
        false
    }

    fn is_about_rows(&self) -> bool {
        self.kind == PromptKind::Filter
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        let layout = app.layout();
        let area = layout.footer.intersection(frame.area());
        let above = layout.detail.intersection(frame.area());
        if area.is_empty() {
            return None;
        }
        let buf = frame.buffer_mut();
        Clear.render(area, buf);
        let (end, cursor) = self.input.draw(self.label(), area, theme, buf);
        let (note, bad) = self.note(app);
        let error = filter(app).error.as_ref().filter(|_| self.kind == PromptKind::Filter);
        if let Some(error) = error {
            let column = self.input.screen_column(error.at, self.label(), area);
            if let Some(x) = column {
                buf.set_style(Rect::new(x, area.y, 1, 1), theme.error);
            }
            if !above.is_empty() {
                Self::draw_fault(app, error.what.as_str(), column, above, buf);
                return Some(cursor);
            }
        }
        let x = end.saturating_add(2).min(area.right());
        let left = usize::from(area.right().saturating_sub(end)).saturating_sub(2);
        let note = text::fit(&note, text::width(&note).min(left), Align::Left);
        let style = if bad { theme.error } else { theme.dim };
        draw_text(buf, x, area.y, &note, left, style);
        Some(cursor)
    }
}
