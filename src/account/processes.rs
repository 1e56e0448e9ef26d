//! Sums over all processes.

use crate::group::Coverage;
use crate::group::totals::Totals;
use crate::model::process::ProcessSample;
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;

/// The sums over all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTotals {
    /// The number of processes whose memory could be read.
    pub readable: usize,
    /// The number of processes that have memory.
    pub total: usize,
    /// Σ PSS of the readable processes.
    pub pss: Reading<u64>,
    /// Σ of the file part of PSS. It is page cache, which `free` does not count as used.
    pub pss_file: Reading<u64>,
    /// Σ of the shmem part of PSS.
    pub pss_shmem: Reading<u64>,
    /// Σ USS.
    pub uss: Reading<u64>,
    /// Σ `SwapPss`.
    pub swap_pss: Reading<u64>,
    /// Σ `Swap`, which includes shared memory in full for each process that maps it.
    pub swap: Reading<u64>,
    /// Σ `VmSwap` of the unreadable processes.
    pub swap_unreadable: Reading<u64>,
    /// The reason why the first unreadable process could not be read.
    pub hidden: Option<Missing>,
}

impl ProcessTotals {
    /// Returns sums that are all unknown for one reason.
    pub const fn missing(why: Missing) -> Self {
        Self {
            readable: 0,
            total: 0,
            pss: Err(why),
            pss_file: Err(why),
            pss_shmem: Err(why),
            uss: Err(why),
            swap_pss: Err(why),
            swap: Err(why),
            swap_unreadable: Err(why),
            hidden: Some(why),
        }
    }

    pub fn of(snapshot: &Snapshot) -> Self {
        // An address space that several processes share counts once.
        let totals = Totals::of(snapshot.rows(), |_| None);
        let coverage = Coverage::of(snapshot);
        let (readable, total) = (coverage.readable, coverage.total());
        let memory = snapshot.processes.as_ref().map_err(|e| *e).and(totals.memory);
        Self {
            readable,
            total,
            pss: memory.map(|m| m.pss),
            pss_file: memory.and_then(|m| m.pss_file),
            pss_shmem: memory.and_then(|m| m.pss_shmem),
            uss: memory.map(|m| m.uss()),
            swap: memory.map(|m| m.swap),
            swap_pss: memory.and_then(|m| m.swap_pss),
            swap_unreadable: swap_unreadable(snapshot),
            hidden: hidden(snapshot).next().map(|(_, why)| why),
        }
    }

    /// Returns true if some process could not be read and the sums are therefore too small.
    pub const fn partial(&self) -> bool {
        self.readable < self.total
    }
}

/// Returns the processes whose memory is hidden, and why.
fn hidden(snapshot: &Snapshot) -> impl Iterator<Item = (&ProcessSample, Missing)> {
    let rows = snapshot.rows().iter();
    rows.filter_map(|p| Some((p, p.walk.err().filter(|why| why.hides_memory())?)))
}

/// Sums `VmSwap` over the unreadable processes. The sum is unknown if one of them is.
fn swap_unreadable(snapshot: &Snapshot) -> Reading<u64> {
    hidden(snapshot).try_fold(0_u64, |sum, (process, why)| {
        Ok(sum.saturating_add(process.counted.swap().ok_or(why)?))
    })
}
