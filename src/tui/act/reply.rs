//! Replies of the worker.

use super::selection::Selection;
use super::{ColdnessDialog, SignalDialog, TunableDialog, coldness, messages};
use crate::act::{ProcessAction, Reply, RequestId};
use crate::tui::app::App;
use crate::tui::event::Effect;

/// Takes in a reply. One for a dialog that is no longer open changes no other dialog.
pub(in crate::tui) fn on_reply(app: &mut App, reply: Reply) -> Option<Effect> {
    match reply {
        Reply::Pinned(request, values) => {
            let selection = selection(app, request)?;
            if values.iter().all(Result::is_err) {
                let text = messages::not_pinned(&selection.name(), &values);
                app.screen.fail(text);
                return app.close();
            }
            selection.values = Some(values);
            app.modal_mut::<TunableDialog>()?.prefill();
        }
        Reply::Exited(request, exited) => selection(app, request)?.exited = exited,
        Reply::Performed(request, action, results) => {
            let pending = app.requests.acts.get(request)?;
            let message = messages::performed(&pending.name, action, &results);
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
            let message = messages::outcome(sent, signal, exited, running);
            app.requests.acts.remove(request);
            app.screen.message = Some(message?);
        }
    }
    None
}

/// Returns the selection of the open dialog, if it made that request.
fn selection(app: &mut App, request: RequestId) -> Option<&mut Selection> {
    let selection = if app.modal::<SignalDialog>().is_some() {
        app.modal_mut::<SignalDialog>().map(|dialog| &mut dialog.selection)
    } else if app.modal::<ColdnessDialog>().is_some() {
        app.modal_mut::<ColdnessDialog>().map(|dialog| &mut dialog.selection)
    } else {
        app.modal_mut::<TunableDialog>().map(|dialog| &mut dialog.selection)
    };
    selection.filter(|selection| selection.request == request)
}
