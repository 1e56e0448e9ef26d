//! Finding in a popup: words in what is read, as in `less`; an entry of a menu by typing what it is called.
//!
//! ```text
//!  Search  swap  2 of 7; F3 goes to the next
//! ```

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Clear, Widget};

use crate::config::theme::Theme;
use crate::text;
use crate::tui::widgets::{TextInput, draw_text};

/// A search.
#[derive(Debug, Default)]
pub(super) struct Find {
    /// The text.
    pub(super) input: TextInput,
    /// It is being typed.
    pub(super) is_typing: bool,
    /// The line that was found.
    pub(super) found: Option<usize>,
    /// The line to go back to when it is given up.
    pub(super) from: usize,
}

impl Find {
    /// Returns a search that begins at a line, its text to be typed.
    pub(super) fn from(line: usize) -> Self {
        Self {
            is_typing: true,
            from: line,
            ..Self::default()
        }
    }

    /// Returns true if nothing is searched for.
    pub(super) fn is_empty(&self) -> bool {
        self.input.text().is_empty()
    }

    fn matching(&self, lines: &[String]) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        let text = self.input.text().to_lowercase();
        let lines = lines.iter().enumerate();
        let matching = lines.filter(|(_, line)| line.to_lowercase().contains(&text));
        matching.map(|(at, _)| at).collect()
    }

    /// Finds the first line from where the search began on, round and round.
    pub(super) fn find_next(&mut self, lines: &[String]) -> Option<usize> {
        let matching = self.matching(lines);
        let next = matching.iter().find(|at| **at >= self.from).or(matching.first());
        self.found = next.copied();
        self.found
    }

    /// Finds the line that is called so: one that begins with the text, else one of which a word does, else any that
    /// holds it.
    pub(super) fn find_named(&mut self, lines: &[String]) -> Option<usize> {
        let text = self.input.text().to_lowercase();
        let rank = |at: &usize| {
            let line = lines[*at].trim_start().to_lowercase();
            let mut words = line.match_indices(&text).map(|(at, _)| &line[..at]);
            let begins_word = words.any(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            (!line.starts_with(&text), !begins_word)
        };
        self.found = self.matching(lines).into_iter().min_by_key(rank);
        self.found
    }

    /// Finds the next line, or the previous one, round and round: from what was found last, or where that is not among
    /// the lines shown, among these.
    pub(super) fn step(&mut self, lines: &[String], forward: bool, shown: Range<usize>) -> Option<usize> {
        let matching = self.matching(lines);
        let found = self.found.filter(|at| shown.contains(at));
        self.found = if forward {
            let from = found.map_or(shown.start, |at| at + 1);
            matching.iter().find(|at| **at >= from).or(matching.first())
        } else {
            let until = found.unwrap_or(shown.end);
            matching.iter().rfind(|at| **at < until).or(matching.last())
        }
        .copied();
        self.found
    }

    /// Makes what is searched for stand out in lines that are drawn, of which the first is `first`.
    pub(super) fn highlight(&self, area: Rect, first: usize, theme: &Theme, buf: &mut Buffer) {
        if self.is_empty() {
            return;
        }
        let text = self.input.text().to_lowercase();
        for (at, y) in (first..).zip(area.y..area.bottom()) {
            let style = if self.found == Some(at) {
                theme.selected
            } else {
                theme.found
            };
            let mut line = String::new();
            // Where each cell begins in the line.
            let mut cells = Vec::new();
            let mut x = area.x;
            while x < area.right() {
                let symbol = buf[(x, y)].symbol();
                cells.push((line.len(), x));
                line.push_str(&symbol.to_lowercase());
                x += text::width(symbol).max(1) as u16;
            }
            for (start, _) in line.match_indices(&text) {
                let end = start + text.len();
                for (_, x) in cells.iter().filter(|(at, _)| (start..end).contains(at)) {
                    buf[(*x, y)].set_style(style);
                }
            }
        }
    }

    /// Draws the line in which the text is typed, with how many lines it is in; returns the cursor's place.
    pub(super) fn draw(&self, lines: &[String], hint: &str, area: Rect, theme: &Theme, buf: &mut Buffer) -> Position {
        Clear.render(area, buf);
        let (end, cursor) = self.input.draw(" Search ", area, theme, buf);
        let matching = self.matching(lines);
        let at = matching.iter().position(|at| Some(*at) == self.found);
        let (note, style) = match at {
            _ if self.is_empty() => (String::new(), theme.dim),
            Some(at) => (format!("{} of {}; {hint}", at + 1, matching.len()), theme.dim),
            None => ("no match".into(), theme.error),
        };
        let x = end.saturating_add(2).min(area.right());
        draw_text(buf, x, area.y, &note, usize::from(area.right() - x), style);
        cursor
    }
}
