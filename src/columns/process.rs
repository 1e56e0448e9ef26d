//! The columns of processes and of groups of them.

mod coldness;
mod facts;
mod group;
mod held;
mod mark;
mod memory;
mod read;
mod trend;

use super::{Column, Needs, Row, SortKey, TableKind};

/// Processes, groups, mappings of all processes, and totals.
#[derive(Clone, Copy, Debug)]
pub enum Processes {}

impl TableKind for Processes {
    type Row<'a> = Row<'a>;

    fn tie<'a>(row: &'a Row<'a>) -> SortKey {
        PSS.get().sort_key(row)
    }
}

/// The column that orders rows that are equal in the one sorted by.
const PSS: ColumnId = ColumnId::named("pss");

/// An entry of the table.
type Entry = Column<Processes>;

/// Needs of changes, rates and judgements of memory.
const OVER_TIME: Needs = Needs::MEMORY.and(Needs::HISTORY);

/// Every column there is, in the order that the chooser offers them.
pub static COLUMNS: &[Entry] = &ALL;

const PARTS: [&[Entry]; 7] = [
    memory::COLUMNS,
    held::COLUMNS,
    trend::COLUMNS,
    facts::COLUMNS,
    group::COLUMNS,
    mark::COLUMNS,
    coldness::COLUMNS,
];

const COUNT: usize = {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        (count, part) = (count + PARTS[part].len(), part + 1);
    }
    count
};

// A table in the order of the parts, made by the compiler, so that a column is found by its index in it.
const ALL: [Entry; COUNT] = {
    let mut all = [PARTS[0][0]; COUNT];
    let (mut part, mut at, mut to) = (0, 0, 0);
    while part < PARTS.len() {
        if at == PARTS[part].len() {
            (part, at) = (part + 1, 0);
        } else {
            all[to] = PARTS[part][at];
            (at, to) = (at + 1, to + 1);
        }
    }
    all
};

/// A column by its index in [`COLUMNS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub usize);

impl ColumnId {
    /// Returns the column of an id that stands in the source.
    ///
    /// # Panics
    /// If there is no such column: in a constant that is a compile error.
    pub(super) const fn named(id: &str) -> Self {
        let mut at = 0;
        while at < COUNT {
            if same(ALL[at].id.as_bytes(), id.as_bytes()) {
                return Self(at);
            }
            at += 1;
        }
        panic!("no column has this id")
    }

    /// Returns the entry.
    pub fn get(self) -> &'static Column {
        &COLUMNS[self.0]
    }

    /// Returns every column, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..COLUMNS.len()).map(Self)
    }
}

/// Returns the column of that id.
pub fn find(id: &str) -> Option<ColumnId> {
    COLUMNS.iter().position(|c| c.id == id).map(ColumnId)
}

/// Compares two strings; `==` cannot be used in constants.
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
