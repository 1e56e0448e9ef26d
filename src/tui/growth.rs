//! The growth of each process's mappings between readings.
//!
//! The mappings of the shown process are read again and again. The first reading of each recently shown process is kept, so
//! that its whole growth is visible when it is shown again.

use std::collections::VecDeque;
use std::time::Duration;

use crate::history::History;
use crate::history::mappings::{MappingGrowth, MappingTotals, diff};
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, ProcessSample, Reading, Snapshot};

/// Maximum number of processes whose readings are kept: a screenful.
const MAX_KEPT: usize = 16;

#[derive(Debug, Default)]
pub struct GrowthTracker {
    /// The one read last is at the back.
    processes: VecDeque<TrackedProcess>,
}

#[derive(Debug)]
pub struct TrackedProcess {
    id: Identity,
    /// Readings from before another exec are discarded.
    exec: u32,
    /// The first and the last reading.
    readings: Option<(MappingReading, MappingReading)>,
    /// The mapping that grew most from the first reading to the last.
    fastest: Option<MappingGrowth>,
    /// The time of the last failed reading.
    failed_at: Option<Duration>,
    /// Growth counts from a mark, not from the first reading.
    pub marked: bool,
    /// The reason why the last reading failed.
    pub error: Option<Missing>,
}

/// A reading of a process's mappings, and its time on the snapshots' monotonic clock.
#[derive(Clone, Debug)]
struct MappingReading {
    totals: MappingTotals,
    at: Duration,
}

impl TrackedProcess {
    /// Returns each mapping's growth from the first reading to the last, if there is one.
    pub fn growth(&self) -> Option<Vec<MappingGrowth>> {
        let (first, last) = self.readings.as_ref()?;
        Some(diff(&first.totals, &last.totals))
    }

    /// Returns how long the growth took, and how long ago the last reading was.
    pub fn span(&self, history: &History) -> Option<(Duration, Duration)> {
        let (_, last) = self.readings.as_ref()?;
        Some((self.took(history)?, history.elapsed_since(last.at)))
    }

    /// Returns the time from the first reading to the last.
    fn took(&self, history: &History) -> Option<Duration> {
        let (first, last) = self.readings.as_ref()?;
        Some(history.suspends().elapsed(first.at, last.at))
    }
}

impl GrowthTracker {
    fn find(&self, id: Identity) -> Option<&TrackedProcess> {
        self.processes.iter().find(|process| process.id == id)
    }

    /// Returns the readings of a process since its last exec.
    pub fn get(&self, sample: &ProcessSample) -> Option<&TrackedProcess> {
        self.find(sample.id).filter(|process| process.exec == sample.exec)
    }

    /// Returns the time of the last reading of a process on the snapshots' clock.
    pub fn read_at(&self, id: Identity) -> Option<Duration> {
        let process = self.find(id)?;
        let last = process.readings.as_ref().map(|(_, last)| last.at);
        last.or(process.failed_at)
    }

    /// Returns the mapping that grew most, and the time of its growth.
    pub fn fastest(&self, id: Identity, history: &History) -> Option<(&MappingGrowth, Duration)> {
        let process = self.find(id)?;
        Some((process.fastest.as_ref()?, process.took(history)?))
    }

    pub fn clear(&mut self) {
        self.processes.clear();
    }

    /// Records a reading of a process, if it is in the snapshot.
    pub fn record(&mut self, snapshot: &Snapshot, id: Identity, read: &Reading<Vec<Mapping>>) {
        let at = snapshot.monotonic;
        let Some(exec) = snapshot.row(id).map(|sample| sample.exec) else {
            return;
        };
        let place = self.processes.iter().position(|process| process.id == id);
        let known = place.and_then(|at| self.processes.remove(at));
        let mut process = known.filter(|p| p.exec == exec).unwrap_or(TrackedProcess {
            id,
            exec,
            readings: None,
            fastest: None,
            failed_at: None,
            marked: false,
            error: None,
        });
        process.error = read.as_ref().err().copied();
        if let Ok(mappings) = read {
            let totals = MappingTotals::of(mappings);
            let reading = MappingReading { totals, at };
            let before = process.readings.take();
            let first = before.map_or_else(|| reading.clone(), |(first, _)| first);
            process.readings = Some((first, reading));
            let growth = process.growth().into_iter().flatten();
            let fastest = growth.max_by_key(|row| row.growth().unwrap_or(0));
            process.fastest = fastest.filter(|row| row.growth() > Some(0));
        } else {
            process.failed_at = Some(at);
        }
        if self.processes.len() == MAX_KEPT {
            self.processes.pop_front();
        }
        self.processes.push_back(process);
    }

    /// Counts the growth of a process from its last reading, as a mark was set.
    pub fn mark(&mut self, id: Identity) {
        let process = self.processes.iter_mut().find(|process| process.id == id);
        if let Some(process) = process
            && let Some((first, last)) = &mut process.readings
        {
            first.clone_from(last);
            process.fastest = None;
            process.marked = true;
        }
    }
}
