//! The processes that use up the memory below a limit that will be reached soon.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{Identity, Reading};

/// A process as it was read during a danger, because it used up most of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taker {
    pub id: Identity,
    /// Its short name, raw.
    pub comm: Box<[u8]>,
    /// The time at which its heap was read.
    pub time: SystemTime,
    /// Its memory in RAM and in swap, in bytes.
    pub memory: Reading<u64>,
    /// Its heap, of glibc or of another allocator.
    pub heap: Reading<HeapUse>,
    /// Its largest mappings, the largest first.
    pub mappings: Reading<Vec<MappingUse>>,
    /// The code that keeps most of its memory, if page faults were sampled before.
    pub kept_by: Option<KeptPath>,
}

impl Taker {
    /// Maximum number of these in a snapshot.
    pub const MOST: usize = 8;
    /// Maximum number of mappings.
    pub const MAPPINGS: usize = 3;
}

/// The memory in all areas of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingUse {
    /// The name in `smaps`, or of anonymous memory. Raw.
    pub name: Box<[u8]>,
    /// PSS and `SwapPss`, in bytes.
    pub bytes: u64,
}

/// The use of a heap, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct HeapUse {
    /// Memory that the program did not free, with the overhead of each chunk.
    pub in_use: u64,
    /// Memory that the program freed, or never used.
    pub free: u64,
    /// The part of it that is in RAM or in swap.
    pub kept: u64,
}

/// A call path that keeps memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPath {
    /// The function and its callers, innermost first. Foreign text.
    pub functions: Vec<Box<str>>,
    /// The runtime that allocated most of it, if its functions have no names.
    pub runtime: Option<Box<str>>,
    /// The bytes that this path keeps, and all paths together.
    pub bytes: u64,
    pub total: u64,
    /// The duration of the measurement.
    pub span: Duration,
}

impl KeptPath {
    /// Maximum number of functions.
    pub const MOST: usize = 8;

    pub fn share(&self) -> f64 {
        self.bytes as f64 / self.total.max(1) as f64
    }
}
