//! What was sampled, and what is derived from it.

use std::sync::Arc;

use crate::alert::Alerts;
use crate::group::Change;
use crate::history::suspects::Suspect;
use crate::history::{History, Marks, RowHistory};
use crate::model::{Identity, Snapshot};
use crate::trend::Verdict;
use crate::tui::growth::GrowthTracker;
use crate::tui::mappings::Found;

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
    pub mappings: Option<Found>,
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
}
