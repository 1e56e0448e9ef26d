//! Tables of the kernel's own memory, which are read while somebody looks at them.

use std::sync::Arc;

use super::allocinfo::AllocSites;
use super::slab::SlabCaches;
use super::{Missing, Reading};

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
