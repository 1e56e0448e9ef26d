//! Mappings on the screen: read once, on request, while everything else goes on.

use std::time::Duration;

use super::app::App;
use super::event::Effect;
use super::rows::{self, rebuild};
use super::scope::Scope;
use crate::group::Group;
use crate::model::Snapshot;
use crate::query::{Query, address_spaces};
use crate::sampler::mappings::{Mappings, Shared};

/// A reading that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Which one: what another one reports is not taken in.
    pub number: u64,
    /// How many processes were read.
    pub done: usize,
    /// Of how many.
    pub all: usize,
    /// When it began, on the snapshots' monotonic clock.
    pub began: Duration,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Found {
    /// The mappings.
    pub groups: Vec<Group>,
    /// Of how many processes.
    pub read: usize,
    /// How many could not be read, whose memory the sums lack.
    pub missing: usize,
    /// When the reading of them began, on the snapshots' monotonic clock.
    pub at: Duration,
}

impl Found {
    /// How old it is.
    pub const fn age(&self, snapshot: &Snapshot) -> Duration {
        snapshot.monotonic.saturating_sub(self.at)
    }
}

/// Asks for the mappings of the processes that the filter's words choose; of a group's alone, where that is
/// opened.
pub(super) fn ask(app: &mut App) -> Vec<Effect> {
    let (Some(snapshot), None) = (app.data.snapshot.clone(), app.requests.scan) else {
        return Vec::new();
    };
    let query = Query {
        filter: &app.query.process_filter().filter,
        ..rows::query(app)
    };
    let ids = address_spaces(&rows::source(app, &snapshot), &query);
    app.requests.scans += 1;
    let number = app.requests.scans;
    let all = ids.len();
    app.requests.scan = Some(Scan {
        number,
        done: 0,
        all,
        began: snapshot.monotonic,
    });
    vec![Effect::Mappings(number, ids)]
}

/// Breaks off what is under way; whether anything was.
pub(super) fn break_off(app: &mut App) -> bool {
    app.requests.scan.take().is_some()
}

/// Takes in how far it is.
pub(super) fn progress(app: &mut App, number: u64, done: usize) {
    if let Some(scan) = app.requests.scan.as_mut().filter(|scan| scan.number == number) {
        scan.done = done;
    }
}

/// Takes in what was read, and shows it.
pub(super) fn take(app: &mut App, number: u64, found: &Mappings) {
    let Some(scan) = app.requests.scan.filter(|scan| scan.number == number) else {
        return;
    };
    app.requests.scan = None;
    app.data.mappings = Some(Found {
        groups: found.shared.iter().cloned().map(Shared::into_group).collect(),
        read: found.read,
        missing: found.missing.len(),
        at: scan.began,
    });
    if matches!(app.query.scope, Scope::Mappings(_)) {
        return rebuild(app);
    }
    let from = Box::new(app.query.scope.clone());
    super::update::turn_to(app, Scope::Mappings(from), None);
}
