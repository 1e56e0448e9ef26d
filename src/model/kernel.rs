//! The kernel's own memory: slab caches, allocation sites (`/proc/allocinfo`), and the callers of its allocator while a
//! trace ran.

use std::iter::Sum;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Missing, Reading};

/// Defines counters and a saturating sum of them.
macro_rules! summable {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $figure:ident: u64,)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $figure: u64,)*
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(figures: I) -> Self {
                figures.fold(Self::default(), |sum, of| Self {
                    $($figure: sum.$figure.saturating_add(of.$figure),)*
                })
            }
        }
    };
}

/// A cache in `/proc/slabinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlabCache {
    /// Raw.
    pub name: Box<[u8]>,
    /// With padding, in bytes.
    pub object_size: u64,
    pub objects_per_slab: u64,
    /// The kernel can reclaim its objects; `None` if unknown.
    pub reclaimable: Option<bool>,
    pub figures: SlabFigures,
}

summable! {
    /// The figures of one cache, or their sums over several.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SlabFigures {
        /// Objects in use, including free ones in slabs that a CPU holds.
        pub active: u64,
        /// Objects that fit into the slabs.
        pub objects: u64,
        /// Including empty slabs.
        pub slabs: u64,
        /// Size of the slabs, in bytes.
        pub size: u64,
        /// Size of the objects in use, in bytes.
        pub used: u64,
    }
}

impl SlabFigures {
    /// Returns the bytes without objects in use: free objects, and the remainder of each slab.
    pub const fn waste(&self) -> u64 {
        self.size.saturating_sub(self.used)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlabCaches {
    /// In the kernel's order.
    pub caches: Vec<SlabCache>,
    /// The number of malformed lines.
    pub malformed: usize,
}

/// A line of the kernel's source in `/proc/allocinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocSite {
    /// Raw: `mm/slub.c:2345`.
    pub place: Box<[u8]>,
    /// Raw.
    pub module: Option<Box<[u8]>>,
    /// Raw.
    pub function: Box<[u8]>,
    /// The kernel marks its figures as inaccurate.
    pub inaccurate: bool,
    pub figures: AllocFigures,
}

summable! {
    /// The figures of one site, or their sums over several.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AllocFigures {
        pub size: u64,
        /// Allocations not freed yet.
        pub calls: u64,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocSites {
    /// In the kernel's order.
    pub sites: Vec<AllocSite>,
    /// The number of malformed lines.
    pub malformed: usize,
    /// The accounting is on. Allocations made while it is off are missing.
    pub running: bool,
}

summable! {
    /// The figures of one call site, or their sums over several.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct CallFigures {
        /// Allocations.
        pub hits: u64,
        pub requested: u64,
        pub allocated: u64,
        /// Frees of these allocations, and their bytes.
        pub frees: u64,
        pub freed: u64,
        /// Frees on a CPU other than the allocation's.
        pub cross_cpu: u64,
        /// Bytes of allocations that were too many to be tracked until their free.
        pub unfollowed: u64,
    }
}

impl CallFigures {
    pub const fn wasted(&self) -> u64 {
        self.allocated.saturating_sub(self.requested)
    }

    /// Returns the bytes allocated and not freed, as far as they were tracked.
    pub const fn growth(&self) -> i64 {
        let gone = self.freed.saturating_add(self.unfollowed);
        self.allocated.saturating_sub(gone).cast_signed()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    /// Raw: modules and BPF programs choose it.
    pub name: Box<[u8]>,
    /// Raw.
    pub module: Option<Box<[u8]>>,
    pub address: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The return address; `None` for the sum of the sites that were too many to be listed.
    pub address: Option<u64>,
    /// The function that contains it, if known.
    pub symbol: Option<Symbol>,
    pub figures: CallFigures,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callers {
    pub sites: Vec<CallSite>,
    /// The reason if no site has a symbol.
    pub symbols: Reading<()>,
    pub trace: Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its length.
    pub time: Duration,
    /// Events read.
    pub events: u64,
    /// Events lost because the buffers were full; `None` if the kernel does not count them.
    pub lost: Option<u64>,
    /// Torn pages of the buffers.
    pub torn: u64,
    /// Failed allocations.
    pub failed: u64,
    /// Frees of memory allocated before the trace.
    pub older_frees: u64,
    /// Allocations of memory whose free was not traced: the kernel does not report every free.
    pub unseen_frees: u64,
    /// Allocations not tracked until their free.
    pub unfollowed: u64,
    /// Allocations of zmtop's own threads. They count for no call site.
    pub own: CallFigures,
    /// CPU time of reading.
    pub cpu: Duration,
    /// Size of the buffers of all CPUs, in bytes, if known.
    pub buffers: Option<u64>,
}

/// The tables as last read. Until they are read again, the `Arc` stays the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTables {
    /// Only root may read it, and `sites`.
    pub slab: Reading<Arc<SlabCaches>>,
    pub sites: Reading<Arc<AllocSites>>,
    /// Removed cgroups that still hold memory. `nr_dying_descendants` of the outermost cgroup; none in v1.
    pub dying_cgroups: Reading<u64>,
}

impl Default for KernelTables {
    fn default() -> Self {
        Self {
            slab: Err(Missing::Pending),
            sites: Err(Missing::Pending),
            dying_cgroups: Err(Missing::Pending),
        }
    }
}
