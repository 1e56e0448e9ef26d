//! The policy: chooses the processes to walk in a tick.
//!
//! Pure: what is known of each process goes in, the walks to make come out, and what walks have cost is
//! charged afterwards. The sampler knows only [`Planner`].
//!
//! A process is *dirty* when its glance shows that it changed, or when others that may share memory with it
//! came, went or shrank. The rest are *idle*: nothing says that a walk would show anything new. They are
//! walked again before `max_age` all the same, spread over time. A process whose memory is nearly all anonymous
//! and private may wait 32 times as long: nobody else can change its PSS by more than a sixteenth.
//!
//! Dirty processes are walked within the budget in order of `weight × age² ÷ cost`, which walks each about as
//! often as `√(weight ÷ cost)` asks for (known in queueing theory as an index policy for the age of information).
//! Age raises it without bound, so that nobody starves. Idle ones have small token buckets of their own, so that a still machine
//! costs next to nothing however much memory it holds. Expensive processes, one walk of which would take what
//! many others need, have buckets of their own likewise, and go into debt: after one such walk, the next waits
//! until the budget has paid for it.

use std::time::Duration;

pub use super::token_bucket::Purpose;
use super::token_bucket::{self, Buckets};

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
    /// CPU time of its last walk.
    pub cost: Duration,
    /// Upper bound on the error of its shown PSS and `SwapPss`, in bytes: what it did itself and what others did to it
    /// since the last walk; 0 right after one.
    pub bound: u64,
    /// It ran since the last walk, though nothing of its memory is seen to have changed.
    pub ran: bool,
    /// Its PSS at the last walk.
    pub pss: u64,
    /// Upper bound on a PSS change caused by other processes, in bytes: memory that is or may become shared.
    pub externally_mutable: u64,
    /// Somebody looks at it.
    pub focus: bool,
}

/// A walk to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The candidate's place.
    pub index: usize,
    /// The reason, to be told to [`Planner::charge`].
    pub purpose: Purpose,
}

/// Age from which a process that ran without a trace in its memory is walked: pages may have turned from
/// shared to private, which neither RSS nor the counts of faults show.
const RAN_AGE: Duration = Duration::from_secs(5);
/// Factor on `max_age` for idle processes of which nearly all memory is their own.
const PRIVATE_AGE_FACTOR: u32 = 32;
/// Part of the PSS, as a shift, below which what others can change does not matter: a sixteenth.
const PRIVATE_SHIFT: u32 = 4;
/// Weight of a process that somebody looks at: its figures are walked as if they were twice as old.
const FOCUS_WEIGHT: f64 = 4.0;
/// The least cost that a walk is taken to have, in seconds: what opening and reading the file takes.
const MIN_COST: f64 = 10e-6;
/// An idle process may be walked once its age exceeds its allowed age divided by this: being early by different
/// times spreads the walks out.
const EARLIEST_PART: u32 = 4;

/// The policy and its token buckets.
#[derive(Clone, Debug)]
pub struct Planner {
    policy: Policy,
    buckets: Buckets,
    last: Option<Duration>,
    waiting: usize,
    /// The fraction of a walk of an idle process that is still to be made.
    idle_pace: f64,
}

impl Planner {
    /// Creates a planner that has spent nothing.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            buckets: Buckets::new(policy.budget.unwrap_or(1.0)),
            last: None,
            waiting: 0,
            idle_pace: 0.0,
        }
    }

    /// Returns the policy.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns how many new and dirty processes the last choice left out for want of budget.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Chooses the walks to make now, in order. Calls must come in order of time.
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

        let mut new = Vec::new();
        let mut dirty = Vec::new();
        let mut idle = Vec::new();
        for (index, c) in able {
            match c.age {
                None => new.push(index),
                Some(age) if is_dirty(c, age) => dirty.push((index, score(c, age))),
                Some(age) if age * EARLIEST_PART >= self.max_age(c) => {
                    idle.push((index, self.max_age(c).as_secs_f64() - age.as_secs_f64()));
                }
                Some(_) => {}
            }
        }
        let is_expensive = |i: &usize| token_bucket::is_expensive(candidates[*i].cost);
        self.buckets.fill(step, dirty.iter().any(|(i, _)| is_expensive(i)));

        let mut chosen = Vec::new();
        // A row without figures is worse than any old one.
        new.sort_by_key(|i| !candidates[*i].focus);
        self.reserve(Purpose::New, new.into_iter(), candidates, &mut chosen);
        dirty.sort_by(|a, b| b.1.total_cmp(&a.1));
        let dirty = dirty.into_iter().map(|(i, _)| i);
        self.reserve(Purpose::Dirty, dirty, candidates, &mut chosen);
        // An idle process that waits is not counted: its figures are right as far as anything can tell.
        let waiting = self.waiting;
        idle.sort_by(|a, b| a.1.total_cmp(&b.1));
        self.idle_pace += idle_walks(idle.iter().map(|(_, left)| *left), step);
        let count = self.idle_pace as usize;
        self.idle_pace = self.idle_pace.fract();
        let idle = idle.into_iter().take(count).map(|(i, _)| i);
        self.reserve(Purpose::Idle, idle, candidates, &mut chosen);
        self.waiting = waiting;
        chosen
    }

    /// Returns the age that the figures of an idle process may reach. It is much higher where nothing that others
    /// do can change them by more than a sixteenth: what they do is observed anyway.
    fn max_age(&self, c: &Candidate) -> Duration {
        let is_private = c.externally_mutable < c.pss >> PRIVATE_SHIFT;
        self.policy.max_age * if is_private { PRIVATE_AGE_FACTOR } else { 1 }
    }

    /// Chooses from those wanted as many as the buckets allow.
    fn reserve(
        &mut self,
        purpose: Purpose,
        wanted: impl Iterator<Item = usize>,
        candidates: &[Candidate],
        chosen: &mut Vec<Choice>,
    ) {
        for index in wanted {
            if self.buckets.reserve(purpose, candidates[index].cost) {
                chosen.push(Choice { index, purpose });
            } else {
                self.waiting += 1;
            }
        }
    }

    /// Charges the CPU time that a walk cost; `expected` is what it was reserved with.
    pub fn charge(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        if self.policy.budget.is_some() {
            self.buckets.settle(purpose, expected, cost);
        }
    }
}

fn is_dirty(c: &Candidate, age: Duration) -> bool {
    c.bound > 0 || (c.ran && age >= RAN_AGE)
}

/// Returns how much a walk of a dirty process is worth for its cost.
fn score(c: &Candidate, age: Duration) -> f64 {
    let pages = (c.bound >> 12) as f64;
    let weight = (1.0 + (1.0 + pages).log2()) * if c.focus { FOCUS_WEIGHT } else { 1.0 };
    weight * age.as_secs_f64().powi(2) / c.cost.as_secs_f64().max(MIN_COST)
}

/// Returns how many idle processes must be walked in a step, on average, so that at an even pace each is before
/// its time is up. `left` holds the seconds left of each, the fewest first, below zero where it is up already.
fn idle_walks(left: impl Iterator<Item = f64>, step: Duration) -> f64 {
    let step = step.as_secs_f64().max(1e-3);
    left.enumerate()
        .map(|(place, left)| (place + 1) as f64 * step / left.max(step))
        .fold(0.0, f64::max)
}
