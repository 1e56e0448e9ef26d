//! Reading the mappings of all processes: once, on request, while everything else goes on.

use super::app::{App, MappingScan, ScanProgress};
use super::event::Effect;
use super::navigation::show_scope;
use super::rows::{self, rebuild};
use super::scope::Scope;
use crate::query::{Query, address_spaces};
use crate::sampler::mappings::{Mappings, Shared};

/// Asks for the mappings of the processes that the filter's words choose; where a group is opened, of its processes
/// alone.
pub(super) fn start(app: &mut App) -> Option<Effect> {
    let snapshot = app.engine.snapshot.clone().filter(|_| app.requests.scan.is_none())?;
    let query = Query {
        filter: &app.query.process_filter().filter,
        ..rows::query(app)
    };
    let ids = address_spaces(&app.row_source(&snapshot), &query);
    app.requests.scans += 1;
    let number = app.requests.scans;
    app.requests.scan = Some(ScanProgress {
        number,
        done: 0,
        all: ids.len(),
        began: snapshot.monotonic,
    });
    Some(Effect::ScanMappings(number, ids))
}

/// Takes in how many processes were read.
pub(super) fn on_progress(app: &mut App, number: u64, done: usize) {
    if let Some(scan) = app.requests.scan.as_mut().filter(|scan| scan.number == number) {
        scan.done = done;
    }
}

/// Takes in that a scan failed.
pub(super) fn on_failed(app: &mut App, number: u64) {
    app.requests.scan = app.requests.scan.filter(|scan| scan.number != number);
}

/// Takes in what was read, and shows it.
pub(super) fn on_found(app: &mut App, number: u64, found: &Mappings) {
    let Some(scan) = app.requests.scan.take_if(|scan| scan.number == number) else {
        return;
    };
    app.data.mappings = Some(MappingScan {
        groups: found.shared.iter().cloned().map(Shared::into_group).collect(),
        read: found.read,
        missing: found.missing.len(),
        at: scan.began,
    });
    if app.query.shows_mappings() {
        return rebuild(app);
    }
    let from = Box::new(app.query.scope.clone());
    show_scope(app, Scope::Mappings(from), None);
}
