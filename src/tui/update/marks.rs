//! Marks: what the figures were at a moment, to see what changed since.

use crate::history::Marks;
use crate::tui::app::{App, Message};
use crate::tui::panel;
use crate::tui::rows::rebuild;

/// Marks what is seen now.
pub(super) fn set(app: &mut App) {
    let Some(snapshot) = app.data.snapshot.clone() else {
        return;
    };
    app.data.marks.set(&snapshot);
    panel::mark(app);
    show(app);
}

/// Changes which mark counts.
pub(super) fn change(app: &mut App, change: impl FnOnce(&mut Marks)) {
    if app.data.marks.is_empty() {
        let text = "no mark is set".into();
        app.screen.message = Some(Message { text, bad: false });
        return;
    }
    change(&mut app.data.marks);
    show(app);
}

/// The column of changes comes with the first mark and goes with the last.
fn show(app: &mut App) {
    app.apply_columns();
    rebuild(app);
}
