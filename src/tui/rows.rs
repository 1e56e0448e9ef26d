//! Rows of the tables on screen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::take;

use super::app::App;
use super::scope::Scope;
use crate::columns::Row;
use crate::filter::{Filter, Filterable, TextField};
use crate::group::{Coverage, GroupBy, RowKey};
use crate::model::{ProcessSample, Snapshot};
use crate::query::{ListPlan, MappingCount, Query, RowRef, Selection};

/// Makes the rows of every table anew from the snapshot, the filter and the order.
pub fn rebuild(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
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
    app.rows.kept = Some(kept);
    reselect(app);
    true
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
    for table in app.tables.shown_mut() {
        table.reselect(follow, height);
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
