//! The panel of the selected row: a process in full, with its mappings, or a group.
//!
//! ```text
//!  27213 python3                                                                     alice
//!  sleeping  ·  4 threads  ·  runs 3m  ·  parent 900 bash  ·  /usr/bin/python3.13
//!  /usr/bin/python3 train.py --epochs 40
//!  /user.slice/session-2.scope  ·  cgroup 2.0G of 4.0G
//!  PSS 1.3G ██████████████████████████▒▒▒░  anon 1.2G file 96M shmem 0  ·  USS 1.2G  RSS 1.3G  swap 0
//!  footprint over 5 min: 1.1G to 1.3G                            5 min ago at the left, now at the right
//!                                                         ▂▄▆█████
//!                              ▁▂▃▄▅▆▇████████████████████████████
//!  what grew in 2m  ·  +120M in all  ·  read 3s ago                          1–12 of 41, m lists all
//!  GROWTH    PSS    RSS   SWAP AREAS KIND    MAPPING
//!   +118M   1.1G   1.1G      0    41 anon    [anon]
//!       0   212K   1.9M      0     5 file    /usr/lib/libc.so.6  shared with 6 others: bash, sshd, cron
//! ```
//!
//! A panel of another kind of row is a file here with a `draw`, and an arm in [`draw`].

pub(super) mod mappings;
mod process;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::columns::{Column, Row, TableKind, Value, cell, layout};
use crate::config::Action;
use crate::group::{Group, GroupBy, RowKey};
use crate::model::{Identity, Snapshot};
use crate::trend::{Judgement, Verdict};
use crate::tui::app::App;
use crate::tui::chart::chart_width;
use crate::tui::chart::draw::{Charted, Past, draw_chart};
use crate::tui::event::{Effect, Inspect};
use crate::tui::labels;
use crate::tui::panel::process::{at_least, parts};
use crate::tui::widgets::{ColumnLayout, StatusLine, TableGrid, cell_style, draw_line, draw_text, line, rows_in_sight};
use crate::{order, text, units};

/// Maximum number of growing processes whose mappings are tracked: each costs regular reads of `smaps`.
const MAX_TRACKED: usize = 8;

pub(super) fn toggle(app: &mut App) {
    if !app.query.shows_mappings() {
        app.screen.panel_open = !app.shows_panel();
        app.screen.panel_scroll = None;
        app.scroll_to_selection();
    }
}

/// Closes the panel; returns false if it is not open.
pub(super) fn close(app: &mut App) -> bool {
    let open = app.shows_panel();
    if open {
        toggle(app);
    }
    open
}

/// Requests the mappings of the shown process, or else of one that grows, but none while sampling is paused. Returns an effect
/// only if the request changed.
pub(super) fn request(app: &mut App) -> Option<Effect> {
    let shown = app.panel_process().map(|id| Inspect { id, closely: true });
    let tracked = || tracked_grower(app).map(|id| Inspect { id, closely: false });
    let wanted = shown
        .or_else(tracked)
        .filter(|_| !app.requests.paused && app.fleet.is_none() && app.replay.is_none());
    (wanted != app.requests.inspected).then(|| {
        app.requests.inspected = wanted;
        Effect::Inspect(wanted)
    })
}

/// Returns one of the worst processes that run into a limit, leak or grow: the one whose mappings were read the longest time ago.
/// So the panel shows at once which mappings grew.
fn tracked_grower(app: &App) -> Option<Identity> {
    let takers = app
        .engine
        .history
        .dangers()
        .iter()
        .filter_map(|danger| danger.taker.as_ref());
    let growing = app.engine.living_suspects().filter(|suspect| !suspect.is_held());
    let growing = growing.map(|suspect| &suspect.key);
    let keys = takers.map(|(key, _)| key).chain(growing);
    keys.filter_map(RowKey::process)
        .take(MAX_TRACKED)
        .min_by_key(|id| app.data.growth.read_at(*id))
}

/// The list at the end of a panel: the mappings of a process, or the processes of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PanelList {
    /// The number of rows that are scrolled away, that there is room for, and of all.
    offset: usize,
    height: usize,
    rows: usize,
}

impl PanelList {
    fn new(app: &App, rows: usize, height: u16) -> Self {
        let height = usize::from(height);
        let scrolled = app.screen.panel_scroll.as_ref();
        let scrolled =
            scrolled.filter(|(key, _)| Some(key) == app.tables.current().selected.as_ref() && covers_table(app));
        let offset = scrolled.map_or(0, |(_, lines)| *lines).min(rows.saturating_sub(height));
        Self { offset, height, rows }
    }

    /// Returns which rows are in sight: `18–34 of 108`; `None` if all are.
    fn extent(self) -> Option<String> {
        rows_in_sight(self.offset, self.height, self.rows).into_iter().next()
    }
}

/// Returns true if the panel is shown and no row of the table is: the keys that move the selection scroll it then.
pub(super) fn covers_table(app: &App) -> bool {
    app.shows_panel() && app.rows_shown() == 0
}

/// Scrolls a panel that covers the table. `to` returns the first row of its list, from the present one and the number of rows in
/// sight.
pub(super) fn scroll(app: &mut App, to: impl FnOnce(usize, usize) -> usize) {
    let area = app.layout().panel;
    let list = draw(app, area, &mut Buffer::empty(area)).unwrap_or_default();
    let last = list.rows.saturating_sub(list.height);
    if last == 0 || list.height == 0 {
        return app.screen.say("the panel already shows everything");
    }
    let offset = to(list.offset, list.height).min(last);
    let selected = app.tables.current().selected.clone();
    app.screen.panel_scroll = selected.map(|key| (key, offset));
}

/// Changes the span of the charts, or moves the cursor of the panel's chart.
pub(super) fn on_action(app: &mut App, action: Action) {
    match action {
        Action::SpanLonger | Action::SpanShorter => {
            let is_longer = action == Action::SpanLonger;
            if !app.screen.chart.zoom(is_longer) {
                let which = if is_longer { "longest" } else { "shortest" };
                let span = app.screen.chart.span().name;
                app.screen.say(format!("{span} is the {which} span"));
            }
        }
        _ if app.shows_panel() => step_cursor(app, action),
        _ => {}
    }
}

/// Moves the cursor of a chart as wide as the screen.
pub(super) fn step_cursor(app: &mut App, action: Action) {
    let columns = match action {
        Action::CursorLeft => -1,
        Action::CursorRight => 1,
        Action::CursorLeftFast => -10,
        Action::CursorRightFast => 10,
        _ => return,
    };
    if let Some(snapshot) = &app.engine.snapshot {
        let width = chart_width(app.screen.size.0, app.screen.units);
        app.screen.chart.step(columns, snapshot.monotonic, width);
    }
}

/// Draws the panel; returns the list at its end, if it has one.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) -> Option<PanelList> {
    if area.is_empty() {
        return None;
    }
    let theme = &app.config.theme;
    buf.set_style(line(area, 0), theme.heading);
    let snapshot = app.engine.snapshot.as_ref()?;
    if let Some(group) = app.selected_group() {
        draw_group(app, snapshot, group, area, buf)
    } else if let Some(sample) = app.selected_sample(snapshot) {
        process::draw(app, snapshot, sample, area, buf)
    } else {
        draw_line(buf, area, " nothing selected", theme.heading);
        None
    }
}

/// Returns the chart of the footprint of a process or group.
fn footprint<'a>(app: &App, history: Past<'a>, row: &Row<'_>) -> Charted<'a> {
    Charted {
        eta: match (layout::ETA.get().value)(row) {
            Value::Forecast(eta) => Some(eta),
            _ => None,
        },
        started_at: row.sample.and_then(|sample| app.engine.history.started_at(sample.id)),
        ..Charted::new(app, "footprint", history)
    }
}

/// Draws lines below the heading and a chart below them; returns the rest of the area if there is one.
fn draw_facts(
    app: &App,
    snapshot: &Snapshot,
    mut facts: Vec<StatusLine>,
    chart: Option<&Charted<'_>>,
    area: Rect,
    buf: &mut Buffer,
) -> Option<Rect> {
    let trend = chart.map(|chart| chart.history.trend);
    let reasons = trend.map_or_else(Vec::new, Judgement::texts);
    let is_leak = trend.is_some_and(|trend| trend.verdict == Verdict::Leaking);
    // A lower panel needs the line for its chart.
    if !reasons.is_empty() && usize::from(area.height) > facts.len() + 8 {
        let called = if is_leak { "reported as a leak: " } else { "" };
        let text = format!(" {called}{}", reasons.join(", "));
        let text = text::truncate(&text, usize::from(area.width));
        facts.push(StatusLine::of(text, app.config.theme.dim));
    }
    let lines = facts.len() as u16;
    for (y, fact) in (1..area.height).zip(facts) {
        fact.draw(line(area, y), buf);
    }
    let mut rest = below(area, 1 + lines);
    let height = chart_height(rest.height);
    if let Some(chart) = chart.filter(|_| height > 0) {
        draw_chart(app, snapshot, chart, Rect { height, ..rest }, buf);
        rest = below(rest, height);
    }
    Some(rest).filter(|rest| rest.height > 0)
}

/// Returns the area without its first lines.
pub(super) fn below(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y + lines,
        height: area.height - lines,
        ..area
    }
}

/// Places the columns of a small table, the last of which fills the remaining width, and draws their titles on the second line of
/// an area.
fn draw_titles<T: TableKind>(app: &App, columns: &[&Column<T>], area: Rect, buf: &mut Buffer) -> TableGrid {
    let layout = columns.iter().enumerate().map(|(at, column)| ColumnLayout {
        grows: at + 1 == columns.len(),
        ..ColumnLayout::fixed(column.width_in(app.screen.units), column.align())
    });
    let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 1);
    buf.set_style(line(area, 1), app.config.theme.dim);
    grid.draw_row(buf, 1, |at| (columns[at].title.to_owned(), app.config.theme.dim));
    grid
}

/// Draws a name and a remark after it. A long name loses its beginning: the end of a path distinguishes it better.
fn draw_name(name: &[u8], (remark, remark_style): (&str, Style), area: Rect, style: Style, buf: &mut Buffer) {
    let width = usize::from(area.width).saturating_sub(text::width(remark));
    let name = text::truncate_path(&text::safe(name), width);
    let x = draw_text(buf, area.x, area.y, &name, width, style);
    let left = usize::from(area.right().saturating_sub(x));
    draw_text(buf, x, area.y, remark, left, remark_style);
}

/// Returns the height of the chart: two of five of the lines that are left, and 0 if it would be too low to read.
fn chart_height(left: u16) -> u16 {
    match left {
        0..=6 => 0,
        7 => 3,
        // The axis needs at least 4.
        _ => (left * 2 / 5).clamp(4, 12),
    }
}

// The panel of a group: its sums, its chart, and the processes that grew.
//
//  worker  12 processes                                                                              by command
//  PSS 334M ██████████████████████████▒▒▒░  anon 300M file 34M shmem 0  ·  USS 310M  RSS 480M  swap 0
//  footprint over 5 min: 214M to 334M  ·  ▲ leaking 7.0M/min for at least 32m30, 99% sure that it grows
//                              ▁▂▃▄▅▆▇████████████████████████████
//  its processes, by growth
//     GROWTH   PSS TREND               PID COMMAND
//   +10.0K/s 27.8M ▲ 600K/min 97%     1042 /usr/sbin/worker

fn draw_group(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) -> Option<PanelList> {
    let theme = &app.config.theme;
    let mut heading = StatusLine::default();
    let name = text::safe_prefix(group.name(), 60);
    heading.text(90, format!(" {name}"), theme.heading_sorted);
    heading.text(80, format!("  {}", labels::process_count(app, group)), theme.heading);
    let by = match group.key.by {
        GroupBy::Siblings => "similar processes of one parent ".into(),
        by => format!("by {} ", by.id()),
    };
    heading.text_right(50, by, theme.heading);
    if app.panel_leads_to_cgroup() {
        heading.text(40, "  ·  Enter shows what is charged to it", theme.heading);
    }
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
        let (least, total) = (at_least(&figures), bytes(figures.total()));
        let mut line = StatusLine::of(format!(" they hold {least}{total} outside of their PSS"), theme.text);
        line.text(60, format!("  ·  {}", parts(&figures, bytes).join("  ")), theme.text);
        if figures.vram > 0 {
            line.text(50, format!("  ·  and {} of VRAM", bytes(figures.vram)), theme.text);
        }
        facts.push(line);
    }
    if !group.whole && group.key.by != GroupBy::Siblings {
        let text = " the chart shows the whole group, whatever the filter";
        facts.push(StatusLine::of(text, theme.dim));
    }
    let source = app.row_source(snapshot);
    let fold = app.selected_fold();
    let chart = if let Some((fold, trend)) = fold.and_then(|fold| Some((fold, fold.trend.as_ref()?))) {
        let histories = fold.pasts(&source).collect();
        Some(footprint(app, Past { histories, trend }, &source.fold(fold)))
    } else {
        let history = app.engine.history.of_group(group, snapshot);
        history.map(|history| footprint(app, history.into(), &source.group(group)))
    };
    let rest = draw_facts(app, snapshot, facts, chart.as_ref(), area, buf);
    // A heading needs room for a row.
    let rest = rest.filter(|rest| rest.height > 2)?;
    Some(draw_members(app, snapshot, group, rest, buf))
}

/// Draws the processes of the group, the fastest-growing first.
fn draw_members(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) -> PanelList {
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
    let list = PanelList::new(app, members.len(), area.height - 2);
    let mut line = StatusLine::of(heading, theme.text);
    if let Some(extent) = list.extent() {
        line.text_right(1, format!("{extent} "), theme.dim);
    }
    line.draw(area, buf);
    let grid = draw_titles(app, &columns, area, buf);
    for (y, (_, member)) in (2..area.height).zip(members.into_iter().skip(list.offset)) {
        let Some(sample) = rows.get(member) else { continue };
        let row = app.row_source(snapshot).process(sample);
        grid.draw_row(buf, y, |at| {
            let width = usize::from(area.width);
            let cell = cell(&(columns[at].value)(&row), app.screen.units, width);
            (cell.text, cell_style(theme, cell.style))
        });
    }
    list
}
