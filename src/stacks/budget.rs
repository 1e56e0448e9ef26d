//! The CPU time that may be used for what other processes choose.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::proc::clock::thread_time;

/// CPU time that may be used: some at once, and a share of the time since the start.
pub(super) struct Budget {
    base: Duration,
    divisor: u32,
    begun: Instant,
    spent: Cell<Duration>,
}

impl Budget {
    /// Begins a budget of `base`, and of a `divisor`th of the time from now on.
    pub(super) fn new(base: Duration, divisor: u32) -> Self {
        Self {
            base,
            divisor,
            begun: Instant::now(),
            spent: Cell::default(),
        }
    }

    /// Returns the CPU time that is left.
    pub(super) fn left(&self) -> Duration {
        let most = self.base + self.begun.elapsed() / self.divisor;
        most.saturating_sub(self.spent.get())
    }

    /// Charges the CPU time of this thread since `begun`, a [`thread_time`].
    pub(super) fn charge(&self, begun: Duration) {
        self.spent.set(self.spent.get() + thread_time().saturating_sub(begun));
    }
}
