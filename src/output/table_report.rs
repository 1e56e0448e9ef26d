//! A report of one table, with its sums and notes below it.

use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Object, of_columns};
use super::report_layout::{ReportLayout, totals_label};
use crate::columns::{Cell, Column, TableKind};
use crate::schema::{self, Field, Shape};

pub struct TableReport<'r, T: TableKind> {
    pub(super) layout: ReportLayout<T>,
    rows: Vec<&'r T::Row<'r>>,
    total: &'r T::Row<'r>,
    /// The cells of the totals, and a label for the rows that they cover.
    pub(super) totals: (Vec<Cell>, String),
    /// Minimum width of the column of names, which takes the remaining width. `None` if no column grows.
    pub(super) least_name: Option<usize>,
    /// False if the rows could not be read. Then there is no table.
    pub(super) is_read: bool,
    pub(super) notes: Vec<String>,
    /// Returns the note below a row.
    pub(super) note_of: for<'a> fn(&T::Row<'a>) -> Option<String>,
    /// The fields of the document before the rows and after their sums.
    before: Object<'r>,
    rows_name: &'static str,
    after: Object<'r>,
}

impl<'r, T: TableKind> TableReport<'r, T> {
    /// Sorts the rows. `noun` and `partial` are for the label of the totals.
    pub(super) fn new(
        layout: ReportLayout<T>,
        (passing, total): (&'r [T::Row<'r>], &'r T::Row<'r>),
        (noun, partial): (&str, Option<(usize, &str)>),
        (before, rows_name, after): (Object<'r>, &'static str, Object<'r>),
    ) -> Self {
        let rows: Vec<_> = layout.shown(passing).into_iter().map(|at| &passing[at]).collect();
        Self {
            totals: (
                layout.cells(total),
                totals_label(noun, passing.len(), rows.len(), partial),
            ),
            layout,
            rows,
            total,
            least_name: None,
            is_read: true,
            notes: Vec::new(),
            note_of: |_| None,
            before,
            rows_name,
            after,
        }
    }
}

impl<T: TableKind> Report for TableReport<'_, T> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let layout = &self.layout;
        let (totals, label) = &self.totals;
        if self.is_read {
            let mut table = layout.text_table(self.least_name);
            for row in &self.rows {
                table.push(&layout.cells(row));
                if let Some(note) = (self.note_of)(row) {
                    table.push_note(note);
                }
            }
            layout.push_totals(&mut table, totals, label, self.least_name.is_some());
            table.write(out, &layout.style)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "{note}"))
    }

    fn document(&self) -> Document<'_> {
        let rows: Vec<_> = self.rows.iter().map(|row| self.layout.object(row)).collect();
        let totals = self.is_read.then(|| self.layout.sums(self.total));
        let object = self.before.clone().put(self.rows_name, rows).put("totals", totals);
        Document::Object(object.extend(self.after.clone()))
    }

    fn table(&self) -> DataTable<'_> {
        self.layout.table(self.rows.iter().copied())
    }
}

/// Returns the fields of the rows and of their sums.
pub(super) fn table_fields<T: TableKind>(
    columns: &'static [Column<T>],
    (name, help): (&'static str, &str),
    sums_help: &str,
    shape: impl FnOnce(Shape) -> Shape,
) -> Vec<Field> {
    let sums = of_columns(columns.iter().filter(|column| column.additive));
    vec![
        Field::new(name, help, schema::list(schema::object(of_columns(columns)))),
        Field::new("totals", sums_help, shape(schema::object(sums))),
    ]
}
