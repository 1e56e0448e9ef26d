//! Reads the memory that `malloc` keeps free in large processes, at intervals.
//!
//! A read walks the free lists of a heap, which costs microseconds to tens of milliseconds. [`Budget`] bounds the cost of all reads
//! together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::close_looks::check_same;
use super::job::{Job, JobKey, job};
use crate::heaps::{self, MIN_ANON};
use crate::model::snapshot::MallocHeap;
use crate::model::{Identity, Missing, ProcessSample, Reading, Snapshot};
use crate::proc::clock;
use crate::sampler::policy::heaps::{Budget, INTERVAL, is_due};
use crate::sampler::reading::Context;

/// Number of failed reads after which a heap is no longer read: it has another allocator, or access is denied.
const MAX_FAILED: u32 = 3;
/// Processor time after which a read gives up.
const DEADLINE: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(super) struct Heaps {
    is_on: bool,
    processes: BTreeMap<Identity, Process>,
    pub(super) found: Arc<BTreeMap<Identity, MallocHeap>>,
    budget: Budget,
    /// The processes whose heaps are due, but for the budget: the first ones are read first.
    waiting: Vec<Identity>,
    pruned_at: Duration,
}

struct Process {
    exec: u32,
    read_at: Option<Duration>,
    /// Its minor faults and its CPU time when it was last read.
    activity: [u64; 2],
    /// The time of its last read.
    cost: Option<Duration>,
    failed: u32,
    is_reading: bool,
    /// The time at which it was last added to those that wait.
    waited_at: Option<Duration>,
}

impl Heaps {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }

    /// Checks the rows that wait and the changed ones of a snapshot, and returns the jobs to run.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) -> Vec<Job> {
        let now = snapshot.monotonic;
        if now.saturating_sub(self.pruned_at) >= INTERVAL {
            self.pruned_at = now;
            self.prune(snapshot);
        }
        let waiting = std::mem::take(&mut self.waiting);
        let waiting = waiting
            .iter()
            .filter_map(|id| snapshot.rows().get(snapshot.place(*id)?));
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_by(|a, b| self.budget.spent(user(a)).total_cmp(&self.budget.spent(user(b))));
        waiting
            .into_iter()
            .chain(snapshot.changed_rows())
            .filter_map(|row| self.job(row, now))
            .collect()
    }

    fn job(&mut self, row: &ProcessSample, now: Duration) -> Option<Job> {
        let memory = row.memory().ok()?;
        let anon = memory.pss_anon.ok()?;
        let is_swapped = heaps::is_swapped(anon, memory.swap);
        if !self.is_on || is_swapped || anon < MIN_ANON && !self.processes.contains_key(&row.id) {
            return None;
        }
        let activity = [row.stat.minflt, row.stat.cpu_ticks];
        let process = self.processes.entry(row.id).or_insert(Process {
            exec: row.exec,
            read_at: None,
            activity,
            cost: None,
            failed: 0,
            is_reading: false,
            waited_at: None,
        });
        if process.exec != row.exec {
            (process.exec, process.read_at) = (row.exec, None);
            (process.cost, process.failed) = (None, 0);
            // It was the heap of another program.
            if self.found.contains_key(&row.id) {
                Arc::make_mut(&mut self.found).remove(&row.id);
            }
        }
        let is_due = process
            .read_at
            .is_none_or(|at| is_due(now.saturating_sub(at), process.activity != activity));
        // A shared address space is read once.
        if !is_due || process.is_reading || process.failed >= MAX_FAILED || row.shares_mm.is_some() {
            return None;
        }
        let (id, exec) = (row.id, row.exec);
        let Some(reserved) = self.budget.reserve(now, user(row), process.cost) else {
            // It may have waited and changed, too.
            if process.waited_at.replace(now) != Some(now) {
                self.waiting.push(id);
            }
            return None;
        };
        (process.is_reading, process.read_at, process.activity) = (true, Some(now), activity);
        Some(job(
            JobKey::Heap(id.pid),
            reserved.expected.as_micros() as u64,
            move |context, reader| read(id, context, reader.buf),
            move |scanner, (took, heap)| {
                scanner.heaps.budget.settle(reserved, took);
                scanner.heaps.set(id, exec, took, heap);
            },
        ))
    }

    fn set(&mut self, id: Identity, exec: u32, took: Duration, heap: Reading<MallocHeap>) {
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        (process.is_reading, process.cost) = (false, Some(took));
        match heap {
            // It may have run exec meanwhile.
            _ if process.exec != exec => process.read_at = None,
            Ok(heap) => {
                process.failed = 0;
                Arc::make_mut(&mut self.found).insert(id, heap);
            }
            // It changed while it was read, or there was no time: it is read again, even if it is idle.
            Err(Missing::Pending) => process.activity = [u64::MAX; 2],
            Err(_) => process.failed += 1,
        }
    }

    /// Removes ended processes.
    fn prune(&mut self, snapshot: &Snapshot) {
        self.processes.retain(|id, _| snapshot.place(*id).is_some());
        if !self.found.keys().all(|id| self.processes.contains_key(id)) {
            Arc::make_mut(&mut self.found).retain(|id, _| self.processes.contains_key(id));
        }
    }
}

/// Returns the user of a process. One that is not known counts as another one.
fn user(row: &ProcessSample) -> u32 {
    row.facts.owner_uid().unwrap_or(u32::MAX)
}

/// Reads a heap. Also returns the processor time of the read.
fn read(id: Identity, context: &Context, buf: &mut [u8]) -> (Duration, Reading<MallocHeap>) {
    let (took, found) = heaps::free(&context.roots.proc, id.pid, DEADLINE);
    let at = clock::monotonic();
    let found = found.and_then(|[free, kept]| check_same(id, context, buf).map(|()| MallocHeap { at, free, kept }));
    (took, found)
}
