//! The state of one table: its columns, its order, its rows, and the selection.

use super::widgets::ListState;
use crate::columns::ColumnId;
use crate::group::RowKey;
use crate::query::RowRef;

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    /// The column it is sorted by.
    pub sort: ColumnId,
    /// The greatest comes first.
    pub descending: bool,
    /// The rows, in order.
    pub rows: Vec<RowRef>,
    /// The selected process or group.
    pub selected: Option<RowKey>,
    /// Its index in `rows`, and the first row on screen.
    pub list: ListState,
}

impl Table {
    /// Returns an empty table.
    pub fn new(columns: Vec<ColumnId>, sort: ColumnId, descending: bool) -> Self {
        Self {
            columns,
            sort,
            descending,
            rows: Vec::new(),
            selected: None,
            list: ListState::default(),
        }
    }

    /// Sorts by a column; the other way round if it is sorted by it already.
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

    /// Moves the selection by rows, with `height` of them on screen.
    pub fn step(&mut self, rows: isize, height: usize) {
        self.select_index(self.list.cursor.saturating_add_signed(rows), height);
    }

    /// Selects a row by its index, the last one at most.
    pub fn select_index(&mut self, index: usize, height: usize) {
        self.list.select(index, self.rows.len(), height);
        self.selected = self.selected_row().map(|row| row.key.clone());
    }

    /// Finds the selection among new rows. It stays with its process or group; at the first row it stays at the top
    /// unless `follow` holds it; where its row is gone it stays at its index.
    pub fn reselect(&mut self, follow: bool, height: usize) {
        let cursor = self.list.cursor;
        let found = self.position(self.selected.as_ref());
        self.select_index(found.filter(|_| follow || cursor > 0).unwrap_or(cursor), height);
    }

    fn position(&self, key: Option<&RowKey>) -> Option<usize> {
        let key = key?;
        self.rows.iter().position(|row| row.key == *key)
    }

    /// Selects a row by its key; the first one where it is not there.
    pub fn select_key(&mut self, key: Option<&RowKey>, height: usize) {
        self.list.offset = 0;
        self.select_index(self.position(key).unwrap_or(0), height);
    }

    /// Scrolls as little as is needed for the selection to be on screen.
    pub fn scroll_to_selection(&mut self, height: usize) {
        self.list.select(self.list.cursor, self.rows.len(), height);
    }

    /// Returns the selected row.
    pub fn selected_row(&self) -> Option<&RowRef> {
        self.rows.get(self.list.cursor)
    }
}
