//! Estimates the memory of a process between walks, with a bound on the error.
//!
//! Pure. An *anchor* is a walk together with the kernel's counters at that moment: resident pages of each kind,
//! swapped-out bytes, faults. The estimate is the walk plus what the counters say has changed since:
//!
//! - New anonymous pages are private and count whole. Freed ones also count whole if the walk found nearly all
//!   unshared. Otherwise they count by the ratio of the walk's `Pss_Anon` to its anonymous pages.
//! - Pages of files and shmem count by the ratio of their PSS to their number. Each may have had no sharers or many,
//!   so the error per page is up to a page times the larger of that ratio and 1 minus that ratio, until walks have
//!   [shown](Margin) how similar the pages of this process are.
//! - Swap counts by the ratio of `SwapPss` to `VmSwap`. Newly swapped-out memory counts as it did in RAM.
//! - A fault without a new page may be a copy on write, or a page of a file that replaces another. If nothing is
//!   shared, such faults change nothing. The change per fault is learnt from walks too. One fault may map many pages
//!   of a file, so if such pages came, nearly all faults may have been copies: a child just forked does little else.
//!
//! Changes caused by other processes (such as a sharer that ends) are neither in these counters nor in this bound.
//! They are covered by a bound and an [estimate](Others) for the groups of the process, and walks show by how much
//! that estimate errs.

use crate::model::{Memory, Reading, Stat};
use crate::proc::pid::Statm;

/// The smallest page that a fault maps. If the kernel's pages are larger, the margin learns it.
const PAGE: u64 = 4096;
/// Maximum bytes of a file or of shmem that the kernel maps with one fault: since Linux 6.18 a whole folio, within
/// the range of one page table; before, 64 KiB (`fault_around_bytes`).
const AROUND: u64 = 512 * PAGE;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub faults: u64,
    pub cpu_ticks: u64,
    /// The size of the address space, in bytes.
    pub vsize: u64,
    /// RSS as `stat` reports it, in bytes.
    pub rss: u64,
    /// Resident memory by kind, if it could be read.
    pub resident: Option<Statm>,
    /// `VmSwap`, if it could be read; 0 if the walk found nothing swapped out.
    pub swap: Option<u64>,
}

impl Counters {
    /// Creates counters from `stat` alone.
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

    /// Returns true if `stat` was the same in both, so that all counters are.
    pub const fn has_same_stat(&self, other: &Self) -> bool {
        self.faults == other.faults
            && self.cpu_ticks == other.cpu_ticks
            && self.vsize == other.vsize
            && self.rss == other.rss
    }

    /// Returns the resident memory of all kinds, in bytes.
    fn resident(&self) -> u64 {
        self.resident
            .map_or(self.rss, |statm| statm.anon.saturating_add(statm.shared))
    }
}

/// A walk with the counters at its moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anchor {
    pub memory: Memory,
    /// `Anonymous` of the walk, if the kernel reports it.
    pub anonymous: Option<u64>,
    /// The counters just after it.
    pub counters: Counters,
    /// Bytes that were added or removed during the walk.
    pub blur: u64,
    /// The faults during the walk.
    pub early: Faults,
    /// Maximum error of the kernel's counter of one kind of pages, in bytes: see
    /// [`pid::inexact`](crate::proc::pid::inexact).
    pub inexact: u64,
    /// It forked since, so its anonymous pages may have become shared.
    pub is_forked: bool,
    /// KSM merges pages of equal content, which no counter of a process shows.
    pub may_merge: bool,
}

/// A number of faults, and the bytes that were added at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub count: u64,
    /// New anonymous memory.
    pub anon: u64,
    /// New memory of files and shmem.
    pub shared: u64,
}

impl Faults {
    /// Returns the probable maximum number of faults that brought no new page, if `copyable` bytes can be copied on write.
    const fn without_page(&self, copyable: u64) -> u64 {
        let least = self.others().saturating_sub(self.shared / PAGE);
        let (copies, copyable) = (self.replacing() - least, copyable / PAGE);
        least.saturating_add(if copies < copyable { copies } else { copyable })
    }

    /// Returns the number of faults that may have replaced pages of one file by those of another: all but the fewest that could
    /// bring the new pages. One fault may map a whole large folio, so a few replace megabytes.
    const fn replacing(&self) -> u64 {
        self.others().saturating_sub(self.shared.div_ceil(AROUND))
    }

    /// Returns the number of faults that brought no anonymous page.
    const fn others(&self) -> u64 {
        self.count.saturating_sub(self.anon / PAGE)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    pub memory: Memory,
    /// Upper bound on the error of PSS + `SwapPss`, in bytes.
    pub bound: u64,
    /// Upper bound on the bytes changed by faults that may have replaced pages.
    pub faulted: u64,
    /// The part of `faulted` due to faults beyond the number that a walk has shown to be harmless.
    pub unproven: u64,
    /// Bytes that can change without a new page.
    mutable: u64,
    /// The number of faults that may have replaced pages.
    replacing: u64,
    /// The parts of the bound due to ratios (per byte of their possible error), faults without a new page, and CPU
    /// time.
    ratios: Unexplained,
    faults: Unexplained,
    ticks: Unexplained,
}

/// Events whose effect the counters do not show, and the bound on that effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unexplained {
    events: u64,
    bound: u64,
}

impl Anchor {
    /// Creates the anchor of a walk of `memory`, with the counters before and after it.
    pub fn new(memory: Memory, anonymous: Option<u64>, before: &Counters, after: Counters, inexact: u64) -> Self {
        // If nothing changed during the walk, a difference only shows that pages are counted in two ways.
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

    /// Estimates the memory from the current counters.
    pub fn estimate(&self, now: &Counters, margin: &Margin) -> Estimate {
        // A glance may be older than the walk whose result came before it.
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
            ..Estimate::default()
        }
    }

    /// Bounds the error if only `stat` is readable or exact: counts each fault, and each page that was added or removed.
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
        // New or freed address space is empty or in RSS, but it may also have been swapped out.
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
        // Memory that is swapped in counts as it did in swap; memory that is swapped out counts as it did in RAM. The other new
        // memory is private.
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
        // Memory that vanished but was not swapped out may have been freed lazily. Such pages go first, and are never swapped out.
        change_known(&mut memory.lazy_free, 0, anon.less.saturating_sub(swap.more));
        memory.swap = memory.swap.saturating_add(swap.more).saturating_sub(swap.less);
        if let Ok(pss) = &mut memory.swap_pss {
            *pss = pss
                .saturating_add(ratios.anon.of(swap.more))
                .saturating_sub(ratios.swap.of(swap.less));
        }

        let ticks = now.cpu_ticks.saturating_sub(self.counters.cpu_ticks);
        // A copy on write adds at most the part of anonymous memory that is shared; for pages of files, the error of
        // their ratio.
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
        let replacing = faults.replacing();
        let faults = faults.without_page(shared_anon);
        let unexplained = |events, bound: u64| Unexplained {
            events,
            bound: bound.min(mutable),
        };
        let most = |faults: u64| faults.saturating_mul(AROUND).min(mutable);
        let (faulted, unproven) = (most(replacing), most(beyond_twice(replacing, margin.replacing)));
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
            replacing,
            ratios,
            faults,
            ticks,
        }
    }

    /// Returns the error due to inexact counters at both times, for anonymous pages and for pages of files and shmem.
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

struct Ratios {
    anon: Ratio,
    shared: Ratio,
    swap: Ratio,
}

/// A change of a figure: its growth, or else its shrinkage.
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

/// Bounds on the changes by other processes since a walk: see [`sharing`](crate::sampler::sharing). In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    pub bound: u64,
    /// The bound on drift: pages touched little by little.
    pub drift: u64,
    /// An estimate of the change of PSS due to drift.
    pub shift: i64,
}

/// The last walk of a process, its last counters, and its margin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracker {
    pub counters: Counters,
    pub anchor: Option<Anchor>,
    margin: Margin,
}

impl Tracker {
    pub fn new(counters: Counters) -> Self {
        Self {
            counters,
            ..Self::default()
        }
    }

    /// Stores the counters of a glance; returns true if they changed.
    pub fn glanced(&mut self, counters: Counters) -> bool {
        std::mem::replace(&mut self.counters, counters) != counters
    }

    /// Stores a walk, or `None` if its counters could not be read. `others` are the changes by others up to that
    /// moment. Returns an upper bound on the bytes that the process itself has changed since the walk before.
    pub fn walked(&mut self, anchor: Option<Anchor>, others: &Others) -> u64 {
        let old = std::mem::replace(&mut self.anchor, anchor);
        let Some(anchor) = anchor else { return u64::MAX };
        self.counters = anchor.counters;
        let Some(old) = old else { return u64::MAX };
        let estimate = old.estimate(&anchor.counters, &self.margin);
        let cost = |m: &Memory| m.pss.saturating_add(m.swap_pss.unwrap_or(0));
        let estimated = cost(&estimate.memory).saturating_add_signed(others.shift);
        let error = estimated.abs_diff(cost(&anchor.memory)).saturating_sub(anchor.blur);
        let external = self.bound_of(others);
        let of_own = estimate.bound.saturating_add(others.bound);
        self.margin.learn_of_drift(others.drift, error.saturating_sub(of_own));
        self.margin.learn(&estimate, error.saturating_sub(external));
        old.by_stat(&anchor.counters).bound
    }

    /// Returns the bound on the error due to other processes, after the estimated shift.
    pub fn bound_of(&self, others: &Others) -> u64 {
        others.bound.saturating_add(self.margin.of_drift(others.drift))
    }

    /// Records a fork: anonymous pages found unshared may be shared now.
    pub fn forked(&mut self) {
        if let Some(anchor) = &mut self.anchor {
            anchor.is_forked = true;
        }
    }

    /// Returns the estimate of its current memory; `None` if it was never walked.
    pub fn estimate(&self) -> Option<Estimate> {
        Some(self.anchor.as_ref()?.estimate(&self.counters, &self.margin))
    }

    /// Returns true if it ran since the walk, and no counter would show what it did: nothing but `stat` is readable, or it `has_lazy` pages,
    /// which it can use again without a fault.
    pub fn ran_unseen(&self, has_lazy: bool) -> bool {
        let is_blind = |counters: &Counters| has_lazy || counters.resident.is_none();
        let anchor = self.anchor.as_ref();
        anchor.is_some_and(|a| is_blind(&a.counters) && a.counters.cpu_ticks != self.counters.cpu_ticks)
    }
}

/// The error of a process's estimates that walks have shown, beyond what its counters explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// The actual error of the ratios, as a fraction of their maximum error.
    of_ratios: Fraction,
    /// The actual error of the estimated drift caused by others, as a fraction of its bound.
    of_drift: Fraction,
    /// Bytes per fault without a new page, and the highest number of such faults before a walk that showed their
    /// effect.
    per_fault: f32,
    faults: u64,
    /// The highest number of faults that may have replaced pages before a walk that showed that they did not.
    replacing: u64,
    /// Bytes per clock tick of CPU time.
    per_tick: f32,
}

/// An actual error, as a fraction of the possible one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fraction {
    part: f32,
    /// The highest possible error, in bytes, at a walk that showed the actual one.
    proven: u64,
}

/// The fraction for a process without evidence: each page had the fewest or the most sharers.
const INITIAL_PART: f32 = 1.0;
/// The smallest fraction, however similar the pages were.
const MIN_PART: f32 = 0.0625;
/// Bytes per fault, for a process without evidence and for faults beyond the number shown to be harmless: some of the
/// pages of a file that the kernel maps around it, or a copy of one.
const INITIAL_PER_FAULT: f32 = 2.0 * PAGE as f32;
const MAX_PER_FAULT: f32 = AROUND as f32;
/// Bytes per tick for such a process. With 1 MiB of shared pages it is walked after 1/20 s of CPU time, after 1/5 s
/// if that walk shows no change, and so on.
const INITIAL_PER_TICK: f32 = 200.0 * 1024.0;
/// Maximum bytes per tick: 10 ms of unmapping and mapping without a fault.
const MAX_PER_TICK: f32 = 64.0 * 1024.0 * 1024.0;
/// Factor on the error that a walk shows, as the next may be larger.
const FACTOR: f32 = 2.0;
/// Fraction of a margin that remains after a walk with a smaller error.
const DECAY: f32 = 0.25;
/// The bound from which on a walk without error is evidence.
const PROOF: u64 = 64 << 10;

impl Default for Margin {
    fn default() -> Self {
        Self {
            of_ratios: Fraction::INITIAL,
            of_drift: Fraction::INITIAL,
            per_fault: INITIAL_PER_FAULT,
            faults: 0,
            replacing: 0,
            per_tick: INITIAL_PER_TICK,
        }
    }
}

impl Fraction {
    const INITIAL: Self = Self {
        part: INITIAL_PART,
        proven: 0,
    };

    /// Returns the error to expect if `bytes` could be wrong. Beyond twice the highest proven value, nothing is
    /// known.
    fn of(self, bytes: u64) -> u64 {
        let known = bytes.min(self.proven.saturating_mul(2));
        let rest = (bytes - known) as f64 * f64::from(INITIAL_PART);
        (known as f64 * f64::from(self.part) + rest) as u64
    }

    /// Learns from an upper bound on the error that these events caused.
    fn learn(&mut self, could: &Unexplained, error: u64) {
        learn(&mut self.part, could, error, INITIAL_PART);
        self.part = self.part.max(MIN_PART);
        if could.bound >= PROOF {
            self.proven = self.proven.max(could.events);
        }
    }
}

impl Margin {
    /// Returns the error to expect from ratios that may err by `bytes`. A change far larger than any before, such as
    /// a newly mapped file, may be of another kind, so past evidence does not apply to any part of it.
    fn of_ratios(&self, bytes: u64) -> u64 {
        let is_known = bytes <= self.of_ratios.proven.saturating_mul(2);
        let part = if is_known { self.of_ratios } else { Fraction::INITIAL };
        part.of(bytes)
    }

    /// Returns the error to expect of the estimated drift, if others may have changed `bytes` by it.
    fn of_drift(&self, bytes: u64) -> u64 {
        self.of_drift.of(bytes)
    }

    /// Returns the bytes that this number of faults without a new page may have changed.
    fn of_faults(&self, faults: u64) -> u64 {
        let rest = beyond_twice(faults, self.faults);
        let known = faults - rest;
        let rest = rest as f64 * f64::from(INITIAL_PER_FAULT.max(self.per_fault));
        (known as f64 * f64::from(self.per_fault) + rest) as u64
    }

    /// Returns the bytes that this number of ticks of CPU time may have changed.
    fn of_ticks(&self, ticks: u64) -> u64 {
        (ticks as f64 * f64::from(self.per_tick)) as u64
    }

    /// Learns from a walk. `estimated` is the estimate for its moment, and `error` the part of its error not caused
    /// by others.
    pub fn learn(&mut self, estimated: &Estimate, error: u64) {
        let Estimate {
            ratios, faults, ticks, ..
        } = estimated;
        let unexplained = ratios.bound.saturating_add(faults.bound).saturating_add(ticks.bound);
        let rest = error.saturating_sub(estimated.bound.saturating_sub(unexplained));
        self.of_ratios.learn(ratios, rest);
        let rest = rest.saturating_sub(self.of_ratios(ratios.events));
        let before = self.per_fault;
        learn(&mut self.per_fault, faults, rest, MAX_PER_FAULT);
        let is_proof = |faults: u64| faults.saturating_mul(AROUND).min(estimated.mutable) >= PROOF;
        // From now on, fewer faults need not be harmless.
        let is_refuted = self.per_fault > before && rest >= PROOF;
        if is_refuted {
            self.faults = 0;
        } else if is_proof(faults.events) {
            self.faults = self.faults.max(faults.events);
        }
        let rest = rest.saturating_sub(self.of_faults(faults.events));
        if is_refuted || rest >= PROOF {
            self.replacing = 0;
        } else if is_proof(estimated.replacing) {
            self.replacing = self.replacing.max(estimated.replacing);
        }
        learn(&mut self.per_tick, ticks, rest, MAX_PER_TICK);
    }

    /// Learns from a walk the maximum `error` of the estimated drift, if others may have changed `changed` bytes by
    /// it.
    fn learn_of_drift(&mut self, changed: u64, error: u64) {
        let could = Unexplained {
            events: changed,
            bound: self.of_drift(changed),
        };
        self.of_drift.learn(&could, error);
    }
}

/// Returns how many of these faults exceed twice the number whose effect a walk showed. Beyond that, nothing is known.
const fn beyond_twice(faults: u64, shown: u64) -> u64 {
    faults.saturating_sub(shown.saturating_mul(2))
}

/// Learns from an upper bound on the error that these events caused. Events with a small bound are no evidence.
fn learn(margin: &mut f32, events: &Unexplained, error: u64, max: f32) {
    if events.events > 0 {
        let shown = error as f32 / events.events as f32 * FACTOR;
        let decay = if events.bound >= PROOF { DECAY } else { 1.0 };
        *margin = shown.max(*margin * decay).min(max);
    }
}

/// The ratio from which all pages count as unshared.
const UNSHARED: f64 = 0.99;

#[derive(Clone, Copy)]
struct Ratio {
    part: f64,
    /// It applies to each page, not only to their sum.
    is_exact: bool,
}

impl Ratio {
    /// Creates the ratio of `pss` to `pages`; without pages, 1, as for private memory.
    fn new(pss: u64, pages: u64) -> Self {
        let part = if pages == 0 { 1.0 } else { pss as f64 / pages as f64 };
        Self {
            part: part.min(1.0),
            is_exact: false,
        }
    }

    /// Treats nearly unshared pages as all unshared.
    fn unless_unshared(self) -> Self {
        if self.part < UNSHARED {
            return self;
        }
        Self {
            part: 1.0,
            is_exact: true,
        }
    }

    /// Returns the same ratio, which need not apply to each page.
    const fn inexact(self) -> Self {
        Self {
            is_exact: false,
            ..self
        }
    }

    /// Returns the PSS of `bytes` at this ratio.
    fn of(self, bytes: u64) -> u64 {
        ((bytes as f64 * self.part) as u64).min(bytes)
    }

    /// Returns `whole` bytes together with their PSS.
    fn part_of(self, whole: u64) -> Part {
        Part {
            pss: self.of(whole),
            whole,
        }
    }

    /// Returns the maximum error of that PSS: each page may have had no sharers, or very many.
    fn error_of(self, bytes: u64) -> u64 {
        if self.is_exact {
            return 0;
        }
        (bytes as f64 * self.part.max(1.0 - self.part)) as u64
    }
}

/// Bytes added to a figure or subtracted from it, as PSS and whole.
#[derive(Clone, Copy)]
struct Part {
    pss: u64,
    whole: u64,
}

/// Adds and subtracts anonymous pages, which are dirty.
fn move_anon(memory: &mut Memory, more: Part, less: Part) {
    change(&mut memory.rss, more.whole, less.whole);
    change(&mut memory.pss, more.pss, less.pss);
    change_known(&mut memory.pss_anon, more.pss, less.pss);
    change_known(&mut memory.pss_dirty, more.pss, less.pss);
    change(&mut memory.private_dirty, more.pss, 0);
    change(&mut memory.shared_dirty, more.whole - more.pss, 0);
    take(memory, true, less.pss, less.whole - less.pss);
}

/// Adds and subtracts pages of files and shmem in the proportions of the `walk`, which found `pages` bytes of them.
/// Shmem is dirty.
fn move_shared(memory: &mut Memory, walk: &Memory, pages: u64, more: Part, less: Part) {
    let (file, shmem) = (walk.pss_file.unwrap_or(0), walk.pss_shmem.unwrap_or(0));
    let dirty = |bytes| {
        if shmem == 0 {
            0
        } else {
            Ratio::new(shmem, file.saturating_add(shmem)).of(bytes)
        }
    };
    let (dirty_more, dirty_less) = (dirty(more.pss), dirty(less.pss));
    change(&mut memory.rss, more.whole, less.whole);
    change(&mut memory.pss, more.pss, less.pss);
    change_known(&mut memory.pss_shmem, dirty_more, dirty_less);
    change_known(&mut memory.pss_dirty, dirty_more, dirty_less);
    change_known(&mut memory.pss_file, more.pss - dirty_more, less.pss - dirty_less);

    let private = Ratio::new(walk.uss().saturating_sub(walk.pss_anon.unwrap_or(0)), pages);
    let (alone, divided) = (private.of(more.whole), more.whole - private.of(more.whole));
    change(&mut memory.private_dirty, dirty(alone), 0);
    change(&mut memory.private_clean, alone - dirty(alone), 0);
    change(&mut memory.shared_dirty, dirty(divided), 0);
    change(&mut memory.shared_clean, divided - dirty(divided), 0);
    let alone = private.of(less.whole);
    take(memory, false, alone, less.whole - alone);
}

/// Adds the changes by others to the PSS of files and of shmem. If others map more, moves the fraction by which the PSS fell
/// from private to shared pages.
pub fn shift(memory: &mut Memory, [file, shmem]: [i64; 2]) {
    let anon = memory.pss_anon.unwrap_or(0);
    let (private, divided) = (memory.uss().saturating_sub(anon), memory.pss.saturating_sub(anon));
    let lost = |by: i64| by.min(0).unsigned_abs();
    let mut add = |figure: &mut Reading<u64>, by: i64| {
        let whole = figure.unwrap_or(memory.pss);
        let by = by.max(-i64::try_from(whole).unwrap_or(i64::MAX));
        if let Ok(figure) = figure {
            *figure = figure.saturating_add_signed(by);
        }
        memory.pss = memory.pss.saturating_add_signed(by).min(memory.rss);
    };
    let (mut of_file, mut of_shmem) = (memory.pss_file, memory.pss_shmem);
    add(&mut of_file, file);
    add(&mut of_shmem, shmem);
    (memory.pss_file, memory.pss_shmem) = (of_file, of_shmem);
    change_known(&mut memory.pss_dirty, shmem.max(0).unsigned_abs(), lost(shmem));
    for (by, alone, shared) in [
        (file, &mut memory.private_clean, &mut memory.shared_clean),
        (shmem, &mut memory.private_dirty, &mut memory.shared_dirty),
    ] {
        let moved = Ratio::new(lost(by), divided.max(1)).of(private).min(*alone);
        *alone -= moved;
        *shared = shared.saturating_add(moved);
    }
}

fn change(figure: &mut u64, more: u64, less: u64) {
    *figure = figure.saturating_add(more).saturating_sub(less);
}

fn change_known(figure: &mut Reading<u64>, more: u64, less: u64) {
    if let Ok(figure) = figure {
        change(figure, more, less);
    }
}

/// Subtracts private and shared pages from the dirty or the clean figures first, and any rest from the other ones.
fn take(memory: &mut Memory, are_dirty: bool, private: u64, shared: u64) {
    let Memory {
        private_dirty,
        private_clean,
        shared_dirty,
        shared_clean,
        ..
    } = memory;
    let mut alone = [private_clean, private_dirty];
    let mut divided = [shared_clean, shared_dirty];
    if are_dirty {
        alone.reverse();
        divided.reverse();
    }
    let rest = take_from(&mut alone, private).saturating_add(take_from(&mut divided, shared));
    let rest = take_from(&mut alone, rest);
    take_from(&mut divided, rest);
}

/// Subtracts bytes from the first figure, and any rest from the next ones; returns what is left over.
fn take_from(figures: &mut [&mut u64], bytes: u64) -> u64 {
    figures.iter_mut().fold(bytes, |rest, figure| {
        let less = rest.min(**figure);
        **figure -= less;
        rest - less
    })
}
