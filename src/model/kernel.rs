//! The kernel's own memory: slab caches, allocation sites (`/proc/allocinfo`), and the callers of its allocator while a
//! trace ran.

use std::iter::Sum;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Missing, Reading};

/// A cache, as `/proc/slabinfo` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlabCache {
    /// Its name, raw.
    pub name: Box<[u8]>,
    /// Size of an object with its padding, in bytes.
    pub object_size: u64,
    /// Objects in a slab.
    pub objects_per_slab: u64,
    /// The kernel takes its objects back when memory is needed; `None` where it does not tell.
    pub reclaimable: Option<bool>,
    /// Its figures.
    pub figures: SlabFigures,
}

/// The figures of one cache, or their sums over some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlabFigures {
    /// Objects in use. Free ones in slabs that a CPU holds count too.
    pub active: u64,
    /// Objects that there is room for.
    pub objects: u64,
    /// Slabs, used and empty.
    pub slabs: u64,
    /// The memory of the slabs, in bytes.
    pub size: u64,
    /// The memory of the objects in use, in bytes.
    pub used: u64,
}

impl SlabFigures {
    /// Returns the bytes in which no object in use is: free objects, and what is left over of each slab.
    pub const fn waste(&self) -> u64 {
        self.size.saturating_sub(self.used)
    }
}

impl Sum for SlabFigures {
    fn sum<I: Iterator<Item = Self>>(figures: I) -> Self {
        figures.fold(Self::default(), |sum, of| Self {
            active: sum.active.saturating_add(of.active),
            objects: sum.objects.saturating_add(of.objects),
            slabs: sum.slabs.saturating_add(of.slabs),
            size: sum.size.saturating_add(of.size),
            used: sum.used.saturating_add(of.used),
        })
    }
}

/// Every cache at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlabCaches {
    /// The caches, in the kernel's order.
    pub caches: Vec<SlabCache>,
    /// The number of lines that could not be understood.
    pub malformed: usize,
}

/// A line of the kernel's source, as `/proc/allocinfo` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocSite {
    /// The file and the line, raw: `mm/slub.c:2345`.
    pub place: Box<[u8]>,
    /// The module that it is in, raw.
    pub module: Option<Box<[u8]>>,
    /// The function, raw.
    pub function: Box<[u8]>,
    /// The kernel itself marks its figures as inaccurate.
    pub inaccurate: bool,
    /// Its figures.
    pub figures: AllocFigures,
}

/// The figures of one site, or their sums over some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocFigures {
    /// Bytes that are allocated.
    pub size: u64,
    /// Allocations that are not freed.
    pub calls: u64,
}

impl Sum for AllocFigures {
    fn sum<I: Iterator<Item = Self>>(figures: I) -> Self {
        figures.fold(Self::default(), |sum, of| Self {
            size: sum.size.saturating_add(of.size),
            calls: sum.calls.saturating_add(of.calls),
        })
    }
}

/// Every site at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocSites {
    /// The sites, in the kernel's order.
    pub sites: Vec<AllocSite>,
    /// The number of lines that could not be understood.
    pub malformed: usize,
    /// The account goes on: what is allocated while it does not is missing.
    pub running: bool,
}

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

/// The tables as they were read last: the same `Arc` while they were not read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTables {
    /// The slab caches, which root alone may read.
    pub slab: Reading<Arc<SlabCaches>>,
    /// The allocation sites, likewise.
    pub sites: Reading<Arc<AllocSites>>,
}

impl Default for KernelTables {
    fn default() -> Self {
        Self {
            slab: Err(Missing::Pending),
            sites: Err(Missing::Pending),
        }
    }
}
