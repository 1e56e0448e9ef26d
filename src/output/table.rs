//! Chosen rows as a table of text.
//!
//! ```text
//!   PID USER     SWAP   USS   PSS   RSS COMMAND
//!  2113 alice     12M  1.9G  2.0G  2.2G python3 train.py
//!   812 postgres    -     -     -     - postgres: checkpointer
//!                 12M  1.9G  2.0G  2.2G 2 processes, partial: 1 permission denied
//! ```

use std::io::{self, Write};

use super::cells::{self, Written};
use super::layout::{Layout, Line};
use super::rows::{Item, Rows};
use crate::columns::{Column, ColumnId, Needs, layout};
use crate::units::Units;

/// How rows are written.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    /// How bytes are written.
    pub units: Units,
    /// Bytes are written as a share of this many, the machine's RAM.
    pub percent_of: Option<u64>,
    /// The terminal's columns: no line is longer. `None` writes every command whole.
    pub width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub color: bool,
    /// Guides and bars in nothing but ASCII.
    pub ascii: bool,
    /// The column that says what a row is, and its title, where that is not the usual one: it takes what
    /// width is left over.
    pub name: Option<(ColumnId, &'static str)>,
    /// With a line of titles.
    pub heading: bool,
    /// With a row of totals.
    pub totals: bool,
    /// This column drawn as bars beside the rows.
    pub bars: Option<ColumnId>,
    /// A line before it all: when it was, say. Safe to print.
    pub caption: Option<String>,
}

impl Default for TableOptions {
    /// The default columns in automatic units, plain and of any width.
    fn default() -> Self {
        Self {
            columns: layout::PS.to_vec(),
            units: Units::Auto,
            percent_of: None,
            width: None,
            color: false,
            ascii: false,
            name: None,
            heading: true,
            totals: true,
            bars: None,
            caption: None,
        }
    }
}

/// Returns the columns that one snapshot alone can fill: no changes, rates or histories.
pub fn columns_of_one_snapshot() -> impl Iterator<Item = ColumnId> {
    ColumnId::all().filter(|id| !id.get().needs.contains(Needs::HISTORY))
}

/// Writes the titles, the rows in their order, and the totals. All of it is safe to print.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut dyn Write, rows: &Rows<'_>, options: &TableOptions) -> io::Result<()> {
    let columns: Vec<&Column> = options.columns.iter().map(|id| id.get()).collect();
    let written = Written::new(options);
    let mut lines = Vec::with_capacity(rows.items().len() + 2);
    if options.heading {
        lines.push(Line::heading(&cells::titles(options)));
    }
    lines.extend(rows.items().map(|item| {
        let mut line = Line::row(&cells::row(&columns, &item, &written));
        line.bar = options.bars.and_then(|column| figure(column, &item));
        line
    }));
    if options.totals {
        lines.push(Line::totals(
            &cells::total(&columns, &rows.total(), &written),
            rows.label(),
        ));
    }
    caption(out, options)?;
    Layout::new(&columns, &lines, options).write_all(out, &lines)
}

/// The line that stands before a table.
pub(super) fn caption(out: &mut dyn Write, options: &TableOptions) -> io::Result<()> {
    match &options.caption {
        Some(text) if options.color => writeln!(out, "\x1b[1m{text}\x1b[0m"),
        Some(text) => writeln!(out, "{text}"),
        None => Ok(()),
    }
}

fn figure(column: ColumnId, item: &Item<'_>) -> Option<f64> {
    (column.get().value)(&item.row).number().filter(|x| *x > 0.0)
}
