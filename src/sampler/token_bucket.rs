//! Token buckets of CPU time: what walks may spend.

use std::time::Duration;

/// The reason for a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The first scan of the machine, or one without a budget: charged to no bucket.
    Initial,
    /// A process that was never walked.
    New,
    /// Its figures may be wrong by more than is tolerated.
    Due,
    /// Nothing says so; its figures are getting old.
    Idle,
}

/// CPU time above which a walk is expensive. It takes what many others need, so it is paid from a bucket of its own.
const EXPENSIVE: Duration = Duration::from_millis(20);
/// CPU time above which a walk is not cheap. Idle processes of that kind have a smaller bucket.
const CHEAP: Duration = Duration::from_millis(1);
/// Shares of the budget for idle processes: cheap ones, those between, expensive ones. Memory that does not
/// change then costs no more the more of it there is. The first pays for a thousand walks of 57 µs in the 23 s over
/// which the turns after a first scan are spread.
const IDLE_SHARES: [f64; 3] = [0.05, 0.02, 0.02];
/// Seconds' worth that may be saved up for a burst of changes. New and due processes may save both, so that no minute
/// takes more than a tenth beyond the budget.
const BURST: f64 = 2.0;
/// Sides of [`Buckets::wanted`].
const NEW: usize = 0;
const DUE: usize = 1;

impl Purpose {
    /// The number of kinds of idle processes, each of which has a share of its own.
    pub(super) const IDLE_KINDS: usize = IDLE_SHARES.len();

    /// Returns the kind that an idle process is of, by the cost of a walk.
    pub(super) fn idle_kind(self, cost: Duration) -> Option<usize> {
        (self == Self::Idle).then(|| idle_kind(cost))
    }
}

fn idle_kind(cost: Duration) -> usize {
    usize::from(cost > CHEAP) + usize::from(cost > EXPENSIVE)
}

/// A kind of walk, which is paid from a bucket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A walk paid by nobody.
    Free,
    /// A walk of a process that is new or due.
    Wanted { is_due: bool, is_expensive: bool },
    /// A walk of an idle process; the place in [`IDLE_SHARES`].
    Idle(usize),
}

impl Kind {
    pub(super) fn new(purpose: Purpose, cost: Duration) -> Self {
        let is_expensive = cost > EXPENSIVE;
        match purpose {
            Purpose::Initial => Self::Free,
            Purpose::New | Purpose::Due => Self::Wanted {
                is_due: purpose == Purpose::Due,
                is_expensive,
            },
            Purpose::Idle => Self::Idle(idle_kind(cost)),
        }
    }

    pub(super) const fn is_expensive(self) -> bool {
        matches!(self, Self::Wanted { is_expensive: true, .. } | Self::Idle(2))
    }
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
    /// Takes as much of an amount as there is room for, and returns that.
    fn fill(&mut self, amount: f64) -> f64 {
        let taken = amount.min(self.capacity - self.level).max(0.0);
        self.level += taken;
        taken
    }
}

/// The buckets.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    /// The share of one core that walks may take.
    budget: f64,
    /// New and due processes ([`NEW`], [`DUE`]), cheap and expensive ones of each.
    wanted: [[Bucket; 2]; 2],
    /// Idle ones, as [`IDLE_SHARES`] has them.
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
            // Expensive walks go into debt, so that little is enough to begin with.
            wanted: [[bucket(budget, BURST), bucket(budget, BURST / 8.0)]; 2],
            idle: IDLE_SHARES.map(|share| bucket(budget * share, BURST)),
        }
    }

    /// Fills the buckets for `step`: those of `wanted` kinds, and those in debt. What these leave is saved.
    pub(super) fn fill(&mut self, step: Duration, wanted: impl Iterator<Item = Kind>) {
        let mut needs = [[false; 2]; 2];
        for kind in wanted {
            if let Kind::Wanted { is_due, is_expensive } = kind {
                needs[usize::from(is_due)][usize::from(is_expensive)] = true;
            }
        }
        for (side, needs) in self.wanted.iter().zip(&mut needs) {
            for (bucket, needs) in side.iter().zip(needs) {
                *needs |= bucket.level < 0.0;
            }
        }
        let amount = self.budget * step.as_secs_f64();
        let [new, due] = needs;
        // Half is for due ones, whatever else there is to pay for.
        let mut left = amount - self.divide(DUE, amount / 2.0, due);
        for (bucket, share) in self.idle.iter_mut().zip(IDLE_SHARES) {
            left -= bucket.fill(amount * share);
        }
        let all = [true; 2];
        for (side, needs) in [(NEW, new), (DUE, due), (NEW, new), (DUE, all), (NEW, all)] {
            left -= self.divide(side, left, needs);
        }
    }

    /// Divides an amount evenly among the buckets of a side that need any; returns what found room.
    fn divide(&mut self, side: usize, amount: f64, needs: [bool; 2]) -> f64 {
        let count = needs.iter().filter(|needs| **needs).count();
        let needy = self.wanted[side].iter_mut().zip(needs).filter(|(_, needs)| *needs);
        needy.map(|(bucket, _)| bucket.fill(amount / count as f64)).sum()
    }

    fn bucket(&mut self, kind: Kind) -> Option<&mut Bucket> {
        match kind {
            Kind::Free => None,
            Kind::Wanted { is_due, is_expensive } => {
                Some(&mut self.wanted[usize::from(is_due)][usize::from(is_expensive)])
            }
            Kind::Idle(place) => Some(&mut self.idle[place]),
        }
    }

    /// Takes a walk's expected cost; false where nothing is left. A walk may cost more than there is: the bucket
    /// is then in debt until time has paid.
    pub(super) fn reserve(&mut self, kind: Kind, expected: Duration) -> bool {
        let Some(bucket) = self.bucket(kind) else {
            return true;
        };
        let is_allowed = bucket.level > 0.0;
        if is_allowed {
            bucket.level -= expected.as_secs_f64();
        }
        is_allowed
    }

    /// Gives back what was reserved, and takes what the walk cost from the bucket of such a cost: one that is cheap by
    /// mistake leaves the cheap no debt.
    pub(super) fn settle(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        for (cost, sign) in [(expected, 1.0), (cost, -1.0)] {
            if let Some(bucket) = self.bucket(Kind::new(purpose, cost)) {
                bucket.level += sign * cost.as_secs_f64();
            }
        }
    }
}
