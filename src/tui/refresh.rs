//! Taking in a new snapshot: of a plain list of all processes only what changed is looked at again.
//!
//! Where rows are filtered, grouped, tagged, in a tree or in a frozen order, or where processes came or went, all rows are
//! made anew.

use super::app::App;
use super::kept::{BLOCK, Block, Kept, move_row, sort};
use super::rows::rebuild;
use super::scope::Scope;
use super::table::Table;
use crate::columns::SortKey;
use crate::group::{RowKey, Totals};
use crate::model::{RowChanges, Snapshot};
use crate::query::RowRef;

/// Rows that are moved one by one; where more have another key all are sorted.
const MAX_MOVED: usize = 64;
/// Columns whose values change with time alone, or with other rows: they are looked at anew each time.
const UNKEPT: [&str; 15] = [
    "age",
    "elapsed",
    "since",
    "eta",
    "history",
    "family",
    "cg_current",
    "cg_limit",
    "cg_swap",
    "tree_pss",
    "tree_swap",
    "count",
    "shared_pss",
    "avg_pss",
    "group",
];

/// Takes in a new snapshot.
pub(super) fn refresh(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    if !refresh_kept(app, &snapshot) {
        rebuild(app);
    }
}

/// Takes a new snapshot into the rows that are kept; returns false where all must be made anew.
fn refresh_kept(app: &mut App, snapshot: &Snapshot) -> bool {
    let kept = app.rows.kept.take();
    if !is_plain(app, snapshot) {
        return false;
    }
    let is_next = |kept: &Kept| {
        let same = (kept.pushed + 1, kept.kernel_threads) == (app.engine.pushed, app.query.kernel_threads);
        same && snapshot.changes_since(kept.tick).is_some()
    };
    let pushed = app.engine.history.pushed();
    let mut kept = match (kept.filter(is_next), pushed) {
        (Some(kept), Some(pushed)) => {
            let (pushed, moved) = (pushed.to_vec(), app.engine.history.moved().to_vec());
            update(kept, app, snapshot, pushed, &moved)
        }
        _ => build(app, snapshot),
    };
    let mut all = Block::default();
    for block in &kept.blocks {
        all.totals.add(&block.totals);
        all.coverage.add(&block.coverage);
    }
    (kept.tick, kept.pushed) = (snapshot.tick, app.engine.pushed);
    app.rows.matching = all.totals.count;
    app.rows.totals = all.totals;
    app.rows.coverage = all.coverage;
    app.rows.tagged = Totals::default();
    app.rows.subtrees.clear();
    app.rows.groups.clear();
    app.rows.kept = Some(kept);
    let (height, follow) = (app.rows_shown(), app.tables.follow);
    for table in app.tables.shown_mut() {
        table.reselect(follow, height);
    }
    true
}

/// Returns true if the rows are all processes, in an order that hangs on their own figures, and the same as before.
fn is_plain(app: &App, snapshot: &Snapshot) -> bool {
    let query = &app.query;
    let is_kept = |table: &Table| !UNKEPT.contains(&table.sort.get().id);
    let is_same = |changes: &RowChanges| changes.removed.is_empty() && app.rows.listed == snapshot.rows().len();
    query.scope == Scope::Processes
        && !query.tree
        && query.user.is_none()
        && query.filter.filter.is_empty()
        && !app.tables.frozen
        && app.tables.tags.is_empty()
        && app.tables.shown().iter().all(is_kept)
        && snapshot.changes.as_ref().is_some_and(is_same)
}

/// Looks at every row.
fn build(app: &mut App, snapshot: &Snapshot) -> Kept {
    let source = app.row_source(snapshot);
    let kernel_threads = app.query.kernel_threads;
    let blocks = snapshot.rows().chunks(BLOCK);
    let blocks = blocks.map(|rows| Block::new(&source, rows, kernel_threads)).collect();
    let keys_of = |table: &Table| {
        let column = table.sort.get();
        let key = |row| column.sort_key(&source.process(row));
        snapshot.rows().iter().map(key).collect()
    };
    let keys: Vec<Vec<SortKey>> = app.tables.shown().iter().map(keys_of).collect();
    for (table, keys) in app.tables.shown_mut().iter_mut().zip(&keys) {
        let listed = snapshot.rows().iter().enumerate();
        let listed = listed.filter(|(_, row)| kernel_threads || !row.stat.is_kernel_thread());
        table.rows = listed
            .map(|(at, row)| RowRef::flat(at, RowKey::Process(row.id)))
            .collect();
        sort(table, keys);
    }
    Kept {
        tick: 0,
        pushed: 0,
        kernel_threads,
        blocks,
        keys,
    }
}

/// Looks at the rows that were pushed to the history, and sums up anew where some were `moved`.
fn update(mut kept: Kept, app: &mut App, snapshot: &Snapshot, mut pushed: Vec<u32>, moved: &[u32]) -> Kept {
    let rows = snapshot.rows();
    let source = app.row_source(snapshot);
    let mut blocks: Vec<usize> = moved.iter().map(|at| *at as usize / BLOCK).collect();
    blocks.dedup();
    for at in blocks {
        let part = &rows[at * BLOCK..rows.len().min((at + 1) * BLOCK)];
        kept.blocks[at] = Block::new(&source, part, kept.kernel_threads);
    }
    if !kept.kernel_threads {
        pushed.retain(|at| !rows[*at as usize].stat.is_kernel_thread());
    }
    let shown = app.tables.shown().iter().zip(&kept.keys);
    let news = shown.map(|(table, keys)| {
        let column = table.sort.get();
        let key = |at: &u32| (*at as usize, column.sort_key(&source.process(&rows[*at as usize])));
        let news = pushed.iter().map(key).filter(|(at, key)| keys[*at] != *key);
        news.collect::<Vec<_>>()
    });
    let news: Vec<_> = news.collect();
    for ((table, keys), news) in app.tables.shown_mut().iter_mut().zip(&mut kept.keys).zip(news) {
        if news.len() > MAX_MOVED {
            for (at, key) in news {
                keys[at] = key;
            }
            sort(table, keys);
        } else {
            for (at, key) in news {
                move_row(table, keys, at, key);
            }
        }
    }
    kept
}
