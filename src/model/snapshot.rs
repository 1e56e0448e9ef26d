//! A snapshot: the raw readings of one tick, of one machine or of many hosts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::model::cgroup::CgroupFigures;
use crate::model::kernel::KernelTables;
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
    /// The pids, in order, of zmtop itself and of the processes above it whose command lines repeat its arguments: a filter
    /// does not look for words there. Not recorded.
    pub repeats: Arc<[u32]>,
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

/// The part of a snapshot of many hosts that is beside its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The hosts, in order of their names.
    pub hosts: Vec<FleetHost>,
    /// Figures of each row, in the order of [`Snapshot::rows`].
    pub rows: Vec<FleetRow>,
    /// Only PSS is known so far; the rest is being asked for.
    pub is_partial: bool,
}

impl Fleet {
    /// Returns the age of the oldest figures: of the hosts that are scraped, or of all if none is.
    pub fn age(&self, now: Duration) -> Option<Duration> {
        let oldest = |is_gone| {
            let hosts = self.hosts.iter().filter(|host| host.is_gone == is_gone);
            hosts.map(|host| now.saturating_sub(host.seen)).max()
        };
        oldest(false).or_else(|| oldest(true))
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetHost {
    /// Its name, raw.
    pub name: Arc<[u8]>,
    /// The time of its newest figures, on the snapshot's monotonic clock.
    pub seen: Duration,
    /// It tells nothing any more: its rows are the last that were seen.
    pub is_gone: bool,
}

/// Figures of a group of processes on a host, beside its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetRow {
    /// The number of its processes; `None` where it was not told.
    pub processes: Option<u64>,
    /// The verdict that was made there, of all of its figures; `None` where it was not told.
    pub verdict: Option<ToldVerdict>,
}

/// A verdict as the host tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToldVerdict {
    /// Its rank, from the least to the most alarming: see [`Verdict::rank`](crate::trend::Verdict::rank).
    pub rank: f64,
    /// Slope in bytes a second.
    pub slope: f64,
    /// The confidence that it leaks, 0 to 1.
    pub confidence: f64,
    /// The beginning of the growth, on the snapshot's monotonic clock.
    pub since: Option<Duration>,
}

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

/// A kill that was seen while zmtop ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OomKill {
    /// When it was seen, by the wall clock: at most some ticks later.
    pub time: SystemTime,
    /// The same on the monotonic clock, in milliseconds: the wall clock may be set. Unknown in older recordings.
    pub monotonic_ms: Reading<u64>,
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

/// The state of the queries for the rows of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetStatus {
    /// Why the last query failed; completes a sentence that begins with "Prometheus". Safe to print.
    pub fault: Option<String>,
    /// The age of the figures; `None` before the first.
    pub age: Option<Duration>,
    /// Remarks on missing or doubtful data in the last answer, safe to print.
    pub remarks: Vec<String>,
    /// The cost of the last round of queries; `None` before the first.
    pub asked: Option<Asked>,
    /// `Some(None)` if all of the past is known; else why a part of it is missing, safe to print. `None` at the beginning.
    pub past: Option<Option<String>>,
}

/// The cost of some queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub queries: usize,
    pub failed: usize,
    /// The size of all answers.
    pub bytes: u64,
    /// The time until the rows were known.
    pub took: Duration,
    /// The query that took longest, and how long.
    pub slowest: Option<(String, Duration)>,
}

impl Asked {
    pub fn one(query: String, bytes: u64, took: Duration, is_failed: bool) -> Self {
        Self {
            queries: 1,
            failed: usize::from(is_failed),
            bytes,
            took,
            slowest: Some((query, took)),
        }
    }

    pub fn add(&mut self, other: Self) {
        self.queries += other.queries;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.took += other.took;
        let longest = |asked: &Option<(String, Duration)>| asked.as_ref().map(|(_, took)| *took);
        if longest(&other.slowest) > longest(&self.slowest) {
            self.slowest = other.slowest;
        }
    }
}
