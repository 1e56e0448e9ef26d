//! The chart of a footprint, or of another figure with a history, over the chosen span, with what is judged of it.
//!
//! ```text
//!  footprint over 1 hour: 812M to 1.3G  ·  ▲ leaking 8.1M/min since 09:14 (at least 58m), at this pace full in 5.0 h, 99% sure that it grows
//!  1.4G ┤                                          ▂▄▆█████
//!       │               ▁▂▃▄▅▆▇████████████████████████████
//!  0.8G └1 hour ago ┄┄┄┄┄┄ 45m ┄┄▲ leak begins ┄┄┄┄┄┄┄┄ now
//! ```
//!
//! A column is as high as the last value of its time; `░` above it says how high it was in between.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::columns::{Row, Value, layout};
use crate::history::RowHistory;
use crate::history::view::Band;
use crate::model::Snapshot;
use crate::trend::{Metric, Verdict};
use crate::tui::app::App;
use crate::tui::chart::Chart;
use crate::tui::labels;
use crate::tui::panel::chart_width;
use crate::tui::time_axis::{self, Axis, Happening};
use crate::tui::value_axis::{self, Scale};
use crate::tui::widgets::{StatusLine, draw_text};
use crate::units;

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A history to draw.
#[derive(Clone, Copy, Debug)]
pub(in crate::tui) struct Charted<'a> {
    /// The name of the figure, or of the row that it is of.
    pub(in crate::tui) name: &'a str,
    /// The time that it is over.
    pub(in crate::tui) chart: Chart,
    /// Its history.
    pub(in crate::tui) history: &'a RowHistory,
    /// The seconds until it reaches a limit.
    pub(in crate::tui) eta: Option<f64>,
    /// When the program that it is of started.
    pub(in crate::tui) started_at: Option<Duration>,
    /// Its verdict is told in a word.
    pub(in crate::tui) is_judged: bool,
    /// The colour of the chart, where it is not that of all charts.
    pub(in crate::tui) style: Option<Style>,
}

impl<'a> Charted<'a> {
    /// Returns the footprint of a process or group.
    pub(super) fn of_row(app: &App, history: &'a RowHistory, row: &Row<'_>) -> Self {
        let eta = match (layout::ETA.get().value)(row) {
            Value::Forecast(eta) => Some(eta),
            _ => None,
        };
        Self {
            name: "footprint",
            chart: app.screen.chart,
            history,
            eta,
            started_at: row.sample.and_then(|sample| app.engine.history.started_at(sample.id)),
            is_judged: true,
            style: None,
        }
    }
}

/// Draws a line that says what is drawn, and the chart below it. It spans at least 4 % of the greatest value
/// and 256 KiB, so that the noise of a steady process is no mountain.
pub(in crate::tui) fn draw(app: &App, snapshot: &Snapshot, charted: &Charted<'_>, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Charted {
        name, chart, history, ..
    } = *charted;
    let footprint = history.footprint();
    let gutter = value_axis::width(area.width, app.screen.units);
    let width = chart_width(area.width, app.screen.units);
    let window = chart.window(snapshot.monotonic, width);
    let bands = footprint.bands(window.end, window.span, width);
    let known = || bands.iter().flatten();
    let mut label = StatusLine::default();
    let head = Rect { height: 1, ..area };
    let low = known().map(|band| band.min).min();
    let high = known().map(|band| band.max).max();
    let (Some(low), Some(high)) = (low, high) else {
        let text = format!(" {name}: nothing known of these {}", chart.span().name);
        label.text(1, text, theme.dim);
        return label.draw(head, buf);
    };
    let bytes = |n| units::bytes(n, app.screen.units);
    let range = format!(" {name} over {}: {} to {}", chart.span().name, bytes(low), bytes(high));
    label.text(85, range, theme.dim);
    match window.cursor {
        Some(at) => {
            let (when, ago) = moment(app, snapshot, window.end, window.span, width, at);
            label.text(90, format!("  ·  {when}"), theme.title);
            label.text(80, format!(", {ago} ago"), theme.dim);
            let text = bands.get(at).copied().flatten().map_or_else(
                || ": not known".into(),
                |band: Band| match (bytes(band.min), bytes(band.last), bytes(band.max)) {
                    (min, last, max) if min == max => format!(": {last}"),
                    (min, last, max) => format!(": {last}, between {min} and {max}"),
                },
            );
            label.text(95, text, theme.title);
        }
        None if history.is_without_past() => {
            label.text(
                70,
                "  ·  its past is not kept: history.max_memory is too small",
                theme.warning,
            );
        }
        None => verdict(app, snapshot, charted, &mut label),
    }
    label.draw(head, buf);

    // A line for the axis, where the columns keep two.
    let axis_height = u16::from(area.height >= 4);
    let rows = area.height.saturating_sub(1 + axis_height);
    let scale = Scale::over(low, high, (high / 25).max(256 << 10), rows);
    let inside = Rect {
        x: area.x + gutter,
        y: area.y + 1,
        width: width as u16,
        height: rows,
    };
    for (x, band) in bands.iter().enumerate() {
        let at = inside.x + x as u16;
        let marked = window.cursor == Some(x);
        let filled = |value| scale.eighths(value, rows);
        let (last, max) = band.map_or((0, 0), |band| (filled(band.last), filled(band.max)));
        for row in 0..rows {
            let below = (rows - 1 - row) * 8;
            let part = last.saturating_sub(below).min(8);
            let peak = part == 0 && max.saturating_sub(below) >= 5;
            let (text, style) = match (part, peak) {
                (0, true) => ("░".to_owned(), theme.zero),
                (0, false) if !marked => continue,
                _ => (
                    BARS[usize::from(part)].to_string(),
                    charted.style.unwrap_or(theme.chart),
                ),
            };
            let style = if marked { style.patch(theme.selected) } else { style };
            draw_text(buf, at, inside.y + row, &text, 1, style);
        }
    }
    if axis_height == 0 {
        return;
    }
    let below = Rect {
        height: rows + 1,
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
        is_cut: scale.base > 0,
    };
    let mut happenings = time_axis::common(app, snapshot);
    happenings.extend(own(app, charted));
    time_axis::draw(app, snapshot, axis, &happenings, below, buf);
}

/// Returns what happened to the row itself: its program began, and it began to grow.
fn own(app: &App, charted: &Charted<'_>) -> impl Iterator<Item = Happening> {
    let theme = &app.config.theme;
    let started = charted.started_at.map(|at| Happening {
        at,
        sign: "*",
        name: "program starts".into(),
        style: theme.title,
    });
    let trend = charted.history.trend();
    let grows = trend.since.map(|at| match trend.verdict {
        Verdict::Leaking => Happening {
            at,
            sign: "▲",
            name: "leak begins".into(),
            style: theme.leak,
        },
        _ => Happening {
            at,
            sign: "△",
            name: "grows".into(),
            style: theme.up,
        },
    });
    started.into_iter().chain(grows)
}

/// Returns the wall-clock time of a column's end, and how long ago that was.
fn moment(
    app: &App,
    snapshot: &Snapshot,
    end: Duration,
    span: Duration,
    width: usize,
    column: usize,
) -> (String, String) {
    let back = span.mul_f64(1.0 - (column + 1) as f64 / width.max(1) as f64);
    let ago = snapshot.monotonic.saturating_sub(end.saturating_sub(back));
    let when = labels::clock(app, snapshot, ago, span.as_secs() <= 86_400).unwrap_or_default();
    (when, units::span(ago))
}

/// Adds what is judged of it: ` ·  ▲ leaking 8.1M/min since 09:14 (at least 58m), at this pace full in 5.0 h, 99% sure that it grows`.
fn verdict(app: &App, snapshot: &Snapshot, charted: &Charted<'_>, label: &mut StatusLine) {
    let theme = &app.config.theme;
    let judged = charted.history.trend();
    let (sign, style): (&str, Style) = match judged.verdict {
        _ if !charted.is_judged => return,
        Verdict::Unknown => return label.text(50, "  ·  needs more history", theme.dim),
        Verdict::Steady => return label.text(50, "  ·  steady", theme.dim),
        Verdict::Shrinking => ("▽ ", theme.down),
        Verdict::Warming => ("~ ", theme.text),
        Verdict::Growing => ("△ ", theme.up),
        Verdict::Leaking => ("▲ ", theme.leak),
    };
    let span = |since| units::span(snapshot.monotonic.saturating_sub(since));
    let pace = match judged.flat_since {
        Some(since) => format!(", paused for {}", span(since)),
        None => format!(" {}", units::pace(judged.slope)),
    };
    let verdict = (format!("{sign}{}{pace}", judged.verdict.id()), style);
    label.spans(90, vec![("  ·  ".into(), theme.dim), verdict]);
    match judged.metric {
        Metric::File => label.text(50, " of file pages, which the kernel takes back", theme.text),
        Metric::Heap => label.text(50, " of its heap, by what a collection may free", theme.text),
        Metric::Rss => label.text(50, " of anonymous RSS and swap", theme.text),
        Metric::LiveSet | Metric::Held | Metric::Footprint | Metric::Descriptors => {}
    }
    if let (None, Some(since)) = (judged.flat_since, judged.since) {
        label.text(65, labels::since(app, snapshot, since), theme.text);
    }
    if let Some(eta) = charted.eta.filter(|eta| *eta < 3.15e7) {
        let eta = Duration::try_from_secs_f64(eta).unwrap_or_default();
        let style = if eta < labels::SOON { theme.warning } else { theme.text };
        label.text(75, format!(", at this pace full in {}", units::about(eta)), style);
    }
    if judged.verdict == Verdict::Leaking {
        label.text(55, format!(", {}", labels::surety(judged)), theme.dim);
    }
}
