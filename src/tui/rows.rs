//! Which rows a table shows, and in which order.

use std::collections::HashMap;

use super::app::App;
use super::table::{Line, Table};
use crate::columns::RowSubject;
use crate::model::sort::{SortKey, order};
use crate::model::tree::Forest;
use crate::model::{Identity, Row, Snapshot, Totals};

/// Makes every table's rows anew from the snapshot, the filter and the order.
pub fn rebuild(app: &mut App) {
    let Some(snapshot) = app.snapshot.clone() else { return };
    let matching = matching(app, &snapshot);
    app.matching = matching.iter().filter(|m| **m).count();
    let rows = snapshot.rows();
    let chosen = rows.iter().zip(&matching).filter_map(|(p, m)| m.then_some(p));
    app.totals = Totals::of(chosen, |p| app.change(p.id));
    app.tagged = Totals::of(rows.iter().filter(|p| app.tags.contains(&p.id)), |p| app.change(p.id));

    let forest = app.tree.then(|| Forest::new(rows));
    app.subtrees = forest
        .as_ref()
        .map(|f| f.subtrees(rows, |p| app.change(p.id)))
        .unwrap_or_default();

    let height = app.rows_shown();
    let follow = app.follow;
    let made: Vec<Vec<Line>> = app
        .tables()
        .iter()
        .map(|table| lines(app, table, &snapshot, &matching, forest.as_ref()))
        .collect();
    for (table, lines) in app.tables_mut().iter_mut().zip(made) {
        table.lines = lines;
        table.reselect(follow, height);
    }
}

/// Which processes the filter, the user and the kernel-thread switch let through.
fn matching(app: &App, snapshot: &Snapshot) -> Vec<bool> {
    let filter = &app.filter.filter;
    snapshot
        .rows()
        .iter()
        .map(|sample| {
            (app.kernel_threads || !sample.stat.is_kernel_thread())
                && app
                    .user
                    .as_ref()
                    .is_none_or(|user| sample.facts.user.as_ref().is_ok_and(|u| u == user))
                && (filter.is_empty()
                    || filter.matches(&RowSubject(Row::of(sample, app.history.get(sample.id), snapshot))))
        })
        .collect()
}

fn lines(app: &App, table: &Table, snapshot: &Snapshot, matching: &[bool], forest: Option<&Forest>) -> Vec<Line> {
    let rows = snapshot.rows();
    let line = |index: usize| Line {
        index,
        id: rows[index].id,
        guide: String::new(),
        parent: false,
        folded: false,
    };
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
                |i| app.folded.contains(&rows[i].id),
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

/// The place of each process of the snapshot in the table's order. A frozen order keeps the rows there are
/// where they are; what is new comes after them.
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
            let mut row = Row::of(sample, app.history.get(sample.id), snapshot);
            // In a tree siblings stand by what they hold with all their descendants.
            if let Some(subtree) = app.subtrees.get(index) {
                row.subtree = Some(subtree);
                row.memory = subtree.memory.as_ref().map_err(|e| *e);
                row.change = Some(&subtree.change);
            }
            column.sort_key(&row)
        })
        .collect();
    let mut rank = vec![0; rows.len()];
    for (place, index) in order(&keys, table.descending).into_iter().enumerate() {
        rank[index] = place;
    }
    if app.frozen {
        let kept: HashMap<Identity, usize> = table.lines.iter().enumerate().map(|(at, l)| (l.id, at)).collect();
        for (place, sample) in rank.iter_mut().zip(rows) {
            *place = kept.get(&sample.id).copied().unwrap_or(*place + kept.len());
        }
    }
    rank
}
