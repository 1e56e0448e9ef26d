//! The exporter: the metrics that `zmtop serve` serves, writes and pushes.
//!
//! ```text
//! families     metric families as plain data: names, help, units, labels and values
//! groups       the families of groups, from the table of columns
//! machine      the families of the machine, and of zmtop itself
//! text         families as `OpenMetrics`, or in Prometheus's text format
//! otlp         families in OpenTelemetry's protocol
//!
//! page         the last snapshot as text
//! http         answers requests
//! access       the web config in use: TLS, users, limits
//! connections  which connection is closed if there is no room for a new one
//! passwords    basic authentication
//! web          parses the web config; `tls` its TLS settings, `yaml` its syntax
//! push         pushes to a collector of OpenTelemetry
//! ```
//!
//! [`Exporter`] gets every snapshot and makes the families of the last one on request. Nothing here reads `/proc`, so neither
//! many scrapes nor a stuck process change what zmtop costs. `run/serve.rs` starts all of it.
//!
//! To export a column, add a metric name to its entry. The suffix of the name is the unit ([`MetricUnit`]).

pub(crate) mod access;
pub mod connections;
pub mod families;
mod groups;
pub(crate) mod http;
mod machine;
pub mod otlp;
pub(crate) mod page;
pub mod passwords;
pub(crate) mod push;
pub mod text;
mod tls;
pub mod web;
mod yaml;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

pub use families::{Family, Kind, MetricUnit, Series};
use groups::FaultCounters;

use crate::columns::{COLUMNS, Needs};
use crate::engine::State;
use crate::group::{GroupBy, GroupKey, groups as group_processes};
use crate::model::{ProcessSample, Snapshot};

/// Builds metric families of the engine's state.
pub struct Exporter {
    by: GroupBy,
    /// Maximum number of groups with series of their own. The others are summed.
    top: usize,
    /// The groups that had series of their own.
    shown: HashSet<GroupKey>,
    faults: FaultCounters,
    started: SystemTime,
    /// The boot of the machine; `None` until it is known. Never changes then, whatever the clock is set to.
    booted: Option<SystemTime>,
    /// Pushes that a collector accepted, and failed ones; `None` if nothing is pushed.
    pushes: Option<[u64; 2]>,
}

impl Exporter {
    /// Creates the exporter of a zmtop that started at that time.
    pub fn new(by: GroupBy, top: usize, started: SystemTime) -> Self {
        Self {
            by,
            top,
            shown: HashSet::new(),
            faults: FaultCounters::new(by, started),
            started,
            booted: None,
            pushes: None,
        }
    }

    /// Returns the data that the families need in addition to what every snapshot has.
    pub fn needs(by: GroupBy) -> Needs {
        let exported = COLUMNS.iter().filter(|column| column.metric.is_some());
        let needs = exported.fold(Needs::NOTHING, |needs, column| needs.and(column.needs));
        if matches!(by, GroupBy::Unit | GroupBy::Container | GroupBy::Pod | GroupBy::Cgroup) {
            needs
        } else {
            needs.without(Needs::CGROUP_DETAILS)
        }
    }

    /// Adds a snapshot. Must get each snapshot once.
    pub fn push(&mut self, snapshot: &Snapshot) {
        self.faults.push(snapshot);
        self.booted = self.booted.or_else(|| booted(snapshot));
    }

    /// Limits the times from which counters count to this one, by the wall clock. If the clock was set back, they would be
    /// later than the values, and must not change again with each push.
    pub(crate) fn limit_starts(&mut self, time: SystemTime) {
        self.started = self.started.min(time);
        self.booted = self.booted.map(|booted| booted.min(time));
        self.faults.limit_starts(time);
    }

    pub fn count_push(&mut self, is_taken: bool) {
        let [taken, failed] = self.pushes.get_or_insert_default();
        *(if is_taken { taken } else { failed }) += 1;
    }

    /// Builds the families of the last snapshot; none before the first. `now` is the monotonic clock.
    pub fn families(&mut self, state: &State, now: Duration) -> Vec<Family> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        self.limit_starts(snapshot.time);
        let is_process = |sample: &ProcessSample| !sample.stat.is_kernel_thread();
        // No exported figure is a change.
        let groups = group_processes(snapshot, self.by, is_process, |_| None);
        let chosen = groups::choose(
            self.top,
            &mut self.shown,
            &groups,
            &mut self.faults,
            &state.history,
            snapshot,
        );
        let mut families = groups::families(&groups, &chosen, &self.faults, &state.history, snapshot);
        families.extend(machine::families(snapshot, &state.history, self.booted, self.started));
        families.extend(machine::own(snapshot, now, self.started));
        families.extend(self.pushes.map(|pushes| machine::pushes(pushes, self.started)));
        let series = families.iter().map(|family| family.series.len()).sum();
        families.extend(groups::counts(groups.len(), chosen.shown.len(), series));
        families
    }
}

/// Returns the time of the boot in whole seconds. Fractions are the error of two clocks and would differ after a restart.
fn booted(snapshot: &Snapshot) -> Option<SystemTime> {
    let uptime = Duration::try_from_secs_f64(snapshot.system.uptime.ok()?).ok()?;
    let booted = snapshot.time.checked_sub(uptime)?;
    let seconds = booted.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Waits for reads and writes of files, which may hang, and reports the first in a row that does.
#[derive(Default)]
pub(crate) struct Watchdog {
    is_reported: bool,
}

impl Watchdog {
    /// The time after which a read or write hangs.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// Waits until the work is done. Calls `report` meanwhile if it hangs, and the last one did not.
    pub(crate) async fn wait<T>(&mut self, work: impl Future<Output = T>, report: impl FnOnce()) -> T {
        tokio::pin!(work);
        if let Ok(done) = tokio::time::timeout(Self::PATIENCE, &mut work).await {
            self.is_reported = false;
            return done;
        }
        if !std::mem::replace(&mut self.is_reported, true) {
            report();
        }
        work.await
    }
}

/// Locks a mutex. Data that a panicked thread left is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
