//! The suspects in the monitor: who they are with every snapshot, and going to one of them.

use super::app::{App, Mode};
use super::popup::{Place, Popup};
use super::rows::rebuild;
use super::scope::Scope;
use super::update::turn_to;
use super::view;
use crate::history::suspects::{SuspectQuery, suspects};

/// Finds the suspects of the snapshot just taken in; the cursor of their page stays with whom it was on.
pub(super) fn find(app: &mut App) {
    let Some(snapshot) = &app.data.snapshot else { return };
    let found = suspects(&app.data.history, snapshot, SuspectQuery::GROWING);
    let before = std::mem::replace(&mut app.data.suspects, found);
    let height = view::list_height(app);
    let Mode::Popup(Popup::Leaks(place)) = &mut app.mode else {
        return;
    };
    let was = before.get(place.cursor);
    let at = was.and_then(|was| app.data.suspects.iter().position(|suspect| suspect.key == was.key));
    let to = at.unwrap_or(place.cursor);
    place.go(to, app.data.suspects.len().max(1), height);
}

/// Opens the page.
pub(super) fn open(app: &mut App) {
    app.mode = Mode::Popup(Popup::Leaks(Place::default()));
}

/// Goes from the page to whom its cursor is on: to a process with its panel, to a program among programs.
pub(super) fn go(app: &mut App, cursor: usize) {
    let Some(suspect) = app.data.suspects.get(cursor) else {
        return;
    };
    if suspect.ended.is_some() {
        return app.screen.say("that process has ended");
    }
    let row = suspect.key.clone();
    let scope = Scope::by(row.group().map(|key| key.by));
    app.screen.panel_open = true;
    turn_to(app, scope, Some(&row));
    if app.tables.current().selected.as_ref() != Some(&row) {
        // It is held back by a filter, or folded away.
        app.query.filter.set("");
        app.query.user = None;
        if row.process().is_some() {
            app.query.folded.clear();
        }
        rebuild(app);
        let height = app.rows_shown();
        for table in app.tables.shown_mut() {
            table.select(Some(&row), height);
        }
        app.screen.say("shown without the filter");
    }
}
