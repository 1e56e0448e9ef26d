//! The panel of a process: its facts, its footprint over time, the objects it holds, and the mappings that grew.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::account::headroom::headroom;
use crate::columns::held::{COLUMNS, HeldRow};
use crate::columns::{Column, Value, cell, layout};
use crate::config::{Action, Context};
use crate::history::RowHistory;
use crate::history::held::HeldHistory;
use crate::history::mappings::{MappingGrowth, total_growth};
use crate::model::{Held, HeldFigures, HeldKind, Memory, Missing, ProcessSample, Snapshot};
use crate::text;
use crate::tui::app::App;
use crate::tui::chart::draw::{Charted, draw_chart};
use crate::tui::growth::TrackedProcess;
use crate::tui::labels;
use crate::tui::panel::mappings::MappingTable;
use crate::tui::panel::{PanelList, below, draw_facts, draw_name, draw_titles, footprint};
use crate::tui::widgets::{ListState, StatusLine, cell_style};
use crate::units;

pub(super) fn draw(
    app: &App,
    snapshot: &Snapshot,
    sample: &ProcessSample,
    area: Rect,
    buf: &mut Buffer,
) -> Option<PanelList> {
    heading(app, sample).draw(area, buf);
    // The facts get at most half of the room; the chart and the lists share the rest.
    let facts = facts(app, snapshot, sample, area.width, (area.height - 1) / 2);
    let history = app.engine.history.get(sample.id);
    let row = app.row_source(snapshot).process(sample);
    let chart = history.map(|history| footprint(app, history.into(), &row));
    let rest = draw_facts(app, snapshot, facts, chart.as_ref(), area, buf)?;
    let rest = draw_held(app, snapshot, sample, rest, buf);
    if rest.height == 0 {
        return None;
    }
    draw_mappings(app, snapshot, sample, rest, buf)
}

/// Returns the line that names the process.
fn heading(app: &App, sample: &ProcessSample) -> StatusLine {
    let theme = &app.config.theme;
    let facts = &sample.facts;
    let mut line = StatusLine::default();
    let name = text::safe_prefix(&facts.comm, 24);
    let title = match &facts.host {
        Some(host) => format!(" {name} on {}", text::safe_prefix(host, 40)),
        None => format!(" {} {name}", sample.id.pid),
    };
    line.text(90, title, theme.heading_sorted);
    if let Some(mark) = app.data.marks.current().filter(|mark| mark.is_new(sample)) {
        let age = units::span(app.engine.history.elapsed_since(mark.at()));
        let text = format!("  started after the mark ({age} ago): counted from 0");
        line.text(40, text, theme.heading);
    }
    if let Ok(user) = &facts.user {
        line.text_right(80, format!("{} ", text::safe_prefix(user, 24)), theme.heading);
    }
    line
}

/// Returns the lines about the process, `most` at most unless its command line would have none. A long command line fills them.
fn facts(app: &App, snapshot: &Snapshot, sample: &ProcessSample, width: u16, most: u16) -> Vec<StatusLine> {
    let theme = &app.config.theme;
    let facts = &sample.facts;
    let width_inside = usize::from(width).saturating_sub(1);
    let mut lines = vec![match facts.host {
        Some(_) => host_line(app, snapshot, sample),
        None => state_line(app, snapshot, sample),
    }];
    let reasons = labels::missing_reasons(sample);
    if !reasons.is_empty() {
        lines.push(StatusLine::of(format!(" {reasons}"), theme.warning));
    }
    lines.push(match sample.memory() {
        Ok(memory) => {
            let mut line = memory_line(app, memory, width);
            // They are in no PSS.
            if let Some(tables) = sample
                .page_tables
                .ok()
                .filter(|tables| *tables > memory.pss / MIN_TABLES_SHARE)
            {
                let tables = units::bytes(tables, app.screen.units);
                line.text(65, format!("  ·  page tables {tables}"), theme.warning);
            }
            line
        }
        Err(why) => StatusLine::of(format!(" PSS: {why}"), theme.dim),
    });
    lines.extend(coldness_line(app, sample));
    let kept_by = app.engine.history.kept_by(sample.id);
    lines.extend(kept_by.map(|found| {
        let text = found.text_within(app.screen.units, false, usize::from(width).saturating_sub(2));
        StatusLine::of(format!(" {text}"), theme.leak)
    }));
    lines.extend(jvm_line(app, sample));
    lines.extend(malloc_line(app, sample));
    if let Ok(path) = &facts.cgroup {
        let mut line = StatusLine::default();
        // The figures need the other half.
        let half = width_inside / 2;
        let shown = text::truncate(&text::safe_prefix(path, half), half);
        let mut separator = " ";
        if let Some(figures) = snapshot.cgroups.get(&**path) {
            let figures = labels::cgroup_figures(figures, app.screen.units);
            line.text(60, format!(" {figures}"), theme.text);
            separator = "  ·  ";
        }
        line.text(50, format!("{separator}{shown}"), theme.dim);
        lines.push(line);
    }
    let left = usize::from(most).saturating_sub(lines.len()).max(1);
    let command = wrap_bytes(&facts.command(), width_inside, left);
    let command = command.into_iter().map(|l| StatusLine::of(format!(" {l}"), theme.text));
    lines.splice(1..1, command);
    lines
}

/// Returns the line about a group on another host: its number of processes and the age of its figures.
fn host_line(app: &App, snapshot: &Snapshot, sample: &ProcessSample) -> StatusLine {
    let place = snapshot.place(sample.id);
    let count = place.and_then(|place| snapshot.fleet_row(place)?.processes);
    let count = count.map(|count| units::counted(count, "process"));
    let age = sample.walk.ok().map(|walk| {
        let age = units::span(snapshot.monotonic.saturating_sub(walk.at));
        format!("figures {age} old")
    });
    let gone = sample.stale.then(|| "the host no longer reports".to_owned());
    let parts: Vec<_> = [count, age, gone].into_iter().flatten().collect();
    StatusLine::of(format!(" {}", parts.join("  ·  ")), app.config.theme.text)
}

/// Returns the line about hot and cold memory, if the user requested it.
fn coldness_line(app: &App, sample: &ProcessSample) -> Option<StatusLine> {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let coldness = match app.data.coldness.get(sample) {
        Ok(coldness) => coldness,
        Err(Missing::NotAsked) => return None,
        Err(Missing::Pending) => {
            let wait = units::span_exact(app.config.settings.sampler.cold_interval);
            let text = format!(" hot and cold: the first measurement takes {wait}");
            return Some(StatusLine::of(text, theme.dim));
        }
        Err(why) => return Some(StatusLine::of(format!(" hot and cold: {why}"), theme.warning)),
    };
    let mut line = StatusLine::default();
    match coldness.total {
        Ok(total) => {
            let (cold, rss) = (bytes(total.cold()), bytes(total.rss));
            line.text(90, format!(" cold {cold} of {rss}"), theme.text);
            let since = units::span(coldness.since);
            line.text(80, format!(", untouched for {since}"), theme.text);
            line.text(50, format!("  ·  hot {}", bytes(total.hot)), theme.dim);
        }
        Err(why) => line.text(90, format!(" hot and cold: {why}"), theme.warning),
    }
    if let Some((mapping, resident)) = coldness.coldest() {
        let name = text::safe_prefix(&mapping.name, 40);
        let (cold, rss) = (bytes(resident.cold()), bytes(resident.rss));
        line.text(60, format!("  ·  {cold} of {rss} of {name}"), theme.dim);
    }
    Some(line)
}

/// The inverse of the least share of a PSS that page tables must exceed to be shown.
const MIN_TABLES_SHARE: u64 = 10;
/// The inverse of the least share of a footprint that free memory inside `malloc` must have to be shown.
const MIN_KEPT_SHARE: u64 = 10;

/// Returns the line about the heap of a Java virtual machine, if it could be read.
fn jvm_line(app: &App, sample: &ProcessSample) -> Option<StatusLine> {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let heap = match app.engine.snapshot.as_ref()?.jvms.get(&sample.id)? {
        Ok(heap) => heap,
        Err(why) => return Some(StatusLine::of(format!(" JVM heap: {why}"), theme.dim)),
    };
    let mut line = StatusLine::default();
    line.text(90, format!(" JVM heap {} used", bytes(heap.used)), theme.text);
    line.text(70, format!(" of {}", bytes(heap.capacity)), theme.text);
    if let Ok(live) = heap.live {
        let text = format!("  ·  {} live after the last full collection", bytes(live));
        line.text(60, text, theme.text);
    }
    if let Ok(old) = heap.old {
        line.text(50, format!("  ·  {} in the old generation", bytes(old)), theme.dim);
    }
    line.text(
        30,
        format!("  ·  {} collections", units::count(heap.collections)),
        theme.dim,
    );
    Some(line)
}

/// Returns the line about the memory that `malloc` keeps free, if it was read and is a part of the footprint that matters.
fn malloc_line(app: &App, sample: &ProcessSample) -> Option<StatusLine> {
    let snapshot = app.engine.snapshot.as_ref()?;
    let heap = snapshot.heaps.get(&sample.id)?;
    let footprint = sample.memory().ok()?.footprint().ok()?;
    if heap.kept < footprint / MIN_KEPT_SHARE {
        return None;
    }
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let mut line = StatusLine::default();
    line.text(90, format!(" malloc keeps {} free", bytes(heap.kept)), theme.text);
    line.text(70, format!(" of {}", bytes(footprint)), theme.text);
    let ago = units::span(snapshot.monotonic.saturating_sub(heap.at));
    line.text(40, format!("  ·  read {ago} ago"), theme.dim);
    line.text(60, format!("  ·  zmtop heap {} explains it", sample.id.pid), theme.dim);
    Some(line)
}

fn state_line(app: &App, snapshot: &Snapshot, sample: &ProcessSample) -> StatusLine {
    let theme = &app.config.theme;
    let row = app.row_source(snapshot).process(sample);
    let mut line = StatusLine::default();
    line.text(70, format!(" {}", state_name(sample.stat.state)), theme.text);
    let threads = units::counted(sample.stat.threads, "thread");
    line.text(60, format!("  ·  {threads}"), theme.dim);
    let runs = cell(&(layout::ELAPSED.get().value)(&row), app.screen.units, 8).text;
    line.text(65, format!("  ·  runs {runs}"), theme.dim);
    let parent = sample.stat.ppid;
    let name = snapshot.rows().iter().find(|s| s.id.pid == parent).map(|s| {
        let name = text::safe_prefix(&s.facts.comm, 16);
        format!(" {name}")
    });
    if parent != 0 {
        let name = name.unwrap_or_default();
        line.text(55, format!("  ·  parent {parent}{name}"), theme.dim);
    }
    if let Ok(exe) = &sample.facts.exe {
        line.text(50, format!("  ·  {}", text::safe_prefix(exe, 200)), theme.dim);
    }
    if let Some(what) = sample.facts.replaced {
        let what = labels::replaced(what);
        line.text(80, format!("  [{what}: restart it]"), theme.warning);
    }
    line
}

const fn state_name(state: u8) -> &'static str {
    match state {
        b'R' => "running",
        b'S' => "sleeping",
        b'D' => "waiting for a device",
        b'T' => "stopped",
        b't' => "traced",
        b'Z' => "zombie",
        b'I' => "idle",
        _ => "in an unknown state",
    }
}

/// Returns the line about memory: PSS by kind, as a bar, then the other figures.
pub(super) fn memory_line(app: &App, memory: &Memory, width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let mut line = StatusLine::default();
    line.text(90, format!(" PSS {}", bytes(memory.pss)), theme.text);
    if app.engine.is_partial() {
        return line;
    }
    if let (Ok(anon), Ok(file), Ok(shmem)) = (memory.pss_anon, memory.pss_file, memory.pss_shmem) {
        // A quarter of the line, but enough to distinguish three parts.
        let cells = usize::from(width / 4).clamp(8, 60);
        let all = anon.saturating_add(file).saturating_add(shmem).max(1);
        let share = |n: u64| ((n as f64 / all as f64) * cells as f64).round() as usize;
        let of_anon = share(anon).min(cells);
        let of_file = share(file).min(cells - of_anon);
        let of_shmem = if shmem == 0 { 0 } else { cells - of_anon - of_file };
        line.spans(
            40,
            vec![
                (" ".into(), theme.text),
                ("█".repeat(of_anon), theme.bar_anon),
                ("▒".repeat(of_file), theme.bar_file),
                ("░".repeat(of_shmem), theme.bar_shmem),
            ],
        );
        line.text(70, format!("  anon {}", bytes(anon)), theme.bar_anon);
        line.text(60, format!("  file {}", bytes(file)), theme.bar_file);
        line.text(50, format!("  shmem {}", bytes(shmem)), theme.bar_shmem);
    }
    line.text(35, format!("  ·  USS {}", bytes(memory.uss())), theme.dim);
    line.text(30, format!("  RSS {}", bytes(memory.rss)), theme.dim);
    line.text(65, format!("  swap {}", bytes(memory.swap)), theme.dim);
    line
}

/// Breaks foreign bytes into `most` lines of `width` columns at most. The last ends with `…` if there is more.
fn wrap_bytes(bytes: &[u8], width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for c in text::safe_prefix(bytes, width.saturating_mul(most)).chars() {
        let columns = text::width(c.encode_utf8(&mut [0; 4]));
        used += columns;
        let fits = used <= width || lines.len() == most;
        match lines.last_mut() {
            Some(line) if fits => line.push(c),
            _ => {
                lines.push(c.into());
                used = columns;
            }
        }
    }
    if let Some(last) = lines.last_mut() {
        *last = text::truncate(last, width);
    }
    lines
}

// The objects that a process holds through its descriptors, the largest share first.
//
//  holds 13.1M beside its PSS  ·  ▲ leak 1.2M/min  ·  memfd 13.0M  bpf 128K
//   SHARE WHOLE  BY FDS KIND   NAME
//   12.0M 12.0M   1   1 memfd  /memfd:cache
//    1.0M  2.0M   2   1 memfd  /dev/shm/ring
//  held over 5 minutes: 8.1M to 13.1M  ·  ▲ leaking 1.2M/min for at least 18m
//  …

/// Minimum lines of the list: a heading, the titles and an object.
const LEAST: u16 = 3;
/// Lines of the chart with its axis, and of the mappings, which need the room more while the held memory does not grow.
const CHART: u16 = 5;
const MAPPINGS: u16 = 6;

/// Draws the held objects in up to half of the area, and their history below if there is room; returns the rest of the area.
fn draw_held(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) -> Rect {
    let theme = &app.config.theme;
    let held = match sample.held() {
        Ok(held) => held,
        // A line above says that its memory cannot be read, or that it has none.
        Err(_) if sample.held.is_none() || sample.walk.is_err() => return area,
        Err(why) => {
            StatusLine::of(format!(" held through descriptors: {why}"), theme.dim).draw(area, buf);
            return below(area, 1);
        }
    };
    if held.objects.is_empty() {
        return area;
    }
    let history = app.engine.history.held().get(sample.id).map(HeldHistory::row);
    summary(app, held, history).draw(area, buf);
    let room = area.height.div_ceil(2);
    if room < LEAST {
        return below(area, 1);
    }
    let is_shown = |column: &&Column<_>| column.id != "vram" || held.figures.vram > 0;
    let columns: Vec<&Column<_>> = COLUMNS.iter().filter(is_shown).collect();
    let last = columns.len() - 1;
    let grid = draw_titles(app, &columns, area, buf);
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
        draw_name(&object.name, ("", theme.dim), grid.cell(y, last), theme.text, buf);
        y += 1;
    }
    let rest = below(area, y);
    let Some(history) = history else { return rest };
    let mappings = if history.trend().verdict.is_growth() {
        0
    } else {
        MAPPINGS
    };
    if rest.height < CHART + mappings {
        return rest;
    }
    let cgroup = sample.facts.cgroup.as_deref().ok();
    let charted = Charted {
        eta: history.trend().eta(headroom(snapshot, cgroup)),
        started_at: app.engine.history.started_at(sample.id),
        ..Charted::new(app, "held", history.into())
    };
    let place = Rect { height: CHART, ..rest };
    draw_chart(app, snapshot, &charted, place, buf);
    below(rest, CHART)
}

/// Returns the line that sums up the held memory.
fn summary(app: &App, held: &Held, history: Option<&RowHistory>) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let bytes = |n| units::bytes(n, app.screen.units);
    let (least, total) = (at_least(&held.figures), bytes(held.figures.total()));
    line.text(90, format!(" holds {least}{total} outside of its PSS"), theme.text);
    let trend = history.map(RowHistory::trend);
    if let Some(trend) = trend.filter(|trend| trend.verdict.is_growth()) {
        let width = usize::from(layout::TREND.get().width);
        let cell = cell(&Value::Trend(*trend, None), app.screen.units, width);
        let trend = (cell.text, cell_style(theme, cell.style));
        line.spans(85, vec![("  ·  ".into(), theme.dim), trend]);
    }
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

/// Returns the held memory by kind.
pub(super) fn parts(figures: &HeldFigures, bytes: impl Fn(u64) -> String) -> Vec<String> {
    let is_held = |kind: &HeldKind| figures.of(*kind) > 0 || figures.is_partial(Some(*kind));
    let kinds = HeldKind::ALL.into_iter().filter(is_held);
    kinds
        .map(|kind| match (figures.of(kind), figures.is_partial(Some(kind))) {
            (n, false) => format!("{} {}", kind.id(), bytes(n)),
            (n, true) => format!("{} ≥{}", kind.id(), bytes(n)),
        })
        .collect()
}

/// Returns the words before a sum that lacks unreadable parts.
pub(super) fn at_least(figures: &HeldFigures) -> &'static str {
    if figures.is_partial(None) { "at least " } else { "" }
}

/// Draws a line about the time of the growth, and as many mappings as there is room for.
fn draw_mappings(
    app: &App,
    snapshot: &Snapshot,
    sample: &ProcessSample,
    area: Rect,
    buf: &mut Buffer,
) -> Option<PanelList> {
    let tracked = app.data.growth.get(sample);
    let table = MappingTable::new(app, snapshot, sample);
    let rows = table.as_ref().map(|table| &*table.rows);
    let mut heading = growth_heading(app, sample, tracked, rows);
    let key = app.config.keymap.shown_key(Context::Table, Action::Mappings);
    let list = rows.map(|rows| PanelList::new(app, rows.len(), area.height.saturating_sub(2)));
    if let (Some(list), Some(key)) = (list, key) {
        let text = match list.extent() {
            Some(extent) => format!("{extent}, {key} lists all "),
            None => format!("{key} chooses one "),
        };
        heading.text_right(55, text, app.config.theme.dim);
    }
    heading.draw(area, buf);
    // Titles need room for a mapping.
    if let (Some(table), Some(PanelList { offset, .. })) = (table.filter(|_| area.height > 2), list) {
        let state = ListState {
            offset,
            ..ListState::default()
        };
        table.draw(app, state, false, below(area, 1), buf);
    }
    list
}

/// Returns the line about the time of the growth, its sum and the age of the figures, or the reason why nothing is known.
fn growth_heading(
    app: &App,
    sample: &ProcessSample,
    tracked: Option<&TrackedProcess>,
    mappings: Option<&[MappingGrowth]>,
) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let error = tracked.and_then(|t| t.error);
    let span = tracked.and_then(|t| Some((t, t.span(&app.engine.history)?)));
    match (mappings, span) {
        (Some(mappings), Some((tracked, (duration, age)))) => {
            let age = units::span(age);
            if duration.is_zero() {
                line.text(90, " its mappings", theme.text);
                line.text(50, "  ·  growth at the next reading", theme.dim);
            } else {
                let since = if tracked.marked { " since the mark" } else { "" };
                let duration = units::span(duration);
                line.text(90, format!(" growth in {duration}{since}"), theme.text);
                let sum = units::delta(total_growth(mappings), app.screen.units);
                line.text(80, format!("  ·  {sum} in all"), theme.text);
            }
            line.text(60, format!("  ·  read {age} ago"), theme.dim);
            if app.requests.paused {
                line.text(70, "  ·  paused", theme.warning);
            }
        }
        _ if sample.stat.is_kernel_thread() => {
            line.text(1, format!(" mappings: {}", Missing::KernelThread), theme.dim);
        }
        _ if error.is_some() => {}
        _ if app.requests.paused => line.text(1, " mappings not read: paused", theme.dim),
        _ if app.fleet.is_some() => line.text(1, " its mappings are on its host: run zmtop there", theme.dim),
        _ if app.replay.is_some() => line.text(1, " its mappings are not recorded", theme.dim),
        _ => line.text(1, " reading its mappings …", theme.dim),
    }
    if let Some(why) = error.filter(|_| !sample.stat.is_kernel_thread()) {
        line.text(85, format!(" mappings not read: {why}"), theme.warning);
    }
    line
}
