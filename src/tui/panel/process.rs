//! The panel of a process: its facts, its footprint over time, and which of its mappings grew.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::account::headroom::headroom;
use crate::columns::held::{COLUMNS, HeldRow};
use crate::columns::{CellStyle, Column, Value, cell, layout, style_of_change};
use crate::history::RowHistory;
use crate::history::held::HeldHistory;
use crate::history::mappings::{Coldness, MappingGrowth, Presence, Resident, total_growth};
use crate::model::{Held, HeldFigures, HeldKind, Memory, Missing, ProcessSample, Snapshot, tolerance};
use crate::text::{self, Align};
use crate::trend::Verdict;
use crate::tui::app::App;
use crate::tui::chart::draw::{Charted, draw_chart};
use crate::tui::growth::TrackedProcess;
use crate::tui::labels;
use crate::tui::panel::draw_facts;
use crate::tui::widgets::{ColumnLayout, StatusLine, TableGrid, draw_text, line};
use crate::units;

pub(super) fn draw(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) {
    heading(app, sample).draw(area, buf);
    // The facts have at most half of the room; the chart and what grew share the rest.
    let facts = facts(app, snapshot, sample, area.width, (area.height - 1) / 2);
    let history = app.engine.history.get(sample.id);
    let chart = history.map(|history| (history.into(), app.row_source(snapshot).process(sample)));
    if let Some(rest) = draw_facts(app, snapshot, facts, chart, area, buf) {
        let rest = draw_held(app, snapshot, sample, rest, buf);
        if rest.height > 0 {
            draw_growth(app, sample, rest, buf);
        }
    }
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
        let text = format!("  started since the mark {age} ago: counted from 0");
        line.text(40, text, theme.heading);
    }
    if let Ok(user) = &facts.user {
        line.text_right(80, format!("{} ", text::safe_prefix(user, 24)), theme.heading);
    }
    line
}

/// Returns what is known of the process, in at most so many lines, which a long command line may fill.
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
        Ok(memory) => memory_line(app, memory, width),
        Err(why) => StatusLine::of(format!(" PSS: {why}"), theme.dim),
    });
    lines.extend(coldness_line(app, sample));
    lines.extend(jvm_line(app, sample));
    if let Ok(path) = &facts.cgroup {
        let mut line = StatusLine::default();
        // The figures need the other half.
        let half = width_inside / 2;
        let shown = text::truncate(&text::safe_prefix(path, half), half);
        line.text(50, format!(" {shown}"), theme.dim);
        if let Some(figures) = snapshot.cgroups.get(&**path) {
            let figures = labels::cgroup_figures(figures, app.screen.units);
            line.text(60, format!("  ·  {figures}"), theme.text);
        }
        lines.push(line);
    }
    // The command line takes what is left, but one line it has.
    let left = usize::from(most).saturating_sub(lines.len()).max(1);
    let command = wrap_bytes(&facts.command(), width_inside, left);
    let command = command.into_iter().map(|l| StatusLine::of(format!(" {l}"), theme.text));
    lines.splice(1..1, command);
    lines
}

/// Returns the line about a group on another host: how many processes it has, and how old its figures are.
fn host_line(app: &App, snapshot: &Snapshot, sample: &ProcessSample) -> StatusLine {
    let place = snapshot.place(sample.id);
    let count = place.and_then(|place| snapshot.fleet_row(place)?.processes);
    let count = count.map(|count| units::counted(count, "process"));
    let age = sample.walk.ok().map(|walk| {
        let age = units::span(snapshot.monotonic.saturating_sub(walk.at));
        format!("figures {age} old")
    });
    let gone = sample.stale.then(|| "the host tells nothing any more".to_owned());
    let parts: Vec<_> = [count, age, gone].into_iter().flatten().collect();
    StatusLine::of(format!(" {}", parts.join("  ·  ")), app.config.theme.text)
}

/// Returns the line about what it touched of its memory, where the user asked.
fn coldness_line(app: &App, sample: &ProcessSample) -> Option<StatusLine> {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let coldness = match app.data.coldness.get(sample) {
        Ok(coldness) => coldness,
        Err(Missing::NotAsked) => return None,
        Err(Missing::Pending) => {
            let wait = units::span_exact(app.config.settings.sampler.cold_interval);
            let text = format!(" hot and cold: the first look is {wait} after c was pressed");
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

/// Returns the line about its heap, if it is a Java virtual machine that could be asked.
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

/// Returns the line about its state, threads, age, parent and program.
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
        line.text(80, format!("  [{what}: to start anew]"), theme.warning);
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

/// Returns the line about memory: PSS by what it is of, as a bar, then the other figures.
pub(super) fn memory_line(app: &App, memory: &Memory, width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let mut line = StatusLine::default();
    line.text(90, format!(" PSS {}", bytes(memory.pss)), theme.text);
    if app.engine.is_partial() {
        return line;
    }
    if let (Ok(anon), Ok(file), Ok(shmem)) = (memory.pss_anon, memory.pss_file, memory.pss_shmem) {
        // A quarter of the line, but no less than tells three parts apart.
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

/// Breaks foreign bytes into lines of at most `width` columns, at most so many of them; the last ends with `…` where
/// there is more.
fn wrap_bytes(bytes: &[u8], width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let shown = text::safe_prefix(bytes, width.saturating_mul(most));
    let mut rest: &str = &shown;
    let mut lines = Vec::new();
    while !rest.is_empty() && lines.len() < most {
        if text::width(rest) <= width || lines.len() + 1 == most {
            lines.push(text::truncate(rest, width));
            break;
        }
        let mut end = 0;
        let mut used = 0;
        for c in rest.chars() {
            used += text::width(c.encode_utf8(&mut [0; 4]));
            if used > width {
                break;
            }
            end += c.len_utf8();
        }
        // A character wider than the line.
        if end == 0 {
            break;
        }
        lines.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    lines
}

// The objects that a process holds through its descriptors, that with the largest part first.
//
//  holds 13.1M beside its PSS  ·  ▲ leak 1.2M/min  ·  memfd 13.0M  bpf 128K
//   SHARE WHOLE  BY FDS KIND   NAME
//   12.0M 12.0M   1   1 memfd  /memfd:cache
//    1.0M  2.0M   2   1 memfd  /dev/shm/ring
//  held over 5 minutes: 8.1M to 13.1M  ·  ▲ leaking 1.2M/min for at least 18m
//  …

/// Lines of a list without which it is not begun: its heading, the titles, and an object.
const LEAST: u16 = 3;
/// Lines of the chart, with its axis; and of what grew in its mappings, which has them first while nothing held grows.
const CHART: u16 = 5;
const MAPPINGS: u16 = 6;

/// Draws what the process holds in up to half of the area, and its past below that where there is room; returns the rest, all
/// of it where it holds nothing.
pub(super) fn draw_held(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) -> Rect {
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
    let history = app.engine.history.held().get(sample.id).map(HeldHistory::row);
    summary(app, held, history).draw(area, buf);
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
    let rest = below(area, y);
    match history {
        Some(history) => draw_held_chart(app, snapshot, sample, history, rest, buf),
        None => rest,
    }
}

/// Draws how much it held over time, unless what grew in its mappings needs the room; returns the rest.
fn draw_held_chart(
    app: &App,
    snapshot: &Snapshot,
    sample: &ProcessSample,
    history: &RowHistory,
    area: Rect,
    buf: &mut Buffer,
) -> Rect {
    let needed = if history.trend().verdict.is_growth() {
        0
    } else {
        MAPPINGS
    };
    if area.height < CHART + needed {
        return area;
    }
    let cgroup = sample.facts.cgroup.as_deref().ok();
    let charted = Charted {
        name: "held",
        chart: app.screen.chart,
        history: history.into(),
        eta: history.trend().eta(headroom(snapshot, cgroup)),
        started_at: app.engine.history.started_at(sample.id),
        is_judged: true,
        style: None,
    };
    let place = Rect { height: CHART, ..area };
    draw_chart(app, snapshot, &charted, place, buf);
    below(area, CHART)
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
fn summary(app: &App, held: &Held, history: Option<&RowHistory>) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let bytes = |n| units::bytes(n, app.screen.units);
    line.text(
        90,
        format!(
            " holds {}{} beside its PSS",
            at_least(&held.figures),
            bytes(held.figures.total())
        ),
        theme.text,
    );
    if let Some(judged) = history
        .map(RowHistory::trend)
        .filter(|judged| judged.verdict.is_growth())
    {
        let told = cell(
            &Value::Trend(*judged, None),
            app.screen.units,
            usize::from(layout::TREND.get().width),
        );
        let style = if judged.verdict == Verdict::Leaking {
            theme.leak
        } else {
            theme.up
        };
        line.spans(85, vec![("  ·  ".into(), theme.dim), (told.text, style)]);
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

/// Returns the kinds of which something is held, and how much.
pub(super) fn parts(figures: &HeldFigures, bytes: impl Fn(u64) -> String) -> Vec<String> {
    let is_told = |kind: &HeldKind| figures.of(*kind) > 0 || figures.is_partial(Some(*kind));
    let told = HeldKind::ALL.into_iter().filter(is_told);
    told.map(|kind| match (figures.of(kind), figures.is_partial(Some(kind))) {
        (n, false) => format!("{} {}", kind.id(), bytes(n)),
        (n, true) => format!("{} ≥{}", kind.id(), bytes(n)),
    })
    .collect()
}

/// Returns the words before a sum of which some could not be read.
pub(super) fn at_least(figures: &HeldFigures) -> &'static str {
    if figures.is_partial(None) { "at least " } else { "" }
}

// Which mappings of a process grew, the one that grew most first.
//
//  what grew in 2m  ·  +120M in all  ·  read 3s ago
//  GROWTH    NOW  AREAS KIND    MAPPING
//   +118M   1.1G     41 anon    [anon]
//     +2M    12M      1 file    /usr/lib/libpython3.13.so new
//
// Once the user asked what the process touches, COLD beside NOW says what it did not.

const TITLES: [&str; 6] = ["GROWTH", "NOW", "COLD", "AREAS", "KIND", "MAPPING"];
/// The index of the column of what was not touched, which is there only where the user asked.
const COLD: usize = 2;

/// Draws a line that says over which time, a heading, and as many mappings as there is room for.
pub(super) fn draw_growth(app: &App, sample: &ProcessSample, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let tracked = app.data.growth.get(sample);
    let mappings = tracked.and_then(TrackedProcess::growth);
    growth_heading(app, sample, tracked, mappings.as_deref()).draw(area, buf);
    // Without room for a mapping the titles are of no use.
    let Some(mappings) = mappings.filter(|_| area.height > 2) else {
        return;
    };
    let bytes = app.screen.units.width();
    let column = |index: usize, width: u16, align| ColumnLayout::fixed(width.max(TITLES[index].len() as u16), align);
    let coldness = app.data.coldness.get(sample).ok();
    let mut columns = vec![
        column(0, bytes + 1, Align::Right),
        column(1, bytes, Align::Right),
        column(COLD, bytes, Align::Right),
        column(3, 6, Align::Right),
        column(4, 7, Align::Left),
        ColumnLayout::rest(),
    ];
    if coldness.is_none() {
        columns.remove(COLD);
    }
    // The index of a drawn column among all.
    let index = |at: usize| at + usize::from(coldness.is_none() && at >= COLD);
    let grid = TableGrid::new(&columns, area, 1);
    buf.set_style(line(area, 1), theme.dim);
    grid.draw_row(buf, 1, |at| (TITLES[index(at)].to_owned(), theme.dim));
    for (y, mapping) in (2..area.height).zip(&by_growth(mappings)) {
        grid.draw_row(buf, y, |at| match index(at) {
            0 => growth(app, mapping),
            1 => {
                let held = mapping.now.map(|n| units::bytes(n, app.screen.units));
                (held.unwrap_or_else(|_| "-".into()), Style::default())
            }
            COLD => (cold(app, coldness, mapping), Style::default()),
            3 => (units::count(mapping.areas), Style::default()),
            4 => (mapping.kind.id().to_owned(), Style::default()),
            _ => (String::new(), Style::default()),
        });
        draw_name(app, mapping, grid.cell(y, columns.len() - 1), buf);
    }
}

/// Returns what was not touched of a mapping.
fn cold(app: &App, coldness: Option<&Coldness>, mapping: &MappingGrowth) -> String {
    let found = coldness.and_then(|coldness| coldness.mapping(mapping.kind, &mapping.name));
    let cold = found.and_then(|found| found.resident.ok()).map(Resident::cold);
    cold.map_or_else(|| "-".into(), |n| units::bytes(n, app.screen.units))
}

/// Sorts mappings: what grew, then what shrank, then what did neither by what it holds, then what is unknown.
fn by_growth(mappings: Vec<MappingGrowth>) -> Vec<MappingGrowth> {
    let (mut grown, rest): (Vec<_>, Vec<_>) = mappings.into_iter().partition(|m| m.growth() > Some(0));
    let (mut shrunk, still): (Vec<_>, Vec<_>) = rest.into_iter().partition(|m| m.growth() < Some(0));
    shrunk.reverse();
    let (unknown, shrunk): (Vec<_>, Vec<_>) = shrunk.into_iter().partition(|m| m.growth().is_none());
    grown.extend(shrunk);
    grown.extend(still);
    grown.extend(unknown);
    grown
}

/// Returns the cell of a mapping's growth.
fn growth(app: &App, mapping: &MappingGrowth) -> (String, Style) {
    let theme = &app.config.theme;
    let Some(growth) = mapping.growth() else {
        return ("-".into(), theme.missing);
    };
    let size = mapping.now.unwrap_or(0);
    let style = match style_of_change(growth as f64, tolerance(size)) {
        _ if growth == 0 => theme.zero,
        CellStyle::Up => theme.up,
        CellStyle::Down => theme.down,
        _ => theme.text,
    };
    (units::delta(growth, app.screen.units), style)
}

/// Draws the name, whose end tells more than its beginning, and what became of the mapping.
fn draw_name(app: &App, mapping: &MappingGrowth, area: Rect, buf: &mut Buffer) {
    let presence = match mapping.presence {
        Presence::Both => "",
        Presence::New => " new",
        Presence::Gone => " gone",
    };
    let width = usize::from(area.width);
    let name_width = width.saturating_sub(presence.len());
    let name = text::truncate_start(&text::safe(&mapping.name), name_width);
    let x = draw_text(buf, area.x, area.y, &name, name_width, Style::default());
    let left = usize::from(area.right().saturating_sub(x));
    draw_text(buf, x, area.y, presence, left, app.config.theme.dim);
}

/// Returns the line that says over which time growth counts, how much it is in all and how old the figures are, or
/// why nothing is known.
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
            if duration.is_zero() {
                line.text(90, " what it maps", theme.text);
                line.text(50, "  ·  what grew shows with the next reading", theme.dim);
            } else {
                let since = if tracked.marked { " since the mark" } else { "" };
                line.text(
                    90,
                    format!(" what grew in {}{since}", units::span(duration)),
                    theme.text,
                );
                let sum = units::delta(total_growth(mappings), app.screen.units);
                line.text(80, format!("  ·  {sum} in all"), theme.text);
            }
            line.text(60, format!("  ·  read {} ago", units::span(age)), theme.dim);
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
        _ => line.text(1, " reading its mappings …", theme.dim),
    }
    if let Some(why) = error.filter(|_| !sample.stat.is_kernel_thread()) {
        line.text(85, format!(" mappings not read: {why}"), theme.warning);
    }
    line
}
