//! An event and the state before give the state after, and what is to be done outside.

mod act;
mod input;
mod list;
mod marks;
mod mouse;
mod search;
mod table;
mod turn;

use std::sync::Arc;

use crossterm::event::KeyEvent;
pub(crate) use search::found;
pub(super) use turn::turn_to;

use super::act::{open, report};
use super::app::{App, Message, Mode};
use super::event::{Effect, Event};
use super::rows::rebuild;
use super::{leaks, mappings, panel};
use crate::config::Context;
use crate::group::{GroupBy, RowKey};
use crate::model::Snapshot;

/// Takes in one event.
pub fn update(app: &mut App, event: Event) -> Vec<Effect> {
    let dialog = open(app);
    let mut effects = match event {
        Event::Key(key) => press(app, key),
        Event::Mouse(mouse) => mouse::update(app, mouse),
        Event::Paste(text) => input::paste(app, &text),
        Event::Resize(width, height) => {
            app.screen.size = (width, height);
            let rows = app.rows_shown();
            for table in app.tables.shown_mut() {
                table.show(rows);
            }
            Vec::new()
        }
        Event::Snapshot(snapshot) => {
            take(app, snapshot);
            super::alerts::evaluate(app)
        }
        Event::MappingsRead(number, done) => {
            mappings::progress(app, number, done);
            Vec::new()
        }
        Event::Mappings(number, found) => {
            mappings::take(app, number, &found);
            Vec::new()
        }
        Event::MappingsFailed(number, text) => {
            if app.requests.scan.is_some_and(|scan| scan.number == number) {
                mappings::break_off(app);
            }
            say(app, text, true)
        }
        Event::Inspected(id, read) => {
            panel::take(app, id, &read);
            Vec::new()
        }
        Event::Act(what) => {
            report(app, what);
            Vec::new()
        }
        Event::Done(text) => say(app, text, false),
        Event::Failed(text) => say(app, text, true),
    };
    if let Some(closed) = dialog.filter(|number| open(app) != Some(*number)) {
        effects.push(Effect::Act(crate::act::Command::Release(closed)));
    }
    effects.extend(panel::ask(app));
    effects
}

fn say(app: &mut App, text: String, bad: bool) -> Vec<Effect> {
    app.screen.message = Some(Message { text, bad });
    Vec::new()
}

/// Takes in a snapshot: history goes on, rows are made anew, and what concerned processes that are gone
/// is forgotten.
fn take(app: &mut App, snapshot: Arc<Snapshot>) {
    app.data.history.push(&snapshot);
    if app.data.marks.discard_incomparable(&snapshot) {
        app.apply_columns();
    }
    if snapshot.processes.is_ok() && !(app.tables.tags.is_empty() && app.query.folded.is_empty()) {
        let alive: std::collections::HashSet<_> = snapshot.rows().iter().map(|p| p.id).collect();
        let history = &app.data.history;
        app.tables.tags.retain(|id| match id {
            RowKey::Process(id) => alive.contains(id),
            // Those of programs come and go; a history knows them a while longer. Mappings stay.
            RowKey::Group(key) => key.by == GroupBy::Mapping || history.group(key).is_some(),
        });
        app.query.folded.retain(|id| alive.contains(id));
    }
    app.data.snapshot = Some(snapshot);
    leaks::find(app);
    rebuild(app);
}

fn press(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let context = match app.mode {
        Mode::Table => Context::Table,
        Mode::Input(..) | Mode::Act(_) => Context::Input,
        Mode::Popup(_) => Context::List,
    };
    let action = app.config.keymap.action(context, key);
    if action.is_some() {
        app.screen.message = None;
    }
    match (context, action) {
        (Context::Table, Some(action)) => table::act(app, action),
        (Context::List, Some(action)) => list::act(app, action),
        (Context::Input, Some(action)) if open(app).is_some() => act::act(app, action),
        (Context::Input, None) if open(app).is_some() => act::typed(app, key),
        (Context::Input, Some(action)) => input::act(app, action),
        (Context::Input, None) => input::typed(app, key),
        (_, None) => Vec::new(),
    }
}
