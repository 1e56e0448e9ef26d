//! The objects of a Python program (`CPython` 3.8 to 3.14), read from outside: through the lists of the garbage collector and
//! the references of their objects.
//!
//! Layouts are those of 64-bit builds: `Include/internal/pycore_gc.h`, `pycore_interp.h`, `pycore_dict.h`, `Include/cpython/*.h`.
//! The lists are recognized by their consistency, so a change of the interpreter's structure does not matter. The program
//! controls its memory, so each pointer, size and loop is checked, and the work is bounded.

mod pools;
mod types;

use super::cache::Cache;
pub use pools::{Pools, pools};
use types::{Kind, Type, Types};

use super::runtimes::{Objects, TypeUse};
use super::{Memory, RegionKind, Regions};

/// A version of the interpreter: major and minor.
pub type Version = (u8, u8);

/// The versions whose layouts are known.
pub const VERSIONS: std::ops::RangeInclusive<Version> = (3, 8)..=(3, 14);

/// Maximum number of objects that are counted.
const MAX_OBJECTS: u64 = 1 << 28;
/// Maximum number of pages with counted objects, which take some 80 bytes each here; and of those outside of memory without a
/// file, because a process may map one page of a file millions of times.
const MAX_PAGES: usize = 2 << 20;
const MAX_FILE_PAGES: usize = 1 << 16;
/// Maximum number of references that wait: 16 MiB. Each is the rest of an object that holds another one, so they are as many as
/// objects are nested.
const MAX_TODO: usize = 1 << 18;
/// Maximum number of reads of the mappings.
const MAX_MAPS: u32 = 8;
/// The size from which an object must be within one mapping.
const LARGE: u64 = 1 << 20;
/// Maximum number of interpreters in a process.
const MAX_INTERPRETERS: usize = 64;
/// Maximum number of reads of an inconsistent list, and of a node.
const ATTEMPTS: u32 = 20;
/// The largest plausible address of a program, and the smallest.
const ADDRESSES: std::ops::Range<u64> = 0x1000..1 << 56;

/// Modules of the standard library whose classes any program has.
const LIBRARY: [&str; 32] = [
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "codecs",
    "collections",
    "concurrent",
    "contextlib",
    "dataclasses",
    "email",
    "enum",
    "functools",
    "http",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "json",
    "logging",
    "os",
    "pathlib",
    "re",
    "reprlib",
    "selectors",
    "socket",
    "ssl",
    "string",
    "threading",
    "types",
    "typing",
    "unittest",
    "weakref",
];

/// Returns true for a class of the standard library, such as `abc.ABCMeta`. Names with `_` in front are its private modules.
pub fn is_of_library(name: &str) -> bool {
    let top = name.split('.').next().unwrap_or(name);
    let is_private = top.starts_with('_') && !top.starts_with("__") && name != top;
    is_private || (name != top && LIBRARY.contains(&top))
}

/// The locations of an interpreter's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    pub version: Version,
    /// The address of `_PyRuntime`.
    pub address: u64,
}

/// The reason why no objects were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its structures are not those of a known version, or it is not initialized.
    Unknown,
    /// A build without the global lock has no lists of objects.
    FreeThreaded,
    /// A collection is under way, in which the lists are not consistent. It ends soon.
    Collecting,
}

impl Refusal {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "its structures are not those of CPython 3.8 to 3.14",
            Self::FreeThreaded => "a build without the GIL has no lists of its objects",
            Self::Collecting => "it collected garbage during every attempt to read it",
        }
    }
}

/// Counts the objects by type.
///
/// The bytes of an instance of a class include the dicts, lists, strings and numbers that it alone refers to. Everything else
/// counts for itself: each object once. Objects that only C code refers to, and the allocations of extensions, are not
/// found.
///
/// A collection makes the lists inconsistent: `pause` then waits some 20 ms for its end.
pub fn objects(memory: &mut dyn Memory, pause: &mut dyn FnMut(), runtime: Runtime) -> Result<Objects, Refusal> {
    let mut walk = Walk::new(memory, pause, runtime.version);
    let lists = walk.find_lists(runtime)?;
    walk.map();
    for fold in [true, false] {
        for list in &lists {
            walk.list(*list, &lists, fold);
        }
    }
    Ok(walk.finish())
}

/// A reference to follow: `count` entries of `stride` bytes, with pointers at the offsets.
#[derive(Clone, Copy)]
struct References {
    at: u64,
    count: u64,
    stride: u64,
    offsets: [u64; 2],
}

impl References {
    const fn array(at: u64, count: u64) -> Self {
        Self {
            at,
            count,
            stride: 8,
            offsets: [0, 0],
        }
    }
}

/// The blocks of a deque, linked to the right.
#[derive(Clone, Copy)]
struct Blocks {
    at: u64,
    last: u64,
    /// Maximum number of them.
    left: u64,
    /// The number of the deque's type.
    index: usize,
}

impl Blocks {
    /// The items of a block: `BLOCKLEN` of `_collectionsmodule.c`.
    const ITEMS: u64 = 64;
    /// A block has a link to the left, its items, and a link to the right.
    const LEN: u64 = (Self::ITEMS + 2) * 8;
}

/// A step that is still to be done.
#[derive(Clone, Copy)]
enum Todo {
    References(References),
    Blocks(Blocks),
}

/// The number of the type that owns the referenced objects; `None` if each object counts for itself.
type Owner = Option<usize>;

/// The beginning of an object.
#[derive(Clone, Copy)]
struct Header {
    references: u64,
    kind: u64,
    /// `ob_size`, or another field.
    size: u64,
}

struct Walk<'m> {
    memory: Cache<'m>,
    pause: &'m mut dyn FnMut(),
    version: Version,
    types: Types,
    counted: Bits,
    /// The count and bytes of each type.
    totals: Vec<(u64, u64)>,
    todo: Vec<(Todo, Owner)>,
    steps: u64,
    is_whole: bool,
    /// The mappings, the number of times that they were read, and the most bytes in them.
    regions: Regions,
    maps: u32,
    mapped: u64,
    /// Pages with counted objects that are not in memory without a file.
    file_pages: usize,
}

impl<'m> Walk<'m> {
    fn new(memory: &'m mut dyn Memory, pause: &'m mut dyn FnMut(), version: Version) -> Self {
        Self {
            memory: Cache::new(memory),
            pause,
            version,
            types: Types::new(version),
            counted: Bits::default(),
            totals: Vec::new(),
            todo: Vec::new(),
            steps: 0,
            is_whole: true,
            regions: Regions::default(),
            maps: 0,
            mapped: 0,
            file_pages: 0,
        }
    }

    /// Finds the lists, which may just change.
    fn find_lists(&mut self, runtime: Runtime) -> Result<Vec<u64>, Refusal> {
        let mut found = self.lists(runtime);
        for _ in 1..ATTEMPTS {
            if matches!(found, Ok(_) | Err(Refusal::FreeThreaded)) || self.memory.is_over() {
                break;
            }
            (self.pause)();
            self.memory.forget();
            found = self.lists(runtime);
        }
        found
    }

    /// Reads the mappings.
    fn map(&mut self) {
        self.maps += 1;
        let regions = self.memory.regions();
        let sizes = regions.all().iter().map(|region| region.end - region.start);
        let mapped = sizes.fold(0, u64::saturating_add);
        self.mapped = self.mapped.max(mapped);
        // Once the time is over, they cannot be read.
        if mapped > 0 {
            self.regions = regions;
        }
    }

    /// Returns the heads of the collector's lists in all interpreters.
    fn lists(&mut self, runtime: Runtime) -> Result<Vec<u64>, Refusal> {
        let unknown = Refusal::Unknown;
        let (mut head, mut next) = (if self.version <= (3, 10) { 32 } else { 40 }, 0);
        let cookie = self.memory.word(runtime.address).ok_or(unknown)?;
        if self.version >= (3, 13) {
            // `_Py_DebugOffsets`.
            if cookie != u64::from_le_bytes(*b"xdebugpy") {
                return Err(unknown);
            }
            let mut field = |at| self.memory.word(runtime.address.wrapping_add(at)).ok_or(unknown);
            if field(16)? != 0 {
                return Err(Refusal::FreeThreaded);
            }
            (head, next) = (field(40)?, field(64)?);
            if head > 1 << 20 || next > 1 << 20 {
                return Err(unknown);
            }
        }
        let mut lists = Vec::new();
        if self.version == (3, 8) {
            lists.extend(self.generations(runtime.address)?);
        }
        let mut interpreter = self.memory.word(runtime.address.wrapping_add(head)).ok_or(unknown)?;
        for _ in 0..MAX_INTERPRETERS {
            if interpreter == 0 {
                break;
            }
            if self.memory.is_over() {
                return Err(unknown);
            }
            if !ADDRESSES.contains(&interpreter) {
                return Err(unknown);
            }
            if self.version != (3, 8) {
                lists.extend(self.generations(interpreter)?);
            }
            interpreter = self.memory.word(interpreter + next).ok_or(unknown)?;
        }
        if lists.is_empty() { Err(unknown) } else { Ok(lists) }
    }

    /// Finds three generations and the permanent one. The head of each list is recognized because its neighbours point back to it.
    fn generations(&mut self, structure: u64) -> Result<[u64; 4], Refusal> {
        /// The size of a `gc_generation`, and the place of the permanent one and of `collecting`, since 3.8.
        const GENERATION: u64 = 24;
        const PERMANENT: u64 = 80;
        const COLLECTING: u64 = 176;
        /// The fields before them take up to 8 KiB.
        const MOST: u64 = 64 << 10;
        for at in (0..MOST).step_by(8) {
            let first = structure.wrapping_add(at);
            let has_threshold = |memory: &mut Cache<'_>, list: u64| {
                let counts = memory.word(list.wrapping_add(16))?;
                Some((counts as u32) < 1 << 30 && ((counts >> 32) as u32) < 1 << 30)
            };
            let mut is_list =
                |list| self.is_head(list) == Some(true) && has_threshold(&mut self.memory, list) == Some(true);
            if (0..3).all(|n| is_list(first.wrapping_add(n * GENERATION))) {
                // Since 3.14 the permanent one follows directly.
                let permanent = [PERMANENT, 3 * GENERATION]
                    .into_iter()
                    .map(|at| first.wrapping_add(at))
                    .find(|list| self.is_head(*list) == Some(true));
                let oldest = first.wrapping_add(2 * GENERATION);
                // `collecting` is beside the statistics of the generations.
                let collecting = self.memory.word(first.wrapping_add(COLLECTING)).unwrap_or(0) as u32;
                if self.version <= (3, 13) && collecting == 1 {
                    return Err(Refusal::Collecting);
                }
                return Ok([
                    first,
                    first.wrapping_add(GENERATION),
                    oldest,
                    permanent.unwrap_or(oldest),
                ]);
            }
        }
        Err(Refusal::Unknown)
    }

    fn is_head(&mut self, list: u64) -> Option<bool> {
        let (next, previous) = (
            self.memory.word(list)? & !3,
            self.memory.word(list.checked_add(8)?)? & !3,
        );
        if !ADDRESSES.contains(&next) || !ADDRESSES.contains(&previous) || !next.is_multiple_of(8) {
            return Some(false);
        }
        Some(self.memory.word(next + 8)? & !3 == list && self.memory.word(previous)? & !3 == list)
    }

    /// Walks a list. With `fold`, counts only instances of classes and the objects that only they refer to; otherwise the others.
    fn list(&mut self, head: u64, heads: &[u64], fold: bool) {
        for _ in 0..ATTEMPTS {
            match self.pass(head, heads, fold) {
                Some(is_whole) => {
                    self.is_whole &= is_whole;
                    return;
                }
                None if self.memory.is_over() => break,
                None => (self.pause)(),
            }
        }
        self.is_whole = false;
    }

    /// Walks a list once. Returns true if it came to its end, false if it cannot, and `None` if a collection interfered.
    fn pass(&mut self, head: u64, heads: &[u64], fold: bool) -> Option<bool> {
        let mut stuck = 0;
        let mut recent = [head; 32];
        let (mut anchor, mut power, mut length) = (head, 1_u64, 0_u64);
        let mut previous = head;
        loop {
            let next = self.memory.word(previous).map(|next| next & !3);
            // A collection moves objects to another list, whose head then ends this one.
            if next.is_some_and(|next| heads.contains(&next)) {
                return Some(true);
            }
            if self.is_over() {
                return Some(false);
            }
            let node = next.filter(|next| ADDRESSES.contains(next) && next.is_multiple_of(8));
            let is_sound = node.is_some_and(|node| {
                self.memory.word(node + 8).is_some_and(|back| back & !3 == previous) && self.node(node, fold).is_some()
            });
            let Some(node) = node.filter(|_| is_sound) else {
                // The node is gone: resume at the last one that still exists.
                self.memory.forget();
                let resumed = recent
                    .iter()
                    .rev()
                    .copied()
                    .find(|node| self.is_head(*node) == Some(true))?;
                stuck = if resumed == previous { stuck + 1 } else { 0 };
                if stuck >= ATTEMPTS {
                    return None;
                }
                previous = resumed;
                (anchor, length) = (resumed, 0);
                continue;
            };
            // A list that loops would never return to its head: Brent's algorithm.
            if node == anchor {
                return Some(false);
            }
            length += 1;
            if length == power {
                (anchor, power, length) = (node, power * 2, 0);
            }
            recent.rotate_left(1);
            recent[31] = node;
            previous = node;
        }
    }

    fn is_over(&mut self) -> bool {
        self.steps += 1;
        let is_full = self.steps >= MAX_OBJECTS || self.counted.0.len() >= MAX_PAGES;
        is_full || self.memory.was_over() || (self.steps.is_multiple_of(256) && self.memory.is_over())
    }

    /// Counts an object of a list; with `fold`, an instance of a class and the objects that only it refers to. Returns `None` if
    /// it is no object.
    fn node(&mut self, node: u64, fold: bool) -> Option<()> {
        let object = node + 16;
        let header = self.header(object)?;
        let index = self.types.find(&mut self.memory, header.kind)?;
        if fold != self.types.at(index).is_class || !self.note(object) {
            return Some(());
        }
        let bytes = self.open(object, header, index, fold.then_some(index));
        self.add(index, 1, bytes);
        while let Some((todo, owner)) = self.todo.pop() {
            if self.is_over() {
                self.is_whole = false;
                self.todo.clear();
                break;
            }
            match todo {
                Todo::References(references) => self.follow(references, owner),
                Todo::Blocks(blocks) => self.follow_blocks(blocks, owner),
            }
        }
        Some(())
    }

    /// Notes an object, or a block of one. Returns false if it was noted before, or if there is no room for more.
    fn note(&mut self, address: u64) -> bool {
        let pages = self.counted.0.len();
        let is_new = self.counted.insert(address);
        if self.counted.0.len() > pages {
            let region = self.regions.find(address);
            let is_own = region.is_some_and(|region| matches!(region.kind, RegionKind::Anonymous | RegionKind::Heap));
            self.file_pages += usize::from(!is_own);
            if self.file_pages > MAX_FILE_PAGES {
                self.counted.drop_page(address);
                self.is_whole = false;
                return false;
            }
        }
        is_new
    }

    /// Follows one entry, and returns the rest to the list.
    fn follow(&mut self, references: References, owner: Owner) {
        let References {
            at,
            count,
            stride,
            offsets,
        } = references;
        let Some(rest) = count.checked_sub(1) else { return };
        if rest > 0 {
            let at = at.wrapping_add(stride);
            self.push(
                References {
                    at,
                    count: rest,
                    ..references
                },
                owner,
            );
        }
        self.refer(at.wrapping_add(offsets[0]), owner);
        if offsets[1] != offsets[0] {
            self.refer(at.wrapping_add(offsets[1]), owner);
        }
    }

    /// Follows one block, and returns the rest to the list.
    fn follow_blocks(&mut self, blocks: Blocks, owner: Owner) {
        let Blocks { at, last, left, index } = blocks;
        let Some(left) = left.checked_sub(1) else { return };
        if !ADDRESSES.contains(&at) || !at.is_multiple_of(8) {
            return;
        }
        let Some(next) = self.memory.word(at + Blocks::LEN - 8) else {
            return;
        };
        // Links that loop would count a block again and again.
        if !self.note(at) {
            self.is_whole = false;
            return;
        }
        self.add(owner.unwrap_or(index), 0, Blocks::LEN);
        // The link of the last block is not set.
        if at != last {
            let at = next;
            self.wait(Todo::Blocks(Blocks { at, left, ..blocks }), owner);
        }
        self.push(References::array(at + 8, Blocks::ITEMS), owner);
    }

    fn push(&mut self, references: References, owner: Owner) {
        self.wait(Todo::References(references), owner);
    }

    fn wait(&mut self, todo: Todo, owner: Owner) {
        if self.todo.len() < MAX_TODO {
            self.todo.push((todo, owner));
        } else {
            self.is_whole = false;
        }
    }

    /// Counts the object that the pointer at an address refers to, if no list has it: for `owner` if that alone refers to it,
    /// otherwise for its own type.
    fn refer(&mut self, at: u64, owner: Owner) -> Option<()> {
        let object = self.memory.word(at)?;
        if !ADDRESSES.contains(&object) || !object.is_multiple_of(8) || self.counted.contains(object) {
            return None;
        }
        let header = self.header(object)?;
        let index = self.types.find(&mut self.memory, header.kind)?;
        let kind = self.types.at(index);
        let owner = owner.filter(|_| header.references == 1 && kind.is_value());
        if owner.is_none() && kind.has_gc() && self.memory.word(object.wrapping_sub(16))? != 0 {
            return None;
        }
        self.note(object).then_some(())?;
        let bytes = self.open(object, header, index, owner);
        self.add(owner.unwrap_or(index), u64::from(owner.is_none()), bytes);
        Some(())
    }

    fn add(&mut self, index: usize, count: u64, bytes: u64) {
        if self.totals.len() <= index {
            self.totals.resize(index + 1, (0, 0));
        }
        let total = &mut self.totals[index];
        *total = (total.0 + count, total.1.saturating_add(bytes));
    }

    fn header(&mut self, object: u64) -> Option<Header> {
        let [references, kind, size] = self.memory.words(object)?;
        // Since 3.12 it has 32 bits, and since 3.14 flags above them.
        let references = if self.version >= (3, 12) {
            references & 0xffff_ffff
        } else {
            references
        };
        (references > 0).then_some(Header { references, kind, size })
    }

    /// Returns the bytes of an object with its buffers, and adds its references to the list.
    fn open(&mut self, object: u64, header: Header, index: usize, owner: Owner) -> u64 {
        let kind = self.types.at(index).clone();
        let mut fixed = kind.basic;
        // The variable part, and its place.
        let (variable, place) = match kind.kind {
            Kind::List => self.open_list(object, header, owner),
            Kind::Tuple => {
                let items = clamp(header.size);
                self.push(References::array(object + self.types.tuple_items(), items), owner);
                (items * 8, object)
            }
            Kind::Dict => self.open_dict(object, owner),
            Kind::Set => self.open_set(object, owner),
            Kind::Text => {
                let size = self.types.text_size(&mut self.memory, object);
                let size = size.filter(|size| self.is_plausible(object, *size));
                fixed = if size.is_some() { 0 } else { kind.basic };
                (size.unwrap_or(0), object)
            }
            Kind::Int if self.version >= (3, 12) => (clamp(header.size >> 3) * 4, object),
            // Its blocks count when they are followed.
            Kind::Deque => {
                self.open_deque(object, header, index, owner);
                (0, object)
            }
            Kind::Bytearray => {
                let words = self.memory.words(object + 24);
                words.map_or((0, object), |[allocated, bytes]| (clamp(allocated), bytes))
            }
            Kind::Array => self.open_array(object),
            // Of a generator it is another field.
            Kind::Int | Kind::Other => {
                let bytes = clamp(header.size.cast_signed().unsigned_abs()).saturating_mul(kind.item);
                (bytes, object)
            }
        };
        let variable = if self.is_plausible(place, variable) {
            variable
        } else {
            0
        };
        // A class may derive from a dict, and have attributes, too.
        let attributes = if kind.is_class {
            self.open_attributes(object, &kind, owner)
        } else {
            0
        };
        let fixed = kind.prefix().saturating_add(fixed);
        fixed
            .saturating_add(if kind.is_sized() { variable } else { 0 })
            .saturating_add(attributes)
    }

    /// Returns true unless the bytes are so many that one mapping must hold them, and none does.
    fn is_plausible(&mut self, at: u64, bytes: u64) -> bool {
        if bytes < LARGE || self.regions.holds(at, bytes) {
            return true;
        }
        // It may be newer than the mappings.
        if bytes < self.mapped && self.maps < MAX_MAPS {
            self.map();
        }
        self.regions.holds(at, bytes)
    }

    /// Returns the bytes of its items, and their place.
    fn open_list(&mut self, object: u64, header: Header, owner: Owner) -> (u64, u64) {
        let Some([items, allocated]) = self.memory.words(object + 24) else {
            return (0, object);
        };
        let allocated = clamp(allocated);
        if items != 0 && header.size <= allocated {
            self.push(References::array(items, header.size), owner);
        }
        (allocated * 8, items)
    }

    /// Returns the bytes of its table, and their place.
    fn open_set(&mut self, object: u64, owner: Owner) -> (u64, u64) {
        let Some([mask, table]) = self.memory.words(object + 32) else {
            return (0, object);
        };
        let size = clamp(mask) + 1;
        if size.is_power_of_two() {
            let entries = References {
                at: table,
                count: size,
                stride: 16,
                offsets: [0, 0],
            };
            self.push(entries, owner);
        }
        // Small sets have their table in themselves.
        if (object..object + 200).contains(&table) {
            (0, object)
        } else {
            (size * 16, table)
        }
    }

    fn open_deque(&mut self, object: u64, header: Header, index: usize, owner: Owner) {
        let Some([at, last]) = self.memory.words(object + 24) else {
            return;
        };
        // The first block and the last one are partly used.
        let left = clamp(header.size) / Blocks::ITEMS + 2;
        let blocks = Blocks { at, last, left, index };
        self.wait(Todo::Blocks(blocks), owner);
    }

    /// Returns the bytes of an array of numpy that owns its data, and their place: its largest dimension times its stride.
    fn open_array(&mut self, object: u64) -> (u64, u64) {
        const OWNS_DATA: u64 = 4;
        let Some([data, dimensions, sizes, strides, _, _, flags]) = self.memory.words(object + 16) else {
            return (0, object);
        };
        if flags & OWNS_DATA == 0 {
            return (0, object);
        }
        let dimensions = u64::from(dimensions as u32).min(64);
        let largest = (0..dimensions).filter_map(|n| {
            let (size, stride) = (
                self.memory.word(sizes.wrapping_add(n * 8))?,
                self.memory.word(strides.wrapping_add(n * 8))?,
            );
            Some(clamp(size).saturating_mul(clamp(stride)))
        });
        (largest.max().map_or(0, clamp), data)
    }

    /// Returns the bytes of its table, and their place.
    fn open_dict(&mut self, object: u64, owner: Owner) -> (u64, u64) {
        let Some([keys, values]) = self.memory.words(object + 32) else {
            return (0, object);
        };
        let Some(table) = self.keys(keys) else {
            return (0, object);
        };
        // The keys of split tables belong to a class, and those of empty ones to the interpreter.
        if values == 0 {
            self.push(table.references, owner);
            (table.bytes, keys)
        } else {
            // Its keys are the class's, and the values may be inside the instance.
            let values_at = if self.version >= (3, 13) {
                values.wrapping_add(8)
            } else {
                values
            };
            self.push(References::array(values_at, table.references.count), owner);
            (table.usable * 8, values)
        }
    }

    fn keys(&mut self, keys: u64) -> Option<Keys> {
        let old = self.version <= (3, 10);
        let (log2_size, index_bytes, header, entry, entries);
        if old {
            let [size, _, _, count] = self.memory.words(keys.checked_add(8)?)?;
            if !size.is_power_of_two() {
                return None;
            }
            log2_size = size.trailing_zeros();
            let width = match size {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                0x1_0000..=0xffff_ffff => 4,
                _ => 8,
            };
            (index_bytes, header, entry, entries) = (clamp(size).checked_mul(width)?, 40, 24, count);
        } else {
            let [shape, _, count] = self.memory.words(keys.checked_add(8)?)?;
            log2_size = u32::from(shape as u8);
            let log2_index = u32::from((shape >> 8) as u8);
            let has_hashes = (shape >> 16) as u8 == 0;
            if log2_index > 40 {
                return None;
            }
            (index_bytes, header, entry, entries) = (1 << log2_index, 32, if has_hashes { 24 } else { 16 }, count);
        }
        if log2_size > 36 {
            return None;
        }
        let usable = (2_u64 << log2_size) / 3;
        if entries > usable.max(30) {
            return None;
        }
        // The table of all empty dicts.
        Some(Keys {
            bytes: if log2_size == 0 {
                0
            } else {
                header + index_bytes + usable * entry
            },
            usable,
            references: References {
                at: keys.wrapping_add(header + index_bytes),
                count: entries,
                stride: entry,
                offsets: if entry == 24 { [8, 16] } else { [0, 8] },
            },
        })
    }

    /// Puts the attributes of an instance on the list. Returns the bytes of values beside it.
    fn open_attributes(&mut self, object: u64, kind: &Type, owner: Owner) -> u64 {
        let mut bytes = 0;
        if kind.has_managed_dict() {
            bytes = self.open_managed(object, kind, owner).unwrap_or(0);
        } else if let Ok(offset @ 16..) = u64::try_from(kind.dict_offset) {
            self.push(References::array(object.wrapping_add(offset), 1), owner);
        }
        // Slots, and the fields of an extension's type.
        let base = kind.kind.fields();
        if let Some(fields) = kind.basic.checked_sub(base).filter(|fields| *fields <= 1024) {
            self.push(References::array(object + base, fields / 8), owner);
        }
        bytes
    }

    fn open_managed(&mut self, object: u64, kind: &Type, owner: Owner) -> Option<u64> {
        let dict = object.checked_sub(24)?;
        if self.version >= (3, 13) {
            self.push(References::array(dict, 1), owner);
            if !kind.has_inline_values() {
                return None;
            }
            // The capacity, the count, and whether they are in use, as bytes.
            let values = object + kind.basic;
            let shape = self.memory.word(values)?;
            let capacity = shape & 0xff;
            if (shape >> 24) & 0xff != 0 {
                self.push(References::array(values + 8, capacity), owner);
            }
            return Some(8 + capacity * 8 + capacity.next_multiple_of(8));
        }
        let values = if self.version >= (3, 12) {
            let tagged = self.memory.word(dict)?;
            if tagged & 1 == 0 {
                self.push(References::array(dict, 1), owner);
                return None;
            }
            tagged.wrapping_add(1)
        } else {
            self.push(References::array(dict, 1), owner);
            self.memory.word(object.checked_sub(32)?)?
        };
        if !ADDRESSES.contains(&values) || !values.is_multiple_of(8) {
            return None;
        }
        // The bytes before the values are the order of insertion, and the last is their number.
        let prefix = self.memory.word(values - 8)? >> 56;
        let slots = prefix.checked_sub(2)?;
        self.push(References::array(values, slots.min(30)), owner);
        Some(prefix + slots * 8)
    }

    fn finish(mut self) -> Objects {
        self.map();
        let mut types: std::collections::BTreeMap<String, TypeUse> = std::collections::BTreeMap::new();
        for (index, (count, bytes)) in self.totals.into_iter().enumerate() {
            if count == 0 {
                continue;
            }
            let kind = self.types.at(index);
            let of = types.entry(kind.name.clone()).or_insert_with(|| TypeUse {
                name: kind.name.clone(),
                count: 0,
                bytes: 0,
                is_own: kind.is_class && !is_of_library(&kind.name),
            });
            of.count += count;
            of.bytes = of.bytes.saturating_add(bytes);
        }
        let mut types: Vec<_> = types.into_values().collect();
        // Structures that a program makes up may overlap.
        let bytes = types.iter().fold(0_u64, |sum, of| sum.saturating_add(of.bytes));
        for of in &mut types {
            of.bytes = of.bytes.min(self.mapped);
        }
        types.sort_by_key(|of| std::cmp::Reverse(of.bytes));
        let is_cut = bytes > self.mapped || self.types.is_full() || self.memory.was_over();
        Objects {
            types,
            is_whole: self.is_whole && !is_cut,
        }
    }
}

struct Keys {
    bytes: u64,
    usable: u64,
    references: References,
}

/// Returns a size, or 0 if no object could have it.
const fn clamp(size: u64) -> u64 {
    if size < 1 << 47 { size } else { 0 }
}

/// A set of addresses of objects, which are multiples of 16.
#[derive(Default)]
struct Bits(std::collections::HashMap<u64, [u64; 4]>);

impl Bits {
    const fn place(address: u64) -> (u64, usize, u64) {
        let bit = (address >> 4) & 0xff;
        (address >> 12, (bit / 64) as usize, 1 << (bit % 64))
    }

    fn drop_page(&mut self, address: u64) {
        self.0.remove(&Self::place(address).0);
    }

    fn contains(&self, address: u64) -> bool {
        let (page, word, bit) = Self::place(address);
        self.0.get(&page).is_some_and(|bits| bits[word] & bit != 0)
    }

    /// Returns true if it was not in the set.
    fn insert(&mut self, address: u64) -> bool {
        let (page, word, bit) = Self::place(address);
        let bits = &mut self.0.entry(page).or_default()[word];
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }
}
