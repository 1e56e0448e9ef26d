//! Plain data: what one tick reads of the system and of every process. Nothing here is derived, and nothing does I/O.

pub mod cgroup;
pub mod mapping;
pub mod memory;
pub mod process;
pub mod reading;
pub mod snapshot;
pub mod system;

pub use cgroup::CgroupFigures;
pub use memory::Memory;
pub use process::{Facts, Identity, ProcessSample, Replaced, Stat, Walk};
pub use reading::{Missing, Reading};
pub use snapshot::{Sampling, SelfCost, Snapshot};
pub use system::SystemSample;
