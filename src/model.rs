//! Plain data: the raw readings of one tick, of the system and of every process.
//!
//! Every module may use it. It uses none, does no I/O and derives only sums of its own fields. [`group`](crate::group),
//! [`account`](crate::account) and [`history`](crate::history) derive the rest. A recording therefore replays to the same
//! screen.

pub mod cgroup;
pub mod container;
pub mod exit;
pub mod held;
pub mod kernel;
pub mod kill;
pub mod mapping;
pub mod memory;
pub mod page_cache;
pub mod process;
pub mod reading;
pub mod snapshot;
pub mod system;
pub mod taker;
pub mod unit;

pub use cgroup::CgroupFigures;
pub use container::{Container, ContainerNames};
pub use exit::{Exit, Exits};
pub use held::{Held, HeldFigures, HeldKind, HeldObject};
pub use memory::Memory;
pub use process::{Counted, Facts, Identity, Owner, ProcessSample, Replaced, Stat, Walk, tolerance};
pub use reading::{Missing, Reading};
pub use snapshot::{
    Asked, Fleet, FleetHost, FleetRow, FleetStatus, RowChanges, Sampling, ScrapedVerdict, SelfCost, Snapshot,
};
pub use system::SystemSample;
