//! The selected row in full, on one line.
//!
//! ```text
//!  27213 alice  python3 train.py --epochs 40  ·  train.service  ·  memory: permission denied
//!  nginx  ·  5 processes, 2 updated  ·  PSS 85M  USS 61M  shared 24M  swap 4M  ·  cgroup 120M of 512M  ·  oldest 4s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::group::{Group, GroupBy};
use crate::model::{Missing, ProcessSample, Snapshot};
use crate::tui::app::App;
use crate::tui::labels;
use crate::tui::widgets::StatusLine;
use crate::{text, units};

/// A command is never cut to less: the rest of the line goes first.
const MIN_COMMAND_WIDTH: usize = 20;

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
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
    // That it is not the user's to read is said once, above.
    let is_said = sample.walk == Err(Missing::Denied) && app.hides_memory();
    let reasons = if is_said {
        String::new()
    } else {
        labels::missing_reasons(sample)
    };
    let container = facts.container.as_deref();
    let place = container
        .map(|c| format!("container {}", text::safe_prefix(c, 16)))
        .or_else(|| facts.unit.as_deref().map(|u| text::safe_prefix(u, 32).into_owned()));
    // The pid, and a separator before each of the others.
    let rest = text::width(&reasons) + place.as_deref().map_or(0, text::width) + 12;
    let command_width = width.saturating_sub(rest).max(MIN_COMMAND_WIDTH);
    let command = text::truncate(&text::safe_prefix(&facts.command(), command_width), command_width);
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
        let style = if sample.walk == Err(Missing::Denied) {
            theme.dim
        } else {
            theme.warning
        };
        line.text(80, format!("  ·  {reasons}"), style);
    }
    line
}

fn group_line(app: &App, snapshot: &Snapshot, group: &Group, width: usize) -> StatusLine {
    let theme = &app.config.theme;
    let count = labels::process_count(app, group);
    let count = match group.key.by {
        GroupBy::Mapping => format!("mapped by {count}"),
        _ if group.totals.partial => format!("{count}, {} readable", group.readable),
        _ => count,
    };
    let mut parts = vec![(80, format!("  ·  {count}"), theme.dim)];
    if let Some((what, count)) = group.replaced {
        let what = labels::replaced(what);
        parts.push((85, format!(", {count} to start anew ({what})"), theme.warning));
    }
    let memory = memory_parts(app, group).into_iter();
    parts.extend(memory.map(|(priority, text)| (priority, text, theme.dim)));
    if let Some(cgroup) = &group.cgroup {
        let figures = labels::cgroup_figures(cgroup, app.screen.units);
        parts.push((75, format!("  ·  {figures}"), theme.dim));
    }
    if let Some(at) = group.walked {
        let age = units::span(snapshot.monotonic.saturating_sub(at));
        parts.push((50, format!("  ·  oldest {age}"), theme.dim));
    }
    // The name has what the others leave; before it is cut to less than a third, some of them go.
    let rest: usize = parts.iter().map(|(_, text, _)| text::width(text)).sum();
    let name_width = width.saturating_sub(rest + 1).max(width / 3);
    let mut line = StatusLine::default();
    let name = labels::group_name(&group.key, name_width);
    line.text(90, format!(" {name}"), theme.text);
    for (priority, text, style) in parts {
        line.text(priority, text, style);
    }
    line
}

/// Returns the figures of a group's memory, each with its priority.
fn memory_parts(app: &App, group: &Group) -> Vec<(u8, String)> {
    let memory = match &group.totals.memory {
        Ok(memory) => memory,
        Err(Missing::Pending) => return vec![(70, "  ·  memory not read yet".into())],
        Err(why) => return vec![(70, format!("  ·  memory: {why}"))],
    };
    let bytes = |n| units::bytes(n, app.screen.units);
    let pss = (70, format!("  ·  PSS {}", bytes(memory.pss)));
    if app.engine.is_partial() {
        return vec![pss];
    }
    let shared = memory.pss.saturating_sub(memory.uss());
    vec![
        pss,
        (62, format!("  USS {}", bytes(memory.uss()))),
        (60, format!("  shared {}", bytes(shared))),
        (65, format!("  swap {}", bytes(memory.swap))),
    ]
}
