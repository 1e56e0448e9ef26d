//! The reads under way at one moment.

use std::collections::HashMap;
use std::time::Duration;

use super::{Job, JobKey};
use crate::sampler::pool::Pool;

/// The reads under way at one moment.
pub(in crate::sampler) struct RunningReads {
    /// When each last made progress.
    since: HashMap<JobKey, Duration>,
    now: Duration,
}

impl RunningReads {
    pub(in crate::sampler) fn new(pool: &Pool<Job>, now: Duration) -> Self {
        Self {
            since: pool.running(),
            now,
        }
    }

    /// Returns true if a read is under way and has been silent for longer than `allowed`.
    pub(in crate::sampler) fn is_late(&self, key: JobKey, allowed: Duration) -> bool {
        let since = self.since.get(&key);
        since.is_some_and(|since| self.now.saturating_sub(*since) > allowed)
    }

    /// Returns the time they are of.
    pub(in crate::sampler) const fn now(&self) -> Duration {
        self.now
    }

    /// Returns how many reads have been silent for longer than `allowed`.
    pub(in crate::sampler) fn count_late(&self, allowed: Duration) -> usize {
        let silent = self.since.values().map(|since| self.now.saturating_sub(*since));
        silent.filter(|silent| *silent > allowed).count()
    }
}
