//! The policy: chooses the processes to walk in a tick.
//!
//! Pure: the input is the state of each process, the output is the list of walks, and their actual cost is charged afterwards.
//! The rest of the sampler uses only [`Planner`].
//!
//! # Turns
//! A process that was never walked is *new*. It is *due* if its figure may be wrong by more than a reader would
//! notice, and *idle* otherwise. The [turn](Policy::turn) of each:
//!
//! | process | walked again at the age of |
//! | --- | --- |
//! | bound above the tolerance, in focus | 0: it is shown again in the same tick. Half the tolerance would cost 50 % more CPU time |
//! | bound above 4 tolerances, not in focus | 0 |
//! | bound above the tolerance, not in focus | `max_age` |
//! | it ran, and its counters cannot be read, or it has much lazily freed memory | 5 s |
//! | it has much lazily freed memory, for its size | 10 s |
//! | in focus, with more faults than ever proved harmless | 3 s |
//! | in focus, with faults | 4000 times the cost of its walk, and at least 3 s |
//! | others, if other processes can change it by more than its tolerance unseen | `max_age` |
//! | others | 32 times `max_age` |
//!
//! Rows that are not in focus get a wider tolerance. They appear only in sums, where individual errors are small, and
//! in verdicts and alerts, which judge minutes. The figures of a growing process are still within its tolerance at
//! least once per `max_age`, and anonymous memory, where leaks are, is counted without a walk. A process is walked at
//! once when it comes into focus.
//!
//! # Order
//! New and due processes are walked in order of urgency ÷ cost. The urgency of a due process is `weight × bound in
//! tolerances × age`. The bound itself mostly grows with age, so each process is walked about as often as `√(weight ×
//! rate ÷ cost)` demands (known in queueing theory as an index policy for the age of information). Age raises the
//! urgency without limit, so no process starves. The urgency of a new process grows with the time that it has been
//! without figures, and with what it has grown since. The users of new processes take turns, and those of due ones, so a user
//! with many delays only their own.
//!
//! # Budget
//! New and due processes get half of the budget each. Each half is split between cheap and expensive processes,
//! because one walk of an expensive process takes as much as many others. What one bucket does not need goes to the
//! others. So due processes keep half of the budget however many processes start, and expensive ones delay only each
//! other: after such a walk, the next expensive one waits until the budget has paid for it. Idle processes have small
//! shares, so an idle machine costs next to nothing however much memory it holds.

use std::collections::HashMap;
use std::time::Duration;

use super::rotation::part;

/// The CPU budget for walks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The share of one core that walks may use; 1.0 is a whole core. `None` walks every process in every tick.
    pub budget: Option<f64>,
    /// Maximum age of the figures of an idle process.
    pub max_age: Duration,
}

impl Policy {
    /// Walks every process in every tick, for a single table.
    pub const UNLIMITED: Self = Self {
        budget: None,
        max_age: Duration::from_secs(30),
    };
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            // Enough for 1000 walks of 50 µs per second.
            budget: Some(0.05),
            ..Self::UNLIMITED
        }
    }
}

/// The state of a process, as far as the policy uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    /// It has memory to walk. Kernel threads, zombies and processes whose glance failed have none.
    pub walkable: bool,
    /// A walk of it is queued or has not returned. There is never a second one.
    pub outstanding: bool,
    /// The age of its last walk; `None` if there was none.
    pub age: Option<Duration>,
    /// The time since it was first seen.
    pub waited: Duration,
    /// The growth of the RSS of a new process since it was first seen, in bytes.
    pub grown: u64,
    /// CPU time of its last walk; for a new process, the prediction of [`first_cost`].
    pub cost: Duration,
    /// Minimum age before the next walk, because its walks delay the process.
    pub rest: Duration,
    /// Upper bound on the error of its shown PSS + `SwapPss`, in bytes: its own changes and those by others since the
    /// last walk. 0 right after a walk.
    pub bound: u64,
    /// It ran since the last walk, and no counter shows the changes.
    pub ran: bool,
    /// It has [much](is_much_lazy) lazily freed memory, which other processes can write unseen while it rests (`process_vm_writev`).
    pub lazy: bool,
    /// Its faults since the last walk may have changed more than the tolerance: pages of one file that replace those
    /// of another leave no other trace.
    pub faulted: bool,
    /// As many faults have proved harmless before.
    pub proven: bool,
    /// The tolerated error of its figures, in bytes.
    pub tolerance: u64,
    /// Upper bound on a PSS change that another process can cause unseen, in bytes.
    pub externally_mutable: u64,
    pub focus: bool,
    /// Its last walk was one of an idle process. After other walks, the first idle turns are spread out.
    pub was_idle: bool,
    /// A number by which turns are spread out, such as its serial number.
    pub place: u64,
    /// The user who is responsible for it, if known yet.
    pub user: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub purpose: Purpose,
    /// The age at which it is wanted.
    pub from: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub index: usize,
    /// The reason, which [`Planner::charge`] needs.
    pub purpose: Purpose,
}

/// Multiple of the tolerance at which a process not in focus is due at once: see the table in the module's page.
const UNSEEN_FACTOR: u64 = 4;
/// Age at which a process that ran is walked if no counters show what changed: pages may have turned from shared to
/// private, or lazily freed ones may be in use again, which neither RSS nor the fault counts show.
const RAN_AGE: Duration = Duration::from_secs(5);
/// Age at which a process with much lazily freed memory is walked if it rests.
const LAZY_AGE: Duration = Duration::from_secs(10);
/// Minimum of lazily freed memory that is much, in bytes; and of a process that rests, inverse of its minimum share of RSS.
const MUCH_LAZY: u64 = 8 << 20;
const LAZY_SHARE: u64 = 16;
/// Age at which a process in focus with faults is walked. The processes that share its pages then get a new bound and
/// are walked in the next tick, and all must be right within 6 s.
const FAULTED_AGE: Duration = Duration::from_secs(3);
/// Multiple of its walk's cost for which a process is left alone if as many faults proved harmless before: a 4000th
/// of a core at most. It is finite because the behaviour may change. For 48 rows of busy servers, this makes 10 %
/// more walks than age alone.
const PROVEN_REST: u32 = 4000;
/// Factor on `max_age` for idle processes that others cannot change noticeably.
const PRIVATE_AGE_FACTOR: u32 = 32;
/// Weight of a process in focus: it is walked as if its figures were twice as old.
const FOCUS_WEIGHT: f64 = 4.0;
/// The range of bounds, in tolerances, that affects the order of due processes. A process that may have changed
/// without a bound counts 1/4, and one that is far off does not delay others that are off.
const URGENCY: (f64, f64) = (0.25, 64.0);
/// Growth of a new process that makes it as urgent as a second of waiting, in bytes.
const GROWN_PER_SECOND: u64 = 16 << 20;
/// Minimum cost assumed for a walk, in seconds: opening and reading the file.
const MIN_COST: f64 = 10e-6;
/// Maximum fraction by which the turn of an idle process is early, differently for each: after a walk of another
/// purpose, and after an idle one. It spreads out walks made at the same time, such as in a first scan; later
/// they drift apart.
const EARLY: [f64; 2] = [0.75, 0.125];
/// The same for a process that is due because of its age.
const EARLY_DUE: f64 = 0.25;
/// CPU time of a walk that finds nothing resident: opening, reading and 50 areas.
const BASE_COST: Duration = Duration::from_micros(30);
/// Resident bytes that add 1 ns: pages of 4 KiB at 80 ns each. Address space without pages is skipped.
const BYTES_PER_NANOSECOND: u64 = 50;

/// Predicts the CPU time of a process's first walk from its RSS. For a child just forked, the cost of its parent is a
/// better prediction.
pub const fn first_cost(rss: u64) -> Duration {
    BASE_COST.saturating_add(Duration::from_nanos(rss / BYTES_PER_NANOSECOND))
}

/// Returns true if so many bytes of lazily freed memory are read again soon, in a process that rests with that RSS, or that runs (0). In use
/// again, they are no longer available. At rest, the cost of a walk per byte is bounded.
pub fn is_much_lazy(bytes: u64, rss: u64) -> bool {
    bytes >= MUCH_LAZY.max(rss / LAZY_SHARE)
}

impl Policy {
    /// Returns the next walk of a process.
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
        let spread = part(c.place);
        let due = if c.bound > limit {
            Duration::ZERO
        } else if c.ran {
            RAN_AGE.mul_f64(1.0 - spread * EARLY_DUE)
        } else if c.lazy {
            LAZY_AGE.mul_f64(1.0 - spread * EARLY_DUE)
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
    pub policy: Policy,
    buckets: Buckets,
    last: Option<Duration>,
    /// When a new process, or a due one, of a user was chosen last, of users with more of them.
    served: HashMap<(bool, Option<u32>), Duration>,
    /// New and due processes that the last choice left out for lack of budget.
    pub waiting: usize,
}

impl Planner {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            buckets: Buckets {
                budget: policy.budget.unwrap_or(1.0),
                levels: [0.0; BUCKETS],
            },
            last: None,
            served: HashMap::new(),
            waiting: 0,
        }
    }

    /// Chooses the next walks, in order. Calls must come in order of time. Processes whose turn has not come may be omitted from
    /// `candidates`.
    pub fn choose(&mut self, now: Duration, candidates: &[Candidate]) -> Vec<Choice> {
        let since = self.last.map(|last| now.saturating_sub(last));
        self.last = Some(now);
        self.waiting = 0;
        let able = candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| c.walkable && !c.outstanding);
        // The first scan of a machine and a scan without a budget walk every process.
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
        let needed = wanted
            .iter()
            .filter_map(|(purpose, _, i)| bucket(*purpose, candidates[*i].cost));
        self.buckets.fill(step, needed);

        wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
        // The users take turns. If the walks of one are put off, their urgency would rise without limit.
        let mut counts: HashMap<(bool, Option<u32>), usize> = HashMap::new();
        wanted.sort_by_cached_key(|(purpose, _, index)| {
            if *purpose == Purpose::Idle {
                return (0, Duration::ZERO);
            }
            let user = (*purpose == Purpose::New, candidates[*index].user);
            let number = counts.entry(user).or_default();
            *number += 1;
            (*number, self.served.get(&user).copied().unwrap_or_default())
        });
        self.served.retain(|user, _| counts.contains_key(user));
        let mut chosen = Vec::new();
        for (purpose, _, index) in wanted {
            if self.buckets.reserve(purpose, candidates[index].cost) {
                chosen.push(Choice { index, purpose });
                if purpose != Purpose::Idle {
                    let user = (purpose == Purpose::New, candidates[index].user);
                    self.served.insert(user, now);
                }
            } else if purpose != Purpose::Idle {
                // A waiting idle process is not counted: no sign says that its figures are wrong.
                self.waiting += 1;
            }
        }
        // A missing figure is worse than an old one, and an expensive walk delays all walks behind it.
        chosen.sort_by_key(|choice| {
            (
                candidates[choice.index].cost > EXPENSIVE,
                choice.purpose != Purpose::New,
                choice.purpose == Purpose::Idle,
            )
        });
        chosen
    }

    /// Charges the CPU time of a walk; `expected` is what was reserved for it.
    pub fn charge(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        if self.policy.budget.is_some() {
            self.buckets.settle(purpose, expected, cost);
        }
    }
}

/// Returns the value of a walk relative to its cost, to compare walks of the same purpose.
fn score(c: &Candidate, turn: Turn) -> f64 {
    let weight = if c.focus { FOCUS_WEIGHT } else { 1.0 };
    let urgency = match (turn.purpose, c.age) {
        (Purpose::Due, Some(age)) => {
            let bound = c.bound as f64 / c.tolerance.max(1) as f64;
            bound.clamp(URGENCY.0, URGENCY.1) * age.as_secs_f64()
        }
        // The longest overdue come first, whatever they cost, because idle processes have only small shares and small
        // needs.
        (_, Some(age)) => return age.saturating_sub(turn.from).as_secs_f64(),
        // One that takes memory now must not wait behind many that only exist.
        (_, None) => 1.0 + c.waited.as_secs_f64() + (c.grown / GROWN_PER_SECOND) as f64,
    };
    weight * urgency / c.cost.as_secs_f64().max(MIN_COST)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The first scan of the machine, or a scan without a budget. Charged to no bucket.
    Initial,
    New,
    /// The figures may be wrong by more than the tolerance.
    Due,
    /// No sign of a change, but the figures are getting old.
    Idle,
}

/// CPU time above which a walk is expensive. It takes as much as many others, so it is paid from a bucket of its own.
const EXPENSIVE: Duration = Duration::from_millis(20);
/// CPU time above which a walk is not cheap. Idle processes of that kind have a smaller bucket.
const CHEAP: Duration = Duration::from_millis(1);
/// Shares of the budget for idle processes: cheap, medium, expensive. So the cost of unchanging memory does not grow
/// with its size. The first share pays for 1000 walks of 57 µs in the 23 s over which the turns after a first scan
/// are spread.
const IDLE_SHARES: [f64; 3] = [0.05, 0.02, 0.02];
/// Seconds of budget that may be saved for a burst of changes. New and due processes may both save it, so that no
/// minute takes more than 10 % beyond the budget.
const BURST: f64 = 2.0;
/// The indices of the buckets: for new and for due processes, cheap and expensive ones each; for idle processes, in the
/// order of [`IDLE_SHARES`].
const NEW: usize = 0;
const DUE: usize = 2;
const IDLE: usize = 4;
const BUCKETS: usize = IDLE + IDLE_SHARES.len();
/// The highest levels, in seconds of budget. Expensive walks go into debt, so a small level is enough to start one.
const CAPACITIES: [f64; BUCKETS] = [
    BURST,
    BURST / 8.0,
    BURST,
    BURST / 8.0,
    BURST * IDLE_SHARES[0],
    BURST * IDLE_SHARES[1],
    BURST * IDLE_SHARES[2],
];

impl Purpose {
    /// The number of kinds of idle processes, each with a share of its own.
    pub(crate) const IDLE_KINDS: usize = IDLE_SHARES.len();

    /// Returns the kind of an idle process, by the cost of a walk.
    pub(crate) fn idle_kind(self, cost: Duration) -> Option<usize> {
        (self == Self::Idle).then(|| usize::from(cost > CHEAP) + usize::from(cost > EXPENSIVE))
    }
}

/// Returns the bucket that pays for a walk, if any.
fn bucket(purpose: Purpose, cost: Duration) -> Option<usize> {
    let is_expensive = usize::from(cost > EXPENSIVE);
    match purpose {
        Purpose::Initial => None,
        Purpose::New => Some(NEW + is_expensive),
        Purpose::Due => Some(DUE + is_expensive),
        Purpose::Idle => purpose.idle_kind(cost).map(|kind| IDLE + kind),
    }
}

#[derive(Clone, Debug)]
struct Buckets {
    /// The share of one core that walks may use.
    budget: f64,
    /// Seconds of CPU time. A negative level is debt.
    levels: [f64; BUCKETS],
}

impl Buckets {
    /// Fills the buckets for `step`, first the `needed` ones and those in debt. The others save what is left.
    fn fill(&mut self, step: Duration, needed: impl Iterator<Item = usize>) {
        let mut needs = self.levels.map(|level| level < 0.0);
        needed.for_each(|bucket| needs[bucket] = true);
        let amount = self.budget * step.as_secs_f64();
        // Half is for due ones, even if others need it.
        let mut left = amount - self.divide(DUE, amount / 2.0, needs);
        for (kind, share) in IDLE_SHARES.into_iter().enumerate() {
            left -= self.add(IDLE + kind, amount * share);
        }
        let all = [true; BUCKETS];
        for (side, needs) in [(NEW, needs), (DUE, needs), (NEW, needs), (DUE, all), (NEW, all)] {
            left -= self.divide(side, left, needs);
        }
    }

    /// Divides an amount evenly between the cheap and the expensive bucket of a side, as far as they have `needs`;
    /// returns how much was added.
    fn divide(&mut self, side: usize, amount: f64, needs: [bool; BUCKETS]) -> f64 {
        let needy = (side..side + 2).filter(|bucket| needs[*bucket]);
        let count = needy.clone().count();
        needy.map(|bucket| self.add(bucket, amount / count as f64)).sum()
    }

    /// Adds as much of an amount as there is room for, and returns how much that is.
    fn add(&mut self, bucket: usize, amount: f64) -> f64 {
        let added = amount
            .min(self.budget * CAPACITIES[bucket] - self.levels[bucket])
            .max(0.0);
        self.levels[bucket] += added;
        added
    }

    /// Reserves a walk's expected cost; returns false if the bucket is empty. A walk may cost more than the level,
    /// which puts the bucket into debt.
    fn reserve(&mut self, purpose: Purpose, expected: Duration) -> bool {
        let Some(bucket) = bucket(purpose, expected) else {
            return true;
        };
        let level = &mut self.levels[bucket];
        let is_allowed = *level > 0.0;
        if is_allowed {
            *level -= expected.as_secs_f64();
        }
        is_allowed
    }

    /// Returns the reserved amount, and charges the actual cost to the bucket for that cost. So a walk wrongly
    /// expected to be cheap puts no debt on cheap walks.
    fn settle(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        for (cost, sign) in [(expected, 1.0), (cost, -1.0)] {
            if let Some(bucket) = bucket(purpose, cost) {
                self.levels[bucket] += sign * cost.as_secs_f64();
            }
        }
    }
}
