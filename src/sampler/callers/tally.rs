//! Pure: merges the events of all CPUs in order of time, and sums them by call site, with each allocation matched with
//! its free. Of bounded size.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use crate::model::kernel::CallFigures;
use crate::proc::tracefs::Event;

/// Pages read from one CPU in a row. More pages take more memory; fewer make reads of idle CPUs more frequent.
const PAGES: usize = 8;

#[derive(Debug)]
pub struct Merge<T> {
    cpus: Vec<Cpu<T>>,
    /// The oldest event of each queue that has any.
    oldest: BinaryHeap<Reverse<(u64, usize)>>,
    newest: u64,
}

#[derive(Debug)]
struct Cpu<T> {
    queue: VecDeque<(u64, T)>,
    /// Lower bound on the time of events of this CPU that are not in the queue yet.
    until: u64,
}

impl<T> Merge<T> {
    pub fn new(cpus: usize) -> Self {
        let empty = || Cpu {
            queue: VecDeque::new(),
            until: 0,
        };
        Self {
            cpus: (0..cpus).map(|_| empty()).collect(),
            oldest: BinaryHeap::new(),
            newest: 0,
        }
    }

    /// Reads each CPU whose queue is empty, and passes to `take` all events that are older than any event still to
    /// come.
    ///
    /// `read` appends a page of a CPU to its queue, and returns false if there was none. `step` returns false if
    /// there is nothing to do until there are new events. All events have been passed on by then.
    pub fn step(
        &mut self,
        mut read: impl FnMut(usize, &mut VecDeque<(u64, T)>) -> bool,
        mut take: impl FnMut(usize, T),
    ) -> bool {
        let mut busy = false;
        for at in 0..self.cpus.len() {
            if self.cpus[at].queue.is_empty() {
                busy |= self.fill(at, &mut read);
            }
        }
        let empty = self.cpus.iter().filter(|cpu| cpu.queue.is_empty());
        let mut until = empty.map(|cpu| cpu.until).min().unwrap_or(u64::MAX);
        while let Some(Reverse((time, at))) = self.oldest.pop() {
            if time > until {
                self.oldest.push(Reverse((time, at)));
                break;
            }
            let cpu = &mut self.cpus[at];
            if let Some((_, event)) = cpu.queue.pop_front() {
                take(at, event);
                busy = true;
            }
            match cpu.queue.front() {
                Some((next, _)) => self.oldest.push(Reverse((*next, at))),
                None => until = until.min(cpu.until),
            }
        }
        busy
    }

    /// Reads some pages of a CPU; returns true if there were any.
    fn fill(&mut self, at: usize, read: &mut impl FnMut(usize, &mut VecDeque<(u64, T)>) -> bool) -> bool {
        let cpu = &mut self.cpus[at];
        let mut busy = false;
        for _ in 0..PAGES {
            // This CPU's buffer is empty, so its future events are newer than any event read so far.
            let before = self.newest;
            if !read(at, &mut cpu.queue) {
                cpu.until = cpu.until.max(before);
                break;
            }
            busy = true;
            if let Some((time, _)) = cpu.queue.back() {
                cpu.until = *time;
                self.newest = self.newest.max(*time);
            }
        }
        if let Some((time, _)) = cpu.queue.front() {
            self.oldest.push(Reverse((*time, at)));
        }
        busy
    }
}

/// Maximum number of live allocations tracked: a table of 6 MiB, and half of that in addition while it grows. At the
/// 100,000 events per second of a busy machine, nearly all are freed within a second.
pub const MAX_LIVE: usize = 7 << 15;
/// Maximum number of call sites counted separately. A kernel has some thousands.
pub const MAX_SITES: usize = 16_384;

/// The greatest address that stands for no memory. The kernel returns it for a size of 0.
const NO_MEMORY: u64 = 16;

/// The index that stands for zmtop's own allocations.
const OWN: u32 = u32::MAX;

/// An allocation that has not been freed.
#[derive(Clone, Copy, Debug)]
struct Live {
    allocated: u64,
    site: u32,
    cpu: u32,
}

#[derive(Debug, Default)]
pub struct Tally {
    sites: HashMap<u64, u32>,
    figures: Vec<(Option<u64>, CallFigures)>,
    live: HashMap<u64, Live>,
    /// The threads of zmtop, in ascending order.
    own_threads: Vec<u32>,
    /// The sums of their allocations, which are not in any call site.
    pub own: CallFigures,
    pub events: u64,
    pub failed: u64,
    /// Frees of memory that was allocated before the trace.
    pub older_frees: u64,
    /// Allocations at an address whose free was not seen.
    pub unseen_frees: u64,
    /// Allocations not tracked because the table was full.
    pub unfollowed: u64,
}

impl Tally {
    /// Adds an event on a CPU. Events must come in order of time over all CPUs.
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

    /// From now on, counts the allocations of these threads as zmtop's own. They are matched with their frees like
    /// all others, so that neither counts as foreign.
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

    /// Returns the figures of each call site. The entry without an address sums all sites beyond the maximum.
    pub fn sites(&self) -> &[(Option<u64>, CallFigures)] {
        &self.figures
    }

    fn site(&mut self, address: u64) -> u32 {
        // The index after the last one collects all sites beyond the maximum.
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
