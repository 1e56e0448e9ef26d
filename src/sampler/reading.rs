//! Reads `/proc` on threads of its own. [`scanner`](super::scanner) decides what to read, and when.
//!
//! ```text
//! pool      reader threads with deadlines
//! target    the files of one process, held open
//! walk      one walk, or every area of a process
//! counters  the counters that show how memory changes between walks
//! glance    `stat` and the figures that go with it
//! facts     user, cgroup, program
//! cached    the files of a process or a directory, and the cached part of a file
//! held      memory held through descriptors
//! spending  the limit of long reads
//! shares    the limit of blocked reads
//! ```

pub(super) mod cached;
pub(super) mod counters;
pub(super) mod facts;
pub(super) mod glance;
pub(super) mod held;
pub(super) mod pool;
pub(super) mod shares;
pub(super) mod spending;
pub(super) mod target;
pub(super) mod walk;

use std::sync::Arc;

use counters::CounterReader;
use shares::Shares;
use target::{OpenFiles, Target};

use crate::proc::cgroup::scope::Place;
use crate::proc::files::Roots;

/// Data shared by all reads of a scanner.
pub(super) struct Context {
    pub(super) roots: Roots,
    /// The cgroup whose processes are listed; if `None`, all processes are.
    pub(super) cgroup: Option<Place>,
    pub(super) open_files: Arc<OpenFiles>,
    /// The tree has the same pids as this program's system calls.
    pub(super) has_own_pids: bool,
    pub(super) page: u64,
    pub(super) counters: Arc<CounterReader>,
    pub(super) shares: Shares,
}

/// A process to read, in its state at the time of the request.
#[derive(Clone)]
pub(super) struct ProcessRef {
    pub(super) pid: u32,
    /// Its serial number in the table, so that a result is never assigned to another process.
    pub(super) serial: u64,
    pub(super) starttime: u64,
    /// The number of its execs. The result is dropped if it has changed since.
    pub(super) exec: u32,
    pub(super) target: Arc<Target>,
}
