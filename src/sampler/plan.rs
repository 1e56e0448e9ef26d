//! The policy: chooses the processes to walk in a tick.
//!
//! Pure: what is known of each process goes in, the walks to make come out, and what walks have cost is
//! charged afterwards. The sampler knows only [`Planner`].
//!
//! # Turns
//! A process that was never walked is *new*. One is *due* when its figure may be wrong by more than somebody would notice,
//! and *idle* otherwise. The [turn](Policy::turn) of each:
//!
//! | process | walked again at the age of |
//! | --- | --- |
//! | bound above the tolerance, in focus | 0: it is shown again in the same tick. Half of the tolerance costs half as much again |
//! | bound above 4 tolerances, not in focus | 0 |
//! | bound above the tolerance, not in focus | `max_age` |
//! | it ran, and its counters cannot be read | 5 s |
//! | in focus, it faulted more often than ever proved harmless | 3 s |
//! | in focus, it faulted | 4000 times what its walk costs, and 3 s at least |
//! | the rest, where others can change it beyond its tolerance unseen | `max_age` |
//! | the rest | 32 times `max_age` |
//!
//! What nobody looks at may be looser, since it is looked at in sums, where single errors are small, and by verdicts and
//! alerts, which judge minutes: what grows there is right to its tolerance at least once in `max_age`, and anonymous memory,
//! where leaks are, is counted without a walk. It is walked at once when it comes in sight.
//!
//! # Order
//! New and due processes are walked in order of urgency ÷ cost. The urgency of a due one is `weight × bound in tolerances ×
//! age`: the bound mostly grows with age itself, so that each is walked about as often as `√(weight × rate ÷ cost)` asks
//! for (known in queueing theory as an index policy for the age of information). Age raises it without bound, so that
//! nobody starves. A new one's grows with the time that it has been without figures.
//!
//! # Budget
//! New and due processes have purses of their own, half of the budget each, and each half is shared by cheap and expensive
//! ones, of which one walk takes what many others need. What one purse does not need the others get. So due processes
//! keep half of the budget whatever starts, and the expensive hold up nobody but their like: after one such walk, the next
//! waits until the budget has paid for it. Idle ones have small shares, so that a still machine costs next to nothing
//! however much memory it holds.

use std::time::Duration;

pub use super::token_bucket::Purpose;
use super::token_bucket::{Buckets, Kind};

/// Limits on what walks may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The share of one core that walks may take, 1.0 being all of it; `None` walks everything every tick.
    pub budget: Option<f64>,
    /// The age that the figures of an idle process may reach.
    pub max_age: Duration,
}

impl Policy {
    /// Walks everything every tick, for a single table.
    pub const UNLIMITED: Self = Self {
        budget: None,
        max_age: Duration::from_secs(30),
    };
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            // Enough for a thousand walks of 50 µs a second.
            budget: Some(0.05),
            ..Self::UNLIMITED
        }
    }
}

/// The state of a process, as far as the policy knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    /// It has memory to walk: kernel threads, zombies and processes that cannot be glanced at have
    /// none.
    pub walkable: bool,
    /// A walk of it is still waiting for its turn or has not returned; there is never a second.
    pub outstanding: bool,
    /// The age of its last walk; `None` where there is none.
    pub age: Option<Duration>,
    /// The time it has been known, for one that was never walked.
    pub waited: Duration,
    /// CPU time of its last walk; of one that was never walked, as [`first_cost`] predicts it.
    pub cost: Duration,
    /// The age below which it is left alone: its walk holds up what it does.
    pub rest: Duration,
    /// Upper bound on the error of its shown PSS and `SwapPss`, in bytes: what it did itself and what others did to it
    /// since the last walk; 0 right after one.
    pub bound: u64,
    /// It ran since the last walk, and what that changed cannot be told.
    pub ran: bool,
    /// Its faults since the last walk may have changed more than is tolerated: pages of one file in place of another's leave
    /// no other trace.
    pub faulted: bool,
    /// As many have proved harmless before.
    pub proven: bool,
    /// The error of its figures that nobody minds, in bytes.
    pub tolerance: u64,
    /// Upper bound on a PSS change that another process can cause unseen, in bytes.
    pub externally_mutable: u64,
    /// Somebody looks at it.
    pub focus: bool,
    /// Its last walk was made at an idle one's turn. The first turns after other walks are spread out.
    pub was_idle: bool,
    /// A number by which turns are spread out, such as that of its entry.
    pub place: u64,
}

/// The walk that a process is to have next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its reason.
    pub purpose: Purpose,
    /// The age from which it is wanted.
    pub from: Duration,
}

/// A walk to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The candidate's place.
    pub index: usize,
    /// The reason, to be told to [`Planner::charge`].
    pub purpose: Purpose,
}

/// Multiple of the tolerance from which any other is due at once: the table in the module's page says why.
const UNSEEN_FACTOR: u64 = 4;
/// Age from which a process that ran is walked, where no counters tell what that changed: pages may have turned from shared
/// to private, which neither RSS nor the counts of faults show.
const RAN_AGE: Duration = Duration::from_secs(5);
/// Age from which a process in focus that faulted is walked: those that share its pages are told by that and walked in the
/// next tick, and all are to be right within 6 s.
const FAULTED_AGE: Duration = Duration::from_secs(3);
/// Multiple of what its walk costs for which one is left alone of which as many faults proved harmless: what always was need
/// not stay so. That is a 4000th of a core at most. Of 48 rows of busy servers it makes a tenth more walks than age alone.
const PROVEN_REST: u32 = 4000;
/// Factor on `max_age` for idle processes to which others can do nothing that would be noticed.
const PRIVATE_AGE_FACTOR: u32 = 32;
/// Weight of a process that somebody looks at: its figures are walked as if they were twice as old.
const FOCUS_WEIGHT: f64 = 4.0;
/// The range of bounds, in tolerances, by which due processes are told apart. A doubt alone counts a quarter, and
/// what is wrong by far does not hold up what is wrong.
const URGENCY: (f64, f64) = (0.25, 64.0);
/// The least cost that a walk is taken to have, in seconds: what opening and reading the file takes.
const MIN_COST: f64 = 10e-6;
/// Parts of an idle process's turn by which it is early at most, differently for each, after a walk of another purpose and
/// after one at its turn: walks made at one time, as those of a first scan, are spread out, and then drift on.
const EARLY: [f64; 2] = [0.75, 0.125];
/// The same of one that is due by its age.
const EARLY_DUE: f64 = 0.25;
/// CPU time of a walk that finds nothing resident: opening, reading and 50 areas.
const BASE_COST: Duration = Duration::from_micros(30);
/// Bytes resident that cost a nanosecond more: pages of 4 KiB at 80 ns each. Space without pages is passed over.
const BYTES_PER_NANOSECOND: u64 = 50;

/// Predicts what the first walk of a process costs, from its RSS. A child just forked rather costs what its parent does.
pub const fn first_cost(rss: u64) -> Duration {
    BASE_COST.saturating_add(Duration::from_nanos(rss / BYTES_PER_NANOSECOND))
}

impl Policy {
    /// Returns the walk that a process is to have next.
    pub fn turn(&self, c: &Candidate) -> Turn {
        let Some(age) = c.age else {
            return Turn {
                purpose: Purpose::New,
                from: Duration::ZERO,
            };
        };
        let tolerance = c.tolerance;
        let limit = if c.focus {
            tolerance
        } else {
            tolerance.saturating_mul(UNSEEN_FACTOR)
        };
        // Multiplied by 2⁶⁴ divided by the golden ratio, numbers in a row lie far apart.
        let spread = c.place.wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / u64::MAX as f64;
        let due = if c.bound > limit {
            Duration::ZERO
        } else if c.ran {
            RAN_AGE.mul_f64(1.0 - spread * EARLY_DUE)
        } else if c.bound > tolerance {
            self.max_age.mul_f64(1.0 - spread * EARLY_DUE)
        } else {
            Duration::MAX
        };
        let due = match (c.focus && c.faulted, c.proven) {
            (false, _) => due,
            (true, false) => due.min(FAULTED_AGE),
            (true, true) => due.min(FAULTED_AGE.max(c.cost.saturating_mul(PROVEN_REST))),
        };
        let is_exposed = c.externally_mutable > tolerance;
        let idle = self.max_age * if is_exposed { 1 } else { PRIVATE_AGE_FACTOR };
        let idle = idle.mul_f64(1.0 - spread * EARLY[usize::from(c.was_idle)]);
        let (purpose, from) = if due <= idle.max(age) {
            (Purpose::Due, due)
        } else {
            (Purpose::Idle, idle)
        };
        Turn {
            purpose,
            from: from.max(c.rest),
        }
    }
}

/// The policy and its token buckets.
#[derive(Clone, Debug)]
pub struct Planner {
    policy: Policy,
    buckets: Buckets,
    last: Option<Duration>,
    waiting: usize,
}

impl Planner {
    /// Creates a planner that has spent nothing.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            buckets: Buckets::new(policy.budget.unwrap_or(1.0)),
            last: None,
            waiting: 0,
        }
    }

    /// Returns the policy.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns how many new and due processes the last choice left out for want of budget.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Chooses the walks to make now, in order. Calls must come in order of time. Processes whose turn has not come may
    /// be left out.
    pub fn choose(&mut self, now: Duration, candidates: &[Candidate]) -> Vec<Choice> {
        let since = self.last.map(|last| now.saturating_sub(last));
        self.last = Some(now);
        self.waiting = 0;
        let able = candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| c.walkable && !c.outstanding);
        // The first scan of a machine walks everything, and so does every scan without a budget.
        let Some((step, _)) = since.zip(self.policy.budget) else {
            let choice = |(index, _)| Choice {
                index,
                purpose: Purpose::Initial,
            };
            return able.map(choice).collect();
        };

        let mut wanted: Vec<(Purpose, f64, usize)> = able
            .filter_map(|(index, c)| {
                let turn = self.policy.turn(c);
                let is_wanted = c.age.unwrap_or_default() >= turn.from;
                is_wanted.then(|| (turn.purpose, score(c, turn), index))
            })
            .collect();
        let kinds = wanted
            .iter()
            .map(|(purpose, _, i)| Kind::new(*purpose, candidates[*i].cost));
        self.buckets.fill(step, kinds);

        wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut chosen = Vec::new();
        for (purpose, _, index) in wanted {
            if self
                .buckets
                .reserve(Kind::new(purpose, candidates[index].cost), candidates[index].cost)
            {
                chosen.push(Choice { index, purpose });
            } else if purpose != Purpose::Idle {
                // An idle process that waits is not counted: its figures are right as far as anything can tell.
                self.waiting += 1;
            }
        }
        // A row without figures is worse than any old one, and the expensive keep all behind them waiting.
        chosen.sort_by_key(|choice| {
            let kind = Kind::new(choice.purpose, candidates[choice.index].cost);
            (
                kind.is_expensive(),
                choice.purpose != Purpose::New,
                choice.purpose == Purpose::Idle,
            )
        });
        chosen
    }

    /// Charges the CPU time that a walk cost; `expected` is what it was reserved with.
    pub fn charge(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        if self.policy.budget.is_some() {
            self.buckets.settle(purpose, expected, cost);
        }
    }
}

/// Returns how much a walk is worth for its cost, among those of the same purpose.
fn score(c: &Candidate, turn: Turn) -> f64 {
    let weight = if c.focus { FOCUS_WEIGHT } else { 1.0 };
    let urgency = match (turn.purpose, c.age) {
        (Purpose::Due, Some(age)) => {
            let bound = c.bound as f64 / c.tolerance.max(1) as f64;
            bound.clamp(URGENCY.0, URGENCY.1) * age.as_secs_f64()
        }
        // Those whose time is up for longest go first, whatever they cost: their share is small, and so are their needs.
        (_, Some(age)) => return age.saturating_sub(turn.from).as_secs_f64(),
        (_, None) => 1.0 + c.waited.as_secs_f64(),
    };
    weight * urgency / c.cost.as_secs_f64().max(MIN_COST)
}
