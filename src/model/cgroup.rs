//! Memory figures of a cgroup.

use super::reading::{Missing, Reading};

/// Calls the macro `$callback` with the list of the memory controller's figures.
///
/// Each entry is the name of a field of [`CgroupFigures`], the type of its value and its file in the unified
/// hierarchy (v2). Those of v1 are in [`proc::cgroup::figures`](crate::proc::cgroup::figures).
macro_rules! cgroup_figures {
    ($callback:ident) => {
        $callback! {
            /// Memory charged to it and all below it. `memory.usage_in_bytes` in v1.
            current: u64 = b"memory.current",
            /// The part that is swapped out. In v1 `memory.memsw.usage_in_bytes` less
            /// `memory.usage_in_bytes`, where swap is accounted.
            swap: u64 = b"memory.swap.current",
            /// The lowest limit on memory among its own and those above it; `Ok(None)` if there is none.
            /// `memory.limit_in_bytes` in v1.
            limit: Option<u64> = b"memory.max",
            /// The lowest limit on swap among its own and those above it; `Ok(None)` if there is none. In v1
            /// `memory.memsw.limit_in_bytes` less `memory.limit_in_bytes`.
            swap_limit: Option<u64> = b"memory.swap.max",
        }
    };
}

pub(crate) use cgroup_figures;

macro_rules! define_figures {
    ($($(#[$doc:meta])* $figure:ident: $type:ty = $file:literal,)*) => {
        /// The memory controller's own figures of one cgroup, in bytes. They are not the sum of its processes:
        /// file cache, kernel memory and memory left behind by ended processes are included.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct CgroupFigures {
            $($(#[$doc])* pub $figure: Reading<$type>,)*
        }

        impl CgroupFigures {
            /// Returns figures that are all missing for one reason.
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
            ..*self
        }
    }
}
