//! The bytes of `/proc` and sysfs as the model: pure parsers, and the thin readers that feed them.
//!
//! A parser takes whatever bytes it is given: what does not read as the kernel's documentation says is a
//! [`Missing`](crate::model::Missing) reason, never a panic and never a zero.

pub mod areas;
pub mod cgroup;
pub mod exe;
pub mod files;
pub mod kcmp;
pub mod own;
pub(crate) mod parse;
pub mod smaps;
pub mod stat;
pub mod status;
pub mod system;
pub mod users;
