//! Chosen rows as a table of text.
//!
//! ```text
//!   PID USER     SWAP   USS   PSS   RSS COMMAND
//!  2113 alice     12M  1.9G  2.0G  2.2G python3 train.py
//!   812 postgres    -     -     -     - postgres: checkpointer
//!                 12M  1.9G  2.0G  2.2G 2 processes, partial: 1 permission denied
//! ```

use std::io::{self, Write};

use super::OutputStyle;
use super::text_table::{BESIDE_BARS, TextColumn, TextTable, value_cell, word};
use crate::columns::{Cell, CellStyle, Column, ColumnId, Label, Needs, Row, Unit, Value, layout};
use crate::group::GroupBy;
use crate::query::{Rows, ShownRow};
use crate::units::counted;

/// Options of a table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    /// Style of the text. Without a terminal every command is written whole.
    pub style: OutputStyle,
    /// The machine's RAM in bytes, if bytes are written as a share of it.
    pub percent_of: Option<u64>,
    /// The column that says what a row is, and its title, where that is not the usual one: it takes what
    /// width is left over.
    pub name: Option<(ColumnId, &'static str)>,
    /// With a line of titles.
    pub heading: bool,
    /// With a row of totals.
    pub totals: bool,
    /// The column drawn as bars beside the rows.
    pub bars: Option<ColumnId>,
    /// A line before the table, such as its time; safe to print.
    pub caption: Option<String>,
}

impl Default for TableOptions {
    /// The default columns in automatic units, plain and of any width.
    fn default() -> Self {
        Self {
            columns: layout::PS.to_vec(),
            style: OutputStyle::default(),
            percent_of: None,
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
/// Errors of `out`.
pub fn write(out: &mut dyn Write, rows: &Rows<'_>, options: &TableOptions) -> io::Result<()> {
    let columns: Vec<&Column> = options.columns.iter().map(|id| id.get()).collect();
    let mut table = options.text_table([]);
    if options.heading {
        let titles = options.columns.iter().map(|id| word(options.title(*id)));
        table.push_heading(&titles.collect::<Vec<_>>());
    }
    for shown in rows.shown() {
        let figure = |column: ColumnId| (column.get().value)(&shown.row).number().filter(|x| *x > 0.0);
        table.push_with_bar(&options.row_cells(&columns, &shown), options.bars.and_then(figure));
    }
    if options.totals {
        table.push_totals(&options.cells(&columns, &rows.total()), totals_label(rows));
    }
    options.write_caption(out)?;
    table.write(out, &options.style)
}

/// Returns how many rows pass, and of how many processes: `412 processes`, `31 groups of 412 processes`.
pub fn count_label(rows: &Rows<'_>) -> String {
    let processes = counted(rows.totals().count as u64, "process");
    let passing = rows.selection().count() as u64;
    match rows.selection().by() {
        None => processes,
        Some(GroupBy::Mapping) => counted(passing, "mapping"),
        Some(_) => format!("{} of {processes}", counted(passing, "group")),
    }
}

/// Returns what the totals are the sums of: `412 processes, 10 shown, partial: 30 permission denied, 2 timed out`.
fn totals_label(rows: &Rows<'_>) -> String {
    let mut parts = vec![count_label(rows)];
    let shown = rows.shown().filter(|shown| shown.passes).count();
    if shown < rows.selection().count() {
        parts.push(format!("{shown} shown"));
    }
    parts.extend(partial_label(rows));
    parts.join(", ")
}

/// Returns why the sums are too small: `partial: 30 permission denied, 2 timed out`.
pub fn partial_label(rows: &Rows<'_>) -> Option<String> {
    let reasons: Vec<String> = rows.hidden().iter().map(|(why, n)| format!("{n} {why}")).collect();
    (!reasons.is_empty()).then(|| format!("partial: {}", reasons.join(", ")))
}

/// Words longer than this are cut, but for those of the column that grows.
const WIDEST_WORD: usize = 64;
/// A column that grows and is not the last is padded to this, and written whole where it is longer.
const WIDEST_COMMAND: usize = 160;

impl TableOptions {
    /// Returns an empty table with these columns before those chosen.
    pub(super) fn text_table(&self, before: impl IntoIterator<Item = TextColumn>) -> TextTable {
        let widest_command = match (self.bars, self.style.width) {
            (Some(_), None) => BESIDE_BARS,
            _ => WIDEST_COMMAND,
        };
        let columns = self.columns.iter().map(|id| {
            let (column, grows) = (id.get(), self.grows(id.get()));
            TextColumn {
                align: column.align(),
                grows,
                min: column.width.into(),
                max: if grows { widest_command } else { WIDEST_WORD },
            }
        });
        TextTable::new(before.into_iter().chain(columns), 1).with_bars(self.bars.is_some())
    }

    /// Writes the line that stands before the table.
    pub(super) fn write_caption(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.caption {
            Some(text) if self.style.color => writeln!(out, "\x1b[1m{text}\x1b[0m"),
            Some(text) => writeln!(out, "{text}"),
            None => Ok(()),
        }
    }

    /// Returns what stands over a column.
    pub(super) fn title(&self, id: ColumnId) -> &'static str {
        match self.name {
            Some((name, title)) if name == id => title,
            _ => id.get().title,
        }
    }

    fn grows(&self, column: &Column) -> bool {
        column.grows || self.name.is_some_and(|(id, _)| id.get().id == column.id)
    }

    /// Returns the cells of a row; in a tree its guide stands before what names it.
    pub(super) fn row_cells(&self, columns: &[&Column], shown: &ShownRow<'_>) -> Vec<Cell> {
        let mut cells = self.cells(columns, &shown.row);
        if !shown.guide.is_empty()
            && let Some(at) = columns.iter().position(|c| c.label == Label::Process)
        {
            if self.style.ascii {
                cells[at].text.insert_str(0, &ascii_guide(shown.guide));
            } else {
                cells[at].text.insert_str(0, shown.guide);
            }
        }
        cells
    }

    pub(super) fn cells(&self, columns: &[&Column], row: &Row<'_>) -> Vec<Cell> {
        columns.iter().map(|c| self.cell(c, &(c.value)(row))).collect()
    }

    fn cell(&self, column: &Column, value: &Value<'_>) -> Cell {
        let room = match column.unit {
            Unit::Text if self.grows(column) => self.style.width.unwrap_or(usize::MAX),
            Unit::Text => WIDEST_WORD,
            // Widths follow what is written, so that figures are not shortened.
            _ => usize::from(column.width).max(7),
        };
        self.percent(value)
            .unwrap_or_else(|| value_cell(value, self.style.units, room))
    }

    /// Returns bytes as a share of the RAM, if that is asked for and there are any.
    fn percent(&self, value: &Value<'_>) -> Option<Cell> {
        let all = (self.percent_of? as f64).max(1.0);
        let (bytes, style) = match value {
            Value::Bytes(n @ 1..) => (*n as f64, CellStyle::Plain),
            Value::Delta(n @ 1..) => (*n as f64, CellStyle::Up),
            Value::Delta(n @ ..=-1) => (*n as f64, CellStyle::Down),
            _ => return None,
        };
        let sign = if style == CellStyle::Up { "+" } else { "" };
        Some(Cell {
            text: format!("{sign}{:.2}%", 100.0 * bytes / all),
            style,
        })
    }

    /// Returns a change in bytes a second.
    pub(super) fn rate_cell(&self, per_second: f64) -> Cell {
        let value = Value::Delta(per_second.round() as i64);
        let mut cell = self
            .percent(&value)
            .unwrap_or_else(|| value_cell(&value, self.style.units, 7));
        // What cannot be seen in these units is no change.
        if cell.text.chars().all(|c| "+-0.KMG%".contains(c)) {
            "0".clone_into(&mut cell.text);
            cell.style = CellStyle::Zero;
        }
        cell
    }
}

/// Returns the lines of a tree in nothing but ASCII.
fn ascii_guide(guide: &str) -> String {
    let letter = |c| match c {
        '│' | '├' => '|',
        '└' => '`',
        '─' => '-',
        other => other,
    };
    guide.chars().map(letter).collect()
}
