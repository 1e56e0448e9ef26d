//! An exporter of made snapshots.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zmtop::alert::Alerts;
use zmtop::engine::State;
use zmtop::group::GroupBy;
use zmtop::history::History;
use zmtop::model::{ProcessSample, Snapshot, SystemSample};
use zmtop::serve::{Exporter, Family};

use crate::support::rows::{MIB, snapshot, with_pss};

/// An engine and an exporter that take in the same snapshots.
pub(super) struct Exported {
    state: State,
    exporter: Exporter,
    second: u64,
}

impl Exported {
    pub(super) fn new(top: usize) -> Self {
        Self::by(GroupBy::Command, top)
    }

    pub(super) fn by(by: GroupBy, top: usize) -> Self {
        Self {
            state: State::new(History::new(Duration::from_secs(10)), Alerts::default()),
            exporter: Exporter::new(by, top, SystemTime::UNIX_EPOCH),
            second: 0,
        }
    }

    /// Takes in the snapshot of so many seconds later; returns the families.
    pub(super) fn after(&mut self, seconds: u64, processes: Vec<ProcessSample>) -> Vec<Family> {
        self.after_with(seconds, processes, |_| {})
    }

    /// Does so with a system that is not unknown.
    pub(super) fn after_with(
        &mut self,
        seconds: u64,
        processes: Vec<ProcessSample>,
        system: impl FnOnce(&mut SystemSample),
    ) -> Vec<Family> {
        self.second += seconds;
        let mut snapshot = snapshot(Duration::from_secs(self.second), processes);
        system(&mut snapshot.system);
        self.take_in(snapshot)
    }

    /// Takes in a snapshot; returns the families.
    pub(super) fn take_in(&mut self, snapshot: Snapshot) -> Vec<Family> {
        let now = snapshot.monotonic + Duration::from_millis(500);
        let snapshot = Arc::new(snapshot);
        self.exporter.push(&snapshot);
        self.state.push(snapshot);
        self.exporter.families(&self.state, now)
    }
}

/// A process of so many MiB.
pub(super) fn sized(pid: u32, command: &str, mib: u64) -> ProcessSample {
    with_pss(pid, command, mib * MIB)
}
