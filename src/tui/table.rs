//! The state of one table: its order, its rows, and where the user is in it.

use crate::columns::ColumnId;
use crate::group::RowKey;
use crate::query::RowRef;

/// One table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    /// What it is sorted by.
    pub sort: ColumnId,
    /// Greatest first.
    pub descending: bool,
    /// The rows, in order.
    pub lines: Vec<RowRef>,
    /// The selected process or group.
    pub selected: Option<RowKey>,
    /// Its place in `lines`.
    pub cursor: usize,
    /// The first row on screen.
    pub offset: usize,
}

impl Table {
    /// An empty table.
    pub fn new(columns: Vec<ColumnId>, sort: ColumnId, descending: bool) -> Self {
        Self {
            columns,
            sort,
            descending,
            lines: Vec::new(),
            selected: None,
            cursor: 0,
            offset: 0,
        }
    }

    /// Sorts by `column`: the other way round if it does so already.
    pub fn sort_by(&mut self, column: ColumnId) {
        if self.sort == column {
            self.descending = !self.descending;
        } else {
            self.sort = column;
            self.descending = !column.get().ascending;
        }
    }

    /// Sorts by the column `step` places from the present one among those shown.
    pub fn sort_beside(&mut self, step: isize) {
        let at = self.columns.iter().position(|c| *c == self.sort);
        let last = self.columns.len().saturating_sub(1);
        let to = at.map_or(0, |at| at.saturating_add_signed(step).min(last));
        if let Some(column) = self.columns.get(to).copied().filter(|c| *c != self.sort) {
            self.sort_by(column);
        }
    }

    /// Moves the selection by rows.
    pub fn step(&mut self, rows: isize, height: usize) {
        self.go(self.cursor.saturating_add_signed(rows), height);
    }

    /// Moves the selection to a row, the last one at most.
    pub fn go(&mut self, row: usize, height: usize) {
        self.cursor = row.min(self.lines.len().saturating_sub(1));
        self.selected = self.lines.get(self.cursor).map(|l| l.key.clone());
        self.show(height);
    }

    /// Finds the selection among new rows. It stays with its process or group; at the first row it stays at the top
    /// unless `follow` holds it; where that is gone it stays at its place.
    pub fn reselect(&mut self, follow: bool, height: usize) {
        let found = self.place(self.selected.as_ref());
        let row = match found {
            Some(_) if self.cursor == 0 && !follow => 0,
            Some(row) => row,
            None => self.cursor,
        };
        self.go(row, height);
    }

    /// Where a row is.
    fn place(&self, id: Option<&RowKey>) -> Option<usize> {
        let id = id?;
        self.lines.iter().position(|l| l.key == *id)
    }

    /// Selects a row wherever it is; the first one where it is not there.
    pub fn select(&mut self, id: Option<&RowKey>, height: usize) {
        self.offset = 0;
        self.go(self.place(id).unwrap_or(0), height);
    }

    /// Scrolls as little as is needed for the selection to be on screen and no space to be wasted.
    pub fn show(&mut self, height: usize) {
        let height = height.max(1);
        let most = self.lines.len().saturating_sub(height);
        self.offset = self
            .offset
            .min(self.cursor)
            .max((self.cursor + 1).saturating_sub(height))
            .min(most);
    }

    /// The line of the selection.
    pub fn current(&self) -> Option<&RowRef> {
        self.lines.get(self.cursor)
    }
}
