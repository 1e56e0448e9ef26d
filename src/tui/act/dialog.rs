//! The dialog about processes: it names them at its top. Below are the lines to choose from, if there are any, and the
//! question or the input.

use std::any::Any;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear};

use super::selection::{NamedProcess, Selection};
use crate::act::Command;
use crate::columns::{cell, layout};
use crate::config::{Action, Context};
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::event::Effect;
use crate::tui::widgets::{ListState, draw_line, line};

const WIDTH: u16 = 72;

/// A question about the processes of a dialog.
pub trait Question: Any {
    fn hints(&self) -> &'static [Hint];

    /// Follows the present values of the processes.
    fn follow(&mut self, _selection: &Selection) {}

    /// Asks for confirmation again: a process has become another program or user.
    fn ask_again(&mut self) {}

    /// Shows why the action failed.
    fn fail(&mut self, _error: String) {}

    fn on_action(&mut self, app: &mut App, selection: &Selection, action: Action) -> Response;

    fn on_char(&mut self, _app: &mut App, _selection: &Selection, _c: char) -> Response {
        Response::stay()
    }

    fn on_paste(&mut self, _text: &str) {}

    /// Moves the cursor in the lines to choose from to the index that `to` returns.
    fn move_cursor(&mut self, _app: &App, _selection: &Selection, _to: &dyn Fn(ListState) -> usize) {}

    /// Draws the part below the processes; returns the position of the terminal's cursor.
    fn draw(&self, app: &App, selection: &Selection, layout: &DialogLayout, buf: &mut Buffer) -> Option<Position>;
}

pub struct ProcessDialog {
    pub selection: Selection,
    pub(super) title: &'static str,
    /// The number of lines to choose from, and of lines below them.
    pub(super) lines: (u16, u16),
    pub(super) question: Box<dyn Question>,
    /// The index of the first process that is named, if there is no room for all.
    pub(super) first: usize,
}

impl ProcessDialog {
    /// Returns the question if it is of that type.
    pub fn question<Q: Question>(&self) -> Option<&Q> {
        let question: &dyn Any = &*self.question;
        question.downcast_ref()
    }

    fn layout(&self, app: &App, screen: Rect) -> DialogLayout {
        DialogLayout::new(app, &self.selection, self.lines, screen)
    }
}

impl Modal for ProcessDialog {
    fn context(&self) -> Context {
        Context::Input
    }

    fn hints(&self) -> &[Hint] {
        self.question.hints()
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        if action == Action::NextGroups {
            let named = named(&self.selection, self.layout(app, Rect::MAX).head);
            let next = self.first + named;
            self.first = if next < self.selection.processes.len() { next } else { 0 };
            return Response::stay();
        }
        self.question.on_action(app, &self.selection, action)
    }

    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        self.question.on_char(app, &self.selection, c)
    }

    fn on_paste(&mut self, _app: &mut App, text: &str) {
        self.question.on_paste(text);
    }

    fn on_wheel(&mut self, app: &mut App, down: bool) {
        let to = |list: ListState| {
            if down {
                list.cursor + 1
            } else {
                list.cursor.saturating_sub(1)
            }
        };
        self.question.move_cursor(app, &self.selection, &to);
    }

    /// Moves the cursor to the line; a click outside of the dialog closes it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        let DialogLayout { area, body, .. } = self.layout(app, Rect::MAX);
        if !area.contains(at) {
            return Response::close();
        }
        if body.contains(at) {
            let to = |list: ListState| list.offset + usize::from(at.y - body.y);
            self.question.move_cursor(app, &self.selection, &to);
        }
        Response::stay()
    }

    fn on_snapshot(&mut self, app: &App) {
        let Some(snapshot) = &app.engine.snapshot else { return };
        if self.selection.follow(snapshot) {
            self.question.ask_again();
        }
    }

    fn on_close(&self) -> Option<Effect> {
        Some(Effect::Act(Command::Release(self.selection.request)))
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        let layout = self.layout(app, frame.area());
        frame.render_widget(Clear, layout.area);
        let block = Block::bordered().border_style(theme.frame).style(theme.popup);
        frame.render_widget(block.title(self.title), layout.area);
        let buf = frame.buffer_mut();
        let DialogLayout { head, body, foot, .. } = layout;
        for y in (head.bottom()..body.y).chain(body.bottom()..foot.y) {
            let rule = Rect { y, ..foot };
            draw_line(buf, rule, &"─".repeat(rule.width.into()), theme.frame);
        }
        draw_processes(app, &self.selection, self.first, head, buf);
        if foot.is_empty() {
            return None;
        }
        self.question.draw(app, &self.selection, &layout, buf)
    }
}

pub struct DialogLayout {
    /// All of it, the frame included.
    area: Rect,
    head: Rect,
    /// The list to choose from.
    pub(super) body: Rect,
    /// The question or the input.
    pub(super) foot: Rect,
}

impl DialogLayout {
    /// Places a dialog with `body` lines to choose from and `foot` lines below. If there is little room, the foot stays
    /// longest, then some of the body. `screen` cuts it: the state's size may lag behind the terminal's.
    pub(super) fn new(app: &App, selection: &Selection, (body, foot): (u16, u16), screen: Rect) -> Self {
        let processes = match selection.processes.len() {
            1 => 2,
            n => u16::try_from(2 + n).unwrap_or(u16::MAX),
        };
        let has_body = body > 0;
        // The frame, and a rule below each part but the last.
        let around = if has_body { 4 } else { 3 };
        let area = app
            .layout()
            .popup(WIDTH, processes.saturating_add(body + foot + around));
        let area = area.intersection(screen);
        let inside = Block::bordered().inner(area);
        let foot = foot.min(inside.height);
        let above = inside.height - foot;
        let rule = u16::from(above >= 6);
        let least = if has_body {
            (above / 2).clamp(1, body + 1).min(above)
        } else {
            0
        };
        let head = processes.min(above.saturating_sub(least + rule));
        let body = above - head - rule;
        let foot_rule = u16::from(has_body && body >= 5);
        let part = |y: u16, height: u16| Rect {
            y: inside.y + y,
            height,
            ..inside
        };
        Self {
            area,
            head: part(0, head),
            body: part(head + rule, body - foot_rule),
            foot: part(above, foot),
        }
    }
}

/// Returns how many of several processes are named at a time: the others share a line.
fn named(selection: &Selection, head: Rect) -> usize {
    let all = selection.processes.len();
    match usize::from(head.height).saturating_sub(2) {
        room if room >= all => all,
        room => room.saturating_sub(1),
    }
}

fn draw_processes(app: &App, selection: &Selection, first: usize, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let obstacles = selection.obstacles();
    let describe = |NamedProcess { id, facts, .. }: &NamedProcess| {
        let user = facts.user.as_ref().map(|user| text::safe_prefix(user, 16));
        let user = user.unwrap_or_else(|_| "?".into());
        let command = facts.short_command();
        format!(" {} {user}  {}", id.pid, text::safe_prefix(&command, 200))
    };
    let mut lines: Vec<(String, Style)> = Vec::new();
    if let [only] = selection.processes.as_slice() {
        lines.push((describe(only), theme.text));
        lines.push(match (obstacles, elapsed(app, only)) {
            (Some(obstacles), _) => (format!(" {obstacles}"), theme.error),
            (None, Some(elapsed)) => (format!(" started {elapsed} ago"), theme.dim),
            (None, None) => (String::new(), theme.dim),
        });
    } else {
        lines.push((format!(" {}", selection.name()), theme.title));
        let all = selection.processes.len();
        let named = named(selection, area);
        lines.extend(selection.processes.iter().skip(first).take(named).map(|process| {
            let exited = selection.exited.contains(&process.id);
            (describe(process), if exited { theme.dim } else { theme.text })
        }));
        if all > named {
            let key = app.config.keymap.shown_key(Context::Input, Action::NextGroups);
            let next = key.map_or_else(String::new, |key| format!("; {key} shows the next"));
            let shown = (all - first).min(named);
            lines.push((format!(" … and {} more{next}", all - shown), theme.dim));
        }
        lines.push((format!(" {}", obstacles.unwrap_or_default()), theme.warning));
    }
    for (at, (text, style)) in lines.iter().take(usize::from(area.height)).enumerate() {
        let text = fit(text, usize::from(area.width), Align::Left);
        draw_line(buf, line(area, at as u16), &text, *style);
    }
}

fn elapsed(app: &App, process: &NamedProcess) -> Option<String> {
    let snapshot = app.engine.snapshot.as_ref()?;
    let sample = snapshot.row(process.id)?;
    let row = app.row_source(snapshot).process(sample);
    let value = (layout::ELAPSED.get().value)(&row);
    Some(cell(&value, app.screen.units, 8).text.trim().to_owned())
}
