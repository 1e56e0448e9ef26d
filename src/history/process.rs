//! The history of one process, the live part of its heap if it is a Java virtual machine, and processes that ended recently.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::history::digest::digest_of_name;
use crate::history::evaluation::EvaluationScheduler;
use crate::history::groups::{Contribution, GroupNumbers, Membership};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::history::system::Suspends;
use crate::history::window::rate;
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::Missing;
use crate::model::snapshot::{JvmHeap, Snapshot};

/// `USER_HZ`: fixed at 100 in the kernel's interface on every architecture Rust's Linux targets run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Time that a process must have been observed for to be remembered after its end.
const MIN_OBSERVED: Duration = Duration::from_secs(10);

/// A process and its history.
#[derive(Debug)]
pub(super) struct ProcessHistory {
    /// The exec it began with.
    pub(super) exec: u32,
    /// It is among the processes that the history is of; else this cannot be told yet.
    pub(super) is_chosen: bool,
    /// The number of the snapshot it was last seen in.
    pub(super) seen_in: u64,
    pub(super) facts: Arc<Facts>,
    /// When it started, or made its last exec; `None` where the machine does not tell.
    pub(super) started_at: Option<Duration>,
    /// Minor and major faults and processor time, when it was last seen.
    counters: [u64; 3],
    pub(super) row: RowHistory,
    /// The live part of its heap, if it is a Java virtual machine that tells.
    pub(super) live_set: Option<Box<LiveSet>>,
    pub(super) membership: Membership,
    /// Nothing but time changes at it while its sample is the same.
    pub(super) is_resting: bool,
    /// The second for which it is put down to be pushed.
    pub(super) wakes_at: u32,
    /// Its memory in bytes, and if it was without a past, as of its last push.
    pub(super) counted_bytes: u32,
    pub(super) is_counted_without_past: bool,
}

/// The past of a process that was kept when zmtop ended.
#[derive(Debug)]
pub(super) struct ProcessPast {
    /// The program that it ran, as [`image`] tells it.
    pub(super) image: u64,
    pub(super) row: RowHistory,
    pub(super) live_set: Option<Box<LiveSet>>,
}

/// Returns a number for the program that a process runs, which another has not.
pub(super) fn image(sample: &ProcessSample) -> u64 {
    match sample.stat.image {
        0 => digest_of_name(Some(&sample.facts.comm)),
        image => image,
    }
}

/// Returns when a process started, on the monotonic clock; zero if before that.
pub(super) fn start_time(sample: &ProcessSample, snapshot: &Snapshot, suspends: &Suspends) -> Option<Duration> {
    let started = sample.id.starttime as f64 / TICKS_PER_SECOND;
    let age = Duration::try_from_secs_f64(snapshot.system.uptime.ok()? - started).unwrap_or_default();
    // The start time of a process counts suspends.
    Some(suspends.moment(snapshot.monotonic, age))
}

impl ProcessHistory {
    /// Creates an empty history. `is_initial` says that the process was there when the history began.
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
            membership: Membership::new(is_initial),
            is_resting: false,
            wakes_at: 0,
            counted_bytes: 0,
            is_counted_without_past: false,
        }
    }

    /// Goes on from a past, unless that is of another program: it made an exec since then.
    pub(super) fn resume(&mut self, past: ProcessPast, sample: &ProcessSample) {
        if past.image == image(sample) {
            (self.row, self.live_set) = (past.row, past.live_set);
        }
    }

    /// Returns its history, which rested until the last snapshot if it was not pushed.
    pub(super) fn rested(&self, clock: Clock) -> &RowHistory {
        if self.is_resting {
            self.row.rest_until(clock);
        }
        &self.row
    }

    /// Judges it now.
    pub(super) fn judge(&mut self, clock: Clock, scheduler: &mut EvaluationScheduler) {
        self.rested(clock);
        self.row.evaluate(scheduler, None, self.started_at);
    }

    /// Returns what it contributes to its groups; `None` where it is not counted.
    pub(super) fn contribution(&self) -> Option<Contribution> {
        self.membership.contribution(self.started_at, self.row.known().copied())
    }

    /// Returns true if the sample has another place in its family, or is of another program.
    pub(super) fn is_outdated(&self, sample: &ProcessSample) -> bool {
        // Kernel threads are in no family.
        let is_moved = || !sample.stat.is_kernel_thread() && self.membership.is_outdated(sample);
        self.exec != sample.exec || !Arc::ptr_eq(&self.facts, &sample.facts) || is_moved()
    }

    /// Takes in the counters of a Java virtual machine: what it holds is judged by them from then on.
    pub(super) fn push_heap(&mut self, heap: &JvmHeap, now: Duration) {
        if self.live_set.is_none() && heap.old.is_err() && heap.live.is_err() {
            return;
        }
        let is_new = self.live_set.is_none();
        // What is alive counts from the first collection on, which would look like growth.
        if self.live_set.get_or_insert_default().push(now, heap) || is_new {
            self.row.judge_live_set();
        }
    }

    /// Returns the figures of a sample, of which so many bytes are not judged.
    fn figures(&self, sample: &ProcessSample, unjudged: u64) -> Option<MemorySample> {
        let mut figures = match sample.walk {
            Err(Missing::Denied) if self.row.is_counted => MemorySample::counted(sample)?,
            _ => MemorySample::new(sample.memory().ok()?, sample.data.ok()),
        };
        figures.held = figures.held.saturating_sub(unjudged);
        if let Some(live) = &self.live_set {
            // What is alive in a heap has nothing to do with what was asked for.
            figures.held = live.held(figures.held);
            figures.asked = figures.held;
        }
        Some(figures)
    }

    /// Takes in the sample of the snapshot of that number. The processes were last listed at `listed_at`. Of what it
    /// holds so many bytes are not judged.
    pub(super) fn push(&mut self, sample: &ProcessSample, tick: Tick, number: u64, listed_at: Duration, unjudged: u64) {
        if !Arc::ptr_eq(&self.facts, &sample.facts) {
            self.facts = Arc::clone(&sample.facts);
            self.membership.mark_changed();
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
            self.row.forget_known();
        }
        match sample.walk {
            Ok(_) => self.row.walk(),
            Err(Missing::Denied) => self.row.count(),
            Err(_) => {}
        }
        self.row.push(tick, self.figures(sample, unjudged), &rates);
    }

    /// Returns the groups that its memory is counted in: none where the memory is unknown.
    pub(super) fn counted_in(&self) -> GroupNumbers {
        self.row.known().map_or(Membership::NONE, |_| *self.membership.groups())
    }

    /// Returns true if it is worth remembering after its end: it had memory for some ten seconds.
    pub(super) fn is_memorable(&self) -> bool {
        let footprint = self.row.footprint_series();
        let observed = footprint.start().zip(footprint.newest());
        observed.is_some_and(|(from, (to, _))| to.saturating_sub(from) >= MIN_OBSERVED)
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let live_set = self.live_set.as_ref().map_or(0, |_| size_of::<LiveSet>());
        size_of::<Self>() - size_of::<RowHistory>() + self.row.bytes() + live_set
    }
}

/// Time that must pass from one collection to the next that counts: of a concurrent one several pauses are counted.
const MIN_CYCLE: Duration = Duration::from_secs(30);
/// Minimum climb from which on a fall of half of it is taken for a collection, where the virtual machine counts none.
const MIN_CLIMB: u64 = 4 << 20;

/// Memory beyond the heap that is not told apart from none: the machine's own, some tens of MB of code, classes and tables of
/// the collector. It comes to light only once the heap has been touched as far as it is committed, which is no growth.
const OWN: u64 = 64 << 20;

/// The live set of one virtual machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LiveSet {
    /// The count of collections when they were last taken in.
    pub(super) collections: Option<u64>,
    /// When the cycle began: the time since the last collection.
    pub(super) began: Duration,
    /// The lowest and the highest use of the old generation in this cycle.
    pub(super) lowest: u64,
    pub(super) highest: u64,
    /// The part that was found alive last.
    pub(super) alive: Option<u64>,
    /// The part of its heap that is committed.
    pub(super) capacity: u64,
}

impl LiveSet {
    /// Takes in its counters; returns true if what is alive is known for the first time.
    pub(super) fn push(&mut self, now: Duration, heap: &JvmHeap) -> bool {
        let was_known = self.alive.is_some();
        self.take_in(now, heap);
        self.alive.is_some() && !was_known
    }

    fn take_in(&mut self, now: Duration, heap: &JvmHeap) {
        self.capacity = heap.capacity;
        if let Ok(live) = heap.live {
            // Counted by the collector itself.
            self.alive = Some(live);
            return;
        }
        let Ok(old) = heap.old else { return };
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
            return;
        }
        if !is_first {
            self.alive = Some(self.lowest);
        }
        (self.began, self.lowest, self.highest) = (now, old, old);
    }

    /// Returns the part of what a process holds that collections cannot free: what they left alive, and what it holds beyond
    /// its heap. Before the first collection nothing of the heap counts: growth within it is a fill.
    pub(super) fn held(&self, held: u64) -> u64 {
        let beyond = held.saturating_sub(self.capacity).max(OWN);
        self.alive.unwrap_or(0).saturating_add(beyond)
    }
}

/// Maximum number of ended processes remembered: a storm of short-lived ones must not fill the memory.
const MAX_ENDED: usize = 1000;

/// A process that ended, with its history.
#[derive(Debug)]
pub struct Ended {
    /// The process.
    pub id: Identity,
    /// Its names.
    pub facts: Arc<Facts>,
    /// Its name in groups by command; `None` where it was in none.
    pub command: Option<Arc<[u8]>>,
    /// When it was first missed, on the monotonic clock.
    pub at: Duration,
    /// Its history, up to its end.
    pub history: RowHistory,
}

/// The ended processes, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct EndedProcesses {
    queue: VecDeque<Box<Ended>>,
    /// The number dropped from the front: numbers in `index` count from the first ever.
    dropped: u64,
    index: HashMap<Identity, u64>,
    bytes: usize,
}

impl EndedProcesses {
    /// Adds one; the oldest is dropped if there are too many.
    pub(super) fn push(&mut self, ended: Box<Ended>) {
        if self.queue.len() >= MAX_ENDED {
            self.drop_oldest();
        }
        self.bytes += bytes(&ended);
        self.index.insert(ended.id, self.dropped + self.queue.len() as u64);
        self.queue.push_back(ended);
    }

    /// Drops the one that ended first; returns the bytes freed, `None` where there is none.
    pub(super) fn drop_oldest(&mut self) -> Option<usize> {
        let oldest = self.queue.pop_front()?;
        // The same identity may have ended again, after a listing that lacked it.
        if self.index.get(&oldest.id) == Some(&self.dropped) {
            self.index.remove(&oldest.id);
        }
        self.dropped += 1;
        let freed = bytes(&oldest);
        self.bytes = self.bytes.saturating_sub(freed);
        Some(freed)
    }

    pub(super) fn get(&self, id: Identity) -> Option<&Ended> {
        let number = self.index.get(&id)?;
        self.queue.get((number - self.dropped) as usize).map(|ended| &**ended)
    }

    /// Returns all, the last that ended first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.queue.iter().rev().map(|ended| &**ended)
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns the memory of one in bytes. Nobody but it holds its facts after its end.
fn bytes(ended: &Ended) -> usize {
    size_of::<Ended>() - size_of::<RowHistory>()
        + ended.facts.bytes()
        + ended.history.bytes()
        + size_of::<(Identity, u64)>()
}
