//! The line below a chart: the time that it is over, and what happened in it.
//!
//! ```text
//!  └5 min ago ─── 4m ─b mark ─ 3m ────────── 2m ───── ! memory ── 1m ──────── now
//! ```
//!
//! What happened has a sign here, its name where there is room, and a dotted line through the chart.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::app::App;
use super::chart::Span;
use super::widgets::draw_text;
use crate::alert::Transition;
use crate::model::Snapshot;
use crate::order;
use crate::text;
use crate::units;

/// Columns from one time to the next, at least.
const COLUMNS: f64 = 14.0;
/// Round distances of times, in seconds.
const STEPS: [u64; 14] = [
    60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
];

/// The time that a chart spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Its right edge, on the snapshots' monotonic clock.
    pub(super) end: Duration,
    /// Its length.
    pub(super) span: &'static Span,
    /// The chart above does not start at 0.
    pub(super) is_cut: bool,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) struct Happening {
    /// Its time, on the snapshots' monotonic clock.
    pub(super) at: Duration,
    /// A character for it, one column wide.
    pub(super) sign: &'static str,
    /// A word or two.
    pub(super) name: String,
    pub(super) style: Style,
}

/// Returns what concerns everything: the mark that the user set, and alerts that fired.
pub(super) fn common(app: &App, snapshot: &Snapshot) -> Vec<Happening> {
    let theme = &app.config.theme;
    let mark = app.data.marks.current();
    let marks = mark.map(|mark| Happening {
        at: snapshot.monotonic.saturating_sub(mark.age(snapshot)),
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
    marks.into_iter().chain(alerts).collect()
}

/// Draws the line in the lowest line of an area, and what happened also in the lines above that, where nothing is.
pub(super) fn draw(app: &App, snapshot: &Snapshot, axis: Axis, happenings: &[Happening], area: Rect, buf: &mut Buffer) {
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
    let ago = |at: Duration| match snapshot.monotonic.saturating_sub(at) {
        past if past <= snapshot.interval => "now".to_owned(),
        past => format!("{} ago", units::span(past)),
    };
    let end = ago(axis.end);
    let start = match &*end {
        "now" => format!("{} ago", axis.span.name),
        _ => ago(axis.end.saturating_sub(span)),
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
        let newest = snapshot.monotonic.saturating_sub(axis.end);
        let first = newest.as_secs() / step.as_secs() + 1;
        for age in (first..)
            .map(|n| step * n as u32)
            .take_while(|age| *age < newest + span)
        {
            let label = format!(" {} ", units::span_exact(age));
            line.put(
                (column(age.saturating_sub(newest)) + 1).saturating_sub(label.len() / 2),
                &label,
                theme.dim,
                buf,
            );
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
