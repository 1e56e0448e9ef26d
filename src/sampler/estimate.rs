//! Estimates the memory of a process between walks, with a bound on the error.
//!
//! Pure. An *anchor* is a walk with the kernel's counters of that moment: how many pages of each kind are resident, how
//! much is swapped out, how often it faulted. What the counters say has changed since is added to the walk:
//!
//! - New anonymous pages are private, and count whole. Those given back count whole too where the walk found nearly all
//!   unshared, else by the ratio of the walk's `Pss_Anon` to its anonymous pages.
//! - Pages of files and shmem count by the ratio of their PSS to their number. Each may have had from no to many sharers,
//!   so that one page errs by a page times the larger of that ratio and its rest to 1, until walks have [shown](Margin) how
//!   much alike the pages of this very process are.
//! - Swap by the ratio of `SwapPss` to `VmSwap`; what was swapped out counts as it did in RAM.
//! - A fault without a new page may be a copy on write, or a page of a file in place of another. It tells nothing where
//!   nothing is shared. How much one was worth is learnt likewise. One fault may map many pages of a file, so that
//!   beside such pages nearly all faults may have been copies: a child just forked does little else.
//!
//! What others do to a process (a sharer that ends) is not in its counters and not in this bound. Its groups tell, by a bound
//! and an [estimate](Others), and walks show how much of the bound the estimate errs.

mod figures;
mod margin;
mod tracker;

pub use margin::Margin;
pub use tracker::{Others, Tracker};

pub use figures::shift;
use figures::{Part, Ratio, move_anon, move_shared};

use crate::model::{Memory, Stat};
use crate::proc::statm::Statm;

/// The size of the page that a fault brings at least. The kernel's own may be larger, which the margin learns.
const PAGE: u64 = 4096;
/// Bytes of a file or of shmem that the kernel maps with one fault at most: since Linux 6.18 a whole folio, within what one
/// page table maps; before, 64 KiB (`fault_around_bytes`).
const AROUND: u64 = 512 * PAGE;

/// The counters of a process at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Minor and major faults.
    pub faults: u64,
    /// CPU time, in clock ticks.
    pub cpu_ticks: u64,
    /// The size of the address space.
    pub vsize: u64,
    /// Resident pages, as `stat` gives them.
    pub rss: u64,
    /// Resident pages by kind, where that could be read.
    pub resident: Option<Statm>,
    /// `VmSwap`, where that could be read, or the walk found nothing swapped out.
    pub swap: Option<u64>,
}

impl Counters {
    /// Creates counters of what `stat` tells, and nothing else.
    pub const fn new(stat: &Stat) -> Self {
        Self {
            faults: stat.minflt.wrapping_add(stat.majflt),
            cpu_ticks: stat.cpu_ticks,
            vsize: stat.vsize,
            rss: stat.rss,
            resident: None,
            swap: None,
        }
    }

    /// Returns true if `stat` was the same in both, so that the rest is the same too.
    pub const fn has_same_stat(&self, other: &Self) -> bool {
        self.faults == other.faults
            && self.cpu_ticks == other.cpu_ticks
            && self.vsize == other.vsize
            && self.rss == other.rss
    }

    /// Returns all resident pages.
    fn resident(&self) -> u64 {
        self.resident
            .map_or(self.rss, |statm| statm.anon.saturating_add(statm.shared))
    }
}

/// A walk with the counters of its moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anchor {
    /// The walk's figures.
    pub memory: Memory,
    /// `Anonymous` of the walk, where that was told.
    pub anonymous: Option<u64>,
    /// The counters just after it.
    pub counters: Counters,
    /// Bytes that came or went while it was walked.
    pub blur: u64,
    /// The faults meanwhile.
    pub early: Faults,
    /// Bytes by which the kernel's counter of a kind of pages may be off: see [`statm::inexact`](crate::proc::statm::inexact).
    pub inexact: u64,
    /// Its anonymous pages may have become shared since: it was forked.
    pub is_forked: bool,
    /// The kernel merges pages of equal content (KSM), of which no counter of a process tells.
    pub may_merge: bool,
}

/// Faults, and the bytes that came meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Minor and major faults.
    pub count: u64,
    /// Anonymous memory that came.
    pub anon: u64,
    /// Pages of files and shmem that came.
    pub shared: u64,
}

impl Faults {
    /// Returns how many have brought no new page, where so many bytes can be copied on write.
    const fn without_page(&self, copyable: u64) -> u64 {
        let others = self.count.saturating_sub(self.anon / PAGE);
        let least = others.saturating_sub(self.shared / PAGE);
        let most = others.saturating_sub(self.shared.div_ceil(AROUND));
        let (copies, copyable) = (most - least, copyable / PAGE);
        least.saturating_add(if copies < copyable { copies } else { copyable })
    }
}

/// An estimate of the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The figures.
    pub memory: Memory,
    /// Upper bound on the error of PSS and `SwapPss` together, in bytes.
    pub bound: u64,
    /// Bytes that faults without a new page may have changed at the very most.
    pub faulted: u64,
    /// The same of those that are more than ever proved harmless.
    pub unproven: u64,
    /// Bytes that can change without a new page.
    mutable: u64,
    /// The parts of it that ratios make (for each byte that they may err), faults without a new page, and CPU time.
    ratios: Unexplained,
    faults: Unexplained,
    ticks: Unexplained,
}

/// Events that do not tell how much they changed, and what that may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unexplained {
    events: u64,
    bound: u64,
}

impl Anchor {
    /// Creates the anchor of a walk of `memory`, with the counters before it and after it.
    pub fn new(memory: Memory, anonymous: Option<u64>, before: &Counters, after: Counters, inexact: u64) -> Self {
        // Where nothing changed in between, a difference is one of how pages are counted.
        let is_sharp = before.has_same_stat(&after);
        let resident = after.resident.unwrap_or_default();
        let anon = anonymous.unwrap_or(resident.anon);
        Self {
            memory,
            anonymous,
            counters: after,
            blur: if is_sharp {
                0
            } else {
                after.resident().abs_diff(memory.rss)
            },
            early: Faults {
                count: after.faults.wrapping_sub(before.faults),
                anon: resident.anon.saturating_sub(anon),
                shared: resident.shared.saturating_sub(memory.rss.saturating_sub(anon)),
            },
            inexact,
            is_forked: false,
            may_merge: false,
        }
    }

    /// Estimates the memory by the counters `now`.
    pub fn estimate(&self, now: &Counters, margin: &Margin) -> Estimate {
        // A glance may be older than the walk that it is taken in after.
        let is_older = now.faults < self.counters.faults || now.cpu_ticks < self.counters.cpu_ticks;
        let now = if is_older { &self.counters } else { now };
        if self.counters == *now && self.early.count == 0 {
            return self.unchanged();
        }
        let resident = self.counters.resident.zip(now.resident);
        let Some((resident, swap)) = resident.zip(self.counters.swap.zip(now.swap)) else {
            return self.by_stat(now);
        };
        let estimate = self.by_kinds(resident, swap, now, margin);
        if self.inexact == 0 {
            return estimate;
        }
        let coarse = self.by_stat(now);
        if coarse.bound < estimate.bound {
            coarse
        } else {
            estimate
        }
    }

    fn unchanged(&self) -> Estimate {
        Estimate {
            memory: self.memory,
            bound: self.blur,
            faulted: 0,
            unproven: 0,
            mutable: 0,
            ratios: Unexplained::default(),
            faults: Unexplained::default(),
            ticks: Unexplained::default(),
        }
    }

    /// Bounds the error where nothing but `stat` can be read, or nothing else is exact: each fault and each page that came
    /// or went.
    fn by_stat(&self, now: &Counters) -> Estimate {
        let then = &self.counters;
        let faults = now.faults.wrapping_sub(then.faults);
        let faults = faults.saturating_add(self.early.count).saturating_mul(PAGE);
        let resident = then.resident.zip(now.resident);
        let pages = resident.map_or(now.rss.abs_diff(then.rss), |(then, now)| {
            let shared = now.shared.abs_diff(then.shared);
            now.anon.abs_diff(then.anon).saturating_add(shared)
        });
        let swap = then.swap.zip(now.swap).map_or(0, |(then, now)| now.abs_diff(then));
        // Address space that comes or goes holds nothing yet, or held what RSS tells; but it may have been swapped out.
        let space = if now.vsize == then.vsize { 0 } else { PAGE };
        let faulted = faults.saturating_mul(AROUND / PAGE);
        Estimate {
            bound: sum([self.blur, faults, pages, swap, space]),
            faulted,
            unproven: faulted,
            ..self.unchanged()
        }
    }

    fn by_kinds(&self, resident: (Statm, Statm), swap: (u64, u64), now: &Counters, margin: &Margin) -> Estimate {
        let then = resident.0;
        let anon = Change::new(then.anon, resident.1.anon);
        let shared = Change::new(then.shared, resident.1.shared);
        let ratios = self.ratios(then, swap.0);
        let swap = Change::new(swap.0, swap.1);
        // What comes back from swap counts as it did there, what goes there as it did in RAM; the rest of what comes is
        // new, and private.
        let swapped_in = swap.less.min(anon.more);
        let fresh = anon.more - swapped_in;
        let more = Part {
            pss: fresh + ratios.swap.of(swapped_in),
            whole: anon.more,
        };
        let mut memory = self.memory;
        move_anon(&mut memory, more, ratios.anon.part_of(anon.less));
        let (more, less) = (ratios.shared.part_of(shared.more), ratios.shared.part_of(shared.less));
        move_shared(&mut memory, &self.memory, then.shared, more, less);
        memory.swap = memory.swap.saturating_add(swap.more).saturating_sub(swap.less);
        if let Ok(pss) = &mut memory.swap_pss {
            *pss = pss
                .saturating_add(ratios.anon.of(swap.more))
                .saturating_sub(ratios.swap.of(swap.less));
        }

        let ticks = now.cpu_ticks.saturating_sub(self.counters.cpu_ticks);
        // A copy on write adds at most what anonymous pages lack to be whole; pages of files, what their ratio allows.
        let shared_anon = then.anon - ratios.anon.of(then.anon);
        let mutable = shared_anon.saturating_add(ratios.shared.error_of(then.shared));
        let early = &self.early;
        let faults = Faults {
            count: now
                .faults
                .wrapping_sub(self.counters.faults)
                .saturating_add(early.count),
            anon: anon.more.saturating_add(early.anon),
            shared: shared.more.saturating_add(early.shared),
        };
        let faults = faults.without_page(shared_anon);
        let unexplained = |events, bound: u64| Unexplained {
            events,
            bound: bound.min(mutable),
        };
        let most = |faults: u64| faults.saturating_mul(AROUND).min(mutable);
        let (faulted, unproven) = (most(faults), most(margin.unproven(faults)));
        let faults = unexplained(faults, margin.of_faults(faults));
        let ticks = unexplained(ticks, margin.of_ticks(ticks));
        let inexactness = self.inexactness(&ratios);
        let events = sum([
            ratios.anon.error_of(anon.less.saturating_add(swap.more)),
            ratios.swap.error_of(swap.less.saturating_add(swapped_in)),
            ratios.shared.error_of(shared.more + shared.less),
        ]);
        let ratios = Unexplained {
            events,
            bound: margin.of_ratios(events),
        };
        Estimate {
            memory,
            bound: sum([self.blur, inexactness, ratios.bound, faults.bound, ticks.bound]),
            faulted,
            unproven,
            mutable,
            ratios,
            faults,
            ticks,
        }
    }

    /// Returns the error that counters make which are off then and now, the one for anonymous pages and those for pages of
    /// files and of shmem.
    fn inexactness(&self, ratios: &Ratios) -> u64 {
        let shared = ratios.shared.of(self.inexact).saturating_mul(2);
        self.inexact.saturating_add(shared).saturating_mul(2)
    }

    /// Returns the ratios of PSS to pages that the walk found.
    fn ratios(&self, then: Statm, swap: u64) -> Ratios {
        let walk = &self.memory;
        let anonymous = self.anonymous.unwrap_or(then.anon);
        let file_pss = walk.pss_file.and_then(|file| Ok(file.saturating_add(walk.pss_shmem?)));
        // Kernels before Linux 5.4 do not split PSS.
        let whole = Ratio::new(walk.pss, walk.rss);
        let anon = walk
            .pss_anon
            .map_or(whole, |pss| Ratio::new(pss, anonymous).unless_unshared());
        let swap = walk
            .swap_pss
            .map_or(whole, |pss| Ratio::new(pss, swap).unless_unshared());
        Ratios {
            anon: if self.is_forked { anon.inexact() } else { anon },
            shared: file_pss.map_or(whole, |pss| Ratio::new(pss, walk.rss.saturating_sub(anonymous))),
            swap: if self.is_forked { swap.inexact() } else { swap },
        }
    }
}

/// The ratios of PSS to pages of each kind.
struct Ratios {
    anon: Ratio,
    shared: Ratio,
    swap: Ratio,
}

/// A change of a figure: by how much it grew, or else shrank.
#[derive(Clone, Copy)]
struct Change {
    more: u64,
    less: u64,
}

impl Change {
    const fn new(then: u64, now: u64) -> Self {
        Self {
            more: now.saturating_sub(then),
            less: then.saturating_sub(now),
        }
    }
}

fn sum<const N: usize>(parts: [u64; N]) -> u64 {
    parts.into_iter().fold(0, u64::saturating_add)
}
