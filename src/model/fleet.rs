//! A snapshot of many hosts: what it has beside its rows, each of which is a group of processes on one host.

use std::sync::Arc;
use std::time::Duration;

/// The part of a snapshot of many hosts that is beside its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The hosts, in order of their names.
    pub hosts: Vec<FleetHost>,
    /// Figures of each row, in the order of [`Snapshot::rows`](super::Snapshot::rows).
    pub rows: Vec<FleetRow>,
    /// Only PSS is known so far; the rest is being asked for.
    pub is_partial: bool,
}

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetHost {
    /// Its name, raw.
    pub name: Arc<[u8]>,
    /// The time of its newest figures, on the snapshot's monotonic clock.
    pub seen: Duration,
    /// It tells nothing any more: its rows are the last that were seen.
    pub is_gone: bool,
}

/// Figures of a group of processes on a host, beside its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetRow {
    /// The number of its processes; `None` where it was not told.
    pub processes: Option<u64>,
    /// The verdict that was made there, of all of its figures; `None` where it was not told.
    pub verdict: Option<ToldVerdict>,
}

/// A verdict as the host tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToldVerdict {
    /// Its rank, from the least to the most alarming: see [`Verdict::rank`](crate::trend::Verdict::rank).
    pub rank: f64,
    /// Slope in bytes a second.
    pub slope: f64,
    /// The confidence that it leaks, 0 to 1.
    pub confidence: f64,
    /// The beginning of the growth, on the snapshot's monotonic clock.
    pub since: Option<Duration>,
}
