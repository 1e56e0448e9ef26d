//! The heap of jemalloc 5.0 to 5.3 on 64-bit machines, read from outside.
//!
//! jemalloc finds the extent of an address in a radix tree (`include/jemalloc/internal/rtree.h`). The bits of a page's number are
//! divided among its levels:
//!
//! ```text
//! root     in the data of the library or program: pointers to nodes, or to leaves if there are two levels
//! node     pointers to leaves
//! leaf     one entry per page: the address of an extent, its size class, and whether it is a slab
//! extent   word 0: flags, state, size class, and the number of free regions of a slab
//!          word 1: its address; word 2: its size
//! ```
//!
//! There are no symbols, so the root is recognized by its contents: a pointer in the data that leads to a leaf whose first extent
//! has the address that belongs to its place. The tree depends on the addresses of the machine that built jemalloc, and word 0 on
//! the version; the right layout agrees with the leaf.

use std::collections::{BTreeMap, HashSet};

use super::kinds::Kind;
use super::runtimes::{Part, Runtime};
use super::scan::{self, PAGE, PRESENT, Scan};
use super::{Memory, Placed, RegionKind, Regions, Unknown};
use crate::units::{self, Units};

/// The largest address.
const ADDRESS: u64 = (1 << 57) - 1;
/// The bits of a pointer to an extent. The bits below are flags: extents are at multiples of 64, since 5.3 of 128.
const POINTER: u64 = ADDRESS & !63;
/// Number of size classes: a leaf's word has a larger one if its extent is not in use.
const CLASSES: u64 = 232;
/// Maximum number of regions of a slab.
const MAX_REGIONS: u64 = 512;
/// Number of extents that decide on the layout.
const SAMPLES: usize = 256;
/// Maximum number of extents followed in one read.
const MAX_EXTENTS: u64 = 20_000_000;
/// Maximum number of nodes of a level of the tree, and of extents of which none is in use. A leaf stands for 128 MB or more.
const MAX_NODES: usize = 1 << 16;
/// Maximum number of pointers that are remembered while the root is searched: 18 MiB.
const MAX_REFUSED: usize = 1 << 20;
/// Number of extents that are read at once.
const BATCH: usize = 1024;
/// Arenas that are listed individually.
const LISTED: usize = 16;

/// The form of a tree.
#[derive(Clone, Copy)]
struct Tree {
    levels: u32,
    /// Bits of a page's number for each level.
    bits: u32,
    /// Bytes of an entry of a leaf: one word for all, or two.
    entry: u64,
}

const TREES: [Tree; 2] = [
    // Addresses of 48 bits. The bits above hold the size class.
    Tree {
        levels: 2,
        bits: 18,
        entry: 8,
    },
    // Addresses of 57 bits.
    Tree {
        levels: 3,
        bits: 15,
        entry: 16,
    },
];

impl Tree {
    /// Returns the number of bytes of a node at that level, of which the root is 0.
    const fn len(self, level: u32) -> u64 {
        (if level + 1 == self.levels { self.entry } else { 8 }) << self.bits
    }

    /// Returns the index of a page in a node.
    const fn index(self, page: u64, level: u32) -> u64 {
        page >> (self.bits * (self.levels - 1 - level)) & ((1 << self.bits) - 1)
    }

    /// Returns the pointer to an extent in an entry of a leaf; 0 if there is none.
    const fn pointer(self, entry: [u64; 2]) -> u64 {
        let mask = if self.entry == 8 { (1 << 48) - 1 } else { u64::MAX };
        entry[0] & mask & POINTER
    }
}

/// The positions of the fields of an extent's first word.
struct Layout {
    version: &'static str,
    state: u32,
    state_mask: u64,
    class: u32,
    free: u32,
    /// Positions of the size class and of the slab bit in the second word of an entry, if it has two.
    second: [u32; 2],
}

const LAYOUTS: [Layout; 3] = [
    Layout {
        version: "jemalloc 5.3",
        state: 17,
        state_mask: 7,
        class: 20,
        free: 28,
        second: [5, 0],
    },
    Layout {
        version: "jemalloc 5.1 or 5.2",
        state: 16,
        state_mask: 3,
        class: 18,
        free: 26,
        second: [0, 32],
    },
    Layout {
        version: "jemalloc 5.0",
        state: 15,
        state_mask: 3,
        class: 17,
        free: 25,
        second: [0, 32],
    },
];

/// The heap of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// The versions with this layout.
    pub version: &'static str,
    pub arenas: BTreeMap<u64, Arena>,
}

/// An arena, in bytes. What threads cache counts as in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arena {
    /// Bytes in use, in slabs and in extents of their own.
    pub in_use: u64,
    /// Bytes of all extents in use, as `stats.active` counts them.
    pub active: u64,
    /// The free part of slabs that is in RAM or in swap.
    pub slab_free: u64,
    /// Unused pages that a purge returns to the kernel.
    pub unused: Placed,
}

impl Arena {
    /// Returns the free bytes that are in RAM or in swap.
    pub const fn kept(&self) -> u64 {
        self.slab_free.saturating_add(self.unused.total())
    }
}

impl std::ops::AddAssign for Arena {
    fn add_assign(&mut self, other: Self) {
        self.in_use = self.in_use.saturating_add(other.in_use);
        self.active = self.active.saturating_add(other.active);
        self.slab_free = self.slab_free.saturating_add(other.slab_free);
        self.unused += other.unused;
    }
}

/// Returns the bytes of a size class (`sz_index2size_compute`).
const fn class_size(class: u64) -> u64 {
    let Some(rest) = class.checked_sub(1) else { return 8 };
    let (group, step) = (rest >> 2, rest & 3);
    if group == 0 {
        (step + 1) << 4
    } else {
        (32 << group) + ((step + 1) << (group + 3))
    }
}

/// An extent as read from memory.
#[derive(Clone, Copy)]
struct Extent {
    /// The entry of the leaf, and the page that it belongs to.
    entry: [u64; 2],
    page: u64,
    head: u64,
    address: u64,
    size: u64,
}

enum Use {
    Slab {
        class: u64,
        free: u64,
    },
    Large {
        class: u64,
    },
    /// Free pages that may be in RAM.
    Unused,
    /// Address space without pages, or between two states.
    Nothing,
}

impl Extent {
    fn is_placed(&self) -> bool {
        let size = self.size / PAGE * PAGE;
        self.address / PAGE == self.page && size > 0 && self.address.checked_add(size).is_some_and(|end| end <= ADDRESS)
    }

    /// Returns the use of an extent; `None` if it contradicts its leaf.
    fn read(&self, layout: &Layout, tree: Tree) -> Option<Use> {
        let size = self.size / PAGE * PAGE;
        let is_slab = self.head >> 12 & 1 == 1;
        match self.head >> layout.state & layout.state_mask {
            0 => {
                let class = self.head >> layout.class & 255;
                let bytes = if class < CLASSES {
                    class_size(class)
                } else {
                    return None;
                };
                let [first, second] = self.entry;
                let [class_at, slab_at] = layout.second;
                let in_leaf = match tree.entry {
                    8 => (first >> 48, first & 1 == 1),
                    _ => (second >> class_at & 255, second >> slab_at & 1 == 1),
                };
                let is_same = in_leaf == (class, is_slab);
                let free = (self.head >> layout.free & 1023).saturating_mul(bytes);
                match (is_same, is_slab) {
                    (false, _) => None,
                    (true, true) => (free <= size && (1..=MAX_REGIONS).contains(&(size / bytes)))
                        .then_some(Use::Slab { class: bytes, free }),
                    // It may have a page more, for alignment.
                    (true, false) => {
                        (bytes == size || bytes.checked_add(PAGE) == Some(size)).then_some(Use::Large { class: bytes })
                    }
                }
            }
            1 | 2 => Some(Use::Unused),
            _ => Some(Use::Nothing),
        }
    }
}

/// Returns true if a node of `len` bytes may be at that address.
fn is_node(regions: &Regions, address: u64, len: u64) -> bool {
    // Before a region is looked for, because most words are no such address.
    let may_be = address != 0 && address.is_multiple_of(64);
    let region = may_be.then(|| regions.find(address)).flatten();
    region.is_some_and(|region| region.kind == RegionKind::Anonymous && region.end - address >= len)
}

/// Returns the entries of one or two words that are not empty, with their indexes.
fn entries(bytes: &[u8], size: u64) -> impl Iterator<Item = (u64, [u64; 2])> {
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let entries = bytes
        .chunks_exact(size as usize)
        .map(move |bytes| [word(bytes), bytes.get(8..).map_or(0, word)]);
    (0..).zip(entries).filter(|(_, entry)| entry[0] != 0)
}

impl Scan<'_> {
    /// Searches the data of the program and its libraries for the root.
    fn root(&mut self) -> Result<(u64, Tree), Unknown> {
        // Pointers that were followed before.
        let mut refused = HashSet::new();
        self.search(|scan, place, pointer| {
            if !is_node(&scan.regions, pointer, 0) || refused.contains(&pointer) {
                return None;
            }
            if refused.len() < MAX_REFUSED {
                refused.insert(pointer);
            }
            let mut trees = TREES.into_iter();
            trees.find_map(|tree| Some((scan.root_of(pointer, place, tree)?, tree)))
        })
    }

    /// Returns the root if the pointer at `place` is one of its entries.
    fn root_of(&mut self, pointer: u64, place: u64, tree: Tree) -> Option<u64> {
        // Each candidate may cost the read of a whole root.
        if self.memory.is_over() {
            return None;
        }
        let mut node = pointer;
        let mut path = [0; 3];
        let mut entry = [0; 2];
        for level in 1..tree.levels {
            let len = tree.len(level);
            is_node(&self.regions, node, len).then_some(())?;
            let size = if level + 1 == tree.levels { tree.entry } else { 8 };
            (path[level as usize], entry) = self.first_entry(node, len, size)?;
            node = entry[0];
        }
        let mut bytes = [0; 16];
        self.memory.read(tree.pointer(entry), &mut bytes).then_some(())?;
        let (words, _) = bytes.as_chunks::<8>();
        let address = u64::from_le_bytes(words[1]);
        let page = address / PAGE;
        if address > ADDRESS || (1..tree.levels).any(|level| tree.index(page, level) != path[level as usize]) {
            return None;
        }
        let root = place.checked_sub(tree.index(page, 0) * 8)?;
        // All of its entries are nodes.
        let entries = self.entries_of(root, tree.len(0), 8)?;
        let len = tree.len(1);
        let are_nodes = entries.iter().all(|(_, entry)| is_node(&self.regions, entry[0], len));
        are_nodes.then_some(root)
    }

    /// Returns the first entry of a node that is not empty, and its index.
    fn first_entry(&mut self, node: u64, len: u64, size: u64) -> Option<(u64, [u64; 2])> {
        let start = node / PAGE * PAGE;
        let mut locations = vec![0; (len / PAGE) as usize + 1];
        self.memory.pages(start / PAGE, &mut locations).then_some(())?;
        let present = locations
            .iter()
            .enumerate()
            .filter(|(_, location)| **location & PRESENT != 0);
        for (at, _) in present.take(8) {
            // Nodes are at multiples of 64, so no entry lies in two pages.
            let from = (start + at as u64 * PAGE).max(node);
            let to = (start + (at as u64 + 1) * PAGE).min(node + len);
            let mut bytes = vec![0; (to - from) as usize];
            self.memory.read(from, &mut bytes).then_some(())?;
            if let Some((index, entry)) = entries(&bytes, size).next() {
                return Some(((from - node) / size + index, entry));
            }
        }
        None
    }

    /// Returns the entries of a node that are not empty, with their indexes.
    pub(super) fn entries_of(&mut self, node: u64, len: u64, size: u64) -> Option<Vec<(u64, [u64; 2])>> {
        let start = node / PAGE * PAGE;
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.resize((len.next_multiple_of(PAGE) + PAGE) as usize, 0);
        let is_read = self.resident(start, &mut bytes).is_some();
        let found = is_read.then(|| entries(&bytes[(node - start) as usize..][..len as usize], size).collect());
        self.buffer = bytes;
        found
    }

    /// Reads the extents of entries, each with its page. Leaves out those that cannot be read.
    fn extents(&mut self, entries: &[(u64, [u64; 2])], tree: Tree) -> Vec<Extent> {
        let addresses: Vec<u64> = entries.iter().map(|(_, entry)| tree.pointer(*entry)).collect();
        let mut heads = vec![[0; 4]; entries.len()];
        let mut found = Vec::with_capacity(entries.len());
        let mut at = 0;
        while at < entries.len() {
            let count = self.memory.read_each(&addresses[at..], &mut heads[at..]);
            let extents = entries[at..].iter().zip(&heads[at..]).take(count);
            found.extend(extents.map(|((page, entry), [head, address, size, _])| Extent {
                entry: *entry,
                page: *page,
                head: *head,
                address: *address,
                size: *size,
            }));
            // One that cannot be read is left out.
            at += count + 1;
        }
        found
    }

    /// Returns the leaves, each with its first page. In a tree that is none, many entries may lead to one node.
    fn leaves(&mut self, root: u64, tree: Tree) -> Result<Vec<(u64, u64)>, Unknown> {
        let mut nodes = vec![(0, root)];
        let mut seen = HashSet::new();
        for level in 0..tree.levels - 1 {
            let mut below = Vec::new();
            for (first, node) in nodes {
                let entries = self.entries_of(node, tree.len(level), 8).ok_or(Unknown::Moving)?;
                for (index, entry) in entries {
                    if !seen.insert(entry[0]) {
                        return Err(Unknown::Moving);
                    }
                    below.push(((first << tree.bits) + index, entry[0]));
                }
                if self.memory.is_over() || below.len() > MAX_NODES {
                    return Err(Unknown::TooLarge);
                }
            }
            nodes = below;
        }
        let leaves = nodes.into_iter();
        Ok(leaves.map(|(index, leaf)| (index << tree.bits, leaf)).collect())
    }

    /// Reads all extents once.
    fn heap(&mut self, root: u64, tree: Tree) -> Result<Heap, Unknown> {
        let mut layout = None;
        // Those that wait for the first extent in use, which decides on the layout.
        let mut extents = Vec::new();
        let mut arenas = BTreeMap::<u64, Arena>::new();
        let (mut count, mut strange) = (0, 0);
        self.forget();
        for (first, leaf) in self.leaves(root, tree)? {
            // A leaf may be empty, and takes time nevertheless.
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let entries = self.entries_of(leaf, tree.len(tree.levels - 1), tree.entry);
            let mut words = entries.ok_or(Unknown::Moving)?;
            words.retain(|(_, entry)| tree.pointer(*entry) != 0);
            words.dedup_by_key(|(_, entry)| tree.pointer(*entry));
            for (page, _) in &mut words {
                *page += first;
            }
            for batch in words.chunks(BATCH) {
                count += batch.len() as u64;
                if self.memory.is_over() || count > MAX_EXTENTS {
                    return Err(Unknown::TooLarge);
                }
                let read = self.extents(batch, tree);
                strange += (batch.len() - read.len()) as u64;
                extents.extend(read);
                layout = layout.or_else(|| layout_of(&extents, tree));
                let Some(layout) = layout else {
                    // A heap has extents in use.
                    if extents.len() > MAX_NODES {
                        return Err(Unknown::NotFound);
                    }
                    continue;
                };
                for extent in extents.drain(..) {
                    let found = extent.read(layout, tree).filter(|found| {
                        let size = extent.size / PAGE * PAGE;
                        extent.is_placed()
                            && (matches!(found, Use::Nothing) || self.regions.holds(extent.address, size))
                    });
                    let arena = arenas.entry(extent.head & 0xfff).or_default();
                    strange += u64::from(found.is_none() || self.add(&extent, found, arena).is_none());
                }
            }
        }
        if strange > count / 50 {
            return Err(Unknown::Moving);
        }
        arenas.retain(|_, arena| *arena != Arena::default());
        let version = layout.ok_or(Unknown::NotFound)?.version;
        Ok(Heap { version, arenas })
    }

    fn add(&mut self, extent: &Extent, found: Option<Use>, arena: &mut Arena) -> Option<()> {
        let size = extent.size / PAGE * PAGE;
        match found? {
            Use::Slab { class, free } => {
                let in_use = (size / class * class).saturating_sub(free);
                arena.in_use = arena.in_use.saturating_add(in_use);
                arena.active = arena.active.saturating_add(size);
                // Pages of a new slab that were never touched are not kept.
                let absent = if free >= PAGE {
                    size - self.placed(extent.address, size)?.total()
                } else {
                    0
                };
                let kept = free.saturating_sub(absent);
                arena.slab_free = arena.slab_free.saturating_add(kept);
            }
            Use::Large { class } => {
                arena.in_use = arena.in_use.saturating_add(class);
                arena.active = arena.active.saturating_add(size);
            }
            Use::Unused => arena.unused += self.placed(extent.address, size)?,
            Use::Nothing => {}
        }
        Some(())
    }
}

/// Returns the layout with which extents agree with their leaf; `None` if none of them is in use.
fn layout_of(extents: &[Extent], tree: Tree) -> Option<&'static Layout> {
    let sample: Vec<_> = extents
        .iter()
        .filter(|extent| extent.is_placed())
        .take(SAMPLES)
        .collect();
    let score = |layout: &Layout| {
        let used = sample.iter().map(|extent| match extent.read(layout, tree) {
            None => None,
            Some(Use::Slab { .. } | Use::Large { .. }) => Some(1),
            Some(_) => Some(0),
        });
        let right = used.clone().flatten().count();
        (right * 100 >= sample.len() * 95).then(|| used.flatten().sum::<usize>())
    };
    let scored = LAYOUTS.iter().filter_map(|layout| Some((score(layout)?, layout)));
    scored
        .max_by_key(|(used, _)| *used)
        .filter(|(used, _)| *used > 0)
        .map(|(_, layout)| layout)
}

/// Reads the heap of jemalloc.
///
/// # Errors
/// See [`Unknown`].
pub fn read(memory: &mut dyn Memory) -> Result<Heap, Unknown> {
    scan::read(memory, Scan::root, |scan, (root, tree)| scan.heap(root, tree))
}

impl Heap {
    /// Returns the sum of its arenas.
    pub fn total(&self) -> Arena {
        let mut sum = Arena::default();
        self.arenas.values().for_each(|arena| sum += *arena);
        sum
    }

    /// Converts the heap into the form that runtimes have: an arena is a part.
    pub fn runtime(&self) -> Runtime {
        let mut runtime = Runtime::new(Kind::Jemalloc, self.version.to_owned());
        let part = |name: String, arena: &Arena| Part {
            name,
            used: arena.in_use,
            committed: Some(arena.active.saturating_add(arena.unused.total())),
            resident: Some(arena.in_use.saturating_add(arena.kept())),
            is_heap: true,
        };
        let mut arenas: Vec<_> = self.arenas.iter().collect();
        arenas.sort_by_key(|(_, arena)| std::cmp::Reverse(arena.in_use.saturating_add(arena.kept())));
        let (listed, rest) = arenas.split_at(arenas.len().min(LISTED));
        runtime
            .parts
            .extend(listed.iter().map(|(at, arena)| part(format!("arena {at}"), arena)));
        if !rest.is_empty() {
            let mut sum = Arena::default();
            for (_, arena) in rest {
                sum += **arena;
            }
            runtime
                .parts
                .push(part(units::counted(rest.len() as u64, "more arena"), &sum));
        }
        if runtime.is_hoard() {
            runtime.remarks.push(self.remedy());
        }
        runtime
    }

    /// Returns the ways to return its free memory to the kernel, as a sentence.
    fn remedy(&self) -> String {
        let sum = self.total();
        let bytes = |n| units::bytes(n, Units::Auto);
        let purge = bytes(sum.unused.total());
        if sum.unused.total() >= sum.kept() / 2 {
            return format!(
                "A purge (mallctl arena.<i>.purge) would return {purge}; with background_thread:true in MALLOC_CONF, jemalloc \
                 purges without a call."
            );
        }
        let pieces = bytes(sum.slab_free);
        format!(
            "{pieces} of it lie between objects in use: a purge (mallctl arena.<i>.purge) would return only {purge}."
        )
    }
}
