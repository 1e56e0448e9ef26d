//! A part of the RAM.

use crate::model::Reading;

/// A part of the RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in JSON and CSV.
    pub id: &'static str,
    /// Its name in the table.
    pub title: &'static str,
    /// Its source and formula.
    pub help: &'static str,
    /// Its size in bytes; an unknown part is in [`Account::rest`](super::Account::rest).
    pub bytes: Reading<u64>,
    /// Parts of this part; they need not sum to it.
    pub within: Vec<Part>,
}

impl Part {
    /// Creates a part without parts of its own.
    pub(super) const fn new(id: &'static str, title: &'static str, bytes: Reading<u64>, help: &'static str) -> Self {
        Self {
            id,
            title,
            help,
            bytes,
            within: Vec::new(),
        }
    }

    /// Adds parts of this part.
    pub(super) fn with(mut self, within: impl IntoIterator<Item = Self>) -> Self {
        self.within.extend(within);
        self
    }
}
