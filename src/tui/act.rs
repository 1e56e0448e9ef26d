//! The dialogs that act on processes, and what is said of the outcome.
//!
//! Opening a dialog pins its processes; whatever is confirmed later reaches those processes or none, and closing it
//! releases them. Each dialog is one file with its state, its keys and its drawing: [`SignalDialog`], [`ColdnessDialog`]
//! and [`TunableDialog`], which serves every [`Tunable`]. They send commands to the [worker](crate::act::Worker) and
//! never touch a process themselves.

mod coldness;
mod frame;
mod selection;
mod signal;
mod tunable;

pub use coldness::ColdnessDialog;
pub(super) use coldness::request as request_looks;
pub use selection::Selection;
use selection::{not_pinned, outcome, performed};
pub use signal::SignalDialog;
pub use tunable::TunableDialog;

use crate::act::{Command, ProcessAction, Reply, RequestId, Tunable};
use crate::history::mappings::MAX_ASKED;
use crate::model::{Missing, ProcessSample};
use crate::text;
use crate::tui::app::{App, PendingAction};
use crate::tui::event::Effect;
use crate::tui::fleet::REFUSED;

/// Opens the dialog that sends a signal.
pub(super) fn open_signal_dialog(app: &mut App) -> Vec<Effect> {
    select(app, |app, selection| {
        let pin = selection.pin();
        app.open(SignalDialog::new(selection));
        vec![Effect::Act(pin)]
    })
}

/// Chooses the tagged processes, or else the selected one.
pub(super) fn pick(app: &mut App) -> Vec<Effect> {
    match Selection::new(app) {
        Ok(selection) => vec![Effect::Pick(selection.processes.iter().map(|p| p.id.pid).collect())],
        Err(error) => {
            app.screen.fail(error);
            Vec::new()
        }
    }
}

/// Opens the dialog that asks what a process touches.
pub(super) fn open_coldness_dialog(app: &mut App) -> Vec<Effect> {
    select(app, |app, selection| {
        let all = selection.processes.len();
        if all > MAX_ASKED {
            app.screen
                .fail(format!("these are {all} processes: at most {MAX_ASKED} at once"));
            return Vec::new();
        }
        let pin = selection.pin();
        app.open(ColdnessDialog::new(selection));
        vec![Effect::Act(pin)]
    })
}

/// Opens the dialog that sets a tunable, with its present value and `step` more.
pub(super) fn open_tunable_dialog(app: &mut App, tunable: Tunable, step: i32) -> Vec<Effect> {
    select(app, |app, selection| {
        let pin = selection.pin();
        app.open(TunableDialog::new(tunable, selection, step));
        vec![Effect::Act(pin)]
    })
}

/// Passes the selected processes on, or says why there are none to act on.
fn select(app: &mut App, act: impl FnOnce(&mut App, Selection) -> Vec<Effect>) -> Vec<Effect> {
    let selection = if app.config.settings.ui.readonly {
        Err("read only: nothing is changed".into())
    } else if app.fleet.is_some() {
        Err(REFUSED.into())
    } else {
        Selection::new(app)
    };
    match selection {
        Ok(selection) => act(app, selection),
        Err(error) => {
            app.screen.fail(error);
            Vec::new()
        }
    }
}

// Asks by itself what a process touches once it is called a leak, where the config wants that.

/// Clears the referenced bits of one process that is called a leak and that nobody asked about. Each is asked about
/// once; those that the user asked about are never displaced.
pub(in crate::tui) fn prove(app: &mut App) -> Vec<Effect> {
    let settings = &app.config.settings;
    let looked_at = app.data.coldness.looks().count();
    if !settings.suspects.prove || settings.ui.readonly || looked_at >= MAX_ASKED {
        return Vec::new();
    }
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return Vec::new();
    };
    app.requests
        .proved
        .retain(|(id, exec)| snapshot.row(*id).is_some_and(|row| row.exec == *exec));
    let is_new = |sample: &&ProcessSample| {
        app.data.coldness.get(sample).err() == Some(Missing::NotAsked)
            && !app.requests.proved.contains(&(sample.id, sample.exec))
    };
    let leaks = app.engine.leaks().filter(|suspect| !suspect.is_held());
    let leaks = leaks.filter_map(|suspect| suspect.key.process());
    let Some(sample) = leaks.filter_map(|id| snapshot.row(id)).find(is_new) else {
        return Vec::new();
    };
    app.requests.proved.push((sample.id, sample.exec));
    let request = app.requests.acts.next_request();
    app.requests.acts.add(PendingAction {
        request,
        name: format!("{} {}", sample.id.pid, text::safe_prefix(&sample.facts.comm, 15)),
        processes: vec![sample.id],
    });
    let perform = Command::Perform(request, ProcessAction::ClearReferenced);
    [Command::Pin(request, vec![sample.id]), perform]
        .map(Effect::Act)
        .into()
}

// Replies of the worker.

/// Takes in a reply. One for a dialog that is no longer open changes no other dialog.
pub(in crate::tui) fn on_reply(app: &mut App, reply: Reply) -> Option<Effect> {
    match reply {
        Reply::Pinned(request, values) => {
            let selection = selection_of(app, request)?;
            if values.iter().all(Result::is_err) {
                let text = not_pinned(&selection.name(), &values);
                app.screen.fail(text);
                return app.close();
            }
            selection.values = Some(values);
            app.modal_mut::<TunableDialog>()?.prefill();
        }
        Reply::Exited(request, exited) => selection_of(app, request)?.exited = exited,
        Reply::Performed(request, action, results) => {
            let pending = app.requests.acts.get(request)?;
            let message = performed(&pending.name, action, &results);
            if action == ProcessAction::ClearReferenced {
                let cleared = pending.processes.iter().zip(&results);
                let cleared = cleared.filter(|(_, result)| result.is_ok()).map(|(id, _)| *id);
                coldness::on_cleared(app, &cleared.collect::<Vec<_>>());
            }
            let outcome_follows = matches!(action, ProcessAction::Signal(_)) && results.iter().any(Result::is_ok);
            if !outcome_follows {
                app.requests.acts.remove(request);
            }
            let dialog = app.modal_mut::<TunableDialog>();
            let dialog = dialog.filter(|dialog| dialog.selection.request == request);
            let is_open = dialog.is_some();
            if let Some(dialog) = dialog {
                dialog.is_pending = false;
                if message.bad {
                    // It stays open, so that another number can be tried.
                    dialog.error = Some(message.text);
                    return None;
                }
            }
            app.screen.message = Some(message);
            return if is_open { app.close() } else { None };
        }
        Reply::Outcome {
            request,
            signal,
            exited,
            running,
        } => {
            let sent = app.requests.acts.get(request)?;
            let message = outcome(sent, signal, exited, running);
            app.requests.acts.remove(request);
            app.screen.message = Some(message?);
        }
    }
    None
}

/// Returns the selection of the open dialog, if it made that request.
fn selection_of(app: &mut App, request: RequestId) -> Option<&mut Selection> {
    let selection = if app.modal::<SignalDialog>().is_some() {
        app.modal_mut::<SignalDialog>().map(|dialog| &mut dialog.selection)
    } else if app.modal::<ColdnessDialog>().is_some() {
        app.modal_mut::<ColdnessDialog>().map(|dialog| &mut dialog.selection)
    } else {
        app.modal_mut::<TunableDialog>().map(|dialog| &mut dialog.selection)
    };
    selection.filter(|selection| selection.request == request)
}
