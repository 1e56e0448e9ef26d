//! The largest slab caches, in `zmtop/1`.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::kernel::{KernelTables, SlabCache, SlabCaches, SlabFigures};
use crate::record::bytes;
use crate::schema::described;
use crate::text::lossless;

/// Maximum number of caches.
const MOST: usize = 40;
/// The size of the smallest one, in bytes.
const LEAST: u64 = 1 << 20;

/// Caches by name.
pub(super) type Caches<'a> = BTreeMap<Cow<'a, str>, Cache>;

described! {
    /// [`SlabCache`].
    #[derive(Debug, Deserialize, Serialize)]
    pub(super) struct Cache {
        /// The size of an object with padding.
        object_size: u64 = bytes(),
        /// Objects that fit into a slab.
        objects_per_slab: u64 = count(),
        /// The kernel can reclaim its objects.
        reclaimable: Option<bool> = switch().null("unknown"),
        /// Objects in use.
        active: u64 = count(),
        /// Objects that fit into its slabs.
        objects: u64 = count(),
        /// Its slabs, including empty ones.
        slabs: u64 = count(),
        /// The size of its slabs.
        size: u64 = bytes(),
        /// The size of the objects in use.
        used: u64 = bytes(),
    }
}

/// Returns the largest caches; none if they were not read.
pub(super) fn largest(tables: &KernelTables) -> Caches<'_> {
    let all = tables.slab.as_ref().map_or(&[][..], |slab| &slab.caches);
    let mut large: Vec<_> = all.iter().filter(|cache| cache.figures.size >= LEAST).collect();
    large.sort_by_key(|cache| Reverse(cache.figures.size));
    large.truncate(MOST);
    let record = |cache: &SlabCache| Cache {
        object_size: cache.object_size,
        objects_per_slab: cache.objects_per_slab,
        reclaimable: cache.reclaimable,
        active: cache.figures.active,
        objects: cache.figures.objects,
        slabs: cache.figures.slabs,
        size: cache.figures.size,
        used: cache.figures.used,
    };
    large
        .into_iter()
        .map(|cache| (lossless(&cache.name), record(cache)))
        .collect()
}

/// Returns the tables that a record holds.
pub(super) fn tables(caches: Caches<'_>) -> KernelTables {
    if caches.is_empty() {
        return KernelTables::default();
    }
    let cache = |(name, cache): (Cow<'_, str>, Cache)| SlabCache {
        name: bytes(&name).into(),
        object_size: cache.object_size,
        objects_per_slab: cache.objects_per_slab,
        reclaimable: cache.reclaimable,
        figures: SlabFigures {
            active: cache.active,
            objects: cache.objects,
            slabs: cache.slabs,
            size: cache.size,
            used: cache.used,
        },
    };
    let caches = SlabCaches {
        caches: caches.into_iter().map(cache).collect(),
        malformed: 0,
    };
    KernelTables {
        slab: Ok(Arc::new(caches)),
        ..KernelTables::default()
    }
}
