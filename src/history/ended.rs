//! Processes that are no more, while there is room to remember them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::history::row::RowHistory;
use crate::model::process::{Facts, Identity};

/// No more than that are remembered.
const MOST: usize = 1000;

/// A process that ended, and what it did.
#[derive(Debug)]
pub struct Ended {
    /// Which one it was.
    pub id: Identity,
    /// What was known of it.
    pub facts: Arc<Facts>,
    /// The program's name in groups by command; `None` where it was in none.
    pub command: Option<Arc<[u8]>>,
    /// When it was first missed, on the monotonic clock.
    pub at: Duration,
    /// Its history, up to its end.
    pub series: RowHistory,
}

/// Those of late, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Past {
    ended: VecDeque<Box<Ended>>,
    /// How many were let go before those; a number in `index` counts from the first there ever was.
    gone: u64,
    index: HashMap<Identity, u64>,
    bytes: usize,
}

impl Past {
    /// One more; the oldest gives way.
    pub(super) fn add(&mut self, ended: Box<Ended>) {
        if self.ended.len() >= MOST {
            self.drop_oldest();
        }
        self.bytes += weight(&ended);
        self.index.insert(ended.id, self.gone + self.ended.len() as u64);
        self.ended.push_back(ended);
    }

    /// Lets the one that ended first go; what that freed, in bytes; `None` where there is none.
    pub(super) fn drop_oldest(&mut self) -> Option<usize> {
        let oldest = self.ended.pop_front()?;
        if self.index.get(&oldest.id) == Some(&self.gone) {
            self.index.remove(&oldest.id);
        }
        self.gone += 1;
        let freed = weight(&oldest);
        self.bytes = self.bytes.saturating_sub(freed);
        Some(freed)
    }

    pub(super) fn get(&self, id: Identity) -> Option<&Ended> {
        let number = self.index.get(&id)?;
        self.ended.get((number - self.gone) as usize).map(|ended| &**ended)
    }

    /// The last that ended first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.ended.iter().rev().map(|ended| &**ended)
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The bytes that remembering it takes, without its facts' command line, which is short.
const fn weight(ended: &Ended) -> usize {
    size_of::<Ended>() - size_of::<RowHistory>() + ended.series.bytes() + size_of::<(Identity, u64)>()
}
