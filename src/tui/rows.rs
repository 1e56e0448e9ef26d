//! The rows of the tables on screen.
//!
//! In a plain list of all processes, a snapshot updates only what changed; the plain list of a fleet, in which everything
//! changes, comes ready from the engine's thread. If rows are filtered, grouped, tagged, in a tree or in a frozen order, all of
//! them are derived again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::{replace, take};

use crate::columns::Row;
use crate::filter::{Filterable, TextField};
use crate::group::{Coverage, GroupBy, GroupNames, RowKey, Totals};
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::query::kept::{put, sort};
use crate::query::{Folds, Kept, ListPlan, MappingCount, Query, RowRef, Selection};
use crate::tui::app::{App, Scope, Table};

/// Derives the rows of every table from the snapshot, the filter and the order.
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
    let kernel_threads = app.query.kernel_threads;
    let is_listed = |row: &&ProcessSample| kernel_threads || !row.stat.is_kernel_thread();
    app.rows.listed = snapshot.rows().iter().filter(is_listed).count();
    app.rows.coverage = Coverage::of_rows(snapshot.rows().iter());
    let of_mappings = app.query.scope.grouped_by() == Some(GroupBy::Mapping);
    let mut found = app.data.mappings.take_if(|_| of_mappings);
    let selection = match &mut found {
        Some(found) => {
            let count = MappingCount {
                read: found.read,
                unreadable: found.missing,
            };
            let passes = |row: &Row<'_>| app.query.filter.filter.matches(&MappingRow(*row));
            let groups = take(&mut found.groups);
            Selection::of_mappings(&app.row_source(&snapshot), groups, count, passes)
        }
        None => Selection::new(&app.row_source(&snapshot), &query(app)),
    };
    // Skips the cost of a key if nothing is tagged.
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
    reselect(app, &snapshot);
}

/// Changes the order, and unfreezes it.
pub(super) fn change_order(app: &mut App, change: impl FnOnce(&mut Table)) {
    app.tables.frozen = false;
    app.tables.sort_is_chosen = true;
    let table = app.tables.current_mut();
    change(table);
    table.hides_sort = false;
    // The first rows are shown as far as the selection leaves room for them.
    table.list.offset = 0;
    app.apply_columns();
    rebuild(app);
}

/// Reorders a plain list in which only the order can have changed; returns false if all rows must be derived again.
fn reorder(app: &mut App, snapshot: &Snapshot) -> bool {
    let (Some(mut kept), Some(plan)) = (app.rows.kept.take(), plan(app)) else {
        return false;
    };
    if (kept.pushed, kept.plan.kernel_threads) != (app.engine.pushed, plan.kernel_threads) {
        return false;
    }
    kept.reorder(&app.row_source(snapshot), plan);
    set_rows(app, kept.tables(snapshot));
    keep(app, snapshot, kept, None);
    true
}

/// Returns true if equal siblings are folded, which applies to all processes of one machine.
pub(super) fn folds(app: &App) -> bool {
    app.query.folds && app.query.scope == Scope::Processes && app.fleet.is_none()
}

/// Keeps a plain list, and folds its rows. If only the processes `pushed` changed since the last folding, only their folds are
/// updated.
fn keep(app: &mut App, snapshot: &Snapshot, kept: Kept, pushed: Option<&[u32]>) {
    let before = take(&mut app.rows.folds);
    if folds(app) {
        let source = app.row_source(snapshot);
        let (siblings, unfolded) = (&app.rows.siblings, &app.query.unfolded);
        let folds = match pushed {
            Some(pushed) => before.update(siblings, &source, unfolded, pushed),
            None => Folds::new(siblings, &source, unfolded, |_| true),
        };
        if !folds.list.is_empty() {
            let tables = app.tables.shown().iter().zip(&kept.keys);
            let order = |table: &Table| (table.sort, table.descending);
            let folded = tables.map(|(table, keys)| folds.fold(&source, &table.rows, keys, order(table)));
            let folded: Vec<_> = folded.collect();
            let tables = app.tables.shown_mut().iter_mut().zip(folded);
            app.rows.unfolded = tables.map(|(table, rows)| replace(&mut table.rows, rows)).collect();
        }
        app.rows.folds = folds;
    }
    app.rows.kept = Some(kept);
    reselect(app, snapshot);
}

fn set_rows(app: &mut App, tables: Vec<Vec<RowRef>>) {
    for (table, rows) in app.tables.shown_mut().iter_mut().zip(tables) {
        table.rows = rows;
    }
}

/// Finds the selection of each table among its rows. It moves from a process to the row that it was folded into, and from a folded
/// row that is gone to its first process.
fn reselect(app: &mut App, snapshot: &Snapshot) {
    // The panel must not pass to the neighbour of a process that ended: its figures would be taken for the process's.
    if let Some(id) = app.panel_process().filter(|id| snapshot.row(*id).is_none()) {
        app.screen.panel_open = false;
        app.screen.add(&format!("{} has ended: its details are closed", id.pid));
    }
    // Nor must the one that is followed become its neighbour in silence.
    let followed = app.tables.current().selected.as_ref().and_then(RowKey::process);
    if let Some(id) = followed.filter(|id| app.tables.follow && snapshot.row(*id).is_none()) {
        app.tables.follow = false;
        app.screen
            .add(&format!("{} has ended: it is no longer followed", id.pid));
    }
    // The panel stays with its process, too.
    let follow = app.tables.follow || app.screen.panel_open;
    let height = app.rows_shown();
    let folds = &app.rows.folds;
    for table in app.tables.shown_mut() {
        let selected = table.selected.as_ref();
        if let Some(fold) = selected.and_then(|key| folds.holding(key, snapshot)) {
            table.selected = Some(RowKey::Group(fold.group.key.clone()));
        } else if let Some(key) = selected
            .and_then(RowKey::group)
            .filter(|key| key.by == GroupBy::Siblings)
        {
            let names = GroupNames::new(snapshot.rows());
            let name = |row: &RowRef| names.name_of(snapshot.rows().get(row.index)?, key.by);
            let is_in = |row: &&RowRef| name(row).as_deref() == key.name.as_deref();
            table.selected = table.rows.iter().find(is_in).map(|row| row.key.clone());
        }
        table.reselect(follow, height);
    }
}

/// Returns the plain list that the tables show; `None` if rows are filtered, grouped, tagged, in a tree or in a frozen order.
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

/// Returns the processes that match the filter, also those that the table does not show because they are folded.
pub(super) fn matching(app: &App, snapshot: &Snapshot) -> Vec<Identity> {
    let source = app.row_source(snapshot);
    crate::query::matching(&source, &query(app))
}

/// Returns the query for the rows, without an order.
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

/// A mapping for a filter, whose words match its name: it has no command and no user.
struct MappingRow<'a>(Row<'a>);

impl Filterable for MappingRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        match field {
            TextField::CommandLine | TextField::Comm | TextField::Group | TextField::Mapped => {
                self.0.text(TextField::Group)
            }
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

/// Maximum number of rows that are moved one by one; if more have a new key, all are sorted.
const MAX_MOVED: usize = 64;
/// Columns whose values change with time alone, or with other rows: a list in their order cannot be updated.
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

/// Derives the rows after a new snapshot.
pub(super) fn refresh(app: &mut App) {
    if let Some(snapshot) = app.engine.snapshot.clone()
        && !refresh_kept(app, &snapshot)
    {
        rebuild(app);
    }
}

/// Updates a plain list after a new snapshot; returns false if all rows must be derived again.
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
        kept.unwrap_or_else(|| {
            let mut kept = Kept::new(plan);
            kept.extend(&app.row_source(snapshot), usize::MAX);
            set_rows(app, kept.tables(snapshot));
            kept
        })
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
    keep(app, snapshot, kept, pushed.as_deref());
    true
}

/// Adds and removes rows, re-reads those that were pushed to the history, and corrects the sums; `None` if the list must be
/// built again.
fn update(mut kept: Kept, app: &mut App, snapshot: &Snapshot) -> Option<Kept> {
    let (rows, changes) = (snapshot.rows(), snapshot.changes.as_ref()?);
    let pushed = app.engine.history.pushed()?.to_vec();
    let moved = app.engine.history.moved().iter();
    let moved: Vec<u32> = moved.map(|at| rows[*at as usize].id.pid).collect();
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
    let added = new.iter().map(|at| rows[*at].id.pid);
    kept.update_sums(&source, moved.into_iter().chain(removed).chain(added));

    let is_new = |at: usize| new.binary_search(&at).is_ok();
    let looked = pushed.into_iter().map(|at| at as usize);
    let looked: Vec<usize> = looked.filter(|at| kept.plan.lists(&rows[*at])).collect();
    let shown = app.tables.shown().iter().zip(&kept.keys);
    let news = shown.map(|(table, keys)| {
        let column = table.sort.get();
        let key = |at: &usize| (*at, column.order_key(&source.process(&rows[*at])));
        let all = looked.iter().map(key);
        let news: Vec<_> = all.filter(|(at, key)| keys[*at] != *key || is_new(*at)).collect();
        news
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
