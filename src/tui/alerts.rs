//! Alerts in the monitor: judged with every snapshot, before anything is drawn of it.

use std::sync::Arc;

use super::app::App;
use super::event::Effect;
use crate::alert::{Alerts, Target};
use crate::config::AlertSettings;
use crate::group::RowKey;

/// The rules of these settings, by their places. Settings that were read hold only sound ones; where one is
/// not there are none, so that no rule gets another's place.
pub fn rules(settings: &[AlertSettings]) -> Alerts {
    let rules: Result<Vec<_>, _> = settings.iter().map(AlertSettings::rule).collect();
    Alerts::new(rules.unwrap_or_default())
}

/// Judges the snapshot that was just taken in.
pub(super) fn judge(app: &mut App) -> Vec<Effect> {
    let Some(snapshot) = app.data.snapshot.as_ref().map(Arc::clone) else {
        return Vec::new();
    };
    let notices = app.data.alerts.judge(&snapshot, &app.data.history);
    notices.into_iter().map(Effect::Alert).collect()
}

/// Whether some alert is about this row now.
pub(super) fn concern(app: &App, id: &RowKey) -> bool {
    if app.data.alerts.rules().is_empty() {
        return false;
    }
    app.data.alerts.is_firing(&match id {
        RowKey::Process(id) => Target::Process(*id),
        RowKey::Group(key) => Target::Group(key.clone()),
    })
}
