//! Lines of cells in columns as wide as what they hold.

use std::io::{self, Write};

use crate::columns::{Cell, Column, Tone};
use crate::text::{Align, fit, width};

/// One line of a table.
#[derive(Debug)]
pub(super) enum Line {
    Heading(Vec<Cell>),
    Row(Vec<Cell>),
    /// Sums, and what they are sums of.
    Totals(Vec<Cell>, String),
}

impl Line {
    fn cells(&self) -> &[Cell] {
        match self {
            Self::Heading(cells) | Self::Row(cells) | Self::Totals(cells, _) => cells,
        }
    }

    /// What stands in a column; a total's label stands where the command does.
    fn text(&self, column: usize, command: bool) -> Option<&str> {
        match self {
            Self::Totals(_, label) if command => Some(label),
            _ => self.cells().get(column).map(|cell| cell.text.as_str()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Place {
    width: usize,
    align: Align,
    grows: bool,
}

/// Where each column stands.
#[derive(Debug)]
pub(super) struct Layout {
    places: Vec<Place>,
    /// The terminal's columns.
    total: Option<usize>,
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

impl Layout {
    /// Words longer than that are cut, but for the command's.
    pub(super) const WIDEST_WORD: usize = 64;
    /// A command that is not the last column is padded to that, and written whole where it is longer.
    const WIDEST_COMMAND: usize = 160;

    pub(super) fn new(columns: &[&Column], lines: &[Line], total: Option<usize>) -> Self {
        let widest = |i: usize, column: &Column| {
            let texts = lines.iter().filter_map(|line| line.text(i, column.grows));
            let limit = if column.grows {
                Self::WIDEST_COMMAND
            } else {
                Self::WIDEST_WORD
            };
            texts.map(width).max().unwrap_or(0).min(limit)
        };
        let mut places: Vec<Place> = columns
            .iter()
            .enumerate()
            .map(|(i, column)| Place {
                width: widest(i, column),
                align: column.align,
                grows: column.grows,
            })
            .collect();
        let used = places.iter().map(|p| p.width + 1).sum::<usize>().saturating_sub(1);
        let over = used.saturating_sub(total.unwrap_or(usize::MAX));
        for (place, column) in places.iter_mut().zip(columns).filter(|(p, _)| p.grows) {
            place.width = place.width.saturating_sub(over).max(usize::from(column.width));
        }
        Self { places, total }
    }

    /// Writes one line, no wider than the terminal and with nothing blank at its end.
    pub(super) fn write(&self, out: &mut dyn Write, line: &Line, color: bool) -> io::Result<()> {
        let mut text = String::new();
        let mut left = self.total.unwrap_or(usize::MAX);
        for (i, cell) in line.cells().iter().enumerate() {
            let place = self.places[i];
            let shown = line.text(i, place.grows).unwrap_or_default();
            let wide = self.room(place, width(shown), i + 1 == self.places.len());
            let cell_text = fit_in(shown, wide, left, place.align, i > 0);
            put(&mut text, &mut left, &cell_text, styled(line, cell, color));
        }
        if let Line::Totals(_, label) = line
            && !self.places.iter().any(|p| p.grows)
        {
            let cell = fit_in(label, width(label), left, Align::Left, true);
            put(&mut text, &mut left, &cell, if color { BOLD } else { "" });
        }
        writeln!(out, "{}", text.trim_end())
    }

    /// How wide a cell is written: the last word of a line is not padded, and a command is whole where
    /// there is no terminal to fit.
    fn room(&self, place: Place, content: usize, last: bool) -> usize {
        match (place.grows, last, place.align) {
            (true, true, _) => content,
            (true, false, _) if self.total.is_none() => place.width.max(content),
            (false, true, Align::Left) => place.width.min(content),
            _ => place.width,
        }
    }
}

/// A cell with the gap before it, cut to what is left of the line.
fn fit_in(text: &str, wide: usize, left: usize, align: Align, gap: bool) -> String {
    let before = usize::from(gap).min(left);
    " ".repeat(before) + &fit(text, wide.min(left - before), align)
}

fn put(text: &mut String, left: &mut usize, cell: &str, style: &str) {
    *left -= width(cell);
    if style.is_empty() || cell.trim().is_empty() {
        text.push_str(cell);
    } else {
        text.extend([style, cell, PLAIN]);
    }
}

const fn styled(line: &Line, cell: &Cell, color: bool) -> &'static str {
    match (line, cell.tone) {
        _ if !color => "",
        (Line::Heading(_) | Line::Totals(..), _) => BOLD,
        (Line::Row(_), Tone::Zero | Tone::Missing) => DIM,
        (Line::Row(_), Tone::Plain | Tone::Up | Tone::Down | Tone::Chart) => "",
    }
}
