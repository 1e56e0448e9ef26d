//! Plain data: what one tick reads of the system and of every process. Nothing here is derived, and nothing does I/O.

pub mod cgroup;
pub mod mapping;
pub mod memory;
pub mod reading;
pub mod snapshot;
pub mod system;

pub use cgroup::CgroupFigures;
pub use memory::Memory;
pub use reading::{Missing, Reading};
pub use snapshot::{Facts, Identity, ProcessSample, Replaced, Sampling, SelfCost, Snapshot, Stat, Survey, Walk};
pub use system::SystemSample;
