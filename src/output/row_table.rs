//! Chosen columns of chosen rows, as data.
//!
//! As JSON, schema `zmtop-table/1`, of which fields are only ever added:
//!
//! ```text
//! {"schema":"zmtop-table/1","time":"2026-11-20T23:51:00.123Z","host":"db1","by":"command","rows":[
//!  {"group":"postgres","count":100,"pss":2147483648,"unread":null},
//!  {"group":"cron","count":1,"pss":null,"unread":"permission denied"}
//! ],"totals":{"group":null,"count":101,"pss":2147483648,"unread":null}}
//! ```
//!
//! Values are named by their column's id and are in its plain unit: see [`DataValue`]. `unread` is the one reason of
//! all that is unknown in a row, or an object of reasons by column.

use super::data::{DataTable, Node, Object, UNREAD};
use crate::columns::{Column, DataValue, Row};
use crate::model::Snapshot;
use crate::record;

/// A table of rows.
#[derive(Clone, Debug)]
pub struct RowTable<'a> {
    /// The snapshot whose time and host the table bears.
    pub snapshot: &'a Snapshot,
    /// The kind of group that rows are; `None` where they are processes.
    pub by: Option<&'static str>,
    /// Names of the values that come before those of the columns; none may be a column's id.
    pub before: Vec<&'static str>,
    /// The rows in their order.
    pub rows: Vec<DataRow<'a>>,
    /// Their sums.
    pub totals: Option<Row<'a>>,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct DataRow<'a> {
    /// The values that come before those of the columns, such as the depth in a tree.
    pub before: Vec<DataValue<'a>>,
    /// The row that columns take their values from.
    pub row: Row<'a>,
}

impl RowTable<'_> {
    /// Returns the table as one object; of a column that is named twice, only the first counts.
    pub fn document(&self, columns: &[&'static Column]) -> Object<'_> {
        let mut distinct: Vec<&Column> = Vec::with_capacity(columns.len());
        for column in columns {
            // The reasons stand in every row, whether the column of that name is asked for or not.
            if column.id != UNREAD && !distinct.iter().any(|c| c.id == column.id) {
                distinct.push(column);
            }
        }
        let rows: Vec<_> = self.rows.iter().map(|row| self.object(row, &distinct)).collect();
        let totals = self
            .totals
            .as_ref()
            .map(|row| put_values(Object::default(), row, &distinct));
        Object::default()
            .put("schema", "zmtop-table/1")
            .put("time", record::time_text(self.snapshot.time))
            .put("host", Node::bytes(&self.snapshot.host))
            .put("by", self.by)
            .put("rows", rows)
            .put("totals", totals)
    }

    fn object<'r>(&self, row: &'r DataRow<'r>, columns: &[&'static Column]) -> Object<'r> {
        let before = self.before.iter().zip(&row.before);
        let before = before.fold(Object::default(), |object, (name, value)| {
            object.put(*name, value.clone())
        });
        put_values(before, &row.row, columns)
    }

    /// Returns the table as values under the columns' ids.
    pub fn table(&self, columns: Vec<&'static Column>) -> DataTable<'_> {
        let names = self
            .before
            .iter()
            .copied()
            .chain(columns.iter().map(|column| column.id));
        DataTable {
            names: Some(names.collect()),
            rows: Box::new(self.rows.iter().map(move |row| {
                let values = columns.iter().map(|column| (column.value)(&row.row).into_data());
                row.before.iter().cloned().chain(values).collect()
            })),
        }
    }
}

fn put_values<'r>(object: Object<'r>, row: &'r Row<'r>, columns: &[&'static Column]) -> Object<'r> {
    let put = |object: Object<'r>, column: &&Column| object.put(column.id, (column.value)(row));
    columns.iter().fold(object, put).with_short_unread()
}
