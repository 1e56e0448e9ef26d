//! Processes that ended recently.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::history::row::RowHistory;
use crate::model::process::{Facts, Identity};

/// Maximum number of ended processes remembered: a storm of short-lived ones must not fill the memory.
const MAX_ENDED: usize = 1000;

/// A process that ended, with its history.
#[derive(Debug)]
pub struct Ended {
    /// The process.
    pub id: Identity,
    /// Its names.
    pub facts: Arc<Facts>,
    /// Its name in groups by command; `None` where it was in none.
    pub command: Option<Arc<[u8]>>,
    /// When it was first missed, on the monotonic clock.
    pub at: Duration,
    /// Its history, up to its end.
    pub history: RowHistory,
}

/// The ended processes, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct EndedProcesses {
    queue: VecDeque<Box<Ended>>,
    /// The number dropped from the front: numbers in `index` count from the first ever.
    dropped: u64,
    index: HashMap<Identity, u64>,
    bytes: usize,
}

impl EndedProcesses {
    /// Adds one; the oldest is dropped if there are too many.
    pub(super) fn push(&mut self, ended: Box<Ended>) {
        if self.queue.len() >= MAX_ENDED {
            self.drop_oldest();
        }
        self.bytes += bytes(&ended);
        self.index.insert(ended.id, self.dropped + self.queue.len() as u64);
        self.queue.push_back(ended);
    }

    /// Drops the one that ended first; returns the bytes freed, `None` where there is none.
    pub(super) fn drop_oldest(&mut self) -> Option<usize> {
        let oldest = self.queue.pop_front()?;
        // The same identity may have ended again, after a listing that lacked it.
        if self.index.get(&oldest.id) == Some(&self.dropped) {
            self.index.remove(&oldest.id);
        }
        self.dropped += 1;
        let freed = bytes(&oldest);
        self.bytes = self.bytes.saturating_sub(freed);
        Some(freed)
    }

    pub(super) fn get(&self, id: Identity) -> Option<&Ended> {
        let number = self.index.get(&id)?;
        self.queue.get((number - self.dropped) as usize).map(|ended| &**ended)
    }

    /// Returns all, the last that ended first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.queue.iter().rev().map(|ended| &**ended)
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns the memory of one in bytes. Nobody but it holds its facts after its end.
fn bytes(ended: &Ended) -> usize {
    size_of::<Ended>() - size_of::<RowHistory>()
        + ended.facts.bytes()
        + ended.history.bytes()
        + size_of::<(Identity, u64)>()
}
