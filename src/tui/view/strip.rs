//! One line made of pieces, the least needed of which go first where it is narrow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::put::put;
use crate::text;

/// A piece of a line: spans that stay or go together.
struct Piece {
    need: u8,
    spans: Vec<(String, Style)>,
    width: usize,
}

/// A line of pieces.
#[derive(Default)]
pub(super) struct Strip {
    pieces: Vec<Piece>,
    right: Vec<Piece>,
}

fn piece(need: u8, spans: Vec<(String, Style)>) -> Piece {
    let width = spans.iter().map(|(text, _)| text::width(text)).sum();
    Piece { need, spans, width }
}

impl Strip {
    /// Adds a piece; of those that do not all fit, the ones of lowest `need` are left out.
    pub(super) fn add(&mut self, need: u8, spans: Vec<(String, Style)>) {
        self.pieces.push(piece(need, spans));
    }

    /// Adds a piece of one span.
    pub(super) fn text(&mut self, need: u8, text: impl Into<String>, style: Style) {
        self.add(need, vec![(text.into(), style)]);
    }

    /// Adds a piece at the right edge.
    pub(super) fn right(&mut self, need: u8, text: impl Into<String>, style: Style) {
        self.right.push(piece(need, vec![(text.into(), style)]));
    }

    /// How wide the line is with all its pieces.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().chain(&self.right).map(|p| p.width).sum()
    }

    /// Draws what fits.
    pub(super) fn draw(mut self, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        while self.width() > usize::from(area.width) && self.pieces.len() + self.right.len() > 1 {
            let need = self.pieces.iter().chain(&self.right).map(|p| p.need).min();
            let least = |list: &[Piece]| list.iter().rposition(|p| Some(p.need) == need);
            if let Some(at) = least(&self.pieces) {
                self.pieces.remove(at);
            } else if let Some(at) = least(&self.right) {
                self.right.remove(at);
            }
        }
        let mut x = area.x;
        let mut write = |from: u16, pieces: &[Piece]| {
            x = x.max(from);
            for (text, style) in pieces.iter().flat_map(|p| &p.spans) {
                let left = usize::from(area.right().saturating_sub(x));
                x = put(buf, x, area.y, text, left, *style);
            }
        };
        let width: usize = self.right.iter().map(|p| p.width).sum();
        write(area.x, &self.pieces);
        write(
            area.right().saturating_sub(u16::try_from(width).unwrap_or(u16::MAX)),
            &self.right,
        );
    }
}
