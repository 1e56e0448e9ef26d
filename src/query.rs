//! Rows of a table: which processes or groups pass, in which order, and what they hold together.
//!
//! The screen and `zmtop ps` ask the same query. [`Selection`] decides what passes and sums it up;
//! [`Selection::order`] orders it for one table; [`Rows`] is both, for a table that is printed once.
//!
//! For the two faces, `tui` and `output`. Nothing here draws or writes, and but for what is [`Kept`] of a plain list
//! nothing is kept from one snapshot to the next: the cursor, tags and a frozen order are the caller's.

mod chosen;
pub(crate) mod kept;
mod rows;
mod selection;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

pub use chosen::{Chosen, choose};
pub use kept::{Kept, ListPlan, ReadyList};
pub use rows::{Rows, ShownRow};
pub use selection::{MappingCount, RowRef, Selection};

use crate::columns::{ColumnId, Needs, Row, layout};
use crate::filter::Filter;
use crate::group::totals::one_of_each;
use crate::group::{Change, Group, GroupBy, GroupKey, GroupNames, RowKey, Totals};
use crate::history::coldness::ColdnessTable;
use crate::history::marks::Mark;
use crate::history::{History, RowHistory};
use crate::model::{Identity, ProcessSample, Snapshot};

/// A query over the processes of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The kind of group that rows are; `None` for a row per process. Words of the filter then choose the
    /// processes that are summed, figures judge the sums.
    pub by: Option<GroupBy>,
    /// Processes stand below their parents.
    pub tree: bool,
    /// Only members of this group.
    pub members_of: Option<&'a GroupKey>,
    /// The filter that rows must pass.
    pub filter: &'a Filter,
    /// Only processes of this user.
    pub user: Option<&'a [u8]>,
    /// Kernel threads are listed too. They have no memory of their own, so they are in no group.
    pub kernel_threads: bool,
    /// Processes of which nothing can be read are listed too, even where no filter asks for them.
    pub unseen: bool,
    /// The column sorted by; unknown values come last in either direction.
    pub sort: ColumnId,
    /// Greatest first.
    pub descending: bool,
    /// Maximum number of rows; in a tree, not counting ancestors. Totals are those of all that match.
    pub top: Option<usize>,
    /// Processes whose descendants are folded away in a tree.
    pub folded: Option<&'a HashSet<Identity>>,
    /// A frozen order: the places of known rows. Rows that are not in it come last, in the order of `sort`.
    pub frozen: Option<&'a HashMap<&'a RowKey, usize>>,
}

impl<'a> Query<'a> {
    /// Returns the query for every process, greatest PSS first.
    pub fn new(filter: &'a Filter) -> Self {
        Self {
            by: None,
            tree: false,
            members_of: None,
            filter,
            user: None,
            kernel_threads: false,
            unseen: true,
            sort: layout::PSS,
            descending: true,
            top: None,
            folded: None,
            frozen: None,
        }
    }
}

/// A snapshot, and what else the values of its rows are taken from.
#[derive(Clone, Copy, Debug)]
pub struct RowSource<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// The history that changes, rates and trends come from; without it they are unknown.
    pub history: Option<&'a History>,
    /// The mark that changes are shown since.
    pub mark: Option<&'a Mark>,
    /// Hot and cold memory, of processes that the user asked for.
    pub coldness: Option<&'a ColdnessTable>,
    /// The span of charts; `None` for the shortest.
    pub span: Option<Duration>,
}

impl<'a> RowSource<'a> {
    /// Returns a source without a mark.
    pub const fn new(snapshot: &'a Snapshot, history: Option<&'a History>) -> Self {
        Self {
            snapshot,
            history,
            mark: None,
            coldness: None,
            span: None,
        }
    }

    /// Returns the source for the keys of an order: finding the history of a row takes longer than all else of a key, and
    /// few columns need it.
    fn for_order(&self, sort: ColumnId) -> Self {
        let history = self.history.filter(|_| sort.get().needs.contains(Needs::HISTORY));
        Self { history, ..*self }
    }

    /// Returns the row of one process.
    pub fn process(&self, sample: &'a ProcessSample) -> Row<'a> {
        let series = self.history.and_then(|history| history.get(sample.id));
        let row = Row::of_process(sample, series, self.snapshot);
        let held = self.history.and_then(|history| history.held().get(sample.id));
        self.with_mark(row.with_coldness(self.coldness).with_held(held))
    }

    /// Returns the row of one process in a tree, where `subtree` is the sum of it and its descendants. If that is
    /// `folded`, the row shows the memory and the change of all of it.
    pub fn process_in_tree(&self, sample: &'a ProcessSample, subtree: Option<&'a Totals>, folded: bool) -> Row<'a> {
        let mut row = self.process(sample);
        row.totals = subtree;
        if let Some(subtree) = subtree.filter(|_| folded) {
            let sums = Row::of_totals(subtree, self.snapshot);
            (row.memory, row.counted_rss, row.is_counted) = (sums.memory, sums.counted_rss, false);
            (row.error, row.change, row.held) = (sums.error, sums.change, None);
        }
        row
    }

    /// Returns the row of one group.
    pub fn group(&self, group: &'a Group) -> Row<'a> {
        let series = self.history.and_then(|history| history.of_group(group, self.snapshot));
        let held = self
            .history
            .and_then(|history| history.held_of_group(group, self.snapshot));
        self.with_mark(Row::of_group(group, series, self.snapshot).with_held(held))
    }

    fn with_mark(&self, row: Row<'a>) -> Row<'a> {
        let row = row.with_mark(self.mark);
        match self.span {
            Some(span) => row.with_span(span),
            None => row,
        }
    }

    /// Returns the recent change of one process.
    fn change(&self, sample: &ProcessSample) -> Option<Change> {
        self.history?.get(sample.id).map(RowHistory::change).copied()
    }
}

/// Decides which processes of a snapshot pass a query.
struct RowFilter<'a> {
    source: RowSource<'a>,
    query: Query<'a>,
    names: GroupNames<'a>,
}

impl<'a> RowFilter<'a> {
    fn new(source: RowSource<'a>, query: Query<'a>) -> Self {
        Self {
            names: GroupNames::new(source.snapshot.rows()),
            source,
            query,
        }
    }

    /// Returns true if the process has a row of its own.
    fn lists(&self, sample: &'a ProcessSample) -> bool {
        // A group is opened to see what it sums up, and kernel threads are not in its sums.
        let kernel_threads = self.query.kernel_threads && self.query.members_of.is_none();
        (kernel_threads || !sample.stat.is_kernel_thread()) && self.in_scope(sample) && {
            let filter = self.query.filter;
            if filter.is_empty() {
                self.query.unseen || !sample.is_unseen()
            } else {
                filter.matches(&self.source.process(sample))
            }
        }
    }

    /// Returns true if the process is summed with others. Only the words of the filter are asked: its figures
    /// judge the sums.
    fn sums(&self, sample: &'a ProcessSample) -> bool {
        !sample.stat.is_kernel_thread() && self.in_scope(sample) && {
            let filter = self.query.filter;
            filter.is_empty() || filter.matches_but_for_figures(&self.source.process(sample))
        }
    }

    /// Returns true if the process is of the user, and in the group, that the query is about.
    fn in_scope(&self, sample: &'a ProcessSample) -> bool {
        let of_user = |user: &[u8]| sample.facts.user.as_deref().is_ok_and(|own| own == user);
        self.query.user.is_none_or(of_user)
            && self
                .query
                .members_of
                .is_none_or(|key| self.names.name_of(sample, key.by).as_deref() == key.name.as_deref())
    }
}

/// Returns one process of each address space that the query sums up: the processes whose mappings are to be
/// read.
pub fn address_spaces(source: &RowSource<'_>, query: &Query<'_>) -> Vec<Identity> {
    let filter = RowFilter::new(*source, *query);
    one_of_each(source.snapshot.rows().iter().filter(|sample| filter.sums(sample)))
}
