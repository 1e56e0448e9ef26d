//! Draws the chart of a history, and the axis of time below it.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::alert::Transition;
use crate::columns::{Row, Value, layout};
use crate::history::RowHistory;
use crate::history::view::Band;
use crate::model::Snapshot;
use crate::trend::{Judgement, Metric, Verdict};
use crate::tui::app::App;
use crate::tui::chart::{Chart, Scale, Span, axis_width, chart_width, draw_value_axis};
use crate::tui::labels;
use crate::tui::widgets::{StatusLine, draw_text};
use crate::{order, text, units};

// The chart of a footprint, or of another figure with a history, over the chosen span, with what is judged of it.
//
//  footprint over 1 hour: 812M to 1.3G  ·  ▲ leaking 8.1M/min since 09:14 (at least 58m), at this pace full in 5.0 h, 99% sure that it grows
//  1.4G ┤                                          ▂▄▆█████
//       │               ▁▂▃▄▅▆▇████████████████████████████
//  0.8G └1 hour ago ┄┄┄┄┄┄ 45m ┄┄▲ leak begins ┄┄┄┄┄┄┄┄ now
//
// A column is as high as the last value of its time; `░` above it says how high it was in between.

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Clone, Copy, Debug)]
pub(in crate::tui) enum Past<'a> {
    /// Its own.
    Own(&'a RowHistory),
    /// The sum of those of its processes, and what is judged of it.
    Sum(&'a [&'a RowHistory], &'a Judgement),
}

impl<'a> From<&'a RowHistory> for Past<'a> {
    fn from(history: &'a RowHistory) -> Self {
        Self::Own(history)
    }
}

impl<'a> Past<'a> {
    /// Returns what is judged of it.
    pub(in crate::tui) fn trend(self) -> &'a Judgement {
        match self {
            Self::Own(history) => history.trend(),
            Self::Sum(_, trend) => trend,
        }
    }

    /// Returns the span that ends at `to` in so many columns.
    fn bands(self, to: Duration, span: Duration, width: usize) -> Vec<Option<Band>> {
        match self {
            Self::Own(history) => history.footprint().bands(to, span, width),
            Self::Sum(all, _) => Band::sums(all.iter().map(|history| history.footprint().bands(to, span, width))),
        }
    }

    fn is_without_past(self) -> bool {
        match self {
            Self::Own(history) => history.is_without_past(),
            Self::Sum(all, _) => all.iter().any(|history| history.is_without_past()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::tui) struct Charted<'a> {
    /// The name of the figure, or of the row that it is of.
    pub(in crate::tui) name: &'a str,
    /// The time that it is over.
    pub(in crate::tui) chart: Chart,
    pub(in crate::tui) history: Past<'a>,
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
    pub(in crate::tui) fn of_row(app: &App, history: Past<'a>, row: &Row<'_>) -> Self {
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
pub(in crate::tui) fn draw_chart(app: &App, snapshot: &Snapshot, charted: &Charted<'_>, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Charted {
        name, chart, history, ..
    } = *charted;
    let gutter = axis_width(area.width, app.screen.units);
    let width = chart_width(area.width, app.screen.units);
    let window = chart.window(snapshot.monotonic, width);
    let bands = history.bands(window.end, window.span, width);
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
    draw_value_axis(&scale, app.screen.units, theme, left, buf);
    let axis = Axis {
        end: window.end,
        span: chart.span(),
        is_cut: scale.base > 0,
    };
    let mut happenings = common(app);
    happenings.extend(own(app, charted));
    draw_time_axis(app, snapshot, axis, &happenings, below, buf);
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
    let ago = app.engine.history.elapsed_since(end.saturating_sub(back));
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
    let span = |since| units::span(app.engine.history.elapsed_since(since));
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

// The line below a chart: the time that it is over, and what happened in it.
//
//  └5 min ago ─── 4m ─b mark ─ 3m ────────── 2m ───── ! memory ── 1m ──────── now
//
// What happened has a sign here, its name where there is room, and a dotted line through the chart.

/// Columns from one time to the next, at least.
const COLUMNS: f64 = 14.0;
/// Round distances of times, in seconds.
const STEPS: [u64; 14] = [
    60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
];

/// The time that a chart spans.
#[derive(Clone, Copy, Debug)]
pub(in crate::tui) struct Axis {
    /// Its right edge, on the snapshots' monotonic clock.
    pub(in crate::tui) end: Duration,
    pub(in crate::tui) span: &'static Span,
    /// The chart above does not start at 0.
    pub(in crate::tui) is_cut: bool,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(in crate::tui) struct Happening {
    /// Its time, on the snapshots' monotonic clock.
    pub(in crate::tui) at: Duration,
    /// A character for it, one column wide.
    pub(in crate::tui) sign: &'static str,
    /// A word or two.
    pub(in crate::tui) name: String,
    pub(in crate::tui) style: Style,
}

/// Returns what concerns everything: the mark that the user set, alerts that fired, and suspends, which take no room.
pub(in crate::tui) fn common(app: &App) -> Vec<Happening> {
    let theme = &app.config.theme;
    let mark = app.data.marks.current();
    let marks = mark.map(|mark| Happening {
        at: mark.at(),
        sign: "b",
        name: "mark".into(),
        style: theme.title,
    });
    let fired = app.engine.alerts.events().iter();
    let alerts = fired
        .filter(|event| event.transition == Transition::Fired)
        .map(|event| Happening {
            at: event.monotonic,
            sign: "!",
            name: text::safe(event.name.as_bytes()).into_owned(),
            style: theme.alert,
        });
    let suspends = app.engine.history.suspends().all().map(|(at, length)| Happening {
        at,
        sign: "z",
        name: format!("suspended {}", units::span(length)),
        style: theme.dim,
    });
    marks.into_iter().chain(alerts).chain(suspends).collect()
}

/// Draws the line in the lowest line of an area, and what happened also in the lines above that, where nothing is.
pub(in crate::tui) fn draw_time_axis(
    app: &App,
    snapshot: &Snapshot,
    axis: Axis,
    happenings: &[Happening],
    area: Rect,
    buf: &mut Buffer,
) {
    let theme = &app.config.theme;
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    let y = area.bottom() - 1;
    let span = axis.span.time;
    let base = if axis.is_cut { "┄" } else { "─" };
    draw_text(buf, area.x, y, &base.repeat(width), width, theme.frame);
    let mut line = Line {
        free: vec![true; width],
        area,
    };
    let suspends = app.engine.history.suspends();
    let now = snapshot.monotonic;
    let ago = |at: Duration| match suspends.elapsed(at, now) {
        past if past <= snapshot.interval => "now".to_owned(),
        past => format!("{} ago", units::span(past)),
    };
    let end = ago(axis.end);
    let begin = axis.end.saturating_sub(span);
    let start = match &*end {
        "now" if suspends.elapsed(begin, now) == now.saturating_sub(begin) => format!("{} ago", axis.span.name),
        _ => ago(begin),
    };
    let cell = span.as_secs_f64() / width.max(1) as f64;
    let column = |back: Duration| {
        let column = (back.as_secs_f64() / cell) as usize;
        width - 1 - column.min(width - 1)
    };
    let mut here: Vec<_> = happenings
        .iter()
        .filter_map(|it| Some((column(axis.end.checked_sub(it.at).filter(|back| *back < span)?), it)))
        .collect();
    // Of two in one column the later one is seen.
    order::sort_by_key(&mut here, |(_, it)| it.at);
    for (at, it) in &here {
        for above in area.top()..y {
            let cell = &mut buf[(area.x + *at as u16, above)];
            if cell.symbol() == " " {
                cell.set_symbol("┊").set_style(it.style);
            }
        }
    }
    line.put(0, &format!("{start} "), theme.dim, buf);
    line.put_end(&format!(" {end}"), theme.dim, buf);
    for (at, it) in &mut here {
        // Beside a time that stands there.
        let near = (0..width).filter(|column| line.free[*column]);
        *at = near.min_by_key(|column| column.abs_diff(*at)).unwrap_or(*at);
        draw_text(buf, area.x + *at as u16, y, it.sign, 1, it.style);
        line.free[*at] = false;
    }
    for (at, it) in here.iter().rev() {
        let name = format!(" {} ", it.name);
        if !line.put(at + 1, &name, it.style, buf) {
            line.put(at.saturating_sub(text::width(&name) + 1), &name, it.style, buf);
        }
    }
    // Times between, as far from now as is round.
    let far = |step: &&u64| **step as f64 >= COLUMNS * cell;
    if let Some(step) = STEPS.iter().find(far).map(|step| Duration::from_secs(*step)) {
        let newest = suspends.elapsed(axis.end, now);
        let next = |age: Duration| Duration::from_secs((age.as_secs() / step.as_secs() + 1) * step.as_secs());
        let mut age = next(newest);
        loop {
            let awake = suspends.awake(now, age);
            let back = awake.saturating_sub(now.saturating_sub(axis.end));
            if back >= span {
                break;
            }
            // The moments of a suspend are all in one column.
            let is_after = |(end, _): &(Duration, Duration)| now.saturating_sub(*end) == awake;
            if let Some((end, length)) = suspends.all().find(is_after) {
                age = next(suspends.elapsed(end, now).saturating_add(length));
                continue;
            }
            let label = format!(" {} ", units::span_exact(age));
            line.put(
                (column(back) + 1).saturating_sub(label.len() / 2),
                &label,
                theme.dim,
                buf,
            );
            age = next(age);
        }
    }
}

/// The line, and where nothing is on it yet.
struct Line {
    free: Vec<bool>,
    area: Rect,
}

impl Line {
    /// Draws text where all of it and a column at each side of it are free; returns false where they are not.
    fn put(&mut self, at: usize, text: &str, style: Style, buf: &mut Buffer) -> bool {
        let width = text::width(text);
        let around = at..(at + width + 1).min(self.free.len());
        let is_free = at + width <= self.free.len() && self.free[around].iter().all(|free| *free);
        if is_free {
            draw_text(buf, self.area.x + at as u16, self.area.bottom() - 1, text, width, style);
            self.free[at..at + width].fill(false);
        }
        is_free
    }

    /// Draws text at the right end.
    fn put_end(&mut self, text: &str, style: Style, buf: &mut Buffer) {
        let at = self.free.len().saturating_sub(text::width(text));
        self.put(at, text, style, buf);
    }
}
