//! The panel of a process: its facts, its footprint over time, and which of its mappings grew.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{draw_facts, growth, held};
use crate::columns::{cell, layout};
use crate::model::{Memory, Missing, ProcessSample, Snapshot};
use crate::tui::app::App;
use crate::tui::labels;
use crate::tui::widgets::StatusLine;
use crate::{text, units};

/// Draws the panel.
pub(super) fn draw(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) {
    heading(app, snapshot, sample).draw(area, buf);
    // The facts have at most half of the room; the chart and what grew share the rest.
    let facts = facts(app, snapshot, sample, area.width, (area.height - 1) / 2);
    let history = app.engine.history.get(sample.id);
    let chart = history.map(|history| (history, app.row_source(snapshot).process(sample)));
    if let Some(rest) = draw_facts(app, snapshot, facts, chart, area, buf) {
        let rest = held::draw(app, snapshot, sample, rest, buf);
        if rest.height > 0 {
            growth::draw(app, snapshot, sample, rest, buf);
        }
    }
}

/// Returns the line that names the process.
fn heading(app: &App, snapshot: &Snapshot, sample: &ProcessSample) -> StatusLine {
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
        let age = units::span(mark.age(snapshot));
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
