//! One row of a table: a process, a folded subtree, or a total.

use std::time::Duration;

use super::history::{Change, Series, window::Spark};
use super::memory::Memory;
use super::reading::Reading;
use super::snapshot::{ProcessSample, Snapshot};
use super::tree::Subtree;

/// What a column takes its value from.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The process; a totals row has none.
    pub sample: Option<&'a ProcessSample>,
    /// The memory to show: the process's own, or a sum.
    pub memory: Reading<&'a Memory>,
    /// What changed of late, own or summed.
    pub change: Option<&'a Change>,
    /// The sparkline's values.
    pub spark: Option<&'a Spark>,
    /// What stands below it, in tree view.
    pub subtree: Option<&'a Subtree>,
    /// The snapshot's time, for ages.
    pub now: Duration,
    /// The snapshot's uptime in seconds, for how long a process runs.
    pub uptime: Option<f64>,
}

impl<'a> Row<'a> {
    /// The row of one process.
    pub fn of(sample: &'a ProcessSample, series: Option<&'a Series>, snapshot: &Snapshot) -> Self {
        Self {
            sample: Some(sample),
            memory: sample.memory(),
            change: series.map(Series::change),
            spark: series.map(Series::spark),
            subtree: None,
            now: snapshot.monotonic,
            uptime: snapshot.system.uptime.ok(),
        }
    }
}
