//! Writes snapshots as schema `zmtop/1` and reads them back.
//!
//! A snapshot is a JSON object. Sizes are bytes, times RFC 3339 in UTC, spans (`…_s`) seconds. Foreign bytes
//! become text by [`lossless`](crate::text::lossless), so that every name comes back byte for byte.
//!
//! **Unknown is `null`**, and `unread` beside it says why. It is one reason if the object's main figure
//! is missing (a process's memory, a system's `mem_total`) and all other nulls have the same reason. Otherwise it
//! is an object of reasons by field, in which `memory` stands for all figures of a process's walk. A null without
//! a reason means none: a process in no unit. `exe`, `oom_score` and `held` are left out unless somebody asked for them.
//!
//! **Reading**: unknown fields are skipped, and absent ones are missing as "not offered". `schema`, `time`, and
//! each process's `pid` and `starttime` are required. A walk is known whole or not at all: either all figures
//! that every kernel gives are there (`rss`, `pss`, `swap`, `private_clean`, `private_dirty`, `shared_clean`,
//! `shared_dirty`), or it is missing. Sums (`uss`, `shared`, `hugetlb`, `ratio`, `totals`) are written for other
//! readers and not read back. The fields of `stat` (`state` to `flags`) cannot be missing in the model: absent
//! counters are 0, an absent state is `?`.
//!
//! `jvms` are the heaps of Java virtual machines by their own counters, `address_limits` the limits (`RLIMIT_AS`) of address
//! spaces that grow; each is left out where there is none. `accounting` is what is read seldom for the account of the system;
//! it is left out where it was not read yet. `oom_kills` are the last processes that the kernel killed for lack of memory.
//!
//! Only [`output`](crate::output) writes records and only [`source`](crate::source) reads them. Nothing here does
//! I/O.

mod accounting;
mod cgroup;
mod close_look;
mod held;
mod process;
mod read;
mod system;
mod unread;
mod write;

use std::time::{Duration, SystemTime};

pub use read::{RecordError, Recorded, read, time_of};
use serde::{Deserialize, Serialize};
pub use write::{Record, schema};

use crate::model::{Sampling, SelfCost};
use crate::schema::described;
use crate::text::from_lossless;

/// The name of the schema.
pub const SCHEMA: &str = "zmtop/1";

/// The maximum number of processes read from one snapshot, so that a small file cannot become a huge table: a
/// quarter of the pids a kernel can have (`PID_MAX_LIMIT`).
pub const MAX_PROCESSES: usize = 1 << 20;

described! {
    /// [`Sampling`] as the schema has it, except for the time the tick took and what is in doubt.
    #[derive(Debug, Default, Deserialize, Serialize)]
    struct Tick {
        /// Walks in this tick: reads of `smaps_rollup`.
        walks: Option<usize> = count(),
        /// CPU time of those walks.
        walked_s: Option<f64> = seconds(),
        /// Maximum CPU time of walks, 1.0 being one core.
        budget: Option<f64> = share().null("every process is walked at every tick"),
        /// Processes that are due for a walk and have to wait for the budget.
        waiting: Option<usize> = count(),
        /// Reads of /proc that have not returned in time.
        stuck: Option<usize> = count(),
        /// Reader threads.
        threads: Option<usize> = count(),
    }
}

impl From<&Sampling> for Tick {
    fn from(sampling: &Sampling) -> Self {
        Self {
            walks: Some(sampling.walks),
            walked_s: Some(sampling.walked.as_secs_f64()),
            budget: sampling.budget,
            waiting: Some(sampling.waiting),
            stuck: Some(sampling.stuck),
            threads: Some(sampling.threads),
        }
    }
}

impl From<Tick> for Sampling {
    fn from(record: Tick) -> Self {
        Self {
            walks: record.walks.unwrap_or(0),
            walked: seconds(record.walked_s).unwrap_or_default(),
            budget: record.budget,
            waiting: record.waiting.unwrap_or(0),
            stuck: record.stuck.unwrap_or(0),
            threads: record.threads.unwrap_or(0),
            doubtful: 0,
            took: Duration::ZERO,
        }
    }
}

described! {
    /// [`SelfCost`] as the schema has it.
    #[derive(Debug, Deserialize, Serialize)]
    struct Cost {
        /// CPU time since zmtop started.
        cpu_s: Option<f64> = seconds(),
        /// Resident memory of zmtop itself.
        rss: Option<u64> = bytes(),
    }
}

impl From<&SelfCost> for Cost {
    fn from(cost: &SelfCost) -> Self {
        Self {
            cpu_s: Some(cost.cpu.as_secs_f64()),
            rss: Some(cost.rss),
        }
    }
}

impl Cost {
    fn complete(&self) -> Option<SelfCost> {
        Some(SelfCost {
            cpu: seconds(self.cpu_s)?,
            rss: self.rss?,
        })
    }
}

/// Formats a time as RFC 3339 in UTC with milliseconds. A time beyond the calendar becomes its first or last.
pub fn time_text(time: SystemTime) -> String {
    let known = jiff::Timestamp::try_from(time).unwrap_or(if time < SystemTime::UNIX_EPOCH {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    format!("{known:.3}")
}

/// Converts seconds into a duration; `None` if they are missing or not a length of time, or longer than 136 years, as
/// series count seconds in 32 bits.
fn seconds(seconds: Option<f64>) -> Option<Duration> {
    let known = Duration::try_from_secs_f64(seconds?).ok()?;
    u32::try_from(known.as_secs()).is_ok().then_some(known)
}

/// Returns the foreign bytes behind a text.
fn bytes(text: &str) -> Vec<u8> {
    from_lossless(text)
}

/// Returns text that the model keeps as text.
fn string(text: &str) -> String {
    String::from_utf8(bytes(text)).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
