//! Small tables of cells, each column as wide as what it holds.

use std::io::{self, Write};

use crate::columns::{Cell, CellStyle};
use crate::text::{Align, fit, width};

/// How a grid is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paper {
    /// The terminal's columns: no line is longer.
    pub(super) width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub(super) color: bool,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Heading,
    Row,
    Totals,
}

/// Lines of cells.
#[derive(Debug)]
pub(super) struct Grid {
    aligns: Vec<Align>,
    lines: Vec<(Kind, Vec<Cell>)>,
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// A cell of our own words.
pub(super) fn word(text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        style: CellStyle::Plain,
    }
}

impl Grid {
    /// An empty one under these titles.
    pub(super) fn new(titles: impl IntoIterator<Item = (&'static str, Align)>) -> Self {
        let (titles, aligns): (Vec<Cell>, Vec<Align>) = titles.into_iter().map(|(t, a)| (word(t), a)).unzip();
        Self {
            aligns,
            lines: vec![(Kind::Heading, titles)],
        }
    }

    pub(super) fn push(&mut self, kind: Kind, cells: Vec<Cell>) {
        self.lines.push((kind, cells));
    }

    /// Writes it. Only its last column is cut to fit the paper, and all lines where that is not enough;
    /// nothing blank is at the end of a line.
    pub(super) fn write(&self, out: &mut dyn Write, paper: Paper) -> io::Result<()> {
        let widest = |at: usize| {
            let cells = self.lines.iter().filter_map(|(_, cells)| cells.get(at));
            cells.map(|c| width(&c.text)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.aligns.len()).map(widest).collect();
        for (kind, cells) in &self.lines {
            let mut text = String::new();
            let mut left = paper.width.unwrap_or(usize::MAX);
            for (at, cell) in cells.iter().enumerate() {
                let gap = if at == 0 { 0 } else { 2.min(left) };
                left -= gap;
                let last = at + 1 == cells.len() && self.aligns[at] == Align::Left;
                let wide = if last { width(&cell.text) } else { widths[at] }.min(left);
                left -= wide;
                text.extend(std::iter::repeat_n(' ', gap));
                let shown = fit(&cell.text, wide, self.aligns[at]);
                match style(*kind, cell.style).filter(|_| paper.color && !shown.trim().is_empty()) {
                    Some(style) => text.extend([style, &shown, PLAIN]),
                    None => text.push_str(&shown),
                }
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

const fn style(kind: Kind, tone: CellStyle) -> Option<&'static str> {
    match (kind, tone) {
        (Kind::Heading | Kind::Totals, _) => Some(BOLD),
        (Kind::Row, CellStyle::Zero | CellStyle::Missing) => Some(DIM),
        (Kind::Row, CellStyle::Plain | CellStyle::Up | CellStyle::Down | CellStyle::Chart | CellStyle::Leak) => None,
    }
}
