//! Plain data: the raw readings of one tick, of the system and of every process.
//!
//! Every module may use it. It uses none, does no I/O and derives only sums of its own fields. [`group`](crate::group),
//! [`account`](crate::account) and [`history`](crate::history) derive the rest. A recording therefore replays to the same
//! screen.

/// Defines an enum whose variants have names in tables, filters and documents.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $id:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            pub const ALL: [Self; [$($id),*].len()] = [$(Self::$variant),*];

            /// Returns the name.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)*
                }
            }

            pub fn from_id(id: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.id() == id)
            }
        }
    };
}

pub mod cgroup;
pub mod held;
pub mod kernel;
pub mod kill;
pub mod mapping;
pub mod memory;
pub mod process;
pub mod reading;
pub mod snapshot;
pub mod system;

pub use cgroup::CgroupFigures;
pub use held::{Held, HeldFigures, HeldKind, HeldObject};
pub use memory::Memory;
pub use process::{Counted, Facts, Identity, ProcessSample, Replaced, Stat, Walk, tolerance};
pub use reading::{Missing, Reading};
pub use snapshot::{
    Asked, Fleet, FleetHost, FleetRow, FleetStatus, RowChanges, Sampling, SelfCost, Snapshot, ToldVerdict,
};
pub use system::SystemSample;
