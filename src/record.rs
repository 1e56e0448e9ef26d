//! Writes snapshots as schema `zmtop/1` and reads them back.
//!
//! A snapshot is a JSON object. Sizes are in bytes, times in RFC 3339 and UTC, spans (`…_s`) in seconds.
//! [`lossless`](crate::text::lossless) converts foreign bytes to text, so that every name can be restored byte for byte.
//!
//! **Unknown is `null`**, and `unread` has the reason: one reason if the object's main figure is missing (a process's
//! memory, a system's `mem_total`) and all other nulls have the same reason; otherwise an object of reasons by field, in
//! which `memory` stands for all figures of a process's walk. A null without a reason means none: a process in no unit.
//! `exe`, `oom_score`, `peak`, `page_tables` and `held` are absent unless they were requested.
//!
//! **Reading**: unknown fields are skipped, and absent ones are "not offered". `schema`, `time`, and each process's `pid`
//! and `starttime` are required. A walk is complete or missing: it needs all figures that every kernel has (`rss`, `pss`,
//! `swap`, `private_clean`, `private_dirty`, `shared_clean`, `shared_dirty`). Sums (`uss`, `shared`, `hugetlb`, `ratio`,
//! `totals`) are written for other readers and not read back. The model cannot represent missing fields of `stat` (`state`
//! to `flags`): absent counters are 0, an absent state is `?`.
//!
//! A recording, as `zmtop record` writes it, consists of [groups](GroupWriter) of compressed snapshots.
//!
//! Only [`output`](crate::output) and [`recorder`](crate::recorder) write records and only [`source`](crate::source) reads
//! them. This module does no I/O.

mod accounting;
pub mod anonymize;
mod bounds;
mod cgroup;
mod changes;
mod close_look;
mod exits;
mod group;
mod held;
mod killers;
mod line;
mod process;
mod read;
mod slab;
mod system;
mod taker;
mod unread;
mod write;

use std::time::{Duration, SystemTime};

pub use changes::{ChangeReader, ChangeWriter, schema as schema_of_changes};
pub use group::{
    End, GroupWriter, HEADER, Header, MAX_INCIDENTS, MAX_SNAPSHOTS, NoHeader, START, boot_digest, is_history,
    pack_history, parse_incidents, unpack_history,
};
pub use line::{Brief, CHANGES, Incident, IncidentKind, damage, leave_out};
pub use read::{RecordError, Recorded, read, time_of};
use serde::{Deserialize, Serialize};
pub use write::{Record, schema};

use crate::model::{Sampling, SelfCost};
use crate::schema::described;
use crate::text::from_lossless;

/// The name of the schema.
pub const SCHEMA: &str = "zmtop/1";

/// The precision of the times of snapshots. Those of incidents are in nanoseconds.
pub const PRECISION: Duration = Duration::from_millis(1);

/// Maximum number of processes read from one snapshot: eight times the default `pid_max` of a kernel. A small file must not become
/// a huge table: a process takes about 1.4 kB.
pub const MAX_PROCESSES: usize = 1 << 18;

described! {
    /// [`Sampling`] without `took` and `doubtful`.
    #[derive(Debug, Default, Deserialize, Serialize)]
    struct Tick {
        /// Walks in this tick: reads of `smaps_rollup`.
        walks: Option<usize> = count(),
        /// CPU time of those walks.
        walked_s: Option<f64> = seconds(),
        /// Maximum CPU time of walks; 1.0 is one core.
        budget: Option<f64> = share().null("every process is walked in every tick"),
        /// Due processes that wait for the budget.
        waiting: Option<usize> = count(),
        /// Reads of /proc that are past their deadline.
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
    /// [`SelfCost`].
    #[derive(Debug, Deserialize, Serialize)]
    struct Cost {
        /// CPU time of zmtop and its children since it started.
        cpu_s: Option<f64> = seconds(),
        /// Resident memory of zmtop and its children.
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

/// Formats a time as RFC 3339 in UTC with milliseconds. A time beyond the calendar becomes its first or last time.
pub fn time_text(time: SystemTime) -> String {
    let known = jiff::Timestamp::try_from(time).unwrap_or(if time < SystemTime::UNIX_EPOCH {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    format!("{known:.3}")
}

/// Converts seconds into a duration. Returns `None` if they are missing, invalid, or more than 136 years: series count
/// seconds in 32 bits.
fn seconds(seconds: Option<f64>) -> Option<Duration> {
    let known = Duration::try_from_secs_f64(seconds?).ok()?;
    u32::try_from(known.as_secs()).is_ok().then_some(known)
}

/// Restores foreign bytes.
fn bytes(text: &str) -> Vec<u8> {
    from_lossless(text)
}

/// Restores text, replacing invalid UTF-8.
fn string(text: &str) -> String {
    String::from_utf8(bytes(text)).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
