//! The lines above the table: title, gauges, graph, kills, dangers, growth; and the line about unreadable data.
//!
//! The numbers beside the texts of a line are their priorities: on a narrow screen those with the lowest are left out.

use std::time::Duration;

use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::columns::cell::sparkline;
use crate::config::{Action, Context, Theme};
use crate::group::{GroupBy, RowKey};
use crate::history::RowHistory;
use crate::history::kills::SHOWN;
use crate::history::suspects::{Suspect, Users};
use crate::model::{FleetStatus, Reading, Snapshot, SystemSample};
use crate::query;
use crate::text;
use crate::trend::{Metric, Verdict};
use crate::tui::app::App;
use crate::tui::chart::draw::{Axis, Charted, common, draw_chart, draw_time_axis};
use crate::tui::chart::{Chart, Scale, axis_width, draw_value_axis};
use crate::tui::fleet::count as count_of_fleet;
use crate::tui::labels;
use crate::tui::layout::Layout;
use crate::tui::popup::leaks::{fastest_mapping, mapping_growth, untouched};
use crate::tui::replay::ReplayStatus;
use crate::tui::widgets::{StatusLine, draw_bar};
use crate::units::{self, Units, counted};

type Line = fn(&App, &Snapshot, u16) -> StatusLine;

/// Draws the lines; `cut` keeps an area within the screen.
pub(super) fn draw(app: &App, layout: &Layout, cut: impl Fn(Rect) -> Rect, buf: &mut Buffer) {
    title(app).draw(cut(layout.title), buf);
    let Some(snapshot) = &app.engine.snapshot else { return };
    draw_graph(app, snapshot, cut(layout.graph), buf);
    for (at, area) in cut(layout.dangers).rows().enumerate() {
        danger(app, snapshot, at, area).draw(area, buf);
    }
    let lines: [(Rect, Line); 7] = [
        (layout.mem, memory),
        (layout.swap, swap),
        (layout.pressure, pressure),
        (layout.kills, kill),
        (layout.stall, stall),
        (layout.growth, growth),
        (layout.unread, unread),
    ];
    for (area, line) in lines {
        let area = cut(area);
        if !area.is_empty() {
            line(app, snapshot, area.width).draw(area, buf);
        }
    }
}

/// Returns the action of the line or the badge at a position.
pub(super) fn action_at(app: &App, at: Position) -> Option<Action> {
    let layout = app.layout();
    let lines = [
        (layout.kills, Action::MemoryPage),
        (layout.dangers, Action::Leaks),
        (layout.growth, Action::Leaks),
        (layout.unread, Action::Help),
    ];
    let line = lines.iter().find(|(area, _)| area.contains(at));
    let badge = || title(app).action_at(layout.title, at.x);
    line.map(|(_, action)| *action)
        .or_else(|| layout.title.contains(at).then(badge).flatten())
}

// The first line: the host, how many processes, how old the figures are, what zmtop costs.
//
//  zmtop db1  412 processes  figures up to 9s old  zmtop: 0.2 % of a core, 11M    PAUSED  user alice  up 12d  09:35

fn title(app: &App) -> StatusLine {
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
            (Some(_), false) => "  querying Prometheus …",
            (None, false) if app.replay.is_some() => "  reading the recording …",
            (None, false) => "  reading /proc …",
        };
        line.text(50, what, theme.dim);
        return line;
    };
    line.text(60, format!(" on {}", labels::cut(&snapshot.host, 24)), theme.title);
    if let Some(replay) = &app.replay {
        add_replay(app, replay, &mut line);
    }
    let coverage = app.rows.coverage;
    match (&snapshot.processes, &snapshot.fleet) {
        (Err(why), _) => line.text(85, format!("  /proc cannot be listed: {why}"), theme.error),
        (_, Some(fleet)) => line.text(55, format!("  {}", count_of_fleet(fleet)), theme.text),
        _ => line.text(
            55,
            format!("  {}", counted(app.rows.listed as u64, "process")),
            theme.text,
        ),
    }
    if coverage.pending > 0 {
        let read = coverage.total() - coverage.pending;
        line.text(50, format!("  reading {read} of {}", coverage.total()), theme.dim);
    } else if !is_at_fault {
        let what = if app.requests.paused {
            let time = Timestamp::try_from(snapshot.time).map(|time| time.to_zoned(app.screen.zone.clone()));
            time.map_or_else(
                |_| "  paused".into(),
                |time| time.strftime("  figures of %H:%M:%S").to_string(),
            )
        } else {
            // Figures that may be wrong are few, and the others are as old as the snapshot.
            let which = match coverage.uncertain {
                0 => "figures".into(),
                few => counted(few as u64, "figure"),
            };
            format!("  {which} up to {} old", units::span(app.rows.age(snapshot)))
        };
        line.text(48, what, theme.dim);
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
    if let Some(what) = query::unread_mappings(&app.query.process_filter().filter, snapshot) {
        let style = if what.is_pending() { theme.dim } else { theme.warning };
        line.text(83, format!("  {}", what.text()), style);
    }
    if let Some(remark) = app.fleet.as_ref().and_then(FleetStatus::remark) {
        line.text(57, format!("  {remark}"), theme.warning);
    }
    add_own_cost(app, snapshot, &mut line);
    if let Some(time) = labels::clock(app, snapshot, Duration::ZERO, false).filter(|_| app.replay.is_none()) {
        line.text_right(47, format!(" {time} "), theme.dim);
    }
    if let Ok(up) = snapshot.system.uptime {
        let up = units::span(Duration::try_from_secs_f64(up).unwrap_or_default());
        line.text_right(20, format!(" up {up} "), theme.dim);
    }
    add_badges(app, &mut line);
    line
}

/// Adds the time of the snapshot, and how the recording is played: ` REPLAY  11-20 23:51:00  playing 10×`.
fn add_replay(app: &App, replay: &ReplayStatus, line: &mut StatusLine) {
    let theme = &app.config.theme;
    line.text(88, "  ", theme.text);
    line.text(
        88,
        if replay.is_visit { " BLACK BOX " } else { " REPLAY " },
        theme.selected,
    );
    if let Some(time) = replay.position.and_then(|time| Timestamp::try_from(time).ok()) {
        let time = time.to_zoned(app.screen.zone.clone());
        line.text(89, time.strftime("  %m-%d %H:%M:%S").to_string(), theme.title);
    }
    let how = match (replay.is_at_end, replay.is_playing) {
        (true, _) if replay.is_stream => "the stream has ended".into(),
        (true, true) => "at the end, waiting for more".into(),
        (true, false) => "at the end".into(),
        (false, true) => format!("playing {}×", replay.speed),
        (false, false) if replay.speed == 1 => "paused".into(),
        (false, false) => format!("paused, {}×", replay.speed),
    };
    line.text(87, format!("  {how}"), theme.warning);
    if let Some(since) = replay.known_since.and_then(|time| Timestamp::try_from(time).ok()) {
        let since = since.to_zoned(app.screen.zone.clone());
        line.text(
            61,
            since.strftime("  verdicts since %H:%M:%S").to_string(),
            theme.warning,
        );
    }
}

/// Adds the deviations from the usual state, at the right edge; most of them are buttons.
fn add_badges(app: &App, line: &mut StatusLine) {
    let theme = &app.config.theme;
    for (on, label, action) in [
        (app.requests.paused, "PAUSED", Action::Pause),
        (app.tables.frozen, "FROZEN", Action::Freeze),
        (app.tables.follow, "FOLLOW", Action::Follow),
    ] {
        if on {
            line.button_right(75, format!(" {label} "), theme.warning, action);
        }
    }
    if let Some(recording) = &app.recording {
        let (text, style) = match &recording.fault {
            None => (" ● rec ".into(), theme.alert),
            Some(fault) => (format!(" ● not recorded: {fault} "), theme.error),
        };
        line.button_right(82, text, style, Action::Record);
    }
    if app.config.settings.ui.readonly {
        line.text_right(73, " read only ", theme.title);
    }
    let alerts = app.engine.alerts.firing() as u64;
    if alerts > 0 {
        line.button_right(
            79,
            format!(" ! {} ", counted(alerts, "alert")),
            theme.alert,
            Action::Alerts,
        );
    }
    if !app.engine.history.dangers().is_empty() {
        line.button_right(80, " DANGER ", theme.danger, Action::Leaks);
    }
    if let Some(kill) = app.engine.history.unseen_kills().next() {
        // The line below the graph has the details of recent ones.
        let text = match app.engine.history.elapsed_since(kill.at) {
            age if age < SHOWN => " KILLED ".into(),
            age => format!(" KILLED {} ago ", units::span(age)),
        };
        line.button_right(81, text, theme.killed, Action::MemoryPage);
    }
    let leaks = app.engine.leaks().count() as u64;
    if leaks > 0 {
        line.button_right(78, format!(" {} ", counted(leaks, "leak")), theme.leak, Action::Leaks);
    }
    if let Some(mark) = app.data.marks.current() {
        let which = match app.data.marks.position() {
            (_, 1) => String::new(),
            (at, all) => format!(" {at}/{all}"),
        };
        let age = units::span(app.engine.history.elapsed_since(mark.at()));
        line.text_right(74, format!(" mark{which} {age} ago "), theme.title);
    }
    add_scope(app, line);
    if let Some(user) = &app.query.user {
        let text = format!(" user {} ", text::safe_prefix(user, 16));
        line.button_right(70, text, theme.warning, Action::Users);
    }
    let of_mappings = app.query.outer_filter.as_ref().map(|_| &app.query.filter);
    for (what, filter) in [("filter", Some(app.query.process_filter())), ("matching", of_mappings)] {
        let filter = filter.map_or("", |filter| filter.good.trim_end());
        if !filter.is_empty() {
            let text = format!(" {what} {} ", labels::cut(filter.as_bytes(), 30));
            line.button_right(72, text, theme.warning, Action::Filter);
        }
    }
}

/// Adds the cost of zmtop and its children: `zmtop: 0.2 % of a core, 11M`.
fn add_own_cost(app: &App, snapshot: &Snapshot, line: &mut StatusLine) {
    let cpu = app.engine.history.system().own_cpu;
    let cpu = cpu.map(|cpu| format!("{:.1} % of a core", cpu * 100.0));
    let rss = snapshot.own.ok().map(|cost| units::bytes(cost.rss, Units::Auto));
    let own: Vec<String> = cpu.into_iter().chain(rss).collect();
    if !own.is_empty() {
        line.text(45, format!("  zmtop: {} RSS", own.join(", ")), app.config.theme.dim);
    }
}

/// Adds the scope, unless it is all processes: `by unit`, `command postgres`, `mappings 12s old`.
fn add_scope(app: &App, line: &mut StatusLine) {
    let theme = &app.config.theme;
    if let Some(scan) = app.data.mappings.as_ref().filter(|_| app.query.shows_mappings()) {
        let age = units::span(app.engine.history.elapsed_since(scan.at));
        line.text_right(77, format!(" mappings {age} old "), theme.warning);
    } else if let Some(by) = app.query.scope.grouped_by() {
        line.text_right(58, format!(" by {} ", by.id()), theme.title);
    }
    if let Some(key) = app.query.scope.opened_group() {
        let text = format!(" {} {} ", key.by.id(), labels::cut(key.label(), 24));
        line.text_right(76, text, theme.warning);
    }
}

// Memory, swap and pressure.
//
//  Mem  ████████▓▓▒▒▒░░░░░░        9.1G/23.5G  = █ anon 6.2G + ▓ shmem 310M + ▒ other 2.6G  ░ cache 2.1G  avail 14.4G  used, 5 min  ▂▃▃▄▄▅▅▆▆▇
//  Swap ███                        400M/ 1.0G  in 0 out 12K/s  zram 1.2G→410M 3.0×  disk 0     ▁▁▁▁▂▂▂▂▂▂
//  PSI  some 0.1% full 0.0%  12 major faults/s  load 0.42 0.31 0.20

/// Columns of the sparklines of memory and swap.
const SPARKLINE_WIDTH: usize = 10;

/// A part of a bar: its amount, its glyph (which distinguishes it without colour), its style.
type Part = (u64, char, Style);

/// Returns the width of both bars; 0 on a narrow screen, which needs the room for the figures.
fn bar_width(width: u16) -> usize {
    match width {
        0..60 => 0,
        _ => (usize::from(width) / 5).clamp(10, 50),
    }
}

/// Returns a bar of `total`: each part is as wide as its share, rounded so that the sum is right.
fn bar(parts: &[Part], total: u64, width: usize, rest: Style) -> Vec<(String, Style)> {
    let mut spans = Vec::new();
    let mut sum = 0_u64;
    let mut drawn = 0;
    for (amount, glyph, style) in parts.iter().filter(|_| total > 0) {
        sum = sum.saturating_add(*amount);
        let share = sum as f64 / total as f64;
        let end = ((share * width as f64).round() as usize).min(width);
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

/// Adds how much of a total is used: a bar of `width` columns, and both figures.
fn add_usage(line: &mut StatusLine, used: Reading<u64>, total: u64, parts: &[Part], width: usize, theme: &Theme) {
    if width > 0 {
        line.spans(70, bar(parts, total, width, theme.bar_free));
    }
    let text = format!("  {:>5}/{:<5}", amount(used), bytes(total));
    line.text(85, text, theme.text);
}

fn memory(app: &App, snapshot: &Snapshot, width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let bar_width = bar_width(width);
    let s = &snapshot.system;
    let mut line = StatusLine::default();
    line.text(90, " Mem  ", theme.dim);
    let total = match s.mem_total {
        Ok(total) => total,
        Err(why) => {
            line.text(80, format!("unknown: {why}"), theme.missing);
            return line;
        }
    };
    let used = s.used();
    let parts: [(&str, Reading<u64>, char, Style); 3] = [
        ("anon", anon(s), '█', theme.bar_anon),
        ("shmem", s.shmem, '▓', theme.bar_shmem),
        ("other", other(s), '▒', theme.bar_slab),
    ];
    let shmem = s.shmem.unwrap_or(0);
    let cache = s
        .cached
        .map(|n| n.saturating_add(s.buffers.unwrap_or(0)).saturating_sub(shmem));
    // Not counted as used; what the kernel keeps of it is among the others.
    let (mark, style) = ('░', theme.bar_file);
    let in_bar = cache.unwrap_or(0).min(total.saturating_sub(used.unwrap_or(0)));
    let amounts = parts.map(|(_, n, glyph, style)| (n.unwrap_or(0), glyph, style));
    let amounts: Vec<_> = amounts.into_iter().chain([(in_bar, mark, style)]).collect();
    add_usage(&mut line, used, total, &amounts, bar_width, theme);
    // The sum is shown as a whole or not at all.
    let sign = |glyph: char| {
        if bar_width > 0 {
            format!("{glyph} ")
        } else {
            String::new()
        }
    };
    let mut sum = Vec::new();
    for ((label, n, glyph, style), joint) in parts.into_iter().zip([" = ", " + ", " + "]) {
        sum.push((joint.into(), theme.dim));
        sum.push((sign(glyph), style));
        sum.push((format!("{label} {}", amount(n)), theme.text));
    }
    // In a cgroup, the figures of the host matter more.
    line.spans(if s.scope.is_some() { 57 } else { 62 }, sum);
    line.labeled(
        49,
        &format!("  {}", sign(mark)),
        style,
        format!("cache {}", amount(cache)),
        theme.text,
    );
    line.labeled(60, "  avail ", theme.dim, amount(s.available()), theme.text);
    if let Some(scope) = &s.scope {
        if let Some(high) = scope.soft_limit() {
            line.labeled(58, "  high ", theme.dim, bytes(high), theme.text);
        }
        let host = format!("{}/{}", amount(scope.host_used()), amount(scope.host_total));
        line.labeled(59, "  host ", theme.dim, host, theme.dim);
    }
    // The graph below shows the same in detail.
    if app.layout().graph.is_empty() {
        let chart = sparkline(&app.engine.history.system().mem(), SPARKLINE_WIDTH);
        line.text_right(30, format!("  used, 5 min {chart} "), theme.chart);
    }
    line
}

/// Returns the anonymous memory that is used. Lazily freed memory is not, but the kernel counts it as anonymous until it reclaims it.
fn anon(s: &SystemSample) -> Reading<u64> {
    let most = s.used().unwrap_or(u64::MAX).saturating_sub(s.shmem.unwrap_or(0));
    Ok(s.anon_pages?.min(most))
}

/// Returns the used memory except anonymous and shared memory: memory of the kernel and of drivers, and reserves that are never
/// available.
fn other(s: &SystemSample) -> Reading<u64> {
    Ok(s.used()?.saturating_sub(s.anon_pages?).saturating_sub(s.shmem?))
}

fn swap(app: &App, snapshot: &Snapshot, width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let s = &snapshot.system;
    let mut line = StatusLine::default();
    line.text(90, " Swap ", theme.dim);
    match (s.swap_total, s.swap_used()) {
        (Err(why), _) | (_, Err(why)) => {
            line.text(80, format!("unknown: {why}"), theme.missing);
            return line;
        }
        (Ok(0), _) => line.text(80, "none", theme.dim),
        (Ok(total), Ok(used)) => {
            let disk = on_disk(s, used).unwrap_or(0);
            let parts = [
                (used.saturating_sub(disk), '▓', theme.bar_zram),
                (disk, '█', theme.bar_disk),
            ];
            add_usage(&mut line, Ok(used), total, &parts, bar_width(width), theme);
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
        let ratio = (held > 0).then(|| format!(" {:.1}×", stored as f64 / held as f64));
        let text = format!("{}→{}{}", bytes(stored), bytes(held), ratio.unwrap_or_default());
        line.labeled(50, &format!("  {name} "), theme.dim, text, theme.bar_zram);
    }
    if let Some(used) = s.swap_used().ok().filter(|_| s.swap_total != Ok(0)) {
        let disk = amount(on_disk(s, used));
        line.labeled(45, "  disk ", theme.dim, disk, theme.bar_disk);
        let chart = sparkline(&system.swap(), SPARKLINE_WIDTH);
        line.text_right(30, format!("  {chart} "), theme.chart);
    }
    line
}

/// Returns zram (all its swap devices together) and zswap: the bytes stored, and the RAM that they use.
fn compressed(s: &SystemSample) -> impl Iterator<Item = (&'static str, u64, u64)> {
    let devices = s.zram.iter().filter(|z| z.is_swap);
    let zram = devices.fold(("zram", 0_u64, 0_u64), |(name, stored, held), z| {
        (name, stored.saturating_add(z.stored), held.saturating_add(z.compressed))
    });
    let zswap = ("zswap", s.zswapped.unwrap_or(0), s.zswap.unwrap_or(0));
    [zram, zswap].into_iter().filter(|(_, stored, _)| *stored > 0)
}

/// Returns the swap on disk: in the areas outside zram, less what zswap keeps in RAM.
fn on_disk(s: &SystemSample, used: u64) -> Reading<u64> {
    let areas = s.swaps.as_ref().map_err(|e| *e)?.iter();
    let zram: u64 = areas.filter(|a| a.on_zram()).map(|a| a.used).sum();
    Ok(used.saturating_sub(zram).saturating_sub(s.zswapped.unwrap_or(0)))
}

fn pressure(app: &App, snapshot: &Snapshot, _width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    line.text(90, " PSI  ", theme.dim);
    match snapshot.system.psi {
        Ok(psi) => {
            for (priority, label, share) in [(80, "some ", psi.some[0]), (75, " full ", psi.full[0])] {
                let style = if share >= 1.0 { theme.warning } else { theme.text };
                line.labeled(priority, label, theme.dim, format!("{share:.1}%"), style);
            }
            if app.fleet.is_some() {
                line.text(70, "  on the host that waits most", theme.dim);
                return line;
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
    line
}

// The machine's memory in use over time, and beside it the worst suspect since before its growth began.
//
//  in use over 1 hour: 1.4G to 1.9G of 23.5G    27213 python3 train.py over 1 hour: 67.5M to 412M
//  23.5G ┤                                       400M ┤                            ▂▄▆█
//        │            ▁▂▂▃▄▄▅                         │                  ▂▄▆██████████
//      0 └1 hour ago ─── 30m ──b mark ── now        0 └1 hour ago ── 45m ──▲ leak begins ── now

/// A divisor of the total memory: if less was in use, the scale ends at the memory used instead of at the total.
const MOSTLY_EMPTY: u64 = 4;
/// A narrower screen has room for one of the two graphs.
const BOTH: u16 = 100;
/// Maximum share of the growth in the shown time, so that some time before it is shown, too.
const SINCE: f64 = 0.95;

fn draw_graph(app: &App, snapshot: &Snapshot, area: Rect, buf: &mut Buffer) {
    if area.height <= 2 {
        return;
    }
    let Some((suspect, history)) = growing(app) else {
        return draw_machine(app, snapshot, app.screen.chart, area, buf);
    };
    let has_both = area.width >= BOTH && snapshot.system.mem_total.is_ok();
    let left = if has_both { area.width * 2 / 5 } else { 0 };
    let right = Rect::new(area.x + left, area.y, area.width - left, area.height);
    let since = history.trend().seen_since().unwrap_or(snapshot.monotonic);
    // Suspends take no room in the chart.
    let ago = snapshot.monotonic.saturating_sub(since);
    // Two charts beside each other have one axis of time.
    let chart = app.screen.chart.covering(ago.div_f64(SINCE));
    draw_machine(app, snapshot, chart, Rect { width: left, ..area }, buf);
    let figure = match history {
        history if history.shows_counted() => "RSS",
        _ if app.screen.has_swap => "footprint",
        _ => "PSS",
    };
    let name = format!("{figure} of {}", name_of_suspect(app, suspect));
    let id = suspect.key.process();
    let charted = Charted {
        name: &name,
        chart,
        history: history.into(),
        eta: None,
        started_at: id.and_then(|id| app.engine.history.started_at(id)),
        // The line below has the verdict.
        is_judged: false,
        style: Some(style_of_verdict(app, history.trend().verdict)),
    };
    draw_chart(app, snapshot, &charted, right, buf);
}

/// Returns the first suspect with its history, if its footprint grows.
fn growing(app: &App) -> Option<(&Suspect, &RowHistory)> {
    let suspect = app.engine.first_suspect()?;
    let all = &app.engine.history;
    let history = match &suspect.key {
        _ if !suspect.is_mapped() => None,
        RowKey::Process(id) => all.get(*id),
        RowKey::Group(key) => all.group(key),
        RowKey::Part(_) => None,
    };
    let history = history.filter(|_| suspect.judgement.verdict >= Verdict::Growing)?;
    Some((suspect, history))
}

fn draw_machine(app: &App, snapshot: &Snapshot, chart: Chart, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let gutter = axis_width(app.screen.size.0, app.screen.units);
    let (Ok(total), true) = (snapshot.system.mem_total, area.width > gutter + 1) else {
        return;
    };
    let width = area.width - gutter - 1;
    let inside = Rect::new(area.x + gutter, area.y + 1, width, area.height - 2);
    let window = chart.window(snapshot.monotonic, width.into());
    let series = app.engine.history.system().mem();
    let bands = series.bands(window.end, window.span, width.into());
    let known = || bands.iter().flatten();
    let high = known().map(|band| band.max).max().unwrap_or(0);
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
        let range = if low == high { low } else { format!("{low} to {high}") };
        let mut title = StatusLine::default();
        title.text(90, " in use", theme.dim);
        title.text(80, format!(" over {}", chart.name()), theme.dim);
        title.text(85, format!(": {range}"), theme.dim);
        title.text(70, format!(" of {total}"), theme.dim);
        title.draw(Rect { height: 1, ..area }, buf);
    }
    let below = Rect::new(inside.x, inside.y, width, inside.height + 1);
    let left = Rect::new(area.x, below.y, gutter, below.height);
    draw_value_axis(&scale, app.screen.units, theme, left, buf);
    let axis = Axis {
        end: window.end,
        span: chart.span(),
        is_cut: false,
    };
    draw_time_axis(app, snapshot, axis, &common(app), below, buf);
}

// The newest OOM kill, of several owners in turn, until it is acknowledged or ten minutes old. The first line mentions older ones.
//
//  ✖ KILLED  9137 importer by the kernel, 14s ago: /shop reached its limit of 150M, and it had 148M of it  2 more  a hides it
//  ✖ KILLED  9137 importer by systemd-oomd, 14s ago: memory was short, and it had 148M of it, with 3 more of /shop  a hides it

fn kill(app: &App, _: &Snapshot, width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let history = &app.engine.history;
    let mut line = StatusLine::default();
    let Some((kill, of_group, more)) = history.shown_kill() else {
        return line;
    };
    let text = kill.text(name_width(width), app.screen.units);
    line.text(95, " ✖ KILLED ", theme.killed);
    line.text(92, format!(" {}", text.victim), theme.text);
    let by = if kill.event.daemon.is_some() { 86 } else { 50 };
    line.text(by, format!(" by {}", text.by), theme.dim);
    line.text(
        80,
        format!(", {} ago", units::span(history.elapsed_since(kill.at))),
        theme.text,
    );
    line.text(88, format!(": {}", text.reason), theme.warning);
    line.text(78, text.limit, theme.warning);
    line.text(60, text.had + &text.page_tables, theme.text);
    let with = match of_group {
        0 => text.group,
        others => format!(", with {others} more of its group"),
    };
    line.text(62, with, theme.text);
    line.text(77, text.grower, theme.warning);
    line.text(55, text.growth, theme.text);
    if more > 0 {
        line.text(76, format!("  {more} more"), theme.dim);
    }
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Acknowledge).next() {
        line.labeled(58, &format!("  {key}"), theme.key, " hides it", theme.key_label);
    }
    line
}

// Where tasks wait for memory, and the limits that are reached soonest.
//
//  ▲ STALLED  58% of the time all tasks wait for memory: 812 indexer reads back 40.0M/s  for 2m10
//  ▲ STALLED  31 reporter waits 68% of the time: /batch is at its soft limit of 50.0M (memory.high)
//  ▲ DANGER  memory is full in 12 min at this pace: 1.1G left, falling by 90M/min  27213 python3 +80M/min  mostly [heap] +136M
//  ▲ DANGER  /web reaches its limit of 120M in 20 s at this pace: 80.0M left, falling by 4.0M/s  27213 importer +4.0M/s

/// Returns the maximum width of a name in the lines above the table.
const fn name_width(width: u16) -> usize {
    if width < 100 { 16 } else { 36 }
}

fn stall(app: &App, snapshot: &Snapshot, width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let stalls = app.engine.history.stalls();
    let Some(stall) = stalls.first() else { return line };
    line.text(95, " ▲ STALLED ", theme.danger);
    let name = |id| {
        let facts = snapshot.row(id).map(|row| &*row.facts);
        labels::process(id, facts, name_width(width))
    };
    let text = stall.text(snapshot, name, name_width(width), app.screen.units);
    let is_thrash = !text.waiting.is_empty();
    line.text(90, format!(" {}", text.waiting), theme.text);
    line.text(if is_thrash { 80 } else { 90 }, text.waiter, theme.warning);
    line.text(if is_thrash { 75 } else { 85 }, text.reason, theme.text);
    line.text(60, text.note, theme.dim);
    if let Some((id, pace)) = stall.taker {
        line.text(70, format!("  {} takes {}", name(id), units::pace(pace)), theme.warning);
    }
    let long = units::span(app.engine.history.elapsed_since(stall.since));
    line.text(40, format!("  for {long}"), theme.dim);
    if stalls.len() > 1 {
        line.text(70, format!("  {} more", stalls.len() - 1), theme.dim);
    }
    line
}

/// Minimum width of the command of the growing process, in columns.
const MIN_TAKER: usize = 6;

/// Returns the line of the danger at that position. The last line shows how many more there are.
fn danger(app: &App, snapshot: &Snapshot, at: usize, area: Rect) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let dangers = app.engine.history.dangers();
    let Some(danger) = dangers.get(at) else {
        return line;
    };
    let width = name_width(area.width);
    line.text(95, " ▲ DANGER ", theme.danger);
    let (text, note) = danger.limit_text(snapshot, width, app.screen.units);
    line.text(90, format!(" {text}"), theme.text);
    line.text(65, format!(" at this pace{note}"), theme.text);
    line.text(40, format!(": {}", danger.left_text(app.screen.units)), theme.dim);
    let long = units::span(app.engine.history.elapsed_since(danger.forecast.since));
    line.text(30, format!(" for at least {long}"), theme.dim);
    match &danger.taker {
        None => line.text(60, "  no single process takes it", theme.text),
        Some((RowKey::Part(key), pace)) => {
            line.text(80, format!("  {}", text::safe(&key.name())), theme.warning);
            if let Some(place) = &danger.place {
                line.text(75, format!(", {}", labels::cut(place, width)), theme.warning);
            }
            line.text(80, format!(" +{}", units::pace(*pace)), theme.warning);
        }
        Some((key, pace)) => {
            let pace = format!(" +{}", units::pace(*pace));
            // A narrow screen shows the beginning of the name.
            let pid = key.process().map_or(0, |id| id.pid);
            let taken = text::width(&format!(" ▲ DANGER  {text}  {pid} {pace}"));
            let room = usize::from(area.width).saturating_sub(taken).clamp(MIN_TAKER, width);
            let name = match key {
                RowKey::Part(key) => labels::cut(&key.name(), width),
                RowKey::Group(key) => {
                    format!("{} (all its processes)", key.titled(labels::group_name(key, width)))
                }
                RowKey::Process(id) => labels::process(*id, snapshot.row(*id).map(|row| &*row.facts), room),
            };
            line.text(80, format!("  {name}{pace}"), theme.warning);
            let history = &app.engine.history;
            if let Some(fastest) = key.process().and_then(|id| app.data.growth.fastest(id, history)) {
                let text = format!("  mostly {}", mapping_growth(app, fastest, 30));
                line.text(50, text, theme.text);
            }
        }
    }
    let shown = usize::from(app.layout().dangers.height);
    if at + 1 == shown && dangers.len() > shown {
        line.text(70, format!("  {} more", dangers.len() - shown), theme.dim);
    }
    line
}

// The worst leak, or else the fastest growth.
//
//  ▲ leak  27213 python3 train.py  11.4M/min since 09:14: memory full in 5.0 h  99% sure that it grows   1 more leak: press L
//  △ growing  812 redis-server  4.1M/min since 09:44: memory full in 9.1 h  [anon] +9M in 2m   2 more growing: press L

/// A narrower screen shows since when a suspect grows, but not for how long.
const WIDE: u16 = 140;
/// A limit that is reached later is not shown: one year.
const MAX_ETA: Duration = Duration::from_secs(365 * 86_400);

fn growth(app: &App, snapshot: &Snapshot, _width: u16) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let Some(suspect) = app.engine.first_suspect() else {
        return line;
    };
    let judgement = &suspect.judgement;
    let verdict = judgement.verdict;
    let style = style_of_verdict(app, verdict);
    let (sign, pace_style) = match verdict {
        Verdict::Leaking => (" ▲ leak", style),
        Verdict::Growing => (" △ growing", theme.text),
        Verdict::Hoarding => (" ◇ hoarding", theme.text),
        _ => (" ~ warming up", theme.text),
    };
    line.text(95, sign, style);
    line.text(90, format!("  {}", name_of_suspect(app, suspect)), theme.text);
    let elapsed = |since| app.engine.history.elapsed_since(since);
    if let Some(since) = judgement.flat_since {
        line.text(85, format!("  paused for {}", units::span(elapsed(since))), pace_style);
    } else {
        let pace = if suspect.is_population() {
            format!("  +{}", units::count_pace(judgement.slope))
        } else {
            format!("  {}", units::pace(judgement.slope))
        };
        line.text(85, pace, pace_style);
        if let Some(since) = judgement.seen_since() {
            match labels::clock(app, snapshot, elapsed(since), false) {
                Some(time) if app.screen.size.0 < WIDE => {
                    let began = match (app.engine.history.may_be_earlier(since), app.is_narrow()) {
                        (false, _) => time,
                        (true, true) => format!("≤{time}"),
                        (true, false) => format!("{time} or earlier"),
                    };
                    line.text(78, format!(" since {began}"), theme.text);
                }
                _ => line.text(78, labels::since(app, snapshot, judgement), theme.text),
            }
        }
    }
    let eta = suspect.eta.and_then(|eta| Duration::try_from_secs_f64(eta).ok());
    if let Some(eta) = eta.filter(|eta| *eta < MAX_ETA) {
        // A remote limit is less important.
        let (priority, style) = if eta < labels::SOON {
            (80, theme.warning)
        } else {
            (76, theme.text)
        };
        // A live set may also reach the limit of its heap.
        let is_short = app.is_narrow() || judgement.metric == Metric::LiveSet;
        let words = if is_short { ": " } else { ": memory " };
        line.text(priority, format!("{words}full in {}", units::about(eta)), style);
    }
    if suspect.orphans > 0 {
        line.text(79, format!(", {} whose parent is gone", suspect.orphans), theme.text);
    }
    if suspect.is_population() && suspect.footprint > 0 {
        let bytes = units::bytes(suspect.footprint, app.screen.units);
        line.text(74, format!(", {bytes} together"), theme.text);
    }
    if verdict == Verdict::Leaking {
        line.text(68, format!("  {}", labels::surety(judgement)), theme.text);
    }
    if judgement.metric == Metric::File {
        line.text(75, "  file pages, which the kernel can reclaim", theme.text);
    }
    if judgement.metric == Metric::Lazy {
        line.text(75, "  lazily freed, which the kernel can reclaim", theme.text);
    }
    if let Some(cause) = &suspect.cause {
        line.text(75, format!("  {}", cause.text()), theme.text);
    }
    if let Some(fastest) = fastest_mapping(app, suspect) {
        let mostly = if app.screen.size.0 < WIDE { "" } else { "mostly " };
        let text = format!("  {mostly}{}", mapping_growth(app, fastest, 30));
        line.text(71, text, theme.text);
    }
    let mount = suspect.key.part().and_then(|key| key.mount.as_deref());
    if let Some(file) = mount.and_then(|mount| app.data.cache.grower_in(mount)) {
        line.text(77, format!("  {}", file.text(app.screen.units)), theme.text);
    }
    if let Some(text) = untouched(app, snapshot, suspect) {
        line.text(60, format!("  {text}"), theme.text);
    }
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Leaks).next() {
        let press = if app.is_narrow() { "" } else { "press " };
        let (priority, label, style) = match others(app, suspect) {
            // The line shows one suspect only, so the others matter more than when this one began.
            Some(more) => (79, format!("   {more}: {press}"), theme.text),
            None => (20, "   why: press ".into(), theme.key_label),
        };
        line.labeled(priority, &label, style, key.to_string(), theme.key);
    }
    line
}

const fn style_of_verdict(app: &App, verdict: Verdict) -> Style {
    let theme = &app.config.theme;
    match verdict {
        Verdict::Leaking => theme.leak,
        Verdict::Growing | Verdict::Hoarding => theme.up,
        _ => theme.text,
    }
}

/// Returns how many others leak or grow: `1 more leak, 2 growing`, and on a narrow screen how many more do the same. Those that
/// only warm up are not counted.
fn others(app: &App, first: &Suspect) -> Option<String> {
    let count = |verdict: Verdict| {
        let all = app.engine.living_suspects();
        let same = all.filter(|suspect| suspect.judgement.verdict == verdict).count();
        same - usize::from(first.judgement.verdict == verdict)
    };
    let is_growing = first.judgement.verdict == Verdict::Growing;
    let leak = if first.judgement.verdict == Verdict::Leaking {
        "more leak"
    } else {
        "leak"
    };
    Some(match (count(Verdict::Leaking), count(Verdict::Growing)) {
        (0, 0) => return None,
        (0, n) if app.is_narrow() && !is_growing => format!("{n} growing"),
        (0, n) | (n, _) if app.is_narrow() => format!("{n} more"),
        (0, n) => format!("{n} more growing"),
        (leaks, growing @ 1..) if app.screen.size.0 >= WIDE => {
            format!("{}, {growing} growing", counted(leaks as u64, leak))
        }
        (leaks, _) => counted(leaks as u64, leak),
    })
}

/// Returns whose processes a program's row reports: ` of alice`.
fn of_users(users: &Users) -> String {
    match (users.count, &users.name) {
        (2.., _) => format!(" of {} users", users.count),
        (_, Some(name)) => format!(" of {}", text::safe(name)),
        _ => String::new(),
    }
}

/// Returns the name of a suspect with its pid or how many processes it has. A narrow screen shows the program's name instead of
/// the command line, as the beginning of a path says little.
fn name_of_suspect(app: &App, suspect: &Suspect) -> String {
    let is_narrow = app.is_narrow();
    let width = match app.screen.size.0 {
        WIDE.. => 40,
        _ if is_narrow => 20,
        _ => 26,
    };
    let name = match &suspect.key {
        RowKey::Process(id) => {
            let facts = suspect.facts.as_deref();
            let is_here = facts.is_none_or(|facts| facts.host.is_none());
            match &suspect.command {
                Some(program) if is_narrow && is_here => format!("{} {}", id.pid, labels::cut(program, width)),
                _ => labels::process(*id, facts, width),
            }
        }
        RowKey::Part(key) => labels::cut(&key.name(), width.max(key.label.len())),
        RowKey::Group(key) => {
            let (kind, users) = match key.by {
                GroupBy::User => ("user ", String::new()),
                _ => ("", of_users(&suspect.users)),
            };
            let count = match suspect.hosts {
                Some((hosts, all)) => format!("on {hosts} of {all} hosts"),
                None => format!("({}{users})", counted(suspect.count as u64, "process")),
            };
            format!("{kind}{} {count}", labels::group_name(key, width))
        }
    };
    text::single_blanks(&name)
}

// Figures that the user may not read, and how to see more.
//
//  PSS of 317 processes needs root or CAP_PERFMON  ? shows the commands

fn unread(app: &App, _: &Snapshot, _width: u16) -> StatusLine {
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
        let key = format!("  {key}");
        line.labeled(75, &key, theme.key, " shows the commands", theme.key_label);
    }
    line
}
