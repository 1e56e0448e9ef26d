//! The tables of the kernel's own memory, which are read while somebody looks at them; the slab caches also rarely, for
//! their past.

use std::sync::Arc;
use std::time::Duration;

use super::Needs;
use super::job::{Job, JobKey, KernelFile, KernelJob, KernelTable};
use super::kernel::SlabKinds;
use crate::model::Missing;
use crate::model::kernel_tables::KernelTables;

/// Time between two reads of the slab caches while nobody looks at them: one takes the kernel some milliseconds, as it
/// counts the objects of each.
const SELDOM: Duration = Duration::from_secs(60);
/// Time between two reads of a table while somebody does.
const OFTEN: Duration = Duration::from_secs(2);

/// The reads of one table.
#[derive(Default)]
struct Turns {
    is_wanted: bool,
    asked_at: Option<Duration>,
    is_reading: bool,
}

impl Turns {
    /// Sets if somebody looks at it; the next tick then reads it.
    const fn set(&mut self, is_wanted: bool) {
        if is_wanted && !self.is_wanted {
            self.asked_at = None;
        }
        self.is_wanted = is_wanted;
    }

    /// Returns true if it is to be read now: every [`OFTEN`] while somebody looks, else after that time, if at all.
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

/// The tables, and when they were read.
#[derive(Default)]
pub(super) struct KernelReader {
    tables: KernelTables,
    kinds: SlabKinds,
    slab: Turns,
    sites: Turns,
}

impl KernelReader {
    /// Sets which tables somebody looks at.
    pub(super) const fn set(&mut self, needs: Needs) {
        self.slab.set(needs.contains(Needs::SLAB));
        self.sites.set(needs.contains(Needs::SITES));
    }

    /// Returns the jobs to read what is due; at the `first` tick, which may be that of a single table, only what is wanted.
    pub(super) fn jobs(&mut self, now: Duration, is_first: bool) -> Vec<Job> {
        // Who may not read it, or has none, will not later.
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

    /// Takes in a table that was read.
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

    /// Returns the tables as of now; one whose read `is_late` says so.
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
