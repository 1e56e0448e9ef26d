//! Composition of a row's growth.

/// The part of a growth from which on it is named by the kind of its pages.
const MIN_PART: f64 = 0.75;
/// The size of a transparent huge page, of which one fault makes a whole one. Some machines have larger ones.
const HUGE_PAGE: f64 = (2 << 20) as f64;

/// The figures that a growth is divided by, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kinds {
    pub(super) footprint: u64,
    /// The lazily freed part.
    pub(super) lazy: u64,
    /// The part in transparent huge pages.
    pub(super) huge: u64,
    /// The part in shared memory and files of tmpfs.
    pub(super) shmem: u64,
}

/// The figures of a row before it grew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GrowthStart {
    kinds: Kinds,
    /// The number of minor faults since.
    pub(super) faults: f32,
}

impl GrowthStart {
    pub(super) const fn new(kinds: Kinds) -> Self {
        Self { kinds, faults: 0.0 }
    }

    /// Returns the growth from then to now.
    pub(super) const fn growth(&self, now: Kinds) -> Growth {
        let then = self.kinds;
        Growth {
            footprint: now.footprint.saturating_sub(then.footprint),
            lazy: now.lazy.saturating_sub(then.lazy),
            huge: now.huge.saturating_sub(then.huge),
            shmem: now.shmem.saturating_sub(then.shmem),
            faults: self.faults,
        }
    }
}

/// The growth of a row, in bytes, and the minor faults meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    footprint: u64,
    lazy: u64,
    huge: u64,
    shmem: u64,
    faults: f32,
}

impl Growth {
    /// Returns true if most of it is lazily freed memory.
    pub(super) fn is_lazily_freed(&self) -> bool {
        self.is_part(self.lazy)
    }

    /// Returns true if most of it is in transparent huge pages.
    pub(super) fn is_in_huge_pages(&self) -> bool {
        self.is_part(self.huge)
    }

    /// Returns true if most of it is shared memory or files of tmpfs.
    pub(super) fn is_in_shared_memory(&self) -> bool {
        self.is_part(self.shmem)
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
