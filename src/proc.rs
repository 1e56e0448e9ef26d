//! Parses the files of `/proc` and sysfs into the model: pure parsers, and thin readers that feed them.
//!
//! A parser accepts any bytes: those that are not as the kernel's documentation says become a
//! [`Missing`](crate::model::Missing) reason, never a panic and never a zero. Reads may block: only the sampler's
//! reader threads call them. Nothing here keeps state between reads.

pub mod allocinfo;
pub mod areas;
pub mod cgroup;
pub mod clock;
pub mod cmdline;
pub mod descriptors;
pub mod exe;
pub mod fdinfo;
pub mod files;
pub mod hsperfdata;
pub mod kallsyms;
pub mod kcmp;
pub mod kmsg;
pub mod limits;
pub mod mapped;
pub mod objects;
pub(crate) mod parse;
pub mod pids;
pub mod slabinfo;
pub mod smaps;
pub mod stat;
pub mod statm;
pub mod status;
pub mod system;
pub mod tracefs;
pub mod users;
