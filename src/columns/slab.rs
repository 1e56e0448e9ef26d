//! The columns of slab caches.

use std::borrow::Cow;

use super::{Column, Label, SortKey, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::model::slab::{SlabCache, SlabFigures};

/// A slab cache, or the sum of some.
#[derive(Clone, Copy, Debug)]
pub struct SlabRow<'a> {
    /// The cache; a sum has none.
    pub cache: Option<&'a SlabCache>,
    /// Its figures.
    pub figures: SlabFigures,
}

impl<'a> SlabRow<'a> {
    /// Returns the row of a cache.
    pub const fn new(cache: &'a SlabCache) -> Self {
        Self {
            cache: Some(cache),
            figures: cache.figures,
        }
    }

    /// Returns the sum of rows.
    pub fn total(rows: &[SlabRow<'_>]) -> Self {
        Self {
            cache: None,
            figures: rows.iter().map(|row| row.figures).sum(),
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
    Entry::figure("use", "USE%", Unit::Share, 5, |r| match r.figures.objects {
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
    Entry::text("cache", "CACHE", 5, |r| {
        r.cache.map_or(Value::Blank, |cache| Value::text(Ok(&cache.name)))
    })
    .help("Its name. Caches of equal objects may be merged by the kernel, under the name of the first.")
    .label(Label::Group),
];

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
