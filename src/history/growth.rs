//! Composition of a row's growth, and growth that has stopped.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::trend::{Judgement, Metric, Verdict};

/// Minimum share of one kind of pages in a growth to name the growth by it.
const MIN_PART: f64 = 0.75;
/// Maximum share of free memory in a growth. Free memory is read at other times than the growth.
const MAX_PART: f64 = 1.25;
/// Minimum share of a row's own memory in a growth of shared memory, below which none of it counts, and from which all of it does.
const MIN_OWN_SHARE: f64 = 0.1;
const MIN_WHOLE_SHARE: f64 = 0.5;
/// The size of a transparent huge page. One fault makes a whole one. Some machines have larger ones.
const HUGE_PAGE: f64 = (2 << 20) as f64;

/// The figures that a growth is divided by, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct Kinds {
    pub(super) footprint: u64,
    /// RSS and swap: the footprint and the parts of others in what it shares.
    pub(super) resident: u64,
    /// The lazily freed part.
    pub(super) lazy: u64,
    /// The part in transparent huge pages.
    pub(super) huge: u64,
    /// The part in shared memory and files of tmpfs.
    pub(super) shmem: u64,
    /// The part that the allocator or the runtime keeps free.
    pub(super) free: u64,
    /// The part that is neither file pages nor lazily freed, free memory included.
    pub(super) held: u64,
}

/// The figures of a row before it grew.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct GrowthStart {
    kinds: Kinds,
    /// The number of minor faults since.
    pub(super) faults: f32,
}

/// Minimum and maximum time for which growth that stopped is reported. In between, it is reported for as long as it lasted.
const MIN_REPORTED: Duration = Duration::from_secs(600);
const MAX_REPORTED: Duration = Duration::from_secs(3600);
/// Growth that stopped is not reported below this size, nor below this part of the footprint, a twentieth.
const MIN_GROWN: u64 = 1 << 20;
const MIN_GROWN_SHARE: u64 = 20;

/// The last growth of a row, which may have stopped. Growth of reclaimable memory does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LastGrowth {
    /// Its start and the last time that it was seen, on the monotonic clock.
    pub since: Duration,
    pub until: Duration,
    /// The footprint at its start and at its end, in bytes.
    pub from: u64,
    pub to: u64,
}

impl LastGrowth {
    /// Continues with a judgement of a row; `from` is the footprint before its growth, `footprint` the present one.
    pub(super) fn after(
        last: Option<Self>,
        judged: &Judgement,
        now: Duration,
        [from, footprint]: [u64; 2],
    ) -> Option<Self> {
        let stays = !judged.metric.is_reclaimable() && !matches!(judged.metric, Metric::Heap | Metric::Free);
        let begins = stays && judged.verdict >= Verdict::Growing;
        let new = Self {
            since: judged.seen_since().unwrap_or(now),
            until: now,
            from,
            to: footprint,
        };
        // Memory that was given back, and is in use again, is not kept from then.
        match last.filter(|last| last.is_recent(now) && last.is_kept(footprint)) {
            Some(last) if judged.verdict.is_growth() && stays => Some(Self {
                until: now,
                to: footprint,
                ..last
            }),
            None if begins => Some(new),
            last => last,
        }
    }

    fn is_recent(&self, now: Duration) -> bool {
        let lasted = self.until.saturating_sub(self.since);
        now.saturating_sub(self.until) <= lasted.clamp(MIN_REPORTED, MAX_REPORTED)
    }

    /// Returns the growth in bytes.
    pub const fn bytes(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// Returns true if at least half of it is still there.
    const fn is_kept(&self, footprint: u64) -> bool {
        footprint >= self.from + self.bytes() / 2
    }

    /// Returns true if it is recent and large, and if at least half of it is still there.
    pub(super) fn is_worth_reporting(&self, now: Duration, footprint: u64) -> bool {
        self.is_recent(now) && self.bytes() >= MIN_GROWN.max(self.to / MIN_GROWN_SHARE) && self.is_kept(footprint)
    }
}

impl GrowthStart {
    pub(super) const fn new(kinds: Kinds) -> Self {
        Self { kinds, faults: 0.0 }
    }

    pub(super) const fn footprint(&self) -> u64 {
        self.kinds.footprint
    }

    /// Returns the growth from then to now.
    pub(super) const fn growth(&self, now: Kinds) -> Growth {
        let then = self.kinds;
        Growth {
            footprint: now.footprint.saturating_sub(then.footprint),
            resident: if now.resident < now.footprint {
                None
            } else {
                Some(now.resident.saturating_sub(then.resident))
            },
            lazy: now.lazy.saturating_sub(then.lazy),
            huge: now.huge.saturating_sub(then.huge),
            shmem: now.shmem.saturating_sub(then.shmem),
            free: now.free.saturating_sub(then.free),
            held: now.held.saturating_sub(then.held),
            faults: self.faults,
        }
    }
}

/// The growth of a row, in bytes, and the minor faults meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    footprint: u64,
    /// `None` if unknown, as in a fleet.
    resident: Option<u64>,
    lazy: u64,
    huge: u64,
    shmem: u64,
    free: u64,
    held: u64,
    faults: f32,
}

impl Growth {
    /// Returns true if most of it is lazily freed memory.
    pub(super) fn is_lazily_freed(&self) -> bool {
        self.is_part(self.lazy)
    }

    /// Returns true if most of it is free inside its allocator or runtime.
    pub(super) fn is_kept_free(&self) -> bool {
        // Memory that was free before, and was read for the first time meanwhile, is no growth.
        self.is_part(self.free) && self.free as f64 <= MAX_PART * self.footprint as f64
    }

    /// Returns true if most of it is neither file pages nor lazily freed.
    pub(super) fn is_held(&self) -> bool {
        self.is_part(self.held)
    }

    /// Returns true if most of it is in transparent huge pages.
    pub(super) fn is_in_huge_pages(&self) -> bool {
        self.is_part(self.huge)
    }

    /// Returns true if most of it is shared memory or files of tmpfs.
    pub(super) fn is_in_shared_memory(&self) -> bool {
        self.is_part(self.shmem)
    }

    /// Returns which share of a growth in shared memory is the row's own, from 0 to 1, if it is less than half: others unmapped
    /// the rest, of which they had a part. Pages of files that it lost meanwhile hide some of its own growth, but only there.
    pub(super) fn own_share(&self) -> Option<f64> {
        let resident = self.resident.filter(|_| self.is_in_shared_memory())?;
        let share = resident as f64 / self.footprint as f64;
        let is_own = |share: &f64| *share >= MIN_OWN_SHARE && resident >= MIN_GROWN;
        (share < MIN_WHOLE_SHARE).then(|| Some(share).filter(is_own).unwrap_or(0.0))
    }

    /// Returns true if too few faults occurred to make half of the huge pages: the kernel (khugepaged) made them of small
    /// pages, and memory that the process never touched, or had given back, became resident with them.
    pub(super) fn is_collapsed(&self) -> bool {
        self.is_in_huge_pages() && f64::from(self.faults) < self.huge as f64 / HUGE_PAGE / 2.0
    }

    fn is_part(&self, part: u64) -> bool {
        self.footprint > 0 && part as f64 >= MIN_PART * self.footprint as f64
    }
}
