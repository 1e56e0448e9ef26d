//! Requests to the rest of the program.

use std::time::Duration;

use crate::history::coldness::Look;
use crate::model::Identity;
use crate::tui::act::PendingActions;
use crate::tui::event::Inspect;

/// Wishes to the sampler, and requests that are under way.
#[derive(Debug)]
pub struct Requests {
    /// The time between two snapshots.
    pub interval: Duration,
    /// Sampling is stopped.
    pub paused: bool,
    /// Number of snapshots asked for by hand.
    pub refresh: u64,
    /// The scan of all processes' mappings that is under way.
    pub scan: Option<ScanProgress>,
    /// Number of scans so far.
    pub scans: u64,
    /// The process whose mappings are read again and again.
    pub inspected: Option<Inspect>,
    /// The processes whose hot and cold memory is looked at.
    pub looks: Vec<Look>,
    /// The processes whose referenced bits were cleared because they are called a leak, each with its exec count.
    pub proved: Vec<(Identity, u32)>,
    /// Actions on processes that are under way.
    pub acts: PendingActions,
}

impl Requests {
    /// Asks for snapshots at this interval, and for nothing else.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            paused: false,
            refresh: 0,
            scan: None,
            scans: 0,
            inspected: None,
            looks: Vec::new(),
            proved: Vec::new(),
            acts: PendingActions::default(),
        }
    }
}

/// The progress of a scan of all processes' mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanProgress {
    /// The scan's number: what another one reports is not taken in.
    pub number: u64,
    /// Number of processes read.
    pub done: usize,
    /// Number of processes to read.
    pub all: usize,
    /// When it began, on the snapshots' monotonic clock.
    pub began: Duration,
}
