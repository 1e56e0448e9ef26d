//! The columns of the objects that a process holds through its descriptors.

use super::{Column, Label, SortKey, TableKind, Unit, Value};
use crate::model::{HeldFigures, HeldObject};

#[derive(Clone, Copy, Debug)]
pub enum HeldRow<'a> {
    Object(&'a HeldObject),
    /// All objects of a process.
    Total(&'a HeldFigures),
}

#[derive(Clone, Copy, Debug)]
pub enum HeldObjects {}

impl TableKind for HeldObjects {
    type Row<'a> = HeldRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;

    fn tie<'a>(row: &'a HeldRow<'a>) -> SortKey {
        object(row, |o| Value::bytes(o.bytes)).sort_key()
    }
}

type Entry = Column<HeldObjects>;

/// Returns a value of an object; blank for a sum.
fn object<'a>(row: &HeldRow<'a>, get: fn(&'a HeldObject) -> Value<'a>) -> Value<'a> {
    match row {
        HeldRow::Object(object) => get(object),
        HeldRow::Total(_) => Value::Blank,
    }
}

pub static COLUMNS: &[Entry] = &[
    Entry::bytes("share", "SHARE", |r| match r {
        HeldRow::Object(object) => Value::bytes(object.share()),
        HeldRow::Total(figures) if figures.is_partial(None) => Value::AtLeast(figures.total()),
        HeldRow::Total(figures) => Value::Bytes(figures.total()),
    })
    .help("The process's share of the object. Formula: WHOLE ÷ BY."),
    Entry::bytes("bytes", "WHOLE", |r| object(r, |o| Value::bytes(o.bytes)))
        .help("RAM and swap of the whole object. For a memfd, only the part that no holder maps.")
        .additive(false),
    Entry::bytes("vram", "VRAM", |r| match r {
        HeldRow::Object(object) if object.vram == 0 => Value::Blank,
        HeldRow::Object(object) => Value::Bytes(object.vram),
        HeldRow::Total(figures) => Value::Bytes(figures.vram),
    })
    .help("Bytes in the device's own memory."),
    Entry::figure("holders", "BY", Unit::Count, 3, |r| {
        object(r, |o| Value::Count(o.holders.into()))
    })
    .help("Number of processes that hold the object, of those whose descriptors could be read."),
    Entry::figure("fds", "FDS", Unit::Count, 3, |r| {
        object(r, |o| Value::Count(o.fds.into()))
    })
    .help("Number of the process's descriptors for the object.")
    .additive(true),
    Entry::text("kind", "KIND", 6, |r| {
        object(r, |o| Value::text(Ok(o.kind.id().as_bytes())))
    })
    .help("gpu, dmabuf, bpf, memfd (and removed files on tmpfs) or uring."),
    Entry::text("name", "NAME", 5, |r| object(r, |o| Value::text(Ok(&o.name))))
        .help(
            "Driver, device and number of a client; exporter and name of a dma-buf; type and number in BPF; the path \
             of a file.",
        )
        .label(Label::Group),
];
