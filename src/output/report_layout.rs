//! The columns, the order and the look of a report with one table, and that table as text and as data.

use super::OutputStyle;
use super::data::{DataTable, Object};
use super::text_table::{TextColumn, TextTable, value_cell, word};
use crate::columns::{Cell, Column, DataValue, Label, TableKind, order};
use crate::units::counted;

/// The columns, the order and the look of a report.
#[derive(Clone, Debug)]
pub struct ReportLayout<T: TableKind> {
    /// The columns, from left to right.
    pub columns: Vec<&'static Column<T>>,
    /// The column sorted by; unknown values come last.
    pub sort: &'static Column<T>,
    /// Greatest first.
    pub descending: bool,
    /// Maximum number of rows; the totals are of all that pass the filter.
    pub top: Option<usize>,
    /// Style of the text.
    pub style: OutputStyle,
}

impl<T: TableKind> ReportLayout<T> {
    /// Returns the places of the rows to show, in order.
    pub(super) fn shown<'a>(&self, rows: impl IntoIterator<Item = &'a T::Row<'a>>) -> Vec<usize> {
        let keys: Vec<_> = rows.into_iter().map(|row| self.sort.order_key(row)).collect();
        let mut places = order(&keys, self.descending);
        places.truncate(self.top.unwrap_or(usize::MAX));
        places
    }

    /// Returns a table with the titles, in which nothing grows.
    pub(super) fn titled(&self) -> TextTable {
        TextTable::titled(self.columns.iter().map(|column| (column.title, column.align())))
    }

    /// Returns a table with the titles, in which the names take what width is left, `least` at the least.
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

    /// Returns the cells of a row.
    pub(super) fn cells<'a>(&self, row: &'a T::Row<'a>) -> Vec<Cell> {
        let cell = |column: &&Column<T>| value_cell(&(column.value)(row), self.style.units, usize::MAX);
        self.columns.iter().map(cell).collect()
    }

    /// Returns the cells of totals, with the label where rows have their name.
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

    /// Returns the sums that mean something as named values.
    pub(super) fn sums<'a>(&self, total: &'a T::Row<'a>) -> Object<'a> {
        object(self.columns.iter().filter(|column| column.additive), total)
    }

    /// Returns rows as values under the columns' ids.
    pub(super) fn table<'a>(&'a self, rows: impl Iterator<Item = &'a T::Row<'a>> + 'a) -> DataTable<'a> {
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
    pub(super) fn values<'a>(&'a self, row: &'a T::Row<'a>) -> impl Iterator<Item = DataValue<'a>> {
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

/// Returns what totals are the sums of: `187 caches, 20 shown, partial: 2 malformed`.
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
