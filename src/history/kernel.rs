//! The histories of the kernel's memory: the parts of the RAM, slab caches and allocation sites. Each is a row like that of
//! a process, judged in turn with the others. [`PARTS`](crate::account::PARTS) says which parts may leak.
//!
//! Page tables, stacks of threads and some slab caches grow because processes grow. Such growth is not reported as a leak
//! while the sum of the resident sets grew enough to explain it: the processes are judged themselves. A page of page tables
//! maps 512 pages, so processes that grow by 360 MB a minute need at least 0.7 MB of page tables a minute.
//!
//! Slab caches and allocation sites are read now and then. A row is pushed when its table was read, and rests between.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::{Account, Growth, Part, PartKind, ProcessTotals, REST, SLAB, account};
use crate::group::PartKey;
use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::row::{Clock, MemorySample, Rates, RowHistory, Tick};
use crate::history::time_series::{Retention, TimeSeries};
use crate::model::kernel::{AllocSite, KernelTables};
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;
use crate::model::system::AccountingInputs;
use crate::trend::Verdict;

/// Rows of a table with a history at most; a kernel has some hundreds of caches, and some thousand sites that hold memory.
const MAX_ROWS: usize = 4096;
/// Bytes from which on a site has a history: most hold next to nothing for ever.
const MIN_SITE: u64 = 64 << 10;
/// Time after a read for which a row is taken to stay as it was; slab caches are read every minute.
const MAX_REST: Duration = Duration::from_secs(150);

/// A line of a table, and its history.
#[derive(Debug, Default)]
struct Line {
    may_leak: bool,
    row: RowHistory,
    /// The number of the last read that it was in.
    seen_in: u64,
}

/// The histories of the lines of one table.
#[derive(Debug, Default)]
pub struct TableHistories {
    lines: Vec<Line>,
    /// The number of each line by its name, raw.
    numbers: HashMap<Box<[u8]>, u32>,
    /// The number of reads so far, and when the last was.
    reads: u64,
    read_at: Duration,
    is_fresh: bool,
    clock: Clock,
}

impl TableHistories {
    /// Returns the history of a line that is there.
    pub fn get(&self, name: &[u8]) -> Option<&RowHistory> {
        let line = self.lines.get(*self.numbers.get(name)? as usize)?;
        if line.seen_in != self.reads {
            return None;
        }
        line.row.rest_until(self.clock);
        Some(&line.row)
    }

    /// Returns the line that grows fastest of those that may leak, with its name: one that leaks, if there is any.
    pub fn grower(&self) -> Option<(&[u8], &RowHistory)> {
        let all = self.numbers.iter().map(|(name, number)| (&**name, *number as usize));
        let mut best: Option<(&[u8], &RowHistory)> = None;
        for (name, number) in all {
            let line = &self.lines[number];
            let judged = line.row.trend();
            if line.seen_in != self.reads || !line.may_leak || judged.verdict < Verdict::Growing {
                continue;
            }
            let is_better = best.is_none_or(|(other, row)| {
                let order = judged.verdict.cmp(&row.trend().verdict);
                let order = order.then(judged.slope.total_cmp(&row.trend().slope));
                order.then(other.cmp(name)).is_gt()
            });
            if is_better {
                best = Some((name, &line.row));
            }
        }
        best
    }

    /// Lets time pass: for a while after a read its figures stand for the present.
    fn rest(&mut self, tick: Tick) {
        self.is_fresh = tick.now.saturating_sub(self.read_at) <= MAX_REST;
        if self.is_fresh {
            self.clock = tick.into();
        }
    }

    /// Takes in a read: names and bytes, and which of them may leak. A line of less than `least` bytes gets no history.
    fn push<'a>(&mut self, found: impl Iterator<Item = (&'a [u8], u64, bool)>, least: u64, tick: Tick) {
        let (rested, is_continued) = (self.clock, self.is_fresh);
        let before = self.reads;
        self.reads += 1;
        (self.read_at, self.is_fresh, self.clock) = (tick.now, true, tick.into());
        // Some hundred rows always have room, whatever the processes need.
        let tick = Tick { has_room: true, ..tick };
        for (name, bytes, may_leak) in found {
            let number = match self.numbers.get(name) {
                Some(number) => *number as usize,
                None if bytes < least || self.lines.len() >= MAX_ROWS => continue,
                None => {
                    self.numbers.insert(name.into(), self.lines.len() as u32);
                    self.lines.push(Line::default());
                    self.lines.len() - 1
                }
            };
            let line = &mut self.lines[number];
            // Of two with one name the first counts.
            if line.seen_in == self.reads {
                continue;
            }
            if line.seen_in == before && is_continued {
                line.row.rest_until(self.clock);
            } else if line.seen_in == before {
                // What was not read for long is not known to have stayed.
                let then = Tick {
                    now: rested.now,
                    taken: rested.now,
                    ..tick
                };
                line.row.push(then, None, &Rates::default());
            }
            (line.seen_in, line.may_leak) = (self.reads, may_leak);
            let sample = MemorySample {
                pss: bytes,
                swap: 0,
                footprint: bytes,
                held: 0,
                // The kernel asks for what it takes.
                asked: bytes,
            };
            line.row.push(tick, Some(sample), &Rates::default());
        }
        let gone = self.lines.iter_mut().filter(|line| line.seen_in == before);
        gone.for_each(|line| line.row.push(tick, None, &Rates::default()));
    }

    /// Puts those that are due in the queue of what is judged.
    fn queue(&mut self, scheduler: &mut EvaluationScheduler, number: fn(u32) -> RowNumber) {
        if !self.is_fresh {
            return;
        }
        for (at, line) in (0..).zip(&mut self.lines) {
            if line.seen_in == self.reads {
                line.row.queue(scheduler, number(at));
            }
        }
    }

    /// Judges one of them now; the growth of a cache may be explained by that of the `resident` sets.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler, resident: Option<&RowHistory>) {
        let Some(line) = self.lines.get_mut(number as usize) else {
            return;
        };
        line.row.rest_until(self.clock);
        let grows = line.may_leak && line.row.trend().verdict.is_growth();
        let mut names = self.numbers.iter().filter(|(_, known)| grows && **known == number);
        let name = names.next().map(|(name, _)| name);
        let is_explained = name.is_some_and(|name| explains_cache(resident, name, &line.row));
        // What the kernel takes back is no leak, and of what is not known nobody can say.
        line.row.evaluate_of_kernel(scheduler, line.may_leak && !is_explained);
    }

    fn judge_all(&mut self, scheduler: &mut EvaluationScheduler, resident: Option<&RowHistory>) {
        for number in 0..self.lines.len() as u32 {
            self.judge(number, scheduler, resident);
        }
    }

    fn bytes(&self) -> usize {
        let rows = self.lines.iter().map(|line| line.row.bytes());
        let names = self.numbers.keys().map(|name| name.len());
        rows.sum::<usize>() + names.sum::<usize>() + self.numbers.capacity() * size_of::<(Box<[u8]>, u32)>()
    }
}

/// The histories of all tables.
#[derive(Debug, Default)]
pub(super) struct KernelHistories {
    pub(super) slab: TableHistories,
    pub(super) sites: TableHistories,
    /// The tables as they were read last.
    last: KernelTables,
}

impl KernelHistories {
    /// Takes in a snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        self.slab.rest(tick);
        self.sites.rest(tick);
        let tables = &snapshot.kernel;
        if let Ok(found) = &tables.slab
            && !self.last.slab.as_ref().is_ok_and(|last| Arc::ptr_eq(last, found))
        {
            let caches = found.caches.iter();
            let lines = caches.map(|cache| (&*cache.name, cache.figures.size, cache.reclaimable == Some(false)));
            self.slab.push(lines, 0, tick);
            self.last.slab = Ok(Arc::clone(found));
        }
        if let Ok(found) = &tables.sites
            && !self.last.sites.as_ref().is_ok_and(|last| Arc::ptr_eq(last, found))
        {
            let names: Vec<_> = found.sites.iter().map(site_name).collect();
            let sizes = found.sites.iter().map(|site| site.figures.size);
            // A site takes pages of files as well as what nobody takes back, and does not say which.
            let lines = names.iter().zip(sizes).map(|(name, size)| (&**name, size, false));
            self.sites.push(lines, MIN_SITE, tick);
            self.last.sites = Ok(Arc::clone(found));
        }
    }

    /// Puts those that are due in the queue of what is judged.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        self.slab.queue(scheduler, RowNumber::Slab);
        self.sites.queue(scheduler, RowNumber::Site);
    }

    /// Judges all of them now.
    pub(super) fn judge_all(&mut self, scheduler: &mut EvaluationScheduler, resident: Option<&RowHistory>) {
        self.slab.judge_all(scheduler, resident);
        self.sites.judge_all(scheduler, None);
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        let lines = self.slab.lines.iter_mut().chain(&mut self.sites.lines);
        lines.for_each(|line| line.row.set_retention(retention));
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.slab.bytes() + self.sites.bytes()
    }
}

/// Returns the name of an allocation site among the histories: a line of the source, with the function, which may be inlined
/// in several.
pub fn site_name(site: &AllocSite) -> Vec<u8> {
    let module = site.module.as_deref().unwrap_or_default();
    [&*site.place, &*site.function, module].join(&b'\n')
}

/// A part, and its history.
#[derive(Debug)]
struct PartHistory {
    key: PartKey,
    growth: Growth,
    row: RowHistory,
}

/// The histories of all parts.
#[derive(Debug, Default)]
pub struct PartHistories {
    account: Option<Account>,
    parts: Vec<PartHistory>,
    /// The inputs that the rest was counted with, and the rest.
    inputs: Option<Arc<AccountingInputs>>,
    rest: Option<u64>,
    /// The sum of all resident sets, and when it was taken.
    resident: Option<(Duration, Option<u64>)>,
    /// Histories that were kept when zmtop ended, by their ids.
    pub(super) kept: Vec<(String, RowHistory)>,
}

impl PartHistories {
    /// Returns the account of the last snapshot, without what only the processes tell.
    pub const fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns the history of a part.
    pub fn get(&self, id: &str) -> Option<&RowHistory> {
        let found = self.parts.iter().find(|part| part.key.id == id);
        found.map(|part| &part.row)
    }

    /// Returns those that may leak, with what they are called.
    pub fn that_may_leak(&self) -> impl Iterator<Item = (PartKey, &RowHistory)> {
        let parts = self.parts.iter().filter(|part| part.growth == Growth::Leak);
        parts.map(|part| (part.key, &part.row))
    }

    /// Returns every history by its id.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&'static str, &RowHistory)> {
        self.parts.iter().map(|part| (part.key.id, &part.row))
    }

    /// Takes in a snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        let account = account(
            &snapshot.system,
            &snapshot.accounting,
            &ProcessTotals::missing(Missing::NotAsked),
        );
        // A few parts always have room, whatever the processes need.
        let tick = Tick { has_room: true, ..tick };
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
        // What is read seldom and what is read now do not sum up: the rest holds until both were read together.
        let is_read = self
            .inputs
            .as_ref()
            .is_none_or(|last| !Arc::ptr_eq(last, &snapshot.accounting));
        if is_read {
            let is_known = snapshot.accounting.zones != Err(Missing::Pending);
            let rest = account.rest.ok().filter(|_| is_known);
            self.rest = rest.map(|rest| u64::try_from(rest).unwrap_or(0));
            self.inputs = Some(Arc::clone(&snapshot.accounting));
        }
        self.push_part(REST, self.rest, 0, tick);
        let is_due = |at: Duration| tick.now.saturating_sub(at) >= RESIDENT_INTERVAL;
        if self.resident.is_none_or(|(at, _)| is_due(at)) {
            self.resident = Some((tick.now, resident(snapshot)));
        }
        let sum = self.resident.and_then(|(_, sum)| sum);
        self.push_part(RESIDENT, sum, 0, tick);
        self.account = Some(account);
    }

    /// Takes in the size of a part, of which so much can be taken back.
    fn push_part(&mut self, id: &'static str, bytes: Option<u64>, reclaimed: u64, tick: Tick) {
        let sample = bytes.map(|bytes| MemorySample {
            pss: bytes,
            swap: 0,
            footprint: bytes,
            held: if reclaimed > 0 {
                bytes.saturating_sub(reclaimed)
            } else {
                0
            },
            // The kernel asks for what it takes.
            asked: bytes,
        });
        let at = self.parts.iter().position(|part| part.key.id == id);
        // What was never there needs no history.
        let at = match (at, sample) {
            (Some(at), _) => at,
            (None, None) => return,
            (None, Some(_)) => {
                let part = self.begin(id);
                self.parts.push(part);
                self.parts.len() - 1
            }
        };
        self.parts[at].row.push(tick, sample, &Rates::default());
    }

    fn begin(&mut self, id: &'static str) -> PartHistory {
        let kept = self.kept.iter().position(|(name, _)| name == id);
        let (growth, label) = PartKind::find(id).map_or((Growth::Free, id), |kind| (kind.growth, kind.label));
        PartHistory {
            key: PartKey { id, label },
            growth,
            row: kept.map_or_else(RowHistory::default, |at| self.kept.swap_remove(at).1),
        }
    }

    /// Puts those that are due in the queue of what is judged.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        for (number, part) in (0..).zip(&mut self.parts) {
            if part.growth.is_judged() {
                part.row.queue(scheduler, RowNumber::Part(number));
            }
        }
    }

    /// Judges one of them now; `slab` has the caches of unreclaimable slab.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler, slab: &TableHistories) {
        let Some(part) = self.parts.get(number as usize) else {
            return;
        };
        let (id, resident) = (part.key.id, self.resident());
        let is_explained = match slab.grower().filter(|_| id == SLAB) {
            Some((name, cache)) => explains_cache(resident, name, cache),
            None => explains_part(resident, id, &part.row),
        };
        let may_leak = part.growth == Growth::Leak && !is_explained;
        self.parts[number as usize].row.evaluate_of_kernel(scheduler, may_leak);
    }

    /// Judges all of them now.
    pub(super) fn judge_all(&mut self, scheduler: &mut EvaluationScheduler, slab: &TableHistories) {
        for number in 0..self.parts.len() {
            if self.parts[number].growth.is_judged() {
                self.judge(number as u32, scheduler, slab);
            }
        }
    }

    /// Returns the history of the sum of all resident sets.
    pub(super) fn resident(&self) -> Option<&RowHistory> {
        self.get(RESIDENT)
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.parts.iter_mut().for_each(|part| part.row.set_retention(retention));
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.row.bytes()).sum()
    }
}

/// The id of the history of the sum of all resident sets.
pub(super) const RESIDENT: &str = "resident";

/// Time between two sums of the resident sets.
pub(super) const RESIDENT_INTERVAL: Duration = Duration::from_secs(10);

/// Time at either end of a growth within which its lowest value counts.
const END: Duration = Duration::from_secs(30);

/// Parts of the RAM, and the multiple of their growth by which the resident sets must have grown to explain it.
///
/// Page tables of a dense heap grow by a 512th of it; mappings that are used here and there need more. A new process has a
/// hundred times the memory of its kernel stacks, while a process that leaks threads takes less for each than the kernel.
const PARTS: &[(&str, f64)] = &[("page_tables", 64.0), ("sec_page_tables", 64.0), ("kernel_stacks", 4.0)];

/// The same for the slab caches of address spaces and processes.
const CACHE_FACTOR: f64 = 64.0;

/// Their names.
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
pub(super) fn resident(snapshot: &Snapshot) -> Option<u64> {
    let processes = snapshot.processes.as_ref().ok()?;
    let own = processes.iter().filter(|sample| sample.shares_mm.is_none());
    Some(own.map(|sample| sample.stat.rss).fold(0, u64::saturating_add))
}

/// Returns true if the growth of the resident sets explains that of a part of the RAM.
pub(super) fn explains_part(resident: Option<&RowHistory>, id: &str, part: &RowHistory) -> bool {
    let factor = PARTS.iter().find(|(known, _)| *known == id);
    factor.is_some_and(|(_, factor)| explains(resident, part, *factor))
}

/// Returns true if the growth of the resident sets explains that of a slab cache.
pub(super) fn explains_cache(resident: Option<&RowHistory>, name: &[u8], cache: &RowHistory) -> bool {
    // A merged cache has the size in its name: `:A-0000200`, which may be anything.
    CACHES.contains(&name) && explains(resident, cache, CACHE_FACTOR)
}

/// Returns true if a row grew, and the resident sets grew by `factor` times as much since it began to.
fn explains(resident: Option<&RowHistory>, row: &RowHistory, factor: f64) -> bool {
    let explained = || {
        let judged = row.trend();
        let resident = resident?.footprint_series();
        let series = row.footprint_series();
        let since = judged.since?.max(resident.start()?).max(series.start()?);
        let grown = growth(series, since)?;
        Some(grown > 0.0 && growth(resident, since)? >= grown * factor)
    };
    row.trend().verdict.is_growth() && explained() == Some(true)
}

/// Returns how much the lowest values of a series rose since that time, in bytes.
fn growth(series: &TimeSeries, since: Duration) -> Option<f64> {
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
