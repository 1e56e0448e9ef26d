//! A table: its heading, its rows, its totals.
//!
//! ```text
//!   PSS   ΔPSS  SWAP ΔSWAP   USS   RSS 5 MIN          PID USER      COMMAND
//!  2.1G   +12M  120M     0  2.0G  2.2G ▁▂▂▃▄▄▅▆▇█   27213 alice     python3 train.py
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::placed;
use super::put::put as cells;
use crate::columns::{CellStyle, Column, Label, Row, Unit, cell, layout};
use crate::group::{Group, GroupBy, GroupKey, Totals};
use crate::model::Missing;
use crate::query::RowRef;
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::layout::Placed;
use crate::tui::scope::Scope;
use crate::tui::table::Table;
use crate::tui::update::found;

/// Draws the heading and the rows.
pub(super) fn draw(app: &App, table: &Table, active: bool, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let columns = placed(app, table, area);
    heading(app, table, active, &columns, area, buf);
    let Some(snapshot) = &app.data.snapshot else { return };
    let rows = usize::from(area.height - 1);
    for (at, line) in table.lines.iter().enumerate().skip(table.offset).take(rows) {
        let y = area.y + 1 + (at - table.offset) as u16;
        let Some(row) = app.row(snapshot, line) else { continue };
        let base = base_style(app, line);
        let place = Rect { y, height: 1, ..area };
        if base != Style::default() {
            buf.set_style(place, base);
        }
        for spot in &columns {
            draw_cell(app, table, *spot, &row, Some(line), place, buf);
        }
        if active && at == table.cursor {
            buf.set_style(place, app.config.theme.selected);
        }
    }
    if table.lines.is_empty() && rows > 0 {
        let place = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        let why = match app.query.scope {
            _ if snapshot.rows().is_empty() => "no processes",
            Scope::Processes => "no process matches",
            Scope::Members(_) => "no process of the group matches, or there is none any more",
            Scope::Groups(_) => "no group matches",
            Scope::Mappings(_) => "no mapping matches",
        };
        buf.set_stringn(
            place.x + 1,
            place.y,
            why,
            usize::from(place.width.saturating_sub(1)),
            app.config.theme.dim,
        );
    }
}

fn base_style(app: &App, line: &RowRef) -> Style {
    let theme = &app.config.theme;
    if app.tables.tags.contains(&line.key) {
        theme.tagged
    } else if app.query.search.as_deref().is_some_and(|s| found(app, line, s)) {
        theme.found
    } else if crate::tui::alerts::is_firing(app, &line.key) {
        theme.alert
    } else {
        theme.text
    }
}

fn heading(app: &App, table: &Table, active: bool, columns: &[Placed], area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let place = Rect { height: 1, ..area };
    buf.set_style(place, theme.heading);
    for spot in columns {
        let id = table.columns[spot.index];
        let column = id.get();
        let sorted = id == table.sort;
        let mark = if table.descending { '▼' } else { '▲' };
        let width = usize::from(spot.width);
        // The mark takes the place of padding, never that of the title.
        let named = match (column.label, app.query.scope.groups()) {
            (Label::Group, Some(by)) => by.title(),
            _ if column.unit == Unit::Chart => app.screen.chart.span().title,
            _ => column.title,
        };
        let title = if sorted && named.chars().count() < width {
            match column.align {
                Align::Right => format!("{mark}{named}"),
                Align::Left => format!("{named}{mark}"),
            }
        } else {
            named.to_owned()
        };
        let style = if sorted && active {
            theme.heading_sorted
        } else {
            theme.heading
        };
        put(buf, spot.x, place, width, &fit(&title, width, column.align), style);
    }
}

fn put(buf: &mut Buffer, x: u16, area: Rect, width: usize, text: &str, style: Style) {
    let x = area.x + x;
    let room = usize::from(area.right().saturating_sub(x)).min(width);
    if room > 0 {
        cells(buf, x, area.y, text, room, style);
    }
}

fn draw_cell(
    app: &App,
    table: &Table,
    spot: Placed,
    row: &Row<'_>,
    line: Option<&RowRef>,
    area: Rect,
    buf: &mut Buffer,
) {
    let id = table.columns[spot.index];
    let column = id.get();
    let width = usize::from(spot.width);
    let value = (column.value)(row);
    let written = cell(&value, app.screen.units, width + spot.skip);
    let mut text = written.text;
    if let (Some(line), layout::COMMAND) = (line, id) {
        text = command(line, row, &text);
    }
    let shown = if spot.skip > 0 {
        text::skip(&text, spot.skip).into_owned()
    } else {
        text
    };
    let style = tone(app, column, written.style, row, line);
    if let (Label::Group, Some(group), 0) = (column.label, row.group, spot.skip) {
        return draw_name(app, group, spot, area, buf);
    }
    put(buf, spot.x, area, width, &fit(&shown, width, column.align), style);
}

/// The name of a group in at most `room` columns. Of a longer path the end is shown: the beginning is mostly the
/// same.
pub(super) fn name(key: &GroupKey, room: usize) -> String {
    if !matches!(key.by, GroupBy::Cgroup | GroupBy::Mapping) {
        let name = text::safe_prefix(key.label(), room);
        return fit(&name, text::width(&name).min(room), Align::Left);
    }
    let name = text::safe(key.label());
    match text::width(&name).checked_sub(room) {
        Some(excess @ 1..) if room > 0 => format!("…{}", text::skip(&name, excess + 1)),
        _ => name.into_owned(),
    }
}

/// The name of a group; the mark of what must be started anew stays in sight however long the name is.
fn draw_name(app: &App, group: &Group, spot: Placed, area: Rect, buf: &mut Buffer) {
    let width = usize::from(spot.width);
    let mark = group.replaced_label().unwrap_or_default();
    let room = width.saturating_sub(mark.len()).max(width.min(8));
    let name = name(&group.key, room);
    put(buf, spot.x, area, width, &name, Style::default());
    let taken = text::width(&name);
    let at = spot.x.saturating_add(taken as u16);
    put(buf, at, area, width - taken, &mark, app.config.theme.warning);
}

/// The command with the tree's lines before it, and how much is folded below it.
fn command(line: &RowRef, row: &Row<'_>, text: &str) -> String {
    let hidden = row
        .subtree
        .filter(|_| line.folded)
        .map(|t| format!("[+{}] ", t.count - 1))
        .unwrap_or_default();
    format!("{}{hidden}{text}", line.guide)
}

fn tone(app: &App, column: &Column, tone: CellStyle, row: &Row<'_>, line: Option<&RowRef>) -> Style {
    let theme = &app.config.theme;
    match tone {
        CellStyle::Zero => theme.zero,
        CellStyle::Up => theme.up,
        CellStyle::Down => theme.down,
        CellStyle::Chart => theme.chart,
        CellStyle::Leak => theme.leak,
        CellStyle::Missing => match row.memory {
            Err(e) if e.hides_memory() && e != Missing::Pending => theme.missing,
            _ => theme.zero,
        },
        CellStyle::Plain if line.is_some_and(|l| l.folded) && column.additive => theme.totals,
        CellStyle::Plain if row.sample.is_some_and(|s| s.stat.is_kernel_thread()) => theme.dim,
        CellStyle::Plain if column.additive && row.sample.is_some_and(|s| s.stale) => theme.stale,
        CellStyle::Plain => Style::default(),
    }
}

/// Draws the sums of the rows that are shown.
pub(super) fn totals(app: &App, table: &Table, table_area: Rect, area: Rect, buf: &mut Buffer) {
    let (all, names) = match (&app.query.scope, &app.data.mappings) {
        (Scope::Processes | Scope::Members(_), _) => (
            app.data.snapshot.as_ref().map_or(0, |s| s.rows().len()),
            ["process", "processes"],
        ),
        (Scope::Mappings(_), Some(found)) => (found.groups.len(), ["mapping", "mappings"]),
        (Scope::Groups(_) | Scope::Mappings(_), _) => (app.rows.groups.len(), ["group", "groups"]),
    };
    let count = if app.rows.matching == all {
        all.to_string()
    } else {
        format!("{} of {all}", app.rows.matching)
    };
    let what = names[usize::from(count != "1")];
    let labels = [format!("Σ {count} {what}"), format!("Σ {count}")];
    sums(app, table, &app.rows.totals, &labels, table_area, area, buf);
}

/// Draws the sums of the tagged rows.
pub(super) fn tagged(app: &App, table: &Table, table_area: Rect, area: Rect, buf: &mut Buffer) {
    let count = app.tagged_rows().count();
    let labels = [format!("Σ {count} tagged"), format!("Σ {count}")];
    sums(app, table, &app.rows.tagged, &labels, table_area, area, buf);
}

fn sums(app: &App, table: &Table, totals: &Totals, labels: &[String], table_area: Rect, area: Rect, buf: &mut Buffer) {
    let Some(snapshot) = app.data.snapshot.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let theme = &app.config.theme;
    buf.set_style(area, theme.totals);
    let row = Row::of_totals(totals, snapshot);
    let columns = placed(app, table, table_area);
    let additive = |spot: &Placed| table.columns[spot.index].get().additive;
    for spot in columns.iter().filter(|s| additive(s)) {
        let column = table.columns[spot.index].get();
        let width = usize::from(spot.width);
        let written = cell(&(column.value)(&row), app.screen.units, width);
        put(
            buf,
            spot.x,
            area,
            width,
            &fit(&written.text, width, column.align),
            theme.totals,
        );
    }
    // The label goes below the widest run of columns that have no sum.
    let runs = columns
        .chunk_by(|a, b| !additive(a) && !additive(b))
        .filter(|run| !additive(&run[0]));
    let span = |run: &[Placed]| run.last().map_or(0, |l| l.x + l.width - run[0].x);
    let Some(run) = runs.max_by_key(|run| span(run)) else {
        return;
    };
    let width = usize::from(span(run));
    let notes: &[&str] = if totals.partial {
        &[" (partial: some rows cannot be read)", " (partial)", "*"]
    } else {
        &[""]
    };
    let fitting = labels
        .iter()
        .flat_map(|l| notes.iter().map(move |n| format!("{l}{n}")))
        .find(|l| text::width(l) <= width);
    if let Some(label) = fitting {
        put(buf, run[0].x, area, width, &label, theme.totals);
    }
}
