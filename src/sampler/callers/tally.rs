//! Sums what call sites allocate, and follows each allocation to its free. Pure, and of bounded size.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::callers::CallFigures;
use crate::proc::tracefs::event::Event;

/// The most allocations that are followed at once: 6 MiB of table, and half of that again while it grows to it. At the
/// 100,000 events a second of a busy machine nearly all are freed within the second.
pub const MAX_LIVE: usize = 7 << 15;
/// The most call sites that are told apart: a kernel has some thousands.
pub const MAX_SITES: usize = 16_384;

/// The greatest address that stands for no memory: what is returned for a size of 0.
const NO_MEMORY: u64 = 16;

/// The place that stands for what zmtop takes itself.
const OWN: u32 = u32::MAX;

/// An allocation that has not been freed.
#[derive(Clone, Copy, Debug)]
struct Live {
    allocated: u64,
    site: u32,
    cpu: u32,
}

/// The sums.
#[derive(Debug, Default)]
pub struct Tally {
    sites: HashMap<u64, u32>,
    figures: Vec<(Option<u64>, CallFigures)>,
    live: HashMap<u64, Live>,
    /// The threads of zmtop, in order.
    own_threads: Vec<u32>,
    /// The sums of what they took, which is at no call site.
    pub own: CallFigures,
    /// Events taken in.
    pub events: u64,
    /// Allocations that failed.
    pub failed: u64,
    /// Frees of what was allocated before.
    pub older_frees: u64,
    /// Allocations of what had not been freed as far as was seen.
    pub unseen_frees: u64,
    /// Allocations that were not followed, for want of room.
    pub unfollowed: u64,
}

impl Tally {
    /// Takes in an event on a CPU. They come in the order of time, over all CPUs.
    pub fn push(&mut self, cpu: u32, event: Event) {
        self.events += 1;
        match event {
            Event::Alloc { pointer: 0, .. } => self.failed += 1,
            Event::Alloc {
                site,
                pointer,
                requested,
                allocated,
                by,
            } => {
                let is_own = by.is_some_and(|thread| self.own_threads.binary_search(&thread).is_ok());
                let site = if is_own { OWN } else { self.site(site) };
                let figures = self.figures(site);
                figures.hits += 1;
                figures.requested = figures.requested.saturating_add(requested);
                figures.allocated = figures.allocated.saturating_add(allocated);
                self.follow(pointer, Live { allocated, site, cpu });
            }
            Event::Free { pointer } if pointer <= NO_MEMORY => {}
            Event::Free { pointer } => match self.live.remove(&pointer) {
                Some(live) => self.free(live, Some(cpu)),
                None => self.older_frees += 1,
            },
        }
    }

    /// Takes the allocations of these threads from now on as zmtop's own. They are followed to their frees like all others,
    /// so that neither seems to be somebody else's.
    pub fn set_own(&mut self, mut threads: Vec<u32>) {
        threads.sort_unstable();
        self.own_threads = threads;
    }

    fn figures(&mut self, site: u32) -> &mut CallFigures {
        match site {
            OWN => &mut self.own,
            site => &mut self.figures[site as usize].1,
        }
    }

    /// Returns the figures of each call site; without an address those of all that there was no room for.
    pub fn sites(&self) -> &[(Option<u64>, CallFigures)] {
        &self.figures
    }

    /// Returns the place of a call site.
    fn site(&mut self, address: u64) -> u32 {
        // The place behind the last one is for all that are too many.
        let is_full = self.sites.len() >= MAX_SITES;
        let next = self.figures.len().min(MAX_SITES) as u32;
        let place = match self.sites.entry(address) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(_) if is_full => {
                if self.figures.len() == MAX_SITES {
                    self.figures.push((None, CallFigures::default()));
                }
                return next;
            }
            Entry::Vacant(new) => *new.insert(next),
        };
        self.figures.push((Some(address), CallFigures::default()));
        place
    }

    /// Remembers an allocation until its free.
    fn follow(&mut self, pointer: u64, live: Live) {
        let is_full = self.live.len() >= MAX_LIVE;
        match self.live.entry(pointer) {
            Entry::Occupied(mut known) => {
                let before = known.insert(live);
                self.unseen_frees += 1;
                self.free(before, None);
            }
            Entry::Vacant(_) if is_full => {
                self.unfollowed += 1;
                let bytes = &mut self.figures(live.site).unfollowed;
                *bytes = bytes.saturating_add(live.allocated);
            }
            Entry::Vacant(new) => {
                new.insert(live);
            }
        }
    }

    fn free(&mut self, live: Live, cpu: Option<u32>) {
        let figures = self.figures(live.site);
        figures.frees += 1;
        figures.freed = figures.freed.saturating_add(live.allocated);
        figures.cross_cpu += u64::from(cpu.is_some_and(|cpu| cpu != live.cpu));
    }
}
