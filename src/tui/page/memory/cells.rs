//! The cells of the account that are not written as in any other table, and the line below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::SHOWN;
use crate::account::Account;
use crate::columns::part::{PartRow, Parts};
use crate::columns::{Column, cell};
use crate::history::parts::{Growth, REST};
use crate::tui::app::App;
use crate::tui::page::table;
use crate::tui::widgets::StatusLine;
use crate::units;

/// Returns a cell that is not written as in any other table.
pub(super) fn part_cell(app: &App, column: &Column<Parts>, row: &PartRow<'_>, width: usize) -> Option<(String, Style)> {
    let theme = &app.config.theme;
    match column.id {
        "part" => {
            let name_style = match row {
                PartRow { id: REST, .. } => theme.title,
                PartRow { is_within: true, .. } => theme.dim,
                _ => theme.text,
            };
            let indent = if row.is_within { "  " } else { "" };
            Some((format!("{indent}{}", row.title), name_style))
        }
        "bar" => Some(match row.bytes {
            Ok(0..) => (bar(row, width), bar_style(app, row)),
            Ok(_) => ("counted twice".into(), theme.dim),
            Err(why) => (why.to_string(), theme.dim),
        }),
        // That there is more or less of it is neither good nor bad.
        "change" if Growth::of(row.id) == Growth::Free && !row.is_within => {
            let cell = cell(&(column.value)(row), app.screen.units, width);
            Some((cell.text, theme.dim))
        }
        // Figures of different moments may sum to more than there is.
        "bytes" if row.bytes.is_ok_and(|n| n < 0) => {
            let cell = cell(&(column.value)(row), app.screen.units, width);
            Some((format!("-{}", cell.text), theme.dim))
        }
        "bytes" if row.is_within => {
            let cell = cell(&(column.value)(row), app.screen.units, width);
            let mark = row.bound.map(|bound| bound.mark().to_string()).unwrap_or_default();
            Some((mark + &cell.text, theme.dim))
        }
        _ => None,
    }
}

/// Returns the share of the RAM as a bar, in eighths of a column.
fn bar(row: &PartRow<'_>, width: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let (Ok(bytes), Ok(total)) = (row.bytes, row.total) else {
        return String::new();
    };
    let share = bytes.unsigned_abs() as f64 / total.max(1) as f64;
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let (full, part) = ((eighths / 8).min(width), eighths % 8);
    let mut bar = "█".repeat(full);
    if full < width && part > 0 {
        bar.push(PARTS[part]);
    }
    bar
}

/// Returns the style of a bar: that of the header's bar for the parts that stand there.
fn bar_style(app: &App, row: &PartRow<'_>) -> Style {
    let theme = &app.config.theme;
    match row.id {
        "anon" => theme.bar_anon,
        "shmem" => theme.bar_shmem,
        "files" | "buffers" => theme.bar_file,
        "slab_reclaimable" | "slab_unreclaimable" => theme.bar_slab,
        "free" | "free_lists" => theme.bar_free,
        _ if row.is_within => theme.dim,
        _ => theme.chart,
    }
}

/// Draws what the parts sum to, and what is outside it.
pub(super) fn draw_total(app: &App, account: &Account, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = &app.config.theme;
    buf.set_style(area, theme.totals);
    let bytes = |n| units::bytes(n, app.screen.units);
    let grid = table::grid(app, &SHOWN, None, area);
    grid.draw_row(buf, 0, |at| {
        let text = match (SHOWN[at].id, account.total) {
            ("part", _) => "MemTotal".into(),
            ("bytes", Ok(total)) => bytes(total),
            ("bytes", Err(_)) => "-".into(),
            ("share", Ok(_)) => "100.0".into(),
            _ => String::new(),
        };
        (text, theme.totals)
    });
    let share = SHOWN.iter().position(|column| column.id == "share").unwrap_or(0);
    let from = grid.cell(0, share).right();
    if let (Ok(reserved), true) = (account.reserved, from > area.x) {
        let mut outside = StatusLine::default();
        outside.text(90, format!("  and {} outside it", bytes(reserved)), theme.totals);
        outside.text(50, ": kernel image, page structs, firmware", theme.totals);
        let place = Rect {
            x: from,
            width: area.right().saturating_sub(from),
            ..area
        };
        outside.draw(place, buf);
    }
}
