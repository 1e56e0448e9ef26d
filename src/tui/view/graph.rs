//! The machine's memory in use over time, from nothing to all there is or to what was used; beside it what leaks or grows most, since before it
//! began.
//!
//! ```text
//!  in use over 5 min: 1.4G to 1.9G of 23.5G     27213 python3 train.py over 1 hour: 67.5M to 412M
//!  23.5G ┤                                       400M ┤                            ▂▄▆█
//!        │            ▁▂▂▃▄▄▅                         │                  ▂▄▆██████████
//!      0 └5 min ago ── 4m ── 3m ──b mark ── now     0 └1 hour ago ── 45m ──▲ leak begins ── now
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::growth_line;
use crate::group::RowKey;
use crate::history::RowHistory;
use crate::history::suspects::Suspect;
use crate::model::Snapshot;
use crate::trend::Verdict;
use crate::tui::app::App;
use crate::tui::panel::chart::{self, Charted};
use crate::tui::time_axis::{self, Axis};
use crate::tui::value_axis::{self, Scale};
use crate::tui::widgets::{StatusLine, draw_bar};
use crate::units;

/// A part of the memory, as a divisor: where less of it was in use, the graph does not end at all of it.
const MOSTLY_EMPTY: u64 = 4;
/// Columns of a screen from which on both have room.
const BOTH: u16 = 100;
/// The share of the time shown that the growth takes at most: before it there is something to compare with.
const SINCE: f64 = 0.95;

/// Draws the graph.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
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
    let ago = snapshot.monotonic.saturating_sub(since);
    let figure = match history {
        history if history.shows_counted() => "RSS",
        _ if app.screen.has_swap => "footprint",
        _ => "PSS",
    };
    let name = format!("{figure} of {}", growth_line::name(app, suspect));
    let id = suspect.key.process();
    let charted = Charted {
        name: &name,
        chart: app.screen.chart.covering(ago.div_f64(SINCE)),
        history,
        eta: None,
        started_at: id.and_then(|id| app.engine.history.started_at(id)),
        // The line below says it.
        is_judged: false,
        style: Some(growth_line::style(app, history.trend().verdict)),
    };
    chart::draw(app, snapshot, &charted, right, buf);
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
    let gutter = value_axis::width(app.screen.size.0, app.screen.units);
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
    value_axis::draw(&scale, app.screen.units, theme, left, buf);
    let axis = Axis {
        end: window.end,
        span: chart.span(),
        is_cut: false,
    };
    time_axis::draw(app, snapshot, axis, &time_axis::common(app, snapshot), below, buf);
}
