//! The rows that pass a query, their sums, and their order; ready to print in [`Rows`].

use std::borrow::Cow;
use std::collections::HashMap;

use crate::columns::{OrderKey, Row, order};
use crate::group::tree::{Forest, Node};
use crate::group::{Change, Group, GroupBy, GroupKey, GroupNames, RowKey, Totals, groups};
use crate::history::History;
use crate::model::{Missing, ProcessSample, Snapshot};
use crate::order;
use crate::query::{Fold, Query, RowFilter, RowRef, RowSource};

/// The processes or groups of a snapshot, with those that pass.
#[derive(Debug, Default)]
pub struct Selection {
    /// All groups, passing or not; empty if rows are processes.
    pub groups: Vec<Group>,
    /// The sums over all passing rows.
    pub totals: Totals,
    /// In a tree, for each process of the snapshot, the sum of it and its descendants. Empty otherwise.
    pub subtrees: Vec<Totals>,
    candidates: Candidates,
    passes: Vec<bool>,
    forest: Option<Forest>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Candidates {
    #[default]
    Processes,
    Groups(GroupBy),
    Mappings(MappingCount),
}

/// Number of processes whose mappings were requested.
#[derive(Clone, Copy, Debug)]
pub struct MappingCount {
    /// Processes whose mappings were read.
    pub read: usize,
    /// Unreadable processes, whose memory is missing from the sums.
    pub unreadable: usize,
}

impl Selection {
    /// Selects the processes, or groups of processes, that pass.
    pub fn new(source: &RowSource<'_>, query: &Query<'_>) -> Self {
        let samples = source.snapshot.rows();
        let filter = RowFilter::new(*source, *query);
        let mut selection = match query.by {
            None => Self {
                passes: samples.iter().map(|sample| filter.lists(sample)).collect(),
                ..Self::default()
            },
            Some(by) => {
                let groups = groups(source.snapshot, by, |s| filter.sums(s), |s| source.change(s));
                Self {
                    passes: groups.iter().map(|g| passes_group(g, source, query)).collect(),
                    groups,
                    candidates: Candidates::Groups(by),
                    ..Self::default()
                }
            }
        };
        selection.totals = selection.sum(source, |index| selection.passes[index]);
        if query.tree && query.by.is_none() {
            let forest = Forest::new(samples);
            selection.subtrees = forest.subtrees(samples, |s| source.change(s));
            selection.forest = Some(forest);
        }
        selection
    }

    /// Selects from mappings whose processes the query selected before they were read.
    pub fn of_mappings(
        source: &RowSource<'_>,
        groups: Vec<Group>,
        count: MappingCount,
        passes: impl Fn(&Row<'_>) -> bool,
    ) -> Self {
        let mut selection = Self {
            passes: groups.iter().map(|group| passes(&source.group(group))).collect(),
            groups,
            candidates: Candidates::Mappings(count),
            ..Self::default()
        };
        selection.totals = selection.sum(source, |index| selection.passes[index]);
        selection
    }

    /// Returns the number of passing processes or groups.
    pub fn count(&self) -> usize {
        self.passes.iter().filter(|passes| **passes).count()
    }

    /// Returns the number of processes or groups, passing or not.
    pub const fn len(&self) -> usize {
        self.passes.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }

    pub fn passes(&self, index: usize) -> bool {
        self.passes[index]
    }

    /// Returns the kind of the groups, or `None` if rows are processes.
    pub const fn by(&self) -> Option<GroupBy> {
        match self.candidates {
            Candidates::Processes => None,
            Candidates::Groups(by) => Some(by),
            Candidates::Mappings(_) => Some(GroupBy::Mapping),
        }
    }

    /// Sums the processes or groups whose index `picked` accepts. Shared address spaces count once.
    pub fn sum(&self, source: &RowSource<'_>, picked: impl Fn(usize) -> bool) -> Totals {
        match self.candidates {
            Candidates::Processes => Totals::of(self.samples(source.snapshot, picked), |s| source.change(s)),
            Candidates::Groups(_) => {
                let mut sum = Totals::of(self.samples(source.snapshot, &picked), |s| source.change(s));
                // A group knows what its processes that have ended gave back.
                sum.change = Change::default();
                for (_, group) in self.groups.iter().enumerate().filter(|(i, _)| picked(*i)) {
                    if let Some(change) = source.group(group).change {
                        sum.change.add(change);
                    }
                }
                sum
            }
            Candidates::Mappings(count) => {
                // Each mapping is a different part of the memory of the same processes.
                let mut sum = Totals::default();
                for (_, group) in self.groups.iter().enumerate().filter(|(i, _)| picked(*i)) {
                    sum.add(&group.totals);
                }
                sum.count = count.read;
                sum.partial = count.unreadable > 0;
                sum
            }
        }
    }

    /// Returns the picked processes, or the members of the picked groups.
    pub(super) fn samples<'s>(
        &'s self,
        snapshot: &'s Snapshot,
        picked: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = &'s ProcessSample> {
        let picked = (0..self.len()).filter(move |i| picked(*i));
        picked.flat_map(|i| self.members(i)).map(|i| &snapshot.rows()[i])
    }

    fn members(&self, index: usize) -> impl Iterator<Item = usize> {
        let group = self.groups.get(index);
        let own = group.is_none().then_some(index);
        own.into_iter()
            .chain(group.into_iter().flat_map(|g| g.members.iter().copied()))
    }

    /// Returns the row of the process or group at this index. In a tree, a `folded` row shows the memory and change of
    /// its whole subtree.
    pub fn row<'s>(&'s self, source: &RowSource<'s>, index: usize, folded: bool) -> Row<'s> {
        if let Some(group) = self.groups.get(index) {
            return source.group(group);
        }
        let sample = &source.snapshot.rows()[index];
        source.process_in_tree(sample, self.subtrees.get(index), folded)
    }

    pub fn key(&self, snapshot: &Snapshot, index: usize) -> RowKey {
        match self.groups.get(index) {
            Some(group) => RowKey::Group(group.key.clone()),
            None => RowKey::Process(snapshot.rows()[index].id),
        }
    }

    /// Returns the key of the row at this index, which may be a row of equal siblings.
    fn key_in(&self, query: &Query<'_>, snapshot: &Snapshot, index: usize) -> RowKey {
        fold_at(query, index).map_or_else(|| self.key(snapshot, index), Fold::key)
    }

    /// Returns true if a process has no children in the tree. In a plain list, none has.
    pub fn is_leaf(&self, index: usize) -> bool {
        self.forest.as_ref().is_none_or(|forest| forest.is_leaf(index))
    }

    /// Returns the passing rows in the order of the query.
    pub fn order(&self, source: &RowSource<'_>, query: &Query<'_>) -> Vec<RowRef> {
        match &self.forest {
            Some(forest) => self.order_tree(forest, source, query),
            None => self.order_list(source, query),
        }
    }

    fn order_list(&self, source: &RowSource<'_>, query: &Query<'_>) -> Vec<RowRef> {
        let is_shown = |i: &usize| self.passes[*i] && !query.folds.is_some_and(|folds| folds.hides(*i));
        let passing: Vec<usize> = (0..self.len()).filter(is_shown).collect();
        let mut places = self.sorted(&passing, source, query);
        places.truncate(query.top.unwrap_or(usize::MAX));
        let flat = |index| RowRef {
            folded: fold_at(query, index).is_some(),
            ..RowRef::flat(index, self.key_in(query, source.snapshot, index))
        };
        places.into_iter().map(flat).collect()
    }

    /// Sorts siblings by the sums of their subtrees, which also decide the first rows (`top`).
    fn order_tree(&self, forest: &Forest, source: &RowSource<'_>, query: &Query<'_>) -> Vec<RowRef> {
        let samples = source.snapshot.rows();
        let all: Vec<usize> = (0..samples.len()).collect();
        let sorted = self.sorted(&all, source, query);
        let mut rank = vec![0; samples.len()];
        for (place, index) in sorted.iter().enumerate() {
            rank[*index] = place;
        }
        let mut shown = query.top.map_or(Cow::Borrowed(&self.passes), |top| {
            let mut first = vec![false; samples.len()];
            for index in sorted.iter().filter(|i| self.passes[**i]).take(top) {
                first[*index] = true;
            }
            Cow::Owned(first)
        });
        if let Some(folds) = query.folds.filter(|folds| !folds.list.is_empty()) {
            let shown = shown.to_mut();
            (0..shown.len()).for_each(|i| shown[i] &= !folds.hides(i));
        }
        let folded = |i: usize| query.folded.is_some_and(|folded| folded.contains(&samples[i].id));
        let nodes = forest.rows(|i| shown[i], folded, |a, b| rank[a].cmp(&rank[b]));
        let mut depth = vec![0; samples.len()];
        let row = |node: Node| {
            // A parent always precedes its children.
            let own = forest.parent[node.index].map_or(0, |up| depth[up] + 1);
            depth[node.index] = own;
            RowRef {
                index: node.index,
                key: self.key_in(query, source.snapshot, node.index),
                guide: node.guide,
                depth: own,
                parent: node.parent,
                folded: node.folded || fold_at(query, node.index).is_some(),
            }
        };
        nodes.into_iter().map(row).collect()
    }

    /// Sorts indices by the query's sort column. A frozen order takes precedence.
    fn sorted(&self, places: &[usize], source: &RowSource<'_>, query: &Query<'_>) -> Vec<usize> {
        let (column, keyed) = (query.sort.get(), source.for_order(query.sort));
        let own = |i: usize| column.order_key(&self.row(&keyed, i, true));
        let key = |i: &usize| match fold_at(query, *i) {
            Some(fold) => fold.order_key(&keyed, query.sort, query.descending, own),
            None => own(*i),
        };
        let keys: Vec<OrderKey> = places.iter().map(key).collect();
        let mut sorted: Vec<usize> = order(&keys, query.descending).into_iter().map(|i| places[i]).collect();
        if let Some(frozen) = query.frozen {
            sorted.sort_by_cached_key(|i| {
                let known = frozen.get(&self.key_in(query, source.snapshot, *i)).copied();
                known
                    .or_else(|| frozen_equal(query, source, frozen, *i))
                    .unwrap_or(usize::MAX)
            });
        }
        sorted
    }
}

/// Returns the folded row whose first process is at this index.
fn fold_at<'a>(query: &Query<'a>, index: usize) -> Option<&'a Fold> {
    query.folds?.of(index).filter(|fold| fold.first() == index)
}

/// Returns true if a group passes. The filter's words apply to its members, its figures to its sums.
fn passes_group(group: &Group, source: &RowSource<'_>, query: &Query<'_>) -> bool {
    let rows = source.snapshot.rows();
    let members = group.members.iter().map(|i| source.process(&rows[*i]));
    query.filter.is_empty() || query.filter.matches_group(&source.group(group), members)
}

/// Returns the position in a frozen order that a row had before it was folded or unfolded: for equal siblings, the first
/// position of a member; for a process, the position of its siblings' row.
fn frozen_equal(
    query: &Query<'_>,
    source: &RowSource<'_>,
    frozen: &HashMap<&RowKey, usize>,
    index: usize,
) -> Option<usize> {
    query.folds?;
    if let Some(fold) = fold_at(query, index) {
        let places = fold
            .ids(source.snapshot)
            .map(|id| frozen.get(&RowKey::Process(id)).copied());
        return places.flatten().min();
    }
    let rows = source.snapshot.rows();
    let by = GroupBy::Siblings;
    let name = GroupNames::new(rows).name_of(rows.get(index)?, by)?.into();
    frozen.get(&RowKey::Group(GroupKey { by, name: Some(name) })).copied()
}

/// The selected rows, sorted.
#[derive(Debug)]
pub struct Rows<'a> {
    pub source: RowSource<'a>,
    pub selection: Selection,
    shown: Vec<RowRef>,
    /// The number of unreadable processes by reason.
    pub hidden: Vec<(Missing, usize)>,
}

#[derive(Clone, Copy, Debug)]
pub struct ShownRow<'r> {
    pub row: Row<'r>,
    /// The guide lines before its command in a tree: `│  ├─ `.
    pub guide: &'r str,
    /// The number of its ancestors in a tree.
    pub depth: usize,
    /// True if it passes the filter. An ancestor of such a row need not pass.
    pub passes: bool,
}

impl<'a> Rows<'a> {
    /// Selects and sorts the rows of a snapshot. Changes and rates come from `history`, if it has several snapshots.
    pub fn select(snapshot: &'a Snapshot, history: Option<&'a History>, query: &Query<'_>) -> Self {
        let source = RowSource::new(snapshot, history);
        let selection = Selection::new(&source, query);
        let samples = selection.samples(snapshot, |i| selection.passes(i));
        let hidden = samples.filter_map(|s| s.walk.err()).filter(|why| why.hides_memory());
        let hidden = hidden.collect();
        Self::of_selection(source, selection, hidden, query)
    }

    /// Sorts selected rows. `unreadable` contains the reason of each unreadable process.
    pub fn of_selection(
        source: RowSource<'a>,
        selection: Selection,
        mut unreadable: Vec<Missing>,
        query: &Query<'_>,
    ) -> Self {
        order::sort_by(&mut unreadable, Ord::cmp);
        let same = unreadable.chunk_by(|a, b| a == b);
        Self {
            shown: selection.order(&source, query),
            hidden: same.map(|same| (same[0], same.len())).collect(),
            source,
            selection,
        }
    }

    pub fn shown(&self) -> impl ExactSizeIterator<Item = ShownRow<'_>> {
        self.shown.iter().map(|shown| ShownRow {
            row: self.selection.row(&self.source, shown.index, shown.folded),
            guide: &shown.guide,
            depth: shown.depth,
            passes: self.selection.passes(shown.index),
        })
    }

    /// Returns every process or group, and whether it passes the filter.
    pub fn candidates(&self) -> impl Iterator<Item = (RowKey, Row<'_>, bool)> {
        let selection = &self.selection;
        (0..selection.len()).map(|i| {
            let row = selection.row(&self.source, i, false);
            (selection.key(self.source.snapshot, i), row, selection.passes(i))
        })
    }

    /// Returns the sums over all passing rows as a row.
    pub fn total(&self) -> Row<'_> {
        Row::of_totals(&self.selection.totals, self.source.snapshot)
    }
}
