//! The sums and the order of a plain list of all processes, kept from snapshot to snapshot.

use super::table::Table;
use crate::columns::SortKey;
use crate::group::{Coverage, Totals};
use crate::history::RowHistory;
use crate::model::ProcessSample;
use crate::query::{RowRef, RowSource};

/// Rows that are summed together. Of ten thousand, a few hundred are then added where one changed.
pub(super) const BLOCK: usize = 64;
/// The sums of the list, and the keys that it is sorted by.
#[derive(Debug)]
pub(super) struct Kept {
    /// The numbers of the snapshot, by its source and by the engine.
    pub(super) tick: u64,
    pub(super) pushed: u64,
    /// Kernel threads are listed.
    pub(super) kernel_threads: bool,
    pub(super) blocks: Vec<Block>,
    /// The keys of the rows of each table, by their place in the snapshot.
    pub(super) keys: Vec<Vec<SortKey>>,
}

/// The sums of some rows.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) totals: Totals,
    pub(super) coverage: Coverage,
}

/// Sorts the rows of a table; of equal ones, the lower pid comes first.
pub(super) fn sort(table: &mut Table, keys: &[SortKey]) {
    let descending = table.descending;
    table.rows.sort_by(|a, b| {
        let order = keys[a.index].compare(&keys[b.index], descending);
        order.then(a.index.cmp(&b.index))
    });
}

/// Moves one row to the place that its new key has.
pub(super) fn move_row(table: &mut Table, keys: &mut [SortKey], at: usize, key: SortKey) {
    let descending = table.descending;
    let place = |rows: &[RowRef], keys: &[SortKey], key: &SortKey| {
        rows.partition_point(|row| {
            let order = keys[row.index].compare(key, descending);
            order.then(row.index.cmp(&at)).is_lt()
        })
    };
    let from = place(&table.rows, keys, &keys[at]);
    let row = table.rows.remove(from);
    keys[at] = key;
    let to = place(&table.rows, keys, &keys[at]);
    table.rows.insert(to, row);
}

impl Block {
    /// Sums up rows, without kernel threads unless these are listed.
    pub(super) fn new(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Self {
        let listed = rows.iter().filter(|row| kernel_threads || !row.stat.is_kernel_thread());
        let change = |row: &ProcessSample| source.history?.get(row.id).map(RowHistory::change).copied();
        Self {
            totals: Totals::of(listed, change),
            coverage: Coverage::of_rows(rows),
        }
    }
}
