//! The policy: which processes to walk in a tick.
//!
//! Pure: what is known of each process goes in, the walks to make come out, and what walks have cost is
//! charged afterwards. All the sampler knows of it is [`Planner`].
//!
//! A process is *due* when its glance shows that it changed, or when others that may share memory with it
//! came, went or shrank. The rest are *silent*: nothing says that a walk would show anything new; they are
//! walked again before `max_age` all the same, spread over time; before 32 times that where nearly all of their
//! memory is anonymous and their own, so that nobody else can move their PSS by more than a sixteenth part. Due processes are walked within the budget
//! in order of `weight × age² ÷ cost`, which walks each about as often as `√(weight ÷ cost)` asks for (the
//! index policy for the age of information): age raises it without bound, so that nobody starves. Silent
//! ones have a small purse of their own, so that a still machine costs next to nothing however much memory
//! it holds. Dear processes, one walk of which would take what many others need, have purses of their own
//! likewise, and go into debt: they are walked as seldom as the budget allows, and no less.

pub mod purse;

use std::time::Duration;

pub use purse::Purpose;
use purse::Purses;

/// What walks may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The share of one core that walks may take, 1.0 being all of it; `None` walks everything every tick.
    pub budget: Option<f64>,
    /// How old the figures of a process may become of which nothing says that it changed.
    pub max_age: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            budget: Some(0.05),
            max_age: Duration::from_secs(30),
        }
    }
}

/// What the policy knows of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Whether it has memory to walk: kernel threads, zombies and processes that cannot be glanced at have
    /// none.
    pub walkable: bool,
    /// Whether a walk of it is still waiting for its turn or has not returned; there is never a second.
    pub outstanding: bool,
    /// How old its last walk is; `None` where there is none.
    pub age: Option<Duration>,
    /// What its last walk cost, in processor time.
    pub cost: Duration,
    /// How many bytes its own doings since the last walk may have changed.
    pub own: u64,
    /// It ran since the last walk, though nothing of its memory is seen to have moved.
    pub ran: bool,
    /// How many bytes of its PSS others may have changed.
    pub sharers: u64,
    /// Its PSS at the last walk.
    pub pss: u64,
    /// How many bytes of its PSS could change at all without a sign of its own: what it shares, and what
    /// others might come to share. Anonymous memory of its own is not among them.
    pub externally_mutable: u64,
    /// Whether someone looks at it.
    pub focus: bool,
}

/// A walk to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which candidate.
    pub index: usize,
    /// What for; to be told to [`Planner::charge`].
    pub purpose: Purpose,
}

/// What others may have changed counts from this on.
const LEAST_SHARED: u64 = 64 << 10;
/// A process that ran without a trace in its memory is walked when its figures are this old.
const RAN_AGE: Duration = Duration::from_secs(5);
/// How much longer silent processes are left alone of which nearly everything is their own.
const PATIENCE: u32 = 32;
/// What is looked at is walked as if its figures were twice as old.
const FOCUS_WEIGHT: f64 = 4.0;
/// The least a walk is taken to cost, in seconds.
const LEAST_COST: f64 = 10e-6;

/// The policy and its purses.
#[derive(Clone, Debug)]
pub struct Planner {
    policy: Policy,
    purses: Purses,
    last: Option<Duration>,
    waiting: usize,
    /// What part of a walk of a silent process is owed.
    pace: f64,
}

impl Planner {
    /// A planner that has spent nothing.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            purses: Purses::new(policy.budget.unwrap_or(1.0)),
            last: None,
            waiting: 0,
            pace: 0.0,
        }
    }

    /// The policy.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// How many due processes the last choice left out for want of budget.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Those to walk now, in the order in which to do so. Calls must come in order of time.
    pub fn choose(&mut self, now: Duration, candidates: &[Candidate]) -> Vec<Choice> {
        let since = self.last.map(|last| now.saturating_sub(last));
        self.last = Some(now);
        self.waiting = 0;
        let able = candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| c.walkable && !c.outstanding);
        // The first look at a machine is whole, and so is every one without a budget.
        let Some((step, _)) = since.zip(self.policy.budget) else {
            return able
                .map(|(index, _)| Choice {
                    index,
                    purpose: Purpose::First,
                })
                .collect();
        };

        let mut new = Vec::new();
        let mut due = Vec::new();
        let mut silent = Vec::new();
        for (index, c) in able {
            match c.age {
                None => new.push(index),
                Some(age) if is_due(c, age) => due.push((index, score(c, age))),
                // The young are left alone: they are spread out by being walked early.
                Some(age) if age * 4 >= self.may_become(c) => {
                    silent.push((index, self.may_become(c).as_secs_f64() - age.as_secs_f64()));
                }
                Some(_) => {}
            }
        }
        let dear = |i: &usize| purse::is_dear(candidates[*i].cost);
        let dear_due = due.iter().any(|(i, _)| dear(i));
        self.purses.fill(step, dear_due);

        let mut chosen = Vec::new();
        // A row without figures is worse than any old one.
        new.sort_by_key(|i| !candidates[*i].focus);
        self.take(new.into_iter().map(|i| (i, Purpose::New)), candidates, &mut chosen);
        due.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.take(due.into_iter().map(|(i, _)| (i, Purpose::Due)), candidates, &mut chosen);
        let left_due = self.waiting;
        silent.sort_by(|a, b| a.1.total_cmp(&b.1));
        self.pace += refresh(silent.iter().map(|(_, left)| *left), step);
        let count = self.pace as usize;
        self.pace = self.pace.fract();
        self.take(
            silent.into_iter().take(count).map(|(i, _)| (i, Purpose::Silent)),
            candidates,
            &mut chosen,
        );
        self.waiting = left_due;
        chosen
    }

    /// How old the figures of a process may become of which nothing says that it changed: much older than
    /// others' where nothing that others do can move them by more than a sixteenth part, and what they do is heard anyway.
    fn may_become(&self, c: &Candidate) -> Duration {
        let own = c.externally_mutable < c.pss >> 4;
        self.policy.max_age * if own { PATIENCE } else { 1 }
    }

    /// Takes from those wanted what the purses allow.
    fn take(
        &mut self,
        wanted: impl Iterator<Item = (usize, Purpose)>,
        candidates: &[Candidate],
        chosen: &mut Vec<Choice>,
    ) {
        for (index, purpose) in wanted {
            if self.purses.reserve(purpose, candidates[index].cost) {
                chosen.push(Choice { index, purpose });
            } else {
                self.waiting += 1;
            }
        }
    }

    /// Charges what a walk cost in processor time; `expected` is what it was reserved with.
    pub fn charge(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        if self.policy.budget.is_some() {
            self.purses.settle(purpose, expected, cost);
        }
    }
}

fn is_due(c: &Candidate, age: Duration) -> bool {
    c.own > 0 || c.sharers >= LEAST_SHARED.max(c.pss >> 8) || (c.ran && age >= RAN_AGE)
}

/// How much a walk of a due process is worth for its cost.
fn score(c: &Candidate, age: Duration) -> f64 {
    let pages = (c.own.saturating_add(c.sharers) >> 12) as f64;
    let weight = (1.0 + (1.0 + pages).log2()) * if c.focus { FOCUS_WEIGHT } else { 1.0 };
    weight * age.as_secs_f64().powi(2) / c.cost.as_secs_f64().max(LEAST_COST)
}

/// How many of the silent ones must be walked in a step, on average, so that at an even pace each is before its
/// time is up; of `left` seconds the fewest come first, below zero where it is up already.
fn refresh(left: impl Iterator<Item = f64>, step: Duration) -> f64 {
    let step = step.as_secs_f64().max(1e-3);
    left.enumerate()
        .map(|(place, left)| (place + 1) as f64 * step / left.max(step))
        .fold(0.0, f64::max)
}
