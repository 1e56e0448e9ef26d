//! Histories: changes, rates, series and verdicts, derived from successive snapshots.
//!
//! [`History::push`] adds a snapshot; the screen, the reports and the alerts read the result. A history is pure: the same
//! snapshots give the same history, live or from a recording. It does no I/O, takes no snapshots and draws nothing.
//!
//! # Rows
//! Processes, groups, parts of the RAM, kernel tables and held memory each have a store of their own with its own keys, but
//! the same [`RowHistory`], judged by the same [scheduler](evaluation).
//!
//! # Resolutions
//! A row has two [time series](time_series::TimeSeries) over a month, of its footprint and of the part that is not file pages:
//! by the second for 5 minutes, by 10 s for an hour, by the minute for a day, by 10 minutes for a week, by 2 hours for a
//! month. A *bucket* is one such step: its lowest, last and highest value. Equal successive buckets are stored as one *run*,
//! so a constant value needs no space.
//!
//! # Memory bound
//! A history stays within [`HistoryConfig::max_memory`]. When short of memory it first drops ended processes, then groups
//! without members; then every series keeps a half, a quarter or an eighth of its buckets; at last the smallest rows that
//! grow least lose their past, which [`History::shortfall`] reports. A process that never changed needs about 400 bytes; one
//! that changed every second of a month needs 70 KB per series.
//!
//! # Resting rows
//! A snapshot may list the rows that changed. Of the others, only those are pushed that change as time passes: a value leaves
//! a window, or a judgement is due. The rest *rest*: they catch up with the time when they are read. The result is the same
//! as if every row were pushed with every snapshot.
//!
//! # Verdicts
//! A row is judged (see [`crate::trend`]) every ten seconds while it changes, else every thirty, in turns, so that the work is
//! spread over snapshots: see [`evaluation`].
//!
//! # Adding a figure with a history
//! 1. Add a field to [`MemorySample`], and a line for it in `new`, `figures` and `of_sums`; groups then sum it.
//! 2. Add a [`TimeSeries`](time_series::TimeSeries) to [`RowHistory`], and a line for it in `push_series`, `set_retention`,
//!    `cut` and `bytes`, so that it keeps within the memory bound.
//! 3. Add an accessor that returns a [`SeriesView`], as [`RowHistory::footprint`] does, for a column or a chart.
//!
//! # Modules
//! [`marks`] compares a snapshot with an earlier one. [`mappings`] does so for the mappings of one process, and shows which of
//! them it touched. [`suspects`] lists what grows or leaks, [`dangers`] the limits that will be reached soon, [`stalls`] where
//! tasks wait for memory, [`kills`] the OOM kills, and [`charged`] the memory in no process. [`kernel`] has the parts of the RAM,
//! slab caches and allocation sites, [`held`] the memory held through descriptors, [`holders`] the processes that have the shared memory and the
//! page tables, [`inspected`] the parts of one cgroup. [`kept`] saves and resumes a history.

pub mod charged;
pub mod dangers;
pub mod evaluation;
mod groups;
pub mod growth;
pub mod held;
pub mod holders;
pub mod inspected;
pub mod kept;
pub mod kernel;
pub mod kills;
pub mod mappings;
pub mod marks;
pub mod most;
mod process;
mod push;
mod retention;
pub mod row;
pub mod stalls;
pub mod suspects;
pub mod system;
pub mod time_series;
pub mod victims;
pub mod view;
pub mod window;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use dangers::DangerWatch;
use evaluation::EvaluationScheduler;
use groups::GroupHistories;
pub use groups::Population;
use held::{HeldHistories, HeldHistory};
use holders::PageTableHolders;
use inspected::{InspectedHistories, InspectedHistory};
use kept::Kept;
use kernel::{KernelHistories, PartHistories, TableHistories};
use kills::KillWatch;
use marks::Origin;
pub use marks::{Mark, Marks};
pub use process::Ended;
use process::{EndedProcesses, ProcessHistory};
use push::Wakeups;
use retention::RetentionPolicy;
pub use retention::Shortfall;
pub use row::{MemorySample, Rates, RowHistory, Tick};
use stalls::StallWatch;
use system::Suspends;
pub use system::SystemHistory;
pub use view::SeriesView;

use crate::call_tree::KeptBy;
use crate::group::{Group, GroupBy, GroupKey, GroupNames, PartKey, RowKey};
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;
use crate::trend::Params;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryConfig {
    /// The time that changes are computed over; at least the time between snapshots.
    pub window: Duration,
    pub trend: Params,
    /// Memory bound of the whole history, in bytes.
    pub max_memory: u64,
    /// The process that contains this history. The memory of the history is bounded, and excluded from its verdict.
    pub own_pid: Option<u32>,
}

impl HistoryConfig {
    /// Returns the default configuration, bounded by 64 MiB.
    pub fn with_window(window: Duration) -> Self {
        Self {
            window,
            trend: Params::default(),
            // 40 000 processes of which 5 000 change every second need 50 MiB, 1000 resting ones half a MiB.
            max_memory: 64 << 20,
            own_pid: None,
        }
    }
}

/// Maximum number of processes of which the code is remembered that keeps their memory.
const MAX_KEPT_BY: usize = 32;
/// Growth that began before zmtop watched is detected within this time; each of its parts must have been watched.
const FIRST_SEEN: Duration = Duration::from_secs(180);
const PARTS_SEEN: usize = 9;

/// A longer time without a value is no watched time.
const MIN_GAP: Duration = Duration::from_secs(60);
/// Number of parts in which the known time is searched for gaps.
const PARTS_OBSERVED: usize = 256;

/// The histories of the processes of the last snapshot, of those that ended recently, of groups, and of the system.
#[derive(Debug)]
pub struct History {
    config: HistoryConfig,
    /// Maximum time between two values that are compared.
    reach: Duration,
    /// Boxed, as half of the slots of a hash table are empty.
    processes: HashMap<Identity, Box<ProcessHistory>>,
    ended: EndedProcesses,
    groups: GroupHistories,
    system: SystemHistory,
    parts: PartHistories,
    inspected: InspectedHistories,
    kernel: KernelHistories,
    held: HeldHistories,
    page_table_holders: PageTableHolders,
    /// The saved histories that no row has resumed yet.
    kept: Option<Box<Kept>>,
    /// The code that keeps the memory of processes, the newest last.
    kept_by: Vec<(Identity, Arc<KeptBy>)>,
    /// The monitor whose saved history is resumed, if it still ran then.
    keeper: Option<Identity>,
    danger_watch: DangerWatch,
    stall_watch: StallWatch,
    kill_watch: KillWatch,
    scheduler: EvaluationScheduler,
    retention: RetentionPolicy,
    /// The number of snapshots so far.
    number: u64,
    last: Option<Origin>,
    last_tick: Option<Tick>,
    /// The time of the first snapshot.
    first: Option<Duration>,
    /// The last two times between snapshots.
    intervals: [Duration; 2],
    shortfall: Shortfall,
    suspends: Suspends,
    wakeups: Wakeups,
    /// The indices of the processes that the last snapshot pushed, unless it pushed all; and of those that were not pushed
    /// merely to be judged.
    pushed: Option<Vec<u32>>,
    moved: Vec<u32>,
    /// The processes that grow or leak, and some that no longer do.
    growing: BTreeSet<Identity>,
    /// The memory of all processes in bytes, and the number without a past, as of their last push.
    process_bytes: usize,
    without_past: usize,
    /// The memory of the whole history as of the last snapshot.
    own_bytes: u64,
}

impl History {
    /// Creates an empty history with the default configuration.
    pub fn new(window: Duration) -> Self {
        Self::with_config(HistoryConfig::with_window(window))
    }

    pub fn with_config(config: HistoryConfig) -> Self {
        Self {
            config,
            reach: Duration::ZERO,
            processes: HashMap::new(),
            ended: EndedProcesses::default(),
            groups: GroupHistories::default(),
            system: SystemHistory::default(),
            parts: PartHistories::default(),
            inspected: InspectedHistories::default(),
            kernel: KernelHistories::default(),
            held: HeldHistories::default(),
            page_table_holders: PageTableHolders::default(),
            kept: None,
            kept_by: Vec::new(),
            keeper: None,
            danger_watch: DangerWatch::default(),
            stall_watch: StallWatch::default(),
            kill_watch: KillWatch::default(),
            scheduler: EvaluationScheduler::new(config.trend),
            retention: RetentionPolicy::new(config.max_memory),
            number: 0,
            last: None,
            last_tick: None,
            first: None,
            intervals: [Duration::ZERO; 2],
            shortfall: Shortfall::default(),
            suspends: Suspends::default(),
            wakeups: Wakeups::default(),
            pushed: None,
            moved: Vec::new(),
            growing: BTreeSet::new(),
            process_bytes: 0,
            without_past: 0,
            own_bytes: 0,
        }
    }

    pub const fn shortfall(&self) -> &Shortfall {
        &self.shortfall
    }

    /// Returns the row of zmtop itself, if it is in the snapshot.
    fn own_row<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a ProcessSample> {
        let is_own = |sample: &&ProcessSample| self.config.own_pid == Some(sample.id.pid);
        snapshot.rows().iter().find(is_own)
    }

    /// Sets [`HistoryConfig::own_pid`].
    pub const fn set_own_pid(&mut self, pid: u32) {
        self.config.own_pid = Some(pid);
    }

    /// Returns the memory of the whole history as of the last snapshot, and its bound, in bytes.
    pub const fn memory(&self) -> (u64, u64) {
        (self.own_bytes, self.config.max_memory)
    }

    /// Returns the memory of the whole history in bytes.
    pub fn bytes(&self) -> usize {
        let processes = self.processes.values().map(|process| process.bytes());
        processes.sum::<usize>() + self.bytes_without_processes()
    }

    fn bytes_without_processes(&self) -> usize {
        // A slot of the hash table: key, value, and a control byte.
        let slot = size_of::<(Identity, Box<ProcessHistory>)>() + 1;
        self.processes.capacity() * slot
            + self.ended.bytes
            + self.groups.bytes()
            + self.system.bytes()
            + self.parts.bytes()
            + self.inspected.bytes()
            + self.kernel.bytes()
            + self.held.bytes()
            + self.page_table_holders.bytes()
            + self.danger_watch.bytes()
            + self.stall_watch.bytes()
            + self.kill_watch.bytes()
            + self.scheduler.bytes()
            + self.processes.len() * Wakeups::BYTES_PER_PROCESS
    }

    pub fn get(&self, id: Identity) -> Option<&RowHistory> {
        self.processes
            .get(&id)
            .map(|process| process.row.rested(self.wakeups.clock))
    }

    /// Returns the history of a row of any kind.
    pub fn row(&self, key: &RowKey) -> Option<&RowHistory> {
        match key {
            RowKey::Process(id) => self.get(*id),
            RowKey::Group(key) => self.group(key),
            RowKey::Part(key) => self.of_part(key),
        }
    }

    /// Returns the start of a process, or of its last exec if that was seen, on the monotonic clock; `None` if unknown.
    pub fn started_at(&self, id: Identity) -> Option<Duration> {
        // Zero is any time before the clock began.
        self.processes.get(&id)?.started_at.filter(|at| !at.is_zero())
    }

    /// Returns the indices in the last snapshot of the processes whose figures, changes or judgements may differ from the
    /// snapshot before; `None` for all.
    pub fn pushed(&self) -> Option<&[u32]> {
        self.pushed.as_deref()
    }

    /// Returns the rows of [`Self::pushed`] whose figures or changes may differ; the others were only judged.
    pub fn moved(&self) -> &[u32] {
        &self.moved
    }

    /// Returns the time of the first snapshot on the monotonic clock.
    pub const fn since(&self) -> Option<Duration> {
        self.first
    }

    /// Returns the time since when the first process is known, also from a resumed history.
    pub fn known_since(&self) -> Option<Duration> {
        let starts = self
            .processes
            .values()
            .filter_map(|process| process.row.footprint_series().start());
        starts.chain(self.first).min()
    }

    /// Returns the known time without its gaps of a minute and longer. Gaps of a long past are only found to 1/256 of it.
    pub fn observed(&self) -> Duration {
        let (Some(since), Some(last)) = (self.known_since(), &self.last) else {
            return Duration::ZERO;
        };
        let known = last.monotonic.saturating_sub(since);
        let machine = self.system.mem();
        // Not known of a fleet.
        if machine.start().is_none() {
            return known;
        }
        let bands = machine.bands(last.monotonic, known, PARTS_OBSERVED);
        let part = known / PARTS_OBSERVED as u32;
        // The first part may begin before the first value.
        let gaps = bands[1.min(bands.len())..].chunk_by(|a, b| a.is_none() == b.is_none());
        let gaps = gaps.filter(|run| run[0].is_none()).map(|run| part * run.len() as u32);
        known.saturating_sub(gaps.filter(|gap| *gap >= MIN_GAP).sum())
    }

    pub const fn suspends(&self) -> &Suspends {
        &self.suspends
    }

    /// Returns the time from `at` on the monotonic clock to the last snapshot, suspends included.
    pub fn elapsed_since(&self, at: Duration) -> Duration {
        let now = self.last.as_ref().map_or(at, |last| last.monotonic);
        self.suspends.elapsed(at, now)
    }

    /// Returns true if growth detected since `at`, on the monotonic clock, may have begun while nothing was watched: before the
    /// start, or in a gap.
    pub fn may_be_earlier(&self, at: Duration) -> bool {
        let machine = self.system.mem();
        // Not known of a fleet.
        machine.start().is_some() && machine.bands(at, FIRST_SEEN, PARTS_SEEN).iter().any(Option::is_none)
    }

    pub fn processes(&self) -> impl Iterator<Item = (Identity, &RowHistory)> {
        let clock = self.wakeups.clock;
        self.processes
            .iter()
            .map(move |(id, process)| (*id, process.row.rested(clock)))
    }

    /// Returns the processes that grow or leak, and some that no longer do, in order.
    pub(crate) fn growing(&self) -> impl Iterator<Item = (Identity, &RowHistory)> {
        self.growing.iter().filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Adds the code that keeps the memory of a process.
    pub fn set_kept_by(&mut self, id: Identity, found: Arc<KeptBy>) {
        self.forget_kept_by(id);
        if self.kept_by.len() == MAX_KEPT_BY {
            self.kept_by.remove(0);
        }
        self.kept_by.push((id, found));
    }

    /// Removes the code that keeps the memory of a process, after a measurement that does not show it.
    pub fn forget_kept_by(&mut self, id: Identity) {
        self.kept_by.retain(|(of, _)| *of != id);
    }

    /// Returns the code that keeps the memory of a process, if that was measured.
    pub fn kept_by(&self, id: Identity) -> Option<&Arc<KeptBy>> {
        self.kept_by.iter().find(|(of, _)| *of == id).map(|(_, found)| found)
    }

    /// Returns the name of the group by command of a process.
    pub fn command(&self, id: Identity) -> Option<Arc<[u8]>> {
        self.groups.command(&self.processes.get(&id)?.membership)
    }

    /// Returns a recently ended process. Up to 1000 are remembered, if memory permits.
    pub fn ended(&self, id: Identity) -> Option<&Ended> {
        self.all_ended().find(|ended| ended.id == id)
    }

    /// Returns the ended processes, the newest first.
    pub fn all_ended(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.ended.queue.iter().rev().map(|ended| &**ended)
    }

    /// Returns the history of a group. It continues while members come and go, and is kept for a day without members if memory
    /// permits.
    pub fn group(&self, key: &GroupKey) -> Option<&RowHistory> {
        self.groups.get(key.by, key.name.as_deref())
    }

    /// Returns the history of a group of this snapshot: for a family of one, the history of its process.
    pub fn of_group(&self, group: &Group, snapshot: &Snapshot) -> Option<&RowHistory> {
        self.group(&group.key)
            .or_else(|| self.get(family_of_one(group, snapshot)?))
    }

    /// Returns true if a group has a history or is a family of one in this snapshot.
    pub fn has_group(&self, key: &GroupKey, snapshot: &Snapshot) -> bool {
        let is_known = self.group(key).is_some();
        if is_known || key.by != GroupBy::Family {
            return is_known;
        }
        let names = GroupNames::new(snapshot.rows());
        let is_it = |sample| names.name_of(sample, key.by).as_deref() == key.name.as_deref();
        snapshot.rows().iter().any(is_it)
    }

    /// Returns true if a process is in a family with others.
    pub(crate) fn has_family(&self, id: Identity) -> bool {
        let process = self.processes.get(&id);
        process.is_some_and(|process| GroupHistories::has_family(&process.membership))
    }

    /// Returns the groups of one kind, with their names.
    pub fn groups_by(&self, by: GroupBy) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory)> {
        self.groups.iter(by)
    }

    /// Returns the number of living processes of a program or a family of several, and whether it grows; `None` for other
    /// groups.
    pub fn population(&self, key: &GroupKey) -> Option<Population> {
        self.groups.population(key.by, key.name.as_deref())
    }

    /// Returns true if a process is in both groups.
    fn share_member(&self, [a, b]: [&GroupKey; 2]) -> bool {
        let [a, b] = [a, b].map(|key| self.groups.find(key.by, key.name.as_deref()));
        let memberships = self.processes.values().map(|process| &process.membership.groups);
        memberships
            .into_iter()
            .any(|groups| groups.contains(&a) && groups.contains(&b))
    }

    /// Returns the number of members of a group in the last snapshot; 0 for a family of one, which is not a group.
    pub(crate) fn members(&self, by: GroupBy, name: Option<&[u8]>) -> usize {
        self.groups.members(by, name)
    }

    /// Returns the number of groups.
    pub const fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of processes, without ended ones.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    pub const fn parts(&self) -> &PartHistories {
        &self.parts
    }

    /// Returns the history of a cgroup if it is the one that the user viewed last.
    pub fn inspected(&self, path: &[u8]) -> Option<&InspectedHistory> {
        self.inspected.of(path)
    }

    /// Returns the history of a part of the RAM, or of one file system in it.
    pub fn of_part(&self, key: &PartKey) -> Option<&RowHistory> {
        match &key.mount {
            Some(path) => self.mounts().get(path),
            None => self.parts.get(key.id),
        }
    }

    /// Returns the file systems in memory, by mount point.
    pub const fn mounts(&self) -> &TableHistories {
        &self.kernel.mounts
    }

    pub const fn slab(&self) -> &TableHistories {
        &self.kernel.slab
    }

    pub const fn sites(&self) -> &TableHistories {
        &self.kernel.sites
    }

    pub const fn held(&self) -> &HeldHistories {
        &self.held
    }

    /// Returns the memory that a group holds through descriptors: for a family of one, the memory that its process holds.
    pub fn held_of_group(&self, group: &Group, snapshot: &Snapshot) -> Option<&HeldHistory> {
        let number = self.groups.find(group.key.by, group.key.name.as_deref());
        self.held
            .group(number, &group.key)
            .or_else(|| self.held.get(family_of_one(group, snapshot)?))
    }

    pub const fn system(&self) -> &SystemHistory {
        &self.system
    }
}

/// Returns the process of a family of one.
fn family_of_one(group: &Group, snapshot: &Snapshot) -> Option<Identity> {
    match *group.members {
        [only] if group.key.by == GroupBy::Family => Some(snapshot.rows().get(only)?.id),
        _ => None,
    }
}
