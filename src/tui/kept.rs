//! The sums and the order of a plain list of all processes, kept from snapshot to snapshot.

use super::table::Table;
use crate::columns::OrderKey;
use crate::group::{Coverage, RowKey, Totals};
use crate::history::RowHistory;
use crate::model::ProcessSample;
use crate::query::{RowRef, RowSource};

/// Rows that are summed together. Of ten thousand, a few hundred are then added where one changed.
const BLOCK: usize = 64;
/// Stands for the place of a row that is there no more.
const GONE: usize = usize::MAX;

/// The sums of the list, and the keys that it is sorted by.
#[derive(Debug)]
pub(super) struct Kept {
    /// The numbers of the snapshot, by its source and by the engine.
    pub(super) tick: u64,
    pub(super) pushed: u64,
    /// Kernel threads are listed.
    pub(super) kernel_threads: bool,
    /// The pids of the rows, in order.
    pids: Vec<u32>,
    blocks: Vec<Block>,
    /// The keys of the rows of each table, by their place in the snapshot.
    pub(super) keys: Vec<Vec<OrderKey>>,
}

/// The sums of some rows that follow each other.
#[derive(Debug, Default)]
struct Block {
    /// The pid from which on rows are its own; of the first, any below that too.
    from: u32,
    totals: Totals,
    coverage: Coverage,
    /// Some row has the address space of another, which may be in another block.
    shares: bool,
}

impl Kept {
    /// Sums up all rows; their keys are to be set.
    pub(super) fn new(source: &RowSource<'_>, kernel_threads: bool) -> Self {
        let rows = source.snapshot.rows();
        Self {
            tick: 0,
            pushed: 0,
            kernel_threads,
            pids: rows.iter().map(|row| row.id.pid).collect(),
            blocks: Block::all(source, rows, kernel_threads),
            keys: Vec::new(),
        }
    }

    /// Returns the sums of all rows.
    pub(super) fn sum(&self, source: &RowSource<'_>) -> (Totals, Coverage) {
        let (mut totals, mut coverage) = (Totals::default(), Coverage::default());
        for block in &self.blocks {
            totals.add(&block.totals);
            coverage.add(&block.coverage);
        }
        if self.blocks.iter().any(|block| block.shares) {
            totals = total(source, source.snapshot.rows(), self.kernel_threads);
        }
        (totals, coverage)
    }

    /// Sums up anew the blocks of these pids.
    pub(super) fn sum_anew(&mut self, source: &RowSource<'_>, pids: impl Iterator<Item = u32>) {
        let rows = source.snapshot.rows();
        let place = |pid| self.blocks.partition_point(|block| block.from <= pid).saturating_sub(1);
        let mut stale: Vec<usize> = pids.map(place).collect();
        stale.sort_unstable();
        stale.dedup();
        // From the last on, so that the places of the others stay.
        for at in stale.into_iter().rev() {
            let start = |at: usize| match self.blocks.get(at) {
                Some(block) if at > 0 => rows.partition_point(|row| row.id.pid < block.from),
                Some(_) => 0,
                None => rows.len(),
            };
            let part = &rows[start(at)..start(at + 1)];
            let made = if part.len() > 2 * BLOCK {
                Block::all(source, part, self.kernel_threads)
            } else {
                let one = (!part.is_empty()).then(|| Block::new(source, part, self.kernel_threads));
                one.into_iter().collect()
            };
            let until = self.blocks.len().min(at + 1);
            self.blocks.splice(at..until, made);
        }
    }

    /// Takes in the places of the snapshot's rows, of which those at `new`, in order, have no keys yet, and those of the pids
    /// `removed` are gone; returns false where that does not add up.
    pub(super) fn shift(
        &mut self,
        rows: &[ProcessSample],
        tables: &mut [Table],
        new: &[usize],
        removed: &[u32],
    ) -> bool {
        let mut places = Vec::with_capacity(self.pids.len());
        let mut new = new.iter().copied().peekable();
        let mut next = 0;
        for pid in &self.pids {
            while new.next_if_eq(&next).is_some() {
                next += 1;
            }
            let is_gone = removed.binary_search(pid).is_ok();
            places.push(if is_gone { GONE } else { next });
            next += usize::from(!is_gone);
        }
        next += new.count();
        if next != rows.len() {
            return false;
        }
        for (table, keys) in tables.iter_mut().zip(&mut self.keys) {
            table.rows.retain_mut(|row| {
                row.index = places[row.index];
                row.index != GONE
            });
            let mut shifted = vec![OrderKey::MISSING; rows.len()];
            for (key, place) in keys.drain(..).zip(&places).filter(|(_, place)| **place != GONE) {
                shifted[*place] = key;
            }
            *keys = shifted;
        }
        self.pids.clear();
        self.pids.extend(rows.iter().map(|row| row.id.pid));
        true
    }

    /// Returns true if there is a row of that pid.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.pids.binary_search(&pid).is_ok()
    }
}

/// Sorts the rows of a table; of those that are equal in all, the lower pid comes first.
pub(super) fn sort(table: &mut Table, keys: &[OrderKey]) {
    let descending = table.descending;
    table.rows.sort_by(|a, b| {
        let order = keys[a.index].compare(&keys[b.index], descending);
        order.then(a.index.cmp(&b.index))
    });
}

/// Puts one row in the place that its key has now; one that is `new` has none yet.
pub(super) fn put(table: &mut Table, keys: &mut [OrderKey], at: usize, key: OrderKey, new: Option<RowKey>) {
    let descending = table.descending;
    let place = |rows: &[RowRef], keys: &[OrderKey], key: &OrderKey| {
        rows.partition_point(|row| {
            let order = keys[row.index].compare(key, descending);
            order.then(row.index.cmp(&at)).is_lt()
        })
    };
    let row = match new {
        Some(id) => RowRef::flat(at, id),
        None => table.rows.remove(place(&table.rows, keys, &keys[at])),
    };
    keys[at] = key;
    let to = place(&table.rows, keys, &keys[at]);
    table.rows.insert(to, row);
}

impl Block {
    fn all(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Vec<Self> {
        let blocks = rows.chunks(BLOCK);
        blocks.map(|rows| Self::new(source, rows, kernel_threads)).collect()
    }

    /// Sums up rows, without kernel threads unless these are listed.
    fn new(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Self {
        Self {
            from: rows.first().map_or(0, |row| row.id.pid),
            totals: total(source, rows, kernel_threads),
            coverage: Coverage::of_rows(rows),
            shares: rows.iter().any(|row| row.shares_mm.is_some()),
        }
    }
}

fn total(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Totals {
    let listed = rows.iter().filter(|row| kernel_threads || !row.stat.is_kernel_thread());
    let change = |row: &ProcessSample| source.history?.get(row.id).map(RowHistory::change).copied();
    Totals::of(listed, change)
}
