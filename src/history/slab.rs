//! The histories of the kernel's slab caches: each is a row like that of a process, judged in turn with the others.
//!
//! The caches are read now and then, so a row is pushed when they were, and rests between.

use std::collections::HashMap;
use std::sync::Arc;

use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::figures::{Clock, MemorySample, Rates, Tick};
use crate::history::row::RowHistory;
use crate::history::time_series::Retention;
use crate::model::slab::SlabCaches;
use crate::model::snapshot::Snapshot;

/// Caches with a history at most; a kernel has some hundreds.
const MAX_CACHES: usize = 4096;

/// A cache, and its history.
#[derive(Debug, Default)]
struct CacheHistory {
    reclaimable: Option<bool>,
    row: RowHistory,
    /// The number of the last read that it was in.
    seen_in: u64,
}

/// The histories of all caches.
#[derive(Debug, Default)]
pub struct SlabHistories {
    caches: Vec<CacheHistory>,
    /// The number of each cache by its name, raw.
    numbers: HashMap<Box<[u8]>, u32>,
    /// The caches as they were read last, and how often they were.
    last: Option<Arc<SlabCaches>>,
    reads: u64,
    clock: Clock,
}

impl SlabHistories {
    /// Returns the history of a cache that is there.
    pub fn get(&self, name: &[u8]) -> Option<&RowHistory> {
        let cache = self.caches.get(*self.numbers.get(name)? as usize)?;
        if cache.seen_in != self.reads {
            return None;
        }
        cache.row.rest_until(self.clock);
        Some(&cache.row)
    }

    /// Takes in a snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        self.clock = tick.into();
        let Ok(found) = &snapshot.kernel.slab else { return };
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, found)) {
            return;
        }
        self.last = Some(Arc::clone(found));
        let before = self.reads;
        self.reads += 1;
        // Some hundred rows always have room, whatever the processes need.
        let tick = Tick { has_room: true, ..tick };
        for cache in &found.caches {
            let number = match self.numbers.get(&cache.name) {
                Some(number) => *number as usize,
                None if self.caches.len() >= MAX_CACHES => continue,
                None => {
                    self.numbers.insert(cache.name.clone(), self.caches.len() as u32);
                    self.caches.push(CacheHistory::default());
                    self.caches.len() - 1
                }
            };
            let known = &mut self.caches[number];
            // Of two with one name the first counts.
            if known.seen_in == self.reads {
                continue;
            }
            if known.seen_in == before {
                known.row.rest_until(self.clock);
            }
            known.seen_in = self.reads;
            known.reclaimable = cache.reclaimable;
            let size = cache.figures.size;
            let sample = MemorySample {
                pss: size,
                swap: 0,
                footprint: size,
                held: 0,
                // The kernel asks for what it takes.
                asked: size,
            };
            known.row.push(tick, Some(sample), &Rates::default());
        }
        let gone = self.caches.iter_mut().filter(|cache| cache.seen_in == before);
        gone.for_each(|cache| cache.row.push(tick, None, &Rates::default()));
    }

    /// Puts those that are due in the queue of what is judged.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        for (number, cache) in (0..).zip(&mut self.caches) {
            if cache.seen_in == self.reads {
                cache.row.queue(scheduler, RowNumber::Slab(number));
            }
        }
    }

    /// Judges one of them now.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        let Some(cache) = self.caches.get_mut(number as usize) else {
            return;
        };
        cache.row.rest_until(self.clock);
        // What the kernel takes back is no leak, and of what is not known nobody can say.
        cache
            .row
            .evaluate_of_kernel(scheduler, cache.reclaimable == Some(false));
    }

    /// Judges all of them now.
    pub(super) fn judge_all(&mut self, scheduler: &mut EvaluationScheduler) {
        for number in 0..self.caches.len() as u32 {
            self.judge(number, scheduler);
        }
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.caches
            .iter_mut()
            .for_each(|cache| cache.row.set_retention(retention));
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.caches.iter().map(|cache| cache.row.bytes());
        let names = self.numbers.keys().map(|name| name.len());
        rows.sum::<usize>() + names.sum::<usize>() + self.numbers.capacity() * size_of::<(Box<[u8]>, u32)>()
    }
}
