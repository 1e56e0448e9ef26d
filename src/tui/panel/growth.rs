//! Which mappings of a process grew, the one that grew most first.
//!
//! ```text
//!  what grew in 2m  ·  +120M in all  ·  read 3s ago
//!  GROWTH    NOW  AREAS KIND    MAPPING
//!   +118M   1.1G     41 anon    [anon]
//!     +2M    12M      1 file    /usr/lib/libpython3.13.so new
//! ```
//!
//! Once the user asked what the process touches, COLD beside NOW says what it did not.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::history::coldness::{Coldness, Resident};
use crate::history::mapping_diff::{MappingGrowth, Presence, total_growth};
use crate::model::{Missing, ProcessSample, Snapshot};
use crate::text::{self, Align};
use crate::tui::app::App;
use crate::tui::growth::TrackedProcess;
use crate::tui::widgets::{ColumnLayout, StatusLine, TableGrid, draw_text, line};
use crate::units;

const TITLES: [&str; 6] = ["GROWTH", "NOW", "COLD", "AREAS", "KIND", "MAPPING"];
/// The index of the column of what was not touched, which is there only where the user asked.
const COLD: usize = 2;

/// Draws a line that says over which time, a heading, and as many mappings as there is room for.
pub(super) fn draw(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let tracked = app.data.growth.get(sample);
    let mappings = tracked.and_then(TrackedProcess::growth);
    heading(app, snapshot, sample, tracked, mappings.as_deref()).draw(area, buf);
    // Without room for a mapping the titles are of no use.
    let Some(mappings) = mappings.filter(|_| area.height > 2) else {
        return;
    };
    let bytes = app.screen.units.width();
    let column = |index: usize, width: u16, align| ColumnLayout::fixed(width.max(TITLES[index].len() as u16), align);
    let coldness = app.data.coldness.get(sample).ok();
    let mut columns = vec![
        column(0, bytes + 1, Align::Right),
        column(1, bytes, Align::Right),
        column(COLD, bytes, Align::Right),
        column(3, 6, Align::Right),
        column(4, 7, Align::Left),
        ColumnLayout::rest(),
    ];
    if coldness.is_none() {
        columns.remove(COLD);
    }
    // The index of a drawn column among all.
    let index = |at: usize| at + usize::from(coldness.is_none() && at >= COLD);
    let grid = TableGrid::new(&columns, area, 1);
    buf.set_style(line(area, 1), theme.dim);
    grid.draw_row(buf, 1, |at| (TITLES[index(at)].to_owned(), theme.dim));
    for (y, mapping) in (2..area.height).zip(&by_growth(mappings)) {
        grid.draw_row(buf, y, |at| match index(at) {
            0 => growth(app, mapping),
            1 => {
                let held = mapping.now.map(|n| units::bytes(n, app.screen.units));
                (held.unwrap_or_else(|_| "-".into()), Style::default())
            }
            COLD => (cold(app, coldness, mapping), Style::default()),
            3 => (units::count(mapping.areas), Style::default()),
            4 => (mapping.kind.id().to_owned(), Style::default()),
            _ => (String::new(), Style::default()),
        });
        draw_name(app, mapping, grid.cell(y, columns.len() - 1), buf);
    }
}

/// Returns what was not touched of a mapping.
fn cold(app: &App, coldness: Option<&Coldness>, mapping: &MappingGrowth) -> String {
    let found = coldness.and_then(|coldness| coldness.mapping(mapping.kind, &mapping.name));
    let cold = found.and_then(|found| found.resident.ok()).map(Resident::cold);
    cold.map_or_else(|| "-".into(), |n| units::bytes(n, app.screen.units))
}

/// Sorts mappings: what grew, then what shrank, then what did neither by what it holds, then what is unknown.
fn by_growth(mappings: Vec<MappingGrowth>) -> Vec<MappingGrowth> {
    let (mut grown, rest): (Vec<_>, Vec<_>) = mappings.into_iter().partition(|m| m.growth() > Some(0));
    let (mut shrunk, still): (Vec<_>, Vec<_>) = rest.into_iter().partition(|m| m.growth() < Some(0));
    shrunk.reverse();
    let (unknown, shrunk): (Vec<_>, Vec<_>) = shrunk.into_iter().partition(|m| m.growth().is_none());
    grown.extend(shrunk);
    grown.extend(still);
    grown.extend(unknown);
    grown
}

/// Returns the cell of a mapping's growth.
fn growth(app: &App, mapping: &MappingGrowth) -> (String, Style) {
    let theme = &app.config.theme;
    let Some(growth) = mapping.growth() else {
        return ("-".into(), theme.missing);
    };
    let style = match growth {
        0 => theme.zero,
        1.. => theme.up,
        _ => theme.down,
    };
    (units::delta(growth, app.screen.units), style)
}

/// Draws the name, whose end tells more than its beginning, and what became of the mapping.
fn draw_name(app: &App, mapping: &MappingGrowth, area: Rect, buf: &mut Buffer) {
    let presence = match mapping.presence {
        Presence::Both => "",
        Presence::New => " new",
        Presence::Gone => " gone",
    };
    let width = usize::from(area.width);
    let name_width = width.saturating_sub(presence.len());
    let name = text::truncate_start(&text::safe(&mapping.name), name_width);
    let x = draw_text(buf, area.x, area.y, &name, name_width, Style::default());
    let left = usize::from(area.right().saturating_sub(x));
    draw_text(buf, x, area.y, presence, left, app.config.theme.dim);
}

/// Returns the line that says over which time growth counts, how much it is in all and how old the figures are, or
/// why nothing is known.
fn heading(
    app: &App,
    snapshot: &Snapshot,
    sample: &ProcessSample,
    tracked: Option<&TrackedProcess>,
    mappings: Option<&[MappingGrowth]>,
) -> StatusLine {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let error = tracked.and_then(|t| t.error);
    let span = tracked.and_then(|t| Some((t, t.span(snapshot)?)));
    match (mappings, span) {
        (Some(mappings), Some((tracked, (duration, age)))) => {
            if duration.is_zero() {
                line.text(90, " what it maps", theme.text);
                line.text(50, "  ·  what grew shows with the next reading", theme.dim);
            } else {
                let since = if tracked.marked { " since the mark" } else { "" };
                line.text(
                    90,
                    format!(" what grew in {}{since}", units::span(duration)),
                    theme.text,
                );
                let sum = units::delta(total_growth(mappings), app.screen.units);
                line.text(80, format!("  ·  {sum} in all"), theme.text);
            }
            line.text(60, format!("  ·  read {} ago", units::span(age)), theme.dim);
            if app.requests.paused {
                line.text(70, "  ·  paused", theme.warning);
            }
        }
        _ if sample.stat.is_kernel_thread() => {
            line.text(1, format!(" mappings: {}", Missing::KernelThread), theme.dim);
        }
        _ if error.is_some() => {}
        _ if app.requests.paused => line.text(1, " mappings not read: paused", theme.dim),
        _ if app.fleet.is_some() => line.text(1, " its mappings are on its host: run zmtop there", theme.dim),
        _ => line.text(1, " reading its mappings …", theme.dim),
    }
    if let Some(why) = error.filter(|_| !sample.stat.is_kernel_thread()) {
        line.text(85, format!(" mappings not read: {why}"), theme.warning);
    }
    line
}
