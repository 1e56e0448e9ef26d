//! The account of shared memory and tmpfs by file system.

use crate::account::arithmetic::less;
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
