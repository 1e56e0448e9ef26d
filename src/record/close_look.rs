//! Readings of few processes only, in `zmtop/1`.

use serde::{Deserialize, Serialize};

use crate::model::jvm::JvmHeap;
use crate::model::{Identity, Missing, Reading};

/// The heap of a Java virtual machine as the schema has it. One that could not be read is left out.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Jvm {
    pid: u32,
    starttime: u64,
    used: u64,
    capacity: u64,
    old: Option<u64>,
    live: Option<u64>,
    old_max: Option<u64>,
    collections: u64,
    old_collections: u64,
}

impl Jvm {
    /// Converts a heap; `None` where it could not be read.
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

    /// Converts it back.
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

/// The limit of a growing address space as the schema has it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AddressLimit {
    pid: u32,
    starttime: u64,
    bytes: u64,
}

impl AddressLimit {
    /// Converts a limit.
    pub(super) const fn new(id: Identity, bytes: u64) -> Self {
        Self {
            pid: id.pid,
            starttime: id.starttime,
            bytes,
        }
    }

    /// Converts it back.
    pub(super) const fn limit(self) -> (Identity, u64) {
        let (pid, starttime) = (self.pid, self.starttime);
        (Identity { pid, starttime }, self.bytes)
    }
}
