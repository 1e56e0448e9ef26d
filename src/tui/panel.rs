//! Opening and closing the panel of the selected row, and what it asks for.

use super::app::App;
use super::event::{Effect, Inspect};
use crate::model::mapping::Mapping;
use crate::model::{Identity, Reading};

/// Opens the panel, or closes it.
pub(super) fn toggle(app: &mut App) {
    if app.query.shows_mappings() {
        return;
    }
    app.screen.panel_open = !app.shows_panel();
    settle(app);
}

/// Closes it; whether it was open.
pub(super) fn close(app: &mut App) -> bool {
    let was = app.shows_panel();
    if was {
        app.screen.panel_open = false;
        settle(app);
    }
    was
}

/// Keeps the selection in sight with the rows there are now.
fn settle(app: &mut App) {
    let rows = app.rows_shown();
    for table in app.tables.shown_mut() {
        table.show(rows);
    }
}

/// Asks for the mappings of what is shown now, or now and then for those of a suspect; while sampling is stopped,
/// for none.
pub(super) fn ask(app: &mut App) -> Option<Effect> {
    let shown = app.panel_process().map(|id| Inspect { id, closely: true });
    let suspect = || app.data.tracked().map(|id| Inspect { id, closely: false });
    let wanted = shown.or_else(suspect).filter(|_| !app.requests.paused);
    (wanted != app.requests.inspected).then(|| {
        app.requests.inspected = wanted;
        Effect::Inspect(wanted)
    })
}

/// Takes in what was read of a process.
pub(super) fn take(app: &mut App, id: Identity, read: &Reading<Vec<Mapping>>) {
    if let Some(snapshot) = &app.data.snapshot {
        app.data.growth.record(snapshot, id, read);
    }
}

/// Counts growth of the process shown from its last reading on: a mark was set.
pub(super) fn mark(app: &mut App) {
    if let Some(id) = app.panel_process() {
        app.data.growth.mark(id);
    }
}
