//! A snapshot: the raw readings of one tick.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::model::cgroup::CgroupFigures;
use crate::model::fleet::{Fleet, FleetRow};
use crate::model::jvm::JvmHeap;
use crate::model::kernel_tables::KernelTables;
use crate::model::oom::OomKill;
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Reading;
use crate::model::system::{AccountingInputs, SystemSample};

/// The resources that zmtop itself uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfCost {
    /// User and system time since start.
    pub cpu: Duration,
    /// Resident set in bytes.
    pub rss: u64,
}

/// Statistics of the sampling of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Walks finished.
    pub walks: usize,
    /// Processor time of those walks.
    pub walked: Duration,
    /// Maximum processor time of walks, 1.0 being one core; `None` where every process is walked at every tick.
    pub budget: Option<f64>,
    /// Processes that are due for a walk and wait for budget.
    pub waiting: usize,
    /// Reads that are past their deadline and have not returned.
    pub stuck: usize,
    /// Processes that may share their parent's address space, for all that could be seen, and count by themselves.
    /// Not recorded.
    pub doubtful: usize,
    /// Living reader threads.
    pub threads: usize,
    /// Wall time from the start of the tick to the snapshot.
    pub took: Duration,
}

/// The rows of a snapshot that differ from those of the one before, so that the others need not be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// The places of the rows that are new or differ, in order.
    pub rows: Vec<u32>,
    /// The processes that have no row any more.
    pub removed: Vec<Identity>,
}

/// The raw readings of one tick.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Wall clock, for display and recording; it may jump, so rates never use it.
    pub time: SystemTime,
    /// `CLOCK_MONOTONIC`, for rates and ages.
    pub monotonic: Duration,
    /// The number of this snapshot of its source, from 1.
    pub tick: u64,
    /// The host name, raw.
    pub host: Arc<[u8]>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Reading<Arc<str>>,
    /// The configured interval.
    pub interval: Duration,
    /// Statistics of the sampling.
    pub sampling: Sampling,
    /// The resources that zmtop itself uses.
    pub own: Reading<SelfCost>,
    /// The system as a whole.
    pub system: SystemSample,
    /// Figures of the system that are read seldom, for its account.
    pub accounting: Arc<AccountingInputs>,
    /// Tables of the kernel's own memory. Not recorded.
    pub kernel: KernelTables,
    /// The last processes that the kernel killed for lack of memory since zmtop started, the newest last.
    pub oom_kills: Arc<[OomKill]>,
    /// Every process that could be listed, in order of pid; or the reason that `/proc` could not be. Whoever leaves some out
    /// clears the `changes`.
    pub processes: Reading<Vec<ProcessSample>>,
    /// The difference from the snapshot before this one; `None` where it is not known, as in a recording.
    pub changes: Option<RowChanges>,
    /// The figures of the cgroups of these processes, and of those above them, by path; empty while nobody asks.
    pub cgroups: Arc<BTreeMap<Arc<[u8]>, CgroupFigures>>,
    /// The heaps of the Java virtual machines among these processes, by their own counters.
    pub jvms: Arc<BTreeMap<Identity, Reading<JvmHeap>>>,
    /// The limits of address spaces (`RLIMIT_AS`), in bytes, of the processes whose address space grows and that have one.
    pub address_limits: Arc<BTreeMap<Identity, u64>>,
    /// The hosts, if it is of many; `None` for one machine.
    pub fleet: Option<Arc<Fleet>>,
}

impl Snapshot {
    /// Returns the processes; none where they could not be listed.
    pub fn rows(&self) -> &[ProcessSample] {
        self.processes.as_deref().unwrap_or(&[])
    }

    /// Returns the place of a process among them; `None` if it is not there.
    pub fn place(&self, id: Identity) -> Option<usize> {
        let rows = self.rows();
        let at = rows.binary_search_by_key(&id.pid, |row| row.id.pid).ok()?;
        (rows[at].id == id).then_some(at)
    }

    /// Returns a process by its identity; `None` if it is not there.
    pub fn row(&self, id: Identity) -> Option<&ProcessSample> {
        Some(&self.rows()[self.place(id)?])
    }

    /// Returns what is known of a row of a snapshot of many hosts, by its place.
    pub fn fleet_row(&self, place: usize) -> Option<&FleetRow> {
        self.fleet.as_ref()?.rows.get(place)
    }

    /// Returns true if of its rows only PSS is known so far.
    pub fn is_partial(&self) -> bool {
        self.fleet.as_ref().is_some_and(|fleet| fleet.is_partial)
    }

    /// Returns what differs from the snapshot of that tick; `None` where that is not known.
    pub fn changes_since(&self, tick: u64) -> Option<&RowChanges> {
        self.changes.as_ref().filter(|_| self.tick == tick + 1)
    }
}
