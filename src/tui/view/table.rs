//! A table: its heading, its rows, its totals; and the selected row in full.
//!
//! ```text
//!   PSS   ΔPSS  SWAP ΔSWAP   USS   RSS 5 MIN          PID USER      COMMAND
//!  2.1G   +12M  120M     0  2.0G  2.2G ▁▂▂▃▄▄▅▆▇█   27213 alice     python3 train.py
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::columns::{Cell, CellStyle, Column, ColumnId, Label, Row, Unit, cell, layout, newest, sparklines_of};
use crate::config::{Action, Context};
use crate::group::{Group, GroupBy, RowKey, Totals};
use crate::history::RowHistory;
use crate::history::view::Band;
use crate::model::{Missing, ProcessSample, Snapshot};
use crate::query::{RowRef, unread_mappings};
use crate::trend::Verdict;
use crate::tui::app::{App, RightShows, Scope, Table};
use crate::tui::labels;
use crate::tui::navigation::is_match;
use crate::tui::widgets::{self, PlacedColumn, StatusLine, draw_headings, draw_line, line, rows_in_sight, select_row};
use crate::{filter, text, units};

/// Draws the heading and the rows, in the columns as placed.
pub(super) fn draw(app: &App, table: &Table, columns: &[PlacedColumn], active: bool, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = &app.config.theme;
    let sorted_by = app.sorted_heading(table);
    let heading = |index: usize| {
        let id = table.columns[index];
        (app.heading_of(id), (id == sorted_by).then_some(table.descending))
    };
    let sorted = if active { theme.heading_sorted } else { theme.heading };
    let is_in_sight = columns.iter().any(|placed| table.columns[placed.index] == sorted_by);
    let sign = if table.descending { '▼' } else { '▲' };
    let order = (!is_in_sight).then(|| format!("by {}{sign}", app.heading_of(sorted_by)));
    let shows_rest = app.right_shows(table, columns) == Some(RightShows::Commands);
    let notes = notes(app.tables.scroll, table, columns, area.height - 1, order, shows_rest);
    buf.set_style(line(area, 0), theme.heading);
    draw_headings(buf, line(area, 0), columns, heading, theme, sorted, &notes);
    let Some(snapshot) = &app.engine.snapshot else { return };
    let rows = table.rows.iter().enumerate().skip(table.list.offset);
    let rows: Vec<_> = rows
        .zip(1..area.height)
        .filter_map(|((at, row), y)| Some((at, y, row, app.row(snapshot, row)?)))
        .collect();
    let is_chart = |placed: &&PlacedColumn| table.columns[placed.index].get().unit == Unit::Chart;
    let charts = columns.iter().find(is_chart).map_or_else(Vec::new, |placed| {
        let value = table.columns[placed.index].get().value;
        let width = usize::from(placed.width);
        let span = app.screen.chart.span().time;
        let source = app.row_source(snapshot);
        let recent = |past: &RowHistory| past.footprint().over(span).recent(width);
        let last = |band: Option<Band>| Some(band?.last);
        let values = rows
            .iter()
            .map(|(_, _, row, values)| match (app.fold(row), app.folded_subtree(row)) {
                (Some(fold), _) => {
                    let bands = Band::sums(fold.pasts(&source).map(recent));
                    bands.into_iter().map(last).collect()
                }
                (None, Some(ids)) => {
                    let history = &app.engine.history;
                    let bands = Band::sums(ids.iter().filter_map(|id| history.get(*id)).map(recent));
                    bands.into_iter().map(last).collect()
                }
                (None, None) => newest(&value(values), width),
            });
        sparklines_of(&values.collect::<Vec<_>>())
    });
    for (index, (at, y, row, values)) in rows.iter().enumerate() {
        let place = line(area, *y);
        let base = row_style(app, row);
        if base != Style::default() {
            buf.set_style(place, base);
        }
        let mut verdicts = Vec::new();
        for column in columns {
            let chart = charts.get(index).map(String::as_str);
            let id = table.columns[column.index];
            let meaning = draw_cell(app, id, column, (row, values), chart, place, buf);
            if id.get().unit.is_verdict() {
                verdicts.push((column.cell(place), meaning));
            }
        }
        if active && *at == table.list.cursor {
            select_row(buf, place, theme, &verdicts);
        }
    }
    if table.rows.is_empty() && area.height > 1 {
        let unread = unread_mappings(&app.query.process_filter().filter, snapshot).filter(|unread| unread.is_pending());
        if let Some(unread) = unread.filter(|_| !app.query.shows_mappings()) {
            return draw_line(buf, line(area, 1), &format!(" {} …", unread.text()), theme.dim);
        }
        let why = match app.query.scope {
            _ if snapshot.rows().is_empty() => "no processes",
            Scope::Processes => "no process matches",
            Scope::Members(_) => "no process of the group matches, or all have ended",
            Scope::Groups(_) => "no group matches",
            Scope::Mappings(_) => "no mapping matches",
        };
        let is_filtered = app.query.user.is_some() || !app.query.filter.filter.is_empty();
        let key = app.config.keymap.shown_key(Context::Table, Action::ClearFilter);
        let hint = key.filter(|_| is_filtered);
        let hint = hint.map_or_else(String::new, |key| format!("; {key} clears the filter"));
        let mut words = format!(" {why}{hint}");
        if let Some(meant) = filter::meant(&app.query.filter.good) {
            let whole = format!("{words}; {meant}");
            if text::width(&whole) <= usize::from(area.width) {
                words = whole;
            }
        }
        draw_line(buf, line(area, 1), &words, theme.dim);
    }
}

/// Returns the notes of a heading, the longest first: the order if no heading shows it, how many columns are scrolled away, how
/// many more can be scrolled to, or that the commands can, and which rows are on screen: `by PSS▼ ←2 5→ 18–34 of 108`,
/// `→ scrolls 18–34 of 108`.
fn notes(
    scroll: usize,
    table: &Table,
    placed: &[PlacedColumn],
    height: u16,
    order: Option<String>,
    shows_rest: bool,
) -> Vec<String> {
    let rows = rows_in_sight(table.list.offset, usize::from(height), table.rows.len());
    let hidden = table.columns.len() - placed.len();
    let first = placed.iter().map(|placed| placed.index).min().unwrap_or(0);
    let left = if scroll > 0 { first } else { 0 };
    let to_left = match left {
        // Only the commands are scrolled.
        0 => (scroll > 0).then(|| "←".to_owned()),
        left => Some(format!("←{left}")),
    };
    let to_right = (hidden > left).then(|| format!("{}→", hidden - left));
    let signs = to_left.into_iter().chain(to_right);
    let rest = shows_rest.then(|| "→ scrolls".to_owned());
    let signs = signs.chain(rest).collect::<Vec<_>>().join(" ");
    let mut notes: Vec<String> = match (signs.is_empty(), rows) {
        (true, rows) => rows,
        (false, rows) => {
            let both = rows.iter().map(|rows| format!("{signs} {rows}"));
            both.chain([signs.clone()]).chain(rows.iter().cloned()).collect()
        }
    };
    // The order matters most.
    if let Some(order) = order {
        for note in &mut notes {
            *note = format!("{order} {note}");
        }
        notes.push(order);
    }
    notes
}

fn row_style(app: &App, row: &RowRef) -> Style {
    let theme = &app.config.theme;
    let search = app.query.search.as_deref();
    let of_members = |has: &dyn Fn(&RowKey) -> bool| match (app.fold(row), &app.engine.snapshot) {
        (Some(fold), Some(snapshot)) => fold.ids(snapshot).any(|id| has(&RowKey::Process(id))),
        _ => has(&row.key),
    };
    let tags = &app.tables.tags;
    if !tags.is_empty() && of_members(&|key| tags.contains(key)) {
        theme.tagged
    } else if search.is_some_and(|search| is_match(app, row, search)) {
        theme.found
    } else if app.engine.alerts.firing() > 0 && of_members(&|key| app.engine.has_alert(key)) {
        theme.alert
    } else {
        theme.text
    }
}

/// Draws a cell; returns its meaning. `chart` is the row's chart, scaled together with the charts of the other rows.
fn draw_cell(
    app: &App,
    id: ColumnId,
    placed: &PlacedColumn,
    (row, values): (&RowRef, &Row<'_>),
    chart: Option<&str>,
    area: Rect,
    buf: &mut Buffer,
) -> CellStyle {
    let column = id.get();
    if let (Label::Group, Some(group), 0) = (column.label, values.named_group(), placed.skip) {
        draw_group_name(app, group, placed, area, buf);
        return CellStyle::Plain;
    }
    let width = usize::from(placed.width) + placed.skip;
    // A long command loses its directories first, so more of it is read than fits.
    let of_command = id == layout::COMMAND && placed.skip == 0;
    let read = if id == layout::COMMAND {
        width.saturating_mul(4)
    } else {
        width
    };
    let mut cell = cell(&(column.value)(values), app.screen.units, read);
    let fold = app.fold(row);
    let is_chart = cell.style == CellStyle::Chart || column.unit == Unit::Chart && fold.is_some();
    if let Some(chart) = chart.filter(|_| is_chart) {
        let text = chart.into();
        let style = CellStyle::Chart;
        cell = Cell { text, style };
    }
    // A row whose memory is hidden shows no dashes.
    if cell.style == CellStyle::Missing && values.counted_rss.is_some() {
        cell.text.clear();
    }
    // If most figures are bounds, the heading says so, and an RSS in place of a PSS is left out beside the RSS.
    if cell.style == CellStyle::Estimate && app.is_blind() {
        let has_rss = app.tables.current().columns.contains(&layout::RSS);
        match id {
            layout::ANON => cell.text = cell.text.replace('≤', ""),
            layout::PSS if has_rss && app.tables.current().sort != layout::PSS => cell.text.clear(),
            _ => {}
        }
    }
    let mut prefix = String::new();
    if let Some(fold) = fold.filter(|_| column.label == Label::Process) {
        prefix = format!("{}×{} ", row.guide, fold.group.members.len());
    } else if id == layout::COMMAND && (row.folded || !row.guide.is_empty()) {
        let subtree = values.totals.filter(|_| row.folded);
        let folded = subtree.map(|t| format!("[+{}] ", t.count - 1)).unwrap_or_default();
        prefix = format!("{}{folded}", row.guide);
    }
    let is_scrolled = id == layout::COMMAND && placed.skip > 0;
    cell.text = if is_scrolled {
        scrolled_command(&prefix, &cell.text, placed.skip)
    } else {
        format!("{prefix}{}", cell.text)
    };
    if of_command {
        cell.text = text::without_directories(&cell.text, width);
    }
    let style = cell_style(app, column, cell.style, values, row);
    let skip = if is_scrolled { 0 } else { placed.skip };
    PlacedColumn { skip, ..*placed }.draw(buf, area, &cell.text, style);
    cell.style
}

/// Returns a command scrolled by `skip` columns. The part before it, and the name of its program, stay.
fn scrolled_command(prefix: &str, command: &str, skip: usize) -> String {
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let name = program.rsplit('/').next().unwrap_or(program);
    format!("{prefix}{name} …{}", text::skip(arguments, skip))
}

/// Draws the name of a group. The mark of processes to restart stays visible however long the name is.
fn draw_group_name(app: &App, group: &Group, placed: &PlacedColumn, area: Rect, buf: &mut Buffer) {
    let width = usize::from(placed.width);
    let mark = group.replaced_label().unwrap_or_default();
    let name_width = width.saturating_sub(mark.len()).max(width.min(8));
    let name = labels::group_name(&group.key, name_width);
    placed.draw_at(buf, area, 0, &name, Style::default());
    let from = text::width(&name) as u16;
    placed.draw_at(buf, area, from, &mark, app.config.theme.warning);
}

fn cell_style(app: &App, column: &Column, style: CellStyle, values: &Row<'_>, row: &RowRef) -> Style {
    let theme = &app.config.theme;
    match style {
        // If most figures are bounds, a bound is not highlighted.
        CellStyle::Estimate if app.is_blind() => Style::default(),
        // A steady row goes up and down.
        CellStyle::Up | CellStyle::Down if values.trend.is_some_and(|trend| trend.verdict == Verdict::Steady) => {
            Style::default()
        }
        CellStyle::Missing => match values.memory {
            Err(e) if e.hides_memory() && e != Missing::Pending => theme.missing,
            _ => theme.zero,
        },
        CellStyle::Plain if row.folded && column.additive => theme.totals,
        CellStyle::Plain if values.sample.is_some_and(|s| s.stat.is_kernel_thread()) => theme.dim,
        CellStyle::Plain if column.additive && values.sample.is_some_and(|s| s.stale) => theme.stale,
        CellStyle::Plain if column.unit == Unit::Bytes && values.counted_rss.is_some() => theme.stale,
        CellStyle::Plain => Style::default(),
        style => widgets::cell_style(theme, style),
    }
}

pub(super) fn draw_totals(app: &App, table: &Table, columns: &[PlacedColumn], area: Rect, buf: &mut Buffer) {
    let (all, names) = match (&app.query.scope, &app.data.mappings) {
        (Scope::Processes | Scope::Members(_), _) if app.fleet.is_some() => (app.rows.listed, ["group", "groups"]),
        (Scope::Processes | Scope::Members(_), _) => (app.rows.listed, ["process", "processes"]),
        (Scope::Mappings(_), Some(scan)) => (scan.groups.len(), ["mapping", "mappings"]),
        (Scope::Groups(_) | Scope::Mappings(_), _) => (app.rows.groups.len(), ["group", "groups"]),
    };
    let count = if app.rows.matching == all {
        all.to_string()
    } else {
        format!("{} of {all}", app.rows.matching)
    };
    let what = names[usize::from(count != "1")];
    let plain = [format!("Σ {count} {what}"), format!("Σ {count}")];
    let mut labels = Vec::new();
    if is_of_shown(app) {
        labels.extend(plain);
    } else {
        let unread = app.rows.coverage.hidden - app.rows.coverage.pending;
        if unread > 0 && app.rows.matching == all && app.query.scope == Scope::Processes {
            labels.push(format!("Σ {count} {what}, {unread} unreadable"));
        }
        labels.extend(labels_of_sums(plain, &app.rows.totals));
    }
    draw_sums(app, (table, columns), &app.rows.totals, &labels, area, buf);
}

/// Returns true if most rows have RSS instead of PSS, none is without either, and so the sums are of what the rows show.
fn is_of_shown(app: &App) -> bool {
    let coverage = &app.rows.coverage;
    app.is_blind() && coverage.hidden == coverage.pending + coverage.by_rss
}

pub(super) fn draw_tagged(app: &App, table: &Table, columns: &[PlacedColumn], area: Rect, buf: &mut Buffer) {
    let count = app.tagged_rows().count();
    let labels = labels_of_sums([format!("Σ {count} tagged"), format!("Σ {count}")], &app.rows.tagged);
    draw_sums(app, (table, columns), &app.rows.tagged, &labels, area, buf);
}

/// Returns labels for sums, with a note if they are partial.
fn labels_of_sums([long, short]: [String; 2], totals: &Totals) -> Vec<String> {
    if totals.partial {
        let noted = [&long, &short].map(|label| [format!("{label} (partial)"), format!("{label}*")]);
        noted.into_iter().flatten().collect()
    } else {
        vec![long, short]
    }
}

/// Draws sums below their columns, and the first label that fits below the other columns.
fn draw_sums(
    app: &App,
    (table, columns): (&Table, &[PlacedColumn]),
    totals: &Totals,
    labels: &[String],
    area: Rect,
    buf: &mut Buffer,
) {
    let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let theme = &app.config.theme;
    buf.set_style(area, theme.totals);
    let values = Row::of_totals(totals, snapshot);
    let additive = |placed: &PlacedColumn| table.columns[placed.index].get().additive;
    let bound = if is_of_shown(app) { totals.as_bound() } else { None };
    for placed in columns.iter().filter(|placed| additive(placed)) {
        let id = table.columns[placed.index];
        // A sum of RSS would count shared pages many times.
        if app.is_blind() && [layout::PSS, layout::RSS, layout::MEM].contains(&id) {
            continue;
        }
        let of_shown = bound.as_ref().filter(|_| [layout::ANON, layout::DPSS].contains(&id));
        let values = of_shown.map_or(values, |totals| Row {
            is_counted: true,
            ..Row::of_totals(totals, snapshot)
        });
        let cell = cell(&(id.get().value)(&values), app.screen.units, usize::from(placed.width));
        placed.draw(buf, area, &cell.text.replace('≤', ""), theme.totals);
    }
    // The label is drawn below the widest run of columns without a sum.
    let runs = columns.chunk_by(|a, b| !additive(a) && !additive(b));
    let runs = runs.filter(|run| !additive(&run[0]));
    let span = |run: &[PlacedColumn]| run.last().map_or(0, |last| last.x + last.width - run[0].x);
    let Some(run) = runs.max_by_key(|run| span(run)) else {
        return;
    };
    let width = span(run);
    if let Some(label) = labels.iter().find(|label| text::width(label) <= usize::from(width)) {
        let place = PlacedColumn { width, ..run[0] };
        place.draw_at(buf, area, 0, label, theme.totals);
    }
}

// The selected row in full, on one line.
//
//  27213 alice  python3 train.py --epochs 40  ·  train.service  ·  memory: permission denied
//  nginx  ·  5 processes, 2 updated  ·  PSS 85M  USS 61M  shared 24M  swap 4M  ·  cgroup 120M of 512M  ·  oldest read 4s ago

/// A command is never cut to less: the rest of the line is left out first.
const MIN_COMMAND_WIDTH: usize = 20;

pub(super) fn draw_detail(app: &App, area: Rect, buf: &mut Buffer) {
    buf.set_style(area, app.config.theme.dim);
    let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let width = usize::from(area.width);
    if let Some(group) = app.selected_group() {
        group_line(app, snapshot, group, width).draw(area, buf);
    } else if let Some(sample) = app.selected_sample(snapshot) {
        process_line(app, sample, width).draw(area, buf);
    }
}

fn process_line(app: &App, sample: &ProcessSample, width: usize) -> StatusLine {
    let theme = &app.config.theme;
    let facts = &sample.facts;
    let is_denied = sample.walk == Err(Missing::Denied);
    // The line above says so of all rows.
    let reasons = if is_denied && app.hides_memory() {
        String::new()
    } else {
        labels::missing_reasons(sample)
    };
    let place = match (&facts.container, &facts.unit) {
        (Some(container), _) => Some(format!("container {}", text::safe_prefix(container.name(), 32))),
        (None, unit) => unit.as_deref().map(|unit| text::safe_prefix(unit, 32).into_owned()),
    };
    // 12 for the pid and the separators.
    let rest = text::width(&reasons) + place.as_deref().map_or(0, text::width) + 12;
    let command_width = width.saturating_sub(rest).max(MIN_COMMAND_WIDTH);
    let command = labels::cut(&facts.command(), command_width);
    let mut line = StatusLine::default();
    if let Some(host) = &facts.host {
        let host = text::safe_prefix(host, MIN_COMMAND_WIDTH * 2);
        line.text(60, format!(" {command}"), theme.text);
        line.text(90, format!(" on {host}"), theme.text);
    } else {
        line.text(90, format!(" {} ", sample.id.pid), theme.text);
        line.text(60, command, theme.text);
    }
    if let Some(place) = place {
        line.text(40, format!("  ·  {place}"), theme.dim);
    }
    if !reasons.is_empty() {
        let style = if is_denied { theme.dim } else { theme.warning };
        line.text(80, format!("  ·  {reasons}"), style);
    }
    line
}

fn group_line(app: &App, snapshot: &Snapshot, group: &Group, width: usize) -> StatusLine {
    let theme = &app.config.theme;
    let count = labels::process_count(app, group);
    let count = match group.key.by {
        // Each process has a heap of its own.
        GroupBy::Mapping if group.name().starts_with(b"[") => format!("in {count}"),
        GroupBy::Mapping => format!("mapped by {count}"),
        _ if group.totals.partial => format!("{count}, {} readable", group.readable),
        _ => count,
    };
    let mut parts = vec![(80, format!("  ·  {count}"), theme.dim)];
    if let Some((what, count)) = group.replaced {
        let what = labels::replaced(what);
        parts.push((85, format!(", {count} to restart ({what})"), theme.warning));
    }
    let mut add = |priority, text| parts.push((priority, text, theme.dim));
    let bytes = |n| units::bytes(n, app.screen.units);
    match &group.totals.memory {
        Ok(memory) => {
            add(70, format!("  ·  PSS {}", bytes(memory.pss)));
            if !app.engine.is_partial() {
                let uss = memory.uss();
                add(62, format!("  USS {}", bytes(uss)));
                add(60, format!("  shared {}", bytes(memory.pss.saturating_sub(uss))));
                add(65, format!("  swap {}", bytes(memory.swap)));
            }
        }
        Err(Missing::Pending) => add(70, "  ·  memory not read yet".into()),
        Err(why) => add(70, format!("  ·  memory: {why}")),
    }
    if let Some(cgroup) = &group.cgroup {
        add(75, format!("  ·  {}", labels::cgroup_figures(cgroup, app.screen.units)));
    }
    if let Some(at) = group.walked {
        let age = units::span(snapshot.monotonic.saturating_sub(at));
        add(50, format!("  ·  oldest read {age} ago"));
    }
    // The name gets the rest of the line, but at least a third.
    let rest: usize = parts.iter().map(|(_, text, _)| text::width(text)).sum();
    let name_width = width.saturating_sub(rest + 1).max(width / 3);
    let mut line = StatusLine::default();
    let name = match group.key.by {
        GroupBy::Siblings => labels::cut(group.name(), name_width),
        _ => labels::group_name(&group.key, name_width),
    };
    line.text(90, format!(" {name}"), theme.text);
    for (priority, text, style) in parts {
        line.text(priority, text, style);
    }
    line
}
