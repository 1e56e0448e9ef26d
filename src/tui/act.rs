//! Dialogs that act on processes, and the messages about the outcome.
//!
//! Opening a dialog pins its processes: an action confirmed later reaches these processes or none. Closing it releases them.
//! A [`ProcessDialog`] asks one of three questions: which signal to send, whether to measure which pages are touched, and
//! the value of a [`Tunable`]. Dialogs send commands to the [worker](crate::act::Worker) and never touch a process themselves.

mod coldness;
mod dialog;
mod selection;
mod signal;
mod subtree;
mod tunable;

use coldness::ColdnessQuestion;
pub(super) use coldness::{prove, request as request_looks};
pub use dialog::ProcessDialog;
use dialog::Question;
pub use selection::Selection;
use selection::{explain, outcome, performed};
pub use signal::SignalQuestion;
use subtree::SubtreeChoice;
pub use tunable::TunableQuestion;

use crate::act::{MAX_PROCESSES, ProcessAction, Reply, RequestId, Tunable};
use crate::config::Action;
use crate::history::mappings::MAX_ASKED;
use crate::tui::app::App;
use crate::tui::event::Effect;
use crate::tui::fleet::REFUSED;

/// Opens the dialog of an action on the tagged or selected processes. A row that shows the sum of a folded tree stands for one
/// process or for all: it asks for which.
pub(super) fn ask(app: &mut App, action: Action) -> Vec<Effect> {
    match SubtreeChoice::new(app, action) {
        Some(choice) if !app.config.settings.ui.readonly => {
            app.open_popup(choice);
            Vec::new()
        }
        _ => open_dialog(app, action, Selection::new),
    }
}

/// Opens the dialog of an action on the processes that `select` returns, given how many are allowed.
fn open_dialog(
    app: &mut App,
    action: Action,
    select: impl FnOnce(&mut App, usize) -> Result<Selection, String>,
) -> Vec<Effect> {
    let (title, lines, most) = match action {
        Action::Signal => (" Send a signal ", signal::LINES, MAX_PROCESSES),
        Action::HotCold => (" Hot and cold ", (0, 5), MAX_ASKED),
        Action::OomAdjust => (Tunable::OomScoreAdj.spec().title, (0, 2), MAX_PROCESSES),
        _ => (Tunable::Nice.spec().title, (0, 2), MAX_PROCESSES),
    };
    let question: Box<dyn Question> = match action {
        Action::Signal => Box::new(SignalQuestion::default()),
        Action::HotCold => Box::new(ColdnessQuestion),
        Action::OomAdjust => Box::new(TunableQuestion::new(Tunable::OomScoreAdj, 0)),
        Action::NiceUp => Box::new(TunableQuestion::new(Tunable::Nice, 1)),
        Action::NiceDown => Box::new(TunableQuestion::new(Tunable::Nice, -1)),
        _ => Box::new(TunableQuestion::new(Tunable::Nice, 0)),
    };
    let selection = select(app, most);
    open(app, title, lines, selection, question)
}

/// Opens a dialog about processes, or shows why there are none to act on.
fn open(
    app: &mut App,
    title: &'static str,
    lines: (u16, u16),
    selection: Result<Selection, String>,
    mut question: Box<dyn Question>,
) -> Vec<Effect> {
    let selection = if app.config.settings.ui.readonly {
        Err("read only: nothing is changed".into())
    } else if app.fleet.is_some() {
        Err(REFUSED.into())
    } else {
        selection
    };
    match selection {
        Ok(selection) => {
            let pin = selection.pin();
            question.follow(&selection);
            app.open(ProcessDialog {
                selection,
                title,
                lines,
                question,
                first: 0,
            });
            vec![pin]
        }
        Err(error) => {
            app.screen.fail(error);
            Vec::new()
        }
    }
}

/// Chooses the tagged processes, or else the selected one, as the result of the run.
pub(super) fn pick(app: &mut App) -> Vec<Effect> {
    match Selection::new(app, MAX_PROCESSES) {
        Ok(selection) => vec![Effect::Pick(selection.processes.iter().map(|p| p.id.pid).collect())],
        Err(error) => {
            app.screen.fail(error);
            Vec::new()
        }
    }
}

/// Handles a reply of the worker. One to a dialog that is no longer open changes no other dialog.
pub(in crate::tui) fn on_reply(app: &mut App, reply: Reply) -> Option<Effect> {
    match reply {
        Reply::Pinned(request, values) => {
            let dialog = dialog_of(app, request)?;
            if values.iter().all(Result::is_err) {
                let text = format!("{}: {}", dialog.selection.name(), explain(&values));
                app.screen.fail(text);
                return app.close();
            }
            dialog.selection.values = Some(values);
            dialog.question.follow(&dialog.selection);
        }
        Reply::Exited(request, exited) => dialog_of(app, request)?.selection.exited = exited,
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
            let dialog = dialog_of(app, request);
            let is_open = dialog.is_some();
            if let Some(dialog) = dialog.filter(|_| message.bad) {
                // It stays open, so that another number can be tried.
                dialog.question.fail(message.text);
                return None;
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

/// Returns the open dialog, if it made that request.
fn dialog_of(app: &mut App, request: RequestId) -> Option<&mut ProcessDialog> {
    let dialog = app.modal_mut::<ProcessDialog>();
    dialog.filter(|dialog| dialog.selection.request == request)
}
