//! A table of text. Its columns are as wide as their content.
//!
//! Commands print all their tables with it, and define how each column behaves.

use std::io::{self, Write};

use super::OutputStyle;
use crate::columns::{Cell, CellStyle, Value, cell};
use crate::text::{Align, fit, truncate, width, wrap};
use crate::units::Units;

#[derive(Clone, Copy, Debug)]
pub(super) struct TextColumn {
    pub(super) align: Align,
    /// True for the column that shrinks if the terminal is too narrow, and that is written in full without a terminal.
    pub(super) grows: bool,
    /// True for the column with the label of the totals.
    pub(super) has_label: bool,
    /// Minimum width of a column that shrinks.
    pub(super) min: usize,
    pub(super) max: usize,
}

impl TextColumn {
    /// Returns a column as wide as its content.
    pub(super) const fn new(align: Align) -> Self {
        Self {
            align,
            grows: false,
            has_label: false,
            min: 0,
            max: usize::MAX,
        }
    }
}

#[derive(Debug)]
pub(super) struct TextTable {
    columns: Vec<TextColumn>,
    gap: usize,
    /// True if lines may have bars.
    bars: bool,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LineKind {
    Heading,
    Row,
    /// Sums, and a label for the rows that they cover.
    Totals(String),
    /// Words about the row above.
    Note(String),
}

#[derive(Clone, Debug)]
struct Line {
    kind: LineKind,
    /// The text of all cells in one string, since there may be very many lines.
    text: Box<str>,
    /// The end of each cell's text, and the cell's style.
    cells: Box<[(u32, CellStyle)]>,
    /// The figure that the line's bar shows.
    bar: Option<f64>,
}

impl Line {
    fn new(kind: LineKind, cells: &[Cell], bar: Option<f64>) -> Self {
        let text: String = cells.iter().map(|cell| cell.text.as_str()).collect();
        let ends = cells.iter().scan(0_usize, |end, cell| {
            *end += cell.text.len();
            Some((u32::try_from(*end).unwrap_or(u32::MAX), cell.style))
        });
        Self {
            kind,
            cells: ends.collect(),
            text: text.into(),
            bar,
        }
    }

    fn text(&self, column: usize, has_label: bool) -> Option<&str> {
        if let (LineKind::Totals(label), true) = (&self.kind, has_label) {
            return Some(label);
        }
        let end = self.cells.get(column)?.0 as usize;
        let start = column.checked_sub(1).map_or(0, |before| self.cells[before].0 as usize);
        self.text.get(start..end)
    }
}

/// Indentation of a note, in blanks.
const INDENT: usize = 2;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// The width of a growing column, and of bars beside it, without a terminal.
pub(super) const BESIDE_BARS: usize = 40;
/// Minimum width that a growing column leaves to the bars.
const LEAST_BARS: usize = 24;

impl TextTable {
    /// Returns an empty table with `gap` blanks between its columns.
    pub(super) fn new(columns: impl IntoIterator<Item = TextColumn>, gap: usize) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            gap,
            bars: false,
            lines: Vec::new(),
        }
    }

    /// Returns a small table with these titles. No column grows, and text that is too wide is cut on the right.
    pub(super) fn titled(titles: impl IntoIterator<Item = (&'static str, Align)>) -> Self {
        let (titles, columns): (Vec<Cell>, Vec<TextColumn>) = titles
            .into_iter()
            .map(|(title, align)| (word(title), TextColumn::new(align)))
            .unzip();
        let mut table = Self::new(columns, 2);
        table.push_heading(&titles);
        table
    }

    pub(super) fn with_bars(mut self, bars: bool) -> Self {
        self.bars = bars;
        self
    }

    pub(super) fn push_heading(&mut self, cells: &[Cell]) {
        self.lines.push(Line::new(LineKind::Heading, cells, None));
    }

    pub(super) fn push(&mut self, cells: &[Cell]) {
        self.push_with_bar(cells, None);
    }

    pub(super) fn push_with_bar(&mut self, cells: &[Cell], bar: Option<f64>) {
        self.lines.push(Line::new(LineKind::Row, cells, bar));
    }

    /// Adds a line of sums. Without a column for the label, that is after the last one.
    pub(super) fn push_totals(&mut self, cells: &[Cell], label: impl Into<String>) {
        self.lines.push(Line::new(LineKind::Totals(label.into()), cells, None));
    }

    /// Adds a note on the previous row, on separate lines.
    pub(super) fn push_note(&mut self, text: impl Into<String>) {
        self.lines.push(Line::new(LineKind::Note(text.into()), &[], None));
    }

    /// Writes the table. No line is wider than the terminal or ends in a blank.
    pub(super) fn write(&self, out: &mut dyn Write, style: &OutputStyle) -> io::Result<()> {
        let layout = Layout::new(self, style);
        let mut text = String::new();
        self.lines.iter().try_for_each(|line| {
            text.clear();
            if let LineKind::Note(words) = &line.kind {
                layout.write_note(&mut text, words);
            } else {
                layout.write_line(&mut text, line);
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
            out.write_all(text.as_bytes())
        })
    }
}

/// The widths of a table's columns on one terminal.
struct Layout<'t> {
    table: &'t TextTable,
    style: &'t OutputStyle,
    widths: Vec<usize>,
    /// Width of the longest bar, and its figure.
    longest_bar: (usize, f64),
}

impl<'t> Layout<'t> {
    fn new(table: &'t TextTable, style: &'t OutputStyle) -> Self {
        let widest = |(i, column): (usize, &TextColumn)| {
            let texts = table.lines.iter().filter_map(|line| line.text(i, column.has_label));
            texts.map(width).max().unwrap_or(0).min(column.max)
        };
        let mut widths: Vec<usize> = table.columns.iter().enumerate().map(widest).collect();
        let used = |widths: &[usize]| widths.iter().map(|width| width + table.gap).sum::<usize>();
        let wanted = if table.bars {
            used(&widths) + LEAST_BARS
        } else {
            used(&widths).saturating_sub(table.gap)
        };
        let excess = wanted.saturating_sub(style.width.unwrap_or(usize::MAX));
        for (width, column) in widths.iter_mut().zip(&table.columns).filter(|(_, c)| c.grows) {
            *width = width.saturating_sub(excess).max(column.min);
        }
        let left = style
            .width
            .map_or(BESIDE_BARS, |total| total.saturating_sub(used(&widths)));
        let greatest = table.lines.iter().filter_map(|line| line.bar).fold(0.0, f64::max);
        Self {
            table,
            style,
            widths,
            longest_bar: (left, greatest),
        }
    }

    fn write_line(&self, text: &mut String, line: &Line) {
        let mut left = self.style.width.unwrap_or(usize::MAX);
        let columns = &self.table.columns;
        for (i, (_, style)) in line.cells.iter().enumerate() {
            let shown = line.text(i, columns[i].has_label).unwrap_or_default();
            let last = i + 1 == line.cells.len() && line.bar.is_none();
            let wide = self.cell_width(line, i, width(shown), last);
            let gap = if i == 0 { 0 } else { self.table.gap };
            let escape = self.escape(line, *style);
            put(text, &mut left, gap, (shown, wide, columns[i].align), escape);
        }
        if let LineKind::Totals(label) = &line.kind
            && !columns.iter().any(|column| column.has_label)
        {
            let escape = self.escape(line, CellStyle::Plain);
            let cell = (label.as_str(), width(label), Align::Left);
            put(text, &mut left, self.table.gap, cell, escape);
        }
        if let Some(figure) = line.bar {
            let (room, greatest) = self.longest_bar;
            let bar = bar(figure / greatest, room, self.style.ascii);
            let escape = if self.style.color { CYAN } else { "" };
            let cell = (bar.as_str(), width(&bar), Align::Left);
            put(text, &mut left, self.table.gap, cell, escape);
        }
    }

    /// Writes a note on as many lines as needed.
    fn write_note(&self, text: &mut String, words: &str) {
        let total = self.style.width.unwrap_or(usize::MAX);
        let room = total.saturating_sub(INDENT).max(1);
        for line in wrap(words, room) {
            text.extend(std::iter::repeat_n(' ', INDENT.min(total - 1)));
            text.push_str(&truncate(&line, room));
            text.push('\n');
        }
    }

    /// Returns the written width of a cell. The last word of a line is not padded, and a growing column is written in
    /// full without a terminal.
    fn cell_width(&self, line: &Line, at: usize, content: usize, last: bool) -> usize {
        let (column, width) = (self.table.columns[at], self.widths[at]);
        let unbounded = self.style.width.is_none();
        match (column.grows, last, column.align) {
            (true, ..) if line.bar.is_some() && unbounded => width,
            (true, true, _) => content,
            (true, false, _) if unbounded => width.max(content),
            (false, true, Align::Left) => width.min(content),
            _ => width,
        }
    }

    const fn escape(&self, line: &Line, style: CellStyle) -> &'static str {
        match (&line.kind, style) {
            _ if !self.style.color => "",
            (LineKind::Heading | LineKind::Totals(_), _) => BOLD,
            (LineKind::Row, CellStyle::Zero | CellStyle::Missing | CellStyle::Estimate) | (LineKind::Note(_), _) => DIM,
            (
                LineKind::Row,
                CellStyle::Plain | CellStyle::Up | CellStyle::Down | CellStyle::Chart | CellStyle::Leak,
            ) => "",
        }
    }
}

/// Writes the gap and a cell into the remaining width of the line.
fn put(text: &mut String, left: &mut usize, gap: usize, (cell, wide, align): (&str, usize, Align), escape: &str) {
    let gap = gap.min(*left);
    let wide = wide.min(*left - gap);
    *left -= gap + wide;
    let escaped = !escape.is_empty() && wide > 0 && !cell.trim().is_empty();
    text.extend(std::iter::repeat_n(' ', gap));
    if escaped {
        text.push_str(escape);
    }
    if cell.is_ascii() && cell.len() <= wide {
        // Fast path for the common case, without an allocation.
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
    if escaped {
        text.push_str(PLAIN);
    }
}

/// Eighths of a character, from one to seven.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Returns a bar for `share` (0 to 1) of `width` columns, precise to an eighth of a column. Any share above 0 is
/// visible. With `ascii`, the bar consists of whole `#`.
pub fn bar(share: f64, width: usize, ascii: bool) -> String {
    if share.is_nan() || share <= 0.0 || width == 0 {
        return String::new();
    }
    let share = share.min(1.0);
    if ascii {
        return "#".repeat(((share * width as f64).round() as usize).max(1));
    }
    let eighths = ((share * width as f64 * 8.0).round() as usize).max(1);
    let mut text = "█".repeat(eighths / 8);
    text.extend(EIGHTHS.get((eighths % 8).wrapping_sub(1)));
    text
}

/// Returns a cell of zmtop's own text.
pub(super) fn word(text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        style: CellStyle::Plain,
    }
}

/// Returns a value as a cell of at most about `width` columns. An unknown value is `-`, since a printed table is never
/// updated.
pub(super) fn value_cell(value: &Value<'_>, units: Units, width: usize) -> Cell {
    let mut cell = cell(value, units, width);
    if cell.style == CellStyle::Missing {
        "-".clone_into(&mut cell.text);
    }
    cell
}
