//! The objects that a process holds through its descriptors, that with the largest part first.
//!
//! ```text
//!  holds 13.1M beside its PSS  ·  memfd 13.0M  bpf 128K
//!   SHARE WHOLE  BY FDS KIND   NAME
//!   12.0M 12.0M   1   1 memfd  /memfd:cache
//!    1.0M  2.0M   2   1 memfd  /dev/shm/ring
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::columns::held::{COLUMNS, HeldRow};
use crate::columns::{Column, cell};
use crate::model::{Held, HeldFigures, HeldKind, ProcessSample};
use crate::text;
use crate::tui::app::App;
use crate::tui::widgets::{ColumnLayout, StatusLine, TableGrid, draw_text, line};
use crate::units;

/// Lines of a list without which it is not begun: its heading, the titles, and an object.
const LEAST: u16 = 3;

/// Draws what the process holds in up to half of the area; returns the rest, all of it where it holds nothing.
pub(super) fn draw(app: &App, sample: &ProcessSample, area: Rect, buf: &mut Buffer) -> Rect {
    let theme = &app.config.theme;
    let held = match sample.held() {
        Ok(held) => held,
        // That its memory cannot be read is said above, and that it has none.
        Err(_) if sample.held.is_none() || sample.walk.is_err() => return area,
        Err(why) => {
            StatusLine::of(format!(" held through descriptors: {why}"), theme.dim).draw(area, buf);
            return below(area, 1);
        }
    };
    if held.objects.is_empty() {
        return area;
    }
    summary(app, held).draw(area, buf);
    let room = area.height.div_ceil(2);
    if room < LEAST {
        return below(area, 1);
    }
    let columns: Vec<&Column<_>> = COLUMNS
        .iter()
        .filter(|c| c.id != "vram" || held.figures.vram > 0)
        .collect();
    let last = columns.len() - 1;
    let layout = columns.iter().enumerate().map(|(at, column)| {
        if at == last {
            ColumnLayout::rest()
        } else {
            ColumnLayout::fixed(column.width_in(app.screen.units), column.align())
        }
    });
    let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 1);
    buf.set_style(line(area, 1), theme.dim);
    grid.draw_row(buf, 1, |at| (columns[at].title.to_owned(), theme.dim));
    let mut y = 2;
    for object in held.objects.iter().take(usize::from(room - 2)) {
        let row = HeldRow::Object(object);
        grid.draw_row(buf, y, |at| {
            if at == last {
                return (String::new(), Style::default());
            }
            let value = (columns[at].value)(&row);
            (cell(&value, app.screen.units, usize::from(area.width)).text, theme.text)
        });
        // The end of a path tells more than its beginning.
        let place = grid.cell(y, last);
        let width = usize::from(place.width);
        let name = text::truncate_start(&text::safe(&object.name), width);
        draw_text(buf, place.x, place.y, &name, width, theme.text);
        y += 1;
    }
    below(area, y)
}

fn below(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y + lines,
        height: area.height - lines,
        ..area
    }
}

/// Returns the line that sums it up.
fn summary(app: &App, held: &Held) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let bytes = |n| units::bytes(n, app.screen.units);
    line.text(
        90,
        format!(" holds {} beside its PSS", bytes(held.figures.total())),
        theme.text,
    );
    for (at, part) in parts(&held.figures, bytes).into_iter().enumerate() {
        let between = if at == 0 { "  ·  " } else { "  " };
        line.text(80 - at as u8, format!("{between}{part}"), theme.text);
    }
    if held.figures.vram > 0 {
        line.text(60, format!("  ·  and {} of VRAM", bytes(held.figures.vram)), theme.text);
    }
    let all = held.objects.len() as u64 + held.unlisted;
    let plural = if all == 1 { "" } else { "s" };
    line.text(40, format!("  ·  {} object{plural}", units::count(all)), theme.dim);
    line
}

/// Returns the kinds of which something is held, and how much.
pub(super) fn parts(figures: &HeldFigures, bytes: impl Fn(u64) -> String) -> Vec<String> {
    let kinds = HeldKind::ALL.map(|kind| (kind.id(), figures.of(kind)));
    let told = kinds.into_iter().filter(|(_, n)| *n > 0);
    told.map(|(id, n)| format!("{id} {}", bytes(n))).collect()
}
