//! Building blocks of the screen: text, status lines, lists, table columns, a line being edited.
//!
//! A widget knows the terminal's cells and the theme, and nothing of the monitor's state: it is given what it draws.

mod columns;
mod list;
mod status_line;
mod text_input;

pub use columns::{
    ColumnLayout, PlacedColumn, TableGrid, draw_beside_headings, place_columns, rows_in_sight, select_row, with_order,
};
pub use list::{ListState, draw_list};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
pub use status_line::StatusLine;
pub use text_input::TextInput;

/// Writes text from (`x`, `y`) on, in at most `width` columns and within the buffer, and returns the column after
/// it.
///
/// It draws as `Buffer::set_stringn` does, which looks for the borders of grapheme clusters. Characters that are
/// plainly one cell wide are written at once here: most of a screen, redrawn every second, is such.
pub fn draw_text(buf: &mut Buffer, x: u16, y: u16, text: &str, width: usize, style: Style) -> u16 {
    let right = buf.area.right();
    let end = x.saturating_add(u16::try_from(width).unwrap_or(u16::MAX)).min(right);
    let mut at = x;
    let mut rest = text.chars();
    loop {
        let tail = rest.as_str();
        let Some(c) = rest.next() else { return at };
        // The next character may be a mark that belongs to this one.
        if !is_plain(c) || !rest.clone().next().is_none_or(is_plain) {
            let left = usize::from(end.saturating_sub(at));
            return buf.set_stringn(at, y, tail, left, style).0;
        }
        if at >= end || y >= buf.area.bottom() {
            return at;
        }
        buf[(at, y)].set_char(c).set_style(style);
        at += 1;
    }
}

/// Writes text at the left edge of an area's first line, as far as it fits.
pub fn draw_line(buf: &mut Buffer, area: Rect, text: &str, style: Style) {
    draw_text(buf, area.x, area.y, text, usize::from(area.width), style);
}

/// Draws a bar from the bottom of an area one column wide, so many eighths of a line high.
pub fn draw_bar(buf: &mut Buffer, area: Rect, eighths: u16, style: Style) {
    const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    for above in 0..area.height {
        let part = eighths.saturating_sub(above * 8).min(8);
        if part == 0 {
            return;
        }
        draw_text(
            buf,
            area.x,
            area.bottom() - 1 - above,
            BARS[usize::from(part) - 1],
            1,
            style,
        );
    }
}

/// Returns the line of an area that is `at` lines below its top.
pub fn line(area: Rect, at: u16) -> Rect {
    let y = area.y.saturating_add(at);
    Rect { y, height: 1, ..area }
}

/// Returns true for a character that is one column wide and never part of another one's cluster: visible ASCII,
/// block elements and lines.
const fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{2500}'..='\u{259f}')
}
