//! Call sites of the kernel's allocator: who took memory from it while it was traced.

use std::iter::Sum;
use std::time::Duration;

use super::Reading;

/// The figures of one call site, or their sums over some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFigures {
    /// Allocations.
    pub hits: u64,
    /// Bytes that were asked for.
    pub requested: u64,
    /// Bytes that were taken.
    pub allocated: u64,
    /// Frees of these allocations.
    pub frees: u64,
    /// Bytes that were freed with them.
    pub freed: u64,
    /// Frees of them on another CPU than the allocation.
    pub cross_cpu: u64,
    /// Bytes of allocations that were not followed to their free, since there were too many at once.
    pub unfollowed: u64,
}

impl CallFigures {
    /// Returns the bytes that were taken beyond those asked for.
    pub const fn wasted(&self) -> u64 {
        self.allocated.saturating_sub(self.requested)
    }

    /// Returns the bytes that were taken and not freed, of what was followed.
    pub const fn growth(&self) -> i64 {
        let gone = self.freed.saturating_add(self.unfollowed);
        self.allocated.saturating_sub(gone).cast_signed()
    }
}

impl Sum for CallFigures {
    fn sum<I: Iterator<Item = Self>>(figures: I) -> Self {
        figures.fold(Self::default(), |sum, of| Self {
            hits: sum.hits.saturating_add(of.hits),
            requested: sum.requested.saturating_add(of.requested),
            allocated: sum.allocated.saturating_add(of.allocated),
            frees: sum.frees.saturating_add(of.frees),
            freed: sum.freed.saturating_add(of.freed),
            cross_cpu: sum.cross_cpu.saturating_add(of.cross_cpu),
            unfollowed: sum.unfollowed.saturating_add(of.unfollowed),
        })
    }
}

/// A function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    /// Its name, raw: modules and BPF programs choose it.
    pub name: Box<[u8]>,
    /// The module that it is in, raw.
    pub module: Option<Box<[u8]>>,
    /// Its address.
    pub address: u64,
}

/// A call site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The address behind the call; `None` for the sum of those that there was no room to tell apart.
    pub address: Option<u64>,
    /// The function that it is in, where that is known.
    pub symbol: Option<Symbol>,
    /// Its figures.
    pub figures: CallFigures,
}

/// The call sites seen in some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callers {
    /// The call sites.
    pub sites: Vec<CallSite>,
    /// The reason why none of them has a symbol, if so.
    pub symbols: Reading<()>,
    /// The trace itself.
    pub trace: Trace,
}

/// The facts of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Length of time.
    pub time: Duration,
    /// Events that were read.
    pub events: u64,
    /// Events that were lost, since the buffers were full; `None` if the kernel does not say.
    pub lost: Option<u64>,
    /// Pages of the buffers that were not whole.
    pub torn: u64,
    /// Allocations that failed.
    pub failed: u64,
    /// Frees of what was allocated before.
    pub older_frees: u64,
    /// Allocations of what had not been freed as far as was seen: the kernel does not tell of every free.
    pub unseen_frees: u64,
    /// Allocations that were not followed to their free.
    pub unfollowed: u64,
    /// Allocations of zmtop's own threads, which are at no call site.
    pub own: CallFigures,
    /// Processor time that reading took.
    pub cpu: Duration,
    /// Size of the buffers of all CPUs in bytes while it went on, if the kernel says so.
    pub buffers: Option<u64>,
}
