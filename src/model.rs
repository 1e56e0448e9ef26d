//! The pure middle: what was seen, what is derived from it, and how rows are chosen and ordered.
//! No I/O and no terminal here.

pub mod account;
pub mod alert;
pub mod baseline;
pub mod cgroup;
pub mod filter;
pub mod grew;
pub mod group;
pub mod history;
pub mod leaks;
pub mod mapping;
pub mod memory;
pub mod reading;
pub mod row;
pub mod snapshot;
pub mod sort;
pub mod system;
pub mod totals;
pub mod tree;
pub mod trend;
pub mod wall;

pub use baseline::{Mark, Marks};
pub use cgroup::CgroupFigures;
pub use group::{Group, GroupBy, GroupKey};
pub use history::{Change, History, Series};
pub use memory::Memory;
pub use reading::{Missing, Reading};
pub use row::Row;
pub use snapshot::{Facts, Identity, ProcessSample, Replaced, Sampling, SelfCost, Snapshot, Stat, Survey, Walk};
pub use system::SystemSample;
pub use totals::Totals;
pub use trend::{Judgement, Verdict};
