//! Searching for a command.

use crate::query::RowRef;
use crate::text;
use crate::tui::app::App;

/// Whether a row is found by the (lower-cased) search.
pub(crate) fn found(app: &App, line: &RowRef, search: &str) -> bool {
    if search.is_empty() {
        return false;
    }
    if let Some(key) = line.key.group() {
        return text::safe(key.label()).to_lowercase().contains(search);
    }
    let Some(sample) = app.data.snapshot.as_ref().and_then(|s| s.rows().get(line.index)) else {
        return false;
    };
    text::safe(&sample.facts.command()).to_lowercase().contains(search)
        || text::safe(&sample.facts.comm).to_lowercase().contains(search)
        || sample.id.pid.to_string() == search
}

/// Goes to the first match at or after the selection.
pub(super) fn here(app: &mut App) {
    go(app, 0, 1);
}

/// Goes to the next match in a direction, round and round.
pub(super) fn next(app: &mut App, step: isize) {
    go(app, step, step);
}

fn go(app: &mut App, first: isize, step: isize) {
    let Some(search) = app.query.search.clone() else { return };
    let table = app.tables.current();
    let len = table.lines.len().cast_signed();
    let start = table.cursor.cast_signed() + first;
    let hit = (0..len)
        .map(|n| (start + n * step).rem_euclid(len) as usize)
        .find(|at| found(app, &table.lines[*at], &search));
    if let Some(at) = hit {
        let height = app.rows_shown();
        app.tables.current_mut().go(at, height);
    }
}
