//! Slab caches: pools of kernel objects of one size each.

use std::iter::Sum;

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
