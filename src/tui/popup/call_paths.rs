//! The code that allocates and keeps the memory of a process, measured while the popup is open, or since the process grows.
//!
//! ```text
//! ┌ Origin of the memory of 4711 server ──────────────────────────────────────┐
//! │   KEPT          TAKEN  FUNCTION, AND ITS CALLERS                          │
//! │  23.5M   97 %   23.6M  remember_session server.c:41                       │
//! │                        ← handle_request server.c:88                       │
//! │───────────────────────────────────────────────────────────────────────────│
//! │ server (pid 4711), 30 s: 6,392 page faults, 25.0M taken, 24.1M of it kept │
//! └───────────────────────────────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::inquiry::{ABOUT_PROCESS, chosen_process, title_of};
use super::{Popup, wrap};
use crate::call_tree::{Cell, Measured};
use crate::config::Action;
use crate::model::Identity;
use crate::tui::app::{App, CallPathView, Hint, Response};
use crate::tui::event::Effect;
use crate::tui::widgets::{ListState, draw_line, line, select_row};
use crate::{text, units};

pub struct CallPathTree;

/// Opens the popup, and measures the process of the open popup, else the selected one, until it is closed. If the process is
/// sampled since it grows, shows that.
pub(in crate::tui) fn open(app: &mut App) -> Vec<Effect> {
    if cfg!(not(feature = "code")) {
        app.screen.fail("this zmtop was built without call paths");
        return Vec::new();
    }
    let Some((id, name)) = chosen_process(app) else {
        return Vec::new();
    };
    let paths = &mut app.data.call_paths;
    let effect = (!paths.show_armed(id, name.clone())).then(|| paths.start(id, name));
    app.open_popup(CallPathTree);
    effect.into_iter().collect()
}

/// Ends the measurement once the popup is closed.
pub(in crate::tui) fn end(app: &mut App) -> Option<Effect> {
    let is_over = app.data.call_paths.runs && app.popup::<CallPathTree>().is_none();
    is_over.then(|| {
        app.data.call_paths.runs = false;
        Effect::Measure(None)
    })
}

/// Returns the next or the previous function with the same caller.
fn sibling(cells: &[Cell], at: usize, forward: bool) -> usize {
    let Some(from) = cells.get(at) else { return at };
    let is_one = |index: &usize| {
        let cell = cells[*index];
        (cell.parent, cell.depth) == (from.parent, from.depth)
    };
    let found = if forward {
        (at + 1..cells.len()).find(is_one)
    } else {
        (0..at).rev().find(is_one)
    };
    found.unwrap_or(at)
}

/// The columns from which on a function's name can be read.
const READABLE: f64 = 20.0;

/// Draws the flame graph, the outermost function at the top. A caller of the selected function fills the width if the function
/// would be too narrow to read.
fn draw_flame(app: &App, measured: &Measured, cursor: usize, area: Rect, buf: &mut Buffer) {
    let (theme, cells) = (&app.config.theme, &app.data.call_paths.cells);
    let title = " each function below its caller, as wide as the memory that it keeps; the arrow keys move";
    draw_line(buf, area, title, theme.dim);
    let Some(selected) = cells.get(cursor) else { return };
    let width = f64::from(area.width.saturating_sub(2));
    // The outermost caller that leaves enough room, else the function itself.
    let mut callers = vec![selected];
    while let Some(caller) = callers.last().filter(|cell| cell.depth > 0) {
        callers.push(&cells[caller.parent]);
    }
    let leaves_room = |caller: &&&Cell| selected.share / caller.share * width >= READABLE;
    let zoomed = callers.iter().rev().find(leaves_room).copied().unwrap_or(selected);
    let rows = usize::from(area.height.saturating_sub(1));
    let top = (selected.depth + 2).saturating_sub(rows);
    let column = |share: f64| {
        ((share - zoomed.start) / zoomed.share * width)
            .round()
            .clamp(0.0, width) as u16
    };
    for (index, cell) in cells.iter().enumerate() {
        let (from, to) = (column(cell.start), column(cell.start + cell.share));
        let Some(y) = cell.depth.checked_sub(top).filter(|y| *y < rows && from < to) else {
            continue;
        };
        let place = Rect {
            x: area.x + 1 + from,
            y: area.y + 1 + y as u16,
            // A gap separates neighbours.
            width: (to - from).saturating_sub(1).max(1),
            height: 1,
        };
        let name = match cell.frame {
            Some(id) => measured.stacks.name(id),
            None => text::safe_prefix(measured.command.as_bytes(), 15).into_owned(),
        };
        // Neighbours differ in their style.
        let style = if index % 2 == 0 { theme.popup } else { theme.key };
        let style = style.add_modifier(Modifier::REVERSED);
        let width = usize::from(place.width);
        let name = if width < 4 {
            " ".repeat(width)
        } else {
            text::fit(&name, width, text::Align::Left)
        };
        draw_line(buf, place, &name, style);
        if index == cursor {
            buf.set_style(
                place,
                theme
                    .selected
                    .remove_modifier(Modifier::REVERSED)
                    .add_modifier(Modifier::BOLD),
            );
        }
    }
}

/// Draws a text that may need several lines.
fn draw_wrapped(buf: &mut Buffer, area: Rect, text: &str, style: Style) {
    for (y, words) in (0..area.height).zip(wrap(text, usize::from(area.width).saturating_sub(2))) {
        draw_line(buf, line(area, y), &format!(" {words}"), style);
    }
}

impl Popup for CallPathTree {
    const TITLE: &'static str = " Origin of the memory ";
    const WIDTH: u16 = 160;
    const HEADING_LINES: u16 = 1;
    const IS_MENU: bool = false;
    const SWITCHES: bool = true;
    const LEADS_TO: &'static [Action] = ABOUT_PROCESS;
    const HINTS: &'static [Hint] = &[
        Hint::Action(Action::Search, "search"),
        Hint::Action(Action::Toggle, "callers, callees, flame graph"),
        Hint::Action(Action::Heap, "heap"),
        Hint::Action(Action::Cancel, "end"),
    ];

    fn title(&self, app: &App) -> Cow<'static, str> {
        title_of(Self::TITLE, Some(&app.data.call_paths.name))
    }

    fn subject(&self, app: &App) -> Option<(Identity, String)> {
        let paths = &app.data.call_paths;
        Some((paths.id?, paths.name.clone()))
    }

    fn texts(&self, app: &App) -> Vec<String> {
        let data = &app.data.call_paths;
        let Some(Ok(measured)) = &data.found else {
            return Vec::new();
        };
        let name = |id: Option<u32>| id.map_or_else(String::new, |id| measured.stacks.name(id));
        match data.view {
            CallPathView::Flame => data.cells.iter().map(|cell| name(cell.frame)).collect(),
            CallPathView::Callers | CallPathView::Callees => data.lines.iter().map(|line| name(line.frame())).collect(),
        }
    }

    /// Returns the whole line, the sums, and what limits them.
    fn note(&self, app: &App, at: usize) -> Option<Cow<'static, str>> {
        let data = &app.data.call_paths;
        let units = app.screen.units;
        match &data.found {
            Some(Ok(measured)) => {
                let mut parts = vec![measured.summary(units)];
                if data.is_armed {
                    parts.push("sampled since it began to grow; Enter measures again".to_owned());
                }
                let selected = match data.view {
                    CallPathView::Flame => data.cells.get(at).and_then(|cell| {
                        let kept = units::bytes(cell.weight.kept, units);
                        Some(format!(
                            "{}: {kept}, {:.0} %",
                            measured.stacks.name(cell.frame?),
                            cell.share * 100.0
                        ))
                    }),
                    _ => data
                        .lines
                        .get(at)
                        .and_then(|line| Some(measured.stacks.name(line.frame()?))),
                };
                parts.splice(0..0, selected);
                parts.extend(measured.notes(units));
                Some(parts.join("; ").into())
            }
            _ => None,
        }
    }

    /// Measures again.
    fn accept(&mut self, app: &mut App, _at: usize) -> Response {
        let data = &mut app.data.call_paths;
        let effect = data
            .id
            .filter(|_| data.is_armed)
            .map(|id| data.start(id, data.name.clone()));
        Response {
            effects: effect.into_iter().collect(),
            ..Response::stay()
        }
    }

    fn on_action(&mut self, app: &mut App, action: Action, at: usize) -> usize {
        let data = &mut app.data.call_paths;
        match action {
            Action::Toggle => {
                data.turn();
                0
            }
            Action::MoveUp if data.view == CallPathView::Flame => sibling(&data.cells, at, false),
            Action::MoveDown if data.view == CallPathView::Flame => sibling(&data.cells, at, true),
            _ => at,
        }
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let (theme, data) = (&app.config.theme, &app.data.call_paths);
        if area.is_empty() {
            return;
        }
        let measured = match &data.found {
            None => {
                let wait = "sampling its page faults; the first result appears in a few seconds …";
                return draw_wrapped(buf, area, &format!("{}: {wait}", data.name), theme.dim);
            }
            Some(Err(why)) => return draw_wrapped(buf, area, &text::safe(why.as_bytes()), theme.error),
            Some(Ok(measured)) => measured,
        };
        if data.view == CallPathView::Flame {
            return draw_flame(app, measured, list.cursor, area, buf);
        }
        let (order, total) = (data.view.order(), measured.stacks.total());
        draw_line(buf, area, &format!(" {}", order.heading(false)), theme.dim);
        for (y, (index, shown)) in (1..area.height).zip(data.lines.iter().enumerate().skip(list.offset)) {
            let style = if shown.weight.is_some() { theme.popup } else { theme.dim };
            let text = shown.text(&measured.stacks, total, order, app.screen.units, false);
            draw_line(buf, line(area, y), &format!(" {text}"), style);
            if index == list.cursor {
                select_row(buf, line(area, y), theme, &[]);
            }
        }
    }
}
