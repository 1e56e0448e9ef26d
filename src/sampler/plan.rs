//! The policy: which processes to walk in a tick.
//!
//! Pure, and all the sampler knows of it is [`choose`]: a policy that weighs cost against age replaces
//! what is in here and nothing else.

use std::time::Duration;

/// What the policy knows of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Whether it has memory to walk: kernel threads, zombies and processes that cannot be glanced at have
    /// none.
    pub walkable: bool,
    /// Whether a walk of it is still waiting for its turn or has not returned; there is never a second.
    pub outstanding: bool,
    /// How old its last walk is; `None` where there is none.
    pub age: Option<Duration>,
    /// What its last walk cost.
    pub cost: Duration,
    /// Whether its faults, its time on a processor or its RSS have moved since the last walk.
    pub moved: bool,
    /// Whether someone looks at it.
    pub focus: bool,
}

/// The indices of those to walk, in the order in which to do so. Today: everything that can be.
pub fn choose(candidates: &[Candidate]) -> Vec<usize> {
    (0..candidates.len())
        .filter(|at| candidates[*at].walkable && !candidates[*at].outstanding)
        .collect()
}
