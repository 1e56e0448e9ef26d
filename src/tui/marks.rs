//! Marks: moments that changes are shown since.

use crate::history::Marks;
use crate::tui::app::App;
use crate::tui::rows::rebuild;

/// Sets a mark at the last snapshot.
pub(super) fn set(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    app.data.marks.set(&snapshot);
    if let Some(id) = app.panel_process() {
        app.data.growth.mark(id);
    }
    show(app);
}

/// Chooses or removes the mark that counts.
pub(super) fn change(app: &mut App, change: impl FnOnce(&mut Marks)) {
    if app.data.marks.is_empty() {
        return app.screen.say("no mark is set");
    }
    change(&mut app.data.marks);
    show(app);
}

/// Shows what changed since: the column of changes comes with the first mark and goes with the last.
fn show(app: &mut App) {
    app.apply_columns();
    rebuild(app);
}
