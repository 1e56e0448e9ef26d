//! Data that was read because the screen asked for it.

use std::time::Duration;

use crate::group::Group;
use crate::history::Marks;
use crate::history::coldness::ColdnessTable;
use crate::model::Snapshot;
use crate::tui::growth::GrowthTracker;

/// Data that was read because the screen asked for it.
#[derive(Debug, Default)]
pub struct Data {
    /// The marks that changes are shown since.
    pub marks: Marks,
    /// The mappings of all processes, as read last.
    pub mappings: Option<MappingScan>,
    /// The mappings of single processes, as read again and again.
    pub growth: GrowthTracker,
    /// Hot and cold memory, of processes that the user asked for.
    pub coldness: ColdnessTable,
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
