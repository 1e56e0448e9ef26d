//! A line made of segments, the least important of which are left out where it is narrow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::draw_text;
use crate::text;

/// A part of the line: spans that stay or go together.
struct Segment {
    /// Its number among those of its side.
    part: usize,
    priority: u8,
    spans: Vec<(String, Style)>,
    width: usize,
}

impl Segment {
    fn new(part: usize, priority: u8, spans: Vec<(String, Style)>) -> Self {
        let width = spans.iter().map(|(text, _)| text::width(text)).sum();
        Self {
            part,
            priority,
            spans,
            width,
        }
    }
}

/// A line of segments, some at the left edge and some at the right one.
#[derive(Default)]
pub struct StatusLine {
    left: Vec<Segment>,
    right: Vec<Segment>,
}

impl StatusLine {
    /// Returns a line of one text.
    pub fn of(text: impl Into<String>, style: Style) -> Self {
        let mut line = Self::default();
        line.text(1, text, style);
        line
    }

    /// Adds spans; of the segments that do not all fit, those of lowest priority are left out.
    pub fn spans(&mut self, priority: u8, spans: Vec<(String, Style)>) {
        self.left.push(Segment::new(self.left.len(), priority, spans));
    }

    /// Adds a text.
    pub fn text(&mut self, priority: u8, text: impl Into<String>, style: Style) {
        self.spans(priority, vec![(text.into(), style)]);
    }

    /// Adds a label and the text it is about.
    pub fn labeled(&mut self, priority: u8, label: &str, label_style: Style, text: impl Into<String>, style: Style) {
        self.spans(priority, vec![(label.into(), label_style), (text.into(), style)]);
    }

    /// Adds a text at the right edge.
    pub fn text_right(&mut self, priority: u8, text: impl Into<String>, style: Style) {
        let part = self.right.len();
        self.right
            .push(Segment::new(part, priority, vec![(text.into(), style)]));
    }

    fn width(&self) -> usize {
        self.left.iter().chain(&self.right).map(|s| s.width).sum()
    }

    /// Leaves out what does not fit.
    fn fit(&mut self, width: u16) {
        while self.width() > usize::from(width) && self.left.len() + self.right.len() > 1 {
            let lowest = self.left.iter().chain(&self.right).map(|s| s.priority).min();
            let last = |list: &[Segment]| list.iter().rposition(|s| Some(s.priority) == lowest);
            if let Some(at) = last(&self.left) {
                self.left.remove(at);
            } else if let Some(at) = last(&self.right) {
                self.right.remove(at);
            }
        }
    }

    /// Returns which of the parts at the left edge, as they were added, is drawn at a column of the screen.
    pub fn part_at(mut self, area: Rect, x: u16) -> Option<usize> {
        self.fit(area.width);
        let mut end = usize::from(area.x);
        let mut parts = self.left.iter().filter(|_| area.left() <= x && x < area.right());
        let hit = parts.find(|segment| {
            end += segment.width;
            usize::from(x) < end
        });
        hit.map(|segment| segment.part)
    }

    /// Draws what fits.
    pub fn draw(mut self, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        self.fit(area.width);
        let mut x = area.x;
        let mut write = |from: u16, segments: &[Segment]| {
            x = x.max(from);
            for (text, style) in segments.iter().flat_map(|s| &s.spans) {
                let left = usize::from(area.right().saturating_sub(x));
                x = draw_text(buf, x, area.y, text, left, *style);
            }
        };
        let right: usize = self.right.iter().map(|s| s.width).sum();
        write(area.x, &self.left);
        let from = area.right().saturating_sub(u16::try_from(right).unwrap_or(u16::MAX));
        write(from, &self.right);
    }
}
