//! Snapshots and tables as data, and back.

mod anonymize;
mod csv;
mod golden;
mod json;
pub(crate) mod made;
mod python;
mod record;
pub(crate) mod recording;
mod source;
mod system_account;

use zmtop::columns::Row;
use zmtop::model::Snapshot;
use zmtop::output::table::RowTable;

/// A table of these rows, without sums.
fn row_table<'a>(snapshot: &'a Snapshot, rows: impl IntoIterator<Item = Row<'a>>) -> RowTable<'a> {
    RowTable {
        snapshot,
        by: None,
        is_tree: false,
        rows: rows.into_iter().map(|row| (0, row)).collect(),
        totals: None,
    }
}
