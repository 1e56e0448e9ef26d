//! An event and the state before give the state after, and what is to be done outside.

mod mouse;
mod table;

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::app::{App, Response};
use super::event::{Effect, Event};
use super::refresh::refresh;
use super::rows::{plan, rebuild};
use super::{act, fleet, mappings, page, panel};
use crate::config::{Action, Context};
use crate::group::{GroupBy, RowKey};
use crate::query::ListPlan;
use crate::text;

/// Snapshots for which the line of the first start is shown to who presses no key.
const GREETED: u64 = 20;

/// Changes the state as an event asks; returns what is to be done outside, in this order.
pub fn update(app: &mut App, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    match event {
        Event::Key(key) => effects = on_key(app, key),
        Event::Mouse(mouse, at) => effects = mouse::on_mouse(app, mouse, at),
        Event::Paste(text) => {
            app.with_modal(|modal, app| {
                modal.on_paste(app, &text);
                Response::stay()
            });
        }
        Event::Resize(width, height) => {
            app.screen.size = (width, height);
            app.scroll_to_selection();
            app.with_page(|page, app| page.follow(app));
        }
        Event::Snapshot => {
            on_snapshot(app);
            if app.fleet.is_none() {
                effects = act::prove(app);
            }
        }
        Event::ScanProgress(number, done) => mappings::on_progress(app, number, done),
        Event::ScanDone(number, found) => mappings::on_found(app, number, &found),
        Event::ScanFailed(number, text) => {
            mappings::on_failed(app, number);
            app.screen.fail(text);
        }
        Event::Inspected(id, read) => {
            if let Some(snapshot) = &app.engine.snapshot {
                app.data.growth.record(snapshot, id, &read);
            }
        }
        Event::Looked(look, found) => {
            app.data.coldness.record(look, found);
            rebuild(app);
        }
        Event::Traced(number, found) => app.data.callers.take_in(number, Ok(found)),
        Event::TraceRefused(number, why) => app.data.callers.take_in(number, Err(why)),
        Event::Act(reply) => effects.extend(act::on_reply(app, reply)),
        Event::Fleet(status) => app.fleet = Some(status),
        Event::Done(text) => app.screen.say(text),
        Event::Failed(text) => app.screen.fail(text),
    }
    effects.extend(panel::request(app));
    effects.extend(page::request_trace(app));
    effects.extend(act::request_looks(app));
    app.engine.plan = app
        .fleet
        .as_ref()
        .and_then(|_| plan(app))
        .filter(ListPlan::is_of_snapshots);
    effects
}

/// Has the open modal, or else the table, perform the action of a key.
fn on_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let context = app.modal.as_ref().map_or(Context::Table, |modal| modal.context());
    let action = app.config.keymap.action(context, key);
    let action = action.filter(|action| app.modal.as_ref().is_none_or(|modal| modal.takes(*action)));
    if key.kind == KeyEventKind::Press {
        (app.screen.message, app.screen.greets) = (None, false);
    }
    match action {
        Some(action) => perform(app, action),
        None => match key.code {
            KeyCode::Char(c) if app.modal.is_none() => {
                let help = app.config.keymap.shown_key(context, Action::Help);
                let help = help.map_or_else(String::new, |key| format!(": {key} lists the keys"));
                let shown = text::safe_prefix(c.encode_utf8(&mut [0; 4]).as_bytes(), 2).into_owned();
                app.screen.say(format!("{shown} does nothing here{help}"));
                Vec::new()
            }
            KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                app.with_modal(|modal, app| modal.on_char(app, c))
            }
            _ => Vec::new(),
        },
    }
}

/// Has the open modal, or else the open page or the table, perform an action.
fn perform(app: &mut App, action: Action) -> Vec<Effect> {
    let refusal = app.fleet.as_ref().and_then(|_| fleet::refusal(action));
    if let Some(why) = refusal.filter(|_| app.modal.is_none()) {
        app.screen.fail(why);
        return Vec::new();
    }
    match action {
        Action::Quit => vec![Effect::Quit],
        Action::Redraw => vec![Effect::Redraw],
        action if app.modal.is_some() => app.with_modal(|modal, app| modal.on_action(app, action)),
        action => page::on_action(app, action).unwrap_or_else(|| table::on_action(app, action)),
    }
}

/// Makes the rows anew by the engine's state, and forgets what concerned processes that are gone.
fn on_snapshot(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    if app.screen.greets && app.engine.pushed > GREETED {
        (app.screen.message, app.screen.greets) = (None, false);
    }
    let has_swap = snapshot.system.swap_total != Ok(0);
    let is_other = app.screen.has_swap != has_swap;
    app.screen.has_swap = has_swap;
    if app.data.marks.discard_incomparable(&snapshot) || is_other {
        app.apply_columns();
    }
    if snapshot.processes.is_ok() {
        app.data.coldness.retain_living(&snapshot);
    }
    if snapshot.processes.is_ok() && !(app.tables.tags.is_empty() && app.query.folded.is_empty()) {
        let alive: HashSet<_> = snapshot.rows().iter().map(|p| p.id).collect();
        let history = &app.engine.history;
        app.tables.tags.retain(|key| match key {
            RowKey::Part(_) => true,
            RowKey::Process(id) => alive.contains(id),
            // Groups of processes come and go; a history knows them a while longer. Mappings stay.
            RowKey::Group(key) => key.by == GroupBy::Mapping || history.has_group(key, &snapshot),
        });
        app.query.folded.retain(|id| alive.contains(id));
    }
    app.with_modal(|modal, app| {
        modal.on_snapshot(app);
        Response::stay()
    });
    let was_blind = app.is_blind();
    refresh(app);
    if app.is_blind() != was_blind {
        if !was_blind {
            app.sort_without_pss();
            rebuild(app);
        }
        app.apply_columns();
    }
    app.with_page(|page, app| page.follow(app));
}
