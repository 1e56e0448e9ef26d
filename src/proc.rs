//! Parses the files of `/proc` and sysfs into the model: pure parsers, and thin readers that feed them.
//!
//! A parser accepts any bytes. Input that does not match the kernel's documentation becomes a
//! [`Missing`](crate::model::Missing) reason, never a panic and never 0. Reads may block, so only the sampler's reader
//! threads call them. Nothing here keeps state between reads.

pub mod accounting;
pub mod accounts;
pub mod blocked;
pub mod cgroup;
pub mod clock;
pub mod containers;
#[cfg(feature = "code")]
pub mod elf;
pub mod environ;
pub mod fdinfo;
pub mod files;
pub mod hsperfdata;
pub mod kallsyms;
pub mod kernel;
pub mod kmsg;
pub mod maps;
pub mod memory;
pub mod namespace;
pub mod no_fault;
pub mod page_cache;
pub mod page_faults;
pub(crate) mod parse;
pub mod perf;
pub mod pid;
pub mod pids;
pub mod sent_signals;
pub mod smaps;
pub mod system;
pub mod taskstats;
pub mod tracefs;
pub mod ulimits;
