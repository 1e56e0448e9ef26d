//! A list with a cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{draw_line, line};
use crate::text::{Align, fit};

/// The cursor of a list, and how far the list is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListState {
    /// The index of the selected entry.
    pub cursor: usize,
    /// The index of the first entry on screen.
    pub offset: usize,
}

impl ListState {
    /// Selects an entry of `len`, the last one at most, with `height` of them on screen. Scrolls as little as is
    /// needed for the cursor to be on screen and no line to be wasted.
    pub fn select(&mut self, index: usize, len: usize, height: usize) {
        let height = height.max(1);
        self.cursor = index.min(len.saturating_sub(1));
        let most = len.saturating_sub(height);
        self.offset = self
            .offset
            .min(self.cursor)
            .max((self.cursor + 1).saturating_sub(height))
            .min(most);
    }
}

/// Draws the entries that are scrolled into the area, a line each, the one at the cursor in the style `selected`.
/// Entries are made only for lines that are drawn.
pub fn draw_list(
    buf: &mut Buffer,
    area: Rect,
    state: ListState,
    len: usize,
    selected: Style,
    entry: impl Fn(usize) -> (String, Style),
) {
    let shown = (state.offset..len).take(usize::from(area.height));
    for (y, index) in shown.enumerate() {
        let (text, own) = entry(index);
        let style = if index == state.cursor { selected } else { own };
        let text = fit(&text, usize::from(area.width), Align::Left);
        draw_line(buf, line(area, y as u16), &text, style);
    }
}
