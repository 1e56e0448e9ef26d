//! Lines of cells in columns as wide as what they hold.

use std::io::{self, Write};

use super::bars::bar;
use super::table::TableOptions;
use crate::columns::{Cell, CellStyle, Column};
use crate::text::{Align, fit, width};

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Heading,
    Row,
    /// Sums, and what they are sums of.
    Totals(String),
}

/// One line of a table.
#[derive(Clone, Debug)]
pub(super) struct Line {
    kind: Kind,
    /// The text of every cell, one after the other: there may be very many lines.
    text: Box<str>,
    /// Where each cell's text ends, and how it is meant.
    cells: Box<[(u32, CellStyle)]>,
    /// What its bar stands for; nothing where it has none.
    pub(super) bar: Option<f64>,
}

impl Line {
    pub(super) fn heading(cells: &[Cell]) -> Self {
        Self::new(Kind::Heading, cells)
    }

    pub(super) fn row(cells: &[Cell]) -> Self {
        Self::new(Kind::Row, cells)
    }

    pub(super) fn totals(cells: &[Cell], label: String) -> Self {
        Self::new(Kind::Totals(label), cells)
    }

    fn new(kind: Kind, cells: &[Cell]) -> Self {
        let text: String = cells.iter().map(|cell| cell.text.as_str()).collect();
        let ends = cells.iter().scan(0_usize, |end, cell| {
            *end += cell.text.len();
            Some((u32::try_from(*end).unwrap_or(u32::MAX), cell.style))
        });
        Self {
            kind,
            cells: ends.collect(),
            text: text.into(),
            bar: None,
        }
    }

    /// The text of a cell.
    fn cell(&self, column: usize) -> Option<&str> {
        let end = self.cells.get(column)?.0 as usize;
        let start = column.checked_sub(1).map_or(0, |before| self.cells[before].0 as usize);
        self.text.get(start..end)
    }

    /// What stands in a column; a total's label stands where the command does.
    fn text(&self, column: usize, command: bool) -> Option<&str> {
        match &self.kind {
            Kind::Totals(label) if command => Some(label),
            _ => self.cell(column),
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
    /// How wide the longest bar is, and what it stands for.
    bars: Option<(usize, f64)>,
    color: bool,
    ascii: bool,
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

impl Layout {
    /// Words longer than that are cut, but for the command's.
    pub(super) const WIDEST_WORD: usize = 64;
    /// A command that is not the last column is padded to that, and written whole where it is longer.
    const WIDEST_COMMAND: usize = 160;
    /// Beside bars a command has no more than that where there is no terminal, and the bars have as much.
    const BESIDE_BARS: usize = 40;
    /// What a command leaves to the bars.
    const LEAST_BARS: usize = 24;

    pub(super) fn new(columns: &[&Column], lines: &[Line], options: &TableOptions) -> Self {
        let widest_command = match (options.bars, options.width) {
            (Some(_), None) => Self::BESIDE_BARS,
            _ => Self::WIDEST_COMMAND,
        };
        let name = options.name.map(|(id, _)| id.get().id);
        let grows = |column: &Column| column.grows || name == Some(column.id);
        let widest = |i: usize, column: &Column| {
            let texts = lines.iter().filter_map(|line| line.text(i, grows(column)));
            let limit = if grows(column) {
                widest_command
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
                grows: grows(column),
            })
            .collect();
        let used = |places: &[Place]| places.iter().map(|p| p.width + 1).sum::<usize>();
        let wanted = match options.bars {
            Some(_) => used(&places) + Self::LEAST_BARS,
            None => used(&places).saturating_sub(1),
        };
        let over = wanted.saturating_sub(options.width.unwrap_or(usize::MAX));
        for (place, column) in places.iter_mut().zip(columns).filter(|(p, _)| p.grows) {
            place.width = place.width.saturating_sub(over).max(usize::from(column.width));
        }
        let left = match options.width {
            Some(total) => total.saturating_sub(used(&places)),
            None => Self::BESIDE_BARS,
        };
        let greatest = lines.iter().filter_map(|line| line.bar).fold(0.0, f64::max);
        Self {
            places,
            total: options.width,
            bars: options.bars.map(|_| (left, greatest)),
            color: options.color,
            ascii: options.ascii,
        }
    }

    pub(super) fn write_all(&self, out: &mut dyn Write, lines: &[Line]) -> io::Result<()> {
        let mut text = String::new();
        lines.iter().try_for_each(|line| {
            text.clear();
            self.write(&mut text, line);
            text.truncate(text.trim_end().len());
            text.push('\n');
            out.write_all(text.as_bytes())
        })
    }

    /// One line, no wider than the terminal.
    fn write(&self, text: &mut String, line: &Line) {
        let mut left = self.total.unwrap_or(usize::MAX);
        for (i, (_, tone)) in line.cells.iter().enumerate() {
            let place = self.places[i];
            let shown = line.text(i, place.grows).unwrap_or_default();
            let last = i + 1 == self.places.len() && (self.bars.is_none() || line.bar.is_none());
            let wide = self.room(line, place, width(shown), last);
            put(
                text,
                &mut left,
                (shown, wide, place.align, i > 0),
                self.style(line, *tone),
            );
        }
        if let Kind::Totals(label) = &line.kind
            && !self.places.iter().any(|p| p.grows)
        {
            let style = if self.color { BOLD } else { "" };
            put(text, &mut left, (label, width(label), Align::Left, true), style);
        }
        if let (Some((room, greatest)), Some(figure)) = (self.bars, line.bar) {
            let bar = bar(figure / greatest, room, self.ascii);
            let style = if self.color { CYAN } else { "" };
            put(text, &mut left, (&bar, width(&bar), Align::Left, true), style);
        }
    }

    /// How wide a cell is written: the last word of a line is not padded, and a command is whole where
    /// there is no terminal to fit.
    fn room(&self, line: &Line, place: Place, content: usize, last: bool) -> usize {
        match (place.grows, last, place.align) {
            (true, ..) if line.bar.is_some() && self.total.is_none() => place.width,
            (true, true, _) => content,
            (true, false, _) if self.total.is_none() => place.width.max(content),
            (false, true, Align::Left) => place.width.min(content),
            _ => place.width,
        }
    }

    const fn style(&self, line: &Line, tone: CellStyle) -> &'static str {
        match (&line.kind, tone) {
            _ if !self.color => "",
            (Kind::Heading | Kind::Totals(_), _) => BOLD,
            (Kind::Row, CellStyle::Zero | CellStyle::Missing) => DIM,
            (Kind::Row, CellStyle::Plain | CellStyle::Up | CellStyle::Down | CellStyle::Chart | CellStyle::Leak) => "",
        }
    }
}

/// Writes a cell, with the gap before it, in what is left of the line.
fn put(text: &mut String, left: &mut usize, (cell, wide, align, gap): (&str, usize, Align, bool), style: &str) {
    let before = usize::from(gap).min(*left);
    let wide = wide.min(*left - before);
    *left -= before + wide;
    let styled = !style.is_empty() && !cell.trim().is_empty();
    if styled {
        text.push_str(style);
    }
    text.extend(std::iter::repeat_n(' ', before));
    if cell.is_ascii() && cell.len() <= wide {
        let pad = std::iter::repeat_n(' ', wide - cell.len());
        match align {
            Align::Left => {
                text.push_str(cell);
                text.extend(pad);
            }
            Align::Right => {
                text.extend(pad);
                text.push_str(cell);
            }
        }
    } else {
        text.push_str(&fit(cell, wide, align));
    }
    if styled {
        text.push_str(PLAIN);
    }
}
