//! Rows that are processes.

use super::sieve::Sieve;
use super::{placed, put};
use crate::columns::SortKey;
use crate::group::tree::Forest;
use crate::group::{RowKey, Totals};
use crate::model::Snapshot;
use crate::tui::app::App;
use crate::tui::table::{Line, Table};

/// Makes the rows of every table.
pub(super) fn rebuild(app: &mut App, snapshot: &Snapshot) {
    let rows = snapshot.rows();
    let matching: Vec<bool> = {
        let sieve = Sieve::new(app, snapshot);
        rows.iter().map(|sample| sieve.lists(sample)).collect()
    };
    app.rows.matching = matching.iter().filter(|m| **m).count();
    let chosen = rows.iter().zip(&matching).filter_map(|(p, m)| m.then_some(p));
    app.rows.totals = Totals::of(chosen, |p| app.data.change(p.id));
    let tagged = rows.iter().filter(|p| app.tables.tags.contains(&RowKey::Process(p.id)));
    app.rows.tagged = Totals::of(tagged, |p| app.data.change(p.id));
    app.rows.groups = Vec::new();

    let forest = app.query.tree.then(|| Forest::new(rows));
    app.rows.subtrees = forest
        .as_ref()
        .map(|f| f.subtrees(rows, |p| app.data.change(p.id)))
        .unwrap_or_default();
    put(app, |app, table| {
        lines(app, table, snapshot, &matching, forest.as_ref())
    });
}

fn lines(app: &App, table: &Table, snapshot: &Snapshot, matching: &[bool], forest: Option<&Forest>) -> Vec<Line> {
    let rows = snapshot.rows();
    let line = |index: usize| Line::flat(index, RowKey::Process(rows[index].id));
    let rank = rank(app, table, snapshot, forest.is_some(), matching);
    match forest {
        None => {
            let mut list: Vec<usize> = (0..rows.len()).filter(|i| matching[*i]).collect();
            list.sort_by_key(|i| rank[*i]);
            list.into_iter().map(line).collect()
        }
        Some(forest) => forest
            .rows(
                |i| matching[i],
                |i| app.query.folded.contains(&rows[i].id),
                |a, b| rank[a].cmp(&rank[b]),
            )
            .into_iter()
            .map(|node| Line {
                guide: node.guide,
                parent: node.parent,
                folded: node.folded,
                ..line(node.index)
            })
            .collect(),
    }
}

/// The place of each process of the snapshot in the table's order.
fn rank(app: &App, table: &Table, snapshot: &Snapshot, tree: bool, matching: &[bool]) -> Vec<usize> {
    let rows = snapshot.rows();
    let column = table.sort.get();
    let keys: Vec<SortKey> = rows
        .iter()
        .enumerate()
        .map(|(index, sample)| {
            if !tree && !matching[index] {
                return SortKey::Missing;
            }
            let mut row = app.process_row(sample, snapshot);
            // In a tree siblings stand by what they hold with all their descendants.
            if let Some(subtree) = app.rows.subtrees.get(index) {
                row.subtree = Some(subtree);
                row.memory = subtree.memory.as_ref().map_err(|e| *e);
                row.change = Some(&subtree.change);
            }
            column.sort_key(&row)
        })
        .collect();
    placed(app, table, &keys, |index| RowKey::Process(rows[index].id))
}
