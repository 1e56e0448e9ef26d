//! Memory figures of a cgroup.

use std::time::Duration;

use super::reading::{Missing, Reading};

/// Length in bytes and number of levels beyond which a path is ignored. A forged tree or recording may contain any path, and each adds as
/// many ancestors.
const MAX_PATH: usize = 4096;
const MAX_DEPTH: usize = 64;

/// Returns true if a path is no longer and has no more levels than those of real cgroups.
pub fn is_usual_path(path: &[u8]) -> bool {
    path.len() <= MAX_PATH && path.split(|byte| *byte == b'/').count() <= MAX_DEPTH
}

/// Calls the macro `$callback` with the list of the memory controller's figures.
///
/// Each entry is the name of a field of [`CgroupFigures`] and the type of its value.
/// [`proc::cgroup::figures`](crate::proc::cgroup::figures) reads them.
macro_rules! cgroup_figures {
    ($callback:ident) => {
        $callback! {
            /// Memory charged to it and its descendants. `memory.usage_in_bytes` in v1.
            current: u64,
            /// The swapped-out part. In v1 `memory.memsw.usage_in_bytes` − `memory.usage_in_bytes`, if swap is accounted.
            swap: u64,
            /// The lowest limit on memory among its own and its ancestors'; `max` if there is none.
            /// `memory.limit_in_bytes` in v1.
            limit: Option<u64>,
            /// The lowest limit on swap among its own and its ancestors'; `max` if there is none. In v1
            /// `memory.memsw.limit_in_bytes` − `memory.limit_in_bytes`.
            swap_limit: Option<u64>,
            /// The lowest soft limit (`memory.high`) among its own and its ancestors', above which the kernel reclaims and
            /// throttles the tasks; `max` if there is none, as in v1.
            high: Option<u64>,
            /// The part of `current` that reclaim frees first: file pages on the reclaim lists and reclaimable slab. Read for cgroups
            /// with a limit of their own, of the others while it is needed. `memory.stat`.
            reclaimable: u64,
            /// File pages that were not used lately, which Kubernetes subtracts from `current` for its working set. Read with
            /// `reclaimable`. `inactive_file` of `memory.stat`.
            inactive_file: u64,
            /// Shared memory and files in tmpfs. Read with `reclaimable`. `shmem` of `memory.stat`.
            shmem: u64,
            /// Pages of files and of shared memory that processes map. Read with `reclaimable`. `file_mapped` of `memory.stat`;
            /// `mapped_file` in v1.
            file_mapped: u64,
            /// Anonymous pages that processes map, also those of processes that moved to another cgroup. Read with `reclaimable`.
            /// `anon` of `memory.stat`; `rss` in v1.
            anon: u64,
            /// Pages that are neither in a file nor mapped, such as those in pipes, and unevictable files that are not mapped, such as
            /// those of a ramfs; in v1 with kernel memory. Read with `reclaimable`. `current` − `anon` − `file` − `kernel` − `sock`
            /// of `memory.stat`, before Linux 5.18 without the parts of `kernel` that exist; + the lower of `unevictable` and `file`
            /// − `shmem` − `swapcached` − `active_file` − `inactive_file` − `file_mapped`.
            unmapped: u64,
            /// Kernel memory that is in no process and that reclaim cannot free. Read with `reclaimable`; none in v1. `kernel` (Linux 5.18)
            /// + `sock` − `pagetables` − `slab_reclaimable` − `zswap` of `memory.stat`.
            kernel: u64,
            /// Major faults of its processes. Read with `reclaimable`. `pgmajfault` of `memory.stat`.
            major_faults: Count,
            /// Pages read back soon after they were reclaimed. Read with `reclaimable`. `workingset_refault_anon` +
            /// `workingset_refault_file` of `memory.stat`; before Linux 5.9 `workingset_refault`.
            refaults: Count,
            /// Processes in it or below it that were killed because a limit was reached, or the machine's memory was full. In
            /// v1 without descendants. Read with `reclaimable`. `oom_kill` of `memory.events`.
            oom_kills: Count,
            /// Times its tasks were slowed down and made to reclaim, because its soft limit, or one below it, was exceeded.
            /// Read with `reclaimable`; none in v1. `high` of `memory.events`.
            throttled: Count,
            /// Times its memory, or the memory of one below it, was about to exceed its limit. In v1 without descendants. Read with
            /// `reclaimable`. `max` of `memory.events`; `memory.failcnt` in v1.
            limit_hits: Count,
            /// Time for which at least one of its tasks waited for memory. Read with `reclaimable`; none in v1.
            /// `total` of `some` in `memory.pressure`.
            stalled_some: Duration,
            /// Time for which all its tasks waited for memory at once. `total` of `full`.
            stalled_full: Duration,
            /// The highest value of `current` so far. Read while it is needed. `memory.peak` (Linux 5.19);
            /// `memory.max_usage_in_bytes` in v1.
            peak: u64,
            /// Removed cgroups below it that still hold memory or other resources, which no process accounts for. Read with
            /// `peak`; none in v1. `nr_dying_descendants` of `cgroup.stat`.
            dying: Count,
        }
    };
}

pub(crate) use cgroup_figures;

/// A number of events since boot, or since the cgroup was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

macro_rules! define_figures {
    ($($(#[$doc:meta])* $figure:ident: $type:ty,)*) => {
        /// The memory controller's figures of one cgroup, in bytes unless stated otherwise. Unlike a sum over its processes, they include file
        /// cache, kernel memory and memory left behind by ended processes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct CgroupFigures {
            $($(#[$doc])* pub $figure: Reading<$type>,)*
        }

        impl CgroupFigures {
            pub const fn missing(why: Missing) -> Self {
                Self {
                    $($figure: Err(why),)*
                }
            }
        }
    };
}

cgroup_figures!(define_figures);

impl CgroupFigures {
    /// Returns the lower of the limit and the soft limit, and true if it is the soft one; `None` without either.
    pub fn ceiling(&self) -> Option<(u64, bool)> {
        let hard = self.limit.ok().flatten().map(|limit| (limit, false));
        let soft = self.high.ok().flatten().map(|limit| (limit, true));
        hard.into_iter().chain(soft).min()
    }

    /// Returns the memory that reclaim does not free first: `current` − `reclaimable`.
    pub fn stays(&self) -> Reading<u64> {
        Ok(self.current?.saturating_sub(self.reclaimable?))
    }

    /// Returns the working set as Kubernetes and cAdvisor compute it: `current` − `inactive_file`.
    pub fn working_set(&self) -> Reading<u64> {
        Ok(self.current?.saturating_sub(self.inactive_file?))
    }

    /// Returns true if at least half of the lower limit is used.
    pub fn is_near_limit(&self) -> bool {
        let current = self.current.unwrap_or(0);
        self.ceiling().is_some_and(|(limit, _)| current >= limit / 2)
    }

    /// Returns these figures with the lower of each two limits, for a cgroup below one with the limits of
    /// `above`. If either limit is unknown, so is the result, but a known limit counts below one that is not visible. A
    /// cgroup without the controller is charged to the one above.
    #[must_use]
    pub fn below(&self, above: &Self) -> Self {
        let lower = |mine: Reading<Option<u64>>, theirs: Reading<Option<u64>>| match (mine, theirs) {
            (Err(Missing::Unsupported), theirs) => theirs,
            (mine @ Ok(Some(_)), Err(Missing::OutOfView)) => mine,
            (mine, theirs) => Ok(match (mine?, theirs?) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, other) => one.or(other),
            }),
        };
        Self {
            limit: lower(self.limit, above.limit),
            swap_limit: lower(self.swap_limit, above.swap_limit),
            high: lower(self.high, above.high),
            ..*self
        }
    }
}
