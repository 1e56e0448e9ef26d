//! What is asked of the rest of the program.

use std::time::Duration;

use crate::tui::act::PendingActions;
use crate::tui::event::Inspect;

/// What the sampler is to do, and what is under way.
#[derive(Debug)]
pub struct Requests {
    /// The time between two snapshots.
    pub interval: Duration,
    /// Sampling is stopped.
    pub paused: bool,
    /// How often a snapshot was asked for by hand.
    pub refresh: u64,
    /// The mappings of all processes are being read.
    pub scan: Option<ScanProgress>,
    /// How many such scans there were.
    pub scans: u64,
    /// The process whose mappings are read again and again.
    pub inspected: Option<Inspect>,
    /// What was ordered to be done to processes.
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
            acts: PendingActions::default(),
        }
    }
}

/// How far a scan of the mappings of all processes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanProgress {
    /// The scan's number: what another one reports is not taken in.
    pub number: u64,
    /// How many processes were read.
    pub done: usize,
    /// How many are to be read.
    pub all: usize,
    /// When it began, on the snapshots' monotonic clock.
    pub began: Duration,
}
