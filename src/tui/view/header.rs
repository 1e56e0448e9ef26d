//! The lines above the table: title, gauges, graph, dangers, growth; and the line about what cannot be read.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::columns::cell::sparkline;
use crate::config::{Action, Context};
use crate::group::RowKey;
use crate::history::RowHistory;
use crate::history::dangers::{Danger, Limit};
use crate::history::suspects::Suspect;
use crate::model::{FleetStatus, Reading, Snapshot, SystemSample};
use crate::text;
use crate::trend::{Metric, Verdict};
use crate::tui::app::App;
use crate::tui::chart::draw::{Axis, Charted, common, draw_chart, draw_time_axis};
use crate::tui::chart::{Scale, axis_width, draw_value_axis};
use crate::tui::fleet::count as count_of_fleet;
use crate::tui::labels;
use crate::tui::popup::leaks::{fastest_mapping, mapping_growth, untouched};
use crate::tui::widgets::{StatusLine, draw_bar};
use crate::units::{self, Units, counted};

// The first line: whose machine, how many processes, how old the figures are, what zmtop costs.
//
//  zmtop db1  412 processes  figures up to 9s old  zmtop: 0.2 % of a core, 11M    PAUSED  user alice  up 12d  09:35

/// Draws the line.
pub(super) fn draw_title(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    line.text(90, " zmtop", theme.title);
    let fault = app.fleet.as_ref().and_then(FleetStatus::fault_text);
    let is_at_fault = fault.is_some();
    if let Some(fault) = fault {
        line.text(95, format!("  {fault}"), theme.error);
    }
    let Some(snapshot) = &app.engine.snapshot else {
        let what = match (&app.fleet, is_at_fault) {
            (_, true) => "",
            (Some(_), false) => "  asking Prometheus …",
            (None, false) => "  reading /proc …",
        };
        line.text(50, what, theme.dim);
        return line.draw(area, buf);
    };
    let host = text::truncate(&text::safe_prefix(&snapshot.host, 24), 24);
    line.text(60, format!(" on {host}"), theme.title);
    let (listed, coverage) = (app.rows.listed, app.rows.coverage);
    let of_fleet = snapshot.fleet.as_ref().map(|fleet| count_of_fleet(fleet));
    if let Err(why) = &snapshot.processes {
        line.text(85, format!("  /proc cannot be listed: {why}"), theme.error);
    } else {
        let count = of_fleet.unwrap_or_else(|| format!("{listed} processes"));
        line.text(55, format!("  {count}"), theme.text);
    }
    if coverage.pending > 0 {
        let read = coverage.total() - coverage.pending;
        line.text(50, format!("  reading {read} of {}", coverage.total()), theme.dim);
    } else if !is_at_fault {
        let age = units::span(app.rows.age(snapshot));
        line.text(48, format!("  figures up to {age} old"), theme.dim);
    }
    if snapshot.sampling.stuck > 0 {
        let reads = counted(snapshot.sampling.stuck as u64, "read");
        line.text(80, format!("  {reads} stuck"), theme.warning);
    }
    if snapshot.sampling.doubtful > 0 {
        let text = format!("  {} may count twice: grant CAP_SYS_PTRACE", snapshot.sampling.doubtful);
        line.text(46, text, theme.warning);
    }
    if let Some(short) = app.engine.history.shortfall().rows_text() {
        line.text(66, format!("  {short} without history"), theme.warning);
    }
    if let Some(remark) = app.fleet.as_ref().and_then(FleetStatus::remark) {
        line.text(57, format!("  {remark}"), theme.warning);
    }
    add_own_cost(app, snapshot, &mut line);
    if let Some(time) = labels::clock(app, snapshot, Duration::ZERO, false) {
        line.text_right(47, format!(" {time} "), theme.dim);
    }
    if let Ok(up) = snapshot.system.uptime {
        let up = units::span(Duration::try_from_secs_f64(up).unwrap_or_default());
        line.text_right(20, format!(" up {up} "), theme.dim);
    }

    for (on, label) in [
        (app.requests.paused, "PAUSED"),
        (app.tables.frozen, "FROZEN"),
        (app.tables.follow, "FOLLOW"),
    ] {
        if on {
            line.text_right(75, format!(" {label} "), theme.warning);
        }
    }
    if app.config.settings.ui.readonly {
        line.text_right(73, " read only ", theme.title);
    }
    if let Some(label) = count_label(app.engine.alerts.firing(), "! ", "alert") {
        line.text_right(79, label, theme.alert);
    }
    if !app.engine.history.dangers().is_empty() {
        line.text_right(80, " DANGER ", theme.danger);
    }
    if let Some(label) = count_label(app.engine.leaks().count(), "", "leak") {
        line.text_right(78, label, theme.leak);
    }
    if let Some(mark) = app.data.marks.current() {
        let which = match app.data.marks.position() {
            (_, 1) => String::new(),
            (at, all) => format!(" {at}/{all}"),
        };
        let age = units::span(app.engine.history.elapsed_since(mark.at()));
        line.text_right(74, format!(" mark{which} {age} ago "), theme.title);
    }
    add_scope(app, &mut line);
    if let Some(user) = &app.query.user {
        line.text_right(70, format!(" user {} ", text::safe_prefix(user, 16)), theme.warning);
    }
    let outer = app.query.outer_filter.as_ref();
    let of_mappings = outer.map(|_| ("matching", &app.query.filter.good));
    let of_processes = ("filter", &app.query.process_filter().good);
    for (what, filter) in std::iter::once(of_processes).chain(of_mappings) {
        let filter = filter.trim_end();
        if !filter.is_empty() {
            let shown = text::truncate(&text::safe_prefix(filter.as_bytes(), 30), 30);
            line.text_right(72, format!(" {what} {shown} "), theme.warning);
        }
    }
    line.draw(area, buf);
}

/// Adds what zmtop itself costs: `zmtop: 0.2 % of a core, 11M`.
fn add_own_cost(app: &App, snapshot: &Snapshot, line: &mut StatusLine) {
    let cpu = app.engine.history.system().own_cpu;
    let cpu = cpu.map(|cpu| format!("{:.1} % of a core", cpu * 100.0));
    let rss = snapshot.own.ok().map(|cost| units::bytes(cost.rss, Units::Auto));
    let own: Vec<String> = cpu.into_iter().chain(rss).collect();
    if !own.is_empty() {
        line.text(45, format!("  zmtop: {} RSS", own.join(", ")), app.config.theme.dim);
    }
}

/// Adds what the rows are, where they are not all processes: `by unit`, `command postgres`, `mappings 12s old`.
fn add_scope(app: &App, line: &mut StatusLine) {
    let theme = &app.config.theme;
    if let Some(scan) = app.data.mappings.as_ref().filter(|_| app.query.shows_mappings()) {
        let age = units::span(app.engine.history.elapsed_since(scan.at));
        line.text_right(77, format!(" mappings {age} old "), theme.warning);
    } else if let Some(by) = app.query.scope.grouped_by() {
        line.text_right(58, format!(" by {} ", by.id()), theme.title);
    }
    if let Some(key) = app.query.scope.opened_group() {
        let name = text::truncate(&text::safe_prefix(key.label(), 24), 24);
        line.text_right(76, format!(" {} {name} ", key.by.id()), theme.warning);
    }
}

/// Returns a count to show at the right edge: ` ! 2 alerts `; nothing for none.
fn count_label(count: usize, mark: &str, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!(" {mark}1 {what} ")),
        n => Some(format!(" {mark}{n} {what}s ")),
    }
}

// Memory, swap and pressure.
//
//  Mem  ████████▓▓▒▒▒░░░░░░        9.1G/23.5G  █ anon 6.2G ▓ shmem 310M ▒ slab 512M ░ cache 2.1G  avail 13.9G  used, 5 min  ▂▃▃▄▄▅▅▆▆▇
//  Swap ███                        400M/ 1.0G  in 0 out 12K/s  zram 1.2G→410M 3.0×  disk 0     ▁▁▁▁▂▂▂▂▂▂
//  PSI  some 0.1% full 0.0%  12 major faults/s  load 0.42 0.31 0.20

/// Columns of the sparklines of memory and swap.
const SPARKLINE_WIDTH: usize = 10;

/// A part of a bar: how much, its glyph (so that it can be told without colour), its style.
type Part = (u64, char, Style);

/// Returns the width of both bars on a screen this wide; none on a narrow one, which needs the figures.
fn bar_width(width: u16) -> usize {
    if width < 60 {
        0
    } else {
        (usize::from(width) / 4).clamp(10, 50)
    }
}

/// Returns a bar of `total`: each part as wide as its share, rounded so that the sum is right.
fn bar(parts: &[Part], total: u64, width: usize, rest: Style) -> Vec<(String, Style)> {
    let mut spans = Vec::new();
    let mut sum = 0_u64;
    let mut drawn = 0;
    for (amount, glyph, style) in parts {
        sum = sum.saturating_add(*amount);
        // Of a total of 0 there is no share.
        let share = sum as f64 / total.max(1) as f64;
        let end = ((share * width as f64).round() as usize).min(if total == 0 { 0 } else { width });
        if end > drawn {
            spans.push((glyph.to_string().repeat(end - drawn), *style));
            drawn = end;
        }
    }
    spans.push(("·".repeat(width - drawn), rest));
    spans
}

fn bytes(n: u64) -> String {
    units::bytes(n, Units::Auto)
}

fn amount(n: Reading<u64>) -> String {
    n.map_or_else(|_| "-".into(), bytes)
}

/// Adds how much of a total is used: a bar, and both figures.
fn add_usage(line: &mut StatusLine, used: Reading<u64>, total: u64, parts: &[Part], area: Rect, app: &App) {
    let theme = &app.config.theme;
    let width = bar_width(area.width);
    if width > 0 {
        line.spans(70, bar(parts, total, width, theme.bar_free));
    }
    let text = format!("  {:>5}/{:<5}", amount(used), bytes(total));
    line.text(85, text, theme.text);
}

pub(super) fn draw_memory(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let s = &snapshot.system;
    let mut line = StatusLine::default();
    line.text(90, " Mem  ", theme.dim);
    let total = match s.mem_total {
        Ok(total) => total,
        Err(why) => {
            line.text(80, format!("unknown: {why}"), theme.missing);
            return line.draw(area, buf);
        }
    };
    let parts: [(u8, &str, Reading<u64>, char, Style); 4] = [
        (50, "anon", s.anon_pages, '█', theme.bar_anon),
        (47, "shmem", s.shmem, '▓', theme.bar_shmem),
        (48, "slab", s.slab, '▒', theme.bar_slab),
        // The widest part mostly, and not what is called used.
        (49, "cache", file_pages(s), '░', theme.bar_file),
    ];
    let amounts = parts.map(|(_, _, n, glyph, style)| (n.unwrap_or(0), glyph, style));
    add_usage(&mut line, s.used(), total, &amounts, area, app);
    line.text(51, " ", theme.dim);
    for (priority, label, n, glyph, style) in parts {
        // As the bar is drawn, where there is one.
        let sign = if bar_width(area.width) > 0 {
            format!(" {glyph}")
        } else {
            String::new()
        };
        line.labeled(priority, &sign, style, format!(" {label} {}", amount(n)), theme.text);
    }
    line.labeled(60, "  avail ", theme.dim, amount(s.available()), theme.text);
    if let Some(scope) = &s.scope {
        if let Some(high) = scope.soft_limit() {
            line.labeled(58, "  high ", theme.dim, bytes(high), theme.text);
        }
        let host = format!("{}/{}", amount(scope.host_used()), amount(scope.host_total));
        line.labeled(59, "  host ", theme.dim, host, theme.dim);
    }
    // The graph below shows the same, and more of it.
    if app.layout().graph.is_empty() {
        let chart = sparkline(&app.engine.history.system().mem(), SPARKLINE_WIDTH);
        line.text_right(30, format!("  used, 5 min {chart} "), theme.chart);
    }
    line.draw(area, buf);
}

/// Returns the page cache that is file data: without shmem.
fn file_pages(s: &SystemSample) -> Reading<u64> {
    let cache = s.cached?.saturating_add(s.buffers.unwrap_or(0));
    Ok(cache.saturating_sub(s.shmem.unwrap_or(0)))
}

pub(super) fn draw_swap(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let s = &snapshot.system;
    let mut line = StatusLine::default();
    line.text(90, " Swap ", theme.dim);
    match (s.swap_total, s.swap_used()) {
        (Err(why), _) | (_, Err(why)) => {
            line.text(80, format!("unknown: {why}"), theme.missing);
            return line.draw(area, buf);
        }
        (Ok(0), _) => line.text(80, "none", theme.dim),
        (Ok(total), Ok(used)) => {
            let disk = on_disk(s, used).unwrap_or(0);
            let parts = [
                (used.saturating_sub(disk), '▓', theme.bar_zram),
                (disk, '█', theme.bar_disk),
            ];
            add_usage(&mut line, Ok(used), total, &parts, area, app);
        }
    }
    let system = app.engine.history.system();
    for (label, rate) in [("  in ", system.swap_in), (" out ", system.swap_out)] {
        let busy = rate.is_some_and(|r| r > 0.0);
        let style = if busy { theme.warning } else { theme.text };
        let text = rate.map_or("-".into(), |r| format!("{}/s", bytes(r as u64)));
        line.labeled(60, label, theme.dim, text, style);
    }
    for (name, stored, held) in compressed(s) {
        let ratio = if held == 0 {
            String::new()
        } else {
            format!(" {:.1}×", stored as f64 / held as f64)
        };
        let text = format!("{}→{}{ratio}", bytes(stored), bytes(held));
        line.labeled(50, &format!("  {name} "), theme.dim, text, theme.bar_zram);
    }
    if let Some(used) = s.swap_used().ok().filter(|_| s.swap_total != Ok(0)) {
        let disk = amount(on_disk(s, used));
        line.labeled(45, "  disk ", theme.dim, disk, theme.bar_disk);
        let chart = sparkline(&system.swap(), SPARKLINE_WIDTH);
        line.text_right(30, format!("  {chart} "), theme.chart);
    }
    line.draw(area, buf);
}

/// Returns zram (all devices that hold swap) and zswap: what is stored, and the RAM that holds it.
fn compressed(s: &SystemSample) -> impl Iterator<Item = (&'static str, u64, u64)> {
    let devices = s.zram.iter().filter(|z| z.is_swap);
    let zram = devices.fold(("zram", 0_u64, 0_u64), |(name, stored, held), z| {
        (name, stored.saturating_add(z.stored), held.saturating_add(z.compressed))
    });
    let zswap = ("zswap", s.zswapped.unwrap_or(0), s.zswap.unwrap_or(0));
    [zram, zswap].into_iter().filter(|(_, stored, _)| *stored > 0)
}

/// Returns the swap that lies on a disk: what the areas outside zram hold, less what zswap keeps back in RAM.
fn on_disk(s: &SystemSample, used: u64) -> Reading<u64> {
    let areas = s.swaps.as_ref().map_err(|e| *e)?.iter();
    let zram: u64 = areas.filter(|a| a.on_zram()).map(|a| a.used).sum();
    Ok(used.saturating_sub(zram).saturating_sub(s.zswapped.unwrap_or(0)))
}

/// Draws the line about pressure and faults.
pub(super) fn draw_pressure(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let mut line = StatusLine::default();
    line.text(90, " PSI  ", theme.dim);
    match snapshot.system.psi {
        Ok(psi) => {
            for (priority, label, share) in [(80, "some ", psi.some_avg10), (75, " full ", psi.full_avg10)] {
                let style = if share >= 1.0 { theme.warning } else { theme.text };
                line.labeled(priority, label, theme.dim, format!("{share:.1}%"), style);
            }
            if app.fleet.is_some() {
                line.text(70, "  on the host that waits most", theme.dim);
                return line.draw(area, buf);
            }
        }
        Err(why) => line.text(80, why.to_string(), theme.missing),
    }
    let faults = app.engine.history.system().majfault;
    let faults = faults.map_or("-".into(), |f| format!("{f:.0}/s"));
    line.labeled(60, "  major faults ", theme.dim, faults, theme.text);
    if let Ok([one, five, fifteen]) = snapshot.system.loadavg {
        let load = format!("{one:.2} {five:.2} {fifteen:.2}");
        line.labeled(30, "  load ", theme.dim, load, theme.text);
    }
    line.draw(area, buf);
}

// The machine's memory in use over time, from nothing to all there is or to what was used; beside it what leaks or grows most, since before it
// began.
//
//  in use over 5 min: 1.4G to 1.9G of 23.5G     27213 python3 train.py over 1 hour: 67.5M to 412M
//  23.5G ┤                                       400M ┤                            ▂▄▆█
//        │            ▁▂▂▃▄▄▅                         │                  ▂▄▆██████████
//      0 └5 min ago ── 4m ── 3m ──b mark ── now     0 └1 hour ago ── 45m ──▲ leak begins ── now

/// A part of the memory, as a divisor: where less of it was in use, the graph does not end at all of it.
const MOSTLY_EMPTY: u64 = 4;
/// Columns of a screen from which on both have room.
const BOTH: u16 = 100;
/// The share of the time shown that the growth takes at most: before it there is something to compare with.
const SINCE: f64 = 0.95;

pub(super) fn draw_graph(app: &App, area: Rect, buf: &mut Buffer) {
    let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| area.height > 2) else {
        return;
    };
    let Some((suspect, history)) = growing(app) else {
        return draw_machine(app, snapshot, area, buf);
    };
    let has_both = area.width >= BOTH && snapshot.system.mem_total.is_ok();
    let left = if has_both { area.width * 2 / 5 } else { 0 };
    draw_machine(app, snapshot, Rect { width: left, ..area }, buf);
    let right = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    let since = history.trend().since.unwrap_or(snapshot.monotonic);
    // Suspends take no room in the chart.
    let ago = snapshot.monotonic.saturating_sub(since);
    let figure = match history {
        history if history.shows_counted() => "RSS",
        _ if app.screen.has_swap => "footprint",
        _ => "PSS",
    };
    let name = format!("{figure} of {}", name_of_suspect(app, suspect));
    let id = suspect.key.process();
    let charted = Charted {
        name: &name,
        chart: app.screen.chart.covering(ago.div_f64(SINCE)),
        history: history.into(),
        eta: None,
        started_at: id.and_then(|id| app.engine.history.started_at(id)),
        // The line below says it.
        is_judged: false,
        style: Some(style_of_verdict(app, history.trend().verdict)),
    };
    draw_chart(app, snapshot, &charted, right, buf);
}

/// Returns what the line about growth is about, with its history, where its footprint grows.
fn growing(app: &App) -> Option<(&Suspect, &RowHistory)> {
    let suspect = app.engine.living_suspects().next()?;
    let all = &app.engine.history;
    let history = match &suspect.key {
        _ if suspect.is_held() => None,
        RowKey::Process(id) => all.get(*id),
        RowKey::Group(key) => all.group(key),
        RowKey::Part(_) => None,
    };
    let history = history.filter(|_| suspect.judgement.verdict >= Verdict::Growing)?;
    Some((suspect, history))
}

fn draw_machine(app: &App, snapshot: &Snapshot, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let gutter = axis_width(app.screen.size.0, app.screen.units);
    let (Ok(total), true) = (snapshot.system.mem_total, area.width > gutter + 1) else {
        return;
    };
    let inside = Rect {
        x: area.x + gutter,
        y: area.y + 1,
        width: area.width - gutter - 1,
        height: area.height - 2,
    };
    let chart = app.screen.chart;
    let window = chart.window(snapshot.monotonic, usize::from(inside.width));
    let series = app.engine.history.system().mem();
    let bands = series.bands(window.end, window.span, usize::from(inside.width));
    let known = || bands.iter().flatten();
    let high = known().map(|band| band.max).max().unwrap_or(0);
    // The bar above says how full it is; of a machine that is mostly empty a graph to the top would be a line.
    let scale = if high > total / MOSTLY_EMPTY {
        Scale::whole(total, inside.height)
    } else {
        Scale::over(0, high, 0, inside.height)
    };
    for (x, band) in (inside.x..).zip(&bands) {
        if let Some(band) = band {
            let column = Rect { x, width: 1, ..inside };
            draw_bar(buf, column, scale.eighths(band.last, inside.height), theme.chart);
        }
    }
    if let Some(low) = known().map(|band| band.min).min() {
        let [low, high, total] = [low, high, total].map(|n| units::bytes(n, app.screen.units));
        let mut title = StatusLine::default();
        title.text(90, " in use", theme.dim);
        title.text(80, format!(" over {}", chart.span().name), theme.dim);
        let range = if low == high { low } else { format!("{low} to {high}") };
        title.text(85, format!(": {range}"), theme.dim);
        title.text(70, format!(" of {total}"), theme.dim);
        title.draw(Rect { height: 1, ..area }, buf);
    }
    let below = Rect {
        height: inside.height + 1,
        ..inside
    };
    let left = Rect {
        x: area.x,
        width: gutter,
        ..below
    };
    draw_value_axis(&scale, app.screen.units, theme, left, buf);
    let axis = Axis {
        end: window.end,
        span: chart.span(),
        is_cut: false,
    };
    draw_time_axis(app, snapshot, axis, &common(app), below, buf);
}

// The line about the limit that is reached soonest, while there is one.
//
//  ▲ DANGER  memory is full in 12 min at this pace: 1.1G left, falling by 90M/min  27213 python3 +80M/min  mostly [heap] +136M

/// Draws the line.
pub(super) fn draw_dangers(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let dangers = app.engine.history.dangers();
    let Some(danger) = dangers.first().filter(|_| !area.is_empty()) else {
        return;
    };
    let width = if area.width < 100 { 16 } else { 36 };
    let mut line = StatusLine::default();
    line.text(95, " ▲ DANGER ", theme.danger);
    line.text(90, format!(" {}", sentence(danger, width)), theme.text);
    let forecast = &danger.forecast;
    let left = units::bytes(forecast.left, app.screen.units);
    line.text(
        40,
        format!(": {left} left, falling by {}", units::pace(forecast.pace)),
        theme.dim,
    );
    let long = units::span(app.engine.history.elapsed_since(forecast.since));
    line.text(30, format!(" for at least {long}"), theme.dim);
    match &danger.taker {
        None => line.text(60, "  by no single process", theme.text),
        Some((key, pace)) => {
            let name = name_of_taker(app, key, width);
            line.text(80, format!("  {name} +{}", units::pace(*pace)), theme.warning);
            let history = &app.engine.history;
            if let Some(fastest) = key.process().and_then(|id| app.data.growth.fastest(id, history)) {
                let text = format!("  mostly {}", mapping_growth(app, fastest, 30));
                line.text(50, text, theme.text);
            }
        }
    }
    if dangers.len() > 1 {
        line.text(70, format!("  {} more", dangers.len() - 1), theme.dim);
    }
    line.draw(area, buf);
}

/// Says which limit is reached when: `memory is full in 12 min at this pace`.
fn sentence(danger: &Danger, width: usize) -> String {
    let time = units::about(danger.forecast.time());
    match &danger.limit {
        Limit::Machine => format!("memory is full in {time} at this pace"),
        Limit::AddressSpace(id) => format!("address space of {} is full in {time} at this pace (RLIMIT_AS)", id.pid),
        Limit::Cgroup(path) => {
            let path = text::safe(path);
            format!(
                "cgroup {} is full in {time} at this pace",
                text::truncate_start(&path, width)
            )
        }
    }
}

/// Returns the name of who takes the memory, cut to a width.
fn name_of_taker(app: &App, key: &RowKey, width: usize) -> String {
    match key {
        RowKey::Part(key) => key.label.into(),
        RowKey::Group(key) => format!("{} (all its processes)", labels::group_name(key, width)),
        RowKey::Process(id) => {
            let sample = app.engine.snapshot.as_ref().and_then(|snapshot| snapshot.row(*id));
            labels::process(*id, sample.map(|row| &*row.facts), width)
        }
    }
}

// The line about the worst leak, or where there is none about what grows fastest.
//
//  ▲ leak  27213 python3 train.py  11.4M/min since 09:14: memory full in 5.0 h  99% sure that it grows   1 more leak: press L
//  △ growing  812 redis-server  4.1M/min since 09:44: memory full in 9.1 h  [anon] +9M in 2m   2 more growing: press L

/// Columns from which on there is room for how long it lasts beside since when.
const WIDE: u16 = 140;
/// A limit that is reached later than that is not worth a word: one year.
const MAX_ETA: Duration = Duration::from_secs(365 * 86_400);

/// Draws the line.
pub(super) fn draw_growth(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    // The worst comes first.
    let Some(suspect) = app.engine.living_suspects().next() else {
        return;
    };
    let mut line = StatusLine::default();
    let verdict = suspect.judgement.verdict;
    let style = style_of_verdict(app, verdict);
    let (sign, told) = match verdict {
        Verdict::Leaking => (" ▲ leak", style),
        Verdict::Growing => (" △ growing", theme.text),
        _ => (" ~ warming up", theme.text),
    };
    line.text(95, sign, style);
    describe(app, snapshot, suspect, told, &mut line);
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Leaks).next() {
        let key = key.to_string();
        match others(app, suspect) {
            Some(more) if app.is_narrow() => line.labeled(72, &format!("   {more}: "), theme.text, key, theme.key),
            Some(more) => line.labeled(72, &format!("   {more}: press "), theme.text, key, theme.key),
            None => line.labeled(20, "   why: press ", theme.key_label, key, theme.key),
        }
    }
    line.draw(area, buf);
}

/// Returns the style of what has that verdict.
pub(super) const fn style_of_verdict(app: &App, verdict: Verdict) -> Style {
    let theme = &app.config.theme;
    match verdict {
        Verdict::Leaking => theme.leak,
        Verdict::Growing => theme.up,
        _ => theme.text,
    }
}

/// Says what leaks or grows besides, `1 more leak, 2 growing`, and with less room how many more do the same; what only warms up
/// is no news.
fn others(app: &App, first: &Suspect) -> Option<String> {
    let count = |verdict: Verdict| {
        let all = app.engine.living_suspects();
        let same = all.filter(|suspect| suspect.judgement.verdict == verdict).count();
        same - usize::from(first.judgement.verdict == verdict)
    };
    match (count(Verdict::Leaking), count(Verdict::Growing)) {
        (0, 0) => None,
        // As many as the first line counts.
        (n @ 1.., _) if app.is_narrow() => Some(format!("{n} more")),
        (0, n) if app.is_narrow() && first.judgement.verdict == Verdict::Growing => Some(format!("{n} more")),
        (0, n) if app.is_narrow() => Some(format!("{n} growing")),
        (0, n) => Some(format!("{n} more growing")),
        (leaks, growing) => {
            let s = if leaks == 1 { "" } else { "s" };
            let leaks = format!("{leaks} more leak{s}");
            Some(match growing {
                n if n > 0 && app.screen.size.0 >= WIDE => format!("{leaks}, {n} growing"),
                _ => leaks,
            })
        }
    }
}

/// Adds who it is, how fast it grows, since when, and what.
fn describe(app: &App, snapshot: &Snapshot, suspect: &Suspect, style: Style, line: &mut StatusLine) {
    let theme = &app.config.theme;
    let judgement = &suspect.judgement;
    line.text(90, format!("  {}", name_of_suspect(app, suspect)), theme.text);
    let span = |since| units::span(app.engine.history.elapsed_since(since));
    if let Some(since) = judgement.flat_since {
        line.text(85, format!("  paused for {}", span(since)), style);
    } else {
        line.text(85, format!("  {}", units::pace(judgement.slope)), style);
        if let Some(since) = judgement.since {
            let ago = app.engine.history.elapsed_since(since);
            let clock = labels::clock(app, snapshot, ago, false).filter(|_| app.screen.size.0 < WIDE);
            let is_short = clock.is_some();
            let text = clock.map_or_else(|| labels::since(app, snapshot, since), |time| format!(" since {time}"));
            line.text(78, text, theme.text);
            if is_short && labels::may_be_earlier(app, since) {
                line.text(69, " or earlier", theme.text);
            }
        }
    }
    let eta = suspect.eta.and_then(|eta| Duration::try_from_secs_f64(eta).ok());
    if let Some(eta) = eta.filter(|eta| *eta < MAX_ETA) {
        // What is far off is not what the eye should meet first, nor what stays where there is little room.
        let (priority, style) = if eta < labels::SOON {
            (80, theme.warning)
        } else {
            (76, theme.text)
        };
        let words = if app.is_narrow() { ": " } else { ": memory " };
        line.text(priority, format!("{words}full in {}", units::about(eta)), style);
    }
    if judgement.verdict == Verdict::Leaking {
        // The list has it, too, where there is little room.
        line.text(68, format!("  {}", labels::surety(judgement)), theme.text);
    }
    if judgement.metric == Metric::File {
        line.text(75, "  file pages, which the kernel takes back", theme.text);
    }
    if let Some(cause) = &suspect.cause {
        line.text(75, format!("  {}", cause.text()), theme.text);
    }
    if let Some(fastest) = fastest_mapping(app, suspect) {
        let mostly = if app.screen.size.0 < WIDE { "" } else { "mostly " };
        let text = format!("  {mostly}{}", mapping_growth(app, fastest, 30));
        line.text(71, text, theme.text);
    }
    if let Some(text) = untouched(app, snapshot, suspect) {
        line.text(60, format!("  {text}"), theme.text);
    }
}

/// Returns the name of a suspect with its pid or how many processes it has; on a narrow screen that of its program, which says
/// more in little room than the beginning of a path.
pub(super) fn name_of_suspect(app: &App, suspect: &Suspect) -> String {
    let is_narrow = app.is_narrow();
    let width = match app.screen.size.0 {
        WIDE.. => 40,
        _ if is_narrow => 20,
        _ => 26,
    };
    match &suspect.key {
        RowKey::Process(id) if suspect.facts.as_ref().is_some_and(|facts| facts.host.is_some()) => {
            labels::process(*id, suspect.facts.as_deref(), width)
        }
        RowKey::Process(id) if is_narrow && suspect.command.is_some() => {
            let program = suspect.command.as_deref().unwrap_or_default();
            format!(
                "{} {}",
                id.pid,
                text::truncate(&text::safe_prefix(program, width), width)
            )
        }
        RowKey::Part(key) => key.label.into(),
        RowKey::Group(key) => {
            let count = match suspect.hosts {
                Some((hosts, all)) => format!("on {hosts} of {all} hosts"),
                None => format!("({} processes)", suspect.count),
            };
            format!("{} {count}", labels::group_name(key, width))
        }
        RowKey::Process(id) => labels::process(*id, suspect.facts.as_deref(), width),
    }
}

// The line about what the user may not read, and how to see more.
//
//  PSS of 317 processes needs root or CAP_PERFMON  ? shows the commands

/// Draws the line.
pub(super) fn draw_unread(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let coverage = &app.rows.coverage;
    let hidden = counted((coverage.hidden - coverage.pending) as u64, "process");
    let mut line = StatusLine::default();
    line.text(90, format!(" PSS of {hidden} needs root"), theme.dim);
    line.text(70, format!(" or {}", app.privilege.capability), theme.dim);
    if coverage.by_rss > 0 && !app.is_blind() {
        line.text(80, ", ≤ is its RSS", theme.dim);
    }
    if let Some(key) = app.config.keymap.shown_key(Context::Table, Action::Help) {
        line.labeled(
            75,
            &format!("  {key}"),
            theme.key,
            " shows the commands",
            theme.key_label,
        );
    }
    line.draw(area, buf);
}
