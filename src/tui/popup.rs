//! What lies over the table: menus, the column chooser, the help.

use std::sync::Arc;

use crate::columns::ColumnId;

/// A cursor in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The entry.
    pub cursor: usize,
    /// The first entry on screen.
    pub offset: usize,
}

impl Place {
    /// Moves to an entry of `len`, with `height` of them on screen.
    pub fn go(&mut self, to: usize, len: usize, height: usize) {
        let height = height.max(1);
        self.cursor = to.min(len.saturating_sub(1));
        let most = len.saturating_sub(height);
        self.offset = self
            .offset
            .min(self.cursor)
            .max((self.cursor + 1).saturating_sub(height))
            .min(most);
    }
}

/// One user of the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, raw.
    pub name: Arc<[u8]>,
    /// How many processes.
    pub count: usize,
    /// Their PSS, as far as it could be read.
    pub pss: u64,
}

/// What is open.
#[derive(Clone, Debug, PartialEq)]
pub enum Popup {
    /// The help; the place is its first line.
    Help(usize),
    /// The sort menu.
    Sort(Place),
    /// The user picker; its first entry is everyone.
    Users(Place, Vec<User>),
    /// The alerts there are and were, newest first.
    Alerts(Place),
    /// The suspects, worst first.
    Leaks(Place),
    /// The column chooser: the order being made, the shown ones first, and what was there before.
    Columns(Place, Chooser),
}

/// The column chooser's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chooser {
    /// Every column, the chosen ones first and in their order.
    pub order: Vec<ColumnId>,
    /// How many of them are chosen.
    pub chosen: usize,
    /// The columns before, for Esc.
    pub before: Vec<ColumnId>,
}

impl Chooser {
    /// A chooser that begins with these columns.
    pub fn new(columns: &[ColumnId]) -> Self {
        let rest = ColumnId::all().filter(|c| !columns.contains(c));
        Self {
            order: columns.iter().copied().chain(rest).collect(),
            chosen: columns.len(),
            before: columns.to_vec(),
        }
    }

    /// Chooses the entry, last of the chosen, or leaves it out; one column always stays. Returns where the
    /// cursor belongs: on the next entry, so that several can be switched in a row.
    pub fn toggle(&mut self, at: usize) -> usize {
        let Some(column) = self.order.get(at).copied() else {
            return at;
        };
        if at >= self.chosen {
            self.order.remove(at);
            self.order.insert(self.chosen, column);
            self.chosen += 1;
            return (at + 1).min(self.order.len() - 1);
        }
        if self.chosen > 1 {
            self.chosen -= 1;
            self.order.remove(at);
            let rest = &mut self.order[self.chosen..];
            let place = rest.iter().position(|c| *c > column).unwrap_or(rest.len());
            self.order.insert(self.chosen + place, column);
        }
        at
    }

    /// Moves a chosen entry by one place; returns where it went.
    pub fn shift(&mut self, at: usize, step: isize) -> usize {
        let to = at.saturating_add_signed(step);
        if at < self.chosen && to < self.chosen {
            self.order.swap(at, to);
            return to;
        }
        at
    }

    /// The chosen columns.
    pub fn columns(&self) -> &[ColumnId] {
        &self.order[..self.chosen]
    }
}
