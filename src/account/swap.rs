//! Who has how much of the swap that is used.

use crate::account::ProcessTotals;
use crate::model::{Reading, SystemSample};

/// The swap that is used, in parts that sum to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapAccount {
    /// `SwapTotal − SwapFree`.
    pub used: Reading<u64>,
    /// Σ `SwapPss` of the processes that could be read.
    pub processes: Reading<u64>,
    /// Slots whose pages are in RAM again, or still: `SwapCached`, but no more than processes leave over.
    /// What a process has not touched since is in its `SwapPss` too, so it is at the most that.
    pub cache: Reading<u64>,
    /// The rest: swapped-out shared memory and tmpfs, which are nobody's `SwapPss`, and what belongs to
    /// processes that could not be read. Below zero where the parts, each of its own moment, are more.
    pub rest: Reading<i64>,
}

/// Accounts for the swap.
pub fn account(s: &SystemSample, userland: &ProcessTotals) -> SwapAccount {
    let used = s.swap_used();
    // Where nothing is used nobody needs to be asked.
    let processes = if used == Ok(0) { Ok(0) } else { userland.swap_pss };
    let left = |used: u64, processes: u64| used.saturating_sub(processes);
    let cache = || Ok(s.swap_cached?.min(left(used?, processes?)));
    let rest = || {
        let parts = i128::from(processes?) + i128::from(cache().unwrap_or(0));
        let rest = i128::from(used?) - parts;
        Ok(i64::try_from(rest.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or_default())
    };
    SwapAccount {
        used,
        processes,
        cache: cache(),
        rest: rest(),
    }
}
