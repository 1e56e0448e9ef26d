//! A part of the RAM.

use crate::model::Reading;

/// The side on which the true size of a part is, where some process that counts in it could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is no larger than told.
    AtMost,
    /// It is no smaller than told.
    AtLeast,
}

impl Bound {
    /// Returns the mark before its size.
    pub const fn mark(self) -> char {
        match self {
            Self::AtMost => '≤',
            Self::AtLeast => '≥',
        }
    }

    /// Returns its word.
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
    /// Its size in bytes; an unknown part is in [`Account::rest`](super::Account::rest).
    pub bytes: Reading<u64>,
    /// The side on which the true size is; `None` where this is it.
    pub bound: Option<Bound>,
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
            bound: None,
            within: Vec::new(),
        }
    }

    /// Marks its size as partial.
    pub(super) const fn bound(mut self, bound: Option<Bound>) -> Self {
        self.bound = bound;
        self
    }

    /// Adds parts of this part.
    pub(super) fn with(mut self, within: impl IntoIterator<Item = Self>) -> Self {
        self.within.extend(within);
        self
    }
}
