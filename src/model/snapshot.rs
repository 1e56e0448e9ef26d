//! A snapshot: the raw readings of one tick.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::model::cgroup::CgroupFigures;
use crate::model::process::ProcessSample;
use crate::model::reading::Reading;
use crate::model::system::SystemSample;

/// What zmtop itself has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfCost {
    /// User and system time since start.
    pub cpu: Duration,
    /// Resident set in bytes.
    pub rss: u64,
}

/// How the tick went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Walks finished in this tick.
    pub walks: usize,
    /// Processor time those walks took.
    pub walked: Duration,
    /// The share of one core that walks may take; `None` where every process is walked every tick.
    pub budget: Option<f64>,
    /// Processes that should have been walked and were not, for want of budget.
    pub waiting: usize,
    /// Reads that have overrun their deadline and not returned.
    pub stuck: usize,
    /// Reader threads alive.
    pub threads: usize,
    /// Wall time from the start of the tick to the snapshot.
    pub took: Duration,
}

/// What one tick saw.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Wall clock; for showing and recording only, never for rates.
    pub time: SystemTime,
    /// `CLOCK_MONOTONIC`; rates and ages are taken on it.
    pub monotonic: Duration,
    /// Counts the snapshots of this source from 1.
    pub tick: u64,
    /// The host name, raw.
    pub host: Arc<[u8]>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Reading<Arc<str>>,
    /// The interval asked for.
    pub interval: Duration,
    /// How the tick went.
    pub sampling: Sampling,
    /// What zmtop itself costs.
    pub own: Reading<SelfCost>,
    /// The system as a whole.
    pub system: SystemSample,
    /// Every process that could be listed, in order of pid; or why `/proc` could not be listed.
    pub processes: Reading<Vec<ProcessSample>>,
    /// What the cgroups of these processes, and those above them, say of themselves, by path; empty while
    /// nobody asks.
    pub cgroups: Arc<BTreeMap<Arc<[u8]>, CgroupFigures>>,
}

impl Snapshot {
    /// The processes, none where they could not be listed.
    pub fn rows(&self) -> &[ProcessSample] {
        self.processes.as_deref().unwrap_or(&[])
    }
}
