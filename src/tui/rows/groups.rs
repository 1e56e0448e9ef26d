//! Rows that are groups of processes, or mappings.

use std::borrow::Cow;

use super::sieve::Sieve;
use super::{placed, put};
use crate::columns::{Row, RowSubject, SortKey};
use crate::filter::{Subject, Word};
use crate::group::{Group, GroupBy, RowKey, Totals, groups};
use crate::model::Snapshot;
use crate::tui::app::App;
use crate::tui::mappings::Found;
use crate::tui::table::{Line, Table};

/// Makes the groups, and the rows of every table.
pub(super) fn rebuild(app: &mut App, snapshot: &Snapshot, by: GroupBy) {
    app.rows.subtrees = Vec::new();
    if by == GroupBy::Mapping {
        app.rows.groups = Vec::new();
        return mappings(app, snapshot);
    }
    app.rows.groups = {
        let sieve = Sieve::new(app, snapshot);
        groups(snapshot, by, |sample| sieve.sums(sample), |p| app.data.change(p.id))
    };
    let matching = matching(app, &app.rows.groups, snapshot);
    let chosen = app
        .rows
        .groups
        .iter()
        .zip(&matching)
        .filter_map(|(g, m)| m.then_some(g));
    app.rows.totals = sum(app, chosen, snapshot);
    let tagged = app.rows.groups.iter().filter(|g| is_tagged(app, g));
    app.rows.tagged = sum(app, tagged, snapshot);
    show(app, snapshot, &matching);
}

/// The mappings that were read stay as they are; what the filter lets through of them, and the order, do not.
fn mappings(app: &mut App, snapshot: &Snapshot) {
    let Some(found) = app.data.mappings.take() else { return };
    let filter = &app.query.filter.filter;
    let passes = |g: &Group| filter.matches(&MappingSubject(RowSubject(Row::of_group(g, None, snapshot))));
    let matching: Vec<bool> = found.groups.iter().map(passes).collect();
    let chosen = found.groups.iter().zip(&matching).filter_map(|(g, m)| m.then_some(g));
    app.rows.totals = sum_of_mappings(chosen, &found);
    app.rows.tagged = sum_of_mappings(found.groups.iter().filter(|g| is_tagged(app, g)), &found);
    app.data.mappings = Some(found);
    show(app, snapshot, &matching);
}

/// A mapping as a filter sees it: a word looks at its name.
struct MappingSubject<'a>(RowSubject<'a>);

impl Subject for MappingSubject<'_> {
    fn word(&self, word: Word) -> Option<Cow<'_, [u8]>> {
        match word {
            Word::Command | Word::Name | Word::Group => self.0.word(Word::Group),
            Word::User
            | Word::Unit
            | Word::Container
            | Word::Cgroup
            | Word::Exe
            | Word::Replaced
            | Word::Unread
            | Word::State => None,
        }
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        self.0.number(column)
    }
}

fn show(app: &mut App, snapshot: &Snapshot, matching: &[bool]) {
    app.rows.matching = matching.iter().filter(|m| **m).count();
    put(app, |app, table| lines(app, table, snapshot, matching));
}

fn is_tagged(app: &App, group: &Group) -> bool {
    // Making an id to look for takes a moment, and mostly there is no tag.
    !app.tables.tags.is_empty() && app.tables.tags.contains(&RowKey::Group(group.key.clone()))
}

/// Which groups pass.
fn matching(app: &App, groups: &[Group], snapshot: &Snapshot) -> Vec<bool> {
    let filter = &app.query.filter.filter;
    let rows = snapshot.rows();
    let passes = |group: &Group| {
        let sums = RowSubject(app.group_row(group, snapshot));
        let members = group.members.iter().map(|i| &rows[*i]);
        let members = members.map(|s| RowSubject(app.process_row(s, snapshot)));
        filter.matches_group(&sums, members)
    };
    groups.iter().map(|group| filter.is_empty() || passes(group)).collect()
}

/// What the members of groups hold: an address space that is in two of them counts once.
fn sum<'a>(app: &App, groups: impl Iterator<Item = &'a Group>, snapshot: &Snapshot) -> Totals {
    let rows = snapshot.rows();
    Totals::of(groups.flat_map(|g| &g.members).map(|i| &rows[*i]), |p| {
        app.data.change(p.id)
    })
}

/// Every mapping has its own part of the memory, and the same processes.
fn sum_of_mappings<'a>(groups: impl Iterator<Item = &'a Group>, found: &Found) -> Totals {
    let mut sum = Totals::default();
    for group in groups {
        sum.add(&group.totals);
    }
    sum.count = found.read;
    sum.partial = found.missing > 0;
    sum
}

fn lines(app: &App, table: &Table, snapshot: &Snapshot, matching: &[bool]) -> Vec<Line> {
    let column = table.sort.get();
    let groups = match &app.data.mappings {
        Some(found) if app.query.scope.groups() == Some(GroupBy::Mapping) => &found.groups,
        _ => &app.rows.groups,
    };
    let key = |group: &Group| column.sort_key(&app.group_row(group, snapshot));
    let keys: Vec<SortKey> = groups
        .iter()
        .zip(matching)
        .map(|(group, matches)| if *matches { key(group) } else { SortKey::Missing })
        .collect();
    let id = |index: usize| RowKey::Group(groups[index].key.clone());
    let rank = placed(app, table, &keys, id);
    let mut list: Vec<usize> = (0..groups.len()).filter(|i| matching[*i]).collect();
    list.sort_by_key(|i| rank[*i]);
    list.into_iter().map(|index| Line::flat(index, id(index))).collect()
}
