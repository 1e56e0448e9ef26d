//! The histories of the kernel's memory: parts of the RAM, file systems in memory, slab caches and allocation sites. Each has
//! a row that is judged like a process. [`PARTS`](crate::account::PARTS) says which parts may leak.
//!
//! Page tables, thread stacks and some slab caches grow because processes grow. Such growth is not reported as a leak while
//! the sum of the resident sets grew enough to explain it: the processes are judged themselves. A page of page tables maps
//! 512 pages, so processes that grow by 360 MB a minute need at least 0.7 MB of page tables a minute.
//!
//! Slab caches and allocation sites are read now and then. Their rows are pushed after each read and rest in between.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::{ANON, Account, Growth, PAGE_TABLES, Part, PartKind, ProcessTotals, REST, SHMEM, SLAB, account};
use crate::group::PartKey;
use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::history::time_series::TimeSeries;
use crate::model::kernel::{AllocSite, KernelTables};
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;
use crate::model::system::AccountingInputs;
use crate::trend::Verdict;

/// Maximum number of lines with a history. A kernel has hundreds of caches, and thousands of sites that hold memory.
const MAX_ROWS: usize = 4096;
/// Minimum size of a site with a history, in bytes: most sites never hold more.
const MIN_SITE: u64 = 64 << 10;
/// Time after a read for which its figures count as present. Slab caches are read every minute.
const MAX_REST: Duration = Duration::from_secs(150);

/// A line of a table, and its history.
#[derive(Debug)]
struct Line {
    name: Arc<[u8]>,
    may_leak: bool,
    row: RowHistory,
    /// The number of the last read with this line.
    seen_in: u64,
}

/// The histories of the lines of one table.
#[derive(Debug, Default)]
pub struct TableHistories {
    lines: Vec<Line>,
    /// The number of each line by its raw name.
    numbers: HashMap<Arc<[u8]>, u32>,
    /// The number of reads so far, and the time of the last.
    reads: u64,
    read_at: Duration,
    is_fresh: bool,
    clock: Clock,
    /// Saved histories that are not resumed yet.
    pub(super) kept: HashMap<Arc<[u8]>, RowHistory>,
}

impl TableHistories {
    /// Returns the lines of the last read, by their raw names.
    pub fn all(&self) -> impl Iterator<Item = (&Arc<[u8]>, &RowHistory)> {
        let lines = self.lines.iter().filter(|line| line.seen_in == self.reads);
        lines.map(|line| {
            line.row.rest_until(self.clock);
            (&line.name, &line.row)
        })
    }

    /// Returns the history of a line of the last read.
    pub fn get(&self, name: &[u8]) -> Option<&RowHistory> {
        let line = &self.lines[*self.numbers.get(name)? as usize];
        (line.seen_in == self.reads).then(|| {
            line.row.rest_until(self.clock);
            &line.row
        })
    }

    /// Returns the line with the worst verdict of those that grow and may leak, the fastest first, with its name.
    pub fn grower(&self) -> Option<(&[u8], &RowHistory)> {
        let may_leak = |line: &&Line| line.may_leak && line.seen_in == self.reads;
        let lines = self.lines.iter().filter(may_leak);
        let growing = lines.filter(|line| line.row.trend().verdict >= Verdict::Growing);
        let worst = growing.max_by(|a, b| {
            let (one, other) = (a.row.trend(), b.row.trend());
            let order = one.verdict.cmp(&other.verdict);
            let order = order.then(one.slope.total_cmp(&other.slope));
            order.then(b.name.cmp(&a.name))
        })?;
        Some((&worst.name, &worst.row))
    }

    /// Returns the name of the line that grew most over `span`, if that is at least a `share` of the growth of the whole table, which
    /// may have been read later.
    pub(super) fn fastest(&self, span: Duration, whole: &RowHistory, share: f64) -> Option<Arc<[u8]>> {
        let grown = |row: &RowHistory, span| row.footprint().change_over(span);
        let age = whole.footprint().now().saturating_sub(self.read_at);
        let least = (grown(whole, span) - grown(whole, age.min(span))) * share;
        let lines = self.all().map(|(name, row)| (grown(row, span), name));
        let (most, name) = lines.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (most > 0.0 && most >= least).then(|| Arc::clone(name))
    }

    /// Lets time pass while the last read is fresh.
    fn rest(&mut self, tick: Tick) {
        self.is_fresh = tick.now.saturating_sub(self.read_at) <= MAX_REST;
        if self.is_fresh {
            self.clock = tick.into();
        }
    }

    /// Adds a read: names, bytes, and which lines may leak. A line below `least` bytes gets no history.
    fn push<'a>(&mut self, found: impl Iterator<Item = (&'a [u8], u64, bool)>, least: u64, tick: Tick) {
        let (rested, is_continued) = (self.clock, self.is_fresh);
        let before = self.reads;
        self.reads += 1;
        (self.read_at, self.is_fresh, self.clock) = (tick.now, true, tick.into());
        // These few rows always have room, whatever the processes need.
        let tick = Tick { has_room: true, ..tick };
        let at = |now| Tick {
            now,
            taken: now,
            ..tick
        };
        let mut places = 0..self.lines.len();
        for (name, bytes, may_leak) in found {
            let number = match self.numbers.get(name) {
                Some(number) => *number as usize,
                None if bytes < least => continue,
                None => {
                    // Mount points have new names all the time, so that those that are gone make room.
                    let number = if self.lines.len() < MAX_ROWS {
                        self.lines.len()
                    } else if let Some(gone) = places.find(|at| self.lines[*at].seen_in < before) {
                        self.numbers.remove(&self.lines[gone].name);
                        gone
                    } else {
                        continue;
                    };
                    let name: Arc<[u8]> = name.into();
                    self.numbers.insert(Arc::clone(&name), number as u32);
                    let kept = self.kept.remove(&name);
                    let is_new = kept.is_none() && before > 0;
                    let mut row = kept.unwrap_or_default();
                    if is_new {
                        // It did not exist at the last read.
                        row.push(at(rested.now), Some(MemorySample::of_total(0)), &Rates::default());
                    }
                    let line = Line {
                        row,
                        name,
                        may_leak,
                        seen_in: 0,
                    };
                    if let Some(place) = self.lines.get_mut(number) {
                        *place = line;
                    } else {
                        self.lines.push(line);
                    }
                    number
                }
            };
            let line = &mut self.lines[number];
            // The first of two lines with one name counts.
            if line.seen_in == self.reads {
                continue;
            }
            if line.seen_in == before && is_continued {
                line.row.rest_until(self.clock);
            } else if line.seen_in == before {
                // After a long time without reads, leave a gap.
                line.row.push(at(rested.now), None, &Rates::default());
            }
            (line.seen_in, line.may_leak) = (self.reads, may_leak);
            line.row
                .push(tick, Some(MemorySample::of_total(bytes)), &Rates::default());
        }
        let gone = self.lines.iter_mut().filter(|line| line.seen_in == before);
        gone.for_each(|line| line.row.push(tick, None, &Rates::default()));
    }

    fn queue(&mut self, scheduler: &mut EvaluationScheduler, number: fn(u32) -> RowNumber) {
        let lines = (0..).zip(&mut self.lines).filter(|_| self.is_fresh);
        for (at, line) in lines.filter(|(_, line)| line.seen_in == self.reads) {
            line.row.queue(scheduler, number(at));
        }
    }

    /// Judges one line. Growth of the `resident` sets may explain its growth.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler, resident: Option<&RowHistory>) {
        if let Some(line) = self.lines.get_mut(number as usize) {
            line.row.rest_until(self.clock);
            let may_leak = line.may_leak && !explains_cache(resident, &line.name, &line.row);
            judge_kernel(&mut line.row, scheduler, may_leak);
        }
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = (u32, &mut RowHistory)> {
        (0..).zip(self.lines.iter_mut().map(|line| &mut line.row))
    }

    fn bytes(&self) -> usize {
        // A name has the two counters of its Arc.
        let lines = self.lines.iter().map(|line| line.row.bytes() + line.name.len() + 16);
        lines.sum::<usize>() + self.numbers.capacity() * size_of::<(Arc<[u8]>, u32)>()
    }
}

/// Judges a row of the kernel's memory. The kernel started when the clock began, and its load is unknown. If the row may not
/// leak, it is at most growing.
fn judge_kernel(row: &mut RowHistory, scheduler: &mut EvaluationScheduler, may_leak: bool) {
    row.evaluate(scheduler, None, Some(Duration::ZERO));
    let Some(latest) = &mut row.evaluation.latest else {
        return;
    };
    let judgement = &mut latest.judgement;
    judgement.reasons = judgement.reasons.map(|reasons| reasons.at_load(None));
    if !may_leak {
        judgement.call_growing();
    }
}

/// The histories of file systems in memory, slab caches and allocation sites.
#[derive(Debug, Default)]
pub(super) struct KernelHistories {
    /// By mount point.
    pub(super) mounts: TableHistories,
    /// The inputs with the mounts that were pushed last.
    inputs: Option<Arc<AccountingInputs>>,
    pub(super) slab: TableHistories,
    pub(super) sites: TableHistories,
    /// The tables as last read.
    last: KernelTables,
}

impl KernelHistories {
    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        self.mounts.rest(tick);
        self.slab.rest(tick);
        self.sites.rest(tick);
        let inputs = &snapshot.accounting;
        let is_read = self.inputs.as_ref().is_none_or(|last| !Arc::ptr_eq(last, inputs));
        if let (true, Ok(mounts)) = (is_read, &inputs.mounts) {
            let known = mounts
                .iter()
                .filter_map(|mount| Some((&*mount.path, mount.used.ok()?, true)));
            self.mounts.push(known, 0, tick);
            self.inputs = Some(Arc::clone(inputs));
        }
        let (tables, last) = (&snapshot.kernel, &mut self.last);
        if let Some(found) = newly_read(&tables.slab, &mut last.slab) {
            let lines = found.caches.iter().map(|cache| {
                let may_leak = cache.reclaimable == Some(false);
                (&*cache.name, cache.figures.size, may_leak)
            });
            self.slab.push(lines, 0, tick);
        }
        if let Some(found) = newly_read(&tables.sites, &mut last.sites) {
            let names: Vec<_> = found.sites.iter().map(site_name).collect();
            let sizes = found.sites.iter().map(|site| site.figures.size);
            // A site may allocate reclaimable file pages as well, and does not distinguish them.
            let lines = names.iter().zip(sizes).map(|(name, size)| (&**name, size, false));
            self.sites.push(lines, MIN_SITE, tick);
        }
    }

    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        self.mounts.queue(scheduler, RowNumber::Mount);
        self.slab.queue(scheduler, RowNumber::Slab);
        self.sites.queue(scheduler, RowNumber::Site);
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = (RowNumber, &mut RowHistory)> {
        let mounts = self.mounts.rows_mut().map(|(at, row)| (RowNumber::Mount(at), row));
        let slab = self.slab.rows_mut().map(|(at, row)| (RowNumber::Slab(at), row));
        mounts
            .chain(slab)
            .chain(self.sites.rows_mut().map(|(at, row)| (RowNumber::Site(at), row)))
    }

    pub(super) fn bytes(&self) -> usize {
        self.mounts.bytes() + self.slab.bytes() + self.sites.bytes()
    }
}

/// Returns a table that was read since `last`, which it updates.
fn newly_read<T>(table: &Reading<Arc<T>>, last: &mut Reading<Arc<T>>) -> Option<Arc<T>> {
    let table = Arc::clone(table.as_ref().ok()?);
    if last.as_ref().is_ok_and(|last| Arc::ptr_eq(last, &table)) {
        return None;
    }
    *last = Ok(Arc::clone(&table));
    Some(table)
}

/// Returns the key of an allocation site's history: source line, function and module. A line may be in several functions, as
/// functions are inlined.
pub fn site_name(site: &AllocSite) -> Vec<u8> {
    let module = site.module.as_deref().unwrap_or_default();
    [&*site.place, &*site.function, module].join(&b'\n')
}

#[derive(Debug)]
struct PartHistory {
    key: PartKey,
    growth: Growth,
    row: RowHistory,
}

/// The histories of the parts of the RAM.
#[derive(Debug, Default)]
pub struct PartHistories {
    account: Option<Account>,
    parts: Vec<PartHistory>,
    /// The size of [`REST`], and the inputs that it was computed from.
    inputs: Option<Arc<AccountingInputs>>,
    rest: Option<u64>,
    /// The size of [`IN_SOCKETS`], read with the inputs.
    in_sockets: Option<u64>,
    /// The user whose System V segments have most memory, the last one that is known, and the size of [`OF_CREATOR`].
    creator: Option<u32>,
    of_creator: Option<u64>,
    /// The time and the values of the last sums of all resident sets, and of the anonymous memory of all processes.
    sums: Option<(Duration, [Option<u64>; 2])>,
    /// Saved histories that are not resumed yet, by id.
    pub(super) kept: Vec<(String, RowHistory)>,
}

impl PartHistories {
    /// Returns the account of the last snapshot, without sums over processes.
    pub const fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    pub fn get(&self, id: &str) -> Option<&RowHistory> {
        let found = self.parts.iter().find(|part| part.key.id == id);
        found.map(|part| &part.row)
    }

    pub fn that_may_leak(&self) -> impl Iterator<Item = (PartKey, &RowHistory)> {
        let parts = self.parts.iter().filter(|part| part.growth == Growth::Leak);
        parts.map(|part| (part.key.clone(), &part.row))
    }

    /// Returns the parts that the kernel uses for itself or for files in memory, which reclaim does not free, and the memory that is not
    /// accounted for.
    pub(crate) fn taking(&self) -> impl Iterator<Item = (PartKey, &RowHistory)> {
        let parts = self.parts.iter().filter(|part| TAKING.contains(&part.key.id));
        parts.map(|part| (part.key.clone(), &part.row))
    }

    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&'static str, &RowHistory)> {
        self.parts.iter().map(|part| (part.key.id, &part.row))
    }

    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        let account = account(
            &snapshot.system,
            &snapshot.accounting,
            &ProcessTotals::missing(Missing::NotAsked),
        );
        // These few rows always have room, whatever the processes need.
        let tick = Tick { has_room: true, ..tick };
        self.push_parts(&account, tick);
        // Some inputs are read rarely. The rest is only computed when they were read together with the others.
        let is_read = self
            .inputs
            .as_ref()
            .is_none_or(|last| !Arc::ptr_eq(last, &snapshot.accounting));
        if is_read {
            let is_known = snapshot.accounting.zones != Err(Missing::Pending);
            let rest = account.rest.ok().filter(|_| is_known);
            self.rest = rest.map(|rest| u64::try_from(rest).unwrap_or(0));
            self.in_sockets = snapshot.accounting.sockets.ok().map(|sockets| sockets.tcp);
            let creator = snapshot.accounting.sysv.and_then(|sysv| sysv.creator).ok();
            let uid = creator.map(|creator| creator.uid).or(self.creator);
            if uid != self.creator {
                self.parts.retain(|part| part.key.id != OF_CREATOR);
            }
            self.creator = uid;
            self.of_creator = creator.map(|creator| creator.resident);
            self.inputs = Some(Arc::clone(&snapshot.accounting));
        }
        self.push_part(REST, self.rest, 0, tick);
        self.push_part(IN_SOCKETS, self.in_sockets, 0, tick);
        self.push_part(OF_CREATOR, self.of_creator, 0, tick);
        let is_fresh = |(at, _): &(Duration, _)| tick.now.saturating_sub(*at) < SUM_INTERVAL;
        let sums = self.sums.filter(is_fresh);
        let (at, sums) = sums.unwrap_or_else(|| (tick.now, [resident_sum(snapshot), anonymous_sum(snapshot)]));
        self.sums = Some((at, sums));
        for (id, sum) in [RESIDENT, OF_PROCESSES].into_iter().zip(sums) {
            self.push_part(id, sum, 0, tick);
        }
        self.account = Some(account);
    }

    pub(super) fn push_parts(&mut self, account: &Account, tick: Tick) {
        for part in &account.parts {
            let reclaimed = part
                .within
                .iter()
                .filter(|inner| Growth::of(inner.id) == Growth::Reclaimed);
            let reclaimed = reclaimed
                .filter_map(|inner| inner.bytes.ok())
                .fold(0, u64::saturating_add);
            let bytes = part.bytes.ok();
            self.push_part(part.id, bytes, reclaimed, tick);
            for Part { id, bytes, .. } in &part.within {
                self.push_part(id, bytes.ok(), 0, tick);
            }
        }
    }

    /// Pushes the size of a part, and how much of it is reclaimable.
    pub(super) fn push_part(&mut self, id: &'static str, bytes: Option<u64>, reclaimable: u64, tick: Tick) {
        let sample = bytes.map(|bytes| MemorySample {
            held: if reclaimable > 0 {
                bytes.saturating_sub(reclaimable)
            } else {
                0
            },
            ..MemorySample::of_total(bytes)
        });
        let at = self.parts.iter().position(|part| part.key.id == id);
        // A part that was never seen needs no history.
        if at.is_none() && sample.is_none() {
            return;
        }
        let at = at.unwrap_or_else(|| {
            let kept = self.kept.iter().position(|(name, _)| name == id);
            let (growth, label) = PartKind::find(id).map_or((Growth::Free, id), |kind| (kind.growth, kind.label));
            self.parts.push(PartHistory {
                key: PartKey::whole(id, label),
                growth,
                row: kept.map_or_else(RowHistory::default, |at| self.kept.swap_remove(at).1),
            });
            self.parts.len() - 1
        });
        self.parts[at].row.push(tick, sample, &Rates::default());
    }

    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        self.queue_as(scheduler, RowNumber::Part);
    }

    pub(super) fn queue_as(&mut self, scheduler: &mut EvaluationScheduler, row: fn(u32) -> RowNumber) {
        for (number, part) in (0..).zip(&mut self.parts) {
            if part.growth.is_judged() {
                part.row.queue(scheduler, row(number));
            }
        }
    }

    /// Judges one part by itself.
    pub(super) fn judge_alone(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        if let Some(part) = self.parts.get_mut(number as usize) {
            judge_kernel(&mut part.row, scheduler, part.growth == Growth::Leak);
        }
    }

    /// Judges one part. Its growth may be explained by the resident sets, or by a cache of `slab`.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler, slab: &TableHistories) {
        let part = self.parts.get(number as usize);
        let Some(part) = part.filter(|part| part.growth.is_judged()) else {
            return;
        };
        let (id, resident) = (part.key.id, self.resident());
        let is_explained = match (id == SLAB).then(|| slab.grower()).flatten() {
            Some((name, cache)) => explains_cache(resident, name, cache),
            None => explains_part(resident, id, &part.row),
        };
        let may_leak = part.growth == Growth::Leak && !is_explained;
        judge_kernel(&mut self.parts[number as usize].row, scheduler, may_leak);
    }

    /// Returns the history of the sum of all resident sets.
    pub(super) fn resident(&self) -> Option<&RowHistory> {
        self.get(RESIDENT)
    }

    /// Returns the growth of a part, divided by that of another one that grows, since that began to grow.
    fn growth_relative_to(&self, growing: &str, id: &str) -> Option<f64> {
        relative_growth(self.get(id), self.get(growing)?)
    }

    /// Returns true if anonymous memory grows, and that of the processes that were read explains less than half of it.
    pub(super) fn has_unseen_growth(&self) -> bool {
        self.growth_relative_to(ANON, OF_PROCESSES)
            .is_some_and(|grown| grown < 0.5)
    }

    /// Returns true if shared memory grows, and the System V segments of the user who has most of them grow by at least half as much.
    pub(super) fn is_shared_in_segments(&self) -> bool {
        self.growth_relative_to(SHMEM, OF_CREATOR)
            .is_some_and(|grown| grown >= 0.5)
    }

    /// Returns the growth of the buffers of TCP sockets, in bytes, since the memory that is not accounted for grows, if that outside of
    /// slab may be half of it. Small ones lie wholly in slab: all its growth may be theirs.
    pub(super) fn socket_growth(&self) -> Option<u64> {
        let grown = |id| self.growth_relative_to(REST, id);
        let outside = grown(IN_SOCKETS)? - grown(SLAB)?.max(0.0);
        let since = self.get(REST)?.trend().since?;
        let series = self.get(IN_SOCKETS)?.footprint_series();
        (outside >= 0.5).then_some(growth(series, since.max(series.start()?))?.max(0.0) as u64)
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = (RowNumber, &mut RowHistory)> {
        (0..)
            .map(RowNumber::Part)
            .zip(self.parts.iter_mut().map(|part| &mut part.row))
    }

    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.row.bytes()).sum()
    }
}

/// The ids of [`PartHistories::taking`].
const TAKING: &[&str] = &[
    "shmem",
    SLAB,
    "kernel_stacks",
    PAGE_TABLES,
    "sec_page_tables",
    "percpu",
    "vmalloc",
    "gpu",
    "hugetlb",
    "sockets",
    "kernel",
    "files_locked",
    REST,
];

/// The id of the sum of all resident sets.
const RESIDENT: &str = "resident";

/// The id of the anonymous memory of all processes.
const OF_PROCESSES: &str = "anon_of_processes";

/// The id of the buffers of TCP sockets, in slab and outside. No other part has those outside.
const IN_SOCKETS: &str = "in_sockets";

/// The id of the System V segments of the user who has most of them.
const OF_CREATOR: &str = "sysv_of_creator";

/// Time between sums over all processes.
const SUM_INTERVAL: Duration = Duration::from_secs(10);

/// Time around either end of the growth over which the lowest value is taken.
const END: Duration = Duration::from_secs(30);

/// Parts of the RAM, and the multiple of their growth by which the resident sets must have grown to explain it.
///
/// Page tables of a dense heap grow by a 512th of it; sparsely used mappings need more. A new process has a hundred times
/// the memory of its kernel stacks, while a leaked thread takes less memory in the process than in the kernel.
const PARTS: &[(&str, f64)] = &[(PAGE_TABLES, 64.0), ("sec_page_tables", 64.0), ("kernel_stacks", 4.0)];

/// The same for [`CACHES`].
const CACHE_FACTOR: f64 = 64.0;

/// The slab caches of address spaces and processes.
const CACHES: &[&[u8]] = &[
    b"vm_area_struct",
    b"vma_lock",
    b"maple_node",
    b"anon_vma",
    b"anon_vma_chain",
    b"mm_struct",
    b"task_struct",
    b"signal_cache",
    b"sighand_cache",
    b"files_cache",
    b"fs_cache",
    b"pid",
    b"cred_jar",
];

/// Returns the sum of the resident sets, in bytes; `None` if the processes could not be listed.
fn resident_sum(snapshot: &Snapshot) -> Option<u64> {
    let processes = snapshot.processes.as_ref().ok()?;
    let own = processes.iter().filter(|sample| sample.shares_mm.is_none());
    Some(own.map(|sample| sample.stat.rss).fold(0, u64::saturating_add))
}

/// Returns the sum of the anonymous memory of all processes, in bytes. Of a process that cannot be read, it counts the resident set.
/// Returns `None` if some processes are not listed: those of other pid namespaces, other users (`hidepid`) or other cgroups.
fn anonymous_sum(snapshot: &Snapshot) -> Option<u64> {
    let processes = snapshot.processes.as_ref().ok()?;
    // Only the first pid namespace has kernel threads, and they are of root.
    let is_whole = processes.iter().any(|sample| sample.stat.is_kernel_thread());
    let own = processes.iter().filter(|sample| sample.shares_mm.is_none());
    let anonymous = own.map(|sample| match sample.memory().and_then(|memory| memory.pss_anon) {
        Ok(bytes) => bytes,
        // Its sharers may not have been read either.
        Err(Missing::Pending) => 0,
        Err(_) => sample.stat.rss,
    });
    let sum = anonymous.fold(0, u64::saturating_add);
    (is_whole && snapshot.system.scope.is_none()).then_some(sum)
}

/// Returns true if the growth of the resident sets explains the growth of a part of the RAM.
fn explains_part(resident: Option<&RowHistory>, id: &str, part: &RowHistory) -> bool {
    let factor = PARTS.iter().find(|(known, _)| *known == id);
    factor.is_some_and(|(_, factor)| explains(resident, part, *factor))
}

/// Returns true if the growth of the resident sets explains the growth of a slab cache.
fn explains_cache(resident: Option<&RowHistory>, name: &[u8], cache: &RowHistory) -> bool {
    // A merged cache is named by its size, such as `:A-0000200`, and may have any content.
    CACHES.contains(&name) && explains(resident, cache, CACHE_FACTOR)
}

/// Returns true if a row grows, and the resident sets grew by `factor` times as much since its growth began.
fn explains(resident: Option<&RowHistory>, row: &RowHistory, factor: f64) -> bool {
    relative_growth(resident, row).is_some_and(|grown| grown >= factor)
}

/// Returns the growth of `other`, divided by that of a growing row, since the growth of that row began.
pub(super) fn relative_growth(other: Option<&RowHistory>, row: &RowHistory) -> Option<f64> {
    let judged = row.is_growing().then(|| row.trend())?;
    let other = other?.footprint_series();
    let series = row.footprint_series();
    let since = judged.since?.max(other.start()?).max(series.start()?);
    let grown = growth(series, since).filter(|grown| *grown > 0.0)?;
    Some(growth(other, since)? / grown)
}

/// Returns the rise of the lowest values of a series since that time, in bytes.
pub(super) fn growth(series: &TimeSeries, since: Duration) -> Option<f64> {
    let mut points = Vec::new();
    series.collect_points(&mut points);
    let end = points.last()?.to;
    let lowest = |from: Duration, to: Duration| {
        let within = points.iter().filter(|point| point.to >= from && point.from <= to);
        within.map(|point| point.min).min()
    };
    let first = lowest(since.saturating_sub(END), since + END)?;
    Some(lowest(end.saturating_sub(END), end)? as f64 - first as f64)
}
