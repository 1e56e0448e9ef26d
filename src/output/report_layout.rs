//! The columns, order and style of a report with one table, and that table as text and as data.

use super::OutputStyle;
use super::data::{DataTable, Object};
use super::text_table::{TextColumn, TextTable, value_cell, word};
use crate::columns::{Cell, Column, DataValue, Label, TableKind, order};
use crate::units::counted;

#[derive(Clone, Debug)]
pub struct ReportLayout<T: TableKind> {
    /// The columns, from left to right.
    pub columns: Vec<&'static Column<T>>,
    /// The column sorted by; unknown values come last.
    pub sort: &'static Column<T>,
    /// Greatest first.
    pub descending: bool,
    /// Maximum number of rows. The totals include all that pass the filter.
    pub top: Option<usize>,
    /// Style of the text.
    pub style: OutputStyle,
}

impl<T: TableKind> ReportLayout<T> {
    /// Returns the indices of the rows to show, in order.
    pub(super) fn shown<'a>(&self, rows: impl IntoIterator<Item = &'a T::Row<'a>>) -> Vec<usize> {
        let keys: Vec<_> = rows.into_iter().map(|row| self.sort.order_key(row)).collect();
        let mut places = order(&keys, self.descending);
        places.truncate(self.top.unwrap_or(usize::MAX));
        places
    }

    /// Returns a table with the titles, in which no column grows.
    pub(super) fn titled(&self) -> TextTable {
        TextTable::titled(self.columns.iter().map(|column| (column.title, column.align())))
    }

    /// Returns a table with the titles, in which the name column takes the remaining width, at least `least`.
    pub(super) fn growing(&self, least: usize) -> TextTable {
        let columns = self.columns.iter().map(|column| TextColumn {
            grows: column.label == Label::Group,
            min: least,
            ..TextColumn::new(column.align())
        });
        let mut table = TextTable::new(columns, 2);
        let titles = self.columns.iter().map(|column| word(column.title));
        table.push_heading(&titles.collect::<Vec<_>>());
        table
    }

    pub(super) fn cells<'a>(&self, row: &'a T::Row<'a>) -> Vec<Cell> {
        let cell = |column: &&Column<T>| value_cell(&(column.value)(row), self.style.units, usize::MAX);
        self.columns.iter().map(cell).collect()
    }

    /// Returns the cells of the totals, with the label in the name column.
    pub(super) fn labelled(&self, totals: Vec<Cell>, label: &str) -> Vec<Cell> {
        let cells = totals.into_iter().zip(&self.columns);
        let labelled = cells.map(|(cell, column)| match column.label {
            Label::Group => word(label),
            _ => cell,
        });
        labelled.collect()
    }

    /// Returns a row as named values.
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

    /// Returns the names of a row's values.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.id)
    }

    /// Returns a row's values.
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
