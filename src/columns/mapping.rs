//! The columns of one process's mappings: a mapping has neither pid nor user nor history, and a process neither
//! address nor permissions.

use std::borrow::Cow;

use super::{AppliesTo, Column, Label, SortKey, TableKind, Unit, Value};
use crate::model::mapping::{Area, Extent, Mapping, MappingName};
use crate::model::{Memory, Missing, Reading};

/// A mapping, or a sum of mappings.
#[derive(Clone, Copy, Debug)]
pub struct MapRow<'a> {
    /// Its name; `None` for a total.
    pub name: Option<&'a MappingName>,
    /// The number of its areas.
    pub areas: u64,
    pub memory: Reading<&'a Memory>,
    pub extent: Reading<&'a Extent>,
    /// The area, if the row is a single one.
    pub area: Option<&'a Area>,
}

impl<'a> MapRow<'a> {
    pub fn of_area(area: &'a Area) -> Self {
        Self {
            name: Some(&area.name),
            areas: 1,
            memory: area.memory.as_ref().map_err(|e| *e),
            extent: area.extent.as_ref().map_err(|e| *e),
            area: Some(area),
        }
    }

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

#[derive(Clone, Copy, Debug)]
pub enum Mappings {}

impl TableKind for Mappings {
    type Row<'a> = MapRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;

    fn tie<'a>(row: &'a MapRow<'a>) -> SortKey {
        memory(row, |m| Ok(m.pss)).sort_key()
    }
}

type Entry = Column<Mappings>;

type Get = for<'a> fn(&'a MapRow<'a>) -> Value<'a>;

const fn count(id: &'static str, title: &'static str, value: Get) -> Entry {
    Entry::figure(id, title, Unit::Count, 5, value)
}

const fn text(id: &'static str, title: &'static str, value: Get) -> Entry {
    Entry::text(id, title, 5, value)
}

fn memory<'a>(row: &MapRow<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    Value::bytes(row.memory.and_then(get))
}

fn extent<'a>(row: &MapRow<'a>, get: fn(&Extent) -> Reading<u64>) -> Value<'a> {
    Value::bytes(row.extent.and_then(get))
}

/// Returns a value of a single area; blank for several.
fn area<'a>(row: &MapRow<'a>, get: fn(&'a Area) -> Value<'a>) -> Value<'a> {
    row.area.map_or(Value::Blank, get)
}

fn hex<'a>(text: String) -> Value<'a> {
    Value::Text(Cow::Owned(text.into_bytes()))
}

pub static COLUMNS: &[Entry] = &[
    Entry::bytes("pss", "PSS", |r| memory(r, |m| Ok(m.pss)))
        .help("Proportional set size: each resident page divided by its sharers. Kernel: Pss in smaps."),
    Entry::bytes("uss", "USS", |r| memory(r, |m| Ok(m.uss())))
        .help("Pages that no other process maps. Formula: Private_Clean + Private_Dirty of smaps."),
    Entry::bytes("rss", "RSS", |r| memory(r, |m| Ok(m.rss)))
        .help("Resident pages, not divided among sharers. Kernel: Rss in smaps."),
    Entry::bytes("swap", "SWAP", |r| memory(r, |m| Ok(m.swap)))
        .help("Swapped-out memory, including shared memory, not divided among sharers. Kernel: Swap in smaps."),
    Entry::bytes("swap_pss", "SWPSS", |r| memory(r, |m| m.swap_pss)).help(
        "Proportional swap: each swap slot divided by its sharers; without swapped-out shared memory. Kernel: SwapPss \
         in smaps (Linux 4.3).",
    ),
    Entry::bytes("footprint", "FOOTP", |r| memory(r, Memory::footprint)).help(
        "The total memory of the mapping, in RAM and in swap. It includes neither pages of hugetlbfs nor swapped-out \
         shared memory. Formula: PSS + SwapPss.",
    ),
    Entry::bytes("dirty", "DIRTY", |r| memory(r, |m| Ok(m.dirty())))
        .help("Dirty pages, not divided among sharers. Formula: Private_Dirty + Shared_Dirty of smaps."),
    Entry::bytes("pss_dirty", "PDIRTY", |r| memory(r, |m| m.pss_dirty))
        .help("The dirty part of PSS. Kernel: Pss_Dirty in smaps (Linux 6.0)."),
    Entry::bytes("shared", "SHARED", |r| memory(r, |m| Ok(m.shared()))).help(
        "Pages also mapped by other processes, not divided among sharers. Formula: Shared_Clean + Shared_Dirty \
         of smaps.",
    ),
    Entry::bytes("hugetlb", "HUGE", |r| memory(r, Memory::hugetlb)).help(
        "Pages of hugetlbfs, which are in neither RSS nor PSS. Formula: Private_Hugetlb + Shared_Hugetlb of smaps.",
    ),
    Entry::bytes("size", "SIZE", |r| extent(r, |e| Ok(e.size)))
        .help("The size in the address space. Kernel: Size in smaps."),
    Entry::bytes("locked", "LOCKED", |r| extent(r, |e| e.locked))
        .help("The part of PSS that may not be swapped out. Kernel: Locked in smaps."),
    Entry::bytes("thp", "THP", |r| extent(r, |e| e.huge))
        .help("Anonymous memory in transparent huge pages. Kernel: AnonHugePages in smaps."),
    Entry::bytes("referenced", "REFD", |r| extent(r, |e| e.referenced)).help(
        "Resident pages that were touched since their referenced bits were last cleared (by zmtop leaks --prove, or r \
         in the monitor) or, if never, since they were mapped. Not divided among sharers. Kernel: Referenced in smaps.",
    ),
    count("areas", "AREAS", |r| Value::Count(r.areas))
        .help("Number of areas of the address space.")
        .additive(true),
    text("address", "ADDRESS", |r| {
        area(r, |a| hex(format!("{:012x}-{:012x}", a.start, a.end)))
    })
    .help("The first address, and the first address after the area, in hexadecimal.")
    .applies_to(AppliesTo::Areas),
    text("perms", "PERMS", |r| area(r, |a| Value::text(Ok(&a.perms))))
        .help("r read, w write, x execute, s shared, p private.")
        .applies_to(AppliesTo::Areas),
    count("offset", "OFFSET", |r| area(r, |a| Value::Id(a.offset)))
        .help("The offset in the file at which the mapping begins, in bytes.")
        .ascending()
        .applies_to(AppliesTo::Areas),
    text("device", "DEV", |r| {
        area(r, |a| hex(format!("{:02x}:{:02x}", a.device.0, a.device.1)))
    })
    .help("Major and minor number of the file's device, in hexadecimal.")
    .applies_to(AppliesTo::Areas),
    count("inode", "INODE", |r| area(r, |a| Value::Id(a.inode)))
        .help("The file's inode; 0 if there is no file.")
        .ascending()
        .applies_to(AppliesTo::Areas),
    text("flags", "FLAGS", |r| {
        area(r, |a| match &*a.flags {
            [] => Value::Missing(Missing::Unsupported),
            flags => Value::text(Ok(flags)),
        })
    })
    .help("The kernel's flags of the area, two letters each. Kernel: VmFlags in smaps (Linux 3.8).")
    .applies_to(AppliesTo::Areas),
    text("kind", "KIND", |r| {
        r.name.map_or(Value::Blank, |n| Value::text(Ok(n.kind.id().as_bytes())))
    })
    .help("file, heap, stack, named, anon, shared, hugetlb, kernel or device."),
    text("deleted", "GONE", |r| match r.name {
        Some(n) if n.deleted => Value::text(Ok(b"deleted")),
        _ => Value::Blank,
    })
    .help("`deleted` if the file was removed or replaced: processes that map it use the old file."),
    text("mapping", "MAPPING", |r| match r.name {
        Some(n) => Value::text(Ok(&n.bytes)),
        None => Value::Blank,
    })
    .help("The file, or the kind of memory.")
    .label(Label::Group),
];
