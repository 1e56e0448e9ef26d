//! Rows of the tables on screen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::{replace, take};

use crate::columns::Row;
use crate::filter::{Filter, Filterable, TextField};
use crate::group::{Coverage, GroupBy, GroupNames, RowKey, Totals};
use crate::model::{ProcessSample, Snapshot};
use crate::query::kept::{put, sort};
use crate::query::{Folds, Kept, ListPlan, MappingCount, Query, RowRef, Selection};
use crate::tui::app::{App, Scope};

/// Makes the rows of every table anew from the snapshot, the filter and the order.
pub fn rebuild(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    app.rows.unfolded.clear();
    if folds(app) {
        app.rows.siblings.update(&snapshot, app.engine.pushed);
    }
    if reorder(app, &snapshot) {
        return;
    }
    app.rows.listed = count(&snapshot, app.query.kernel_threads);
    app.rows.coverage = Coverage::of_rows(snapshot.rows());
    let of_mappings = app.query.scope.grouped_by() == Some(GroupBy::Mapping);
    let mut found = app.data.mappings.take_if(|_| of_mappings);
    let selection = match &mut found {
        Some(found) => {
            let count = MappingCount {
                read: found.read,
                unreadable: found.missing,
            };
            let filter = &app.query.filter.filter;
            let groups = take(&mut found.groups);
            Selection::of_mappings(&app.row_source(&snapshot), groups, count, |row| {
                passes_mapping(filter, row)
            })
        }
        None => Selection::new(&app.row_source(&snapshot), &query(app)),
    };
    // Making a key to look for takes a moment, and mostly there is no tag.
    let tagged = |i| !app.tables.tags.is_empty() && app.tables.tags.contains(&selection.key(&snapshot, i));
    let tagged = selection.sum(&app.row_source(&snapshot), tagged);
    app.rows.folds = if folds(app) {
        let may_fold = |at| selection.passes(at) && selection.is_leaf(at);
        let source = app.row_source(&snapshot);
        Folds::new(&app.rows.siblings, &source, &app.query.unfolded, may_fold)
    } else {
        Folds::default()
    };
    let ordered = order(app, &snapshot, &selection);

    app.rows.matching = selection.count();
    app.rows.totals = selection.totals;
    app.rows.tagged = tagged;
    app.rows.subtrees = selection.subtrees;
    app.rows.groups = selection.groups;
    if let Some(mut found) = found {
        found.groups = take(&mut app.rows.groups);
        app.data.mappings = Some(found);
    }
    set_rows(app, ordered);
    reselect(app);
}

/// Orders the rows of a plain list anew, where nothing else can have changed; returns false where all must be made anew.
fn reorder(app: &mut App, snapshot: &Snapshot) -> bool {
    let (Some(mut kept), Some(plan)) = (app.rows.kept.take(), plan(app)) else {
        return false;
    };
    if (kept.pushed, kept.plan.kernel_threads) != (app.engine.pushed, plan.kernel_threads) {
        return false;
    }
    kept.reorder(&app.row_source(snapshot), plan);
    set_rows(app, kept.tables(snapshot));
    fold_kept(app, snapshot, &kept, None);
    app.rows.kept = Some(kept);
    reselect(app);
    true
}

/// Returns true if equal siblings are folded: among all processes of one machine.
pub(super) fn folds(app: &App) -> bool {
    app.query.folds && app.query.scope == Scope::Processes && app.fleet.is_none()
}

/// Folds the rows of tables that are kept, and keeps those that were. Where it is known which processes were `pushed` since
/// the rows were folded last, only these are looked at.
pub(super) fn fold_kept(app: &mut App, snapshot: &Snapshot, kept: &Kept, pushed: Option<&[u32]>) {
    let before = take(&mut app.rows.folds);
    if !folds(app) {
        return;
    }
    let source = app.row_source(snapshot);
    let (siblings, unfolded) = (&app.rows.siblings, &app.query.unfolded);
    let folds = match pushed {
        Some(pushed) => before.update(siblings, &source, unfolded, pushed),
        None => Folds::new(siblings, &source, unfolded, |_| true),
    };
    if !folds.list.is_empty() {
        let tables = app.tables.shown().iter().zip(&kept.keys);
        let folded = tables.map(|(table, keys)| folds.fold(&source, &table.rows, keys, (table.sort, table.descending)));
        let folded: Vec<_> = folded.collect();
        let tables = app.tables.shown_mut().iter_mut().zip(folded);
        app.rows.unfolded = tables.map(|(table, rows)| replace(&mut table.rows, rows)).collect();
    }
    app.rows.folds = folds;
}

/// Sets the rows of each table.
pub(super) fn set_rows(app: &mut App, tables: Vec<Vec<RowRef>>) {
    for (table, rows) in app.tables.shown_mut().iter_mut().zip(tables) {
        table.rows = rows;
    }
}

/// Finds the selection of each table among its rows.
pub(super) fn reselect(app: &mut App) {
    let (height, follow) = (app.rows_shown(), app.tables.follow);
    reselect_folded(app);
    for table in app.tables.shown_mut() {
        table.reselect(follow, height);
    }
}

/// Selects the row that a selected process was folded into, or the first of the processes that were in the selected row.
fn reselect_folded(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    let folds = &app.rows.folds;
    for table in app.tables.shown_mut() {
        let Some(key) = &table.selected else { continue };
        if let Some(fold) = folds.holding(key, &snapshot) {
            let key = RowKey::Group(fold.group.key.clone());
            table.selected = Some(key);
        } else if let Some(key) = key.group().filter(|key| key.by == GroupBy::Siblings) {
            let names = GroupNames::new(snapshot.rows());
            let name = |row: &RowRef| names.name_of(snapshot.rows().get(row.index)?, key.by);
            let first = table
                .rows
                .iter()
                .find(|row| name(row).as_deref() == key.name.as_deref());
            table.selected = first.map(|row| row.key.clone());
        }
    }
}

/// Returns the plain list that the tables show; `None` where rows are filtered, grouped, tagged, in a tree or in a frozen order.
pub(super) fn plan(app: &App) -> Option<ListPlan> {
    let query = &app.query;
    let is_plain = query.scope == Scope::Processes
        && !query.tree
        && query.user.is_none()
        && query.filter.filter.is_empty()
        && !app.tables.frozen
        && app.tables.tags.is_empty();
    let shown = app.tables.shown().iter();
    is_plain.then(|| ListPlan {
        kernel_threads: query.kernel_threads,
        orders: shown.map(|table| (table.sort, table.descending)).collect(),
    })
}

/// Returns the number of processes, with kernel threads where these are listed.
fn count(snapshot: &Snapshot, kernel_threads: bool) -> usize {
    let is_counted = |row: &&ProcessSample| kernel_threads || !row.stat.is_kernel_thread();
    snapshot.rows().iter().filter(is_counted).count()
}

/// Returns the rows of each table in its own order.
fn order(app: &App, snapshot: &Snapshot, selection: &Selection) -> Vec<Vec<RowRef>> {
    let tables = app.tables.shown().iter().map(|table| {
        let places = || table.rows.iter().enumerate().map(|(at, row)| (&row.key, at)).collect();
        let frozen: Option<HashMap<&RowKey, usize>> = app.tables.frozen.then(places);
        let query = Query {
            sort: table.sort,
            descending: table.descending,
            folds: Some(&app.rows.folds),
            frozen: frozen.as_ref(),
            ..query(app)
        };
        selection.order(&app.row_source(snapshot), &query)
    });
    tables.collect()
}

/// Returns the query that the state asks, in any order.
pub(super) fn query(app: &App) -> Query<'_> {
    Query {
        by: app.query.scope.grouped_by(),
        tree: app.query.tree,
        members_of: app.query.scope.opened_group(),
        user: app.query.user.as_deref(),
        kernel_threads: app.query.kernel_threads,
        unseen: false,
        folded: Some(&app.query.folded),
        ..Query::new(&app.query.filter.filter)
    }
}

/// Returns true if a mapping passes: a word asks its name, as a mapping has no command and no user.
fn passes_mapping(filter: &Filter, row: &Row<'_>) -> bool {
    filter.matches(&MappingRow(*row))
}

struct MappingRow<'a>(Row<'a>);

impl Filterable for MappingRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        match field {
            TextField::CommandLine | TextField::Comm | TextField::Group => self.0.text(TextField::Group),
            _ => None,
        }
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        self.0.number(column)
    }
}

// Taking in a new snapshot: of a plain list of all processes only what changed is looked at again. That of a fleet, in which
// all changes, was made on the engine's thread by then.
//
// Where rows are filtered, grouped, tagged, in a tree or in a frozen order, all rows are made anew.

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
    let unfolded = take(&mut app.rows.unfolded);
    let Some(plan) = plan(app) else { return false };
    let mut is_updated = false;
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
        let kept = kept.filter(is_next).and_then(|kept| {
            set_rows(app, unfolded);
            update(kept, app, snapshot)
        });
        is_updated = kept.is_some();
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
    if folds(app) {
        app.rows.siblings.update(snapshot, app.engine.pushed);
    }
    let pushed = app.engine.history.pushed().filter(|_| is_updated).map(<[u32]>::to_vec);
    fold_kept(app, snapshot, &kept, pushed.as_deref());
    app.rows.kept = Some(kept);
    reselect(app);
    true
}

/// Looks at every row.
fn build(plan: ListPlan, app: &mut App, snapshot: &Snapshot) -> Kept {
    let mut kept = Kept::new(plan);
    kept.extend(&app.row_source(snapshot), usize::MAX);
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
    kept.update_sums(
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
