//! The account of used swap.

use crate::account::{ProcessTotals, saturated};
use crate::model::{Reading, SystemSample};

/// Used swap, in parts that sum to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapAccount {
    /// `SwapTotal − SwapFree`.
    pub used: Reading<u64>,
    /// Σ `SwapPss` of the processes that could be read.
    pub processes: Reading<u64>,
    /// Slots whose pages are in RAM again, or still: `SwapCached`, but no more than processes leave over, as a page that a
    /// process has not touched since is in its `SwapPss` too.
    pub cache: Reading<u64>,
    /// The rest: swapped-out shared memory and tmpfs, which are in nobody's `SwapPss`, and processes that could not be
    /// read. Negative where the parts, read one after another, exceed the whole.
    pub rest: Reading<i64>,
}

/// Divides used swap into parts.
pub fn account(s: &SystemSample, totals: &ProcessTotals) -> SwapAccount {
    let used = s.swap_used();
    // Where no swap is used, none is anybody's, readable or not.
    let processes = if used == Ok(0) { Ok(0) } else { totals.swap_pss };
    let left = |used: u64, processes: u64| used.saturating_sub(processes);
    let cache = || Ok(s.swap_cached?.min(left(used?, processes?)));
    let rest = || {
        let parts = i128::from(processes?) + i128::from(cache().unwrap_or(0));
        Ok(saturated(i128::from(used?) - parts))
    };
    SwapAccount {
        used,
        processes,
        cache: cache(),
        rest: rest(),
    }
}
