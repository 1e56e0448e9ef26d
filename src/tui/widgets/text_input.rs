//! A line of text being edited.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use super::draw_text;
use crate::config::Action;
use crate::config::theme::Theme;
use crate::text;

/// The longest line taken: what is pasted beyond it is dropped, so that a pasted file costs nothing.
const MAX_BYTES: usize = 4096;

/// The text and a cursor in it, always between two grapheme clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    text: String,
    /// Byte offset.
    cursor: usize,
}

impl TextInput {
    /// Returns a line that begins as `text`, the cursor at its end.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            cursor: text.len(),
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor and the text from it on.
    pub fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Returns the cursor's place in terminal columns.
    pub fn column(&self) -> usize {
        text::width(self.split().0)
    }

    /// Inserts text at the cursor; control and formatting characters (a pasted newline, a bidi mark) become
    /// spaces.
    pub fn insert(&mut self, typed: &str) {
        for c in typed.chars() {
            let c = if c.is_control() || text::is_invisible(c) {
                ' '
            } else {
                c
            };
            if self.text.len() + c.len_utf8() > MAX_BYTES {
                return;
            }
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Performs an editing action; other actions change nothing.
    pub fn on_action(&mut self, action: Action) {
        match action {
            Action::Left => self.cursor = self.cluster_before(),
            Action::Right => self.cursor = self.cluster_after(),
            Action::First => self.cursor = 0,
            Action::Last => self.cursor = self.text.len(),
            Action::Backspace => self.delete_from(self.cluster_before()),
            Action::Delete => {
                let end = self.cluster_after();
                self.text.replace_range(self.cursor..end, "");
            }
            Action::DeleteWord => self.delete_from(self.word_before()),
            Action::DeleteLine => self.delete_from(0),
            _ => {}
        }
    }

    /// Deletes from a place before the cursor to the cursor.
    fn delete_from(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    fn cluster_before(&self) -> usize {
        let last = self.split().0.grapheme_indices(true).next_back();
        last.map_or(0, |(at, _)| at)
    }

    fn cluster_after(&self) -> usize {
        self.cursor + self.split().1.graphemes(true).next().map_or(0, str::len)
    }

    /// Returns where the word before the cursor, and the spaces after it, begins.
    fn word_before(&self) -> usize {
        let head = self.split().0.trim_end();
        let space = head.char_indices().rfind(|(_, c)| c.is_whitespace());
        space.map_or(0, |(at, c)| at + c.len_utf8())
    }

    /// Returns where the text begins on a line after a label, and how many of its columns are scrolled away so
    /// that the cursor stays in sight.
    fn viewport(&self, label: &str, area: Rect) -> (u16, usize) {
        let x = (area.x + text::width(label) as u16 + 1).min(area.right());
        let room = usize::from(area.right() - x).max(1);
        (x, (self.column() + 1).saturating_sub(room))
    }

    /// Returns the screen's column of a character of the text; `None` where it is not on screen.
    pub fn screen_column(&self, character: usize, label: &str, area: Rect) -> Option<u16> {
        let before: String = self.text.chars().take(character).collect();
        let (x, scrolled) = self.viewport(label, area);
        let column = text::width(&before).checked_sub(scrolled)?;
        Some(x.saturating_add(u16::try_from(column).ok()?)).filter(|x| *x < area.right())
    }

    /// Draws a label and the text after it. Returns the column after the text, and where the terminal's cursor
    /// belongs.
    pub fn draw(&self, label: &str, area: Rect, theme: &Theme, buf: &mut Buffer) -> (u16, Position) {
        let area = Rect { height: 1, ..area };
        buf.set_style(area, theme.input);
        draw_text(buf, area.x, area.y, label, usize::from(area.width), theme.key);
        let (x, scrolled) = self.viewport(label, area);
        let room = usize::from(area.right() - x);
        let end = draw_text(buf, x, area.y, &text::skip(&self.text, scrolled), room, theme.input);
        let cursor = u16::try_from(self.column() - scrolled).unwrap_or(0);
        let cursor = x.saturating_add(cursor).min(area.right().saturating_sub(1));
        (end, Position::new(cursor, area.y))
    }
}
