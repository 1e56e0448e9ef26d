//! Schedules the reads of the kernel's memory tables while they are shown. The slab caches are also read at long
//! intervals, for their history.

use std::sync::Arc;
use std::time::Duration;

use super::Needs;
use super::job::{Job, JobKey};
use super::kernel::{KernelFile, KernelJob, KernelTable, SlabKinds};
use crate::model::Missing;
use crate::model::kernel::KernelTables;

/// Time between two reads of the slab caches while they are not shown. A read takes the kernel some milliseconds,
/// because it counts the objects of each cache.
const SELDOM: Duration = Duration::from_secs(60);
/// Time between two reads of a table while it is shown.
const OFTEN: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Turns {
    is_wanted: bool,
    asked_at: Option<Duration>,
    is_reading: bool,
}

impl Turns {
    /// Sets whether the table is shown. If it just became visible, the next tick reads it.
    const fn set(&mut self, is_wanted: bool) {
        if is_wanted && !self.is_wanted {
            self.asked_at = None;
        }
        self.is_wanted = is_wanted;
    }

    /// Returns true if a read is due, and records it: every [`OFTEN`] while the table is shown, otherwise at the
    /// interval `otherwise`, if any.
    fn is_due(&mut self, now: Duration, otherwise: Option<Duration>) -> bool {
        let holds = if self.is_wanted { Some(OFTEN) } else { otherwise };
        let is_over = |holds| self.asked_at.is_none_or(|at| now.saturating_sub(at) >= holds);
        let is_due = !self.is_reading && holds.is_some_and(is_over);
        if is_due {
            self.asked_at = Some(now);
            self.is_reading = true;
        }
        is_due
    }
}

#[derive(Default)]
pub(super) struct KernelReader {
    tables: KernelTables,
    kinds: SlabKinds,
    slab: Turns,
    sites: Turns,
}

impl KernelReader {
    pub(super) const fn set(&mut self, needs: Needs) {
        self.slab.set(needs.contains(Needs::SLAB));
        self.sites.set(needs.contains(Needs::SITES));
    }

    /// Returns the jobs that are due. The `first` tick may serve a single table, so it reads only what is
    /// wanted.
    pub(super) fn jobs(&mut self, now: Duration, is_first: bool) -> Vec<Job> {
        // If the file is missing or not readable now, that will not change.
        let may_read = matches!(self.tables.slab, Ok(_) | Err(Missing::Pending | Missing::TimedOut));
        let mut jobs = Vec::new();
        if self.slab.is_due(now, Some(SELDOM).filter(|_| may_read && !is_first)) {
            jobs.push(Job::Kernel(KernelJob::Slab(std::mem::take(&mut self.kinds))));
        }
        if self.sites.is_due(now, None) {
            jobs.push(Job::Kernel(KernelJob::Sites));
        }
        jobs
    }

    pub(super) fn take_in(&mut self, table: KernelTable) {
        match table {
            KernelTable::Slab(found, kinds) => {
                self.slab.is_reading = false;
                self.kinds = kinds;
                self.tables.slab = found.map(Arc::new);
            }
            KernelTable::Sites(found) => {
                self.sites.is_reading = false;
                self.tables.sites = found.map(Arc::new);
            }
        }
    }

    /// Returns the current tables. A table whose read `is_late` is reported as timed out.
    pub(super) fn publish(&mut self, is_late: impl Fn(JobKey) -> bool) -> KernelTables {
        if self.slab.is_reading && is_late(JobKey::Kernel(KernelFile::Slab)) {
            self.tables.slab = Err(Missing::TimedOut);
        }
        if self.sites.is_reading && is_late(JobKey::Kernel(KernelFile::Sites)) {
            self.tables.sites = Err(Missing::TimedOut);
        }
        self.tables.clone()
    }
}
