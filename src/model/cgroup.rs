//! Memory figures of a cgroup.

use super::reading::{Missing, Reading};

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
        }
    };
}

pub(crate) use cgroup_figures;

macro_rules! define_figures {
    ($($(#[$doc:meta])* $figure:ident: $type:ty,)*) => {
        /// The memory controller's figures of one cgroup, in bytes. Unlike a sum over its processes, they include file
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
