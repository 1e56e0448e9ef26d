//! What is asked of the rest of the program.

use std::time::Duration;

use crate::tui::act::Acts;
use crate::tui::event::Inspect;
use crate::tui::mappings::Scan;

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
    pub scan: Option<Scan>,
    /// How many such scans there were.
    pub scans: u64,
    /// The process whose mappings are read again and again.
    pub inspected: Option<Inspect>,
    /// What was ordered to be done to processes.
    pub acts: Acts,
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
            acts: Acts::default(),
        }
    }
}
