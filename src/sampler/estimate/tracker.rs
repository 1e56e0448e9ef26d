//! Follows a process from one walk to the next.

use super::{Anchor, Counters, Estimate, Margin};
use crate::model::Memory;

/// The doings of others since a walk, as far as they are heard of: see [`sharing`](crate::sampler::sharing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// The bound on what they have changed at once.
    pub bound: u64,
    /// The bound on what they have changed by touching pages little by little.
    pub drift: u64,
    /// An estimate of that.
    pub shift: i64,
}

/// The last walk of a process, its counters, and what was learnt of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracker {
    /// The counters read last.
    counters: Counters,
    anchor: Option<Anchor>,
    margin: Margin,
}

impl Tracker {
    /// Creates the tracker of a process that was never walked.
    pub fn new(counters: Counters) -> Self {
        Self {
            counters,
            ..Self::default()
        }
    }

    /// Returns the counters read last.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the last walk with its counters.
    pub const fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    /// Takes in counters; returns true if they changed.
    pub fn glanced(&mut self, counters: Counters) -> bool {
        std::mem::replace(&mut self.counters, counters) != counters
    }

    /// Takes in a walk, or that its counters could not be read. `others` had been heard of by then.
    /// Returns the upper bound on the bytes that the process itself has changed since the walk before.
    pub fn walked(&mut self, anchor: Option<Anchor>, others: &Others) -> u64 {
        let old = std::mem::replace(&mut self.anchor, anchor);
        let Some(anchor) = anchor else { return u64::MAX };
        self.counters = anchor.counters;
        let Some(old) = old else { return u64::MAX };
        let estimate = old.estimate(&anchor.counters, &self.margin);
        let cost = |m: &Memory| m.pss.saturating_add(m.swap_pss.unwrap_or(0));
        let estimated = cost(&estimate.memory).saturating_add_signed(others.shift);
        let error = estimated.abs_diff(cost(&anchor.memory)).saturating_sub(anchor.blur);
        let external = self.bound_of(others);
        let of_own = estimate.bound.saturating_add(others.bound);
        self.margin.learn_of_drift(others.drift, error.saturating_sub(of_own));
        self.margin.learn(&estimate, error.saturating_sub(external));
        old.by_stat(&anchor.counters).bound
    }

    /// Bounds what the others have changed beyond the estimate of it.
    pub fn bound_of(&self, others: &Others) -> u64 {
        others.bound.saturating_add(self.margin.of_drift(others.drift))
    }

    /// Takes in that it was forked: anonymous pages found unshared need no longer be.
    pub fn forked(&mut self) {
        if let Some(anchor) = &mut self.anchor {
            anchor.is_forked = true;
        }
    }

    /// Returns what its memory is now; `None` where it was never walked.
    pub fn estimate(&self) -> Option<Estimate> {
        Some(self.anchor.as_ref()?.estimate(&self.counters, &self.margin))
    }

    /// Returns true if it ran since the walk and nothing but `stat` can be read of it.
    pub fn ran_unseen(&self) -> bool {
        let anchor = self.anchor.as_ref();
        anchor.is_some_and(|a| a.counters.resident.is_none() && a.counters.cpu_ticks != self.counters.cpu_ticks)
    }
}
