//! Taking in a new snapshot: of a plain list of all processes only what changed is looked at again. That of a fleet, in which
//! all changes, was made on the engine's thread by then.
//!
//! Where rows are filtered, grouped, tagged, in a tree or in a frozen order, all rows are made anew.

use super::app::App;
use super::rows::{plan, rebuild, reselect, set_rows};
use crate::group::{RowKey, Totals};
use crate::model::Snapshot;
use crate::query::kept::{put, sort};
use crate::query::{Kept, ListPlan, RowRef};

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

/// Takes a new snapshot into the rows that are kept, or were made before; returns false where all must be made anew.
fn refresh_kept(app: &mut App, snapshot: &Snapshot) -> bool {
    let (kept, ready) = (app.rows.kept.take(), app.engine.ready.take());
    let Some(plan) = plan(app) else { return false };
    let mut kept = if snapshot.fleet.is_some() {
        let ready = ready.filter(|ready| ready.kept.plan == plan && ready.kept.pushed == app.engine.pushed);
        let Some(ready) = ready else { return false };
        set_rows(app, ready.tables);
        ready.kept
    } else {
        let is_kept = plan.orders.iter().all(|(sort, _)| !UNKEPT.contains(&sort.get().id));
        if !is_kept || snapshot.changes.is_none() {
            return false;
        }
        let is_next = |kept: &Kept| {
            let same = kept.pushed + 1 == app.engine.pushed && kept.plan == plan;
            same && snapshot.changes_since(kept.tick).is_some()
        };
        let kept = kept.filter(is_next).and_then(|kept| update(kept, app, snapshot));
        kept.unwrap_or_else(|| build(plan, app, snapshot))
    };
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
    reselect(app);
    true
}

/// Looks at every row.
fn build(plan: ListPlan, app: &mut App, snapshot: &Snapshot) -> Kept {
    let mut kept = Kept::new(plan);
    kept.look(&app.row_source(snapshot), usize::MAX);
    set_rows(app, kept.tables(snapshot));
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
    let mut tables: Vec<_> = app.tables.shown_mut().iter_mut().map(|table| &mut table.rows).collect();
    if !same && !kept.shift(rows, &mut tables, &new, &removed) {
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
    let looked: Vec<usize> = looked.filter(|at| kept.plan.lists(&rows[*at])).collect();
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
            sort(&mut table.rows, keys, table.descending);
        } else {
            for (at, key) in news {
                put(&mut table.rows, keys, table.descending, (at, key), row_key(at));
            }
        }
    }
    Some(kept)
}
