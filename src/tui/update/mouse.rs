//! The wheel and clicks.

use std::time::Duration;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::config::Action;
use crate::tui::app::{App, Response};
use crate::tui::event::Effect;
use crate::tui::hints::{Button, button_at};
use crate::tui::rows::rebuild;

/// Rows that a notch of the wheel moves, as in most programs.
const ROWS_PER_NOTCH: isize = 3;
/// Time within which a second click on a row opens it, as on most desktops.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// Takes in a mouse event.
pub(super) fn on_mouse(app: &mut App, mouse: MouseEvent, now: Duration) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::ScrollUp => on_wheel(app, at, false),
        MouseEventKind::ScrollDown => on_wheel(app, at, true),
        MouseEventKind::Down(MouseButton::Left) => on_click(app, at, now),
        _ => Vec::new(),
    }
}

/// Returns true if the mouse is for what is open over the tables.
fn is_for_modal(app: &App) -> bool {
    app.modal.as_ref().is_some_and(|modal| modal.takes_mouse())
}

fn on_wheel(app: &mut App, at: Position, down: bool) -> Vec<Effect> {
    if is_for_modal(app) {
        return app.with_modal(|modal, app| {
            modal.on_wheel(app, down);
            Response::stay()
        });
    }
    let rows = if down { ROWS_PER_NOTCH } else { -ROWS_PER_NOTCH };
    if app.page().is_some() {
        app.with_page(|page, app| page.step(app, rows));
        return Vec::new();
    }
    if let Some(active) = table_at(app, at) {
        app.tables.active = active;
    }
    app.move_selection(rows);
    Vec::new()
}

/// Returns the index of the table that lies there.
fn table_at(app: &App, at: Position) -> Option<usize> {
    app.layout().tables.iter().position(|area| area.contains(at))
}

/// Presses the key whose hint was clicked, sorts by the column whose heading was, or selects the row, or opens it.
fn on_click(app: &mut App, at: Position, now: Duration) -> Vec<Effect> {
    let button = button_at(app, at);
    app.screen.message = None;
    let last = app.tables.clicked.take();
    match button {
        Some(Button::Action(action)) => return super::perform(app, action),
        Some(Button::Char(c)) => return app.with_modal(|modal, app| modal.on_char(app, c)),
        None => {}
    }
    if is_for_modal(app) {
        return app.with_modal(|modal, app| modal.on_click(app, at));
    }
    if app.page().is_some() {
        return app.with_page(|page, app| page.on_click(app, at));
    }
    let Some(active) = table_at(app, at) else {
        return Vec::new();
    };
    let area = app.layout().tables[active];
    app.tables.active = active;
    if at.y == area.y {
        sort_by_heading(app, at.x - area.x, area.width);
        return Vec::new();
    }
    let row = app.tables.current().list.offset + usize::from(at.y - area.y - 1);
    if row >= app.tables.current().rows.len() {
        return Vec::new();
    }
    let height = app.rows_shown();
    app.tables.current_mut().select_index(row, height);
    let selected = app.tables.current().selected.clone();
    let is_second =
        last.is_some_and(|(key, then)| selected.as_ref() == Some(&key) && now.saturating_sub(then) <= DOUBLE_CLICK);
    if !is_second {
        app.tables.clicked = selected.map(|key| (key, now));
        return Vec::new();
    }
    // What is open already stays so.
    if app.shows_panel() && app.query.scope.lists_processes() {
        return Vec::new();
    }
    super::perform(app, Action::Open)
}

/// Sorts by the column whose heading is at a place of the current table.
fn sort_by_heading(app: &mut App, x: u16, width: u16) {
    let columns = app.place_columns(app.tables.current(), width);
    let hit = columns
        .into_iter()
        .find(|c| (c.x..c.x.saturating_add(c.width)).contains(&x));
    if let Some(column) = hit.and_then(|c| app.tables.current().columns.get(c.index).copied()) {
        app.tables.frozen = false;
        app.tables.current_mut().sort_by(column);
        rebuild(app);
    }
}
