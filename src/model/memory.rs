//! What one walk of a process's page tables tells.

use super::reading::Reading;

/// The figures of one `smaps_rollup` (or of a summed `smaps`), in bytes.
///
/// Names and meanings are those of `Documentation/filesystems/proc.rst`. Fields that old kernels lack are
/// readings of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident set: every page present, whole, however many share it.
    pub rss: u64,
    /// Proportional set: each page divided by the number of its sharers.
    pub pss: u64,
    /// The dirty part of PSS (`Pss_Dirty`, Linux 6.0).
    pub pss_dirty: Reading<u64>,
    /// The anonymous part of PSS (`Pss_Anon`, rollup only, Linux 5.4).
    pub pss_anon: Reading<u64>,
    /// The file-backed part of PSS (`Pss_File`, rollup only, Linux 5.4).
    pub pss_file: Reading<u64>,
    /// The shmem and tmpfs part of PSS (`Pss_Shmem`, rollup only, Linux 5.4).
    pub pss_shmem: Reading<u64>,
    /// Shared pages, clean.
    pub shared_clean: u64,
    /// Shared pages, dirty.
    pub shared_dirty: u64,
    /// Pages no other process maps, clean.
    pub private_clean: u64,
    /// Pages no other process maps, dirty.
    pub private_dirty: u64,
    /// Huge pages of hugetlbfs, shared; in neither RSS nor PSS (Linux 4.4).
    pub shared_hugetlb: Reading<u64>,
    /// Huge pages of hugetlbfs, private; in neither RSS nor PSS (Linux 4.4).
    pub private_hugetlb: Reading<u64>,
    /// Swapped out, whole; includes swapped-out shmem.
    pub swap: u64,
    /// Swapped out, divided by the sharers of each slot; without shmem (Linux 4.3).
    pub swap_pss: Reading<u64>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            rss: 0,
            pss: 0,
            pss_dirty: Ok(0),
            pss_anon: Ok(0),
            pss_file: Ok(0),
            pss_shmem: Ok(0),
            shared_clean: 0,
            shared_dirty: 0,
            private_clean: 0,
            private_dirty: 0,
            shared_hugetlb: Ok(0),
            private_hugetlb: Ok(0),
            swap: 0,
            swap_pss: Ok(0),
        }
    }
}

impl Memory {
    /// Unique set: what would be freed at once if the process ended. `Private_Clean + Private_Dirty`.
    pub const fn uss(&self) -> u64 {
        self.private_clean.saturating_add(self.private_dirty)
    }

    /// Pages that others map too, whole. `Shared_Clean + Shared_Dirty`.
    pub const fn shared(&self) -> u64 {
        self.shared_clean.saturating_add(self.shared_dirty)
    }

    /// By how much other processes can change the PSS, at most: by all that is shared now, or by the file-backed
    /// and shared-memory pages that others may yet map. A page of anonymous memory that is a process's own stays so
    /// unless it forks. Where the kernel does not split PSS (before Linux 5.4) it may be all of it.
    pub fn exposed(&self) -> u64 {
        match (self.pss_file, self.pss_shmem) {
            // Upwards what is shared now, should all others leave; downwards what others may come to share.
            (Ok(file), Ok(shmem)) => self.shared().max(file.saturating_add(shmem)),
            _ => u64::MAX,
        }
    }

    /// Dirty pages, private and shared, whole. `Private_Dirty + Shared_Dirty`.
    pub const fn dirty(&self) -> u64 {
        self.private_dirty.saturating_add(self.shared_dirty)
    }

    /// hugetlbfs pages, private and shared.
    pub fn hugetlb(&self) -> Reading<u64> {
        Ok(self.private_hugetlb?.saturating_add(self.shared_hugetlb?))
    }

    /// What the process costs the machine, in RAM or in swap: `PSS + SwapPss`. Where the kernel gives no
    /// `SwapPss`, unknown.
    pub fn footprint(&self) -> Reading<u64> {
        Ok(self.pss.saturating_add(self.swap_pss?))
    }

    /// Adds another process's figures; a field unknown in either is unknown in the sum.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        let both = |a: &mut Reading<u64>, b: Reading<u64>| {
            *a = match (*a, b) {
                (Ok(x), Ok(y)) => Ok(x.saturating_add(y)),
                (Err(e), _) | (_, Err(e)) => Err(e),
            }
        };
        sum(&mut self.rss, other.rss);
        sum(&mut self.pss, other.pss);
        both(&mut self.pss_dirty, other.pss_dirty);
        both(&mut self.pss_anon, other.pss_anon);
        both(&mut self.pss_file, other.pss_file);
        both(&mut self.pss_shmem, other.pss_shmem);
        sum(&mut self.shared_clean, other.shared_clean);
        sum(&mut self.shared_dirty, other.shared_dirty);
        sum(&mut self.private_clean, other.private_clean);
        sum(&mut self.private_dirty, other.private_dirty);
        both(&mut self.shared_hugetlb, other.shared_hugetlb);
        both(&mut self.private_hugetlb, other.private_hugetlb);
        sum(&mut self.swap, other.swap);
        both(&mut self.swap_pss, other.swap_pss);
    }
}
