//! Processes that the kernel killed for lack of memory.

use std::time::SystemTime;

use crate::model::reading::Reading;

/// A kill that was seen while zmtop ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OomKill {
    /// When it was seen, by the wall clock: at most some ticks later.
    pub time: SystemTime,
    /// The process, by the kernel's log; or the reason that the log does not tell.
    pub victim: Reading<OomVictim>,
}

/// A process that was killed, as the kernel's log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OomVictim {
    /// Its pid in the first pid namespace.
    pub pid: u32,
    /// Its short name, raw.
    pub comm: Box<[u8]>,
    /// Its resident set in bytes: anonymous memory, files and shmem.
    pub rss: u64,
    /// True if the limit of its cgroup was reached, not the machine's memory.
    pub by_cgroup: bool,
}
