//! Token buckets of CPU time: what walks may spend.

use std::time::Duration;

/// The reason for a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The first scan of the machine, or one without a budget: charged to no bucket.
    Initial,
    /// A process that was never walked.
    New,
    /// Something says that it changed.
    Dirty,
    /// Nothing does; its figures are getting old.
    Idle,
}

/// CPU time above which a walk is expensive. It takes what many others need, so it is paid from a bucket of its own.
const EXPENSIVE: Duration = Duration::from_millis(20);
/// CPU time above which a walk is not cheap. Idle processes of that kind have a smaller bucket.
const CHEAP: Duration = Duration::from_millis(1);
/// Shares of the budget for idle processes: cheap ones, those between, expensive ones. Memory that does not
/// change then costs no more the more of it there is.
const IDLE_SHARES: [f64; 3] = [0.05, 0.02, 0.02];
/// Seconds' worth that may be saved up for a burst of changes.
const BURST: f64 = 4.0;
/// Seconds' worth that new processes may run into debt: a row without figures is worse than an old one.
const MAX_DEBT: f64 = 2.0;

/// Returns true if a walk of that cost is expensive.
pub(super) fn is_expensive(cost: Duration) -> bool {
    cost > EXPENSIVE
}

/// A token bucket of CPU time.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Seconds of CPU time; below zero it is in debt.
    level: f64,
    /// The highest level, in seconds.
    capacity: f64,
}

impl Bucket {
    fn fill(&mut self, amount: f64) {
        self.level = (self.level + amount).min(self.capacity);
    }
}

/// The buckets: two for dirty processes, cheap and expensive; three for idle ones, as [`IDLE_SHARES`] has them.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    /// The share of one core that walks may take.
    budget: f64,
    dirty: [Bucket; 2],
    idle: [Bucket; 3],
}

impl Buckets {
    pub(super) fn new(budget: f64) -> Self {
        let bucket = |share: f64, seconds: f64| Bucket {
            level: 0.0,
            capacity: share * seconds,
        };
        Self {
            budget,
            // Expensive walks go into debt, so that one second's worth is enough to begin with.
            dirty: [bucket(budget, BURST), bucket(budget, 1.0)],
            idle: IDLE_SHARES.map(|share| bucket(budget * share, BURST)),
        }
    }

    /// Fills the buckets for `step`. While expensive processes are dirty they share the budget with the rest.
    pub(super) fn fill(&mut self, step: Duration, expensive_dirty: bool) {
        let amount = self.budget * step.as_secs_f64();
        let [cheap, expensive] = &mut self.dirty;
        if expensive_dirty {
            cheap.fill(amount / 2.0);
            expensive.fill(amount / 2.0);
        } else {
            // Debts are paid back out of the same budget.
            let back = (-expensive.level).clamp(0.0, amount / 2.0);
            expensive.level += back;
            cheap.fill(amount - back);
        }
        for (bucket, share) in self.idle.iter_mut().zip(IDLE_SHARES) {
            bucket.fill(amount * share);
        }
    }

    fn bucket(&mut self, purpose: Purpose, cost: Duration) -> Option<&mut Bucket> {
        let expensive = usize::from(is_expensive(cost));
        match purpose {
            Purpose::Initial => None,
            Purpose::New => Some(&mut self.dirty[0]),
            Purpose::Dirty => Some(&mut self.dirty[expensive]),
            Purpose::Idle => Some(&mut self.idle[usize::from(cost > CHEAP) + expensive]),
        }
    }

    /// Takes a walk's expected cost; false where nothing is left. A walk may cost more than there is: the bucket
    /// is then in debt until time has paid.
    pub(super) fn reserve(&mut self, purpose: Purpose, expected: Duration) -> bool {
        let floor = if purpose == Purpose::New {
            -self.budget * MAX_DEBT
        } else {
            0.0
        };
        let Some(bucket) = self.bucket(purpose, expected) else {
            return true;
        };
        let is_allowed = bucket.level > floor;
        if is_allowed {
            bucket.level -= expected.as_secs_f64();
        }
        is_allowed
    }

    /// Corrects what was reserved to what the walk cost.
    pub(super) fn settle(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        if let Some(bucket) = self.bucket(purpose, expected) {
            bucket.level -= cost.as_secs_f64() - expected.as_secs_f64();
        }
    }
}
