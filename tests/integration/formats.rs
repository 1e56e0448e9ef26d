//! Snapshots and tables as data, and back.

mod csv;
mod json;
pub(crate) mod made;
mod python;
mod record;
mod source;
mod system_account;

use zmtop::columns::Row;
use zmtop::model::Snapshot;
use zmtop::output::table::{DataRow, RowTable};

/// A table of these rows, without sums.
fn row_table<'a>(snapshot: &'a Snapshot, rows: impl IntoIterator<Item = Row<'a>>) -> RowTable<'a> {
    let row = |row| DataRow {
        before: Vec::new(),
        row,
    };
    RowTable {
        snapshot,
        by: None,
        before: Vec::new(),
        rows: rows.into_iter().map(row).collect(),
        totals: None,
    }
}
