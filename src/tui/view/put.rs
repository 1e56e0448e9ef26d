//! Writing text into cells.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

/// Writes `text` from (`x`, `y`) on, in at most `width` columns and within the buffer; returns the column after
/// it. As `Buffer::set_stringn`, which looks for the borders of grapheme clusters; here what is plainly one
/// cell wide is written at once: most of a screen, redrawn every second, is.
pub(super) fn put(buf: &mut Buffer, x: u16, y: u16, text: &str, width: usize, style: Style) -> u16 {
    let right = buf.area.right();
    let end = x.saturating_add(u16::try_from(width).unwrap_or(u16::MAX)).min(right);
    let mut at = x;
    let mut rest = text.chars();
    loop {
        let tail = rest.as_str();
        let Some(c) = rest.next() else { return at };
        // What follows may be a mark that belongs to it.
        if !is_plain(c) || !rest.clone().next().is_none_or(is_plain) {
            return buf
                .set_stringn(at, y, tail, usize::from(end.saturating_sub(at)), style)
                .0;
        }
        if at >= end || y >= buf.area.bottom() {
            return at;
        }
        buf[(at, y)].set_char(c).set_style(style);
        at += 1;
    }
}

/// Whether it is one column wide and never part of another character's cluster: ASCII that can be seen, block
/// elements and lines.
const fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{2500}'..='\u{259f}')
}
