//! Draws the state; changes nothing.

mod act;
mod alerts;
mod detail;
mod footer;
mod gauges;
mod help;
mod leaks;
mod list;
mod panel;
mod put;
mod strip;
mod table;
mod title;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear};

use super::act::Dialog;
use super::app::{App, Mode};
use super::layout::{Placed, Wanted, place};
use super::popup::Popup;
use super::table::Table;
use crate::columns::Label;
use crate::group::GroupBy;

/// Draws one frame. The state's size may lag behind the terminal's for a moment; what does not fit is cut.
pub fn view(app: &App, frame: &mut Frame<'_>) {
    let layout = app.layout();
    let screen = frame.area();
    let buf = frame.buffer_mut();
    if app.config.theme.text != Style::default() {
        buf.set_style(screen, app.config.theme.text);
    }
    let cut = |area: Rect| area.intersection(screen);

    title::draw(app, cut(layout.title), buf);
    gauges::memory(app, cut(layout.mem), buf);
    gauges::swap(app, cut(layout.swap), buf);
    gauges::pressure(app, cut(layout.pressure), buf);
    leaks::bar(app, cut(layout.leaks), buf);
    for (at, (table, area)) in app.tables.shown().iter().zip(&layout.tables).enumerate() {
        let active = !app.tables.two || at == app.tables.active;
        table::draw(app, table, active, cut(*area), buf);
        let sums = Rect {
            x: area.x,
            width: area.width,
            ..layout.totals
        };
        table::totals(app, table, *area, cut(sums), buf);
        let tagged = Rect {
            x: area.x,
            width: area.width,
            ..layout.tagged
        };
        table::tagged(app, table, *area, cut(tagged), buf);
    }
    detail::draw(app, cut(layout.detail), buf);
    panel::draw(app, cut(layout.panel), buf);
    let mut cursor = footer::draw(app, cut(layout.footer), buf);

    if let Mode::Popup(popup) = &app.mode {
        let area = cut(popup_area(app));
        frame.render_widget(Clear, area);
        let theme = &app.config.theme;
        let block = Block::bordered()
            .border_style(theme.frame)
            .style(theme.popup)
            .title(match popup {
                Popup::Help(_) => " Help ",
                Popup::Sort(_) => " Sort by ",
                Popup::Users(..) => " User ",
                Popup::Alerts(_) => " Alerts ",
                Popup::Leaks(_) => " Leaks ",
                Popup::Columns(..) => " Columns ",
            });
        let inside = block.inner(area);
        frame.render_widget(block, area);
        match popup {
            Popup::Help(from) => help::draw(app, *from, inside, frame.buffer_mut()),
            Popup::Alerts(place) => alerts::draw(app, *place, inside, frame.buffer_mut()),
            Popup::Leaks(place) => leaks::draw(app, *place, inside, frame.buffer_mut()),
            other => list::draw(app, other, inside, frame.buffer_mut()),
        }
    }
    if let Mode::Act(dialog) = &app.mode {
        cursor = act::draw(app, dialog, cut(popup_area(app)), frame);
    }
    if let Some(position) = cursor.filter(|p| screen.contains(*p)) {
        frame.set_cursor_position(position);
    }
}

/// The columns of a table as placed in its area.
pub fn placed(app: &App, table: &Table, area: Rect) -> Vec<Placed> {
    let wanted: Vec<Wanted> = table
        .columns
        .iter()
        .map(|id| {
            let column = id.get();
            let grows = column.grows || column.label == Label::Group && app.query.scope.groups().is_some();
            // A name of a few letters names nothing.
            let width = match app.query.scope.groups() {
                Some(GroupBy::Command | GroupBy::User) | None => 0,
                Some(GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup | GroupBy::Mapping) => 24,
            };
            let need = if grows || *id == table.sort {
                u8::MAX
            } else {
                column.priority as u8
            };
            Wanted {
                width: column.width_in(app.screen.units).max(if grows { width } else { 0 }),
                grows,
                need,
            }
        })
        .collect();
    place(&wanted, area.width, app.tables.scroll)
}

/// The area of the open popup.
pub fn popup_area(app: &App) -> Rect {
    let layout = app.layout();
    let popup = match &app.mode {
        Mode::Popup(popup) => popup,
        Mode::Act(dialog) => return act::area(&layout, dialog),
        Mode::Table | Mode::Input(..) => return Rect::default(),
    };
    let (width, entries) = match popup {
        Popup::Help(_) => (100, help_lines(app)),
        Popup::Sort(_) => (100, crate::columns::COLUMNS.len() + list::NOTE_LINES),
        Popup::Users(_, users) => (44, users.len() + 1),
        Popup::Alerts(_) => (120, alerts::lines(app)),
        Popup::Leaks(_) => (160, leaks::lines(app)),
        Popup::Columns(_, chooser) => (100, chooser.order.len() + list::NOTE_LINES),
    };
    layout.popup(width, u16::try_from(entries + 2).unwrap_or(u16::MAX))
}

/// How many entries of the open popup are on screen.
pub fn list_height(app: &App) -> usize {
    let inside = usize::from(popup_area(app).height.saturating_sub(2));
    match &app.mode {
        Mode::Popup(Popup::Leaks(_)) => inside.saturating_sub(leaks::HEADING),
        Mode::Popup(Popup::Sort(_) | Popup::Columns(..)) => inside.saturating_sub(list::note_lines(inside)),
        _ => inside,
    }
}

/// How many signals the open dialog shows at once.
pub fn signals_shown(app: &App) -> usize {
    match &app.mode {
        Mode::Act(dialog) => act::shown(popup_area(app), dialog),
        Mode::Table | Mode::Input(..) | Mode::Popup(_) => 0,
    }
}

/// Where the signals are listed in a dialog that lies there.
pub fn signals_area(area: Rect, dialog: &Dialog) -> Rect {
    act::list(area, dialog)
}

/// How many lines the help has.
pub fn help_lines(app: &App) -> usize {
    help::lines(app, usize::from(app.screen.size.0.min(100).saturating_sub(2))).len()
}
