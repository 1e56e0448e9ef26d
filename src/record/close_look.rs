//! Readings of only a few processes, in `zmtop/1`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::snapshot::{JvmHeap, MallocHeap};
use crate::model::{Identity, Missing, Reading};
use crate::schema::described;

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct Jvm {
        /// The process.
        pid: u32 = id(),
        /// Start time in clock ticks since boot.
        starttime: u64 = id(),
        /// Live objects, and dead ones that were not collected yet.
        used: u64 = bytes(),
        /// Committed memory.
        capacity: u64 = bytes(),
        /// Used memory of the old generation. Only collections change it.
        old: Option<u64> = bytes().null("the virtual machine does not publish it"),
        /// Live objects after the last full collection. Few collectors publish it.
        live: Option<u64> = bytes().null("the virtual machine does not publish it"),
        /// Maximum size of the old generation, by `-Xmx`.
        old_max: Option<u64> = bytes().null("the virtual machine does not publish it"),
        /// Number of collections.
        collections: u64 = count(),
        /// Collections not limited to the young generation; pauses of a concurrent collector.
        old_collections: u64 = count(),
    }
}

impl Jvm {
    /// Converts a heap. Returns `None` if it could not be read.
    pub(super) fn new(id: Identity, heap: Reading<JvmHeap>) -> Option<Self> {
        let heap = heap.ok()?;
        Some(Self {
            pid: id.pid,
            starttime: id.starttime,
            used: heap.used,
            capacity: heap.capacity,
            old: heap.old.ok(),
            live: heap.live.ok(),
            old_max: heap.old_max.ok(),
            collections: heap.collections,
            old_collections: heap.old_collections,
        })
    }

    pub(super) fn heap(self) -> (Identity, Reading<JvmHeap>) {
        let (pid, starttime) = (self.pid, self.starttime);
        let heap = JvmHeap {
            used: self.used,
            capacity: self.capacity,
            old: self.old.ok_or(Missing::Unsupported),
            live: self.live.ok_or(Missing::Unsupported),
            old_max: self.old_max.ok_or(Missing::Unsupported),
            collections: self.collections,
            old_collections: self.old_collections,
        };
        (Identity { pid, starttime }, Ok(heap))
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct Heap {
        /// The process.
        pid: u32 = id(),
        /// Start time in clock ticks since boot.
        starttime: u64 = id(),
        /// Time of the read on the monotonic clock.
        read_s: f64 = seconds(),
        /// Free memory inside the heap, resident or not.
        free: u64 = bytes(),
        /// The part of it that is resident or in swap.
        kept: u64 = bytes(),
    }
}

impl Heap {
    pub(super) const fn new(id: Identity, heap: MallocHeap) -> Self {
        Self {
            pid: id.pid,
            starttime: id.starttime,
            read_s: heap.at.as_secs_f64(),
            free: heap.free,
            kept: heap.kept,
        }
    }

    pub(super) fn heap(self) -> (Identity, MallocHeap) {
        let (pid, starttime) = (self.pid, self.starttime);
        let heap = MallocHeap {
            at: Duration::try_from_secs_f64(self.read_s).unwrap_or_default(),
            free: self.free,
            kept: self.kept,
        };
        (Identity { pid, starttime }, heap)
    }
}

described! {
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct AddressLimit {
        /// The process.
        pid: u32 = id(),
        /// Start time in clock ticks since boot.
        starttime: u64 = id(),
        /// The limit.
        bytes: u64 = bytes(),
    }
}

impl AddressLimit {
    pub(super) const fn new(id: Identity, bytes: u64) -> Self {
        Self {
            pid: id.pid,
            starttime: id.starttime,
            bytes,
        }
    }

    pub(super) const fn limit(self) -> (Identity, u64) {
        let (pid, starttime) = (self.pid, self.starttime);
        (Identity { pid, starttime }, self.bytes)
    }
}
