//! The history of one process, the live set of its heap if it is a Java virtual machine, and recently ended processes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::history::groups::{Contribution, Membership};
use crate::history::row::{Judged, Kibibytes, MemorySample, Rates, RowHistory, Tick};
use crate::history::system::Suspends;
use crate::history::window::rate;
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::Missing;
use crate::model::snapshot::{JvmHeap, MallocHeap, Snapshot};

/// `USER_HZ`, which is 100 on all Linux targets of Rust.
const TICKS_PER_SECOND: f64 = 100.0;

/// Minimum time that a process was observed for to be remembered after its end.
const MIN_OBSERVED: Duration = Duration::from_secs(10);
/// Minimum memory of a process that is asked whether it has really run exec. A smaller program may be replaced by one of its size.
const MIN_KEPT: u64 = 64 << 20;
/// Number of execs that begin the history of a process anew at any time: a service may be started by several programs, one after the other.
const FREE_RESETS: u8 = 3;
/// Minimum time between the last of these execs and the next. It doubles with each, up to 64 minutes.
const RESET_PAUSE: Duration = Duration::from_secs(15);
const MAX_DOUBLINGS: u8 = 8;
/// Time after an exec within which a program may map its memory again.
const TAKEN_BACK: Duration = Duration::from_secs(5);
/// Share of the RAM, as a divisor, that is remembered after any time: a process may fill the RAM within seconds.
const MIN_SHARE: u64 = 100;

/// The history of a process with much memory from before an exec.
#[derive(Debug)]
struct BeforeExec {
    /// The time of the exec.
    at: Duration,
    started_at: Option<Duration>,
    row: RowHistory,
}

#[derive(Debug)]
pub(super) struct ProcessHistory {
    pub(super) exec: u32,
    /// The filter of [`History::push_chosen`](super::History::push_chosen) matched it; else the result is still pending.
    pub(super) is_chosen: bool,
    /// The number of the last snapshot that it was pushed with.
    pub(super) seen_in: u64,
    pub(super) facts: Arc<Facts>,
    /// The time of its start, or of its last exec if that was seen; `None` if unknown.
    pub(super) started_at: Option<Duration>,
    /// Minor faults, major faults and processor time at the last push.
    counters: [u64; 3],
    pub(super) row: RowHistory,
    /// Present if it is a Java virtual machine that publishes its counters.
    pub(super) live_set: Option<Box<LiveSet>>,
    /// Present if the heap of its `malloc` was read.
    pub(super) malloc: Option<Box<InUse>>,
    /// Its heap is not taken into account.
    is_judged_whole: bool,
    /// The number of times that an exec began its history anew.
    resets: u8,
    before_exec: Option<Box<BeforeExec>>,
    pub(super) membership: Membership,
    /// The second at which it is scheduled to be pushed.
    pub(super) wakes_at: u32,
    /// Its share of the totals `process_bytes` and `without_past` of the history.
    pub(super) counted_bytes: u32,
    pub(super) is_counted_without_past: bool,
}

/// The saved history of a process.
#[derive(Debug)]
pub(super) struct ProcessPast {
    /// The [`image`] of the program that it ran.
    pub(super) image: u64,
    pub(super) row: RowHistory,
    pub(super) live_set: Option<Box<LiveSet>>,
    pub(super) malloc: Option<Box<InUse>>,
}

/// Returns a number that identifies the program of a process: the addresses of its code, else a digest of its name.
pub(super) fn image(sample: &ProcessSample) -> u64 {
    match sample.stat.image {
        0 => digest_of_name(&sample.facts.comm),
        image => image,
    }
}

/// Returns a digest of a name that is the same in every build: FNV-1a. No other process has the same [`Identity`], so that it needs no key.
fn digest_of_name(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the newest memory of a process without pages of files, or else all of it, in bytes.
fn own_of(row: &RowHistory) -> u64 {
    row.known().map_or(0, |known| match known.held {
        0 => known.resident,
        held => held,
    })
}

/// Returns true if the process had much memory, and has most of it now.
fn has_most_of(row: &RowHistory, sample: &ProcessSample) -> bool {
    let before = own_of(row);
    before >= MIN_KEPT && sample.stat.rss >= before / 4 * 3
}

/// Returns the start of a process on the monotonic clock; zero if it is earlier.
pub(super) fn start_time(sample: &ProcessSample, snapshot: &Snapshot, suspends: &Suspends) -> Option<Duration> {
    let started = sample.id.starttime as f64 / TICKS_PER_SECOND;
    let age = Duration::try_from_secs_f64(snapshot.system.uptime.ok()? - started).unwrap_or_default();
    // `starttime` includes suspends, the monotonic clock does not.
    Some(suspends.moment(snapshot.monotonic, age))
}

impl ProcessHistory {
    /// Creates an empty history. `is_initial` is true in the first snapshot.
    pub(super) fn new(sample: &ProcessSample, started_at: Option<Duration>, is_initial: bool) -> Self {
        Self {
            exec: sample.exec,
            is_chosen: true,
            seen_in: 0,
            facts: Arc::clone(&sample.facts),
            started_at,
            counters: [0; 3],
            row: RowHistory::default(),
            live_set: None,
            malloc: None,
            is_judged_whole: false,
            resets: 0,
            before_exec: None,
            membership: Membership::new(is_initial),
            wakes_at: 0,
            counted_bytes: 0,
            is_counted_without_past: false,
        }
    }

    /// Returns its contribution to its groups; `None` if it is not counted.
    pub(super) fn contribution(&self) -> Option<Contribution> {
        self.membership.is_counted.then(|| Contribution {
            groups: self.membership.groups,
            started_at: self.started_at,
            memory: self.row.known().copied(),
            memory_in: self.membership.memory_in,
            waiting_in: self.membership.waiting_in,
            kin: self.membership.kin,
        })
    }

    /// Returns true if a process that seems to have run exec still has most of its memory. A program gives all its memory back by an
    /// exec, but it can change what shows one (`PR_SET_MM_MAP`) as often as it likes. Pages of files do not count before: it can map and
    /// unmap them as it likes, too.
    pub(super) fn has_kept_its_memory(&self, sample: &ProcessSample) -> bool {
        has_most_of(&self.row, sample)
    }

    /// Begins anew after an exec.
    pub(super) fn start_again(&mut self, sample: &ProcessSample, now: Duration) {
        let kin = self.membership.kin;
        let is_rare = now.saturating_sub(self.started_at.unwrap_or_default()) >= RESET_PAUSE * (1 << MAX_DOUBLINGS);
        let resets = if is_rare { 0 } else { self.resets }.saturating_add(1);
        let has_heap = self.live_set.is_some() || self.malloc.is_some();
        let before_exec = if own_of(&self.row) >= MIN_KEPT && !has_heap {
            Some(Box::new(BeforeExec {
                at: now,
                started_at: self.started_at,
                row: std::mem::take(&mut self.row),
            }))
        } else {
            self.before_exec.take()
        };
        *self = Self::new(sample, Some(now), false);
        self.membership.kin = kin;
        (self.resets, self.before_exec) = (resets, before_exec);
    }

    /// Continues the history from before an exec if most of its memory is back within [`TAKEN_BACK`]: the memory was in a file that the
    /// program maps again, such as a memfd. Returns true if it does. A heap that was read since
    /// then had not all of it.
    pub(super) fn continue_after_exec(&mut self, sample: &ProcessSample, now: Duration) -> bool {
        let before = self.before_exec.take();
        let Some(before) = before.filter(|before| now.saturating_sub(before.at) <= TAKEN_BACK) else {
            return false;
        };
        let is_back = has_most_of(&before.row, sample);
        if is_back {
            (self.row, self.started_at, self.live_set, self.malloc) = (before.row, before.started_at, None, None);
        } else {
            self.before_exec = Some(before);
        }
        is_back
    }

    /// Returns true if execs begin the history anew too often. A program that seems to run exec every few seconds (`PR_SET_MM_MAP`) would
    /// never be judged.
    pub(super) fn restarts_too_often(&self, now: Duration) -> bool {
        let since_last = now.saturating_sub(self.started_at.unwrap_or_default());
        let doublings = self.resets.checked_sub(FREE_RESETS);
        doublings.is_some_and(|doublings| since_last < RESET_PAUSE * (1 << doublings.min(MAX_DOUBLINGS)))
    }

    /// Goes on after an exec that seems to be none. If it was one after all, what the heap of the program before kept does not apply. So
    /// all its memory is judged from now on.
    pub(super) fn go_on(&mut self, exec: u32) {
        self.exec = exec;
        if self.live_set.take().is_some() | self.malloc.take().is_some() {
            self.row.judge(Judged::Held);
        }
        self.is_judged_whole = true;
    }

    /// Returns true if the sample has another parent, other facts or another exec.
    pub(super) fn is_outdated(&self, sample: &ProcessSample) -> bool {
        // Kernel threads are in no family.
        let is_moved = || !sample.stat.is_kernel_thread() && self.membership.is_outdated(sample);
        self.exec != sample.exec || !Arc::ptr_eq(&self.facts, &sample.facts) || is_moved()
    }

    /// Adds the counters of a Java virtual machine. From then on its live set is judged.
    pub(super) fn push_heap(&mut self, heap: &JvmHeap, now: Duration) {
        if self.is_judged_whole || self.live_set.is_none() && heap.old.is_err() && heap.live.is_err() {
            return;
        }
        let is_new = self.live_set.is_none();
        // The live set is counted from the first collection on. That start would look like growth.
        let held = self.row.known().map_or(0, |known| known.held);
        if self.live_set.get_or_insert_default().push(now, heap, held) || is_new {
            self.row.judge(Judged::LiveSet);
        }
    }

    /// Adds a read of the heap of `malloc`. Once it keeps a good part of the memory free, the memory in use is judged.
    pub(super) fn push_malloc(&mut self, heap: &MallocHeap) {
        match &mut self.malloc {
            _ if self.is_judged_whole => {}
            Some(in_use) if in_use.at == heap.at => {}
            Some(in_use) => in_use.update(heap),
            None => {
                let held = self.row.known.map_or(0, |known| known.held);
                if self.live_set.is_none() && held > 0 && heap.kept >= held / MIN_FREE_SHARE {
                    self.row.judge(Judged::InUse);
                    self.malloc.get_or_insert_default().update(heap);
                }
            }
        }
    }

    /// Returns the figures of a sample, of which `unjudged` bytes are excluded from verdicts.
    fn figures(&mut self, sample: &ProcessSample, unjudged: u64) -> Option<MemorySample> {
        let mut figures = match sample.walk {
            Err(Missing::Denied) if self.row.is_counted => MemorySample::counted(sample)?,
            _ => MemorySample::new(sample.memory().ok()?, sample.data.ok()),
        };
        figures.held = figures.held.saturating_sub(unjudged);
        let held = figures.held;
        if let Some(live) = &self.live_set {
            // A live set does not depend on the memory that was requested.
            figures.held = live.held(held);
            figures.requested = figures.held;
            figures.free = Kibibytes::new(live.garbage(held));
        } else if let Some(malloc) = &mut self.malloc {
            figures.held = malloc.held(held);
            figures.requested = figures.requested.saturating_sub(malloc.free);
            figures.free = Kibibytes::new(held - figures.held);
        }
        Some(figures)
    }

    /// Adds the sample of snapshot `number`. Processes were last listed at `listed_at`, which rates are relative to.
    pub(super) fn push(&mut self, sample: &ProcessSample, tick: Tick, number: u64, listed_at: Duration, unjudged: u64) {
        if !Arc::ptr_eq(&self.facts, &sample.facts) {
            self.facts = Arc::clone(&sample.facts);
            self.membership.is_found = false;
        }
        let stat = &sample.stat;
        let counters = [stat.minflt, stat.majflt, stat.cpu_ticks];
        let mut rates = Rates::default();
        if self.seen_in > 0 {
            let seconds = tick.now.saturating_sub(listed_at).as_secs_f64();
            let rate = |i: usize| rate(self.counters[i], counters[i], seconds);
            rates = Rates {
                minflt: rate(0),
                majflt: rate(1),
                cpu: rate(2).map(|ticks| ticks / TICKS_PER_SECOND),
            };
        }
        self.counters = counters;
        self.seen_in = number;
        if sample.walk.is_err_and(|why| !why.hides_memory()) {
            self.row.known = None;
        }
        match sample.walk {
            Ok(_) => self.row.walk(),
            Err(Missing::Denied) => self.row.count(),
            Err(_) => {}
        }
        let figures = self.figures(sample, unjudged);
        self.row.push(tick, figures, &rates);
    }

    /// Returns true if it must be remembered after its end, on a machine with `ram` bytes.
    pub(super) fn is_memorable(&self, ram: Option<u64>) -> bool {
        let footprint = self.row.footprint_series();
        let is_large = ram.is_some_and(|ram| self.row.newest_footprint() >= (ram / MIN_SHARE).max(1));
        let observed = footprint.start().zip(footprint.newest());
        is_large || observed.is_some_and(|(from, (to, _))| to.saturating_sub(from) >= MIN_OBSERVED)
    }

    pub(super) fn bytes(&self) -> usize {
        let live_set = self.live_set.as_ref().map_or(0, |_| size_of::<LiveSet>());
        let malloc = self.malloc.as_ref().map_or(0, |_| size_of::<InUse>());
        let before = self.before_exec.as_ref();
        let before = before.map_or(0, |before| size_of::<BeforeExec>() + before.row.bytes());
        size_of::<Self>() - size_of::<RowHistory>() + self.row.bytes() + live_set + malloc + before
    }
}

/// Minimum time between two collections that count: a concurrent collection counts several pauses.
const MIN_CYCLE: Duration = Duration::from_secs(30);
/// Minimum rise of the old generation. If the virtual machine does not count collections, a fall by half of the rise is one.
const MIN_CLIMB: u64 = 4 << 20;

/// Memory beyond the heap that is not judged, in bytes: the machine's code, classes and collector tables. It only shows once the
/// committed heap has been touched, which is not growth.
const OWN: u64 = 64 << 20;

/// The live set of a Java virtual machine: what collections leave of its heap. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct LiveSet {
    /// The count of old collections at the last push.
    pub(super) collections: Option<u64>,
    /// The time of the last collection that counts.
    pub(super) began: Duration,
    /// The lowest and the highest use of the old generation since then.
    pub(super) lowest: u64,
    pub(super) highest: u64,
    /// The live set, once known.
    pub(super) alive: Option<u64>,
    /// The committed heap.
    pub(super) capacity: u64,
    /// The memory that the heap can have touched: what the process held at first, or its highest use and a half more. The process may
    /// publish any figure, so memory beyond this counts as its own.
    touched: u64,
}

impl LiveSet {
    /// Returns true if it may have been saved at that time.
    pub(super) fn is_before(&self, at: Duration) -> bool {
        self.began <= at && self.lowest <= self.highest
    }

    /// Adds the counters of a process that holds `held`; returns true if the live set becomes known.
    fn push(&mut self, now: Duration, heap: &JvmHeap, held: u64) -> bool {
        let was_known = self.alive.is_some();
        self.capacity = heap.capacity;
        if self.touched == 0 {
            self.touched = held;
        }
        self.touched = self.touched.max(heap.used.saturating_add(heap.used / 2));
        if let Ok(live) = heap.live {
            // The collector itself publishes it.
            self.alive = Some(live);
            return !was_known;
        }
        let Ok(old) = heap.old else { return false };
        let is_first = self.collections.is_none();
        let fell = self.highest.saturating_sub(self.lowest) >= MIN_CLIMB
            && self.highest.saturating_sub(old) >= (self.highest - self.lowest) / 2;
        let is_collected = match (self.collections, heap.old_collections) {
            (_, 0) => fell,
            (before, now) => before != Some(now),
        };
        self.collections = Some(heap.old_collections);
        if !is_first && (!is_collected || now.saturating_sub(self.began) < MIN_CYCLE) {
            self.lowest = self.lowest.min(old);
            self.highest = self.highest.max(old);
            return false;
        }
        if !is_first {
            self.alive = Some(self.lowest);
        }
        (self.began, self.lowest, self.highest) = (now, old, old);
        self.alive.is_some() && !was_known
    }

    /// Returns the part of `held` that collections cannot free: the live set, and memory beyond the heap. Before the first
    /// collection the heap counts as empty, as growth within it is a fill.
    fn held(&self, held: u64) -> u64 {
        let beyond = held.saturating_sub(self.size()).max(OWN);
        self.alive.unwrap_or(0).saturating_add(beyond)
    }

    /// Returns the part of `held` that the next collection may free; 0 before the first collection.
    fn garbage(&self, held: u64) -> u64 {
        let alive = self.alive.unwrap_or(u64::MAX);
        held.min(self.size()).saturating_sub(alive)
    }

    /// Returns the maximum size of the heap in RAM and in swap.
    fn size(&self) -> u64 {
        self.capacity.min(self.touched)
    }
}

/// The inverse of the share of its memory that `malloc` must keep free for the memory in use to be judged. Below it, the memory
/// as a whole shows a leak as well, and does not depend on reads of the heap, which a busy machine delays.
const MIN_FREE_SHARE: u64 = 4;

/// Minimum growth of the held memory from read to read that shows how much of it is in use.
const MIN_GROWTH: u64 = 256 << 10;

/// The memory in use of a process whose `malloc` was read. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct InUse {
    /// The time of the last read.
    pub(super) at: Duration,
    free: u64,
    kept: u64,
    /// The held memory that was known at the last two reads, the last one first, and the part of it in use.
    reads: [Option<(u64, u64)>; 2],
}

impl InUse {
    fn update(&mut self, heap: &MallocHeap) {
        (self.at, self.free, self.kept) = (heap.at, heap.free, heap.kept);
        if self.reads[0].is_some() {
            self.reads = [None, self.reads[0]];
        }
    }

    /// Returns the part of `held` that is in use. Growth since the last read counts by the share that was in use of the growth
    /// between the last two reads: all of it in a leak, none in a hoard.
    fn held(&mut self, held: u64) -> u64 {
        let (then, in_use) = *self.reads[0].get_or_insert((held, held.saturating_sub(self.kept)));
        let share = match self.reads[1] {
            Some((before, was_in_use)) if then >= before.saturating_add(MIN_GROWTH) => {
                in_use.saturating_sub(was_in_use) as f64 / (then - before) as f64
            }
            _ => in_use as f64 / then.max(1) as f64,
        };
        let growth = held.saturating_sub(then) as f64 * share.min(1.0);
        in_use.saturating_add(growth as u64).min(held)
    }
}

/// Maximum number of ended processes, so that a storm of short-lived ones does not fill the memory.
const MAX_ENDED: usize = 1000;

/// A process that ended, with its history.
#[derive(Debug)]
pub struct Ended {
    pub id: Identity,
    pub facts: Arc<Facts>,
    /// The name of its group by command, if it was in one.
    pub command: Option<Arc<[u8]>>,
    /// The time of the first snapshot without it, on the monotonic clock.
    pub at: Duration,
    pub history: RowHistory,
}

/// The ended processes, in order of their ends.
#[derive(Debug, Default)]
pub(super) struct EndedProcesses {
    pub(super) queue: VecDeque<Box<Ended>>,
    pub(super) bytes: usize,
}

impl EndedProcesses {
    /// Adds a process; drops the oldest if there are too many.
    pub(super) fn push(&mut self, ended: Box<Ended>) {
        if self.queue.len() >= MAX_ENDED {
            self.drop_quarter();
        }
        self.bytes += bytes(&ended);
        self.queue.push_back(ended);
    }

    /// Drops the oldest quarter, at first of those that did not grow: many that end soon must not displace what leaked.
    fn drop_quarter(&mut self) {
        let mut excess = MAX_ENDED / 4;
        for may_grow in [false, true] {
            self.queue.retain(|ended| {
                let is_dropped = excess > 0 && (may_grow || !ended.history.is_growing());
                if is_dropped {
                    excess -= 1;
                    self.bytes = self.bytes.saturating_sub(bytes(ended));
                }
                !is_dropped
            });
        }
    }

    /// Drops the oldest; returns the bytes freed, or `None` if there is none.
    pub(super) fn drop_oldest(&mut self) -> Option<usize> {
        let freed = bytes(&*self.queue.pop_front()?);
        self.bytes = self.bytes.saturating_sub(freed);
        Some(freed)
    }
}

/// Returns the memory of an ended process in bytes, including its facts, which nothing else refers to.
fn bytes(ended: &Ended) -> usize {
    size_of::<Ended>() - size_of::<RowHistory>() + ended.facts.bytes() + ended.history.bytes()
}
