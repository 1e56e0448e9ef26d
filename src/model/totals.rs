//! What a set of processes holds together.

use super::history::Change;
use super::memory::Memory;
use super::reading::{Missing, Reading};
use super::row::Row;
use super::snapshot::{ProcessSample, Snapshot};

/// The sums of a set of processes: those a filter lets through, those tagged, a subtree.
#[derive(Clone, Debug)]
pub struct Totals {
    /// How many processes.
    pub count: usize,
    /// Their memory: of those that have some and could be read.
    pub memory: Reading<Memory>,
    /// Some process's memory is hidden, so the sums are too small.
    pub partial: bool,
    /// Their changes.
    pub change: Change,
    /// Their threads.
    pub threads: u64,
}

impl Default for Totals {
    /// The sum of nothing.
    fn default() -> Self {
        Self {
            count: 0,
            memory: Err(Missing::Pending),
            partial: false,
            change: Change::default(),
            threads: 0,
        }
    }
}

impl Totals {
    /// One process alone.
    pub fn one(sample: &ProcessSample, change: Option<&Change>) -> Self {
        Self {
            count: 1,
            memory: sample.memory().copied(),
            partial: sample.walk.is_err_and(Missing::hides_memory),
            change: change.copied().unwrap_or_default(),
            threads: sample.stat.threads,
        }
    }

    /// The sum of these processes.
    pub fn of<'a>(
        samples: impl IntoIterator<Item = &'a ProcessSample>,
        change: impl Fn(&ProcessSample) -> Option<Change>,
    ) -> Self {
        let mut sum = Self::default();
        for sample in samples {
            sum.add(&Self::one(sample, change(sample).as_ref()));
        }
        sum
    }

    /// Adds what others hold. A sum without a figure says why: that one is hidden rather than that one has
    /// no memory.
    pub fn add(&mut self, other: &Self) {
        self.memory = match (self.memory, other.memory) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(&more);
                Ok(sum)
            }
            (Ok(sum), Err(_)) | (Err(_), Ok(sum)) => Ok(sum),
            (Err(mine), Err(theirs)) => Err(if self.partial { mine } else { theirs }),
        };
        self.count += other.count;
        self.partial |= other.partial;
        self.change.add(&other.change);
        self.threads = self.threads.saturating_add(other.threads);
    }

    /// The row that shows them.
    pub fn row<'a>(&'a self, snapshot: &'a Snapshot) -> Row<'a> {
        Row {
            sample: None,
            memory: self.memory.as_ref().map_err(|e| *e),
            change: Some(&self.change),
            spark: None,
            subtree: Some(self),
            group: None,
            snapshot,
            now: snapshot.monotonic,
            uptime: None,
        }
    }
}
