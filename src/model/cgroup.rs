//! What a cgroup says of itself.

use super::reading::{Missing, Reading};

/// The memory controller's own figures of one cgroup, in bytes. They are not the sum of its processes:
/// file cache, kernel memory and what ended processes left behind are in them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CgroupFigures {
    /// What is charged to it and all below it. `memory.current` (v2), `memory.usage_in_bytes` (v1).
    pub current: Reading<u64>,
    /// What of it is swapped out. `memory.swap.current` (v2), `memory.memsw.usage_in_bytes` less
    /// `memory.usage_in_bytes` (v1, where swap is accounted).
    pub swap: Reading<u64>,
    /// The most it may hold: the least limit of it and those above it; `Ok(None)` where there is none.
    /// `memory.max` (v2), `memory.limit_in_bytes` (v1).
    pub limit: Reading<Option<u64>>,
    /// The most of it that may be swapped out: the least such limit of it and those above it; `Ok(None)`
    /// where there is none. `memory.swap.max` (v2), `memory.memsw.limit_in_bytes` less
    /// `memory.limit_in_bytes` (v1).
    pub swap_limit: Reading<Option<u64>>,
}

impl CgroupFigures {
    /// Figures none of which is known, for one reason.
    pub const fn missing(why: Missing) -> Self {
        Self {
            current: Err(why),
            swap: Err(why),
            limit: Err(why),
            swap_limit: Err(why),
        }
    }

    /// These, as they are below a cgroup with the limits of `above`: the lesser of each two holds. Where
    /// one is unknown, what holds is.
    #[must_use]
    pub fn below(&self, above: &Self) -> Self {
        let least = |mine: Reading<Option<u64>>, theirs: Reading<Option<u64>>| match (mine?, theirs?) {
            (Some(a), Some(b)) => Ok(Some(a.min(b))),
            (one, other) => Ok(one.or(other)),
        };
        Self {
            limit: least(self.limit, above.limit),
            swap_limit: least(self.swap_limit, above.swap_limit),
            ..*self
        }
    }
}
