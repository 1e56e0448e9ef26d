//! A snapshot as data: schema `zmtop/1`, both ways.
//!
//! One JSON object a snapshot. Sizes are bytes, times RFC 3339 in UTC, spans (`…_s`) seconds. Foreign bytes
//! are text by [`lossless`](crate::text::lossless), so that every name comes back byte for byte.
//!
//! **Unknown is `null`**, and `unread` beside it says why: the reason itself where the object's main figure
//! is missing (a process's memory, a system's `mem_total`) and all other nulls have the same reason; else an
//! object of reasons by field, in which `memory` stands for all figures of a process's walk. A null without
//! a reason has nothing to tell: a process in no unit. `exe` and `oom_score` are left out while nobody asked
//! for them.
//!
//! **Reading**: fields that are not known are passed over, and absent ones are unknown, as not offered.
//! Needed are `schema`, `time`, and each process's `pid` and `starttime`. A walk is known whole or not at
//! all: `rss`, `pss`, `swap`, `private_clean`, `private_dirty`, `shared_clean` and `shared_dirty`, which every
//! kernel gives, or none. Sums (`uss`, `shared`, `hugetlb`, `ratio`, `totals`) are for others and not read.
//! The glance (`state` to `flags`) has no unknown in the model: absent counters are 0, an absent state `?`.

mod cgroup;
mod process;
mod read;
mod system;
mod unread;
mod write;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use read::{Recorded, WireError, read, time_of};
use serde::{Deserialize, Serialize};
pub use write::Record;

use crate::model::{Sampling, SelfCost};
use crate::text::from_lossless;

/// The schema written.
pub const SCHEMA: &str = "zmtop/1";

/// The most processes that are read of one snapshot, so that a small file cannot become a huge table: a
/// quarter of what a kernel can number (`PID_MAX_LIMIT`).
pub const MAX_PROCESSES: usize = 1 << 20;

/// How the tick went.
#[derive(Debug, Deserialize, Serialize)]
struct Tick {
    walks: Option<usize>,
    walked_s: Option<f64>,
    budget: Option<f64>,
    waiting: Option<usize>,
    stuck: Option<usize>,
    threads: Option<usize>,
}

impl Tick {
    fn of(sampling: &Sampling) -> Self {
        Self {
            walks: Some(sampling.walks),
            walked_s: Some(sampling.walked.as_secs_f64()),
            budget: sampling.budget,
            waiting: Some(sampling.waiting),
            stuck: Some(sampling.stuck),
            threads: Some(sampling.threads),
        }
    }

    fn sampling(&self, took: Duration) -> Sampling {
        Sampling {
            walks: self.walks.unwrap_or(0),
            walked: seconds(self.walked_s).unwrap_or_default(),
            budget: self.budget,
            waiting: self.waiting.unwrap_or(0),
            stuck: self.stuck.unwrap_or(0),
            threads: self.threads.unwrap_or(0),
            took,
        }
    }
}

/// What zmtop itself cost.
#[derive(Debug, Deserialize, Serialize)]
struct Own {
    cpu_s: Option<f64>,
    rss: Option<u64>,
}

impl Own {
    const fn of(cost: &SelfCost) -> Self {
        Self {
            cpu_s: Some(cost.cpu.as_secs_f64()),
            rss: Some(cost.rss),
        }
    }

    fn cost(&self) -> Option<SelfCost> {
        Some(SelfCost {
            cpu: seconds(self.cpu_s)?,
            rss: self.rss?,
        })
    }
}

/// RFC 3339 in UTC with milliseconds; a time that no calendar has is the nearest one that it has.
pub fn time_text(time: SystemTime) -> String {
    let known = jiff::Timestamp::try_from(time).unwrap_or(if time < SystemTime::UNIX_EPOCH {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    format!("{known:.3}")
}

/// A span that was written in seconds; `None` also where it is none.
fn seconds(seconds: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds?).ok()
}

fn raw(text: &str) -> Vec<u8> {
    from_lossless(text)
}

fn shared(text: impl AsRef<str>) -> Arc<[u8]> {
    raw(text.as_ref()).into()
}

/// Text that the model keeps as text.
fn string(text: &str) -> String {
    String::from_utf8(raw(text)).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
