//! Who leaks: one line above the table while somebody does, and a page of all suspects.
//!
//! ```text
//!  ▲ 2 leaks  27213 python3 train.py  11.4M/min for 12m  full in 5h02  98% sure  mostly [heap] +136M   L shows all
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::put::put;
use super::strip::Strip;
use crate::columns::suspect::{COLUMNS, SuspectRow, suspect_cell};
use crate::columns::{Priority, Unit};
use crate::config::{Action, Context};
use crate::group::RowKey;
use crate::history::mapping_diff::MappingGrowth;
use crate::history::suspects::Suspect;
use crate::text::{self, Align, fit};
use crate::trend::Verdict;
use crate::tui::app::App;
use crate::tui::popup::Place;
use crate::units;

/// What the first line of the screen says.
pub(super) fn label(app: &App) -> Option<String> {
    match app.data.leaks().count() {
        0 => None,
        1 => Some(" 1 leak ".into()),
        n => Some(format!(" {n} leaks ")),
    }
}

/// Draws the line about the worst one.
pub(super) fn bar(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(suspect) = app.data.leaks().next().filter(|_| !area.is_empty()) else {
        return;
    };
    let mut strip = Strip::default();
    let count = match app.data.leaks().count() {
        1 => " ▲ leak".into(),
        n => format!(" ▲ {n} leaks"),
    };
    strip.text(95, count, theme.leak);
    let room = if area.width < 100 { 16 } else { 36 };
    strip.text(90, format!("  {}", name(suspect, room)), theme.text);
    strip.text(85, format!("  {}", units::pace(suspect.judgement.slope)), theme.leak);
    if let (Some(since), Some(now)) = (suspect.judgement.since, app.data.snapshot.as_ref().map(|s| s.monotonic)) {
        strip.text(
            70,
            format!(" for {}", units::span(now.saturating_sub(since))),
            theme.text,
        );
    }
    if let Some(eta) = suspect
        .eta
        .and_then(|eta| std::time::Duration::try_from_secs_f64(eta).ok())
        && eta.as_secs() < 365 * 86_400
    {
        strip.text(80, format!("  full in {}", units::span(eta)), theme.warning);
    }
    strip.text(40, format!("  {:.0}% sure", suspect.judgement.percent()), theme.dim);
    if let Some(grown) = grown(app, suspect) {
        strip.text(75, format!("  mostly {}", mapping(app, grown, 30)), theme.text);
    }
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Leaks).next() {
        strip.add(
            20,
            vec![(format!("   {key}"), theme.key), (" shows all".into(), theme.key_label)],
        );
    }
    strip.draw(area, buf);
}

/// Who it is, in few columns.
fn name(suspect: &Suspect, width: usize) -> String {
    let (bytes, before, after) = match (&suspect.key, &suspect.facts) {
        (RowKey::Group(key), _) => (
            key.label().into(),
            String::new(),
            format!(" ({} processes)", suspect.count),
        ),
        (RowKey::Process(id), Some(facts)) => (facts.short_command(), format!("{} ", id.pid), String::new()),
        (RowKey::Process(id), None) => return id.pid.to_string(),
    };
    let shown = text::safe_prefix(&bytes, width);
    before + &fit(&shown, text::width(&shown).min(width), Align::Left) + &after
}

/// The mapping of it that grew most, where that is known.
fn grown<'a>(app: &'a App, suspect: &Suspect) -> Option<&'a MappingGrowth> {
    app.data.growth.fastest(suspect.key.process()?)
}

/// A mapping and its growth: `[heap] +136M`; of a long name the end.
fn mapping(app: &App, grown: &MappingGrowth, width: usize) -> String {
    let shown = text::safe(&grown.name);
    let wide = text::width(&shown);
    let shown = if wide > width {
        format!("…{}", text::skip(&shown, wide - width + 1))
    } else {
        shown.into_owned()
    };
    let by = grown
        .growth()
        .map_or_else(|| "-".into(), |by| units::delta(by, app.screen.units));
    format!("{shown} {by}")
}

/// How many lines the page has: a heading, and the suspects.
pub(super) fn lines(app: &App) -> usize {
    app.data.suspects.len().max(1) + HEADING
}

/// The lines above the list.
pub(super) const HEADING: usize = 1;

/// Draws the page.
pub(super) fn draw(app: &App, place: Place, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let width = usize::from(area.width);
    if area.is_empty() {
        return;
    }
    let Some(snapshot) = app.data.snapshot.as_ref().filter(|_| !app.data.suspects.is_empty()) else {
        let text = " nothing leaks so far; a leak is called after two minutes at the soonest";
        buf.set_stringn(area.x, area.y, text, width, theme.dim);
        return;
    };
    let columns: Vec<_> = COLUMNS.iter().filter(|c| width >= least_width(c.priority)).collect();
    let cells = |y: u16, style: Option<Style>, cells: Vec<(String, Style)>, buf: &mut Buffer| {
        if let Some(style) = style {
            buf.set_style(Rect { y, height: 1, ..area }, style);
        }
        let mut x = area.x + 1;
        for (column, (text, own)) in columns.iter().zip(cells) {
            let left = usize::from(area.right().saturating_sub(x));
            let last = column.grows;
            let wide = if last {
                left
            } else {
                usize::from(column.width).max(column.title.len())
            };
            put(
                buf,
                x,
                y,
                &fit(&text, wide.min(left), column.align),
                left,
                style.unwrap_or(own),
            );
            x = x.saturating_add(wide as u16 + 2);
        }
    };
    let head = columns.iter().map(|c| (c.title.to_owned(), theme.dim)).collect();
    cells(area.y, None, head, buf);
    let before: usize = columns[..columns.len() - 1]
        .iter()
        .map(|c| usize::from(c.width).max(c.title.len()) + 2)
        .sum();
    let shown = usize::from(area.height) - HEADING;
    for (at, suspect) in app.data.suspects.iter().enumerate().skip(place.offset).take(shown) {
        let grown = grown(app, suspect)
            .map(|grown| format!("  mostly {}", mapping(app, grown, 30)))
            .filter(|grown| before + text::width(grown) + NAMED < width);
        let row = SuspectRow {
            suspect,
            now: snapshot.monotonic,
        };
        let room = (width - 1).saturating_sub(before + grown.as_ref().map_or(0, |g| text::width(g)));
        let cells_of_row = columns.iter().map(|column| {
            let cell = suspect_cell(column, &row, app.screen.units, room);
            let by_verdict = matches!(column.unit, Unit::Verdict | Unit::Growth);
            let style = match (suspect.ended.is_some(), suspect.judgement.verdict, by_verdict) {
                (true, ..) => theme.dim,
                (false, Verdict::Leaking, true) => theme.leak,
                (false, _, true) => theme.up,
                (false, ..) => theme.popup,
            };
            match (&grown, column.grows) {
                (Some(grown), true) => (cell.text + grown, style),
                _ => (cell.text, style),
            }
        });
        let style = (at == place.cursor).then_some(theme.selected);
        cells(
            area.y + (HEADING + at - place.offset) as u16,
            style,
            cells_of_row.collect(),
            buf,
        );
    }
}

/// The least columns for who it is, beside what grew.
const NAMED: usize = 14;

/// Returns the terminal width from which columns of that priority are shown.
const fn least_width(priority: Priority) -> usize {
    match priority {
        Priority::Low => 100,
        Priority::Normal => 80,
        Priority::High | Priority::Highest => 0,
    }
}
