//! The last snapshot, and what is derived from it and those before.

use std::sync::Arc;
use std::time::Duration;

use crate::alert::{AlertEvent, Alerts, Target};
use crate::group::{Change, Group, RowKey};
use crate::history::suspects::Suspect;
use crate::history::{History, Marks, RowHistory};
use crate::model::{Identity, Snapshot};
use crate::trend::Verdict;
use crate::tui::growth::GrowthTracker;

/// Maximum number of suspects whose mappings are tracked: each costs a read of `smaps` now and then.
const MAX_TRACKED: usize = 8;

/// The last snapshot, and what is derived from all of them.
#[derive(Debug)]
pub struct Data {
    /// The last snapshot.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The history of every row.
    pub history: History,
    /// The alert rules, and what fires.
    pub alerts: Alerts,
    /// The processes and groups that grow or leak, worst first.
    pub suspects: Vec<Suspect>,
    /// The marks that changes are shown since.
    pub marks: Marks,
    /// The mappings of all processes, as read last.
    pub mappings: Option<MappingScan>,
    /// The mappings of single processes, as read again and again.
    pub growth: GrowthTracker,
}

impl Data {
    /// Knows nothing yet.
    pub fn new(history: History, alerts: Alerts) -> Self {
        Self {
            snapshot: None,
            history,
            alerts,
            suspects: Vec::new(),
            marks: Marks::default(),
            mappings: None,
            growth: GrowthTracker::default(),
        }
    }

    /// Returns the change of one process since the snapshot before.
    pub fn change(&self, id: Identity) -> Option<Change> {
        self.history.get(id).map(RowHistory::change).copied()
    }

    /// Returns the suspects that leak and have not ended, worst first.
    pub fn leaks(&self) -> impl Iterator<Item = &Suspect> {
        let leaks = |s: &&Suspect| s.ended.is_none() && s.judgement.verdict == Verdict::Leaking;
        self.suspects.iter().filter(leaks)
    }

    /// Returns the leaking process whose mappings were not read for the longest time, among the worst: so it is
    /// known what grew before anybody asks.
    pub fn tracked(&self) -> Option<Identity> {
        let processes = self.leaks().filter_map(|suspect| suspect.key.process());
        processes.take(MAX_TRACKED).min_by_key(|id| self.growth.read_at(*id))
    }

    /// Evaluates the alert rules on the last snapshot; returns what fired and what was resolved.
    pub fn evaluate_alerts(&mut self) -> Vec<AlertEvent> {
        let Some(snapshot) = self.snapshot.clone() else {
            return Vec::new();
        };
        self.alerts.evaluate(&snapshot, &self.history)
    }

    /// Returns true if an alert is firing for this row.
    pub fn has_alert(&self, key: &RowKey) -> bool {
        // Most users have no rules: for them no key is cloned.
        self.alerts.rules().len() > 0 && self.alerts.is_firing(&Target::Row(key.clone()))
    }
}

/// The mappings of all processes, as read by one scan.
#[derive(Clone, Debug)]
pub struct MappingScan {
    /// The mappings, each with what all processes hold of it.
    pub groups: Vec<Group>,
    /// Number of processes read.
    pub read: usize,
    /// Number of processes that could not be read, whose memory the sums lack.
    pub missing: usize,
    /// When the scan began, on the snapshots' monotonic clock.
    pub at: Duration,
}

impl MappingScan {
    /// Returns how old it is.
    pub const fn age(&self, snapshot: &Snapshot) -> Duration {
        snapshot.monotonic.saturating_sub(self.at)
    }
}
