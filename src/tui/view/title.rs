//! The first line: whose machine, how many processes, how old the figures are, what zmtop costs.
//!
//! ```text
//!  zmtop db1  412 processes  figures up to 9s old  zmtop: 0.2 % of a core, 11M    PAUSED  user alice  up 12d  09:35
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::Snapshot;
use crate::text;
use crate::tui::app::App;
use crate::tui::fleet::{FleetStatus, count as count_of_fleet};
use crate::tui::labels;
use crate::tui::widgets::StatusLine;
use crate::units::{self, Units};

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
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
        let reads = units::counted(snapshot.sampling.stuck as u64, "read");
        line.text(80, format!("  {reads} stuck"), theme.warning);
    }
    if snapshot.sampling.doubtful > 0 {
        let text = format!("  {} may count twice: grant CAP_SYS_PTRACE", snapshot.sampling.doubtful);
        line.text(46, text, theme.warning);
    }
    if let Some(short) = app.engine.history.shortfall().rows_text() {
        line.text(66, format!("  {short} without history"), theme.warning);
    }
    if let Some(remark) = app.fleet.as_ref().and_then(|status| status.remarks.first()) {
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
        let age = units::span(mark.age(snapshot));
        line.text_right(74, format!(" mark{which} {age} ago "), theme.title);
    }
    add_scope(app, snapshot, &mut line);
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
fn add_scope(app: &App, snapshot: &Snapshot, line: &mut StatusLine) {
    let theme = &app.config.theme;
    if let Some(scan) = app.data.mappings.as_ref().filter(|_| app.query.shows_mappings()) {
        let age = units::span(scan.age(snapshot));
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
