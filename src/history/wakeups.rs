//! The processes that a snapshot must push though their rows did not change: those at which time changes something.

use std::collections::BTreeMap;

use crate::history::figures::Clock;
use crate::history::process::ProcessHistory;
use crate::model::process::{Identity, ProcessSample};

/// The processes to push with the next snapshot.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    /// The number that its source gave the last snapshot with processes.
    pub(super) tick: Option<u64>,
    /// The time of that snapshot.
    pub(super) clock: Clock,
    /// Every process is to be pushed: something was done to all.
    pub(super) is_whole: bool,
    /// The processes that do not rest.
    active: Vec<Identity>,
    /// The others, by the second at which they are due to be judged.
    due: BTreeMap<u32, Vec<Identity>>,
}

impl Wakeups {
    /// The memory that a process takes here, in bytes: it is in one list, with room to grow.
    pub(super) const BYTES_PER_PROCESS: usize = 2 * size_of::<Identity>();

    /// Returns the processes that do not rest, or are due by `now`.
    pub(super) fn take(&mut self, now: u32) -> impl Iterator<Item = (Identity, Option<u32>)> + use<> {
        let active = std::mem::take(&mut self.active).into_iter().map(|id| (id, None));
        let later = self.due.split_off(&now.saturating_add(1));
        let due = std::mem::replace(&mut self.due, later).into_iter();
        active.chain(due.flat_map(|(due, ids)| ids.into_iter().map(move |id| (id, Some(due)))))
    }

    /// Takes in a process that was pushed in the second `now`.
    pub(super) fn pushed(&mut self, sample: &ProcessSample, process: &mut ProcessHistory, now: u32) {
        // What counts of a shared address space depends on others.
        process.is_resting = process.is_chosen && sample.shares_mm.is_none() && process.row.is_resting();
        if !process.is_resting {
            self.active.push(sample.id);
        } else if let Some(due) = process.row.due() {
            // One that is due now may be left out, and has to queue up again.
            let due = due.max(now);
            if std::mem::replace(&mut process.wakes_at, due) != due {
                self.due.entry(due).or_default().push(sample.id);
            }
        }
    }
}
