//! A line of text being edited.

use unicode_segmentation::UnicodeSegmentation;

use crate::text;

/// The longest line taken: what is pasted beyond it is dropped.
const MAX_BYTES: usize = 4096;

/// The text and a cursor in it, always between two grapheme clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineEdit {
    text: String,
    /// Byte offset.
    cursor: usize,
}

impl LineEdit {
    /// A line that begins as `text`, the cursor at its end.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            cursor: text.len(),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor and from it on.
    pub fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// The cursor's place in terminal columns.
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

    /// One cluster to the left.
    pub fn left(&mut self) {
        self.cursor = self.before();
    }

    /// One cluster to the right.
    pub fn right(&mut self) {
        self.cursor = self.after();
    }

    /// To the beginning.
    pub fn home(&mut self) {
        self.cursor = 0;
    }

    /// To the end.
    pub fn end(&mut self) {
        self.cursor = self.text.len();
    }

    /// Deletes the cluster before the cursor; false where there is none.
    pub fn backspace(&mut self) -> bool {
        self.delete_back_to(self.before())
    }

    /// Deletes the cluster under the cursor.
    pub fn delete(&mut self) {
        let end = self.after();
        self.text.replace_range(self.cursor..end, "");
    }

    /// Deletes the word before the cursor and the spaces after it.
    pub fn delete_word(&mut self) {
        let head = self.split().0.trim_end();
        let start = head
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8));
        self.delete_back_to(start);
    }

    /// Deletes everything before the cursor.
    pub fn delete_line(&mut self) {
        self.delete_back_to(0);
    }

    fn delete_back_to(&mut self, start: usize) -> bool {
        let changed = start < self.cursor;
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
        changed
    }

    fn before(&self) -> usize {
        self.split()
            .0
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.cursor + self.split().1.graphemes(true).next().map_or(0, str::len)
    }
}
