//! Menus: the sort menu, the user picker, the column chooser.
//!
//! ```text
//! ┌ Columns ─────────────────────────────────────────┐
//! │ ✓ pss        PSS                                 │
//! │ · swap_pss   SWPSS                               │
//! │──────────────────────────────────────────────────│
//! │ What the entry means, in two lines at the most   │
//! └──────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::help::wrap;
use crate::columns::{COLUMNS, Column};
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::popup::{Place, Popup};
use crate::units::bytes;

/// Lines below the entries that tell what the entry means, where there is room.
pub(super) const NOTE_LINES: usize = 4;

/// How many of `inside` lines go to the note.
pub(super) const fn note_lines(inside: usize) -> usize {
    if inside >= 10 { NOTE_LINES } else { 0 }
}

/// Draws the entries and the note.
pub(super) fn draw(app: &App, popup: &Popup, area: Rect, buf: &mut Buffer) {
    match popup {
        Popup::Help(_) | Popup::Alerts(_) | Popup::Leaks(_) => {}
        Popup::Sort(place) => {
            let rows = COLUMNS.iter().map(|c| {
                let mark = if app.tables.current().sort.get().id == c.id {
                    '●'
                } else {
                    ' '
                };
                format!(" {mark} {}", label(c))
            });
            entries(app, *place, rows, Some(&COLUMNS[place.cursor]), area, buf);
        }
        Popup::Columns(place, chooser) => {
            let rows = chooser.order.iter().enumerate().map(|(at, c)| {
                let mark = if at < chooser.chosen { '✓' } else { '·' };
                format!(" {mark} {}", label(c.get()))
            });
            let note = chooser.order.get(place.cursor).map(|c| c.get());
            entries(app, *place, rows, note, area, buf);
        }
        Popup::Users(place, users) => {
            let everyone = std::iter::once(" everyone".to_owned());
            let rows = users.iter().map(|u| {
                let name = fit(&text::safe_prefix(&u.name, 16), 16, Align::Left);
                format!(" {name} {:>6} procs {:>9}", u.count, bytes(u.pss, app.screen.units))
            });
            entries(app, *place, everyone.chain(rows), None, area, buf);
        }
    }
}

fn label(column: &Column) -> String {
    let first = column
        .help
        .split(". ")
        .next()
        .unwrap_or_default()
        .split(": ")
        .next()
        .unwrap_or_default();
    format!("{:<10} {:<9} {first}", column.id, column.title)
}

fn entries(
    app: &App,
    place: Place,
    rows: impl Iterator<Item = String>,
    note: Option<&Column>,
    area: Rect,
    buf: &mut Buffer,
) {
    let theme = &app.config.theme;
    let inside = usize::from(area.height);
    let height = if note.is_some() {
        inside.saturating_sub(note_lines(inside))
    } else {
        inside
    };
    let width = usize::from(area.width);
    for (at, row) in rows.enumerate().skip(place.offset).take(height) {
        let y = area.y + (at - place.offset) as u16;
        let style = if at == place.cursor {
            theme.selected
        } else {
            theme.popup
        };
        buf.set_stringn(area.x, y, fit(&row, width, Align::Left), width, style);
    }
    let (Some(column), true) = (note, height < inside) else {
        return;
    };
    let top = area.y + height as u16;
    buf.set_stringn(area.x, top, "─".repeat(width), width, theme.frame);
    for (at, line) in wrap(column.help, width.saturating_sub(2))
        .iter()
        .take(NOTE_LINES - 1)
        .enumerate()
    {
        buf.set_stringn(
            area.x + 1,
            top + 1 + at as u16,
            line,
            width.saturating_sub(1),
            theme.dim,
        );
    }
}
