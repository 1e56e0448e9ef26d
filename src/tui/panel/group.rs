//! The panel of a group: what it holds together, its chart, and which of its processes grew.
//!
//! ```text
//!  worker  12 processes                                                                              by command
//!  PSS 334M ██████████████████████████▒▒▒░  anon 300M file 34M shmem 0  ·  USS 310M  RSS 480M  swap 0
//!  footprint over 5 min: 214M to 334M  ·  ▲ leaking 7.0M/min for at least 32m30, 99% sure that it grows
//!                              ▁▂▃▄▅▆▇████████████████████████████
//!  its processes, by growth
//!     GROWTH   PSS TREND               PID COMMAND
//!   +10.0K/s 27.8M ▲ 600K/min 97%     1042 /usr/sbin/worker
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{draw_facts, held, process};
use crate::columns::{CellStyle, cell, layout};
use crate::group::Group;
use crate::model::Snapshot;
use crate::order;
use crate::text;
use crate::tui::app::App;
use crate::tui::labels;
use crate::tui::widgets::{ColumnLayout, StatusLine, TableGrid, draw_line};
use crate::units;

/// Draws the panel.
pub(super) fn draw(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut heading = StatusLine::default();
    let name = text::safe_prefix(group.key.label(), 60);
    heading.text(90, format!(" {name}"), theme.heading_sorted);
    heading.text(80, format!("  {}", labels::process_count(app, group)), theme.heading);
    heading.text_right(50, format!("by {} ", group.key.by.id()), theme.heading);
    heading.draw(area, buf);

    let mut facts = vec![match &group.totals.memory {
        Ok(memory) => process::memory_line(app, memory, area.width),
        Err(why) => StatusLine::of(format!(" PSS: {why}"), theme.dim),
    }];
    if let Some(figures) = &group.cgroup {
        let figures = labels::cgroup_figures(figures, app.screen.units);
        facts.push(StatusLine::of(format!(" {figures}"), theme.text));
    }
    if let Some(figures) = group.totals.held.ok().filter(|held| held.total() > 0 || held.vram > 0) {
        let bytes = |n| units::bytes(n, app.screen.units);
        let parts = held::parts(&figures, bytes).join("  ");
        let mut line = StatusLine::of(
            format!(
                " they hold {}{} beside their PSS",
                held::at_least(&figures),
                bytes(figures.total())
            ),
            theme.text,
        );
        line.text(60, format!("  ·  {parts}"), theme.text);
        if figures.vram > 0 {
            line.text(50, format!("  ·  and {} of VRAM", bytes(figures.vram)), theme.text);
        }
        facts.push(line);
    }
    if !group.whole {
        let text = " the chart is of the whole group, without the filter";
        facts.push(StatusLine::of(text, theme.dim));
    }
    let history = app.engine.history.of_group(group, snapshot);
    let chart = history.map(|history| (history, app.row_source(snapshot).group(group)));
    let rest = draw_facts(app, snapshot, facts, chart, area, buf);
    // Without room for a row a heading is of no use.
    if let Some(rest) = rest.filter(|rest| rest.height > 2) {
        draw_members(app, snapshot, group, rest, buf);
    }
}

/// Draws the processes of the group, the one that grows fastest first.
fn draw_members(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let rows = snapshot.rows();
    let growth = |at: usize| {
        let change = rows.get(at).and_then(|sample| app.engine.change(sample.id));
        change.and_then(|change| change.growth).unwrap_or(0.0)
    };
    let mut members: Vec<(f64, usize)> = group.members.iter().map(|at| (growth(*at), *at)).collect();
    order::sort_by(&mut members, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));

    let (columns, heading) = if app.fleet.is_some() {
        (layout::FLEET_MEMBERS, " its groups on each host, by growth")
    } else {
        (layout::GROUP_MEMBERS, " its processes, by growth")
    };
    let columns: Vec<_> = columns.iter().map(|id| id.get()).collect();
    let layout = columns.iter().map(|column| ColumnLayout {
        grows: column.grows,
        ..ColumnLayout::fixed(column.width_in(app.screen.units), column.align())
    });
    let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 1);
    draw_line(buf, area, heading, theme.text);
    grid.draw_row(buf, 1, |at| (columns[at].title.to_owned(), theme.dim));
    for (y, (_, member)) in (2..area.height).zip(members) {
        let Some(sample) = rows.get(member) else { continue };
        let row = app.row_source(snapshot).process(sample);
        grid.draw_row(buf, y, |at| {
            let width = usize::from(area.width);
            let cell = cell(&(columns[at].value)(&row), app.screen.units, width);
            let style = match cell.style {
                CellStyle::Leak => theme.leak,
                CellStyle::Up => theme.up,
                CellStyle::Down => theme.down,
                CellStyle::Zero => theme.zero,
                CellStyle::Missing => theme.missing,
                CellStyle::Estimate => theme.stale,
                CellStyle::Plain | CellStyle::Chart => theme.text,
            };
            (cell.text, style)
        });
    }
}
