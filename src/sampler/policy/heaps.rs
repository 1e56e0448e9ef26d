//! When the heap of a process is read, for the memory that `malloc` keeps free in it.

use std::time::Duration;

/// Minimum time between two reads of a heap.
pub const INTERVAL: Duration = Duration::from_secs(30);
/// The share of a core that all reads together may use.
const SHARE: f64 = 1.0 / 500.0;
/// Processor time that is saved for many reads at once, as at the start: 250 usual ones of 2 ms.
const BURST: f64 = 0.5;

/// Returns true if a heap that was last read that long ago is wanted again. `is_active` is true if its process has run or faulted
/// since then.
pub fn is_due(age: Duration, is_active: bool) -> bool {
    is_active && age >= INTERVAL
}

/// The processor time of all reads: a token bucket. A process may call itself new as often as it likes.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Seconds that are taken out of the full bucket.
    taken: f64,
    at: Duration,
}

impl Budget {
    /// Reserves the expected time of a read; returns false if the read must wait. Calls must come in order of time.
    pub fn reserve(&mut self, now: Duration, expected: Duration) -> bool {
        let since = now.saturating_sub(self.at).as_secs_f64();
        self.taken = (self.taken - since * SHARE).max(0.0);
        self.at = now;
        let is_allowed = self.taken < BURST;
        if is_allowed {
            self.taken += expected.as_secs_f64();
        }
        is_allowed
    }

    /// Charges the actual time of a read in place of the expected one.
    pub fn settle(&mut self, expected: Duration, took: Duration) {
        self.taken += took.as_secs_f64() - expected.as_secs_f64();
    }
}
