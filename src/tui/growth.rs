//! Which mappings of a process grew, from one reading to the next.
//!
//! The mappings of a process are read beside the screen, again and again while somebody looks at it, and reported
//! by its identity. The first reading is kept for the processes looked at last, so that one that is looked at
//! again shows its whole growth.

use std::collections::VecDeque;
use std::time::Duration;

use crate::history::History;
use crate::history::mappings::{MappingGrowth, MappingTotals, diff};
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, ProcessSample, Reading, Snapshot};

/// Maximum number of processes whose readings are kept: a selection moves among a screenful at most.
const MAX_KEPT: usize = 16;

/// Readings of the processes that were looked at last.
#[derive(Debug, Default)]
pub struct GrowthTracker {
    /// The latest at the back.
    processes: VecDeque<TrackedProcess>,
}

#[derive(Debug)]
pub struct TrackedProcess {
    id: Identity,
    /// Its program: readings from before another exec are of no use.
    exec: u32,
    first: Option<MappingReading>,
    last: Option<MappingReading>,
    /// The mapping that grew most from the first reading to the last.
    fastest: Option<MappingGrowth>,
    /// When the last failed reading came in.
    failed_at: Option<Duration>,
    /// Growth counts from a mark, not from when it was first looked at.
    pub marked: bool,
    /// Why the last reading failed.
    pub error: Option<Missing>,
}

/// A reading of a process's mappings, and when it came in, on the snapshots' monotonic clock.
#[derive(Clone, Debug)]
struct MappingReading {
    totals: MappingTotals,
    at: Duration,
}

impl TrackedProcess {
    /// Returns each mapping's growth from the first reading to the last; `None` while there is none.
    pub fn growth(&self) -> Option<Vec<MappingGrowth>> {
        Some(diff(&self.first.as_ref()?.totals, &self.last.as_ref()?.totals))
    }

    /// Returns how long the growth took, and how long ago the last reading was.
    pub fn span(&self, history: &History) -> Option<(Duration, Duration)> {
        let age = history.elapsed_since(self.last.as_ref()?.at);
        Some((self.took(history)?, age))
    }

    /// Returns the time from the first reading to the last.
    fn took(&self, history: &History) -> Option<Duration> {
        let (first, last) = (self.first.as_ref()?.at, self.last.as_ref()?.at);
        Some(history.suspends().elapsed(first, last))
    }
}

impl GrowthTracker {
    fn find(&self, id: Identity) -> Option<&TrackedProcess> {
        self.processes.iter().find(|process| process.id == id)
    }

    /// Returns what was read of that process, since its last exec.
    pub fn get(&self, sample: &ProcessSample) -> Option<&TrackedProcess> {
        self.find(sample.id).filter(|process| process.exec == sample.exec)
    }

    /// Returns when that process was read last, on the snapshots' clock; `None` if never.
    pub fn read_at(&self, id: Identity) -> Option<Duration> {
        let process = self.find(id)?;
        process.last.as_ref().map(|last| last.at).or(process.failed_at)
    }

    /// Returns the mapping of that process that grew most, as far as it was read, and how long that took.
    pub fn fastest(&self, id: Identity, history: &History) -> Option<(&MappingGrowth, Duration)> {
        let process = self.find(id)?;
        Some((process.fastest.as_ref()?, process.took(history)?))
    }

    /// Forgets every reading.
    pub fn clear(&mut self) {
        self.processes.clear();
    }

    /// Records what was read of a process that is in the snapshot.
    pub fn record(&mut self, snapshot: &Snapshot, id: Identity, read: &Reading<Vec<Mapping>>) {
        let at = snapshot.monotonic;
        let Some(sample) = snapshot.row(id) else {
            return;
        };
        let exec = sample.exec;
        let place = self.processes.iter().position(|process| process.id == id);
        let known = place.and_then(|at| self.processes.remove(at));
        let mut process = known.filter(|p| p.exec == exec).unwrap_or(TrackedProcess {
            id,
            exec,
            first: None,
            last: None,
            fastest: None,
            failed_at: None,
            marked: false,
            error: None,
        });
        match read {
            Ok(mappings) => {
                let totals = MappingTotals::of(mappings);
                let reading = MappingReading { totals, at };
                process.first.get_or_insert_with(|| reading.clone());
                process.last = Some(reading);
                process.error = None;
                process.fastest = process.growth().and_then(|rows| {
                    let fastest = rows.into_iter().max_by_key(|row| row.growth().unwrap_or(0))?;
                    (fastest.growth().unwrap_or(0) > 0).then_some(fastest)
                });
            }
            Err(why) => {
                process.error = Some(*why);
                process.failed_at = Some(at);
            }
        }
        if self.processes.len() == MAX_KEPT {
            self.processes.pop_front();
        }
        self.processes.push_back(process);
    }

    /// Counts the growth of that process from its last reading on: a mark was set.
    pub fn mark(&mut self, id: Identity) {
        let process = self.processes.iter_mut().find(|process| process.id == id);
        if let Some(process) = process.filter(|process| process.last.is_some()) {
            process.first.clone_from(&process.last);
            process.fastest = None;
            process.marked = true;
        }
    }
}
