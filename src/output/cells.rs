//! Rows as cells.

use super::layout::Layout;
use super::rows::Item;
use super::table::TableOptions;
use crate::columns::{Cell, CellStyle, Column, ColumnId, Label, Row, Unit, Value, cell, layout};
use crate::units::Units;

/// How cells are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    units: Units,
    percent_of: Option<u64>,
    width: Option<usize>,
    ascii: bool,
    /// The column that says what a row is.
    name: Option<ColumnId>,
}

impl Written {
    pub(super) fn new(options: &TableOptions) -> Self {
        Self {
            units: options.units,
            percent_of: options.percent_of,
            width: options.width,
            ascii: options.ascii,
            name: options.name.map(|(id, _)| id),
        }
    }

    /// One value as a cell of its column.
    pub(super) fn cell(&self, column: &Column, value: &Value<'_>) -> Cell {
        let room = match column.unit {
            Unit::Text if column.grows || self.name.is_some_and(|id| id.get().id == column.id) => {
                self.width.unwrap_or(usize::MAX)
            }
            Unit::Text => Layout::WIDEST_WORD,
            // Widths follow what is written, so that figures are not shortened.
            _ => usize::from(column.width).max(7),
        };
        if let (Value::Bytes(n @ 1..), Some(all)) = (value, self.percent_of) {
            return Cell {
                text: percent(*n as f64, all),
                style: CellStyle::Plain,
            };
        }
        if let (Value::Delta(n), Some(all)) = (value, self.percent_of)
            && *n != 0
        {
            return Cell {
                text: format!("{}{}", if *n > 0 { "+" } else { "" }, percent(*n as f64, all)),
                style: if *n > 0 { CellStyle::Up } else { CellStyle::Down },
            };
        }
        let mut cell = cell(value, self.units, room);
        if cell.style == CellStyle::Missing {
            "-".clone_into(&mut cell.text);
        }
        cell
    }

    /// A change a second, in bytes.
    pub(super) fn rate(&self, per_second: f64) -> Cell {
        // What cannot be seen in these units is no change.
        let bytes = per_second.round() as i64;
        let mut cell = self.cell(layout::DPSS.get(), &Value::Delta(bytes));
        if cell
            .text
            .chars()
            .all(|c| matches!(c, '+' | '-' | '0' | '.' | 'K' | 'M' | 'G' | '%'))
        {
            "0".clone_into(&mut cell.text);
            cell.style = CellStyle::Zero;
        }
        cell
    }
}

fn percent(n: f64, all: u64) -> String {
    format!("{:.2}%", 100.0 * n / (all as f64).max(1.0))
}

/// What stands over a column.
pub(super) fn title(id: ColumnId, options: &TableOptions) -> &'static str {
    match options.name {
        Some((name, title)) if name == id => title,
        _ => id.get().title,
    }
}

pub(super) fn titles(options: &TableOptions) -> Vec<Cell> {
    let columns = options.columns.iter();
    columns.map(|id| plain(title(*id, options))).collect()
}

pub(super) fn plain(text: &str) -> Cell {
    Cell {
        text: text.to_owned(),
        style: CellStyle::Plain,
    }
}

/// A row; in a tree its guide stands before what names it.
pub(super) fn row(columns: &[&Column], item: &Item<'_>, written: &Written) -> Vec<Cell> {
    let mut cells = total(columns, &item.row, written);
    if !item.guide.is_empty()
        && let Some(at) = columns.iter().position(|c| names(c))
    {
        let guide = if written.ascii {
            ascii(item.guide)
        } else {
            item.guide.to_owned()
        };
        cells[at].text.insert_str(0, &guide);
    }
    cells
}

/// Whether a column says what a row is.
pub(super) fn names(column: &Column) -> bool {
    column.label == Label::Process
}

fn ascii(guide: &str) -> String {
    let letter = |c| match c {
        '│' | '├' => '|',
        '└' => '`',
        '─' => '-',
        other => other,
    };
    guide.chars().map(letter).collect()
}

pub(super) fn total(columns: &[&Column], row: &Row<'_>, written: &Written) -> Vec<Cell> {
    columns.iter().map(|c| written.cell(c, &(c.value)(row))).collect()
}
