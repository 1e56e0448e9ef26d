//! Rows of one table, ready to print.

use super::{Query, RowRef, RowSource, Selection};
use crate::columns::Row;
use crate::group::{RowKey, Totals};
use crate::history::History;
use crate::model::{Missing, Snapshot};
use crate::order;

/// The selected rows, in their order.
#[derive(Debug)]
pub struct Rows<'a> {
    source: RowSource<'a>,
    selection: Selection,
    shown: Vec<RowRef>,
    hidden: Vec<(Missing, usize)>,
}

/// A row to show.
#[derive(Clone, Copy, Debug)]
pub struct ShownRow<'r> {
    /// The row that columns take their values from.
    pub row: Row<'r>,
    /// The lines drawn before its command in a tree: `│  ├─ `.
    pub guide: &'r str,
    /// Number of its ancestors in a tree.
    pub depth: usize,
    /// It passes the filter; an ancestor of such a row need not.
    pub passes: bool,
}

impl<'a> Rows<'a> {
    /// Selects and orders the rows of a snapshot. Changes and rates are taken from `history`, where more than
    /// one snapshot was seen.
    pub fn select(snapshot: &'a Snapshot, history: Option<&'a History>, query: &Query<'_>) -> Self {
        let source = RowSource::new(snapshot, history);
        let selection = Selection::new(&source, query);
        let samples = selection.samples(snapshot, |i| selection.passes(i));
        let hidden = samples.filter_map(|s| s.walk.err()).filter(|why| why.hides_memory());
        let hidden = count_reasons(hidden.collect());
        Self::ordered(source, selection, hidden, query)
    }

    /// Orders rows that were selected; `unreadable` says why processes could not be read.
    pub fn of_selection(
        source: RowSource<'a>,
        selection: Selection,
        unreadable: Vec<Missing>,
        query: &Query<'_>,
    ) -> Self {
        Self::ordered(source, selection, count_reasons(unreadable), query)
    }

    fn ordered(source: RowSource<'a>, selection: Selection, hidden: Vec<(Missing, usize)>, query: &Query<'_>) -> Self {
        Self {
            shown: selection.order(&source, query),
            source,
            selection,
            hidden,
        }
    }

    /// Returns the snapshot that the rows are of.
    pub const fn snapshot(&self) -> &'a Snapshot {
        self.source.snapshot
    }

    /// Returns what the rows were selected from.
    pub const fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the rows in their order.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = ShownRow<'_>> {
        self.shown.iter().map(|shown| ShownRow {
            row: self.selection.row(&self.source, shown.index, shown.folded),
            guide: &shown.guide,
            depth: shown.depth,
            passes: self.selection.passes(shown.index),
        })
    }

    /// Returns every process or group with whether it passes the filter, in no order that means anything.
    pub fn candidates(&self) -> impl Iterator<Item = (RowKey, Row<'_>, bool)> {
        let selection = &self.selection;
        (0..selection.len()).map(|i| {
            let row = selection.row(&self.source, i, false);
            (selection.key(self.source.snapshot, i), row, selection.passes(i))
        })
    }

    /// Returns the sums over all that pass.
    pub const fn totals(&self) -> &Totals {
        &self.selection.totals
    }

    /// Returns the row of the sums.
    pub fn total(&self) -> Row<'_> {
        Row::of_totals(&self.selection.totals, self.source.snapshot)
    }

    /// Returns how many processes could not be read, by reason.
    pub fn hidden(&self) -> &[(Missing, usize)] {
        &self.hidden
    }
}

fn count_reasons(mut reasons: Vec<Missing>) -> Vec<(Missing, usize)> {
    order::sort_by(&mut reasons, Ord::cmp);
    reasons
        .chunk_by(|a, b| a == b)
        .map(|same| (same[0], same.len()))
        .collect()
}
