//! When the heap of a process is read again, for the memory that `malloc` keeps free in it.

use std::time::Duration;

/// Minimum time between two reads of a heap.
pub const INTERVAL: Duration = Duration::from_secs(30);
/// The inverse of the share of a core that all reads together may use.
const MAX_SHARE: u32 = 500;

/// Returns true if a heap that was last read that long ago is read again. `is_active` is true if its process has run or faulted
/// since then, and `all` is the processor time of reading all heaps once.
pub fn is_due(age: Duration, is_active: bool, all: Duration) -> bool {
    is_active && age >= INTERVAL.max(all * MAX_SHARE)
}
