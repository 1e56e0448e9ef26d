//! The columns of slab caches.

use std::borrow::Cow;
use std::time::Duration;

use super::{Column, Label, Needs, Priority, SortKey, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::history::RowHistory;
use crate::model::slab::{SlabCache, SlabCaches, SlabFigures};
use crate::model::{Missing, Reading, SystemSample};
use crate::units::{Units, bytes};

/// A slab cache, or the sum of some.
#[derive(Clone, Copy, Debug)]
pub struct SlabRow<'a> {
    /// The cache; a sum has none.
    pub cache: Option<&'a SlabCache>,
    /// Its figures.
    pub figures: SlabFigures,
    /// Its past, as far as it is kept.
    pub history: Option<&'a RowHistory>,
    /// The time that its sparkline spans.
    pub span: Duration,
    /// Its change since the mark in bytes, where there is one.
    pub since_mark: Option<i64>,
}

impl<'a> SlabRow<'a> {
    /// Returns the row of a cache.
    pub const fn new(cache: &'a SlabCache) -> Self {
        Self {
            cache: Some(cache),
            figures: cache.figures,
            history: None,
            span: Duration::ZERO,
            since_mark: None,
        }
    }

    /// Returns the sum of rows.
    pub fn total(rows: &[SlabRow<'_>]) -> Self {
        let changes = || rows.iter().filter_map(|row| row.since_mark);
        Self {
            cache: None,
            figures: rows.iter().map(|row| row.figures).sum(),
            history: None,
            span: Duration::ZERO,
            since_mark: changes().next().map(|_| changes().fold(0, i64::saturating_add)),
        }
    }
}

/// The slab caches.
#[derive(Clone, Copy, Debug)]
pub enum Slab {}

impl TableKind for Slab {
    type Row<'a> = SlabRow<'a>;

    fn tie<'a>(row: &'a SlabRow<'a>) -> SortKey {
        Value::Bytes(row.figures.size).sort_key()
    }
}

type Entry = Column<Slab>;

/// Returns the column of that id.
pub fn find(id: &str) -> Option<&'static Entry> {
    COLUMNS.iter().find(|c| c.id == id)
}

type Get = for<'a> fn(&'a SlabRow<'a>) -> Value<'a>;

const fn count(id: &'static str, title: &'static str, value: Get) -> Entry {
    Entry::figure(id, title, Unit::Count, 5, value)
}

/// Every column there is.
pub static COLUMNS: &[Entry] = &[
    Entry::bytes("size", "SIZE", |r| Value::Bytes(r.figures.size))
        .help("The memory of the cache. Formula: num_slabs × pagesperslab of slabinfo, in bytes."),
    Entry::bytes("used", "USED", |r| Value::Bytes(r.figures.used))
        .help("The memory of the objects in use. Formula: active_objs × objsize of slabinfo."),
    Entry::bytes("waste", "WASTE", |r| Value::Bytes(r.figures.waste()))
        .help("Memory in which no object in use is: free objects, and the rest of each slab. Formula: SIZE − USED."),
    Entry::figure("use", "OBJ%", Unit::Share, 5, |r| match r.figures.objects {
        0 => Value::Blank,
        objects => Value::Share(r.figures.active as f64 / objects as f64),
    })
    .help("The part of the objects that is in use. Formula: active_objs ÷ num_objs of slabinfo."),
    count("active", "ACTIVE", |r| Value::Count(r.figures.active))
        .help("Objects in use; free ones in a slab that a CPU holds count too. Kernel: active_objs in slabinfo.")
        .additive(true),
    count("objects", "OBJS", |r| Value::Count(r.figures.objects))
        .help("Objects that there is room for. Kernel: num_objs in slabinfo.")
        .additive(true),
    Entry::bytes("object_size", "OBJSZ", |r| {
        r.cache.map_or(Value::Blank, |cache| Value::Bytes(cache.object_size))
    })
    .help("Size of an object, with its padding. Kernel: objsize in slabinfo.")
    .additive(false),
    count("slabs", "SLABS", |r| Value::Count(r.figures.slabs))
        .help("Slabs, used and empty. Kernel: num_slabs in slabinfo.")
        .additive(true),
    count("per_slab", "OBJ/SL", |r| {
        r.cache
            .map_or(Value::Blank, |cache| Value::Count(cache.objects_per_slab))
    })
    .help("Objects in a slab. Kernel: objperslab in slabinfo."),
    Entry::text("reclaimable", "RECL", 4, |r| {
        match r.cache.map(|cache| cache.reclaimable) {
            None => Value::Blank,
            Some(None) => Value::Missing(Missing::Unsupported),
            Some(Some(true)) => Value::text(Ok(b"yes")),
            Some(Some(false)) => Value::text(Ok(b"no")),
        }
    })
    .help(
        "`yes` where the kernel takes the objects back when memory is needed, as those of dentries and inodes. Kernel: \
         reclaim_account in /sys/kernel/slab/NAME.",
    ),
    Entry::text("cache", "CACHE", 5, |r| {
        r.cache.map_or(Value::Blank, |cache| Value::text(Ok(&cache.name)))
    })
    .help("Its name. Caches of equal objects may be merged by the kernel, under the name of the first.")
    .label(Label::Group),
];

/// The columns that only the monitor has, as they are of more than one moment.
pub static OVER_TIME: &[Entry] = &[
    Entry::figure("change", "Δ", Unit::Delta, 6, |r| {
        let change = r.history.and_then(|history| history.change().pss);
        change.map_or(Value::Blank, Value::Delta)
    })
    .timed()
    .help("The change of SIZE over the time that ΔPSS is taken over (ui.delta).")
    .priority(Priority::High),
    Entry::figure("since_mark", "ΔMARK", Unit::Delta, 6, |r| {
        r.since_mark.map_or(Value::Blank, Value::Delta)
    })
    .help("The change of SIZE since the mark that b sets.")
    .additive(true)
    .needs(Needs::MARK)
    .priority(Priority::High),
    Entry::figure("history", "5 MIN", Unit::Chart, 10, |r| {
        r.history.map_or(Value::Blank, |history| {
            Value::Chart(history.footprint().over(r.span), history.change().growth)
        })
    })
    .help("SIZE over the time that x and X choose, with one scale for all rows. While the page is closed it is read once a minute.")
    .priority(Priority::Low),
    Entry::figure("trend", "TREND", Unit::Trend, 16, |r| {
        r.history.map_or(Value::Blank, |history| Value::Trend(*history.trend(), history.change().pss))
    })
    .help(
        "What it does, and how fast its lowest values move, judged as processes are: ▲ it leaks; △ it grows; ~ it warms \
         up; ▽ it falls. Only a cache that is not reclaimable is ever called a leak.",
    ),
];

/// Returns why there are no caches to show, in words.
pub fn unread(why: Missing) -> String {
    match why {
        Missing::Denied => "the slab caches can be read by root alone".into(),
        Missing::Unsupported => "this kernel has no slabinfo".into(),
        other => format!("the slab caches cannot be read: {other}"),
    }
}

/// Returns the sums of `meminfo`, for the total to be compared with, and what of them is in none of the `caches`: requests
/// above two pages, which the kernel takes from the page allocator and counts as slab (`___kmalloc_large_node` of
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

/// A cache has a name and figures.
impl Filterable for SlabRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let is_name = matches!(field, TextField::CommandLine | TextField::Comm | TextField::Group);
        let cache = self.cache.filter(|_| is_name)?;
        Some(Cow::Borrowed(&cache.name))
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}
