//! The heap of musl 1.2.1 and later on 64-bit machines, read from outside.
//!
//! musl describes each group of slots by a `struct meta` (`src/malloc/mallocng/meta.h`). These lie in areas of one page each:
//!
//! ```text
//! context   secret, ..., the first area, ...       in the data of musl
//! area      secret, next area, number of metas     one page
//! meta      prev, next, mem                        40 bytes
//!           avail_mask, freed_mask                 a bit per slot that is free
//!           last_idx, freeable, sizeclass, maplen  bits 0-4, 5, 6-11 and 12-63
//! ```
//!
//! There are no symbols: the context is recognized by its secret, a random number that each area repeats.

use super::kinds::Kind;
use super::runtimes::{Part, Runtime};
use super::scan::{self, PAGE, Scan};
use super::{Memory, RegionKind, Unknown};
use crate::units::{self, Units};

/// Bytes of the context before the pointer to the first area: without and with a field for the size of a page.
const BEFORE_AREA: [u64; 2] = [56, 64];
/// Bytes of an area before its metas, and of a meta.
const AREA_HEAD: usize = 24;
const META: usize = 40;
/// Size classes are multiples of this.
const UNIT: u64 = 16;
/// Bytes of a slot that hold its own header.
const HEADER: u64 = 4;
/// The size class of a slot with a mapping of its own.
const MAPPED: u64 = 63;
const CLASSES: [u64; 48] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255, 292,
    340, 409, 511, 584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
];
/// Maximum number of areas followed in one read: as many as 4 million groups need.
const MAX_AREAS: u64 = 40_000;

/// The heap of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Bytes in use in slots of groups, with the overhead of each slot.
    pub small: u64,
    /// Bytes of groups that have a mapping of their own, or a part of `[heap]`.
    pub groups: u64,
    /// Free bytes in groups that are in RAM or in swap.
    pub kept: u64,
    /// Allocations with a mapping of their own, which `free` unmaps, and their bytes.
    pub mapped: (u64, u64),
}

/// A group of slots, or an allocation of its own.
struct Group {
    start: u64,
    /// Bytes of the group, with its header.
    len: u64,
    slots: u64,
    free: u64,
    stride: u64,
    /// It has a mapping of its own, rather than a slot of a larger group.
    has_mapping: bool,
    is_alone: bool,
}

impl Group {
    /// Returns the group of a meta; `None` if its fields contradict each other.
    fn parse(meta: &[u8]) -> Option<Self> {
        let word = |at: usize| meta[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (start, masks, fields) = (word(16), word(24), word(32));
        let [last, class, pages] = [fields & 31, fields >> 6 & 63, fields >> 12];
        let free = (masks | masks >> 32) & u64::from(u32::MAX);
        let slots = last + 1;
        let mapped_len = pages.checked_mul(PAGE)?;
        let is_alone = class == MAPPED;
        let stride = match CLASSES.get(class as usize) {
            _ if last == 0 && pages > 0 => mapped_len.checked_sub(UNIT)?,
            Some(units) => units * UNIT,
            None => return None,
        };
        let is_within = free >> slots == 0 && start.is_multiple_of(UNIT) && (!is_alone || pages > 0 && last == 0);
        let len = if pages > 0 {
            mapped_len
        } else {
            stride.checked_mul(slots)? + UNIT
        };
        let fits = stride.checked_mul(slots)?.checked_add(UNIT)? <= len;
        (is_within && fits).then_some(Self {
            start,
            len,
            slots,
            free: u64::from(free.count_ones()),
            stride,
            has_mapping: pages > 0,
            is_alone,
        })
    }

    /// Returns the bytes of the slot of a larger group that it occupies.
    fn outer(&self) -> u64 {
        let needs = (self.len + HEADER).div_ceil(UNIT);
        CLASSES
            .iter()
            .find(|units| **units >= needs)
            .map_or(self.len, |units| units * UNIT)
    }
}

impl Scan<'_> {
    /// Returns the first area, and the secret.
    fn context(&mut self) -> Result<(u64, u64), Unknown> {
        self.search(|scan, place, area| {
            // Before a region is looked for, because most words are no address of a page.
            (area != 0 && area.is_multiple_of(PAGE)).then_some(())?;
            let region = scan.regions.find(area)?;
            let may_hold = matches!(region.kind, RegionKind::Anonymous | RegionKind::Heap);
            let mut secret = [0; 8];
            if !may_hold || !scan.memory.read(area, &mut secret) || secret == [0; 8] {
                return None;
            }
            let has_secret = |before: &u64| {
                let mut found = [0; 8];
                let at = place.checked_sub(*before);
                at.is_some_and(|at| scan.memory.read(at, &mut found)) && found == secret
            };
            BEFORE_AREA
                .iter()
                .any(has_secret)
                .then(|| (area, u64::from_le_bytes(secret)))
        })
    }

    fn groups(&mut self, first: u64, secret: u64) -> Result<Heap, Unknown> {
        let mut heap = Heap::default();
        let (mut nested, mut count, mut strange, mut areas) = (0_u64, 0_u64, 0_u64, 0);
        let mut page = [0; PAGE as usize];
        let mut area = first;
        self.forget();
        while area != 0 {
            areas += 1;
            if areas > MAX_AREAS || self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let word = |page: &[u8], at: usize| page[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            if !area.is_multiple_of(PAGE) || !self.memory.read(area, &mut page) || word(&page, 0) != secret {
                return Err(Unknown::Moving);
            }
            let metas = word(&page, 16) as u32 as usize;
            let metas = page[AREA_HEAD..].chunks_exact(META).take(metas);
            for meta in metas.filter(|meta| word(meta, 16) != 0) {
                count += 1;
                let group = Group::parse(meta).filter(|group| self.regions.holds(group.start, group.len));
                let Some(group) = group else {
                    strange += 1;
                    continue;
                };
                if group.is_alone {
                    heap.mapped.0 += 1;
                    // Areas of a made-up heap may repeat a group.
                    heap.mapped.1 = heap.mapped.1.saturating_add(group.len);
                    continue;
                }
                let used = (group.slots - group.free) * group.stride;
                heap.small = heap.small.saturating_add(used);
                if group.has_mapping {
                    heap.groups = heap.groups.saturating_add(group.len);
                } else {
                    nested = nested.saturating_add(group.outer());
                }
                let free = group.free * group.stride;
                let absent = if free >= PAGE {
                    let pages = group.len / PAGE * PAGE;
                    let placed = self.placed(group.start.next_multiple_of(PAGE), pages.saturating_sub(PAGE));
                    pages
                        .saturating_sub(PAGE)
                        .saturating_sub(placed.ok_or(Unknown::Moving)?.total())
                } else {
                    0
                };
                heap.kept = heap.kept.saturating_add(free.saturating_sub(absent));
            }
            area = word(&page, 8);
        }
        if strange > count / 50 {
            return Err(Unknown::Moving);
        }
        // A group in a slot of another one is in use there.
        heap.small = heap.small.saturating_sub(nested);
        Ok(heap)
    }
}

/// Reads the heap of musl.
///
/// # Errors
/// See [`Unknown`].
pub fn read(memory: &mut dyn Memory) -> Result<Heap, Unknown> {
    scan::read(memory, Scan::context, |scan, (area, secret)| scan.groups(area, secret))
}

impl Heap {
    /// Returns the bytes in use.
    pub const fn in_use(&self) -> u64 {
        self.small.saturating_add(self.mapped.1)
    }

    /// Converts the heap into the form that runtimes have.
    pub fn runtime(&self) -> Runtime {
        let mut runtime = Runtime::new(Kind::Musl, "musl's mallocng".to_owned());
        runtime.parts.push(Part {
            name: "slots of up to 128K".to_owned(),
            used: self.small,
            committed: Some(self.groups),
            resident: Some(self.small.saturating_add(self.kept)),
            is_heap: true,
        });
        let (count, bytes) = self.mapped;
        if count > 0 {
            runtime.parts.push(Part {
                name: units::counted(count, "mapping") + " of their own",
                used: bytes,
                committed: Some(bytes),
                resident: Some(bytes),
                is_heap: true,
            });
        }
        if runtime.is_hoard() {
            let kept = units::bytes(self.kept, Units::Auto);
            runtime.remarks.push(format!(
                "{kept} of it lie in groups of slots that are partly in use: musl returns a group only when all its slots are \
                 free."
            ));
        }
        runtime
    }
}
