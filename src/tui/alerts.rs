//! Alerts in the monitor: evaluated with every snapshot, before anything of it is drawn.

use std::sync::Arc;

use super::app::App;
use super::event::Effect;
use crate::alert::Target;
use crate::group::RowKey;

/// Evaluates the snapshot that was just taken in.
pub(super) fn evaluate(app: &mut App) -> Vec<Effect> {
    let Some(snapshot) = app.data.snapshot.as_ref().map(Arc::clone) else {
        return Vec::new();
    };
    let events = app.data.alerts.evaluate(&snapshot, &app.data.history);
    events.into_iter().map(Effect::Alert).collect()
}

/// Returns true if an alert is firing for this row.
pub(super) fn is_firing(app: &App, key: &RowKey) -> bool {
    // Most users have no rules: for them no key is cloned.
    app.data.alerts.rules().len() > 0 && app.data.alerts.is_firing(&Target::Row(key.clone()))
}
