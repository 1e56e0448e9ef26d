//! Estimates how other processes change a process's PSS.
//!
//! A shared page is divided by its sharers, so a process's PSS changes when another maps or drops the same
//! page, without a sign of its own. Nobody can see without a walk which processes share, but how much
//! there is to share can be seen: the shared part of a PSS, `PSS − USS`, is what its owner's coming or going
//! takes from or leaves to all its sharers together. Every process observes those amounts; how much of
//! them has reached its own PSS is learnt when it is walked.

use std::time::Duration;

use crate::model::{Memory, Walk};

/// A change of one process that may change the PSS of others.
#[derive(Clone, Copy)]
pub(super) struct ExternalChange {
    bytes: u64,
    /// When it was seen; for an end, when its process was first walked.
    at: Duration,
    is_end: bool,
}

impl ExternalChange {
    /// Returns true if it is worth telling: a few pages, divided by their sharers, are not.
    pub(super) const fn is_relevant(&self) -> bool {
        self.bytes >= 16 << 10
    }
}

/// An estimator of the part of a process's PSS that others have changed since its last walk.
#[derive(Clone, Copy)]
pub(super) struct SharingEstimator {
    /// Bytes by which others have grown and shrunk since the last walk.
    observed: i64,
    /// The part of what was observed that has reached this process of late, 0 to 1.
    sensitivity: f32,
    /// When it was first walked; zero for what was there at the first scan of the machine.
    first_walk: Option<Duration>,
}

impl Default for SharingEstimator {
    fn default() -> Self {
        Self {
            observed: 0,
            sensitivity: INITIAL_SENSITIVITY,
            first_walk: None,
        }
    }
}

/// Sensitivity of a process of which nothing is known: it has one sharer in ten.
const INITIAL_SENSITIVITY: f32 = 0.1;
/// The least sensitivity. A process that shares nothing now may do so later.
const MIN_SENSITIVITY: f32 = 0.001;
/// Part of the sensitivity that stays where a walk shows less: churn that touches nothing but the pages
/// that everyone shares is soon known for it.
const SENSITIVITY_DECAY: f32 = 0.1;
/// Factor on the sensitivity that a walk shows, since the next change may reach further.
const SENSITIVITY_MARGIN: f32 = 2.0;

/// Returns the shared part of a PSS.
fn shared_part(memory: &Memory) -> u64 {
    memory.pss.saturating_sub(memory.uss())
}

impl SharingEstimator {
    /// Takes in the process's own walk; returns the change that the walk shows to others. If the process did
    /// nothing itself, `is_quiet`, the walk tells how much of what was observed was true of it. What was there at
    /// the `initial` scan of the machine is news to nobody.
    pub(super) fn walked(&mut self, before: Option<Walk>, now: &Walk, is_quiet: bool, initial: bool) -> ExternalChange {
        let observed = std::mem::take(&mut self.observed).unsigned_abs();
        if let Some(before) = before.filter(|_| is_quiet && observed > 0) {
            let reached = before.memory.pss.abs_diff(now.memory.pss) as f32 / observed as f32;
            self.sensitivity = (SENSITIVITY_MARGIN * reached)
                .min(1.0)
                .max(self.sensitivity * SENSITIVITY_DECAY)
                .max(MIN_SENSITIVITY);
        }
        self.first_walk
            .get_or_insert(if initial { Duration::ZERO } else { now.at });
        let shared = shared_part(&now.memory);
        let then = before.map_or(if initial { shared } else { 0 }, |w| shared_part(&w.memory));
        ExternalChange {
            bytes: shared.abs_diff(then),
            at: now.at,
            is_end: false,
        }
    }

    /// Returns what the process's end leaves to others; nothing if it was never walked, for then its coming was
    /// not observed either.
    pub(super) fn ended(&self, memory: &Memory) -> Option<ExternalChange> {
        self.first_walk.map(|at| ExternalChange {
            bytes: shared_part(memory),
            at,
            is_end: true,
        })
    }

    /// Observes a change of another process. One that came and went since the last walk has changed nothing.
    pub(super) fn observe(&mut self, change: &ExternalChange, last_walk: Duration) {
        let bytes = i64::try_from(change.bytes).unwrap_or(i64::MAX);
        if change.is_end && change.at > last_walk {
            self.observed = self.observed.saturating_sub(bytes).max(0);
        } else if change.is_end || change.at > last_walk {
            self.observed = self.observed.saturating_add(bytes);
        }
    }

    /// Estimates how many bytes of the PSS others have changed, of the `shared` ones it has.
    pub(super) fn pending(&self, shared: u64) -> u64 {
        let reached = self.observed.unsigned_abs() as f64 * f64::from(self.sensitivity);
        (reached as u64).min(shared)
    }
}
