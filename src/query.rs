//! Selects the rows of a table: the processes or groups that pass, their order and their sums.
//!
//! The screen and `zmtop ps` use the same query. [`Selection`] decides which rows pass and computes the sums.
//! [`Selection::order`] sorts them for one table. [`Rows`] combines both, for a table that is printed once.
//!
//! Nothing here draws or writes. Except for [`Kept`], [`Siblings`] and [`Folds`], no state lasts from one snapshot to the next:
//! the cursor, tags and a frozen order belong to the caller.

mod folds;
pub(crate) mod kept;
mod selection;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

pub use folds::{Fold, Folds, MAX_WITH_PAST, Siblings};
pub use kept::{Kept, ListPlan, ReadyList};
pub use selection::{MappingCount, Rows, Selection, ShownRow};

use crate::columns::{ColumnId, Needs, Row, layout};
use crate::filter::{Filter, TextField};
use crate::group::totals::one_of_each;
use crate::group::{Change, Group, GroupBy, GroupKey, GroupNames, RowKey, Totals, groups};
use crate::history::mappings::ColdnessTable;
use crate::history::marks::Mark;
use crate::history::{History, RowHistory};
use crate::model::{Identity, Missing, ProcessSample, Snapshot};
use crate::units;

/// A query over the processes of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The kind of group; `None` for one row per process. The filter's words then select the processes that are summed, and
    /// its figures apply to the sums.
    pub by: Option<GroupBy>,
    /// True to list processes below their parents.
    pub tree: bool,
    /// List only members of this group.
    pub members_of: Option<&'a GroupKey>,
    pub filter: &'a Filter,
    /// List only processes of this user.
    pub user: Option<&'a [u8]>,
    /// List kernel threads. They have no memory of their own, so they are in no group.
    pub kernel_threads: bool,
    /// List unreadable processes even if no filter asks for them.
    pub unseen: bool,
    /// The sort column. Unknown values come last in both directions.
    pub sort: ColumnId,
    /// True for the greatest first.
    pub descending: bool,
    /// Maximum number of rows, in a tree not counting ancestors. Totals include all rows that match.
    pub top: Option<usize>,
    /// Processes whose descendants are hidden in a tree.
    pub folded: Option<&'a HashSet<Identity>>,
    /// Equal siblings, each shown as one row.
    pub folds: Option<&'a Folds>,
    /// A frozen order: the positions of known rows. Other rows follow, in the order of `sort`.
    pub frozen: Option<&'a HashMap<&'a RowKey, usize>>,
}

impl<'a> Query<'a> {
    /// Creates the query for all processes, greatest PSS first.
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
            folds: None,
            frozen: None,
        }
    }
}

/// A snapshot and the other sources of row values.
#[derive(Clone, Copy, Debug)]
pub struct RowSource<'a> {
    pub snapshot: &'a Snapshot,
    /// The source of changes, rates and trends, which are unknown without it.
    pub history: Option<&'a History>,
    pub mark: Option<&'a Mark>,
    /// Hot and cold memory of the processes that were selected for it.
    pub coldness: Option<&'a ColdnessTable>,
    /// The time span of charts; `None` for the shortest.
    pub span: Option<Duration>,
}

impl<'a> RowSource<'a> {
    pub const fn new(snapshot: &'a Snapshot, history: Option<&'a History>) -> Self {
        Self {
            snapshot,
            history,
            mark: None,
            coldness: None,
            span: None,
        }
    }

    /// Returns the source for sort keys. Looking up a row's history takes longer than the rest of its key, and few columns need
    /// it.
    fn for_order(&self, sort: ColumnId) -> Self {
        let history = self.history.filter(|_| sort.get().needs.contains(Needs::HISTORY));
        Self { history, ..*self }
    }

    pub fn process(&self, sample: &'a ProcessSample) -> Row<'a> {
        let series = self.history.and_then(|history| history.get(sample.id));
        let row = Row::of_process(sample, series, self.snapshot);
        let held = self.history.and_then(|history| history.held().get(sample.id));
        self.with_mark(row.with_coldness(self.coldness).with_held(held))
    }

    /// Returns the row of one process in a tree. `subtree` is the sum of the process and its descendants. If `folded`,
    /// the row shows the memory and change of the whole subtree.
    pub fn process_in_tree(&self, sample: &'a ProcessSample, subtree: Option<&'a Totals>, folded: bool) -> Row<'a> {
        let mut row = self.process(sample);
        row.totals = subtree;
        if let Some(subtree) = subtree.filter(|_| folded) {
            let sums = Row::of_totals(subtree, self.snapshot);
            (row.memory, row.counted_rss, row.is_counted) = (sums.memory, sums.counted_rss, false);
            (row.counted_anon, row.counted_swap) = (sums.counted_anon, sums.counted_swap);
            row.hidden_rss = subtree.hidden_beside();
            (row.error, row.change, row.held) = (sums.error, sums.change, None);
        }
        row
    }

    pub fn group(&self, group: &'a Group) -> Row<'a> {
        let series = self.history.and_then(|history| history.of_group(group, self.snapshot));
        let held = self.history.and_then(|h| h.held_of_group(group, self.snapshot));
        let row = Row::of_group(group, series, self.snapshot).with_held(held);
        self.with_mark(row.with_population(self.history.and_then(|history| history.population(&group.key))))
    }

    /// Returns the row of equal siblings. Their chart is drawn from the histories of all members.
    pub fn fold(&self, fold: &'a Fold) -> Row<'a> {
        let mut row = self.with_mark(Row::of_group(&fold.group, None, self.snapshot));
        row.is_counted = row.counted_rss.is_some();
        row.trend = fold.trend.as_ref();
        row
    }

    fn with_mark(&self, row: Row<'a>) -> Row<'a> {
        let mut row = row.with_mark(self.mark);
        if let Some(span) = self.span {
            row.footprint = row.footprint.map(|footprint| footprint.over(span));
        }
        row
    }

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

    /// Returns true if the process has its own row.
    fn lists(&self, sample: &'a ProcessSample) -> bool {
        // An opened group shows the processes that it sums, which kernel threads are not.
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

    /// Returns true if the process counts in a sum. Only the filter's words apply here: its figures apply to the sums.
    fn sums(&self, sample: &'a ProcessSample) -> bool {
        !sample.stat.is_kernel_thread() && self.in_scope(sample) && {
            let filter = self.query.filter;
            filter.is_empty() || filter.matches_but_for_figures(&self.source.process(sample))
        }
    }

    /// Returns true if the process matches the query's user and group.
    fn in_scope(&self, sample: &'a ProcessSample) -> bool {
        let of_user = |user: &[u8]| sample.facts.user.as_deref().is_ok_and(|own| own == user);
        self.query.user.is_none_or(of_user)
            && self
                .query
                .members_of
                .is_none_or(|key| self.names.name_of(sample, key.by).as_deref() == key.name.as_deref())
    }
}

/// Returns the processes that pass the filter of a query.
pub fn matching(source: &RowSource<'_>, query: &Query<'_>) -> Vec<Identity> {
    let filter = RowFilter::new(*source, *query);
    let rows = source.snapshot.rows().iter();
    rows.filter(|sample| filter.lists(sample))
        .map(|sample| sample.id)
        .collect()
}

/// Processes whose mappings are not known, so that a filter by mappings cannot decide on them: they may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadMappings {
    pub count: u64,
    pub why: Missing,
}

impl UnreadMappings {
    /// Returns true if they are about to be read.
    pub fn is_pending(self) -> bool {
        self.why == Missing::Pending
    }

    /// Describes them while they are about to be read, or after they could not be.
    pub fn text(self) -> String {
        let count = units::counted(self.count, "process");
        match self.why {
            Missing::Pending => format!("reading the mappings of {count}"),
            why => format!("the mappings of {count} are not known: {why}"),
        }
    }
}

/// Returns the processes that a filter by mappings could not decide on.
pub fn unread_mappings(filter: &Filter, snapshot: &Snapshot) -> Option<UnreadMappings> {
    if !filter.text_fields().contains(&TextField::Mapped) {
        return None;
    }
    let rows = snapshot.rows().iter().filter(|row| row.stat.lacks_memory().is_none());
    let reading = |row: &ProcessSample| match snapshot.mapped.get(&row.id) {
        None => Some(Missing::Pending),
        Some(found) => found.as_ref().err().copied().filter(|why| *why != Missing::Gone),
    };
    let missing: Vec<Missing> = rows.filter_map(reading).collect();
    let pending = missing.iter().filter(|why| **why == Missing::Pending).count();
    let (count, why) = match missing.iter().find(|why| **why != Missing::Pending) {
        _ if pending > 0 => (pending, Missing::Pending),
        why => (missing.len(), *why?),
    };
    let count = count as u64;
    Some(UnreadMappings { count, why })
}

/// Returns one process of each address space that the query sums: the processes whose mappings must be read.
pub fn address_spaces(source: &RowSource<'_>, query: &Query<'_>) -> Vec<Identity> {
    let filter = RowFilter::new(*source, *query);
    one_of_each(source.snapshot.rows().iter().filter(|sample| filter.sums(sample)))
}

/// A row of a table: the process or group, and its position in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRef {
    /// The index of the process in the snapshot, or of the group in [`Selection::groups`]. For folded siblings, the index of
    /// the first one.
    pub index: usize,
    pub key: RowKey,
    /// The guide lines before its command in a tree: `│  ├─ `.
    pub guide: String,
    /// The number of its ancestors in a tree.
    pub depth: usize,
    /// True if it has visible children in a tree.
    pub parent: bool,
    /// True if its children are hidden, or if it represents equal siblings. The row then shows the sum.
    pub folded: bool,
}

impl RowRef {
    /// Creates a row of a plain list.
    pub const fn flat(index: usize, key: RowKey) -> Self {
        Self {
            index,
            key,
            guide: String::new(),
            depth: 0,
            parent: false,
            folded: false,
        }
    }
}

/// Returns true if the words of a filter select a process, or `None` while a fact that they need has not been read yet.
/// Figures exclude no process here: they are applied at the end.
pub fn choose(filter: &Filter, sample: &ProcessSample, snapshot: &Snapshot) -> Option<bool> {
    if !filter.uses_text() {
        return Some(true);
    }
    if filter.text_fields().into_iter().any(|field| is_pending(sample, field)) {
        return None;
    }
    Some(filter.matches_but_for_figures(&Row::of_process(sample, None, snapshot)))
}

/// Returns true if the fact behind a text field has not been read yet.
fn is_pending(sample: &ProcessSample, field: TextField) -> bool {
    let facts = &sample.facts;
    let missing = match field {
        TextField::CommandLine | TextField::Group | TextField::Family => facts.cmdline.as_ref().err(),
        TextField::User | TextField::Owner => facts.user.as_ref().err(),
        TextField::Unit | TextField::Cgroup => facts.cgroup.as_ref().err(),
        TextField::Container | TextField::ContainerId | TextField::Pod | TextField::Namespace | TextField::Image => {
            let names = facts
                .container
                .as_ref()
                .and_then(|container| container.names.as_ref().err());
            names.or_else(|| facts.cgroup.as_ref().err())
        }
        TextField::Exe | TextField::Replaced => facts.exe.as_ref().err(),
        TextField::Comm | TextField::Host | TextField::Mapped | TextField::Unread | TextField::State => None,
    };
    missing == Some(&Missing::Pending)
}

/// A history of selected processes, and the filter that selected them.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    filter: &'a Filter,
    history: &'a History,
    source: RowSource<'a>,
}

impl<'a> Chosen<'a> {
    /// Creates a view of a history whose last snapshot is `snapshot`.
    pub const fn new(filter: &'a Filter, history: &'a History, snapshot: &'a Snapshot) -> Self {
        Self {
            filter,
            history,
            source: RowSource::new(snapshot, Some(history)),
        }
    }

    /// Returns true if a process passes. If the words that selected it no longer match, only the figures count.
    pub fn passes(&self, sample: &ProcessSample) -> bool {
        let row = self.source.process(sample);
        self.filter.matches(&row)
            || self.history.get(sample.id).is_some()
                && !self.filter.matches_but_for_figures(&row)
                && self.filter.matches_group(&row, std::iter::empty::<Row<'_>>())
    }

    /// Returns the groups of selected processes that pass.
    pub fn passing_groups(&self, by: GroupBy) -> HashSet<GroupKey> {
        let is_chosen =
            |sample: &ProcessSample| !sample.stat.is_kernel_thread() && self.history.get(sample.id).is_some();
        let mut groups = groups(self.source.snapshot, by, is_chosen, |sample| self.source.change(sample));
        groups.retain_mut(|group| {
            // Its history covers the same processes.
            group.whole = true;
            self.group_passes(group)
        });
        groups.into_iter().map(|group| group.key).collect()
    }

    fn group_passes(&self, group: &Group) -> bool {
        let rows = self.source.snapshot.rows();
        let sums = self.source.group(group);
        let members = || group.members.iter().map(|at| self.source.process(&rows[*at]));
        self.filter.matches_group(&sums, members())
            || !members().any(|row| self.filter.matches_but_for_figures(&row))
                && self.filter.matches_group(&sums, std::iter::empty::<Row<'_>>())
    }
}
