//! Memory figures of a process from one walk of its page tables.

use super::reading::{Missing, Reading};

/// Calls the macro `$callback` with the list of the figures of `/proc/<pid>/smaps_rollup`.
///
/// Each entry is the name of a field of [`Memory`], its type and its line. A figure without which a walk is useless
/// is a `u64`. Any other figure is a `Reading<u64>`: older kernels, recordings or other sources may lack it.
macro_rules! memory_figures {
    ($callback:ident) => {
        $callback! {
            /// Resident set: all present pages, not divided by sharers.
            rss: u64 = b"Rss",
            /// Proportional set: each page divided by the number of processes that map it.
            pss: u64 = b"Pss",
            /// The anonymous part of PSS (rollup only, Linux 5.4).
            pss_anon: Reading<u64> = b"Pss_Anon",
            /// The file-backed part of PSS (rollup only, Linux 5.4).
            pss_file: Reading<u64> = b"Pss_File",
            /// The shmem and tmpfs part of PSS (rollup only, Linux 5.4).
            pss_shmem: Reading<u64> = b"Pss_Shmem",
            /// The dirty part of PSS (Linux 6.0).
            pss_dirty: Reading<u64> = b"Pss_Dirty",
            /// Clean pages that no other process maps.
            private_clean: u64 = b"Private_Clean",
            /// Dirty pages that no other process maps.
            private_dirty: u64 = b"Private_Dirty",
            /// Shared pages, clean.
            shared_clean: u64 = b"Shared_Clean",
            /// Shared pages, dirty.
            shared_dirty: u64 = b"Shared_Dirty",
            /// Huge pages of hugetlbfs, private; in neither RSS nor PSS (Linux 4.4).
            private_hugetlb: Reading<u64> = b"Private_Hugetlb",
            /// Huge pages of hugetlbfs, shared; in neither RSS nor PSS (Linux 4.4).
            shared_hugetlb: Reading<u64> = b"Shared_Hugetlb",
            /// Anonymous memory in transparent huge pages, not divided by sharers.
            anon_huge: Reading<u64> = b"AnonHugePages",
            /// Anonymous pages that the process freed by `MADV_FREE` and the kernel has not reclaimed yet, not divided by
            /// sharers. They are in RSS and PSS, and cost nothing if memory is short (Linux 4.12).
            lazy_free: Reading<u64> = b"LazyFree",
            /// Swapped out, not divided by sharers; includes shmem.
            swap: u64 = b"Swap",
            /// Swapped out, each slot divided by the number of sharers; without shmem (Linux 4.3).
            swap_pss: Reading<u64> = b"SwapPss",
        }
    };
}

pub(crate) use memory_figures;

/// A field of [`Memory`]: a `u64`, which must be known, or a `Reading<u64>`, which need not be.
pub trait MemoryFigure: Copy {
    const ZERO: Self;

    /// Returns the value of a figure that is missing: 0 if it must be known.
    fn missing(why: Missing) -> Self;

    fn reading(self) -> Reading<u64>;

    /// Converts a reading. Fails if it is missing and the figure must be known.
    fn from_reading(reading: Reading<u64>) -> Reading<Self>;

    /// Returns the sum, which is unknown if either figure is.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

impl MemoryFigure for u64 {
    const ZERO: Self = 0;

    fn missing(_: Missing) -> Self {
        0
    }

    fn reading(self) -> Reading<u64> {
        Ok(self)
    }

    fn from_reading(reading: Reading<u64>) -> Reading<Self> {
        reading
    }

    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl MemoryFigure for Reading<u64> {
    const ZERO: Self = Ok(0);

    fn missing(why: Missing) -> Self {
        Err(why)
    }

    fn reading(self) -> Reading<u64> {
        self
    }

    fn from_reading(reading: Reading<u64>) -> Reading<Self> {
        Ok(reading)
    }

    fn plus(self, other: Self) -> Self {
        Ok(self?.saturating_add(other?))
    }
}

macro_rules! define_memory {
    ($($(#[doc = $help:literal])* $figure:ident: $type:ty = $line:literal,)*) => {
        /// The figures of one `smaps_rollup` or a summed `smaps`, in bytes, as `Documentation/filesystems/proc.rst` of the
        /// kernel defines them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Memory {
            $($(#[doc = $help])* pub $figure: $type,)*
        }

        impl Default for Memory {
            fn default() -> Self {
                Self {
                    $($figure: MemoryFigure::ZERO,)*
                }
            }
        }

        impl Memory {
            /// The meaning of each figure by its name.
            pub const HELP: &[(&str, &str)] = &[$((stringify!($figure), concat!($($help),*)),)*];

            /// Returns figures that are all missing for this reason. Those that must be known are 0, so the caller sets them.
            pub fn missing(why: Missing) -> Self {
                Self {
                    $($figure: MemoryFigure::missing(why),)*
                }
            }

            /// Adds figures. Each sum is unknown if either figure is.
            pub fn add(&mut self, other: &Self) {
                $(self.$figure = self.$figure.plus(other.$figure);)*
            }
        }
    };
}

memory_figures!(define_memory);

impl Memory {
    /// Returns the unique set, which is freed if the process ends: `Private_Clean + Private_Dirty`.
    pub const fn uss(&self) -> u64 {
        self.private_clean.saturating_add(self.private_dirty)
    }

    /// Returns the shared pages, not divided by sharers: `Shared_Clean + Shared_Dirty`.
    pub const fn shared(&self) -> u64 {
        self.shared_clean.saturating_add(self.shared_dirty)
    }

    /// Returns the dirty pages, not divided by sharers: `Private_Dirty + Shared_Dirty`.
    pub const fn dirty(&self) -> u64 {
        self.private_dirty.saturating_add(self.shared_dirty)
    }

    pub fn hugetlb(&self) -> Reading<u64> {
        Ok(self.private_hugetlb?.saturating_add(self.shared_hugetlb?))
    }

    /// Returns the anonymous part of PSS that the kernel cannot reclaim without swap: without [lazily
    /// freed pages](Self::lazy_alone).
    pub fn used_anon(&self) -> Reading<u64> {
        Ok(self.pss_anon?.saturating_sub(self.lazy_alone()))
    }

    /// Returns the [lazily freed](Self::lazy_free) pages that no other process maps, at most, or 0 if that is unknown. They are
    /// clean. Those that others map count in PSS by a share that is unknown.
    pub fn lazy_alone(&self) -> u64 {
        self.lazy_free.unwrap_or(0).min(self.private_clean)
    }

    /// Returns the cost of the process, in RAM or in swap: `PSS + SwapPss`. Unknown if the kernel lacks `SwapPss`.
    pub fn footprint(&self) -> Reading<u64> {
        Ok(self.pss.saturating_add(self.swap_pss?))
    }
}
