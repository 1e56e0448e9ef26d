//! The account of used swap.

use crate::account::arithmetic::{less, saturated};
use crate::account::processes::ProcessTotals;
use crate::account::shmem::ShmemAccount;
use crate::model::{Reading, SystemSample};

/// Used swap, in parts that sum to it.
///
/// Swapped-out shared memory is in no process's `SwapPss`. `Swap` of `smaps_rollup` includes it, in full for each
/// process that maps it, and mixed with pages that forked processes share. No sum of it shows the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapAccount {
    /// `SwapTotal − SwapFree`.
    pub used: Reading<u64>,
    /// Σ `SwapPss` of the readable processes.
    pub processes: Reading<u64>,
    /// Σ `VmSwap` of the unreadable processes, which counts shared pages once for each.
    pub unreadable: Reading<u64>,
    /// Swapped-out System V segments.
    pub sysv: Reading<u64>,
    /// A lower bound on swapped-out tmpfs files.
    pub tmpfs: Reading<u64>,
    /// Slots whose pages are also in RAM: `SwapCached`, limited to what the other parts leave. The limit is needed
    /// because a page that its process has not touched since is in its `SwapPss` too.
    pub cache: Reading<u64>,
    /// The rest: other swapped-out shared memory, and processes that could not be read. Negative if the parts, which
    /// are read one after another, exceed the total.
    pub rest: Reading<i64>,
    /// Upper bound on the part of the rest that processes map: Σ `Swap` − Σ `SwapPss` of the readable processes.
    pub mapped: Reading<u64>,
}

/// Divides used swap into parts.
pub fn account(s: &SystemSample, totals: &ProcessTotals, shmem: &ShmemAccount<'_>) -> SwapAccount {
    let used = s.swap_used();
    // If no swap is used, no process uses any, readable or not.
    let nobody = |reading: Reading<u64>| if used == Ok(0) { Ok(0) } else { reading };
    let processes = nobody(totals.swap_pss);
    let mut left = used.and_then(|used| Ok(used.saturating_sub(processes?)));
    // The figures are read one after another, so no part may exceed what the others leave.
    let mut take = |part: Reading<u64>| {
        let part = nobody(part)?.min(left?);
        left = left.map(|left| left - part);
        Ok(part)
    };
    let unreadable = take(totals.swap_unreadable);
    let sysv = take(shmem.sysv.map(|sysv| sysv.swapped));
    let tmpfs = take(shmem.swapped);
    let cache = take(s.swap_cached);
    let known = [unreadable, sysv, tmpfs, cache].into_iter().filter_map(Result::ok);
    let known: i128 = known.map(i128::from).sum();
    let rest = used.and_then(|used| Ok(saturated(i128::from(used) - i128::from(processes?) - known)));
    let shared = nobody(less(totals.swap, totals.swap_pss));
    SwapAccount {
        used,
        processes,
        unreadable,
        sysv,
        tmpfs,
        cache,
        rest,
        mapped: rest.and_then(|rest| Ok(shared?.min(u64::try_from(rest).unwrap_or(0)))),
    }
}
