//! The share of a snapshot's processes that could be read.

use std::time::Duration;

use crate::model::process::ProcessSample;
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;

/// The number of processes whose memory is known, and of those whose memory is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Processes whose memory was read.
    pub readable: usize,
    /// Processes that have memory that could not be read, or not yet.
    pub hidden: usize,
    /// Hidden processes that wait for their first walk.
    pub pending: usize,
    /// Processes whose figures may be wrong by more than they are shown to be right to.
    pub uncertain: usize,
    /// The time of the oldest walk of those.
    pub uncertain_since: Option<Duration>,
    /// Hidden processes, beside those that wait, whose resident pages the kernel counts for everyone.
    pub by_rss: usize,
    /// The age of the oldest walk.
    pub oldest: Option<Duration>,
}

impl Coverage {
    /// Counts the processes of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        let walks = snapshot.rows().iter().filter_map(|row| row.walk.ok());
        let oldest = walks.map(|walk| snapshot.monotonic.saturating_sub(walk.at)).max();
        Self {
            oldest,
            ..Self::of_rows(snapshot.rows())
        }
    }

    /// Counts processes; says nothing of their age.
    pub fn of_rows(rows: &[ProcessSample]) -> Self {
        let mut coverage = Self::default();
        for row in rows {
            match row.walk {
                Ok(walk) => {
                    coverage.readable += 1;
                    if row.stale {
                        coverage.uncertain += 1;
                        coverage.uncertain_since = earlier(coverage.uncertain_since, Some(walk.at));
                    }
                }
                Err(e) if e.hides_memory() => {
                    coverage.hidden += 1;
                    coverage.pending += usize::from(e == Missing::Pending);
                    coverage.by_rss += usize::from(e != Missing::Pending && row.counted_rss().is_some());
                }
                Err(_) => {}
            }
        }
        coverage
    }

    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        self.readable += other.readable;
        self.hidden += other.hidden;
        self.pending += other.pending;
        self.uncertain += other.uncertain;
        self.uncertain_since = earlier(self.uncertain_since, other.uncertain_since);
        self.by_rss += other.by_rss;
        self.oldest = self.oldest.max(other.oldest);
    }

    /// Returns how many processes have memory, readable or not.
    pub const fn total(&self) -> usize {
        self.readable + self.hidden
    }
}

/// Returns the earlier of two times, or the one there is.
fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    [a, b].into_iter().flatten().min()
}
