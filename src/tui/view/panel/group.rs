//! The selected group: what it holds together, its chart, and which of its processes grew.
//!
//! ```text
//!  worker  12 processes                                                                              by command
//!  PSS 334M ██████████████████████████▒▒▒░  anon 300M file 34M shmem 0  ·  USS 310M  RSS 480M  swap 0
//!  footprint over 5 min: 214M to 334M  ·  ▲ leaking 7.0M/min for 12m30, 99% sure
//!                              ▁▂▃▄▅▆▇████████████████████████████
//!  its processes, by growth
//!     GROWTH   PSS TREND               PID COMMAND
//!   +10.0K/s 27.8M ▲ 600K/min 97%     1042 /usr/sbin/worker
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::detail::group::limits;
use super::super::put::put;
use super::super::strip::Strip;
use super::{chart, facts, plain};
use crate::columns::{CellStyle, cell, layout};
use crate::group::Group;
use crate::model::Snapshot;
use crate::text::{self, fit};
use crate::tui::app::App;

/// Draws the panel below its heading's place.
pub(super) fn draw(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let line = |at: u16| Rect {
        y: area.y + at,
        height: 1,
        ..area
    };
    let mut strip = Strip::default();
    let name = text::safe_prefix(group.key.label(), 60);
    strip.text(90, format!(" {name}"), theme.heading_sorted);
    let count = group.totals.count;
    let plural = if count == 1 { "" } else { "es" };
    strip.text(80, format!("  {count} process{plural}"), theme.heading);
    strip.right(50, format!("by {} ", group.key.by.id()), theme.heading);
    strip.draw(line(0), buf);

    let height = area.height - 1;
    let mut lines = vec![match &group.totals.memory {
        Ok(memory) => facts::bar(app, memory, area.width),
        Err(why) => plain(format!(" PSS: {why}"), theme.dim),
    }];
    if let Some(figures) = &group.cgroup {
        lines.push(plain(format!(" {}", limits(app, figures)), theme.text));
    }
    if !group.whole {
        lines.push(plain(" the chart is of the whole group, without the filter", theme.dim));
    }
    let chart = super::chart_height(height.saturating_sub(lines.len() as u16));
    let mut y = 1;
    for strip in lines {
        if y > height {
            return;
        }
        strip.draw(line(y), buf);
        y += 1;
    }
    if let Some(series) = app.data.history.group(&group.key).filter(|_| chart > 0) {
        let place = Rect {
            height: chart,
            ..line(y)
        };
        chart::draw(app, snapshot, series, &app.group_row(group, snapshot), place, buf);
        y += chart;
    }
    if y + 2 < area.height {
        let place = Rect {
            height: area.height - y,
            ..line(y)
        };
        members(app, snapshot, group, place, buf);
    }
}

/// Its processes, the one that grows fastest first.
fn members(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let rows = snapshot.rows();
    let growth = |at: &usize| {
        let change = rows.get(*at).and_then(|sample| app.data.change(sample.id));
        change.and_then(|change| change.growth).unwrap_or(0.0)
    };
    let mut members: Vec<(f64, usize)> = group.members.iter().map(|at| (growth(at), *at)).collect();
    let shown = usize::from(area.height) - 2;
    members.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let columns: Vec<_> = layout::GROUP_MEMBERS.iter().map(|id| id.get()).collect();
    let mut at = |y: u16, cells: Vec<(String, Style)>| {
        let mut x = area.x + 1;
        for (column, (text, style)) in columns.iter().zip(cells) {
            let left = usize::from(area.right().saturating_sub(x));
            let wide = if column.grows {
                left
            } else {
                usize::from(column.width_in(app.screen.units)).min(left)
            };
            put(buf, x, area.y + y, &fit(&text, wide, column.align), left, style);
            x = x.saturating_add(wide as u16 + 1);
        }
    };
    let titles = columns.iter().map(|c| (c.title.to_owned(), theme.dim)).collect();
    at(1, titles);
    for (line, (_, member)) in members.into_iter().take(shown).enumerate() {
        let Some(sample) = rows.get(member) else { continue };
        let row = app.process_row(sample, snapshot);
        let cells = columns.iter().map(|column| {
            let cell = cell(&(column.value)(&row), app.screen.units, usize::from(area.width));
            let style = match cell.style {
                CellStyle::Leak => theme.leak,
                CellStyle::Up => theme.up,
                CellStyle::Down => theme.down,
                CellStyle::Zero => theme.zero,
                CellStyle::Missing => theme.missing,
                CellStyle::Plain | CellStyle::Chart => theme.text,
            };
            (cell.text, style)
        });
        let cells = cells.collect();
        at(line as u16 + 2, cells);
    }
    put(
        buf,
        area.x,
        area.y,
        " its processes, by growth",
        usize::from(area.width),
        theme.text,
    );
}
