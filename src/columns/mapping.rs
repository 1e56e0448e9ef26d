//! The columns of mappings: a table of their own, as a mapping has neither pid nor user nor history, and a
//! process neither address nor permissions.

use std::borrow::Cow;

use super::{Unit, Value};
use crate::columns::sort::SortKey;
use crate::model::mapping::{Area, Extent, Mapping, MappingName};
use crate::model::{Memory, Missing, Reading};
use crate::text::Align;

/// What a column takes its value from.
#[derive(Clone, Copy, Debug)]
pub struct MapRow<'a> {
    /// What it is called; a total is not.
    pub name: Option<&'a MappingName>,
    /// How many areas it stands for.
    pub areas: u64,
    /// Its memory.
    pub memory: Reading<&'a Memory>,
    /// Its size and the rest.
    pub extent: Reading<&'a Extent>,
    /// The one area that it is, where it is one.
    pub area: Option<&'a Area>,
}

impl<'a> MapRow<'a> {
    /// The row of one area.
    pub fn of_area(area: &'a Area) -> Self {
        Self {
            name: Some(&area.name),
            areas: 1,
            memory: area.memory.as_ref().map_err(|e| *e),
            extent: area.extent.as_ref().map_err(|e| *e),
            area: Some(area),
        }
    }

    /// The row of areas of one name.
    pub fn of_mapping(mapping: &'a Mapping) -> Self {
        Self {
            name: Some(&mapping.name),
            areas: mapping.areas,
            memory: mapping.memory.as_ref().map_err(|e| *e),
            extent: mapping.extent.as_ref().map_err(|e| *e),
            area: None,
        }
    }
}

/// One column.
#[derive(Debug)]
pub struct MapColumn {
    /// The name on the command line, in JSON and in CSV.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// What it means, and where the kernel gives it.
    pub help: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Takes the value from a row.
    pub value: for<'a> fn(&MapRow<'a>) -> Value<'a>,
}

impl MapColumn {
    /// Words stand on the left, figures on the right.
    pub const fn align(&self) -> Align {
        match self.unit {
            Unit::Text => Align::Left,
            _ => Align::Right,
        }
    }

    /// What a row is ordered by.
    pub fn sort_key(&self, row: &MapRow<'_>) -> SortKey {
        (self.value)(row).sort_key()
    }

    /// Whether the greatest comes first unless the other is asked for: of figures, but for places.
    pub fn descends_first(&self) -> bool {
        !matches!(self.unit, Unit::Text) && !matches!(self.id, "address" | "offset" | "inode")
    }
}

/// The column of that id.
pub fn find(id: &str) -> Option<&'static MapColumn> {
    COLUMNS.iter().find(|c| c.id == id)
}

/// The columns shown unless others are asked for, from left to right.
pub fn default(areas: bool) -> Vec<&'static MapColumn> {
    let ids: &[&str] = if areas {
        &[
            "address", "perms", "size", "swap_pss", "swap", "dirty", "uss", "pss", "rss", "mapping",
        ]
    } else {
        &[
            "areas", "size", "swap_pss", "swap", "dirty", "uss", "pss", "rss", "mapping",
        ]
    };
    ids.iter().filter_map(|id| find(id)).collect()
}

const fn bytes(
    id: &'static str,
    title: &'static str,
    help: &'static str,
    value: for<'a> fn(&MapRow<'a>) -> Value<'a>,
) -> MapColumn {
    MapColumn {
        id,
        title,
        help,
        unit: Unit::Bytes,
        value,
    }
}

const fn word(
    id: &'static str,
    title: &'static str,
    help: &'static str,
    value: for<'a> fn(&MapRow<'a>) -> Value<'a>,
) -> MapColumn {
    MapColumn {
        unit: Unit::Text,
        ..bytes(id, title, help, value)
    }
}

fn memory<'a>(row: &MapRow<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    Value::bytes(row.memory.and_then(get))
}

fn extent<'a>(row: &MapRow<'a>, get: fn(&Extent) -> Reading<u64>) -> Value<'a> {
    Value::bytes(row.extent.and_then(get))
}

/// Something of one area: blank where there are many.
fn own<'a>(row: &MapRow<'a>, get: fn(&'a Area) -> Value<'a>) -> Value<'a> {
    row.area.map_or(Value::Blank, get)
}

fn hex<'a>(text: String) -> Value<'a> {
    Value::Text(Cow::Owned(text.into_bytes()))
}

/// Every column there is.
pub static COLUMNS: &[MapColumn] = &[
    bytes(
        "pss",
        "PSS",
        "Proportional set size: each resident page divided by its sharers. Kernel: Pss in smaps.",
        |r| memory(r, |m| Ok(m.pss)),
    ),
    bytes(
        "uss",
        "USS",
        "Pages that no other process maps. Formula: Private_Clean + Private_Dirty of smaps.",
        |r| memory(r, |m| Ok(m.uss())),
    ),
    bytes("rss", "RSS", "Every resident page, whole. Kernel: Rss in smaps.", |r| {
        memory(r, |m| Ok(m.rss))
    }),
    bytes(
        "swap",
        "SWAP",
        "Swapped out, whole, shared memory with it. Kernel: Swap in smaps.",
        |r| memory(r, |m| Ok(m.swap)),
    ),
    bytes(
        "swap_pss",
        "SWPSS",
        "Swapped out, divided by the sharers of each slot; without shared memory. Kernel: SwapPss in smaps (Linux 4.3).",
        |r| memory(r, |m| m.swap_pss),
    ),
    bytes(
        "footprint",
        "FOOTP",
        "What it costs the machine, in RAM or in swap. Formula: PSS + SwapPss.",
        |r| memory(r, Memory::footprint),
    ),
    bytes(
        "dirty",
        "DIRTY",
        "Dirty pages, whole. Formula: Private_Dirty + Shared_Dirty of smaps.",
        |r| memory(r, |m| Ok(m.dirty())),
    ),
    bytes(
        "pss_dirty",
        "PDIRTY",
        "The dirty part of PSS. Kernel: Pss_Dirty in smaps (Linux 6.0).",
        |r| memory(r, |m| m.pss_dirty),
    ),
    bytes(
        "shared",
        "SHARED",
        "Pages that other processes map too, whole. Formula: Shared_Clean + Shared_Dirty of smaps.",
        |r| memory(r, |m| Ok(m.shared())),
    ),
    bytes(
        "hugetlb",
        "HUGE",
        "Pages of hugetlbfs, which are in neither RSS nor PSS. Formula: Private_Hugetlb + Shared_Hugetlb of smaps.",
        |r| memory(r, Memory::hugetlb),
    ),
    bytes(
        "size",
        "SIZE",
        "How much of the address space it takes. Kernel: Size in smaps.",
        |r| extent(r, |e| Ok(e.size)),
    ),
    bytes(
        "locked",
        "LOCKED",
        "The part of PSS that may not be swapped out. Kernel: Locked in smaps.",
        |r| extent(r, |e| e.locked),
    ),
    bytes(
        "thp",
        "THP",
        "Anonymous memory in transparent huge pages. Kernel: AnonHugePages in smaps.",
        |r| extent(r, |e| e.huge),
    ),
    MapColumn {
        unit: Unit::Count,
        ..bytes("areas", "AREAS", "How many areas of the address space.", |r| {
            Value::Count(r.areas)
        })
    },
    word(
        "address",
        "ADDRESS",
        "The first address and the first after it, in hexadecimal.",
        |r| own(r, |a| hex(format!("{:012x}-{:012x}", a.start, a.end))),
    ),
    word(
        "perms",
        "PERMS",
        "r read, w write, x execute, s shared, p private.",
        |r| own(r, |a| Value::text(Ok(&a.perms))),
    ),
    MapColumn {
        unit: Unit::Count,
        ..bytes("offset", "OFFSET", "Where in the file it begins, in bytes.", |r| {
            own(r, |a| Value::Id(a.offset))
        })
    },
    word(
        "device",
        "DEV",
        "Major and minor number of the file's device, in hexadecimal.",
        |r| own(r, |a| hex(format!("{:02x}:{:02x}", a.device.0, a.device.1))),
    ),
    MapColumn {
        unit: Unit::Count,
        ..bytes("inode", "INODE", "The file's inode, 0 for none.", |r| {
            own(r, |a| Value::Id(a.inode))
        })
    },
    word(
        "flags",
        "FLAGS",
        "What the kernel notes of the area, two letters each. Kernel: VmFlags in smaps (Linux 3.8).",
        |r| {
            own(r, |a| match &*a.flags {
                [] => Value::Missing(Missing::Unsupported),
                flags => Value::text(Ok(flags)),
            })
        },
    ),
    word(
        "kind",
        "KIND",
        "file, heap, stack, named, anon, shared, hugetlb, kernel or device.",
        |r| r.name.map_or(Value::Blank, |n| Value::text(Ok(n.kind.id().as_bytes()))),
    ),
    word(
        "deleted",
        "GONE",
        "`deleted` where the file was removed or replaced: who maps it runs the old one.",
        |r| match r.name {
            Some(n) if n.deleted => Value::text(Ok(b"deleted")),
            _ => Value::Blank,
        },
    ),
    word("mapping", "MAPPING", "The file, or the kind of memory.", |r| {
        match r.name {
            Some(n) => Value::text(Ok(&n.bytes)),
            None => Value::Blank,
        }
    }),
];
