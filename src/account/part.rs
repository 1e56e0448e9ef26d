//! A part of the RAM, with its size, its source and its subdivisions.

use crate::model::Reading;

/// The direction in which the true size of a part may differ, if some process that counts in it could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The true size is at most the shown size.
    AtMost,
    /// The true size is at least the shown size.
    AtLeast,
}

impl Bound {
    /// Returns the mark shown before the size.
    pub const fn mark(self) -> char {
        match self {
            Self::AtMost => '≤',
            Self::AtLeast => '≥',
        }
    }

    /// Returns the bound in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
        }
    }
}

/// A part of the RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in JSON and CSV.
    pub id: &'static str,
    /// Its name in the table.
    pub title: &'static str,
    /// Its source and formula.
    pub help: &'static str,
    /// Its size in bytes. If unknown, the part is included in [`Account::rest`](super::Account::rest).
    pub bytes: Reading<u64>,
    /// The direction in which the true size may differ; `None` if the size is exact.
    pub bound: Option<Bound>,
    /// Subdivisions, which need not sum to it.
    pub within: Vec<Part>,
}

impl Part {
    /// Creates a part without subdivisions.
    pub(super) const fn new(id: &'static str, title: &'static str, bytes: Reading<u64>, help: &'static str) -> Self {
        Self {
            id,
            title,
            help,
            bytes,
            bound: None,
            within: Vec::new(),
        }
    }

    pub(super) const fn bound(mut self, bound: Option<Bound>) -> Self {
        self.bound = bound;
        self
    }

    /// Adds subdivisions.
    pub(super) fn with(mut self, within: impl IntoIterator<Item = Self>) -> Self {
        self.within.extend(within);
        self
    }
}
