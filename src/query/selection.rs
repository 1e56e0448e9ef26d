//! The rows that pass a query, their sums, and their order.

use std::borrow::Cow;

use super::{Query, RowFilter, RowSource};
use crate::columns::{OrderKey, Row, order};
use crate::group::tree::{Forest, Node};
use crate::group::{Group, GroupBy, RowKey, Totals, groups};
use crate::model::{ProcessSample, Snapshot};

/// The processes or groups of a snapshot, and which of them pass.
#[derive(Debug, Default)]
pub struct Selection {
    /// The groups chosen from, whether they pass or not; empty where rows are processes.
    pub groups: Vec<Group>,
    /// The sums of all that pass.
    pub totals: Totals,
    /// In a tree: what each process of the snapshot holds with its descendants. Empty otherwise.
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

/// Number of processes that mappings were read of.
#[derive(Clone, Copy, Debug)]
pub struct MappingCount {
    /// Processes read.
    pub read: usize,
    /// Processes that could not be read, whose memory the sums lack.
    pub unreadable: usize,
}

/// A row of a table: which process or group it is, and where it stands in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRef {
    /// The place of the process in the snapshot, or of the group in [`Selection::groups`].
    pub index: usize,
    /// Its identity, which outlasts the snapshot.
    pub key: RowKey,
    /// The lines drawn before its command in a tree: `│  ├─ `.
    pub guide: String,
    /// Number of its ancestors in a tree.
    pub depth: usize,
    /// It has shown children in a tree.
    pub parent: bool,
    /// They are folded away, and the row shows the sum.
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

impl Selection {
    /// Selects the processes, or the groups of processes, that pass.
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

    /// Selects from mappings, whose processes were chosen by the query before they were read.
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

    /// Returns how many rows pass.
    pub fn count(&self) -> usize {
        self.passes.iter().filter(|passes| **passes).count()
    }

    /// Returns how many processes or groups were chosen from.
    pub const fn len(&self) -> usize {
        self.passes.len()
    }

    /// Returns true if there was nothing to choose from.
    pub const fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }

    /// Returns true if the process or group at this place passes.
    pub fn passes(&self, index: usize) -> bool {
        self.passes[index]
    }

    /// Returns what the groups are; `None` where rows are processes.
    pub const fn by(&self) -> Option<GroupBy> {
        match self.candidates {
            Candidates::Processes => None,
            Candidates::Groups(by) => Some(by),
            Candidates::Mappings(_) => Some(GroupBy::Mapping),
        }
    }

    /// Sums up the processes or groups that are picked by their place. Memory that several share counts once.
    pub fn sum(&self, source: &RowSource<'_>, picked: impl Fn(usize) -> bool) -> Totals {
        match self.candidates {
            Candidates::Processes | Candidates::Groups(_) => {
                Totals::of(self.samples(source.snapshot, picked), |s| source.change(s))
            }
            Candidates::Mappings(count) => {
                // Each mapping has its own part of the memory, but all are of the same processes.
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

    /// Returns the processes that are picked, or are members of the groups that are.
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

    /// Returns the row of the process or group at this place. In a tree a `folded` one shows the memory and the
    /// change of its whole subtree.
    pub fn row<'s>(&'s self, source: &RowSource<'s>, index: usize, folded: bool) -> Row<'s> {
        if let Some(group) = self.groups.get(index) {
            return source.group(group);
        }
        let sample = &source.snapshot.rows()[index];
        source.process_in_tree(sample, self.subtrees.get(index), folded)
    }

    /// Returns the identity of the process or group at this place.
    pub fn key(&self, snapshot: &Snapshot, index: usize) -> RowKey {
        match self.groups.get(index) {
            Some(group) => RowKey::Group(group.key.clone()),
            None => RowKey::Process(snapshot.rows()[index].id),
        }
    }

    /// Returns the rows that pass in the order of the query.
    pub fn order(&self, source: &RowSource<'_>, query: &Query<'_>) -> Vec<RowRef> {
        match &self.forest {
            Some(forest) => self.order_tree(forest, source, query),
            None => self.order_list(source, query),
        }
    }

    fn order_list(&self, source: &RowSource<'_>, query: &Query<'_>) -> Vec<RowRef> {
        let passing: Vec<usize> = (0..self.len()).filter(|i| self.passes[*i]).collect();
        let mut places = self.sorted(&passing, source, query);
        places.truncate(query.top.unwrap_or(usize::MAX));
        let flat = |index| RowRef::flat(index, self.key(source.snapshot, index));
        places.into_iter().map(flat).collect()
    }

    /// Orders siblings by what they hold with all their descendants, and picks the first rows by it too.
    fn order_tree(&self, forest: &Forest, source: &RowSource<'_>, query: &Query<'_>) -> Vec<RowRef> {
        let samples = source.snapshot.rows();
        let all: Vec<usize> = (0..samples.len()).collect();
        let sorted = self.sorted(&all, source, query);
        let mut rank = vec![0; samples.len()];
        for (place, index) in sorted.iter().enumerate() {
            rank[*index] = place;
        }
        let shown = query.top.map_or(Cow::Borrowed(&self.passes), |top| {
            let mut first = vec![false; samples.len()];
            for index in sorted.iter().filter(|i| self.passes[**i]).take(top) {
                first[*index] = true;
            }
            Cow::Owned(first)
        });
        let folded = |i: usize| query.folded.is_some_and(|folded| folded.contains(&samples[i].id));
        let nodes = forest.rows(|i| shown[i], folded, |a, b| rank[a].cmp(&rank[b]));
        let mut depth = vec![0; samples.len()];
        let row = |node: Node| {
            // A parent always comes before its children.
            let own = forest.parent(node.index).map_or(0, |up| depth[up] + 1);
            depth[node.index] = own;
            RowRef {
                index: node.index,
                key: RowKey::Process(samples[node.index].id),
                guide: node.guide,
                depth: own,
                parent: node.parent,
                folded: node.folded,
            }
        };
        nodes.into_iter().map(row).collect()
    }

    /// Sorts places by the column of the query; a frozen order goes before it.
    fn sorted(&self, places: &[usize], source: &RowSource<'_>, query: &Query<'_>) -> Vec<usize> {
        let (column, keyed) = (query.sort.get(), source.for_order(query.sort));
        let key = |i: &usize| column.order_key(&self.row(&keyed, *i, true));
        let keys: Vec<OrderKey> = places.iter().map(key).collect();
        let mut sorted: Vec<usize> = order(&keys, query.descending).into_iter().map(|i| places[i]).collect();
        if let Some(frozen) = query.frozen {
            sorted.sort_by_cached_key(|i| {
                let known = frozen.get(&self.key(source.snapshot, *i));
                known.copied().unwrap_or(usize::MAX)
            });
        }
        sorted
    }
}

/// Returns true if a group passes: words ask its members, figures its sums.
fn passes_group(group: &Group, source: &RowSource<'_>, query: &Query<'_>) -> bool {
    let rows = source.snapshot.rows();
    let members = group.members.iter().map(|i| source.process(&rows[*i]));
    query.filter.is_empty() || query.filter.matches_group(&source.group(group), members)
}
