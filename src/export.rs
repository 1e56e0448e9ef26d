//! The exporter's face: what Prometheus and other monitoring systems read.
//!
//! ```text
//! families  metric families as plain data: names, help, units, labels and values
//! choice    the groups that have series of their own
//! faults    counters of groups that go on while processes come and go
//! groups    the families of groups, from the table of columns
//! machine   the families of the machine, and of zmtop itself
//! text      families as `OpenMetrics`, or in Prometheus's text format
//! otlp      families in OpenTelemetry's protocol
//! ```
//!
//! [`Exporter`] takes in every snapshot, and makes the families of the last one when asked. It reads nothing itself, so
//! that a scrape never causes a walk, and it knows nothing of HTTP: see `run/serve.rs`.
//!
//! To export a column, give its entry a metric name; its suffix is the unit ([`MetricUnit`]).

mod choice;
pub mod families;
mod faults;
mod groups;
mod machine;
pub mod otlp;
pub mod text;

use std::time::Duration;

use choice::GroupChoice;
pub use families::{Family, Kind, MetricUnit, Series};
use faults::FaultCounters;

use crate::columns::{COLUMNS, Needs};
use crate::engine::State;
use crate::group::{GroupBy, groups as group_processes};
use crate::model::{ProcessSample, Snapshot};

/// The options of an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// The way processes are grouped.
    pub by: GroupBy,
    /// Maximum number of groups that have series of their own; the others are summed.
    pub top: usize,
}

/// Makes metric families of the engine's state.
#[derive(Debug)]
pub struct Exporter {
    options: ExportOptions,
    choice: GroupChoice,
    faults: FaultCounters,
    /// Pushes that a collector took, and others; `None` where nothing is pushed.
    pushes: Option<[u64; 2]>,
}

impl Exporter {
    /// Creates an exporter that has seen nothing.
    pub fn new(options: ExportOptions) -> Self {
        Self {
            options,
            choice: GroupChoice::new(options.top),
            faults: FaultCounters::new(options.by),
            pushes: None,
        }
    }

    /// Returns the data that its families need beside what every snapshot has.
    pub fn needs() -> Needs {
        let exported = COLUMNS.iter().filter(|column| column.metric.is_some());
        exported.fold(Needs::NOTHING, |needs, column| needs.and(column.needs))
    }

    /// Takes in a snapshot, each once.
    pub fn push(&mut self, snapshot: &Snapshot) {
        self.faults.push(snapshot);
    }

    /// Counts a push to a collector, which took it or did not.
    pub fn count_push(&mut self, is_taken: bool) {
        let [taken, failed] = self.pushes.get_or_insert_default();
        *(if is_taken { taken } else { failed }) += 1;
    }

    /// Makes the families of the last snapshot, so many seconds of the clock after it was taken; none before the first.
    pub fn families(&mut self, state: &State, now: Duration) -> Vec<Family> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        let is_process = |sample: &ProcessSample| !sample.stat.is_kernel_thread();
        // No exported figure is a change.
        let groups = group_processes(snapshot, self.options.by, is_process, |_| None);
        let chosen = self.choice.choose(&groups, &state.history, snapshot);
        let mut families = groups::families(&groups, &chosen, &self.faults, &state.history, snapshot);
        families.extend(machine::families(snapshot, &state.history));
        families.extend(machine::own(snapshot, now));
        families.extend(self.pushes.map(machine::pushes));
        let series = families.iter().map(|family| family.series.len()).sum();
        families.extend(groups::counts(groups.len(), chosen.shown.len(), series));
        families
    }
}
