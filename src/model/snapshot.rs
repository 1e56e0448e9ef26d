//! A snapshot: the raw readings of one tick, of one machine or of many hosts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::cgroup::CgroupFigures;
use crate::model::exit::Exits;
use crate::model::kernel::KernelTables;
use crate::model::kill::{OomCounts, OomKill};
use crate::model::mapping::MappedObject;
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::{Missing, Reading};
use crate::model::system::{AccountingInputs, SystemSample};
use crate::model::taker::Taker;
use crate::text;

/// The cost of zmtop and its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfCost {
    /// User and system time since start.
    pub cpu: Duration,
    /// In bytes.
    pub rss: u64,
}

/// Statistics of the sampling of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    pub walks: usize,
    /// CPU time of the walks.
    pub walked: Duration,
    /// Maximum CPU time of walks, 1.0 being one core; `None` if every process is walked in every tick.
    pub budget: Option<f64>,
    /// Due processes that wait for budget.
    pub waiting: usize,
    /// Reads that are past their deadline and have not returned.
    pub stuck: usize,
    /// Processes that may share their parent's address space but are counted separately. Not recorded.
    pub doubtful: usize,
    /// Reader threads.
    pub threads: usize,
    /// Wall time from the start of the tick to the snapshot.
    pub took: Duration,
}

/// The rows that differ from the previous snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// Indices of new and changed rows, ascending.
    pub rows: Vec<u32>,
    pub removed: Vec<Identity>,
}

/// The raw readings of one tick.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Wall clock, for display and recording. It may jump, so rates never use it.
    pub time: SystemTime,
    /// `CLOCK_MONOTONIC`, for rates and ages.
    pub monotonic: Duration,
    /// The number of the snapshot, from 1.
    pub tick: u64,
    /// Raw.
    pub host: Arc<[u8]>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Reading<Arc<str>>,
    pub interval: Duration,
    pub sampling: Sampling,
    pub own: Reading<SelfCost>,
    pub system: SystemSample,
    pub accounting: Arc<AccountingInputs>,
    /// Of these, the largest slab caches are recorded.
    pub kernel: KernelTables,
    /// The last OOM kills since zmtop started, and of the ten minutes before, oldest first.
    pub oom_kills: Arc<[OomKill]>,
    /// OOM kills since zmtop started.
    pub oom_counts: OomCounts,
    /// The daemons that kill when memory is short, and why their signals are not seen.
    pub killers: Arc<[(&'static str, Reading<()>)]>,
    /// The processes that ended since the previous snapshot; pending until requested.
    pub exits: Arc<Exits>,
    /// All processes, sorted by pid, or the reason that `/proc` could not be listed. Code that removes some must clear
    /// `changes`.
    pub processes: Reading<Vec<ProcessSample>>,
    /// The difference from the previous snapshot; `None` if unknown, as in a recording.
    pub changes: Option<RowChanges>,
    /// The cgroups of these processes and their ancestors, by path; empty until requested.
    pub cgroups: Arc<BTreeMap<Arc<[u8]>, CgroupFigures>>,
    /// The cgroup that the user views. Not recorded.
    pub inspected: Option<Arc<InspectedCgroup>>,
    /// The heaps of Java virtual machines.
    pub jvms: Arc<BTreeMap<Identity, Reading<JvmHeap>>>,
    /// The free memory inside the heaps of `malloc` of large processes.
    pub heaps: Arc<BTreeMap<Identity, MallocHeap>>,
    /// The limits on growing address spaces (`RLIMIT_AS`), in bytes.
    pub address_limits: Arc<BTreeMap<Identity, u64>>,
    /// The processes that use up the memory in a danger, as they were read. Only in recordings.
    pub takers: Arc<[Taker]>,
    /// The files and shared memory that processes map, as far as they were requested. Not recorded.
    pub mapped: Arc<BTreeMap<Identity, Reading<Arc<[MappedObject]>>>>,
    /// The pids, sorted, of zmtop and of its ancestors whose command lines repeat its arguments. Words of a filter do not
    /// match them. Not recorded.
    pub repeats: Arc<[u32]>,
    /// `None` for one machine.
    pub fleet: Option<Arc<Fleet>>,
}

impl Snapshot {
    /// Returns a snapshot at that moment, without processes. `missing` is the reason for all that can be missing; the rest is empty.
    pub fn missing(monotonic: Duration, interval: Duration, missing: Missing) -> Self {
        Self {
            time: UNIX_EPOCH,
            monotonic,
            tick: 0,
            host: Arc::from(&b""[..]),
            boot_id: Err(missing),
            interval,
            sampling: Sampling::default(),
            own: Err(missing),
            system: SystemSample::missing(missing),
            accounting: Arc::new(AccountingInputs::missing(missing)),
            kernel: KernelTables::default(),
            oom_kills: Arc::from([]),
            oom_counts: OomCounts::default(),
            killers: Arc::default(),
            exits: Arc::default(),
            processes: Err(missing),
            changes: None,
            cgroups: Arc::default(),
            inspected: None,
            jvms: Arc::default(),
            heaps: Arc::default(),
            address_limits: Arc::default(),
            takers: Arc::default(),
            mapped: Arc::default(),
            repeats: Arc::default(),
            fleet: None,
        }
    }

    /// Returns the processes, or none if they could not be listed.
    pub fn rows(&self) -> &[ProcessSample] {
        self.processes.as_deref().unwrap_or(&[])
    }

    /// Returns the rows that are new or changed since the previous snapshot; all if the difference is unknown.
    pub fn changed_rows(&self) -> impl Iterator<Item = &ProcessSample> {
        let rows = self.rows();
        let changed = self.changes.as_ref().map(|changes| &changes.rows[..]);
        let all = if changed.is_some() { &[] } else { rows };
        let changed = changed.into_iter().flatten();
        changed.filter_map(|at| rows.get(*at as usize)).chain(all)
    }

    /// Returns the index of a process in [`Self::rows`].
    pub fn place(&self, id: Identity) -> Option<usize> {
        let rows = self.rows();
        let at = rows.binary_search_by_key(&id.pid, |row| row.id.pid).ok()?;
        (rows[at].id == id).then_some(at)
    }

    pub fn row(&self, id: Identity) -> Option<&ProcessSample> {
        Some(&self.rows()[self.place(id)?])
    }

    /// Returns the parent of a process.
    pub fn parent(&self, sample: &ProcessSample) -> Option<&ProcessSample> {
        let at = self.rows().binary_search_by_key(&sample.stat.ppid, |row| row.id.pid);
        Some(&self.rows()[at.ok()?])
    }

    /// Returns the name of the container or pod whose cgroup that is, raw, if it has processes and the name is known.
    pub fn container_of_cgroup(&self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.rows().iter().find_map(|row| {
            let container = row.facts.container.as_deref()?;
            container.name_of_cgroup(row.facts.cgroup.as_deref().ok()?, path)
        })
    }

    /// Returns this snapshot as the first one after skipped ones: it also has the processes that ended before those.
    pub fn after_unseen(self: Arc<Self>, earlier: &Exits) -> Arc<Self> {
        if earlier.list.is_empty() && earlier.ended.is_err() {
            return self;
        }
        let mut snapshot = self;
        Arc::make_mut(&mut Arc::make_mut(&mut snapshot).exits).add_earlier(earlier);
        snapshot
    }

    /// Returns the name of the container or pod whose cgroup that is, or else its path, in at most `width` columns. Safe to print.
    pub fn name_of_cgroup(&self, path: &[u8], width: usize) -> String {
        match self.container_of_cgroup(path) {
            Some(name) => text::cut(&name, width),
            None => text::truncate_start(&text::safe(path), width),
        }
    }

    /// Returns the pid and the name of a process. Safe to print.
    pub fn name_of_process(&self, id: Identity) -> String {
        let name = self.row(id).map(|row| text::safe(&row.facts.comm));
        format!("{} {}", id.pid, name.unwrap_or_default()).trim_end().to_owned()
    }

    /// Returns the figures of a fleet's row by its index.
    pub fn fleet_row(&self, place: usize) -> Option<&FleetRow> {
        self.fleet.as_ref()?.rows.get(place)
    }

    /// Returns true if only the PSS of its rows is known so far.
    pub fn is_partial(&self) -> bool {
        self.fleet.as_ref().is_some_and(|fleet| fleet.is_partial)
    }

    /// Returns the difference from the snapshot with that number, if known.
    pub fn changes_since(&self, tick: u64) -> Option<&RowChanges> {
        self.changes.as_ref().filter(|_| self.tick == tick + 1)
    }
}

/// A cgroup beside the machine.
#[derive(Clone, Debug)]
pub struct InspectedCgroup {
    /// Raw: foreign bytes.
    pub path: Arc<[u8]>,
    /// Its figures in place of the machine's, and its [scope](SystemSample::scope); or why it cannot be read.
    pub system: Reading<SystemSample>,
    pub accounting: AccountingInputs,
}

/// The part of a snapshot that only a fleet has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// Sorted by name.
    pub hosts: Vec<FleetHost>,
    /// In the order of [`Snapshot::rows`].
    pub rows: Vec<FleetRow>,
    /// Only PSS is known so far; the rest is being queried.
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

#[derive(Clone, Debug, PartialEq)]
pub struct FleetHost {
    /// Raw.
    pub name: Arc<[u8]>,
    /// The time of its newest figures on the monotonic clock.
    pub seen: Duration,
    /// It is no longer scraped; its rows are the last known ones.
    pub is_gone: bool,
}

/// Figures of a group of processes on a host, in addition to its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetRow {
    /// `None` if not exported.
    pub processes: Option<u64>,
    /// The host's own verdict; `None` if not exported.
    pub verdict: Option<ScrapedVerdict>,
}

/// A verdict exported by a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScrapedVerdict {
    /// See [`Verdict::rank`](crate::trend::Verdict::rank).
    pub rank: f64,
    /// In bytes per second.
    pub slope: f64,
    /// The confidence that it leaks, 0 to 1.
    pub confidence: f64,
    /// The beginning of the growth on the monotonic clock.
    pub since: Option<Duration>,
}

/// The heap of a Java virtual machine, as it published it last, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JvmHeap {
    /// Live objects, and dead ones that were not collected yet.
    pub used: u64,
    /// Committed memory.
    pub capacity: u64,
    /// Used memory of the old generation. Only collections change it.
    pub old: Reading<u64>,
    /// Live objects after the last full collection. Few collectors publish it.
    pub live: Reading<u64>,
    /// Maximum size of the old generation, by `-Xmx`.
    pub old_max: Reading<u64>,
    pub collections: u64,
    /// Collections not limited to the young generation; pauses of a concurrent collector.
    pub old_collections: u64,
}

/// The memory that `malloc` keeps free in a process, in bytes. The program freed it, or never used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MallocHeap {
    /// The time of the read on the monotonic clock.
    pub at: Duration,
    /// All free memory inside the heap, resident or not.
    pub free: u64,
    /// The part of it that is resident or in swap.
    pub kept: u64,
}

/// The state of the queries for the rows of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetStatus {
    /// The reason why the last query failed; completes a sentence that begins with "Prometheus". Safe to print.
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
    /// The slowest query, and its duration.
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
