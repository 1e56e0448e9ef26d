//! Selected columns of selected rows: as a table of text, and as data.
//!
//! ```text
//!   PID USER     SWAP   USS   PSS   RSS COMMAND
//!  2113 alice     12M  1.9G  2.0G  2.2G python3 train.py
//!   812 postgres    -     -     -     - postgres: checkpointer
//!                 12M  1.9G  2.0G  2.2G 2 processes, partial: 1 permission denied
//! ```

use std::io::{self, Write};

use super::OutputStyle;
use super::data::{DataTable, Node, Object, UNREAD, described_object, of_columns};
use super::text_table::{BESIDE_BARS, TextColumn, TextTable, value_cell, word};
use crate::columns::{
    COLUMNS, Cell, CellStyle, Column, ColumnId, DataValue, Label, Needs, Row, Unit, Value, cell, layout, mapping,
};
use crate::group::GroupBy;
use crate::model::Snapshot;
use crate::query::{Rows, ShownRow};
use crate::record;
use crate::schema::{self, Field, Schema};
use crate::units::{Units, counted};

#[derive(Clone, Debug)]
pub struct TableOptions {
    pub columns: Vec<ColumnId>,
    /// Style of the text. Without a terminal, commands are written in full.
    pub style: OutputStyle,
    /// The machine's RAM in bytes, to write bytes as a share of it; `None` to write bytes.
    pub percent_of: Option<u64>,
    /// The column that names a row, with its title, if it is not the default one. It fills the remaining width.
    pub name: Option<(ColumnId, &'static str)>,
    pub heading: bool,
    pub totals: bool,
    /// The column drawn as bars beside the rows.
    pub bars: Option<ColumnId>,
    /// A line before the table, such as its time; safe to print.
    pub caption: Option<String>,
}

impl Default for TableOptions {
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

/// Returns the columns that a single snapshot can fill: no changes, rates or histories.
pub fn columns_of_one_snapshot() -> impl Iterator<Item = ColumnId> {
    ColumnId::all().filter(|id| !id.get().needs.is_beyond_one_snapshot())
}

/// Returns the columns of rows that are data, unless some are asked for: all that a single snapshot has without reading more.
/// Columns that name a row come first.
pub fn columns_of_data() -> Vec<ColumnId> {
    let costs_more = |id: &ColumnId| id.get().needs.within(Needs::ON_DEMAND) != Needs::NOTHING;
    with_names(columns_of_one_snapshot().filter(|id| !costs_more(id)).collect())
}

/// Puts the columns that name a process before these, in which they need not be.
pub fn with_names(columns: Vec<ColumnId>) -> Vec<ColumnId> {
    let others = columns.into_iter().filter(|id| !layout::NAMES.contains(id));
    layout::NAMES.into_iter().chain(others).collect()
}

/// Writes the titles, the rows in their order, and the totals. All of it is safe to print.
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

/// Returns the number of rows that pass, and of processes: `412 processes`, `31 groups of 412 processes`.
pub fn count_label(rows: &Rows<'_>) -> String {
    let processes = counted(rows.selection.totals.count as u64, "process");
    let passing = rows.selection.count() as u64;
    match rows.selection.by() {
        None => processes,
        Some(GroupBy::Mapping) => counted(passing, "mapping"),
        Some(_) => format!("{} of {processes}", counted(passing, "group")),
    }
}

/// Returns what the totals cover: `412 processes, 10 shown, partial: 30 permission denied, 2 timed out`.
fn totals_label(rows: &Rows<'_>) -> String {
    let mut parts = vec![count_label(rows)];
    let shown = rows.shown().filter(|shown| shown.passes).count();
    if shown < rows.selection.count() {
        parts.push(format!("{shown} shown"));
    }
    parts.extend(partial_label(rows));
    parts.join(", ")
}

/// Returns why the sums are too small: `partial: 30 permission denied, 2 timed out`.
pub fn partial_label(rows: &Rows<'_>) -> Option<String> {
    let reasons: Vec<String> = rows.hidden.iter().map(|(why, n)| format!("{n} {why}")).collect();
    (!reasons.is_empty()).then(|| format!("partial: {}", reasons.join(", ")))
}

/// Maximum width of a word, except in the column that grows.
const WIDEST_WORD: usize = 64;
/// A growing column that is not the last one is padded to this width. Longer text is written in full.
const WIDEST_COMMAND: usize = 160;

impl TableOptions {
    /// Returns an empty table of the `before` columns and the selected ones.
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
                has_label: grows,
                min: column.width.into(),
                max: if grows { widest_command } else { WIDEST_WORD },
            }
        });
        TextTable::new(before.into_iter().chain(columns), 1).with_bars(self.bars.is_some())
    }

    pub(super) fn write_caption(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.caption {
            Some(text) if self.style.color => writeln!(out, "\x1b[1m{text}\x1b[0m"),
            Some(text) => writeln!(out, "{text}"),
            None => Ok(()),
        }
    }

    pub(super) fn title(&self, id: ColumnId) -> &'static str {
        match self.name {
            Some((name, title)) if name == id => title,
            _ => id.get().title,
        }
    }

    fn grows(&self, column: &Column) -> bool {
        column.grows || self.name.is_some_and(|(id, _)| id.get().id == column.id)
    }

    /// Returns the cells of a row. In a tree, the guide precedes the row's name.
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
            // Column widths adapt to the content, so figures need not be shortened.
            _ => usize::from(column.width).max(7),
        };
        self.percent(value)
            .unwrap_or_else(|| value_cell(value, self.style.units, room))
    }

    /// Returns bytes as a share of the RAM if `percent_of` is set. Returns `None` for 0 and for unknown values.
    fn percent(&self, value: &Value<'_>) -> Option<Cell> {
        let all = (self.percent_of? as f64).max(1.0);
        let (bytes, sign) = match value {
            Value::Bytes(n @ 1..) => (*n as f64, ""),
            Value::AtMost(n @ 1..) | Value::Within(_, n @ 1..) => (*n as f64, "≤"),
            Value::AtLeast(n @ 1..) => (*n as f64, "≥"),
            Value::Delta(n @ 1.., _) => (*n as f64, "+"),
            Value::Delta(n @ ..=-1, _) => (*n as f64, ""),
            _ => return None,
        };
        Some(Cell {
            text: format!("{sign}{:.2}%", 100.0 * bytes / all),
            style: cell(value, Units::Bytes, usize::MAX).style,
        })
    }

    /// Returns a change in bytes per second.
    pub(super) fn rate_cell(&self, per_second: f64) -> Cell {
        let value = Value::Delta(per_second.round() as i64, 0);
        let mut cell = self
            .percent(&value)
            .unwrap_or_else(|| value_cell(&value, self.style.units, 7));
        // A change that rounds to 0 in these units is shown as no change.
        if cell.text.chars().all(|c| "+-0.KMG%".contains(c)) {
            "0".clone_into(&mut cell.text);
            cell.style = CellStyle::Zero;
        }
        cell
    }
}

/// Converts the lines of a tree to ASCII.
fn ascii_guide(guide: &str) -> String {
    let letter = |c| match c {
        '│' | '├' => '|',
        '└' => '`',
        '─' => '-',
        other => other,
    };
    guide.chars().map(letter).collect()
}

/// The schema's name. Fields are never removed or renamed, only added.
const SCHEMA: &str = "zmtop-table/1";
/// The field that a row of a tree has before the fields of its columns.
const DEPTH: &str = "depth";

/// The rows as data. Values are named by their column's id and are in its base unit: see [`DataValue`].
#[derive(Clone, Debug)]
pub struct RowTable<'a> {
    pub snapshot: &'a Snapshot,
    /// The kind of group that rows are; `None` if they are processes.
    pub by: Option<&'static str>,
    /// True if rows are a tree. Each then begins with its depth.
    pub is_tree: bool,
    /// The rows, each with its depth.
    pub rows: Vec<(usize, Row<'a>)>,
    pub totals: Option<Row<'a>>,
}

impl RowTable<'_> {
    /// Returns the table as one object. If a column is given twice, it appears once.
    pub fn document(&self, columns: &[&'static Column]) -> Object<'_> {
        let distinct = distinct(columns);
        let totals = self
            .totals
            .as_ref()
            .map(|row| put_values(Object::default(), row, &distinct));
        object_of(self, self.objects(columns), totals)
    }

    /// Returns the rows as objects.
    pub fn objects(&self, columns: &[&'static Column]) -> Vec<Object<'_>> {
        let distinct = distinct(columns);
        let rows = self.rows.iter().map(|(depth, row)| {
            let object = Object::default();
            let object = if self.is_tree {
                object.put(DEPTH, *depth)
            } else {
                object
            };
            put_values(object, row, &distinct)
        });
        rows.collect()
    }

    /// Returns the table as values named by the columns' ids.
    pub fn table(&self, columns: Vec<&'static Column>) -> DataTable<'_> {
        let names = columns.iter().map(|column| column.id);
        DataTable {
            names: Some(self.is_tree.then_some(DEPTH).into_iter().chain(names).collect()),
            rows: Box::new(self.rows.iter().map(move |(depth, row)| {
                let depth = self.is_tree.then_some(DataValue::Integer(*depth as u64));
                let values = columns.iter().map(|column| (column.value)(row).into_data());
                depth.into_iter().chain(values).collect()
            })),
        }
    }
}

/// Returns the columns without those given before. Every row has an `unread` field in any case, so a column of that name is
/// left out.
fn distinct(columns: &[&'static Column]) -> Vec<&'static Column> {
    let mut distinct: Vec<&Column> = Vec::with_capacity(columns.len());
    for column in columns {
        if column.id != UNREAD && !distinct.iter().any(|c| c.id == column.id) {
            distinct.push(column);
        }
    }
    distinct
}

fn put_values<'r>(object: Object<'r>, row: &'r Row<'r>, columns: &[&'static Column]) -> Object<'r> {
    let put = |object: Object<'r>, column: &&Column| object.put(column.id, (column.value)(row));
    columns.iter().fold(object, put).with_short_unread()
}

described_object! {
    fn object_of, fields<'t>(table: &'t RowTable<'_>, rows: Vec<Object<'t>>, totals: Option<Object<'t>>) -> Object<'t> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// When the snapshot was taken.
        "time": time() => record::time_text(table.snapshot.time),
        /// The name of the host.
        "host": foreign() => Node::bytes(&table.snapshot.host),
        /// The kind of group that rows are.
        "by": text().null("rows are processes") => table.by,
        /// The rows, in the requested order.
        "rows": list(object([vec![depth_field()], row_fields()].concat())) => rows,
        /// Sums over all rows that pass the filter.
        "totals": object(row_fields()).null("not requested, or without meaning") => totals,
    }
}

fn depth_field() -> Field {
    let depth = schema::count().absent("unless rows are a tree");
    Field::new(DEPTH, "Its depth in the tree.", depth)
}

fn row_fields() -> Vec<Field> {
    let mut fields = of_columns(COLUMNS);
    fields.extend(
        of_columns(mapping::COLUMNS)
            .into_iter()
            .filter(|field| COLUMNS.iter().all(|c| c.id != field.name)),
    );
    fields.push(Field::new(
        "unread",
        "Why values of the row are unknown: one reason for all, or reasons by column.",
        schema::unread(),
    ));
    fields
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "Selected columns of processes or groups. Written by `zmtop ps --format json`; `--format rows` writes its rows alone.",
        fields: fields(),
    }
}
