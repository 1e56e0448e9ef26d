//! The columns, order and style of a report with one table, and that table as text and as data.

use super::OutputStyle;
use super::data::{DataTable, Object};
use super::text_table::{TextColumn, TextTable, value_cell, word};
use crate::columns::{Cell, Column, DataValue, Label, TableKind, order};
use crate::units::counted;

#[derive(Clone, Debug)]
pub struct ReportLayout<T: TableKind> {
    pub columns: Vec<&'static Column<T>>,
    /// The column sorted by; unknown values come last.
    pub sort: &'static Column<T>,
    pub descending: bool,
    /// Maximum number of rows. The totals include all that pass the filter.
    pub top: Option<usize>,
    pub style: OutputStyle,
}

impl<T: TableKind> ReportLayout<T> {
    /// Returns the indices of the rows to show, in order.
    pub fn shown<'a>(&self, rows: impl IntoIterator<Item = &'a T::Row<'a>>) -> Vec<usize> {
        let keys: Vec<_> = rows.into_iter().map(|row| self.sort.order_key(row)).collect();
        let mut places = order(&keys, self.descending);
        places.truncate(self.top.unwrap_or(usize::MAX));
        places
    }

    /// Returns a table with the titles. The name column holds the label of the totals. If it has a minimum width, it takes
    /// the remaining width.
    pub(super) fn text_table(&self, least_name: Option<usize>) -> TextTable {
        let columns = self.columns.iter().map(|column| TextColumn {
            has_label: column.label == Label::Group,
            grows: column.label == Label::Group && least_name.is_some(),
            min: least_name.unwrap_or(0),
            ..TextColumn::new(column.align())
        });
        let mut table = TextTable::new(columns, 2);
        let titles = self.columns.iter().map(|column| word(column.title));
        table.push_heading(&titles.collect::<Vec<_>>());
        table
    }

    /// Adds the totals. Without a name column, only a table that can grow has a label.
    pub(super) fn push_totals(&self, table: &mut TextTable, cells: &[Cell], label: &str, can_grow: bool) {
        let is_named = self.columns.iter().any(|column| column.label == Label::Group);
        table.push_totals(cells, if is_named || can_grow { label } else { "" });
    }

    pub(super) fn cells<'a>(&self, row: &'a T::Row<'a>) -> Vec<Cell> {
        let cell = |column: &&Column<T>| value_cell(&(column.value)(row), self.style.units, usize::MAX);
        self.columns.iter().map(cell).collect()
    }

    pub(super) fn object<'a>(&self, row: &'a T::Row<'a>) -> Object<'a> {
        object(&self.columns, row)
    }

    /// Returns the meaningful sums as named values.
    pub(super) fn sums<'a>(&self, total: &'a T::Row<'a>) -> Object<'a> {
        object(self.columns.iter().filter(|column| column.additive), total)
    }

    /// Returns rows as values, named by the columns' ids.
    pub(super) fn table<'s, 'a: 's>(&'s self, rows: impl Iterator<Item = &'a T::Row<'a>> + 's) -> DataTable<'s> {
        DataTable {
            names: Some(self.names().collect()),
            rows: Box::new(rows.map(|row| self.values(row).collect())),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.id)
    }

    pub(super) fn values<'s, 'a: 's>(&'s self, row: &'a T::Row<'a>) -> impl Iterator<Item = DataValue<'s>> {
        self.columns.iter().map(|column| (column.value)(row).into_data())
    }
}

fn object<'c, 'a, T: TableKind>(
    columns: impl IntoIterator<Item = &'c &'static Column<T>>,
    row: &'a T::Row<'a>,
) -> Object<'a> {
    let put = |object: Object<'a>, column: &&'static Column<T>| object.put(column.id, (column.value)(row));
    columns.into_iter().fold(Object::default(), put)
}

/// Returns what the totals cover: `187 caches, 20 shown, partial: 2 malformed`.
pub(super) fn totals_label(noun: &str, passing: usize, shown: usize, missing: Option<(usize, &str)>) -> String {
    let mut parts = vec![counted(passing as u64, noun)];
    if shown < passing {
        parts.push(format!("{shown} shown"));
    }
    if let Some((count @ 1.., why)) = missing {
        parts.push(format!("partial: {count} {why}"));
    }
    parts.join(", ")
}
