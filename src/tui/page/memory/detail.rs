//! The selected part: its source and formula, what its growth means, and its chart.
//!
//! ```text
//!  slab, unreclaimable  92M  0.4 % of RAM
//!  The kernel's other objects; … Kernel: SUnreclaim in meminfo.
//!  It may leak: only the code that took an object gives it back.
//!  size over 5 min: 80M to 92M  ·  △ growing 12M/min for at least 2m
//!   92M ┤          ▂▄▆█████
//!    0M └5 min ago ─── 4m ─── now
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::columns::part::PartRow;
use crate::history::RowHistory;
use crate::history::parts::{Growth, rule};
use crate::model::Snapshot;
use crate::text;
use crate::trend::Judgement;
use crate::tui::app::App;
use crate::tui::panel::chart::{self, Charted};
use crate::tui::widgets::{StatusLine, draw_line, line};
use crate::units;

/// Lines that a chart needs, its heading and its axis with it.
const MIN_CHART: u16 = 4;
/// Lines of text beside the chart at most.
const MAX_TEXT: usize = 4;

/// Draws the detail; its first line is a heading.
pub(super) fn draw(app: &App, snapshot: &Snapshot, row: &PartRow<'_>, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut heading = StatusLine::default();
    heading.text(90, format!(" {}", row.title), theme.heading_sorted);
    match row.bytes {
        Ok(bytes) => {
            let size = units::bytes(bytes.unsigned_abs(), app.screen.units);
            heading.text(80, format!("  {size}"), theme.heading);
            if let Ok(total) = row.total {
                let share = 100.0 * bytes as f64 / total.max(1) as f64;
                heading.text(70, format!("  {share:.1} % of RAM"), theme.heading);
            }
        }
        Err(why) => heading.text(80, format!("  {why}"), theme.heading),
    }
    heading.text_right(50, "Enter closes ", theme.heading);
    heading.draw(line(area, 0), buf);

    let width = usize::from(area.width.saturating_sub(2)).max(8);
    let mut texts = text::wrap(row.help, width);
    texts.extend(text::wrap(&meaning(row), width));
    let history = row.history;
    let judgement = history.filter(|_| is_judged(row)).map(RowHistory::trend);
    let reasons = judgement.map_or_else(Vec::new, Judgement::texts);
    let suspects = app.engine.living_suspects();
    let mut own = suspects.filter(|suspect| suspect.key.part().is_some_and(|key| key.id == row.id));
    if let Some(cause) = own.find_map(|suspect| suspect.cause.as_ref()) {
        texts.extend(text::wrap(&format!("It grows in {}.", cause.text()), width));
    }
    if !reasons.is_empty() {
        texts.extend(text::wrap(&reasons.join(", "), width));
    }
    let left = area.height.saturating_sub(1);
    let for_text = usize::from(left.saturating_sub(MIN_CHART)).clamp(1, MAX_TEXT.max(usize::from(left / 3)));
    texts.truncate(for_text);
    let mut y = 1;
    for words in texts {
        if y < area.height {
            draw_line(buf, line(area, y), &format!(" {words}"), theme.dim);
            y += 1;
        }
    }
    let rest = Rect {
        y: area.y + y,
        height: area.height.saturating_sub(y),
        ..area
    };
    if let Some(history) = history.filter(|_| rest.height >= MIN_CHART) {
        let charted = Charted {
            name: "size",
            chart: app.screen.chart,
            history,
            eta: row.eta(),
            started_at: None,
            is_judged: is_judged(row),
            style: None,
        };
        chart::draw(app, snapshot, &charted, rest, buf);
    }
}

fn is_judged(row: &PartRow<'_>) -> bool {
    Growth::of(row.id).is_judged() && !row.is_within
}

/// Says what the growth of a part means.
fn meaning(row: &PartRow<'_>) -> String {
    let Some((_, growth, _, reason)) = rule(row.id).filter(|_| !row.is_within) else {
        return String::new();
    };
    match growth {
        Growth::Leak => format!("Growth may be a leak: {reason}."),
        Growth::Processes => format!("Growth is told of the processes: {reason}."),
        Growth::Reclaimed => format!("Growth is never called a leak: {reason}."),
        Growth::Free => String::new(),
    }
}
