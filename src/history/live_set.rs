//! The part that is alive of the heap of a Java virtual machine, as far as its collections have told.
//!
//! A heap grows by what is dead as well as by what is alive; only a collection of the old generation tells them apart. So
//! of the time from one such collection to the next the lowest use of the old generation counts, which is known when the
//! next one begins: a collector that works beside the program frees its finds little by little.

use std::time::Duration;

use crate::model::jvm::JvmHeap;

/// Time that must pass from one collection to the next that counts: of a concurrent one several pauses are counted.
const MIN_CYCLE: Duration = Duration::from_secs(30);
/// Minimum climb from which on a fall of half of it is taken for a collection, where the virtual machine counts none.
const MIN_CLIMB: u64 = 4 << 20;

/// Memory beyond the heap that is not told apart from none: the machine's own, some tens of MB of code, classes and tables of
/// the collector. It comes to light only once the heap has been touched as far as it is committed, which is no growth.
const OWN: u64 = 64 << 20;

/// The live set of one virtual machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LiveSet {
    /// The count of collections when they were last taken in.
    pub(super) collections: Option<u64>,
    /// When the cycle began: the time since the last collection.
    pub(super) began: Duration,
    /// The lowest and the highest use of the old generation in this cycle.
    pub(super) lowest: u64,
    pub(super) highest: u64,
    /// The part that was found alive last.
    pub(super) alive: Option<u64>,
    /// The part of its heap that is committed.
    pub(super) capacity: u64,
}

impl LiveSet {
    /// Takes in its counters; returns true if what is alive is known for the first time.
    pub(super) fn push(&mut self, now: Duration, heap: &JvmHeap) -> bool {
        let was_known = self.alive.is_some();
        self.take_in(now, heap);
        self.alive.is_some() && !was_known
    }

    fn take_in(&mut self, now: Duration, heap: &JvmHeap) {
        self.capacity = heap.capacity;
        if let Ok(live) = heap.live {
            // Counted by the collector itself.
            self.alive = Some(live);
            return;
        }
        let Ok(old) = heap.old else { return };
        let is_first = self.collections.is_none();
        let fell = self.highest.saturating_sub(self.lowest) >= MIN_CLIMB
            && self.highest.saturating_sub(old) >= (self.highest - self.lowest) / 2;
        let is_collected = match (self.collections, heap.old_collections) {
            (_, 0) => fell,
            (before, now) => before != Some(now),
        };
        self.collections = Some(heap.old_collections);
        if !is_first && (!is_collected || now.saturating_sub(self.began) < MIN_CYCLE) {
            self.lowest = self.lowest.min(old);
            self.highest = self.highest.max(old);
            return;
        }
        if !is_first {
            self.alive = Some(self.lowest);
        }
        (self.began, self.lowest, self.highest) = (now, old, old);
    }

    /// Returns the part of what a process holds that collections cannot free: what they left alive, and what it holds beyond
    /// its heap. Before the first collection nothing of the heap counts: growth within it is a fill.
    pub(super) fn held(&self, held: u64) -> u64 {
        let beyond = held.saturating_sub(self.capacity).max(OWN);
        self.alive.unwrap_or(0).saturating_add(beyond)
    }
}
