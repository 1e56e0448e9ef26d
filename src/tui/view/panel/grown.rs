//! Which mappings grew, the one that grew most first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::put::put;
use super::super::strip::Strip;
use crate::history::mapping_diff::{MappingGrowth, Presence, total_growth};
use crate::model::{Missing, ProcessSample, Snapshot};
use crate::text::{self, Align};
use crate::tui::app::App;
use crate::tui::growth::TrackedProcess;
use crate::units;

/// Draws a line that says over which time, a heading, and as many mappings as there is room for.
pub(super) fn draw(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let line = |at: u16| Rect {
        y: area.y + at,
        height: 1,
        ..area
    };
    let seen = app.data.growth.get(sample);
    let rows = seen.and_then(TrackedProcess::growth);
    label(app, snapshot, sample, seen, rows.as_deref(), line(0), buf);
    let Some(rows) = rows.filter(|_| area.height > 2) else {
        return;
    };
    let sizes = app.screen.units.width();
    let widths = [usize::from(sizes) + 1, usize::from(sizes), 6, 7];
    let heads = ["GROWTH", "HELD", "AREAS", "KIND", "MAPPING"];
    let aligns = [Align::Right, Align::Right, Align::Right, Align::Left];
    buf.set_style(line(1), theme.dim);
    let mut heading = String::from(" ");
    for ((head, width), align) in heads.iter().zip(widths).zip(aligns) {
        heading += &text::fit(head, width.max(head.len()), align);
        heading.push(' ');
    }
    heading += heads[4];
    put(buf, area.x, area.y + 1, &heading, usize::from(area.width), theme.dim);
    for (at, row) in order(rows).iter().take(usize::from(area.height) - 2).enumerate() {
        let y = area.y + 2 + at as u16;
        let cells = [
            growth(app, row),
            row.now
                .map_or_else(|_| "-".into(), |n| units::bytes(n, app.screen.units)),
            units::count(row.areas),
            row.kind.id().to_owned(),
        ];
        let mut x = area.x + 1;
        for (column, (text, width)) in cells.iter().zip(widths).enumerate() {
            let width = width.max(heads[column].len());
            let style = if column == 0 { tone(app, row) } else { Style::default() };
            let room = usize::from(area.right().saturating_sub(x)).min(width);
            put(buf, x, y, &text::fit(text, width, aligns[column]), room, style);
            x = x.saturating_add(width as u16 + 1);
        }
        let room = usize::from(area.right().saturating_sub(x));
        name(app, row, Rect::new(x, y, room as u16, 1), buf);
    }
}

/// What grew, then what shrank, then what did neither by what it holds.
fn order(rows: Vec<MappingGrowth>) -> Vec<MappingGrowth> {
    let (mut grown, rest): (Vec<_>, Vec<_>) = rows.into_iter().partition(|r| r.growth() > Some(0));
    let (mut shrunk, still): (Vec<_>, Vec<_>) = rest.into_iter().partition(|r| r.growth() < Some(0));
    shrunk.reverse();
    let (unknown, shrunk): (Vec<_>, Vec<_>) = shrunk.into_iter().partition(|r| r.growth().is_none());
    grown.extend(shrunk);
    grown.extend(still);
    grown.extend(unknown);
    grown
}

fn growth(app: &App, row: &MappingGrowth) -> String {
    row.growth()
        .map_or_else(|| "-".into(), |n| units::delta(n, app.screen.units))
}

fn tone(app: &App, row: &MappingGrowth) -> Style {
    let theme = &app.config.theme;
    match row.growth() {
        None => theme.missing,
        Some(0) => theme.zero,
        Some(1..) => theme.up,
        Some(_) => theme.down,
    }
}

/// The name, whose end tells more than its beginning; and what became of the mapping.
fn name(app: &App, row: &MappingGrowth, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let presence = match row.presence {
        Presence::Both => "",
        Presence::New => " new",
        Presence::Gone => " gone",
    };
    let width = usize::from(area.width);
    let room = width.saturating_sub(presence.len());
    let shown = text::safe(&row.name);
    let wide = text::width(&shown);
    let shown = if wide > room && room > 1 {
        format!("…{}", text::skip(&shown, wide - room + 1))
    } else {
        text::fit(&shown, wide.min(room), Align::Left)
    };
    let x = put(buf, area.x, area.y, &shown, room, Style::default());
    let left = usize::from(area.right().saturating_sub(x));
    put(buf, x, area.y, presence, left, theme.dim);
}

/// Over which time, how much in all, how old; or why nothing is known.
fn label(
    app: &App,
    snapshot: &Snapshot,
    sample: &ProcessSample,
    seen: Option<&TrackedProcess>,
    rows: Option<&[MappingGrowth]>,
    area: Rect,
    buf: &mut Buffer,
) {
    let theme = &app.config.theme;
    let mut strip = Strip::default();
    let fault = seen.and_then(|s| s.error);
    let span = seen.and_then(|s| Some((s, s.span(snapshot)?)));
    match (rows, span) {
        (Some(rows), Some((seen, (over, age)))) => {
            if over.is_zero() {
                strip.text(90, " what it maps", theme.text);
                strip.text(50, "  ·  what grew shows with the next reading", theme.dim);
            } else {
                let since = if seen.marked { " since the mark" } else { "" };
                strip.text(90, format!(" what grew in {}{since}", units::span(over)), theme.text);
                let sum = units::delta(total_growth(rows), app.screen.units);
                strip.text(80, format!("  ·  {sum} in all"), theme.text);
            }
            strip.text(60, format!("  ·  read {} ago", units::span(age)), theme.dim);
            if app.requests.paused {
                strip.text(70, "  ·  paused", theme.warning);
            }
        }
        _ if sample.stat.is_kernel_thread() => {
            strip.text(1, format!(" mappings: {}", Missing::KernelThread), theme.dim);
        }
        _ if fault.is_some() => {}
        _ if app.requests.paused => strip.text(1, " mappings not read: paused", theme.dim),
        _ => strip.text(1, " reading its mappings …", theme.dim),
    }
    if let Some(why) = fault.filter(|_| !sample.stat.is_kernel_thread()) {
        strip.text(85, format!(" mappings not read: {why}"), theme.warning);
    }
    strip.draw(area, buf);
}
