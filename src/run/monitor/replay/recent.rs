//! The decoded snapshots around the shown one, kept so that a step back reads nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::model::{CgroupFigures, Snapshot};

/// Maximum memory of the snapshots, as [`size`] estimates it, in bytes.
const MOST: usize = 32 << 20;
/// The fields of a snapshot, without rows and cgroups, in bytes.
const FIXED: usize = 8 << 10;

/// Snapshots that were read one after the other.
#[derive(Debug, Default)]
pub struct Recent {
    all: VecDeque<Arc<Snapshot>>,
    bytes: usize,
    /// The index of the one that is read next; the number of all if the reader must read it.
    next: usize,
}

/// Returns about how much memory a snapshot uses. Its rows share most of their facts with those of the next one.
fn size(snapshot: &Snapshot) -> usize {
    let rows = size_of_val(snapshot.rows());
    rows + snapshot.cgroups.len() * 2 * size_of::<CgroupFigures>() + FIXED
}

fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    (one.time, one.monotonic) == (other.time, other.monotonic)
}

impl Recent {
    /// Adds the snapshot that was read next. Drops the oldest ones if all together use too much memory.
    pub fn add(&mut self, snapshot: &Arc<Snapshot>) {
        self.bytes += size(snapshot);
        self.all.push_back(Arc::clone(snapshot));
        while self.bytes > MOST && self.all.len() > 1 {
            self.bytes -= self.all.pop_front().map_or(0, |oldest| size(&oldest));
        }
        self.next = self.all.len();
    }

    /// Returns the next snapshot, if it was read before.
    pub fn take_next(&mut self) -> Option<Arc<Snapshot>> {
        let next = self.all.get(self.next)?;
        self.next += 1;
        Some(Arc::clone(next))
    }

    /// Goes back, so that `shown` is the next one again. Returns the snapshots before it, the newest last, at most `most`; `None` if
    /// those are fewer than `least`.
    pub fn go_back(&mut self, shown: &Snapshot, least: usize, most: usize) -> Option<Vec<Arc<Snapshot>>> {
        let at = self.all.iter().rposition(|snapshot| is_same(snapshot, shown));
        let at = at.filter(|at| *at >= least)?;
        self.next = at;
        Some(self.all.range(at.saturating_sub(most)..at).cloned().collect())
    }
}
