//! The frame that the dialogs share, with the processes at its top.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear};

use super::selection::{ProcessLabel, Selection};
use crate::columns::{cell, layout};
use crate::text::{Align, fit};
use crate::tui::app::App;
use crate::tui::widgets::{draw_line, line};

const WIDTH: u16 = 72;
/// Maximum number of processes that are named one by one: the question below matters more.
const MAX_NAMED: usize = 4;

pub(super) struct DialogLayout {
    /// All of it, the frame included.
    pub(super) area: Rect,
    head: Rect,
    /// The list to choose from.
    pub(super) body: Rect,
    /// The question or the input.
    pub(super) foot: Rect,
}

impl DialogLayout {
    /// Places a dialog with `body` lines to choose from and `foot` lines below. Where it is low the foot stays
    /// longest, then some of the body. `screen` cuts it: the state's size may lag behind the terminal's.
    pub(super) fn new(app: &App, selection: &Selection, body: u16, foot: u16, screen: Rect) -> Self {
        let processes = match selection.processes.len() {
            1 => 2,
            n => 2 + n.min(MAX_NAMED) as u16,
        };
        let has_body = body > 0;
        // The frame, and a rule below each part but the last.
        let around = if has_body { 4 } else { 3 };
        let area = app.layout().popup(WIDTH, processes + body + foot + around);
        let area = area.intersection(screen);
        let inside = Block::bordered().inner(area);
        let foot = foot.min(inside.height);
        let above = inside.height - foot;
        let rule = u16::from(above >= 6);
        let least = if has_body { (above / 2).max(1).min(above) } else { 0 };
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

    /// Draws the frame, the rules and the processes; returns false if nothing fits into it.
    pub(super) fn draw(&self, app: &App, title: &str, selection: &Selection, frame: &mut Frame<'_>) -> bool {
        let theme = &app.config.theme;
        frame.render_widget(Clear, self.area);
        let block = Block::bordered().border_style(theme.frame).style(theme.popup);
        frame.render_widget(block.title(title), self.area);
        let buf = frame.buffer_mut();
        for y in (self.head.bottom()..self.body.y).chain(self.body.bottom()..self.foot.y) {
            let rule = Rect { y, ..self.foot };
            draw_line(buf, rule, &"─".repeat(rule.width.into()), theme.frame);
        }
        draw_processes(app, selection, self.head, buf);
        !self.foot.is_empty()
    }
}

fn draw_processes(app: &App, selection: &Selection, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let obstacles = selection.obstacles();
    let describe = |p: &ProcessLabel| format!(" {} {}  {}", p.id.pid, p.user, p.command);
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
        let named = if all > MAX_NAMED { MAX_NAMED - 1 } else { all };
        lines.extend(selection.processes.iter().take(named).map(|process| {
            let exited = selection.exited.contains(&process.id);
            (describe(process), if exited { theme.dim } else { theme.text })
        }));
        if all > named {
            lines.push((format!(" … and {} more", all - named), theme.dim));
        }
        lines.push((format!(" {}", obstacles.unwrap_or_default()), theme.warning));
    }
    for (at, (text, style)) in lines.iter().take(usize::from(area.height)).enumerate() {
        let text = fit(text, usize::from(area.width), Align::Left);
        draw_line(buf, line(area, at as u16), &text, *style);
    }
}

/// Returns how long a process has been running, by the present snapshot.
fn elapsed(app: &App, process: &ProcessLabel) -> Option<String> {
    let snapshot = app.engine.snapshot.as_ref()?;
    let sample = snapshot.row(process.id)?;
    let row = app.row_source(snapshot).process(sample);
    let value = (layout::ELAPSED.get().value)(&row);
    Some(cell(&value, app.screen.units, 8).text.trim().to_owned())
}
