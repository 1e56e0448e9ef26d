//! The account of used swap, and of shared memory by file system, whose swapped-out part is in it.

use crate::account::{ProcessTotals, less, saturated};
use crate::model::Reading;
use crate::model::system::{AccountingInputs, MemoryMount, SystemSample, SysvShm};
use crate::order;

/// Shared memory in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShmemAccount<'a> {
    /// `Shmem`: the part in RAM.
    pub total: Reading<u64>,
    /// The in-memory file systems that zmtop can reach, largest first. Their figures include swapped-out data.
    pub mounts: Reading<Vec<&'a MemoryMount>>,
    /// System V segments of zmtop's IPC namespace.
    pub sysv: Reading<SysvShm>,
    /// The rest in RAM: memfd, shared anonymous memory, buffers of graphics drivers, and file systems without a limit
    /// or in other mount namespaces. Too small by the swapped-out data of the file systems.
    pub elsewhere: Reading<u64>,
    /// A lower bound on the file systems' swapped-out data: their contents beyond all shared memory in RAM.
    pub swapped: Reading<u64>,
}

pub fn shmem<'a>(s: &SystemSample, inputs: &'a AccountingInputs) -> ShmemAccount<'a> {
    let mounts = inputs.mounts.as_ref().map_err(|why| *why).map(|mounts| {
        let mut mounts: Vec<_> = mounts.iter().collect();
        order::sort_by_key(&mut mounts, |mount| std::cmp::Reverse(mount.used.unwrap_or(0)));
        mounts
    });
    let held = mounts.as_ref().map_err(|why| *why).map(|mounts| {
        let used = mounts.iter().filter_map(|mount| mount.used.ok());
        used.fold(0, u64::saturating_add)
    });
    // Segments of huge pages do not count in `Shmem`.
    let resident = inputs.sysv.and_then(|sysv| Ok(sysv.resident.min(s.shmem?)));
    // `room` is what may belong to file systems; the next figure is what does.
    let room = less(s.shmem, Ok(resident.unwrap_or(0)));
    ShmemAccount {
        total: s.shmem,
        elsewhere: less(room, held),
        swapped: less(held, room),
        sysv: inputs.sysv,
        mounts,
    }
}

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

pub fn account(s: &SystemSample, totals: &ProcessTotals, shmem: &ShmemAccount<'_>) -> SwapAccount {
    let used = s.swap_used();
    // If no swap is used, every part is 0, even an unreadable one.
    let part_of_used = |reading: Reading<u64>| if used == Ok(0) { Ok(0) } else { reading };
    let swap_pss = totals.memory.and_then(|m| m.swap_pss);
    let processes = part_of_used(swap_pss);
    let mut left = used.and_then(|used| Ok(used.saturating_sub(processes?)));
    // The figures are read one after another, so no part may exceed what the others leave.
    let mut take = |part: Reading<u64>| {
        let part = part_of_used(part)?.min(left?);
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
    let shared = part_of_used(less(totals.memory.map(|m| m.swap), swap_pss));
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
