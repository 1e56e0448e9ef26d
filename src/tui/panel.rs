//! The panel of the selected row: a process in full, and which of its mappings grew; or a group.
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
//!  what grew in 2m  ·  +120M in all  ·  read 3s ago
//!  GROWTH    NOW AREAS KIND
//!   +118M   1.1G    41 anon    [anon]
//! ```
//!
//! A panel of another kind of row is a file here with a `draw`, and an arm in [`draw`].

pub(super) mod chart;
mod group;
mod growth;
mod held;
mod process;

use chart::Charted;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::event::{Effect, Inspect};
use super::value_axis;
use super::widgets::{StatusLine, draw_line, line};
use crate::columns::Row;
use crate::config::Action;
use crate::group::RowKey;
use crate::history::RowHistory;
use crate::model::{Identity, Snapshot};
use crate::trend::{Judgement, Verdict};
use crate::units::Units;

/// Maximum number of growing processes whose mappings are tracked: each costs a read of `smaps` now and then.
const MAX_TRACKED: usize = 8;

/// Opens the panel, or closes it.
pub(super) fn toggle(app: &mut App) {
    if !app.query.shows_mappings() {
        app.screen.panel_open = !app.shows_panel();
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

/// Asks for the mappings of the process that is shown, or now and then for those of a growing one; while sampling is
/// stopped, for none. Returns an effect only when that changes.
pub(super) fn request(app: &mut App) -> Option<Effect> {
    let shown = app.panel_process().map(|id| Inspect { id, closely: true });
    let tracked = || tracked_grower(app).map(|id| Inspect { id, closely: false });
    let wanted = shown
        .or_else(tracked)
        .filter(|_| !app.requests.paused && app.fleet.is_none());
    (wanted != app.requests.inspected).then(|| {
        app.requests.inspected = wanted;
        Effect::Inspect(wanted)
    })
}

/// Returns the process that takes the last memory, leaks or grows whose mappings were not read for the longest time,
/// among the worst: so it is known what grew before anybody asks.
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

/// Changes what the charts span, or moves the cursor of the panel's chart.
pub(super) fn on_action(app: &mut App, action: Action) {
    match action {
        Action::SpanLonger => app.screen.chart.zoom(true),
        Action::SpanShorter => app.screen.chart.zoom(false),
        _ if app.shows_panel() => step_cursor(app, action),
        _ => {}
    }
}

/// Moves the cursor of a chart as wide as the screen, as an action asks.
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

/// Draws the panel.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = &app.config.theme;
    buf.set_style(line(area, 0), theme.heading);
    let Some(snapshot) = &app.engine.snapshot else { return };
    if let Some(group) = app.selected_group() {
        group::draw(app, snapshot, group, area, buf);
    } else if let Some(sample) = app.selected_sample(snapshot) {
        process::draw(app, snapshot, sample, area, buf);
    } else {
        draw_line(buf, area, " nothing selected", theme.heading);
    }
}

/// Returns how many columns a chart has on a screen of that width: beside the axis, a space is left at the right edge.
pub(super) fn chart_width(width: u16, units: Units) -> usize {
    usize::from(width.saturating_sub(1 + value_axis::width(width, units)))
}

/// Draws lines below the heading and a chart below them; returns what is left of the area for the rest, or nothing
/// where there is no room.
fn draw_facts(
    app: &App,
    snapshot: &Snapshot,
    mut facts: Vec<StatusLine>,
    chart: Option<(&RowHistory, Row<'_>)>,
    area: Rect,
    buf: &mut Buffer,
) -> Option<Rect> {
    let trend = chart.as_ref().map(|(history, _)| history.trend());
    let reasons = trend.map_or_else(Vec::new, Judgement::texts);
    let is_leak = trend.is_some_and(|trend| trend.verdict == Verdict::Leaking);
    // A lower panel needs the line for its chart.
    if !reasons.is_empty() && usize::from(area.height) > facts.len() + 8 {
        let text = format!(
            " {}{}",
            if is_leak { "called a leak: " } else { "" },
            reasons.join(", ")
        );
        facts.push(StatusLine::of(text, app.config.theme.dim));
    }
    let below = |y: u16| Rect {
        y: area.y + y,
        height: area.height - y,
        ..area
    };
    let mut y = 1;
    let left = (area.height - 1).saturating_sub(facts.len() as u16);
    for fact in facts {
        if y == area.height {
            return None;
        }
        fact.draw(line(area, y), buf);
        y += 1;
    }
    let height = chart_height(left);
    if let Some((history, row)) = chart.filter(|_| height > 0) {
        let place = Rect { height, ..below(y) };
        chart::draw(app, snapshot, &Charted::of_row(app, history, &row), place, buf);
        y += height;
    }
    Some(below(y)).filter(|rest| rest.height > 0)
}

/// Returns how many of the lines that are left go to the chart: two of five, so that what grew has the rest, and none
/// where both would be too low to read.
fn chart_height(left: u16) -> u16 {
    match left {
        0..=6 => 0,
        7 => 3,
        // Four are the least that has room for the axis.
        _ => (left * 2 / 5).clamp(4, 12),
    }
}
