//! The machine, boot and time a snapshot is of.

use std::sync::Arc;
use std::time::Duration;

use crate::model::reading::Reading;
use crate::model::snapshot::Snapshot;

/// The origin of a snapshot, to tell whether another one can be compared with it.
#[derive(Debug)]
pub(super) struct Origin {
    host: Arc<[u8]>,
    boot_id: Reading<Arc<str>>,
    pub(super) monotonic: Duration,
}

impl Origin {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self {
            host: Arc::clone(&snapshot.host),
            boot_id: snapshot.boot_id.clone(),
            monotonic: snapshot.monotonic,
        }
    }

    /// Returns true if the snapshot is a later one of the same boot. Else its pids, counters and clock are others. A
    /// host may change its name, but not within a boot its boot id; the name decides only where there is no boot id.
    pub(super) fn precedes(&self, snapshot: &Snapshot) -> bool {
        let is_other = match (&self.boot_id, &snapshot.boot_id) {
            (Ok(one), Ok(other)) => one != other,
            _ => !self.host.is_empty() && !snapshot.host.is_empty() && self.host != snapshot.host,
        };
        !is_other && snapshot.monotonic >= self.monotonic
    }
}
