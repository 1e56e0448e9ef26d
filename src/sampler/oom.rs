//! Watches for processes that the kernel kills for lack of memory, and looks up in its log who they were.

use std::sync::Arc;
use std::time::SystemTime;

use super::job::Job;
use crate::model::oom::{OomKill, OomVictim};
use crate::model::{Missing, Reading};

/// Kills that are kept.
const KEPT: usize = 32;
/// Looks into the log until a kill counts as not written there: the kernel counts it a moment before it writes.
const TRIES: u32 = 3;

/// The kills that were seen.
pub(super) struct OomWatch {
    /// The kernel's counter when it was read last.
    counted: Option<u64>,
    /// Kills that were counted and not yet looked up.
    pending: u64,
    tries: u32,
    /// The number of the last record of a kill that was read.
    last: Option<u64>,
    is_reading: bool,
    kills: Arc<[OomKill]>,
}

impl Default for OomWatch {
    fn default() -> Self {
        Self {
            counted: None,
            pending: 0,
            tries: 0,
            last: None,
            is_reading: false,
            kills: Arc::from([]),
        }
    }
}

impl OomWatch {
    /// Returns the kills, the newest last.
    pub(super) fn kills(&self) -> Arc<[OomKill]> {
        Arc::clone(&self.kills)
    }

    /// Takes in the kernel's counter; returns the job to look into its log where it rose.
    pub(super) fn follow(&mut self, counter: Reading<u64>) -> Option<Job> {
        let now = counter.ok()?;
        let before = self.counted.replace(now).unwrap_or(now);
        self.pending = self.pending.saturating_add(now.saturating_sub(before));
        if self.pending == 0 || std::mem::replace(&mut self.is_reading, true) {
            return None;
        }
        Some(Job::OomKills)
    }

    /// Takes in the kills that the log holds, by the numbers of their records.
    pub(super) fn take_in(&mut self, found: Reading<Vec<(u64, OomVictim)>>) {
        self.is_reading = false;
        let pending = usize::try_from(self.pending).unwrap_or(usize::MAX);
        let (new, why) = match found {
            Ok(found) => {
                // Older ones are of the time before, as far as that can be told: the newest are.
                let older = found.len().saturating_sub(pending);
                let is_new = |at: usize, record: u64| self.last.map_or(at >= older, |last| record > last);
                let new: Vec<_> = found
                    .into_iter()
                    .enumerate()
                    .filter(|(at, (record, _))| is_new(*at, *record))
                    .map(|(_, kill)| kill)
                    .collect();
                self.tries += 1;
                if new.len() < pending && self.tries < TRIES {
                    return;
                }
                (new, Missing::Gone)
            }
            Err(why) => (Vec::new(), why),
        };
        (self.pending, self.tries) = (0, 0);
        self.last = new.last().map(|(record, _)| *record).or(self.last);
        let time = SystemTime::now();
        let unknown = pending.saturating_sub(new.len()).min(KEPT);
        let victims = std::iter::repeat_n(Err(why), unknown).chain(new.into_iter().map(|(_, victim)| Ok(victim)));
        let mut kills = self.kills.to_vec();
        kills.extend(victims.map(|victim| OomKill { time, victim }));
        let older = kills.len().saturating_sub(KEPT);
        self.kills = kills.split_off(older).into();
    }
}
