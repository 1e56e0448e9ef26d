//! Searching for a command, or for what the open page lists.

use super::app::App;
use crate::query::RowRef;
use crate::text;

/// Returns true if the (lower-cased) search finds a row.
pub(super) fn matches(app: &App, row: &RowRef, search: &str) -> bool {
    if search.is_empty() {
        return false;
    }
    if let Some(key) = row.key.group() {
        return text::safe(key.label()).to_lowercase().contains(search);
    }
    let Some(sample) = app.engine.snapshot.as_ref().and_then(|s| s.rows().get(row.index)) else {
        return false;
    };
    text::safe(&sample.facts.command()).to_lowercase().contains(search)
        || text::safe(&sample.facts.comm).to_lowercase().contains(search)
        || sample.id.pid.to_string() == search
}

/// Selects the next match, `first` rows from the selection on and then every `step` rows, round and round.
pub(super) fn select_match(app: &mut App, first: isize, step: isize) {
    let Some(search) = app.query.search.clone() else { return };
    if app.page().is_some() {
        if !app.with_page(|page, app| page.find(app, &search, first, step)) {
            say_none(app, &search);
        }
        return;
    }
    let table = app.tables.current();
    let len = table.rows.len().cast_signed();
    let start = table.list.cursor.cast_signed() + first;
    let found = (0..len)
        .map(|n| (start + n * step).rem_euclid(len) as usize)
        .find(|at| matches(app, &table.rows[*at], &search));
    if let Some(at) = found {
        let height = app.rows_shown();
        app.tables.current_mut().select_index(at, height);
    } else {
        say_none(app, &search);
    }
}

fn say_none(app: &mut App, search: &str) {
    let shown = text::truncate(&text::safe(search.as_bytes()), 40);
    app.screen.say(format!("no match for {shown}"));
}
