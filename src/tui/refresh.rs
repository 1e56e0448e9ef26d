//! Taking in a new snapshot: of a plain list of all processes only what changed is looked at again.
//!
//! Where rows are filtered, grouped, tagged, in a tree or in a frozen order, all rows are made anew.

use super::app::App;
use super::kept::{Kept, put, sort};
use super::rows::rebuild;
use super::scope::Scope;
use super::table::Table;
use crate::group::{RowKey, Totals};
use crate::model::{ProcessSample, Snapshot};
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
    let kept = kept.filter(is_next).and_then(|kept| update(kept, app, snapshot));
    let mut kept = kept.unwrap_or_else(|| build(app, snapshot));
    (kept.tick, kept.pushed) = (snapshot.tick, app.engine.pushed);
    let (totals, coverage) = kept.sum(&app.row_source(snapshot));
    app.rows.listed = totals.count;
    app.rows.matching = app.tables.current().rows.len();
    app.rows.totals = totals;
    app.rows.coverage = coverage;
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

/// Returns true if the rows are all processes, in an order that hangs on their own figures.
fn is_plain(app: &App, snapshot: &Snapshot) -> bool {
    let query = &app.query;
    let is_kept = |table: &Table| !UNKEPT.contains(&table.sort.get().id);
    query.scope == Scope::Processes
        && !query.tree
        && query.user.is_none()
        && query.filter.filter.is_empty()
        && !app.tables.frozen
        && app.tables.tags.is_empty()
        && app.tables.shown().iter().all(is_kept)
        && snapshot.changes.is_some()
}

/// Returns true if a process has a row in a plain list.
const fn is_listed(row: &ProcessSample, kernel_threads: bool) -> bool {
    (kernel_threads || !row.stat.is_kernel_thread()) && !row.is_unseen()
}

/// Looks at every row.
fn build(app: &mut App, snapshot: &Snapshot) -> Kept {
    let source = app.row_source(snapshot);
    let kernel_threads = app.query.kernel_threads;
    let mut kept = Kept::new(&source, kernel_threads);
    let keys_of = |table: &Table| {
        let column = table.sort.get();
        let key = |row| column.order_key(&source.process(row));
        snapshot.rows().iter().map(key).collect()
    };
    kept.keys = app.tables.shown().iter().map(keys_of).collect();
    for (table, keys) in app.tables.shown_mut().iter_mut().zip(&kept.keys) {
        let listed = snapshot.rows().iter().enumerate();
        let listed = listed.filter(|(_, row)| is_listed(row, kernel_threads));
        table.rows = listed
            .map(|(at, row)| RowRef::flat(at, RowKey::Process(row.id)))
            .collect();
        sort(table, keys);
    }
    kept
}

/// Takes in the rows that came and went, looks at those that were pushed to the history, and sums up anew where some moved;
/// `None` where all are to be looked at.
fn update(mut kept: Kept, app: &mut App, snapshot: &Snapshot) -> Option<Kept> {
    let (rows, changes) = (snapshot.rows(), snapshot.changes.as_ref()?);
    let pushed = app.engine.history.pushed()?.to_vec();
    let moved: Vec<u32> = app
        .engine
        .history
        .moved()
        .iter()
        .map(|at| rows[*at as usize].id.pid)
        .collect();
    let mut removed: Vec<u32> = changes.removed.iter().map(|id| id.pid).collect();
    removed.sort_unstable();
    let is_new = |at: &usize| !kept.has(rows[*at].id.pid) || removed.binary_search(&rows[*at].id.pid).is_ok();
    let new: Vec<usize> = changes.rows.iter().map(|at| *at as usize).filter(is_new).collect();
    let same = new.is_empty() && removed.is_empty();
    if !same && !kept.shift(rows, app.tables.shown_mut(), &new, &removed) {
        return None;
    }
    let source = app.row_source(snapshot);
    kept.sum_anew(
        &source,
        moved
            .into_iter()
            .chain(removed)
            .chain(new.iter().map(|at| rows[*at].id.pid)),
    );

    let is_new = |at: usize| new.binary_search(&at).is_ok();
    let looked = pushed.into_iter().map(|at| at as usize);
    let looked: Vec<usize> = looked.filter(|at| is_listed(&rows[*at], kept.kernel_threads)).collect();
    let shown = app.tables.shown().iter().zip(&kept.keys);
    let news = shown.map(|(table, keys)| {
        let column = table.sort.get();
        let key = |at: &usize| (*at, column.order_key(&source.process(&rows[*at])));
        let news = looked
            .iter()
            .map(key)
            .filter(|(at, key)| keys[*at] != *key || is_new(*at));
        news.collect::<Vec<_>>()
    });
    let news: Vec<_> = news.collect();
    let row_key = |at: usize| is_new(at).then(|| RowKey::Process(rows[at].id));
    for ((table, keys), news) in app.tables.shown_mut().iter_mut().zip(&mut kept.keys).zip(news) {
        if news.len() > MAX_MOVED {
            for (at, key) in news {
                keys[at] = key;
                table.rows.extend(row_key(at).map(|id| RowRef::flat(at, id)));
            }
            sort(table, keys);
        } else {
            for (at, key) in news {
                put(table, keys, at, key, row_key(at));
            }
        }
    }
    Some(kept)
}
