//! The line that is edited in place of the footer: the filter, a search, a pid, the interval, or the name of a file.
//!
//! ```text
//!             ▾ expected a size, such as 100M      a fault, above its place
//!  Filter  pss>x  cmd:postgres  12 match           the text, and a note
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Clear, Widget};

use crate::config::settings::{MAX_INTERVAL, MIN_INTERVAL};
use crate::config::{Action, Context, views};
use crate::filter;
use crate::group::RowKey;
use crate::text::{self, Align};
use crate::tui::app::{App, FilterState, Hint, Modal, Response};
use crate::tui::event::{Effect, PID_PAUSE};
use crate::tui::labels;
use crate::tui::navigation::{self, select_match, select_pid};
use crate::tui::replay::ReplayCommand;
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
    /// The name to save the view under.
    View,
    /// The file to record into.
    Record,
    /// A time to go to, of a recording or of the black box.
    Time,
    /// A pid, whose process is selected while it is typed. Any key that does not edit it closes it, as does a pause.
    Pid,
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
            input: TextInput::prefilled(text),
            before: text.into(),
        }
    }

    /// Opens an input for a pid that begins with these digits, on the page of the processes.
    pub(super) fn open_for_pid(app: &mut App, digits: &str) {
        app.close_page();
        app.open(Self {
            kind: PromptKind::Pid,
            input: TextInput::new(digits),
            before: String::new(),
        });
        select_pid(app, digits, false);
    }

    /// Shows other rows. A filter that is being typed stays open and applies to them, not to the rows before.
    pub(super) fn keep_filter(app: &mut App, show: impl FnOnce(&mut App)) {
        let is_filter = |prompt: &&Self| prompt.kind == PromptKind::Filter;
        let Some(Self { input, before, .. }) = app.modal::<Self>().filter(is_filter).cloned() else {
            return show(app);
        };
        set_filter(app, &before);
        show(app);
        let shown = filter(app).text.clone();
        let mut prompt = Self::new(PromptKind::Filter, &shown);
        // Text that is not edited yet is the filter of the rows before.
        if input.text() != before {
            set_filter(app, input.text());
            prompt.input = input;
        }
        app.open(prompt);
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
            PromptKind::Interval | PromptKind::View | PromptKind::Record | PromptKind::Time => {}
            PromptKind::Pid => select_pid(app, text, false),
        }
    }

    fn accept(&self, app: &mut App) -> Response {
        match self.kind {
            // A filter that does not parse stays open for correction.
            PromptKind::Filter if filter(app).error.is_some() => return Response::stay(),
            PromptKind::Filter => {
                if let Some(remark) = filter(app).filter.remark() {
                    app.screen.say(remark);
                }
            }
            // Where nothing matches, that is said once more.
            PromptKind::Search => select_match(app, 0, 1),
            PromptKind::View => return self.save_view(app),
            PromptKind::Record if self.input.text().trim().is_empty() => {}
            PromptKind::Record => {
                let path = self.input.text().trim().to_owned();
                return Response::close().with(Effect::Record(Some(path)));
            }
            PromptKind::Time => match navigation::go_to(app, self.input.text()) {
                Ok(effect) => {
                    if let Effect::Visit(time) = effect {
                        app.requests.visits = Some(time);
                        app.screen.say("reading the black box …  Esc stays here");
                    }
                    if let (Effect::Replay(ReplayCommand::Jump(time)), Some(replay)) = (&effect, &app.replay)
                        && let Some(text) = replay.begins_after(*time, &app.screen.zone)
                    {
                        app.screen.say(text);
                    }
                    return Response::close().with(effect);
                }
                Err(what) => {
                    app.screen.fail(what);
                    return Response::stay();
                }
            },
            PromptKind::Pid => {
                select_pid(app, self.input.text(), true);
                let pid = self.input.text().parse().ok();
                let selected = app.tables.current().selected.as_ref().and_then(RowKey::process);
                if selected.is_some_and(|id| Some(id.pid) == pid) && !app.screen.picking {
                    app.screen.panel_open = true;
                    rebuild(app);
                }
            }
            PromptKind::Interval => match interval(self.input.text()) {
                Ok(interval) => {
                    app.requests.interval = interval;
                    app.screen.say(format!("interval {}", units::span_exact(interval)));
                }
                Err(what) => {
                    app.screen.fail(what);
                    return Response::stay();
                }
            },
        }
        Response::close()
    }

    /// Saves the view, after asking if that overwrites another one.
    fn save_view(&self, app: &mut App) -> Response {
        let name = self.input.text().trim();
        if let Err(what) = views::check_name(name) {
            app.screen.fail(what);
            return Response::stay();
        }
        let Some(saved) = &app.data.views else {
            app.screen.say("still reading the list of views: press Enter again");
            return Response::stay();
        };
        let exists = saved.iter().any(|view| view.is_saved && view.name == name);
        let save = Effect::Save(name.into(), Box::new(app.saved()));
        if exists {
            app.open(Confirm::new(format!("overwrite the view {name}?"), save));
            return Response::close();
        }
        app.screen.view = Some(name.into());
        Response::close().with(save)
    }

    fn cancel(&self, app: &mut App) -> Response {
        match self.kind {
            PromptKind::Filter => set_filter(app, &self.before),
            PromptKind::Search => app.query.search = None,
            // The process that was found stays selected.
            PromptKind::Interval | PromptKind::Pid | PromptKind::View | PromptKind::Record | PromptKind::Time => {}
        }
        Response::close()
    }

    const fn label(&self) -> &'static str {
        match self.kind {
            PromptKind::Filter => " Filter ",
            PromptKind::Search => " Search ",
            PromptKind::Interval => " Interval ",
            PromptKind::Pid => " Pid ",
            PromptKind::Time => " Go to ",
            PromptKind::View => " Save view as ",
            PromptKind::Record => " Record into ",
        }
    }

    /// Returns the note beside the text, and whether it is a fault.
    fn note(&self, app: &App) -> (String, bool) {
        match (self.kind, &filter(app).error, &app.screen.message) {
            (PromptKind::Filter, Some(error), _) if app.layout().detail.is_empty() => (error.to_string(), true),
            (PromptKind::Filter, Some(_), _) => match filter(app).good.as_str() {
                "" => ("unfinished: all rows are shown".into(), false),
                good => (
                    format!("unfinished: rows of {}", labels::cut(good.as_bytes(), 30)),
                    false,
                ),
            },
            (PromptKind::Pid, _, Some(message)) if !message.bad => {
                (format!("{}  Enter opens it, Esc stays on it", message.text), false)
            }
            (_, _, Some(message)) => (message.text.clone(), message.bad),
            (PromptKind::Filter, ..) => {
                let rows = app.page().map_or(app.rows.matching, |page| page.keys(app).len());
                let nothing = rows == 0 && app.page().is_none();
                let stranger = nothing.then(|| unknown_user(app)).flatten();
                let remark = stranger.or_else(|| filter(app).filter.remark());
                let remark = remark.or_else(|| filter::meant(&filter(app).good).filter(|_| nothing));
                let remark = remark.map_or_else(String::new, |remark| format!("; {remark}"));
                (format!("{rows} match{remark}"), false)
            }
            (PromptKind::Search, ..) if app.query.search.is_some() => ("Enter keeps it, then n and N".into(), false),
            (PromptKind::Interval, ..) => ("100ms to 1h, such as 500ms, 2s, 1m".into(), false),
            (PromptKind::Time, ..) => (
                "23:51, 2026-11-20 23:51, -10m (before the end), start or end".into(),
                false,
            ),
            (PromptKind::Record, ..) => ("a new file; R ends the recording".into(), false),
            (PromptKind::View, ..) => {
                let saved = app.data.views.iter().flatten().filter(|view| view.is_saved);
                let others = saved.map(|view| view.name.as_str());
                let others: Vec<&str> = others.collect();
                let saved = match (&app.data.views, others.is_empty()) {
                    (None, _) => "…".into(),
                    (Some(_), true) => "none".into(),
                    (Some(_), false) => others.join(", "),
                };
                (
                    format!("zmtop starts with the view named default; saved: {saved}"),
                    false,
                )
            }
            (PromptKind::Search | PromptKind::Pid, ..) => (String::new(), false),
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
            Some(x) if usize::from(x - area.x) > text::width(words) + 1 => {
                let room = usize::from(x - area.x);
                let text = text::fit(&format!(" {words} "), room, Align::Right);
                draw_text(buf, area.x, area.y, &text, room, style);
                draw_text(buf, x, area.y, "▾", 1, style);
            }
            // Words that fit at neither side have the line; the place is marked in the text.
            Some(_) | None => draw_line(buf, area, &format!(" {words}"), style),
        }
    }
}

/// Parses an interval.
///
/// # Errors
/// The text is not a valid interval. The error names the fault and the valid range.
fn interval(typed: &str) -> Result<Duration, String> {
    let [least, most] = [MIN_INTERVAL, MAX_INTERVAL].map(units::span_exact);
    match units::parse_span(typed) {
        None if typed.trim().is_empty() => Err(format!("nothing typed: {least} to {most}, such as 500ms, 2s, 1m")),
        None => Err("not a time: type a number and a unit, such as 500ms, 2s, 1m".into()),
        Some(short) if short < MIN_INTERVAL => Err(format!("too short: {least} to {most}")),
        Some(long) if long > MAX_INTERVAL => Err(format!("too long: {least} to {most}")),
        Some(interval) => Ok(interval),
    }
}

/// Returns the filter of the open page, or else of the processes.
fn filter(app: &App) -> &FilterState {
    app.page().map_or(&app.query.filter, |page| &page.table().filter)
}

/// Returns which user of the filter has no process, and the user that may be meant.
fn unknown_user(app: &App) -> Option<String> {
    let rows = app.engine.snapshot.as_ref()?.rows();
    let names = rows.iter().filter_map(|row| row.facts.user.as_deref().ok());
    let names: BTreeSet<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let mut users = filter(app).filter.users().into_iter();
    let unknown =
        users.find(|user| user.parse::<u32>().is_err() && !names.iter().any(|name| name.eq_ignore_ascii_case(user)))?;
    let meant = text::nearest(&unknown, names.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |name| {
        format!(": did you mean {}?", text::safe(name.as_bytes()))
    });
    Some(format!(
        "no process of user {}{meant}",
        labels::cut(unknown.as_bytes(), 24)
    ))
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

    fn is_left_by(&self, key: KeyEvent) -> bool {
        let edits = match key.code {
            // A capital letter comes with Shift.
            KeyCode::Char(c) => c.is_ascii_digit() || !(key.modifiers - KeyModifiers::SHIFT).is_empty(),
            KeyCode::Backspace | KeyCode::Enter | KeyCode::Esc => true,
            _ => false,
        };
        self.kind == PromptKind::Pid && !edits
    }

    fn closes_after(&self) -> Option<Duration> {
        (self.kind == PromptKind::Pid).then_some(PID_PAUSE)
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

/// A question in place of the footer, to be answered by y or n, and the effect of y.
pub struct Confirm {
    question: String,
    effect: Effect,
}

impl Confirm {
    pub const fn new(question: String, effect: Effect) -> Self {
        Self { question, effect }
    }
}

impl Modal for Confirm {
    fn context(&self) -> Context {
        Context::Input
    }

    fn hints(&self) -> &[Hint] {
        &[Hint::Key("y", "yes"), Hint::Key("n", "no")]
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        if action == Action::Cancel {
            return Response::close();
        }
        app.screen.say(format!("{} y or n", self.question));
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        match c {
            'y' | 'Y' => {
                if let Effect::Save(name, _) = &self.effect {
                    app.screen.view = Some(name.clone());
                }
                Response::close().with(self.effect.clone())
            }
            'n' | 'N' => Response::close(),
            _ => self.on_action(app, Action::Accept),
        }
    }

    fn takes_mouse(&self) -> bool {
        false
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let area = app.layout().footer.intersection(frame.area());
        let buf = frame.buffer_mut();
        Clear.render(area, buf);
        let theme = &app.config.theme;
        draw_line(buf, area, &format!(" {}  y/n", self.question), theme.warning);
        None
    }
}
