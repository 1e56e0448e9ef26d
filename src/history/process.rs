//! The history of one process, from one snapshot to the next.

use std::sync::Arc;
use std::time::Duration;

use crate::history::groups::{GroupNumbers, Membership};
use crate::history::row::{MemorySample, Rates, RowHistory, Tick};
use crate::history::window::rate;
use crate::model::process::{Facts, ProcessSample};
use crate::model::snapshot::Snapshot;

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
    pub(super) membership: Membership,
}

/// Returns when a process started, on the monotonic clock; zero if before that.
pub(super) fn start_time(sample: &ProcessSample, snapshot: &Snapshot) -> Option<Duration> {
    let started = sample.id.starttime as f64 / TICKS_PER_SECOND;
    let age = Duration::try_from_secs_f64(snapshot.system.uptime.ok()? - started).unwrap_or_default();
    Some(snapshot.monotonic.saturating_sub(age))
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
            membership: Membership::new(is_initial),
        }
    }

    /// Takes in the sample of the snapshot of that number. The processes were last listed at `listed_at`.
    pub(super) fn push(&mut self, sample: &ProcessSample, tick: Tick, number: u64, listed_at: Duration) {
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
        self.row.push(tick, sample.memory().ok().map(MemorySample::new), &rates);
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
        size_of::<Self>() - size_of::<RowHistory>() + self.row.bytes()
    }
}
