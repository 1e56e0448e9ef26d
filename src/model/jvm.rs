//! The heap of a Java virtual machine, by its own counters.

use super::reading::Reading;

/// The heap of a Java virtual machine, as it last published it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JvmHeap {
    /// The part in use, by what is alive and by what the next collection will find dead.
    pub used: u64,
    /// The part that the machine has committed.
    pub capacity: u64,
    /// The part in use of the old generation, which only a collection changes.
    pub old: Reading<u64>,
    /// The part that the last full collection found alive; few collectors tell.
    pub live: Reading<u64>,
    /// The size that the old generation may reach, by `-Xmx`.
    pub old_max: Reading<u64>,
    /// Number of collections of any kind.
    pub collections: u64,
    /// Number of those that were not of the young generation alone; of a concurrent one its pauses.
    pub old_collections: u64,
}
