//! The objects that a process holds through its descriptors, that with the largest part first.
//!
//! ```text
//!  holds 13.1M beside its PSS  ·  ▲ leak 1.2M/min  ·  memfd 13.0M  bpf 128K
//!   SHARE WHOLE  BY FDS KIND   NAME
//!   12.0M 12.0M   1   1 memfd  /memfd:cache
//!    1.0M  2.0M   2   1 memfd  /dev/shm/ring
//!  held over 5 minutes: 8.1M to 13.1M  ·  ▲ leaking 1.2M/min for at least 18m
//!  …
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::chart::{self, Charted};
use crate::account::headroom::headroom;
use crate::columns::held::{COLUMNS, HeldRow};
use crate::columns::{Column, Value, cell, layout};
use crate::history::RowHistory;
use crate::history::held::HeldHistory;
use crate::model::{Held, HeldFigures, HeldKind, ProcessSample, Snapshot};
use crate::text;
use crate::trend::Verdict;
use crate::tui::app::App;
use crate::tui::widgets::{ColumnLayout, StatusLine, TableGrid, draw_text, line};
use crate::units;

/// Lines of a list without which it is not begun: its heading, the titles, and an object.
const LEAST: u16 = 3;
/// Lines of the chart, with its axis; and of what grew in its mappings, which has them first while nothing held grows.
const CHART: u16 = 5;
const MAPPINGS: u16 = 6;

/// Draws what the process holds in up to half of the area, and its past below that where there is room; returns the rest, all
/// of it where it holds nothing.
pub(super) fn draw(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) -> Rect {
    let theme = &app.config.theme;
    let held = match sample.held() {
        Ok(held) => held,
        // That its memory cannot be read is said above, and that it has none.
        Err(_) if sample.held.is_none() || sample.walk.is_err() => return area,
        Err(why) => {
            StatusLine::of(format!(" held through descriptors: {why}"), theme.dim).draw(area, buf);
            return below(area, 1);
        }
    };
    if held.objects.is_empty() {
        return area;
    }
    let history = app.engine.history.held().get(sample.id).map(HeldHistory::row);
    summary(app, held, history).draw(area, buf);
    let room = area.height.div_ceil(2);
    if room < LEAST {
        return below(area, 1);
    }
    let columns: Vec<&Column<_>> = COLUMNS
        .iter()
        .filter(|c| c.id != "vram" || held.figures.vram > 0)
        .collect();
    let last = columns.len() - 1;
    let layout = columns.iter().enumerate().map(|(at, column)| {
        if at == last {
            ColumnLayout::rest()
        } else {
            ColumnLayout::fixed(column.width_in(app.screen.units), column.align())
        }
    });
    let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 1);
    buf.set_style(line(area, 1), theme.dim);
    grid.draw_row(buf, 1, |at| (columns[at].title.to_owned(), theme.dim));
    let mut y = 2;
    for object in held.objects.iter().take(usize::from(room - 2)) {
        let row = HeldRow::Object(object);
        grid.draw_row(buf, y, |at| {
            if at == last {
                return (String::new(), Style::default());
            }
            let value = (columns[at].value)(&row);
            (cell(&value, app.screen.units, usize::from(area.width)).text, theme.text)
        });
        // The end of a path tells more than its beginning.
        let place = grid.cell(y, last);
        let width = usize::from(place.width);
        let name = text::truncate_start(&text::safe(&object.name), width);
        draw_text(buf, place.x, place.y, &name, width, theme.text);
        y += 1;
    }
    let rest = below(area, y);
    match history {
        Some(history) => draw_chart(app, snapshot, sample, history, rest, buf),
        None => rest,
    }
}

/// Draws how much it held over time, unless what grew in its mappings needs the room; returns the rest.
fn draw_chart(
    app: &App,
    snapshot: &Snapshot,
    sample: &ProcessSample,
    history: &RowHistory,
    area: Rect,
    buf: &mut Buffer,
) -> Rect {
    let needed = if history.trend().verdict.is_growth() {
        0
    } else {
        MAPPINGS
    };
    if area.height < CHART + needed {
        return area;
    }
    let cgroup = sample.facts.cgroup.as_deref().ok();
    let charted = Charted {
        name: "held",
        chart: app.screen.chart,
        history,
        eta: history.trend().eta(headroom(snapshot, cgroup)),
        started_at: app.engine.history.started_at(sample.id),
        is_judged: true,
        style: None,
    };
    let place = Rect { height: CHART, ..area };
    chart::draw(app, snapshot, &charted, place, buf);
    below(area, CHART)
}

fn below(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y + lines,
        height: area.height - lines,
        ..area
    }
}

/// Returns the line that sums it up.
fn summary(app: &App, held: &Held, history: Option<&RowHistory>) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let bytes = |n| units::bytes(n, app.screen.units);
    line.text(
        90,
        format!(
            " holds {}{} beside its PSS",
            at_least(&held.figures),
            bytes(held.figures.total())
        ),
        theme.text,
    );
    if let Some(judged) = history
        .map(RowHistory::trend)
        .filter(|judged| judged.verdict.is_growth())
    {
        let told = cell(
            &Value::Trend(*judged, None),
            app.screen.units,
            usize::from(layout::TREND.get().width),
        );
        let style = if judged.verdict == Verdict::Leaking {
            theme.leak
        } else {
            theme.up
        };
        line.spans(85, vec![("  ·  ".into(), theme.dim), (told.text, style)]);
    }
    for (at, part) in parts(&held.figures, bytes).into_iter().enumerate() {
        let between = if at == 0 { "  ·  " } else { "  " };
        line.text(80 - at as u8, format!("{between}{part}"), theme.text);
    }
    if held.figures.vram > 0 {
        line.text(60, format!("  ·  and {} of VRAM", bytes(held.figures.vram)), theme.text);
    }
    let all = held.objects.len() as u64 + held.unlisted;
    let plural = if all == 1 { "" } else { "s" };
    line.text(40, format!("  ·  {} object{plural}", units::count(all)), theme.dim);
    line
}

/// Returns the kinds of which something is held, and how much.
pub(super) fn parts(figures: &HeldFigures, bytes: impl Fn(u64) -> String) -> Vec<String> {
    let is_told = |kind: &HeldKind| figures.of(*kind) > 0 || figures.is_partial(Some(*kind));
    let told = HeldKind::ALL.into_iter().filter(is_told);
    told.map(|kind| match (figures.of(kind), figures.is_partial(Some(kind))) {
        (n, false) => format!("{} {}", kind.id(), bytes(n)),
        (n, true) => format!("{} ≥{}", kind.id(), bytes(n)),
    })
    .collect()
}

/// Returns the words before a sum of which some could not be read.
pub(super) fn at_least(figures: &HeldFigures) -> &'static str {
    if figures.is_partial(None) { "at least " } else { "" }
}
