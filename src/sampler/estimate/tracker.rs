//! Follows a process from one walk to the next.

use super::{Anchor, Counters, Estimate, Margin};
use crate::model::Memory;

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

    /// Takes in a walk, or that its counters could not be read. `external` is the bound on what others had changed by then.
    /// Returns the upper bound on the bytes that the process itself has changed since the walk before.
    pub fn walked(&mut self, anchor: Option<Anchor>, external: u64) -> u64 {
        let old = std::mem::replace(&mut self.anchor, anchor);
        let Some(anchor) = anchor else { return u64::MAX };
        self.counters = anchor.counters;
        let Some(old) = old else { return u64::MAX };
        let estimate = old.estimate(&anchor.counters, &self.margin);
        let cost = |m: &Memory| m.pss.saturating_add(m.swap_pss.unwrap_or(0));
        let error = cost(&estimate.memory).abs_diff(cost(&anchor.memory));
        self.margin
            .learn(&estimate, error.saturating_sub(anchor.blur.saturating_add(external)));
        old.by_stat(&anchor.counters).bound
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
