//! Draws the chart of a history, and the axis of time below it.

use std::ops::Range;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::alert::Transition;
use crate::history::RowHistory;
use crate::history::view::Band;
use crate::model::Snapshot;
use crate::trend::{Judgement, Metric, Verdict};
use crate::tui::app::App;
use crate::tui::chart::{Chart, Scale, Span, axis_width, chart_width, draw_value_axis};
use crate::tui::labels;
use crate::tui::widgets::{StatusLine, draw_text};
use crate::{order, text, units};

// The chart of a footprint, or of another figure with a history, over the chosen span, with its verdict.
//
//  footprint over 1 hour: 812M to 1.3G  ·  ▲ leaking 8.1M/min since 09:14 (at least 58m), at this pace full in 5.0 h, 99% sure that it grows
//  1.4G ┤                                          ▂▄▆█████
//       │               ▁▂▃▄▅▆▇████████████████████████████
//  0.8G └1 hour ago ┄┄┄┄┄┄ 45m ┄┄▲ leak begins ┄┄┄┄┄┄┄┄ now
//
// The height of a column is the last value of its time; `░` above it shows the maximum.

const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The history of a row, or the histories that it is the sum of; and the verdict.
pub(in crate::tui) struct Past<'a> {
    pub(in crate::tui) histories: Vec<&'a RowHistory>,
    pub(in crate::tui) trend: &'a Judgement,
}

impl<'a> From<&'a RowHistory> for Past<'a> {
    fn from(history: &'a RowHistory) -> Self {
        Self {
            histories: vec![history],
            trend: history.trend(),
        }
    }
}

pub(in crate::tui) struct Charted<'a> {
    /// The name of the figure, or of its row.
    pub(in crate::tui) name: &'a str,
    pub(in crate::tui) chart: Chart,
    pub(in crate::tui) history: Past<'a>,
    /// The seconds until it reaches a limit.
    pub(in crate::tui) eta: Option<f64>,
    /// The start of its program.
    pub(in crate::tui) started_at: Option<Duration>,
    /// The heading includes the verdict.
    pub(in crate::tui) is_judged: bool,
    /// The colour, if it differs from other charts.
    pub(in crate::tui) style: Option<Style>,
}

impl<'a> Charted<'a> {
    pub(in crate::tui) fn new(app: &App, name: &'a str, history: Past<'a>) -> Self {
        Self {
            name,
            chart: app.screen.chart,
            history,
            eta: None,
            started_at: None,
            is_judged: true,
            style: None,
        }
    }
}

/// Draws a heading and the chart below it. The value axis spans at least 4 % of the greatest value and 256 KiB, so that the noise
/// of a steady process stays small.
pub(in crate::tui) fn draw_chart(app: &App, snapshot: &Snapshot, charted: &Charted<'_>, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Charted {
        name, chart, history, ..
    } = charted;
    let gutter = axis_width(area.width, app.screen.units);
    let width = chart_width(area.width, app.screen.units);
    let window = chart.window(snapshot.monotonic, width);
    let histories = history.histories.iter();
    let bands = Band::sums(histories.map(|history| history.footprint().bands(window.end, window.span, width)));
    let known = || bands.iter().flatten();
    let mut label = StatusLine::default();
    let head = Rect { height: 1, ..area };
    let low = known().map(|band| band.min).min();
    let high = known().map(|band| band.max).max();
    let (Some(low), Some(high)) = (low, high) else {
        let text = format!(" {name}: no data for these {}", chart.name());
        label.text(1, text, theme.dim);
        return label.draw(head, buf);
    };
    let bytes = |n| units::bytes(n, app.screen.units);
    let range = format!(" {name} over {}: {} to {}", chart.name(), bytes(low), bytes(high));
    label.text(85, range, theme.dim);
    match window.cursor {
        Some(at) => {
            // The end of the column.
            let back = window.span.mul_f64(1.0 - (at + 1) as f64 / width.max(1) as f64);
            let ago = app.engine.history.elapsed_since(window.end.saturating_sub(back));
            let has_seconds = window.span.as_secs() <= 86_400;
            let when = labels::clock(app, snapshot, ago, has_seconds).unwrap_or_default();
            let ago = units::span(ago);
            label.text(90, format!("  ·  {when}"), theme.title);
            label.text(80, format!(", {ago} ago"), theme.dim);
            let text = match bands.get(at).copied().flatten() {
                None => ": not known".into(),
                Some(band) => match (bytes(band.min), bytes(band.last), bytes(band.max)) {
                    (min, last, max) if min == max => format!(": {last}"),
                    (min, last, max) => format!(": {last}, between {min} and {max}"),
                },
            };
            label.text(95, text, theme.title);
        }
        None if history.histories.iter().any(|history| history.is_without_past()) => {
            let text = "  ·  no history: history.max_memory is too small";
            label.text(70, text, theme.warning);
        }
        None => verdict(app, snapshot, charted, &mut label),
    }
    label.draw(head, buf);

    // The axis needs a line if two are left for the columns.
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
                (0, true) => ("░", theme.zero),
                (0, false) if !marked => continue,
                _ => (BARS[usize::from(part)], charted.style.unwrap_or(theme.chart)),
            };
            let style = if marked { style.patch(theme.selected) } else { style };
            draw_text(buf, at, inside.y + row, text, 1, style);
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
    let mut events = common(app);
    events.extend(own(app, charted));
    draw_time_axis(app, snapshot, axis, &events, below, buf);
}

/// Returns the events of the row itself: the start of its program, and of its growth.
fn own(app: &App, charted: &Charted<'_>) -> impl Iterator<Item = ChartEvent> {
    let theme = &app.config.theme;
    let started = charted.started_at;
    let trend = charted.history.trend;
    // It cannot have begun before the program, only within the same bucket.
    let since = trend
        .seen_since()
        .map(|at| started.map_or(at, |started| at.max(started)));
    let grows = since.map(|at| match trend.verdict {
        Verdict::Leaking => ChartEvent::new(at, "▲", "leak begins", theme.leak),
        _ => ChartEvent::new(at, "△", "grows", theme.up),
    });
    let starts = started.map(|at| ChartEvent::new(at, "*", "program starts", theme.title));
    starts.into_iter().chain(grows)
}

/// Adds the verdict: ` ·  ▲ leaking 8.1M/min since 09:14 (at least 58m), at this pace full in 5.0 h, 99% sure that it grows`.
fn verdict(app: &App, snapshot: &Snapshot, charted: &Charted<'_>, label: &mut StatusLine) {
    let theme = &app.config.theme;
    let judged = charted.history.trend;
    let (sign, style): (&str, Style) = match judged.verdict {
        _ if !charted.is_judged => return,
        Verdict::Unknown => return label.text(50, "  ·  needs more history", theme.dim),
        Verdict::Steady => return label.text(50, "  ·  steady", theme.dim),
        Verdict::Shrinking => ("▽ ", theme.down),
        Verdict::Warming => ("~ ", theme.text),
        Verdict::Hoarding => ("◇ ", theme.up),
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
        Metric::File => label.text(50, " of file pages, which the kernel can reclaim", theme.text),
        Metric::Lazy => label.text(50, " of lazily freed memory, which the kernel can reclaim", theme.text),
        Metric::Heap => label.text(50, " of its heap, which a collection may free", theme.text),
        Metric::Rss => label.text(50, " of anonymous RSS and swap", theme.text),
        Metric::Free => label.text(50, " of memory that malloc keeps free", theme.text),
        Metric::LiveSet
        | Metric::InUse
        | Metric::Held
        | Metric::Footprint
        | Metric::Descriptors
        | Metric::Processes => {}
    }
    if judged.flat_since.is_none() {
        label.text(65, labels::since(app, snapshot, judged), theme.text);
    }
    if let Some(eta) = charted.eta.filter(|eta| *eta < 3.15e7) {
        let eta = Duration::try_from_secs_f64(eta).unwrap_or_default();
        let style = if eta < labels::SOON { theme.warning } else { theme.text };
        label.text(75, format!(", at this rate full in {}", units::about(eta)), style);
    }
    if judged.verdict == Verdict::Leaking {
        label.text(55, format!(", {}", labels::surety(judged)), theme.dim);
    }
}

// The line below a chart: times, and events.
//
//  └5 min ago ─── 4m ─b mark ─ 3m ──✖ importer killed ─ 2m ─── ! memory ── 1m ──────── now
//
// An event has a sign here, its name if there is room, and a dotted line through the chart.

/// Minimum columns between two times.
const COLUMNS: f64 = 14.0;
/// Round distances between times, in seconds.
const STEPS: [u64; 14] = [
    60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
];

/// The axis of time.
#[derive(Clone, Copy, Debug)]
pub(in crate::tui) struct Axis {
    /// The right edge, on the snapshots' monotonic clock.
    pub(in crate::tui) end: Duration,
    pub(in crate::tui) span: &'static Span,
    /// The chart above does not start at 0.
    pub(in crate::tui) is_cut: bool,
}

/// An event on the axis of time.
pub(in crate::tui) struct ChartEvent {
    /// Its time on the snapshots' monotonic clock.
    at: Duration,
    /// A character, one column wide.
    sign: &'static str,
    /// A word or two.
    name: String,
    style: Style,
}

impl ChartEvent {
    fn new(at: Duration, sign: &'static str, name: impl Into<String>, style: Style) -> Self {
        let name = name.into();
        Self { at, sign, name, style }
    }
}

/// Returns the events on all charts: the user's mark, OOM kills, stalls, alerts that fired, and suspends, which take no room.
pub(in crate::tui) fn common(app: &App) -> Vec<ChartEvent> {
    let theme = &app.config.theme;
    let mark = app.data.marks.current();
    let mark = mark.map(|mark| ChartEvent::new(mark.at(), "b", "mark", theme.title));
    let fired = app.engine.alerts.events().iter();
    let fired = fired.filter(|event| event.transition == Transition::Fired);
    let alerts = fired.map(|event| {
        let name = text::safe(event.name.as_bytes());
        ChartEvent::new(event.monotonic, "!", name, theme.alert)
    });
    let suspends = app.engine.history.suspends().all().map(|(at, length)| {
        let name = format!("suspended {}", units::span(length));
        ChartEvent::new(at, "z", name, theme.dim)
    });
    let mut kills: Vec<_> = app.engine.history.kills().collect();
    // Simultaneous kills, as of a whole group, share one sign.
    kills.dedup_by_key(|kill| kill.at.as_secs());
    let kills = kills.into_iter().map(|kill| {
        let name = match &kill.event.victim {
            Ok(victim) => format!("{} killed", labels::cut(&victim.comm, 15)),
            Err(_) => "killed".into(),
        };
        ChartEvent::new(kill.at, "✖", name, theme.killed)
    });
    let stalls = app.engine.history.stalls_begun();
    let stalls = stalls.map(|at| ChartEvent::new(at, "▲", "stalled", theme.danger));
    // Of two in one column the last is visible.
    let events = mark.into_iter().chain(alerts).chain(suspends);
    events.chain(stalls).chain(kills).collect()
}

/// Draws the axis in the lowest line of an area, and lines for the events in free cells above it.
pub(in crate::tui) fn draw_time_axis(
    app: &App,
    snapshot: &Snapshot,
    axis: Axis,
    events: &[ChartEvent],
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
    // A look at the past of the live screen does not end now.
    let visit = app.replay.as_ref().filter(|replay| replay.is_visit);
    let clock = visit.and_then(|_| labels::clock(app, snapshot, Duration::ZERO, true));
    let ago = if clock.is_some() { "before" } else { "ago" };
    let begin = axis.end.saturating_sub(span);
    let [since_begin, since_end] = [begin, axis.end].map(|at| suspends.elapsed(at, now));
    let ends_now = since_end <= snapshot.interval;
    let end = match clock {
        clock if ends_now => clock.unwrap_or_else(|| "now".into()),
        _ => format!("{} {ago}", units::span(since_end)),
    };
    let start = if ends_now && since_begin == now.saturating_sub(begin) {
        format!("{} {ago}", axis.span.name)
    } else {
        format!("{} {ago}", units::span(since_begin))
    };
    let cell = span.as_secs_f64() / width.max(1) as f64;
    let column = |back: Duration| {
        let column = (back.as_secs_f64() / cell) as usize;
        width - 1 - column.min(width - 1)
    };
    let mut here: Vec<_> = events
        .iter()
        .filter_map(|it| Some((column(axis.end.checked_sub(it.at).filter(|back| *back < span)?), it)))
        .collect();
    // Of two in one column the later one is visible.
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
    let end = format!(" {end}");
    line.put(width.saturating_sub(text::width(&end)), &end, theme.dim, buf);
    // Beside a time, if there is one.
    let mut places: Vec<_> = here.iter().map(|(at, _)| *at).collect();
    spread(&line.free, &mut places);
    for ((at, it), place) in here.iter_mut().zip(places) {
        *at = place;
        draw_text(buf, area.x + *at as u16, y, it.sign, 1, it.style);
        line.free[*at] = false;
    }
    for (at, it) in here.iter().rev() {
        let name = format!(" {} ", it.name);
        if !line.put(at + 1, &name, it.style, buf) {
            line.put(at.saturating_sub(text::width(&name) + 1), &name, it.style, buf);
        }
    }
    // The times between are at round distances from now.
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
            let from = (column(back) + 1).saturating_sub(label.len() / 2);
            line.put(from, &label, theme.dim, buf);
            age = next(age);
        }
    }
}

/// Moves each column to a free one nearby. They stay in order, which is the order of time.
fn spread(free: &[bool], columns: &mut [usize]) {
    let near = |range: Range<usize>, at| {
        range
            .filter(|column| free[*column])
            .min_by_key(|column| column.abs_diff(at))
    };
    let wanted = columns.to_vec();
    let mut after = 0;
    for last in 0..columns.len() {
        if let Some(found) = near(after..free.len(), wanted[last]) {
            columns[last] = found;
        } else {
            // No room is left at the end, so move those before it.
            let mut before = free.len();
            for at in (0..=last).rev() {
                if at < last && columns[at] < before {
                    break;
                }
                columns[at] = near(0..before, wanted[at]).unwrap_or(wanted[at]);
                before = columns[at];
            }
        }
        after = columns[last] + 1;
    }
}

/// The line, and its free columns.
struct Line {
    free: Vec<bool>,
    area: Rect,
}

impl Line {
    /// Draws text if its columns and one after them are free; returns false if they are not.
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
}
