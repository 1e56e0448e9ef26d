//! The dialogs that act on processes, and what is said of the outcome.
//!
//! Opening a dialog pins its processes; whatever is confirmed later reaches those processes or none, and closing it
//! releases them. Each dialog is one file with its state, its keys and its drawing: [`SignalDialog`], [`ColdnessDialog`]
//! and [`TunableDialog`], which serves every [`Tunable`]. They send commands to the [worker](crate::act::Worker) and
//! never touch a process themselves.

mod coldness;
mod frame;
mod messages;
mod pending;
mod prove;
mod reply;
mod selection;
mod signal;
mod tunable;

pub use coldness::ColdnessDialog;
pub(super) use coldness::request as request_looks;
pub use pending::PendingActions;
pub(super) use prove::prove;
pub(super) use reply::on_reply;
pub use selection::Selection;
pub use signal::SignalDialog;
pub use tunable::TunableDialog;

use super::app::App;
use super::event::Effect;
use super::fleet::REFUSED;
use crate::act::{Command, ProcessAction, Tunable};
use crate::group::GroupBy;
use crate::history::coldness::MAX_ASKED;

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

/// Opens the dialog that sets a tunable.
pub(super) fn open_tunable_dialog(app: &mut App, tunable: Tunable) -> Vec<Effect> {
    select(app, |app, selection| {
        let pin = selection.pin();
        app.open(TunableDialog::new(tunable, selection));
        vec![Effect::Act(pin)]
    })
}

/// Changes a tunable by one step, without a question: it ends nothing and is as easily taken back.
pub(super) fn step(app: &mut App, tunable: Tunable, step: i32) -> Vec<Effect> {
    let of_groups = app.query.scope.grouped_by().is_some_and(|by| by != GroupBy::Mapping);
    if of_groups && !app.config.settings.ui.readonly {
        app.screen
            .fail("steps are for single processes: open the group, or press i to set all of it");
        return Vec::new();
    }
    select(app, |app, selection| {
        app.requests.acts.add(selection.to_pending());
        let request = selection.request;
        let perform = Command::Perform(request, ProcessAction::Step(tunable, step));
        [selection.pin(), perform, Command::Release(request)]
            .map(Effect::Act)
            .into()
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
