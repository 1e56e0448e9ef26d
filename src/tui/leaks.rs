//! The suspects in the monitor: who they are with every snapshot, and going to one of them.

use super::app::{App, Message, Mode};
use super::popup::{Place, Popup};
use super::rows::rebuild;
use super::scope::Scope;
use super::update::turn_to;
use super::view;
use crate::history::suspects::{Ask, Suspect, suspects};
use crate::model::Identity;
use crate::trend::Verdict;

/// Of how many suspects it is watched which mappings grow.
const WATCHED: usize = 8;

/// Finds the suspects of the snapshot just taken in; the cursor of their page stays with whom it was on.
pub(super) fn find(app: &mut App) {
    let Some(snapshot) = &app.snapshot else { return };
    let found = suspects(&app.history, snapshot, Ask::GROWING);
    let before = std::mem::replace(&mut app.leaks, found);
    let height = view::list_height(app);
    let Mode::Popup(Popup::Leaks(place)) = &mut app.mode else {
        return;
    };
    let was = before.get(place.cursor);
    let at = was.and_then(|was| app.leaks.iter().position(|suspect| suspect.key == was.key));
    let to = at.unwrap_or(place.cursor);
    place.go(to, app.leaks.len().max(1), height);
}

/// How many leak, the ended ones not counted.
pub fn leaking(app: &App) -> usize {
    alive(app).count()
}

fn alive(app: &App) -> impl Iterator<Item = &Suspect> {
    app.leaks
        .iter()
        .filter(|s| s.ended.is_none() && s.judged.verdict == Verdict::Leaking)
}

/// The worst one that is alive and leaks.
pub fn worst(app: &App) -> Option<&Suspect> {
    alive(app).next()
}

/// The process among the first suspects whose mappings were not read for the longest time: of those that leak
/// it is known what grew before anybody asks.
pub(super) fn watched(app: &App) -> Option<Identity> {
    let processes = alive(app).filter_map(|suspect| suspect.key.process());
    processes.take(WATCHED).min_by_key(|id| app.panel.read_at(*id))
}

/// Opens the page.
pub(super) fn open(app: &mut App) {
    app.mode = Mode::Popup(Popup::Leaks(Place::default()));
}

/// Goes from the page to whom its cursor is on: to a process with its panel, to a program among programs.
pub(super) fn go(app: &mut App, cursor: usize) {
    let Some(suspect) = app.leaks.get(cursor) else { return };
    if suspect.ended.is_some() {
        return say(app, "that process has ended");
    }
    let row = suspect.key.clone();
    let scope = Scope::by(row.group().map(|key| key.by));
    app.panel.open = true;
    turn_to(app, scope, Some(&row));
    if app.table().selected.as_ref() != Some(&row) {
        // It is held back by a filter, or folded away.
        app.filter.set("");
        app.user = None;
        if row.process().is_some() {
            app.folded.clear();
        }
        rebuild(app);
        let height = app.rows_shown();
        for table in app.tables_mut() {
            table.select(Some(&row), height);
        }
        say(app, "shown without the filter");
    }
}

fn say(app: &mut App, text: &str) {
    app.message = Some(Message {
        text: text.into(),
        bad: false,
    });
}
