//! Reads of the kernel's own memory.

use crate::model::Reading;
use crate::model::allocinfo::AllocSites;
use crate::model::slab::SlabCaches;
use crate::proc::files::Roots;
use crate::sampler::kernel::{SlabKinds, read_allocinfo, read_slabinfo};

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::sampler) enum KernelFile {
    Slab,
    Sites,
}

/// A read of a table.
pub(in crate::sampler) enum KernelJob {
    /// With what is known of the caches.
    Slab(SlabKinds),
    Sites,
}

/// A table that was read.
pub(in crate::sampler) enum KernelTable {
    Slab(Reading<SlabCaches>, SlabKinds),
    Sites(Reading<AllocSites>),
}

impl KernelJob {
    pub(in crate::sampler) const fn file(&self) -> KernelFile {
        match self {
            Self::Slab(_) => KernelFile::Slab,
            Self::Sites => KernelFile::Sites,
        }
    }

    pub(in crate::sampler) fn run(self, roots: &Roots) -> KernelTable {
        match self {
            Self::Slab(mut kinds) => {
                let found = read_slabinfo(roots, &mut kinds);
                KernelTable::Slab(found, kinds)
            }
            Self::Sites => KernelTable::Sites(read_allocinfo(roots)),
        }
    }
}
