//! Which rows, in which order: what is asked of a snapshot, before anything is written.

use crate::columns::{ColumnId, Row, RowSubject, SortKey, layout, order};
use crate::filter::Filter;
use crate::group::tree::Forest;
use crate::group::{Change, Group, GroupBy, RowKey, Totals, groups};
use crate::history::{History, RowHistory};
use crate::model::{Missing, ProcessSample, Snapshot};

/// How processes stand in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A row each.
    #[default]
    Processes,
    /// A row each, below its parent.
    Tree,
    /// A row for all that have something in common: of a filter, words choose the processes that are summed,
    /// figures judge the sums.
    Groups(GroupBy),
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// How they stand.
    pub view: View,
    /// Which of them.
    pub filter: &'a Filter,
    /// The column sorted by; what is unknown comes last.
    pub sort: ColumnId,
    /// Greatest first.
    pub descending: bool,
    /// Kernel threads, which have no memory of their own, are listed too.
    pub kernel_threads: bool,
    /// No more rows than that; in a tree, no more beside the ancestors of those. Totals are those of all that
    /// match.
    pub top: Option<usize>,
}

impl<'a> Query<'a> {
    /// Every process, greatest PSS first.
    pub fn new(filter: &'a Filter) -> Self {
        Self {
            view: View::Processes,
            filter,
            sort: layout::PSS,
            descending: true,
            kernel_threads: false,
            top: None,
        }
    }
}

/// One row to show.
#[derive(Clone, Copy, Debug)]
pub struct Item<'r> {
    /// What the columns take their values from.
    pub row: Row<'r>,
    /// The lines drawn before its command, in a tree: `│  ├─ `.
    pub guide: &'r str,
    /// How many ancestors it has in the tree.
    pub depth: usize,
    /// It passes the filter; an ancestor of such a row need not.
    pub matches: bool,
}

/// The rows chosen, in their order.
#[derive(Debug)]
pub struct Rows<'a> {
    snapshot: &'a Snapshot,
    history: Option<&'a History>,
    subtrees: Vec<Totals>,
    /// The candidates; where there are none, the processes are.
    groups: Option<Vec<Group>>,
    /// Which of the candidates pass.
    matching: Vec<bool>,
    shown: Vec<Place>,
    totals: Totals,
    hidden: Vec<(Missing, usize)>,
}

/// Where a candidate stands.
#[derive(Debug)]
struct Place {
    index: usize,
    guide: String,
    depth: usize,
}

impl Place {
    const fn flat(index: usize) -> Self {
        Self {
            index,
            guide: String::new(),
            depth: 0,
        }
    }
}

impl<'a> Rows<'a> {
    /// Chooses and orders. `history` gives what changes and rates are taken from, where more than one snapshot
    /// was seen.
    pub fn select(snapshot: &'a Snapshot, history: Option<&'a History>, query: &Query<'_>) -> Self {
        let mut rows = Self::empty(snapshot, history);
        let kept = |s: &ProcessSample| query.kernel_threads || !s.stat.is_kernel_thread();
        match query.view {
            View::Processes | View::Tree => {
                let passes = |s| kept(s) && query.filter.matches(&RowSubject(rows.process(s)));
                rows.matching = snapshot.rows().iter().map(passes).collect();
            }
            View::Groups(by) => {
                let passes = |s: &ProcessSample| kept(s) && query.filter.may_match(&RowSubject(rows.process(s)));
                rows.group(groups(snapshot, by, passes, |s| rows.change(s)), query);
            }
        }
        rows.sum();
        match query.view {
            View::Processes | View::Groups(_) => rows.list(query),
            View::Tree => rows.tree(query),
        }
        rows
    }

    /// The mappings of processes as rows: of how many, and why others could not be read. Their words were asked
    /// of the processes already.
    pub fn of_mappings(
        snapshot: &'a Snapshot,
        groups: Vec<Group>,
        (read, mut hidden): (usize, Vec<Missing>),
        query: &Query<'_>,
    ) -> Self {
        let mut rows = Self::empty(snapshot, None);
        rows.group(groups, query);
        rows.hide(&mut hidden);
        let made = rows.groups.iter().flatten().zip(&rows.matching);
        let mut totals = Totals::default();
        for (group, _) in made.filter(|(_, matches)| **matches) {
            totals.add(&group.totals);
        }
        totals.partial = !rows.hidden.is_empty();
        totals.count = read;
        rows.totals = totals;
        rows.list(query);
        rows
    }

    fn empty(snapshot: &'a Snapshot, history: Option<&'a History>) -> Self {
        Self {
            snapshot,
            history,
            subtrees: Vec::new(),
            groups: None,
            matching: Vec::new(),
            shown: Vec::new(),
            totals: Totals::default(),
            hidden: Vec::new(),
        }
    }

    fn group(&mut self, groups: Vec<Group>, query: &Query<'_>) {
        let samples = self.snapshot.rows();
        let passes = |group: &Group| {
            let members = group.members.iter().map(|i| RowSubject(self.process(&samples[*i])));
            let sums = RowSubject(self.group_row(group));
            query.filter.matches_group(&sums, members)
        };
        self.matching = groups.iter().map(passes).collect();
        self.groups = Some(groups);
    }

    fn series(&self, sample: &ProcessSample) -> Option<&'a RowHistory> {
        self.history?.get(sample.id)
    }

    fn change(&self, sample: &ProcessSample) -> Option<Change> {
        self.series(sample).map(|s| *s.change())
    }

    fn process(&self, sample: &'a ProcessSample) -> Row<'a> {
        Row::of(sample, self.series(sample), self.snapshot)
    }

    fn group_row<'g>(&'g self, group: &'g Group) -> Row<'g> {
        let series = self.history.and_then(|history| history.group(&group.key));
        Row::of_group(group, series, self.snapshot)
    }

    /// The processes that match, or are in groups that do.
    fn summed(&self) -> Vec<&'a ProcessSample> {
        let samples = self.snapshot.rows();
        let Some(groups) = &self.groups else {
            let all = samples.iter().zip(&self.matching);
            return all.filter_map(|(sample, matches)| matches.then_some(sample)).collect();
        };
        let matching = groups.iter().zip(&self.matching).filter_map(|(g, m)| m.then_some(g));
        matching.flat_map(|g| &g.members).map(|i| &samples[*i]).collect()
    }

    /// The sums over every process that matches, and why some could not be read.
    fn sum(&mut self) {
        let samples = self.summed();
        let mut why: Vec<Missing> = samples
            .iter()
            .filter_map(|s| s.walk.err())
            .filter(|e| e.hides_memory())
            .collect();
        self.hide(&mut why);
        self.totals = Totals::of(samples, |s| self.change(s));
    }

    fn hide(&mut self, why: &mut [Missing]) {
        why.sort_unstable();
        self.hidden = why.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
    }

    fn list(&mut self, query: &Query<'_>) {
        let sort = query.sort.get();
        let chosen: Vec<usize> = (0..self.matching.len()).filter(|i| self.matching[*i]).collect();
        let keys: Vec<SortKey> = chosen.iter().map(|i| sort.sort_key(&self.candidate(*i))).collect();
        let places = order(&keys, query.descending)
            .into_iter()
            .map(|i| Place::flat(chosen[i]));
        self.shown = places.take(query.top.unwrap_or(usize::MAX)).collect();
    }

    /// Siblings stand by what they hold with all their descendants, and so are the first ones chosen.
    fn tree(&mut self, query: &Query<'_>) {
        let samples = self.snapshot.rows();
        let forest = Forest::new(samples);
        self.subtrees = forest.subtrees(samples, |s| self.change(s));
        let sort = query.sort.get();
        let keys: Vec<SortKey> = samples
            .iter()
            .zip(&self.subtrees)
            .map(|(sample, subtree)| {
                sort.sort_key(&Row {
                    subtree: Some(subtree),
                    memory: subtree.memory.as_ref().map_err(|e| *e),
                    change: Some(&subtree.change),
                    ..self.process(sample)
                })
            })
            .collect();
        let mut rank = vec![0; samples.len()];
        let mut first = vec![false; samples.len()];
        let mut left = query.top.unwrap_or(usize::MAX);
        for (place, index) in order(&keys, query.descending).into_iter().enumerate() {
            rank[index] = place;
            if self.matching[index] && left > 0 {
                first[index] = true;
                left -= 1;
            }
        }
        let mut depth = vec![0; samples.len()];
        let nodes = forest.rows(|i| first[i], |_| false, |a, b| rank[a].cmp(&rank[b]));
        for node in nodes {
            // A parent always comes before its children.
            depth[node.index] = forest.parent(node.index).map_or(0, |up| depth[up] + 1);
            self.shown.push(Place {
                index: node.index,
                guide: node.guide,
                depth: depth[node.index],
            });
        }
    }

    /// The row of a candidate, chosen or not.
    fn candidate(&self, index: usize) -> Row<'_> {
        if let Some(groups) = &self.groups {
            return self.group_row(&groups[index]);
        }
        Row {
            subtree: self.subtrees.get(index),
            ..self.process(&self.snapshot.rows()[index])
        }
    }

    /// What it was chosen from.
    pub const fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// The rows, in their order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Item<'_>> {
        self.shown.iter().map(|place| Item {
            row: self.candidate(place.index),
            guide: &place.guide,
            depth: place.depth,
            matches: self.matching[place.index],
        })
    }

    /// Every candidate with whether it passes the filter, in no order that means anything.
    pub fn candidates(&self) -> impl Iterator<Item = (RowKey, Row<'_>, bool)> {
        (0..self.matching.len()).map(|i| (self.key(i), self.candidate(i), self.matching[i]))
    }

    fn key(&self, index: usize) -> RowKey {
        match &self.groups {
            Some(groups) => RowKey::Group(groups[index].key.clone()),
            None => RowKey::Process(self.snapshot.rows()[index].id),
        }
    }

    /// The sums over all that match.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The row that shows them.
    pub fn total(&self) -> Row<'_> {
        Row::of_totals(&self.totals, self.snapshot)
    }

    /// How many processes could not be read, by reason.
    pub fn hidden(&self) -> &[(Missing, usize)] {
        &self.hidden
    }

    /// How many rows match, and of how many processes: `412 processes`, `31 groups of 412 processes`.
    pub fn counted(&self) -> String {
        let processes = counted(self.totals.count, "process", "processes");
        let Some(groups) = &self.groups else { return processes };
        let rows = self.matching.iter().filter(|m| **m).count();
        match groups.first().map(|g| g.key.by) {
            Some(GroupBy::Mapping) => counted(rows, "mapping", "mappings"),
            _ => format!("{} of {processes}", counted(rows, "group", "groups")),
        }
    }

    /// What the totals are the sums of: `412 processes, 10 shown, partial: 30 permission denied, 2 timed out`.
    pub fn label(&self) -> String {
        let mut parts = vec![self.counted()];
        let all = self.matching.iter().filter(|m| **m).count();
        let shown = self.items().filter(|item| item.matches).count();
        if shown < all {
            parts.push(format!("{shown} shown"));
        }
        parts.extend(self.partial());
        parts.join(", ")
    }

    /// Why the sums are too small: `partial: 30 permission denied, 2 timed out`.
    pub fn partial(&self) -> Option<String> {
        let why: Vec<String> = self.hidden.iter().map(|(why, n)| format!("{n} {why}")).collect();
        (!why.is_empty()).then(|| format!("partial: {}", why.join(", ")))
    }
}

/// `1 process`, `12 processes`.
fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
