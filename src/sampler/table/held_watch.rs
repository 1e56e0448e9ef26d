//! The descriptors of one process, as far as they are known, and when they are read again.

use std::sync::Arc;
use std::time::Duration;

use crate::model::held::{self, Held};
use crate::model::{Missing, Reading};
use crate::sampler::job::{JobKey, OwnObject, RunningReads};

/// Time after which a process that ran is read again though the number of its descriptors is the same: whoever closes one and
/// opens another is seen so late. Ten times as often, a thousand busy processes would take a twentieth of a core.
const RECHECK: Duration = Duration::from_secs(10);
/// The shortest time between two reads of a process that holds something: a little less than a second, which is a tick.
const PAUSE: Duration = Duration::from_millis(900);
/// The part of a core that the reads of one process may take: one in so many.
const COST_PAUSE: u32 = 100;
/// Expected processor time of the first read of a process.
pub(super) const EXPECTED: Duration = Duration::from_micros(60);

/// A process whose descriptors are watched.
pub(super) struct HeldWatch {
    /// The program that was read.
    pub(super) exec: u32,
    pub(super) descriptors: u64,
    pub(super) read_at: Option<Duration>,
    pub(super) cost: Duration,
    pub(super) is_reading: bool,
    /// It ran since it was read.
    pub(super) has_run: bool,
    /// It has another number of descriptors.
    pub(super) is_changed: bool,
    pub(super) objects: Vec<OwnObject>,
    pub(super) shown: Arc<Reading<Held>>,
}

impl HeldWatch {
    pub(super) fn new() -> Self {
        Self {
            exec: 0,
            descriptors: 0,
            read_at: None,
            cost: EXPECTED,
            is_reading: false,
            has_run: true,
            is_changed: true,
            objects: Vec::new(),
            shown: held::share(Err(Missing::Pending)),
        }
    }

    /// Returns true if it is being read, so that its row may change.
    pub(super) const fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Returns the bucket that pays for a read that is due; `None` where none is.
    pub(super) fn due(&self, now: Duration, exec: u32) -> Option<usize> {
        let Some(read_at) = self.read_at else {
            return Some(0);
        };
        let age = now.saturating_sub(read_at);
        if age < self.cost * COST_PAUSE {
            return None;
        }
        if self.is_changed || self.exec != exec {
            return Some(0);
        }
        let holds = !self.objects.is_empty();
        let is_due = match (self.has_run, holds) {
            (true, true) => age >= PAUSE,
            (true, false) | (false, true) => age >= RECHECK,
            (false, false) => false,
        };
        is_due.then_some(1)
    }

    /// Returns what its row shows.
    pub(super) fn shown(&self, serial: u64, running: &RunningReads, deadline: Duration) -> Arc<Reading<Held>> {
        if self.is_reading && running.is_late(JobKey::Held(serial), deadline) {
            return held::share(Err(Missing::TimedOut));
        }
        Arc::clone(&self.shown)
    }
}
