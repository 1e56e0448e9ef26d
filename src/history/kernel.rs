//! The histories of the kernel's own tables, its slab caches and its allocation sites: each line is a row like that of a
//! process, judged in turn with the others.
//!
//! The tables are read now and then, so a row is pushed when its table was, and rests between.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::figures::{Clock, MemorySample, Rates, Tick};
use crate::history::row::RowHistory;
use crate::history::time_series::Retention;
use crate::model::allocinfo::AllocSite;
use crate::model::kernel_tables::KernelTables;
use crate::model::snapshot::Snapshot;
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

    /// Judges one of them now.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        let Some(line) = self.lines.get_mut(number as usize) else {
            return;
        };
        line.row.rest_until(self.clock);
        // What the kernel takes back is no leak, and of what is not known nobody can say.
        line.row.evaluate_of_kernel(scheduler, line.may_leak);
    }

    fn judge_all(&mut self, scheduler: &mut EvaluationScheduler) {
        for number in 0..self.lines.len() as u32 {
            self.judge(number, scheduler);
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
    pub(super) fn judge_all(&mut self, scheduler: &mut EvaluationScheduler) {
        self.slab.judge_all(scheduler);
        self.sites.judge_all(scheduler);
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
