//! Memory that processes hold through their descriptors: when to read it, and how to divide an object among its
//! holders.
//!
//! A process that did not run has opened and closed nothing. For one that ran, the number of its descriptors is read
//! first, at 2 µs (Linux 6.2), and everything is read if that number changed. A process may close as many descriptors
//! as it opens, and before 6.2 the kernel does not report the number. So processes that ran are also reread after 10
//! s. Holders are read more often, because an object can grow without any descriptor changing.
//!
//! | process | read again |
//! | --- | --- |
//! | new, after an exec, or with another number of descriptors | at once |
//! | it holds something and ran | after 0.9 s |
//! | it ran, or holds something that another process may grow | after 10 s |
//! | the rest | never |
//!
//! No process is reread before 100 times the duration of its last read have passed.
//!
//! The two buckets of [`Buckets`] pay for all reads, except the first ones after this data was requested. A read of
//! 30 descriptors takes some 60 µs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::{Process, Table, batches, process_mut, process_of};
use crate::model::held::{self, Held};
use crate::model::{HeldObject, Missing, Reading};
use crate::sampler::reading::ProcessRef;
use crate::sampler::reading::held::{HeldResult, ObjectKey, OwnObject, changed_counts, read};
use crate::sampler::reading::spending::Spending;
use crate::sampler::scanner::job::{Job, JobKey, RunningReads, job};

const COUNTS_BATCH: usize = 64;
/// Additional shares of the walk budget: for new or changed processes, and for those that may have changed.
const SHARES: [f64; 2] = [0.2, 0.04];
/// Seconds of budget that may be saved.
const BURST: f64 = 2.0;

#[derive(Default)]
pub(super) struct HeldReads {
    is_on: bool,
    /// Everything must be read at any cost, because the data was just requested.
    is_initial: bool,
    pending: BTreeSet<u32>,
    /// The processes that hold something, by pid, with their serial numbers.
    holders: BTreeMap<u32, u64>,
    /// A process holds other objects than when they were last divided.
    is_undivided: bool,
    buckets: Buckets,
}

/// CPU time that may be spent, in seconds: for new or changed processes, and for the others.
#[derive(Default)]
struct Buckets {
    levels: [f64; 2],
    filled_at: Option<Duration>,
}

impl Buckets {
    fn fill(&mut self, now: Duration, budget: f64) {
        let since = now.saturating_sub(self.filled_at.replace(now).unwrap_or(now));
        for (level, share) in self.levels.iter_mut().zip(SHARES) {
            let rate = share * budget;
            *level = rate.mul_add(since.as_secs_f64(), *level).min(rate * BURST);
        }
    }

    /// Charges the expected cost to a bucket; returns false if the bucket is empty.
    fn take(&mut self, bucket: usize, cost: Duration) -> bool {
        let level = &mut self.levels[bucket];
        let is_allowed = *level > 0.0;
        if is_allowed {
            *level -= cost.as_secs_f64();
        }
        is_allowed
    }
}

impl Table {
    pub(crate) fn set_held(&mut self, is_on: bool) {
        if is_on == self.held.is_on {
            return;
        }
        self.held = HeldReads {
            is_on,
            is_initial: is_on,
            ..HeldReads::default()
        };
        if !is_on {
            for (pid, entry) in &mut self.entries {
                if entry.process.as_deref_mut().is_some_and(|p| p.held.take().is_some()) {
                    entry.touch(*pid, &mut self.buffers.touched);
                }
            }
        }
    }

    /// Returns the jobs to read the held memory of processes, and to count the descriptors of those that ran, which only works
    /// in procfs. Without the `budget` of walks, everything that may have changed is read.
    pub(crate) fn held_jobs(&mut self, now: Duration, budget: Option<f64>) -> Vec<Job> {
        if !self.held.is_on {
            return Vec::new();
        }
        let is_free = std::mem::take(&mut self.held.is_initial) || budget.is_none();
        self.held.buckets.fill(now, budget.unwrap_or(0.0));
        if is_free {
            self.held.pending.extend(self.entries.keys());
        }
        let mut counts = Vec::new();
        for pid in &self.glances.asked {
            let Some(process) = process_mut(&mut self.entries, *pid) else {
                continue;
            };
            let watch = process.held.get_or_insert_with(|| Box::new(HeldWatch::new()));
            watch.has_run = true;
            self.held.pending.insert(*pid);
            let is_known = !watch.is_reading && watch.due(now, process.exec).is_none();
            if self.is_procfs && is_known && watch.objects.is_empty() {
                let descriptors = watch.descriptors;
                counts.push((process.reference(), descriptors));
            }
        }
        let mut jobs: Vec<Job> = batches(counts.into_iter(), COUNTS_BATCH).map(counts_job).collect();
        let spending = is_free.then(Arc::<Spending>::default);
        jobs.extend(self.due_reads(now, spending.as_ref()));
        jobs
    }

    /// Returns the reads that are due and paid for, by the buckets or within `spending`: first of changed processes, then the oldest.
    fn due_reads(&mut self, now: Duration, spending: Option<&Arc<Spending>>) -> Vec<Job> {
        let mut pending = std::mem::take(&mut self.held.pending);
        let mut due = Vec::new();
        pending.retain(|pid| {
            let Some(process) = process_mut(&mut self.entries, *pid) else {
                return false;
            };
            if process.stat.lacks_memory().is_some() {
                process.held = None;
                return false;
            }
            let watch = process.held.get_or_insert_with(|| Box::new(HeldWatch::new()));
            if !watch.is_reading {
                let bucket = watch.due(now, process.exec);
                due.extend(bucket.map(|bucket| (bucket, watch.read_at, *pid)));
            }
            watch.is_reading || watch.has_run || watch.is_changed || !watch.objects.is_empty()
        });
        self.held.pending = pending;
        due.sort_unstable();
        let mut jobs = Vec::new();
        for (bucket, _, pid) in due {
            let Some(process) = process_mut(&mut self.entries, pid) else {
                continue;
            };
            let cost = process.held.as_ref().map_or(EXPECTED, |watch| watch.cost);
            if spending.is_some() || self.held.buckets.take(bucket, cost) {
                jobs.extend(process.held_job(now, spending.cloned()));
                self.touch(pid);
            }
        }
        jobs
    }

    /// Records that a process has another number of descriptors; returns the job to read them.
    fn descriptors_changed(&mut self, changed: &ProcessRef, now: Duration) -> Option<Job> {
        let watch = self.process(changed)?.held.as_deref_mut()?;
        watch.is_changed = true;
        let (exec, cost) = (watch.exec, watch.cost);
        let is_due = watch.due(now, exec).is_some();
        self.held.pending.insert(changed.pid);
        // If the bucket is empty, the read waits for a later tick.
        let starts = is_due && self.held.buckets.take(0, cost);
        self.process(changed).filter(|_| starts)?.held_job(now, None)
    }

    fn set_held_by(&mut self, asked: &ProcessRef, result: HeldResult) {
        let Some(process) = self.process(asked) else { return };
        let is_current = process.exec == asked.exec;
        let Some(watch) = process.held.as_deref_mut() else {
            return;
        };
        watch.is_reading = false;
        watch.cost = result.cost;
        if !is_current {
            watch.is_changed = true;
            return;
        }
        watch.descriptors = result.descriptors;
        let empty = result.objects.as_ref().map(|_| Held::default()).map_err(|why| *why);
        let objects = result.objects.unwrap_or_default();
        if objects.is_empty() {
            watch.shown = held::share(empty);
        }
        let is_news = objects != watch.objects;
        watch.objects = objects;
        if watch.objects.is_empty() {
            self.held.holders.remove(&asked.pid);
        } else {
            self.held.holders.insert(asked.pid, asked.serial);
        }
        self.held.is_undivided |= is_news;
    }

    /// Divides the objects among their holders, if any of that has changed.
    pub(crate) fn divide_held(&mut self) {
        let entries = &self.entries;
        let is_gone = |pid: &u32, serial: &u64| {
            process_of(entries, *pid).is_none_or(|p| p.serial != *serial || p.held.is_none() || p.stat.is_zombie())
        };
        let before = self.held.holders.len();
        self.held.holders.retain(|pid, serial| !is_gone(pid, serial));
        self.held.is_undivided |= self.held.holders.len() < before;
        if !std::mem::take(&mut self.held.is_undivided) {
            return;
        }
        let watch = |pid: &u32| process_of(entries, *pid)?.held.as_deref();
        let watches = || self.held.holders.keys().filter_map(|pid| Some((*pid, watch(pid)?)));
        // The number of holders, and the maximum that one of them maps.
        let mut sharers: HashMap<&ObjectKey, (u32, u64)> = HashMap::new();
        for own in watches().flat_map(|(_, watch)| &watch.objects) {
            let (holders, mapped) = sharers.entry(&own.key).or_default();
            *holders += 1;
            *mapped = own.mapped.max(*mapped);
        }
        let divide = |own: &OwnObject| {
            let (holders, mapped) = sharers.get(&own.key).copied().unwrap_or((1, own.mapped));
            let bytes = own.object.bytes.map(|bytes| bytes.saturating_sub(mapped));
            let object = HeldObject {
                bytes,
                holders,
                ..own.object.clone()
            };
            (object.bytes != Ok(0) || object.vram > 0).then_some(object)
        };
        let news: Vec<(u32, Reading<Held>)> = watches()
            .map(|(pid, watch)| (pid, Ok(Held::new(watch.objects.iter().filter_map(divide).collect()))))
            .filter(|(pid, held)| watch(pid).is_some_and(|watch| *watch.shown != *held))
            .collect();
        drop(sharers);
        for (pid, held) in news {
            let process = process_mut(&mut self.entries, pid);
            if let Some(watch) = process.and_then(|process| process.held.as_deref_mut()) {
                watch.shown = held::share(held);
                self.touch(pid);
            }
        }
    }
}

impl Process {
    /// Returns the job to read its held memory; `None` if another one is outstanding.
    fn held_job(&mut self, now: Duration, spending: Option<Arc<Spending>>) -> Option<Job> {
        let exec = self.exec;
        let watch = self.held.as_deref_mut().filter(|watch| !watch.is_reading)?;
        (watch.is_reading, watch.has_run, watch.is_changed) = (true, false, false);
        (watch.read_at, watch.exec) = (Some(now), exec);
        let expected = watch.cost.as_micros() as u64;
        let process = self.reference();
        Some(job(
            JobKey::Held(self.serial),
            expected,
            move |context, reader| {
                let result = read(
                    &process,
                    &context.roots,
                    context.has_own_pids,
                    spending.as_deref(),
                    reader,
                );
                (process, result)
            },
            |scanner, (process, result)| scanner.table.set_held_by(&process, result),
        ))
    }
}

/// Returns the job to count the descriptors of some processes, each with the number before.
fn counts_job(of: Vec<(ProcessRef, u64)>) -> Job {
    job(
        JobKey::DescriptorCounts(of[0].0.serial),
        2 * of.len() as u64,
        |context, _| changed_counts(of, &context.roots.proc),
        |scanner, changed| {
            for process in changed {
                let job = scanner.table.descriptors_changed(&process, scanner.now);
                scanner.jobs.extend(job);
            }
        },
    )
}

/// Time after which a process that ran is reread even if the number of its descriptors is unchanged. It may have
/// closed one and opened another. At a tenth of this time, 1000 busy processes would take 1/20 of a core.
const RECHECK: Duration = Duration::from_secs(10);
/// Minimum time between two reads of a process that holds something: a little less than a tick of 1 s.
const PAUSE: Duration = Duration::from_millis(900);
/// Minimum time between two reads of a process, as a multiple of the read's cost: at most 1/100 of a core.
const COST_PAUSE: u32 = 100;
/// Expected CPU time of the first read of a process.
const EXPECTED: Duration = Duration::from_micros(60);

pub(super) struct HeldWatch {
    /// The exec count of the program that was read.
    exec: u32,
    descriptors: u64,
    read_at: Option<Duration>,
    cost: Duration,
    pub(super) is_reading: bool,
    has_run: bool,
    is_changed: bool,
    objects: Vec<OwnObject>,
    shown: Arc<Reading<Held>>,
}

impl HeldWatch {
    fn new() -> Self {
        Self {
            exec: 0,
            descriptors: 0,
            read_at: None,
            cost: EXPECTED,
            is_reading: false,
            has_run: true,
            is_changed: true,
            objects: Vec::new(),
            shown: held::share(Err(Missing::Pending)),
        }
    }

    /// Returns the bucket that pays for a read if one is due, otherwise `None`.
    fn due(&self, now: Duration, exec: u32) -> Option<usize> {
        let Some(read_at) = self.read_at else {
            return Some(0);
        };
        let age = now.saturating_sub(read_at);
        if age < self.cost * COST_PAUSE {
            return None;
        }
        if self.is_changed || self.exec != exec {
            return Some(0);
        }
        let holds = !self.objects.is_empty();
        let is_due = match (self.has_run, holds) {
            (true, true) => age >= PAUSE,
            (true, false) | (false, true) => age >= RECHECK,
            (false, false) => false,
        };
        is_due.then_some(1)
    }

    pub(super) fn shown(&self, serial: u64, running: &RunningReads) -> Arc<Reading<Held>> {
        if self.is_reading && running.is_late(JobKey::Held(serial)) {
            return held::share(Err(Missing::TimedOut));
        }
        Arc::clone(&self.shown)
    }
}
