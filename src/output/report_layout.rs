//! The columns, the order and the look of a report with one table.

use super::OutputStyle;
use crate::columns::{Column, OrderKey, TableKind, order};

/// The columns, the order and the look of a report.
#[derive(Clone, Debug)]
pub struct ReportLayout<T: TableKind> {
    /// The columns, from left to right.
    pub columns: Vec<&'static Column<T>>,
    /// The column sorted by.
    pub sort: &'static Column<T>,
    /// Greatest first.
    pub descending: bool,
    /// Maximum number of rows; the totals are of all that pass the filter.
    pub top: Option<usize>,
    /// Style of the text.
    pub style: OutputStyle,
}

impl<T: TableKind> ReportLayout<T> {
    /// Returns the places of the rows to show, in order, by the keys of all.
    pub(super) fn shown(&self, keys: &[OrderKey]) -> Vec<usize> {
        let mut places = order(keys, self.descending);
        places.truncate(self.top.unwrap_or(usize::MAX));
        places
    }
}

/// Returns a number with what it counts.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns what totals are the sums of: `187 caches, 20 shown, partial: 2 malformed`.
pub(super) fn totals_label(noun: &str, passing: usize, shown: usize, malformed: usize) -> String {
    let mut parts = vec![counted(passing as u64, noun)];
    if shown < passing {
        parts.push(format!("{shown} shown"));
    }
    if malformed > 0 {
        parts.push(format!("partial: {malformed} malformed"));
    }
    parts.join(", ")
}
