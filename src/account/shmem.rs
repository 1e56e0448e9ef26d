//! The account of shared memory and tmpfs, by the file systems that hold it.

use crate::account::arithmetic::less;
use crate::model::Reading;
use crate::model::system::accounting::{MemoryMount, SysvShm};
use crate::model::system::{AccountingInputs, SystemSample};
use crate::order;

/// Shared memory in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShmemAccount<'a> {
    /// `Shmem`: the part in RAM.
    pub total: Reading<u64>,
    /// The file systems in memory that zmtop can reach, the largest first. Their figures hold what is swapped out too.
    pub mounts: Reading<Vec<&'a MemoryMount>>,
    /// System V segments of zmtop's IPC namespace.
    pub sysv: Reading<SysvShm>,
    /// The remainder in RAM: memfd, shared anonymous memory, buffers of graphics drivers, file systems without a limit and
    /// those of other mount namespaces. Too small by what file systems have in swap.
    pub elsewhere: Reading<u64>,
    /// Swapped-out files of the file systems, at the least: what they hold beyond all that is in RAM.
    pub swapped: Reading<u64>,
}

/// Divides shared memory into parts.
pub fn account<'a>(s: &SystemSample, inputs: &'a AccountingInputs) -> ShmemAccount<'a> {
    let mounts = inputs.mounts.as_ref().map_err(|why| *why).map(|mounts| {
        let mut mounts: Vec<_> = mounts.iter().collect();
        order::sort_by_key(&mut mounts, |mount| std::cmp::Reverse(mount.used.unwrap_or(0)));
        mounts
    });
    let held = mounts.as_ref().map_err(|why| *why).map(|mounts| {
        let used = mounts.iter().filter_map(|mount| mount.used.ok());
        used.fold(0, u64::saturating_add)
    });
    // Segments of huge pages are not in `Shmem`.
    let resident = inputs.sysv.and_then(|sysv| Ok(sysv.resident.min(s.shmem?)));
    // What may belong to a file system, and what does.
    let room = less(s.shmem, Ok(resident.unwrap_or(0)));
    ShmemAccount {
        total: s.shmem,
        elsewhere: less(room, held),
        swapped: less(held, room),
        sysv: inputs.sysv,
        mounts,
    }
}
