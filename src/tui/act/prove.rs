//! Asks by itself what a process touches once it is called a leak, where the config wants that.

use super::pending::PendingAction;
use crate::act::{Command, ProcessAction};
use crate::history::coldness::MAX_ASKED;
use crate::model::{Missing, ProcessSample};
use crate::text;
use crate::tui::app::App;
use crate::tui::event::Effect;

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
