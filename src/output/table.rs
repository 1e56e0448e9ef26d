//! A snapshot's processes as a table of text.
//!
//! ```text
//!   PID USER     SWAP   USS   PSS   RSS COMMAND
//!  2113 alice     12M  1.9G  2.0G  2.2G python3 train.py
//!   812 postgres    -     -     -     - postgres: checkpointer
//!                 12M  1.9G  2.0G  2.2G 2 processes, partial: 1 permission denied
//! ```

use std::io::{self, Write};

use super::layout::{Layout, Line};
use crate::columns::{Cell, Column, ColumnId, RowSubject, Tone, Unit, cell, find};
use crate::model::filter::Filter;
use crate::model::sort::order;
use crate::model::{History, Missing, ProcessSample, Row, Snapshot, Totals};
use crate::units::Units;

/// What to write, and how.
#[derive(Clone, Debug)]
pub struct TableOptions<'a> {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    /// The column sorted by; what is unknown comes last.
    pub sort: ColumnId,
    /// Greatest first.
    pub descending: bool,
    /// Which processes.
    pub filter: &'a Filter,
    /// Kernel threads, which have no memory of their own, are listed too.
    pub kernel_threads: bool,
    /// No more rows than that; the totals are those of all that match.
    pub top: Option<usize>,
    /// How bytes are written.
    pub units: Units,
    /// The terminal's columns: no line is longer. `None` writes every command whole.
    pub width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub color: bool,
    /// With a row of totals.
    pub totals: bool,
    /// What changes and rates are taken from, where more than one snapshot was seen.
    pub history: Option<&'a History>,
}

impl<'a> TableOptions<'a> {
    /// The default columns, greatest PSS first, in automatic units, plain and of any width.
    pub fn new(filter: &'a Filter) -> Self {
        let columns: Vec<_> = DEFAULT.iter().filter_map(|id| find(id)).collect();
        Self {
            sort: find("pss").unwrap_or(columns[0]),
            columns,
            descending: true,
            filter,
            kernel_threads: false,
            top: None,
            units: Units::Auto,
            width: None,
            color: false,
            totals: true,
            history: None,
        }
    }
}

const DEFAULT: [&str; 7] = ["pid", "user", "swap", "uss", "pss", "rss", "command"];

/// The columns that one snapshot alone can fill: no changes, rates or histories.
pub fn columns_of_one_snapshot() -> impl Iterator<Item = ColumnId> {
    ColumnId::all().filter(|id| match id.get().unit {
        Unit::Bytes | Unit::Count | Unit::Seconds | Unit::Text => true,
        Unit::Delta | Unit::Growth | Unit::PerSecond | Unit::Share | Unit::Chart => false,
    })
}

/// Writes the headings, the rows that match in their order, and the totals. All of it is safe to print.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut dyn Write, snapshot: &Snapshot, options: &TableOptions<'_>) -> io::Result<()> {
    let series = |sample: &ProcessSample| options.history.and_then(|h| h.get(sample.id));
    let row = |sample| Row::of(sample, series(sample), snapshot);
    let matching: Vec<&ProcessSample> = snapshot
        .rows()
        .iter()
        .filter(|s| options.kernel_threads || !s.stat.is_kernel_thread())
        .filter(|s| options.filter.matches(&RowSubject(row(s))))
        .collect();
    let sort = options.sort.get();
    let keys: Vec<_> = matching.iter().map(|s| sort.sort_key(&row(s))).collect();
    let mut shown = order(&keys, options.descending);
    shown.truncate(options.top.unwrap_or(usize::MAX));

    let columns: Vec<&Column> = options.columns.iter().map(|id| id.get()).collect();
    let mut lines = vec![heading(&columns)];
    lines.extend(
        shown
            .iter()
            .map(|i| Line::Row(cells(&columns, &row(matching[*i]), options))),
    );
    if options.totals {
        let totals = Totals::of(matching.iter().copied(), |s| series(s).map(|s| *s.change()));
        let label = label(&matching, shown.len());
        lines.push(Line::Totals(cells(&columns, &totals.row(snapshot), options), label));
    }
    let layout = Layout::new(&columns, &lines, options.width);
    for line in &lines {
        layout.write(out, line, options.color)?;
    }
    Ok(())
}

fn heading(columns: &[&Column]) -> Line {
    let title = |c: &&Column| Cell {
        text: c.title.to_owned(),
        tone: Tone::Plain,
    };
    Line::Heading(columns.iter().map(title).collect())
}

fn cells(columns: &[&Column], row: &Row<'_>, options: &TableOptions<'_>) -> Vec<Cell> {
    let write = |column: &&Column| {
        let room = match column.unit {
            Unit::Text if column.grows => options.width.unwrap_or(usize::MAX),
            Unit::Text => Layout::WIDEST_WORD,
            // Widths follow what is written, so that figures are not shortened.
            _ => usize::from(column.width).max(7),
        };
        let mut cell = cell(&(column.value)(row), options.units, room);
        if cell.tone == Tone::Missing {
            "-".clone_into(&mut cell.text);
        }
        cell
    };
    columns.iter().map(write).collect()
}

/// `412 processes, 10 shown, partial: 30 permission denied, 2 timed out`.
fn label(matching: &[&ProcessSample], shown: usize) -> String {
    let mut parts = vec![match matching.len() {
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    }];
    if shown < matching.len() {
        parts.push(format!("{shown} shown"));
    }
    let mut hidden: Vec<Missing> = matching
        .iter()
        .filter_map(|s| s.walk.err())
        .filter(|e| e.hides_memory())
        .collect();
    hidden.sort_unstable();
    for (i, same) in hidden.chunk_by(|a, b| a == b).enumerate() {
        let partial = if i == 0 { "partial: " } else { "" };
        parts.push(format!("{partial}{} {}", same.len(), same[0]));
    }
    parts.join(", ")
}
