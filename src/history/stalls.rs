//! Stalls: tasks wait for memory much of the time, because pages that they need were reclaimed, or a soft limit throttles them.
//!
//! A stall is a fact about the last seconds, from the pressure stall information of the machine or of a cgroup with a limit.
//! Pressure alone is no fault: a backup that fills the page cache also waits for reclaim. So a stall needs a reason as well:
//! *thrash* if tasks read back the pages that were reclaimed from them (major faults), or *throttled* if a cgroup is at its soft
//! limit with memory that cannot be reclaimed.
//!
//! The pressure of the machine includes tasks whose pages it did not reclaim. If a cgroup at its limit reclaimed them, and
//! reads them back, the stall belongs to the cgroup: cgroups v1 have no pressure of their own. If a program reclaimed its own pages
//! (`MADV_PAGEOUT`), there is no stall. Any user can do that, so the faults of one user neither cause nor hide a stall of the machine.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::{Room, is_within};
use crate::history::dangers::{MACHINE, is_short};
use crate::history::most::{LimitOf, most};
use crate::history::{History, RowHistory};
use crate::model::cgroup::Count;
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;
use crate::model::unit::owned_path;
use crate::order;
use crate::units::{self, Units};

/// The time over which waiting is measured.
const SPAN: Duration = Duration::from_secs(5);
/// The time over which a stall must still be seen. The kernel updates the pressure of the machine every 2 s.
const RECENT: Duration = Duration::from_millis(1800);
/// Maximum time between two readings; before, equal counters are the same reading.
const READ_INTERVAL: Duration = Duration::from_millis(2500);
/// Minimum time between two values to compute a share from.
const MIN_SPAN: Duration = Duration::from_secs(3);
/// Shares of the time at which a stall begins, and below which it ends: of all tasks at once, and of some task.
const FULL: [f64; 2] = [0.10, 0.05];
const SOME: [f64; 2] = [0.30, 0.15];
/// Minimum number of major faults per second in a thrash.
const MIN_FAULTS: f64 = 50.0;
/// Minimum growth of a process that is reported as growing, in bytes per second.
const MIN_GROWTH: f64 = (1 << 20) as f64;
/// Share of the pages read back that the machine reclaims meanwhile: the minimum at which its stall begins, and below which it ends.
const RECLAIMED: [f64; 2] = [0.5, 0.25];
/// Minimum share of the faults that are not of the user with most of them, on a machine with enough memory.
const MIN_OTHERS: f64 = 0.25;
/// Time after which the pages that the machine reclaimed have been read back.
const RECLAIM_MEMORY: Duration = Duration::from_secs(60);
/// Minimum share of its limit that a cgroup uses when it reclaims its pages.
const AT_LIMIT: f64 = 0.875;
/// Minimum share of a soft limit that cannot be reclaimed, if tasks are throttled.
const STUCK: f64 = 0.9;

/// Maximum number of stalls.
const MAX_STALLS: usize = 32;
/// Maximum number of stalls whose beginning is remembered.
const MAX_BEGUN: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallKind {
    /// Tasks read back pages that were reclaimed from them.
    Thrash,
    /// The tasks of a cgroup are throttled at its soft limit.
    Throttled,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    /// The path of the cgroup; `None` for the machine.
    pub cgroup: Option<Arc<[u8]>>,
    pub kind: StallKind,
    /// The share of the last seconds in which all tasks waited at once; if throttled, in which some task waited.
    pub share: f64,
    /// The time at which it was first seen, on the monotonic clock.
    pub since: Duration,
    /// The process that waits most, and how many bytes per second it reads back.
    pub waiter: Option<(Identity, f64)>,
    /// The process that grows most meanwhile, and its growth in bytes per second.
    pub taker: Option<(Identity, f64)>,
}

/// The description of a stall, part by part. Safe to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallText {
    /// `58% of the time all tasks wait for memory`; empty if throttled.
    pub waiting: String,
    /// `: 812 indexer`; if throttled, `31 reporter waits 68% of the time`.
    pub waiter: String,
    /// ` reads back 40.0M/s`, or `: /batch is at its soft limit of 50.0M`.
    pub reason: String,
    /// ` (memory.high)`, or nothing.
    pub note: &'static str,
}

impl Stall {
    /// Returns the key of its owner: the machine, or the owner of the cgroup.
    pub(crate) fn owner(&self) -> &[u8] {
        self.cgroup.as_deref().map_or(MACHINE, owned_path)
    }

    /// Describes it, with the name of a cgroup in at most `width` columns. `name` returns the pid and the name of a process.
    pub fn text(
        &self,
        snapshot: &Snapshot,
        name: impl Fn(Identity) -> String,
        width: usize,
        units: Units,
    ) -> StallText {
        let share = format!("{:.0}% of the time", self.share * 100.0);
        let waiter = self
            .waiter
            .map(|(id, bytes)| (name(id), units::bytes(bytes as u64, units)));
        let cgroup = self.cgroup.as_ref().map(|path| snapshot.name_of_cgroup(path, width));
        match self.kind {
            StallKind::Thrash => {
                let all = cgroup.map_or_else(String::new, |name| format!(" of {name}"));
                let (waiter, reason) = waiter.map_or_else(Default::default, |(name, bytes)| {
                    (format!(": {name}"), format!(" reads back {bytes}/s"))
                });
                StallText {
                    waiting: format!("{share} all tasks{all} wait for memory"),
                    waiter,
                    reason,
                    note: "",
                }
            }
            StallKind::Throttled => {
                let name = waiter.map_or_else(|| "some task".into(), |(name, _)| name);
                let figures = self.cgroup.as_ref().and_then(|path| snapshot.cgroups.get(path));
                let high = figures.and_then(|figures| figures.high.ok().flatten());
                let high = high.map_or(String::new(), |high| format!(" of {}", units::bytes(high, units)));
                StallText {
                    waiting: String::new(),
                    waiter: format!("{name} waits {share}"),
                    reason: format!(": {} is at its soft limit{high}", cgroup.unwrap_or_default()),
                    note: " (memory.high)",
                }
            }
        }
    }
}

impl StallText {
    /// Returns all of it on one line.
    pub fn line(&self) -> String {
        [&*self.waiting, &*self.waiter, &*self.reason, self.note].concat()
    }
}

/// The counters of one moment: time, time that some and all tasks have waited, major faults, and bytes that the machine reclaimed.
type Counters = (Duration, [Duration; 2], Option<u64>, Option<u64>);

#[derive(Clone, Debug, Default)]
struct Watched {
    counters: VecDeque<Counters>,
    since: Option<Duration>,
    /// When the machine last reclaimed as many pages as a thrash reads back.
    reclaimed_at: Option<Duration>,
}

/// The shares of the time in which some task, and all tasks, waited; major faults, and bytes that the machine reclaimed, per second.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    some: f64,
    full: f64,
    faults: f64,
    reclaimed: Option<f64>,
}

impl Waiting {
    /// Computes the shares between two readings; `None` if they are less than `span` apart.
    fn between(before: &Counters, now: &Counters, span: Duration) -> Option<Self> {
        let time = now.0.saturating_sub(before.0);
        let seconds = time.as_secs_f64();
        let share = |at: usize| (now.1[at].saturating_sub(before.1[at]).as_secs_f64() / seconds).min(1.0);
        let rate = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?) as f64 / seconds);
        (time >= span).then(|| Self {
            some: share(0),
            full: share(1),
            faults: rate(now.2, before.2).unwrap_or(0.0),
            reclaimed: rate(now.3, before.3),
        })
    }

    /// Returns true if the machine reclaims at least that share of the pages read back by so many faults per second, or if that is not
    /// known. A fault may read several pages.
    fn is_reclaimed(&self, faults: f64, share: f64) -> bool {
        let read_back = faults * rustix::param::page_size() as f64;
        self.reclaimed.is_none_or(|bytes| bytes >= read_back * share)
    }
}

impl Watched {
    /// Adds the counters of one moment. Returns the shares over the last seconds, and over the newest of them. Counters may be
    /// older than the snapshot, so equal ones are one reading.
    fn push(&mut self, counters: Counters) -> Option<[Waiting; 2]> {
        let (now, stalled, ..) = counters;
        let decreased = |(_, last, ..): &Counters| last[0] > stalled[0] || last[1] > stalled[1];
        if self.counters.back().is_some_and(decreased) {
            *self = Self::default();
        }
        let is_read = |(at, last, ..): &Counters| *last != stalled || now.saturating_sub(*at) >= READ_INTERVAL;
        if self.counters.back().is_none_or(is_read) {
            self.counters.push_back(counters);
        }
        while self
            .counters
            .get(1)
            .is_some_and(|(at, ..)| now.saturating_sub(*at) >= SPAN)
        {
            self.counters.pop_front();
        }
        let newest = self.counters.back()?;
        let all = Waiting::between(self.counters.front()?, newest, MIN_SPAN)?;
        // Use the last seconds alone, or a stall that has ended would continue for the whole span.
        let is_recent = |(at, ..): &&Counters| newest.0.saturating_sub(*at) >= RECENT;
        let last = self.counters.iter().rev().find(is_recent)?;
        Some([all, Waiting::between(last, newest, RECENT)?])
    }
}

/// The reclaimer of the pages for which tasks wait.
enum Whose {
    Machine,
    /// The limit of a cgroup, with the share of the machine's refaults that it has.
    Cgroup(Arc<[u8]>, f64),
    /// A program its own, or nothing that is known.
    Nobody,
}

/// Tracks the tasks that wait for memory.
#[derive(Clone, Debug, Default)]
pub(super) struct StallWatch {
    watched: BTreeMap<Option<Arc<[u8]>>, Watched>,
    stalls: Vec<Stall>,
    /// The beginnings of the last stalls, the newest last.
    begun: VecDeque<Duration>,
    refaults: BTreeMap<Arc<[u8]>, Refaults>,
    /// The refaults of the machine, if the kernel has this counter.
    of_machine: Option<Refaults>,
}

/// Refaults of a limited cgroup or of the machine: per second over the last seconds, and the time and the number at two moments, the
/// older first.
#[derive(Clone, Copy, Debug, Default)]
struct Refaults {
    rate: f64,
    counted: [(Duration, u64); 2],
}

impl Refaults {
    fn new(now: Duration, count: u64) -> Self {
        Self {
            rate: 0.0,
            counted: [(now, count); 2],
        }
    }

    fn push(&mut self, now: Duration, count: u64) {
        let [(from, before), (last, _)] = self.counted;
        let seconds = now.saturating_sub(from).as_secs_f64();
        if seconds > 0.0 {
            self.rate = count.saturating_sub(before) as f64 / seconds;
        }
        if now.saturating_sub(last) >= MIN_SPAN {
            self.counted = [self.counted[1], (now, count)];
        }
    }
}

impl StallWatch {
    /// Adds a snapshot; returns the stalls without the names of the waiting processes, each as [`Self::watch`] does.
    fn push(&mut self, snapshot: &Snapshot, rooms: &BTreeMap<Arc<[u8]>, Room>) -> Vec<(Stall, Waiting)> {
        let now = snapshot.monotonic;
        self.watched
            .retain(|path, _| path.as_ref().is_none_or(|path| rooms.contains_key(path)));
        let mut found = Vec::new();
        if let Ok(stalled) = snapshot.system.stalled {
            let system = &snapshot.system;
            let reclaimed = system.steal_kswapd.ok().zip(system.steal_direct.ok());
            let reclaimed = reclaimed.map(|(kswapd, direct)| kswapd.saturating_add(direct));
            let counters = (now, stalled, system.pgmajfault.ok(), reclaimed);
            found.extend(self.watch(None, counters, false));
        }
        let bytes = snapshot.system.refault_anon.ok().zip(snapshot.system.refault_file.ok());
        self.of_machine = bytes.map(|(anon, file)| {
            let count = anon.saturating_add(file) / rustix::param::page_size() as u64;
            let mut refaults = self.of_machine.unwrap_or(Refaults::new(now, count));
            refaults.push(now, count);
            refaults
        });
        self.refaults.retain(|path, _| rooms.contains_key(path));
        for (path, room) in rooms {
            let Some(figures) = snapshot.cgroups.get(path) else {
                continue;
            };
            if let Ok(Count(count)) = figures.refaults {
                let new = || Refaults::new(now, count);
                self.refaults
                    .entry(Arc::clone(path))
                    .or_insert_with(new)
                    .push(now, count);
            }
            let (Ok(some), Ok(full)) = (figures.stalled_some, figures.stalled_full) else {
                continue;
            };
            let soft = figures.high.ok().flatten().filter(|_| room.is_soft);
            let stays = room.used.saturating_sub(figures.swap.unwrap_or(0));
            let is_stuck = soft.is_some_and(|high| stays as f64 >= high as f64 * STUCK);
            let counters = (now, [some, full], figures.major_faults.ok().map(|count| count.0), None);
            found.extend(self.watch(Some(Arc::clone(path)), counters, is_stuck));
        }
        found
    }

    /// Adds the counters of the machine or a cgroup. Memory that cannot be reclaimed `is_stuck` at a soft limit. Returns a stall and what
    /// it was found by.
    fn watch(&mut self, cgroup: Option<Arc<[u8]>>, counters: Counters, is_stuck: bool) -> Option<(Stall, Waiting)> {
        let watched = self.watched.entry(cgroup.clone()).or_default();
        // A stall that has begun ends at the lower share.
        let bound = usize::from(watched.since.is_some());
        let waiting = watched.push(counters);
        if waiting.is_some_and(|[_, last]| last.is_reclaimed(MIN_FAULTS, 1.0)) {
            watched.reclaimed_at = Some(counters.0);
        }
        let stalled = waiting.and_then(|[all, last]| {
            if is_stuck && all.some.min(last.some) >= SOME[bound] {
                Some((StallKind::Throttled, all.some, all))
            } else {
                let is_thrash = all.full.min(last.full) >= FULL[bound] && all.faults >= MIN_FAULTS;
                is_thrash.then_some((StallKind::Thrash, all.full, all))
            }
        });
        let Some((kind, share, waiting)) = stalled else {
            watched.since = None;
            return None;
        };
        let stall = Stall {
            cgroup,
            kind,
            share,
            since: *watched.since.get_or_insert(counters.0),
            waiter: None,
            taker: None,
        };
        Some((stall, waiting))
    }

    pub(super) fn bytes(&self) -> usize {
        let queues = self.watched.values().map(|watched| watched.counters.capacity());
        queues.sum::<usize>() * size_of::<Counters>() + self.refaults.len() * size_of::<(Arc<[u8]>, Refaults)>()
    }
}

impl History {
    /// Returns the stalls. A stall of the machine comes first, then the longest waiting share.
    pub fn stalls(&self) -> &[Stall] {
        &self.stall_watch.stalls
    }

    /// Returns when the last stalls began, on the monotonic clock.
    pub fn stalls_begun(&self) -> impl Iterator<Item = Duration> {
        self.stall_watch.begun.iter().copied()
    }

    /// Updates the stalls from a snapshot.
    pub(super) fn find_stalls(&mut self, snapshot: &Snapshot) {
        let found = self.stall_watch.push(snapshot, self.danger_watch.rooms());
        let inner: Vec<_> = found.iter().filter_map(|(stall, _)| stall.cgroup.clone()).collect();
        let mut stalls = Vec::new();
        for (mut stall, waiting) in chosen(found) {
            if stall.cgroup.is_none() {
                match self.whose(snapshot, &waiting) {
                    Whose::Machine => {}
                    // Other tasks that wait are not in the cgroup.
                    Whose::Cgroup(path, part) if stall.share * part >= FULL[1] => {
                        (stall.cgroup, stall.share) = (Some(path), stall.share * part);
                    }
                    Whose::Cgroup(..) | Whose::Nobody => {
                        self.stall_watch.watched.entry(None).or_default().since = None;
                        continue;
                    }
                }
                // Tasks that wait in a cgroup also count as waiting in the machine.
                if inner
                    .iter()
                    .any(|path| stall.cgroup.as_ref().is_some_and(|cgroup| is_within(cgroup, path)))
                {
                    continue;
                }
            }
            // Below their limits, cgroups wait for the machine.
            let is_besides = |path: &&Arc<[u8]>| stall.cgroup.is_none() && is_at_limit(snapshot, path);
            let besides: Vec<_> = inner.iter().filter(is_besides).cloned().collect();
            let Some(found) = self.waiter_and_taker(snapshot, &stall, &besides) else {
                continue;
            };
            [stall.waiter, stall.taker] = found;
            stalls.push(stall);
        }
        order::sort_by(&mut stalls, |a, b| {
            let of_cgroup = a.cgroup.is_some().cmp(&b.cgroup.is_some());
            of_cgroup.then(b.share.total_cmp(&a.share))
        });
        // Stalls of several cgroups that follow each other are one.
        if let Some(stall) = stalls.first().filter(|_| self.stall_watch.stalls.is_empty()) {
            let begun = &mut self.stall_watch.begun;
            if begun.len() == MAX_BEGUN {
                begun.pop_front();
            }
            begun.push_back(stall.since);
        }
        self.stall_watch.stalls = stalls;
    }

    /// Returns the reclaimer of the pages for which the tasks of a machine wait.
    fn whose(&self, snapshot: &Snapshot, waiting: &Waiting) -> Whose {
        let machine = self.stall_watch.watched.get(&None);
        let has_begun = machine.is_some_and(|watched| watched.since.is_some_and(|since| since < snapshot.monotonic));
        let share = RECLAIMED[usize::from(has_begun)];
        if waiting.is_reclaimed(waiting.faults, share) {
            return Whose::Machine;
        }
        // Root and the user who runs zmtop do not deceive it.
        let own = self.own_row(snapshot).and_then(|sample| sample.facts.owner_uid().ok());
        let mut of_users: HashMap<u32, f64> = HashMap::new();
        for sample in snapshot.rows() {
            let faults = self.get(sample.id).and_then(|row| row.change().majflt).unwrap_or(0.0);
            let uid = sample.facts.owner_uid().unwrap_or(u32::MAX);
            if faults > 0.0 && uid != 0 && Some(uid) != own {
                *of_users.entry(uid).or_default() += faults;
            }
        }
        let of_one = of_users.into_values().fold(0.0, f64::max).min(waiting.faults);
        let others = waiting.faults - of_one;
        let is_recent = machine.and_then(|watched| watched.reclaimed_at);
        let is_recent = is_recent.is_some_and(|at| snapshot.monotonic.saturating_sub(at) <= RECLAIM_MEMORY);
        let is_of_others =
            others >= MIN_FAULTS && (is_short(&snapshot.system) || others >= waiting.faults * MIN_OTHERS);
        if is_of_others && (is_recent || waiting.is_reclaimed(others, share)) {
            return Whose::Machine;
        }
        // The page cache fills the limit of each cgroup that reads files. It stalls if the pages were its own.
        let refaults = &self.stall_watch.refaults;
        let reads_back = |path: &Arc<[u8]>, least: f64| refaults.get(path).is_none_or(|known| known.rate >= least);
        let rooms = self.danger_watch.rooms().iter();
        let full: Vec<_> = rooms
            .filter(|(path, _)| is_at_limit(snapshot, path) && reads_back(path, MIN_FAULTS * share))
            .collect();
        // Processes elsewhere may read back more, as a program that reclaims its own pages.
        let waiters = snapshot.rows().iter().filter_map(|sample| {
            let path = sample.facts.cgroup.as_ref().ok()?;
            let faults = self.get(sample.id)?.change().majflt?;
            let above = full
                .iter()
                .filter(|(above, _)| is_within(path, above) && reads_back(above, faults * share));
            let (nearest, _) = above.min_by_key(|(_, room)| room.left)?;
            (faults >= MIN_FAULTS).then_some((*nearest, faults))
        });
        most(waiters).map_or(Whose::Nobody, |(cgroup, _)| {
            let (own, all) = (refaults.get(cgroup), self.stall_watch.of_machine);
            let part = own.zip(all).map_or(1.0, |(own, all)| own.rate / all.rate.max(1.0));
            Whose::Cgroup(Arc::clone(cgroup), part.min(1.0))
        })
    }

    /// Returns the process that reads back most, or else the largest throttled one; and the process that grows fastest. Those in cgroups
    /// that stall `besides` do not count. Returns `None` if hardly any others read back.
    fn waiter_and_taker(
        &self,
        snapshot: &Snapshot,
        stall: &Stall,
        besides: &[Arc<[u8]>],
    ) -> Option<[Option<(Identity, f64)>; 2]> {
        let page = rustix::param::page_size() as f64;
        // zmtop waits too, because it reads all other processes.
        let is_in = |sample: &&ProcessSample| {
            self.config.own_pid != Some(sample.id.pid)
                && LimitOf::of(stall.cgroup.as_deref()).covers(&sample.facts.cgroup)
        };
        let rows = snapshot.rows().iter().filter(is_in);
        let is_besides = |sample: &&ProcessSample| {
            let path = sample.facts.cgroup.as_ref();
            path.is_ok_and(|path| besides.iter().any(|above| is_within(path, above)))
        };
        let (besides, rows): (Vec<_>, Vec<_>) = rows.partition(is_besides);
        let faults = |rows: &[&ProcessSample]| {
            let each = rows.iter().filter_map(|sample| self.get(sample.id)?.change().majflt);
            each.sum::<f64>()
        };
        if faults(&besides) >= MIN_FAULTS && faults(&rows) < MIN_FAULTS {
            return None;
        }
        let rows = rows.into_iter();
        let rows: Vec<_> = rows
            .filter_map(|sample| Some((sample.id, self.get(sample.id)?)))
            .collect();
        let most = |rate: &dyn Fn(&RowHistory) -> f64, least: f64| {
            let most = most(rows.iter().map(|(id, row)| (*id, rate(row))));
            most.filter(|(_, rate)| *rate >= least)
        };
        let read_back = |row: &RowHistory| row.change().majflt.unwrap_or(0.0) * page;
        let waiter = match stall.kind {
            StallKind::Thrash => most(&read_back, MIN_FAULTS * page),
            StallKind::Throttled => {
                let largest = rows.iter().max_by_key(|(_, row)| row.newest_footprint());
                largest.map(|(id, row)| (*id, read_back(row)))
            }
        };
        let growth = |row: &RowHistory| row.footprint().change_over(SPAN) / SPAN.as_secs_f64();
        Some([waiter, most(&growth, MIN_GROWTH)])
    }
}

/// Chooses at most [`MAX_STALLS`]: the machine's, then in turns of the owners of cgroups those that began first, so that they stay chosen. A
/// user may have any number of cgroups, and each stall needs a search of all processes.
fn chosen(mut found: Vec<(Stall, Waiting)>) -> impl Iterator<Item = (Stall, Waiting)> {
    order::sort_by_key(&mut found, |(stall, _)| stall.since);
    let mut of_owners: HashMap<Box<[u8]>, usize> = HashMap::new();
    let numbered = found.into_iter().map(|(stall, waiting)| {
        let number = of_owners.entry(stall.owner().into()).or_default();
        *number += 1;
        ((stall.cgroup.is_some(), *number), (stall, waiting))
    });
    let mut numbered: Vec<_> = numbered.collect();
    order::sort_by_key(&mut numbered, |(place, _)| *place);
    numbered.into_iter().take(MAX_STALLS).map(|(_, one)| one)
}

/// Returns true if a cgroup uses nearly all that its limit allows, pages of files included.
fn is_at_limit(snapshot: &Snapshot, cgroup: &[u8]) -> bool {
    let figures = snapshot.cgroups.get(cgroup);
    let known = figures.and_then(|figures| Some((figures.current.ok()?, figures.ceiling()?.0)));
    known.is_some_and(|(used, most)| used as f64 >= most as f64 * AT_LIMIT)
}
