//! The sums and the order of a plain list of all processes, kept from snapshot to snapshot, or prepared before the screen gets
//! the snapshot.

use crate::columns::{ColumnId, Needs, OrderKey, order};
use crate::group::{Coverage, RowKey, Totals};
use crate::history::RowHistory;
use crate::model::{ProcessSample, Snapshot};
use crate::query::{RowRef, RowSource};

/// Number of rows that are summed together. If one of 10,000 rows changes, a few hundred additions are enough.
const BLOCK: usize = 64;
/// Represents the index of a row that no longer exists.
const GONE: usize = usize::MAX;

/// A requested plain list, in one or two orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPlan {
    pub kernel_threads: bool,
    /// For each table, the sort column, and true for descending order.
    pub orders: Vec<(ColumnId, bool)>,
}

/// The sums of the list, and its sort keys.
#[derive(Debug)]
pub struct Kept {
    /// The source's number of the snapshot, and the number of snapshots that the engine had added by then.
    pub(crate) tick: u64,
    pub(crate) pushed: u64,
    pub(crate) plan: ListPlan,
    /// The pids of the rows, ascending.
    pids: Vec<u32>,
    blocks: Vec<Block>,
    /// The sort keys of each table, by the row's index in the snapshot.
    pub(crate) keys: Vec<Vec<OrderKey>>,
}

/// A list prepared before the screen gets its snapshot: the sums, and the sorted rows of each table.
#[derive(Debug)]
pub struct ReadyList {
    pub(crate) kept: Kept,
    pub(crate) tables: Vec<Vec<RowRef>>,
}

/// The sums of some consecutive rows.
#[derive(Debug, Default)]
struct Block {
    /// The lowest pid of its rows. The first block also takes all lower pids.
    from: u32,
    totals: Totals,
    coverage: Coverage,
    /// True if some row shares its address space with another row, which may be in another block.
    shares: bool,
}

impl Kept {
    /// Creates a list to which no row has been [added](Self::extend) yet.
    pub(crate) fn new(plan: ListPlan) -> Self {
        Self {
            tick: 0,
            pushed: 0,
            pids: Vec::new(),
            blocks: Vec::new(),
            keys: vec![Vec::new(); plan.orders.len()],
            plan,
        }
    }

    /// Adds about `rows` further rows, in whole blocks. Returns false once all rows were added.
    pub(crate) fn extend(&mut self, source: &RowSource<'_>, rows: usize) -> bool {
        let all = source.snapshot.rows();
        let from = self.pids.len();
        let blocks = rows.saturating_add(BLOCK - 1) / BLOCK;
        let until = from.saturating_add(blocks * BLOCK).min(all.len());
        let rows = &all[from..until];
        if from == 0 {
            self.pids.reserve_exact(all.len());
            self.keys.iter_mut().for_each(|keys| keys.reserve_exact(all.len()));
        }
        self.pids.extend(rows.iter().map(|row| row.id.pid));
        self.blocks.extend(Block::all(source, rows, self.plan.kernel_threads));
        for (keys, (sort, _)) in self.keys.iter_mut().zip(&self.plan.orders) {
            extend(keys, *sort, source, rows);
        }
        until < all.len()
    }

    pub(crate) fn reorder(&mut self, source: &RowSource<'_>, plan: ListPlan) {
        self.plan = plan;
        let key = |(sort, _): &(ColumnId, bool)| {
            let mut keys = Vec::new();
            extend(&mut keys, *sort, source, source.snapshot.rows());
            keys
        };
        self.keys = self.plan.orders.iter().map(key).collect();
    }

    /// Returns the sorted rows of each table.
    pub(crate) fn tables(&self, snapshot: &Snapshot) -> Vec<Vec<RowRef>> {
        let rows = snapshot.rows();
        let sorted = |(keys, (_, descending)): (&Vec<OrderKey>, &(ColumnId, bool))| {
            let places = order(keys, *descending).into_iter();
            let listed = places.filter(|at| self.plan.lists(&rows[*at]));
            listed
                .map(|at| RowRef::flat(at, RowKey::Process(rows[at].id)))
                .collect()
        };
        self.keys.iter().zip(&self.plan.orders).map(sorted).collect()
    }

    pub(crate) fn sum(&self, source: &RowSource<'_>) -> (Totals, Coverage) {
        let (mut totals, mut coverage) = (Totals::default(), Coverage::default());
        for block in &self.blocks {
            totals.add(&block.totals);
            coverage.add(&block.coverage);
        }
        if self.blocks.iter().any(|block| block.shares) {
            totals = total(source, source.snapshot.rows(), self.plan.kernel_threads);
        }
        (totals, coverage)
    }

    /// Recomputes the blocks that contain these pids.
    pub(crate) fn update_sums(&mut self, source: &RowSource<'_>, pids: impl Iterator<Item = u32>) {
        let rows = source.snapshot.rows();
        let place = |pid| self.blocks.partition_point(|block| block.from <= pid).saturating_sub(1);
        let mut stale: Vec<usize> = pids.map(place).collect();
        stale.sort_unstable();
        stale.dedup();
        // In descending order, so that the positions of the remaining blocks stay valid.
        for at in stale.into_iter().rev() {
            let start = |at: usize| match self.blocks.get(at) {
                Some(block) if at > 0 => rows.partition_point(|row| row.id.pid < block.from),
                Some(_) => 0,
                None => rows.len(),
            };
            let part = &rows[start(at)..start(at + 1)];
            let made = if part.len() > 2 * BLOCK {
                Block::all(source, part, self.plan.kernel_threads)
            } else {
                let one = (!part.is_empty()).then(|| Block::new(source, part, self.plan.kernel_threads));
                one.into_iter().collect()
            };
            let until = self.blocks.len().min(at + 1);
            self.blocks.splice(at..until, made);
        }
    }

    /// Adjusts the list to the indices of a new snapshot. The rows at the ascending indices `new` have no keys yet; the
    /// pids in `removed` are gone. Returns false if the result does not match the snapshot.
    pub(crate) fn shift(
        &mut self,
        rows: &[ProcessSample],
        tables: &mut [&mut Vec<RowRef>],
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
            table.retain_mut(|row| {
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

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.pids.binary_search(&pid).is_ok()
    }
}

impl ReadyList {
    /// Sorts the rows of a complete list.
    pub(crate) fn new(mut kept: Kept, snapshot: &Snapshot) -> Self {
        let tables = kept.tables(snapshot);
        kept.keys = Vec::new();
        Self { kept, tables }
    }
}

impl ListPlan {
    /// Returns true if its order depends only on the snapshots.
    pub(crate) fn is_of_snapshots(&self) -> bool {
        self.orders
            .iter()
            .all(|(sort, _)| !sort.get().needs.contains(Needs::MARK))
    }

    pub(crate) const fn lists(&self, row: &ProcessSample) -> bool {
        (self.kernel_threads || !row.stat.is_kernel_thread()) && !row.is_unseen()
    }
}

fn extend(keys: &mut Vec<OrderKey>, sort: ColumnId, source: &RowSource<'_>, rows: &[ProcessSample]) {
    let (column, source) = (sort.get(), source.for_order(sort));
    keys.extend(rows.iter().map(|row| column.order_key(&source.process(row))));
}

/// Sorts the rows of a table. Among equal rows, the lower pid comes first.
pub(crate) fn sort(rows: &mut [RowRef], keys: &[OrderKey], descending: bool) {
    rows.sort_by(|a, b| {
        let order = keys[a.index].compare(&keys[b.index], descending);
        order.then(a.index.cmp(&b.index))
    });
}

/// Moves one row to the position of its new `key`. A `new` row has no position yet.
pub(crate) fn put(
    rows: &mut Vec<RowRef>,
    keys: &mut [OrderKey],
    descending: bool,
    (at, key): (usize, OrderKey),
    new: Option<RowKey>,
) {
    let place = |rows: &[RowRef], keys: &[OrderKey], key: &OrderKey| {
        rows.partition_point(|row| {
            let order = keys[row.index].compare(key, descending);
            order.then(row.index.cmp(&at)).is_lt()
        })
    };
    let row = match new {
        Some(id) => RowRef::flat(at, id),
        None => rows.remove(place(rows, keys, &keys[at])),
    };
    keys[at] = key;
    let to = place(rows, keys, &keys[at]);
    rows.insert(to, row);
}

impl Block {
    fn all(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Vec<Self> {
        let blocks = rows.chunks(BLOCK);
        blocks.map(|rows| Self::new(source, rows, kernel_threads)).collect()
    }

    fn new(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Self {
        Self {
            from: rows.first().map_or(0, |row| row.id.pid),
            totals: total(source, rows, kernel_threads),
            coverage: Coverage::of_rows(rows.iter()),
            shares: rows.iter().any(|row| row.shares_mm.is_some()),
        }
    }
}

fn total(source: &RowSource<'_>, rows: &[ProcessSample], kernel_threads: bool) -> Totals {
    let listed = rows.iter().filter(|row| kernel_threads || !row.stat.is_kernel_thread());
    let change = |row: &ProcessSample| source.history?.get(row.id).map(RowHistory::change).copied();
    Totals::of(listed, change)
}
