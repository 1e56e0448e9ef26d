//! Which rows a table shows, and in which order.

mod groups;
mod processes;
pub(super) mod sieve;

use std::collections::HashMap;

use super::app::App;
use super::table::{Line, Table};
use crate::columns::{SortKey, order};
use crate::group::RowKey;

/// Makes every table's rows anew from the snapshot, the filter and the order.
pub fn rebuild(app: &mut App) {
    let Some(snapshot) = app.data.snapshot.clone() else {
        return;
    };
    match app.query.scope.groups() {
        None => processes::rebuild(app, &snapshot),
        Some(by) => groups::rebuild(app, &snapshot, by),
    }
}

/// Gives every table its rows.
fn put(app: &mut App, lines: impl Fn(&App, &Table) -> Vec<Line>) {
    let height = app.rows_shown();
    let follow = app.tables.follow;
    let made: Vec<Vec<Line>> = app.tables.shown().iter().map(|table| lines(app, table)).collect();
    for (table, lines) in app.tables.shown_mut().iter_mut().zip(made) {
        table.lines = lines;
        table.reselect(follow, height);
    }
}

/// The place of each candidate in the table's order, by its key. A frozen order keeps the rows there are where
/// they are; what is new comes after them.
fn placed(app: &App, table: &Table, keys: &[SortKey], id: impl Fn(usize) -> RowKey) -> Vec<usize> {
    let mut rank = vec![0; keys.len()];
    for (place, index) in order(keys, table.descending).into_iter().enumerate() {
        rank[index] = place;
    }
    if app.tables.frozen {
        let kept: HashMap<&RowKey, usize> = table.lines.iter().enumerate().map(|(at, l)| (&l.id, at)).collect();
        for (index, place) in rank.iter_mut().enumerate() {
            *place = kept.get(&id(index)).copied().unwrap_or(*place + kept.len());
        }
    }
    rank
}
