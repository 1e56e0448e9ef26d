//! The columns of slab caches.

use std::borrow::Cow;

use crate::columns::kernel_table::{KernelRow, KernelTable, over_time};
use crate::columns::{Column, Label, SortKey, TableKind, Unit, Value};
use crate::model::kernel::{SlabCache, SlabCaches, SlabFigures};
use crate::model::{Missing, Reading, SystemSample};
use crate::units::{Units, bytes};

/// A slab cache, or a sum of caches.
pub type SlabRow<'a> = KernelRow<'a, Slab>;

#[derive(Clone, Copy, Debug)]
pub enum Slab {}

impl TableKind for Slab {
    type Row<'a> = SlabRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;

    fn tie<'a>(row: &'a SlabRow<'a>) -> SortKey {
        Value::Bytes(row.figures.size).sort_key()
    }
}

impl KernelTable for Slab {
    type Line = SlabCache;
    type Figures = SlabFigures;

    fn figures(cache: &SlabCache) -> SlabFigures {
        cache.figures
    }

    fn size(figures: &SlabFigures) -> u64 {
        figures.size
    }

    fn key(cache: &SlabCache) -> Cow<'_, [u8]> {
        Cow::Borrowed(&cache.name)
    }
}

type Entry = Column<Slab>;

type Get = for<'a> fn(&'a SlabRow<'a>) -> Value<'a>;

const fn count(id: &'static str, title: &'static str, value: Get) -> Entry {
    Entry::figure(id, title, Unit::Count, 5, value)
}

pub static COLUMNS: &[Entry] = &[
    Entry::bytes("size", "SIZE", |r| Value::Bytes(r.figures.size))
        .help("The memory of the cache. Formula: num_slabs × pagesperslab of slabinfo, in bytes."),
    Entry::bytes("used", "USED", |r| Value::Bytes(r.figures.used))
        .help("The memory of the objects in use. Formula: active_objs × objsize of slabinfo."),
    Entry::bytes("waste", "WASTE", |r| Value::Bytes(r.figures.waste()))
        .help("Memory without objects in use: free objects, and the rest of each slab. Formula: SIZE − USED."),
    Entry::figure("use", "OBJ%", Unit::Share, 5, |r| match r.figures.objects {
        0 => Value::Blank,
        objects => Value::Share(r.figures.active as f64 / objects as f64),
    })
    .help("The part of the objects that is in use. Formula: active_objs ÷ num_objs of slabinfo."),
    count("active", "ACTIVE", |r| Value::Count(r.figures.active))
        .help(
            "Objects in use. Free objects in a slab that a CPU holds count as in use. Kernel: active_objs in \
             slabinfo.",
        )
        .additive(true),
    count("objects", "OBJS", |r| Value::Count(r.figures.objects))
        .help("The number of objects that fit into the slabs. Kernel: num_objs in slabinfo.")
        .additive(true),
    Entry::bytes("object_size", "OBJSZ", |r| {
        r.of_line(|cache| Value::Bytes(cache.object_size))
    })
    .help("Size of an object, with its padding. Kernel: objsize in slabinfo.")
    .additive(false),
    count("slabs", "SLABS", |r| Value::Count(r.figures.slabs))
        .help("Slabs, used and empty. Kernel: num_slabs in slabinfo.")
        .additive(true),
    count("per_slab", "OBJ/SL", |r| {
        r.of_line(|cache| Value::Count(cache.objects_per_slab))
    })
    .help("Objects in a slab. Kernel: objperslab in slabinfo."),
    Entry::text("reclaimable", "RECL", 4, |r| {
        r.of_line(|cache| match cache.reclaimable {
            None => Value::Missing(Missing::Unsupported),
            Some(true) => Value::text(Ok(b"yes")),
            Some(false) => Value::text(Ok(b"no")),
        })
    })
    .help(
        "`yes` if the kernel reclaims the objects when memory is needed, such as dentries and inodes. Kernel: \
         reclaim_account in /sys/kernel/slab/NAME.",
    ),
    Entry::text("cache", "CACHE", 5, |r| r.of_line(|cache| Value::text(Ok(&cache.name))))
        .help("The name of the cache. The kernel may merge caches of similar objects under the name of the first one.")
        .label(Label::Group),
];

/// The columns that only the monitor has.
pub static OVER_TIME: &[Entry] = &over_time(
    "SIZE over the time that x and X choose, with one scale for all rows. While the page is closed it is read once a \
     minute.",
    "Its trend, and how fast its lowest values change, judged like processes: ▲ it leaks; △ it grows; ~ it warms up; ▽ \
     it falls. Only a cache that is not reclaimable is ever called a leak.",
);

/// Returns why there are no caches to show.
pub fn unread(why: Missing) -> String {
    match why {
        Missing::Denied => "only root can read the slab caches".into(),
        Missing::Unsupported => "this kernel has no slabinfo".into(),
        other => format!("the slab caches cannot be read: {other}"),
    }
}

/// Returns the sums of `meminfo`, to compare with the total, and the part of them that is in none of the `caches`: requests
/// above two pages, which the kernel gets from the page allocator and counts as slab (`___kmalloc_large_node` of
/// `mm/slub.c`).
pub fn sums(system: &SystemSample, caches: Reading<&SlabCaches>, units: Units) -> Option<String> {
    let text = |reading: Reading<u64>| Some(bytes(reading.ok()?, units));
    let (all, reclaimable, not) = (text(system.slab)?, text(system.sreclaimable)?, text(system.sunreclaim)?);
    let known = caches.map(|caches| caches.caches.iter().map(|cache| cache.figures.size).sum::<u64>());
    let beyond = known.and_then(|known| Ok(system.slab?.saturating_sub(known)));
    let beyond = match beyond {
        Ok(beyond @ 1..) => format!("; {} in no cache: requests above 8K", bytes(beyond, units)),
        _ => String::new(),
    };
    Some(format!(
        "Slab {all} by meminfo: {reclaimable} reclaimable, {not} not{beyond}"
    ))
}
