//! The heap of gperftools' tcmalloc, 2.6 and later, on 64-bit machines, read from outside.
//!
//! tcmalloc divides its memory into spans of pages. All of its structures begin in its own data:
//!
//! ```text
//! size map         the size of each class of blocks, and the pages of its spans
//! central lists    one per class, 1216 bytes each: its number, two lists of spans, number of spans, number of free blocks,
//!                  and its transfer cache
//! page heap        page map: pointers to leaves of one pointer to a span per page
//!                  two lists of free spans per length; counters of all bytes, of free and of returned ones
//! thread caches    a linked list, with a list of free blocks per class
//! span             48 bytes: first page, number of pages, next, previous, free blocks, and bits for the blocks in use
//!                  (0-15), the class (16-23) and the state (24-25)
//! ```
//!
//! There are no symbols. An empty list of spans points to itself, so the central lists are recognized by their lists and their
//! numbers, and the page heap by its lists. The size map has as many classes as there are central lists. The page map leads to a
//! known span, and the caches repeat the sizes of the classes. Finally, the spans must agree with the counters.

use std::collections::HashSet;

use super::kinds::Kind;
use super::runtimes::{Part, Runtime};
use super::scan::{self, PAGE, Scan};
use super::{Memory, Placed, RegionKind, Regions, Unknown};
use crate::units::{self, Units};

/// Bytes of a span, and of a central list.
const SPAN: u64 = 48;
const CENTRAL: usize = 1216;
/// Positions in a central list: number, its two lists of spans, number of spans, free blocks, used slots of the transfer cache.
const NUMBER: usize = 8;
const LISTS: [u64; 2] = [16, 64];
const SPANS: usize = 112;
const FREE: usize = 120;
const SLOTS: usize = 1152;
const MAX_SLOTS: u64 = 64;
/// Number of elements of the arrays by size class, since 2.8 and before, and minimum number of classes.
const ARRAYS: [usize; 2] = [128, 96];
const MIN_CLASSES: usize = 16;
/// Maximum size of a class.
const MAX_SIZE: u64 = 1 << 20;
/// Bits of an address.
const ADDRESS: u32 = 48;
/// Bytes of a list of a thread's cache, and the positions of its length and its size.
const LIST: usize = 32;
const LENGTH: usize = 8;
const SIZE: usize = 24;
/// Bytes between the lists of a cache and the pointer to the next one, which that to the previous one follows: since 2.16, and before.
const BEFORE_LINKS: [usize; 2] = [32, 48];
/// Number of searches for what changes meanwhile.
const TRIES: u32 = 4;
/// Maximum number of the caches of threads.
const MAX_CACHES: u64 = 1 << 16;
/// The data on both sides of the central lists that has the other structures.
const NEAR: u64 = 4 << 20;
/// Maximum number of empty lists in the data.
const MAX_LISTS: usize = 1 << 16;
/// Number of pages of which the spans are read at once.
const BATCH: u64 = 512;

/// The heap of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// The versions with this layout.
    pub version: &'static str,
    /// The largest size of a class: larger blocks have a span of their own.
    pub largest: u64,
    /// Bytes in use in blocks of a size class, and in blocks with a span of their own.
    pub small: u64,
    pub large: u64,
    /// Bytes of the spans of the size classes.
    pub spans: u64,
    /// The free part of these spans that is in RAM or in swap, with what is in caches.
    pub between: u64,
    /// Free blocks in the caches of threads, and the number of these.
    pub cached: u64,
    pub threads: u64,
    /// Free pages that were not returned to the kernel, and those of them that `ReleaseFreeMemory` returns.
    pub free: u64,
    pub unused: Placed,
}

/// The positions of the structures, and the size map.
#[derive(Clone, Copy)]
struct Root {
    version: &'static str,
    /// The central list of class 0.
    central: u64,
    classes: usize,
    /// Number of elements of an array by class.
    elements: usize,
    /// By class: bytes of a block, bytes of a span, and blocks in a slot of the transfer cache.
    sizes: [u64; ARRAYS[0]],
    lengths: [u64; ARRAYS[0]],
    moved: [u64; ARRAYS[0]],
    /// Bytes of a page of tcmalloc, as a power of 2.
    shift: u32,
    counters: u64,
    map: u64,
    /// The place of a pointer to the cache of a thread, and the position of the pointer to the next one.
    caches: u64,
    links: usize,
}

/// The counters of tcmalloc, in bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    system: u64,
    free: u64,
    /// Free blocks in spans, and the ends of spans that are too short for a block.
    central: u64,
    transfer: u64,
    cached: u64,
    threads: u64,
    in_use: u64,
}

/// The sums over all spans, in bytes.
#[derive(Clone, Copy, Default)]
struct Spans {
    all: u64,
    small: u64,
    /// Blocks of the size classes that are in use or in a cache.
    taken: u64,
    large: u64,
    free: u64,
    unused: Placed,
    /// Free blocks in spans that are in RAM or in swap.
    kept: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let found = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    found.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> u64 {
    word(bytes, at) & u64::from(u32::MAX)
}

/// Returns the bytes by which figures may differ that are not read at the same moment.
const fn slack(bytes: u64) -> u64 {
    bytes / 20 + (1 << 20)
}

/// Returns the bytes of a whole, if that many were found in a part of it.
fn scaled(found: u64, whole: u64, part: u64) -> u64 {
    let scaled = u128::from(found) * u128::from(whole) / u128::from(part.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Returns true if a structure in memory without a file may be at that address.
fn is_memory(regions: &Regions, address: u64) -> bool {
    let region = regions.find(address).filter(|_| address.is_multiple_of(8));
    region.is_some_and(|region| matches!(region.kind, RegionKind::Anonymous | RegionKind::Heap))
}

impl Root {
    /// Returns the bits of a page's number that are an index of a leaf.
    const fn leaf_bits(&self) -> u32 {
        (ADDRESS - self.shift).div_ceil(2)
    }
}

impl Scan<'_> {
    /// Finds the structures in the data of the program and its libraries.
    fn statics(&mut self) -> Result<Root, Unknown> {
        let (mut lists, mut sizes) = (Vec::new(), Vec::new());
        let end = self.search(|_, place, word| {
            // The pointer to the next span of an empty list, and the first classes, of 0, 8 and 16 bytes.
            if word != 0 && Some(word) == place.checked_sub(16) && lists.len() < MAX_LISTS {
                lists.push(word);
            }
            match word {
                0x8_0000_0000 if sizes.len() < MAX_LISTS => sizes.push(place),
                0x10_0000_0008 if sizes.len() < MAX_LISTS => sizes.push(place.saturating_sub(4)),
                _ => {}
            }
            None::<()>
        });
        if let Err(why) = end
            && why != Unknown::NotFound
        {
            return Err(why);
        }
        let set: HashSet<u64> = lists.iter().copied().collect();
        let (central, classes) = lists
            .iter()
            .find_map(|list| self.central(*list, &set))
            .ok_or(Unknown::NotFound)?;
        let mut root = sizes
            .iter()
            .flat_map(|place| ARRAYS.map(|elements| (*place, elements)))
            .find_map(|(place, elements)| self.size_map(place, central, [classes, elements]))
            .ok_or(Unknown::NotFound)?;
        let ours = central..central + (classes * CENTRAL) as u64;
        let has_neighbor = |list: &&u64| set.contains(&(**list + SPAN)) && !ours.contains(*list);
        let (pairs, counters) = lists
            .iter()
            .filter(has_neighbor)
            .find_map(|list| self.page_lists(*list))
            .ok_or(Unknown::Strange("its lists of free pages were not found"))?;
        root.counters = counters;
        root.shift = 20 - pairs.ilog2();
        for length in &mut root.lengths {
            *length = length.checked_shl(root.shift).unwrap_or(u64::MAX);
        }
        // Its own structures change meanwhile.
        for _ in 0..TRIES {
            if let Some(root) = self.pointed(root)? {
                let is_new = root.links == root.elements * LIST + BEFORE_LINKS[0];
                let version = match root.elements {
                    128 if is_new => "gperftools 2.16 or later",
                    128 => "gperftools 2.8 to 2.15",
                    _ if pairs.is_power_of_two() => "gperftools 2.7",
                    _ => "gperftools 2.6",
                };
                return Ok(Root { version, ..root });
            }
        }
        Err(Unknown::Strange(
            "its page map or the caches of its threads were not found",
        ))
    }

    /// Adds the page map and the caches of threads, to which pointers in the data lead.
    fn pointed(&mut self, mut root: Root) -> Result<Option<Root>, Unknown> {
        let pointers = self.pointers_near(root.central).ok_or(Unknown::Moving)?;
        let Some(map) = self.page_map(&root, &pointers) else {
            return Ok(None);
        };
        root.map = map;
        let mut most = 0;
        let mut refused = HashSet::new();
        for (place, pointer) in &pointers {
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let cache = self.cache(&root, *pointer).filter(|_| refused.insert(*pointer));
            let Some(cache) = cache else { continue };
            // Before 2.16, the thread's number is where the pointers are now: it leads to no cache.
            let mut is_link = |at| word(&cache, at) == 0 || self.cache(&root, word(&cache, at)).is_some();
            let mut links = BEFORE_LINKS.map(|before| root.elements * LIST + before).into_iter();
            let Some(links) = links.find(|at| is_link(*at) && is_link(at + 8)) else {
                continue;
            };
            let caches = *place;
            let tried = Root { caches, links, ..root };
            let count = self.caches(&tried).map_or(0, |(_, count)| count);
            if count > most {
                (root, most) = (tried, count);
            }
        }
        Ok((most > 0).then_some(root))
    }

    fn word_at(&mut self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read(at, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// Returns bytes of data. Those of pages that are not in RAM are 0.
    fn block(&mut self, at: u64, len: usize) -> Option<Vec<u8>> {
        let start = at / PAGE * PAGE;
        let skipped = (at - start) as usize;
        let mut bytes = vec![0; (skipped + len).next_multiple_of(PAGE as usize)];
        self.resident(start, &mut bytes)?;
        bytes.drain(..skipped);
        bytes.truncate(len);
        Some(bytes)
    }

    /// Returns the central list of class 0 and the number of classes, if `list` is its first list of spans.
    fn central(&mut self, list: u64, lists: &HashSet<u64>) -> Option<(u64, usize)> {
        let central = list.checked_sub(LISTS[0]).filter(|_| !self.memory.is_over())?;
        lists.contains(&(central + LISTS[1])).then_some(())?;
        let bytes = self.block(central, ARRAYS[0] * CENTRAL)?;
        let is_central = |(class, bytes): &(usize, &[u8])| {
            word(bytes, NUMBER) == *class as u64
                && LISTS.iter().all(|at| {
                    let [start, length, next, previous] = [0, 8, 16, 24].map(|field| word(bytes, *at as usize + field));
                    start == 0 && length == 0 && next != 0 && previous != 0
                })
        };
        let classes = bytes.chunks_exact(CENTRAL).enumerate().take_while(is_central).count();
        (classes >= MIN_CLASSES).then_some((central, classes))
    }

    /// Returns a root with the size map whose sizes begin at `place`, if it has that many classes.
    fn size_map(&mut self, place: u64, central: u64, [classes, elements]: [usize; 2]) -> Option<Root> {
        let len = 4 * elements;
        let before = place.checked_sub(len as u64).filter(|_| !self.memory.is_over())?;
        let pages_at = ((place + len as u64).next_multiple_of(8) - before) as usize;
        let bytes = self.block(before, pages_at + 2 * len)?;
        (classes <= elements).then_some(())?;
        let mut root = Root {
            version: "",
            central,
            classes,
            elements,
            sizes: std::array::from_fn(|class| half(&bytes, len + 4 * class)),
            // In pages.
            lengths: std::array::from_fn(|class| word(&bytes, pages_at + 8 * class)),
            moved: std::array::from_fn(|class| half(&bytes, 4 * class)),
            shift: 0,
            counters: 0,
            map: 0,
            caches: 0,
            links: 0,
        };
        root.sizes[classes..].fill(0);
        let ascends = root.sizes[..classes]
            .windows(2)
            .all(|pair| pair[0] < pair[1] && pair[1].is_multiple_of(8) && pair[1] <= MAX_SIZE);
        let are_set = (1..classes).all(|class| (1..=1 << 10).contains(&root.lengths[class]) && root.moved[class] > 0);
        let is_end = classes == elements || half(&bytes, len + 4 * classes) == 0;
        (ascends && are_set && is_end).then_some(root)
    }

    /// Returns the number of pairs of lists of free spans that `list` is among, and the position after them. There is one pair
    /// for each number of pages up to 1 MiB; in 2.6, one of longer spans is before them.
    fn page_lists(&mut self, list: u64) -> Option<(u64, u64)> {
        const MAX: u64 = 2 * (256 + 1);
        let from = list.checked_sub(MAX * SPAN).filter(|_| !self.memory.is_over())?;
        let bytes = self.block(from, 2 * (MAX * SPAN) as usize)?;
        let is_list = |at: u64| {
            let place = at.checked_sub(from).unwrap_or(u64::MAX) as usize;
            let fields = [0, 8, 16, 24, 32, 40].map(|field| word(&bytes, place.saturating_add(field)));
            match fields {
                [0, 0, next, previous, 0, 0] => {
                    let is_empty = (next, previous) == (at, at);
                    is_empty || [next, previous].iter().all(|span| is_memory(&self.regions, *span))
                }
                _ => false,
            }
        };
        let (mut first, mut end) = (list, list);
        while is_list(first.saturating_sub(SPAN)) {
            first -= SPAN;
        }
        while is_list(end) {
            end += SPAN;
        }
        let lists = (end - first) / SPAN;
        let is_count = |pairs: u64| pairs.is_power_of_two() && (4..=256).contains(&pairs);
        let pairs = lists / 2;
        let fits = lists.is_multiple_of(2) && (is_count(pairs) || is_count(pairs.saturating_sub(1)));
        fits.then_some((pairs, end))
    }

    /// Returns the pointers to memory without a file in the data around a place, with their own places.
    fn pointers_near(&mut self, place: u64) -> Option<Vec<(u64, u64)>> {
        let regions = self.regions.clone();
        // The first part of the data has a file, the rest follows.
        let region = regions.find(place)?;
        let data = |at| regions.find(at).filter(|region| region.kind != RegionKind::Heap);
        let start = data(region.start.saturating_sub(1)).map_or(region.start, |before| before.start);
        let end = data(region.end).map_or(region.end, |after| after.end);
        let start = start.max(place.saturating_sub(NEAR) / PAGE * PAGE);
        let end = end.min(place.saturating_add(NEAR));
        let bytes = self.block(start, (end - start) as usize)?;
        let (words, _) = bytes.as_chunks::<8>();
        let words = (start..)
            .step_by(8)
            .zip(words.iter().map(|word| u64::from_le_bytes(*word)));
        Some(
            words
                .filter(|(_, word)| *word != 0 && is_memory(&regions, *word))
                .collect(),
        )
    }

    /// Returns the page map, to which one of the pointers belongs: it leads to a span of a central list.
    fn page_map(&mut self, root: &Root, pointers: &[(u64, u64)]) -> Option<u64> {
        let bytes = self.block(root.central, root.classes * CENTRAL)?;
        let lists = (0..root.classes).flat_map(|class| LISTS.map(|list| (class * CENTRAL) as u64 + list));
        let span = lists
            .map(|list| (root.central + list, word(&bytes, list as usize + 16)))
            .find(|(list, next)| list != next)
            .map(|(_, span)| span)?;
        let page = self.word_at(span)?;
        let (index, at) = (page >> root.leaf_bits(), page & ((1 << root.leaf_bits()) - 1));
        let mut leads = |leaf: u64| !self.memory.is_over() && self.word_at(leaf.saturating_add(at * 8)) == Some(span);
        let (place, _) = pointers.iter().find(|(_, leaf)| leads(*leaf))?;
        place.checked_sub(index.checked_mul(8)?)
    }

    /// Returns the cache of a thread at that address: it has the sizes of all classes.
    fn cache(&mut self, root: &Root, address: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; root.elements * LIST + BEFORE_LINKS[1] + 16];
        self.memory.read(address, &mut bytes).then_some(())?;
        let has_sizes = (0..root.classes).all(|class| half(&bytes, class * LIST + SIZE) == root.sizes[class]);
        has_sizes.then_some(bytes)
    }

    /// Returns the bytes in the caches of threads, and their number.
    fn caches(&mut self, root: &Root) -> Result<(u64, u64), Unknown> {
        let mut at = self.word_at(root.caches).ok_or(Unknown::Moving)?;
        let (mut before, mut bytes, mut count) = (0, 0_u64, 0);
        while at != 0 {
            count += 1;
            if count > MAX_CACHES || self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let cache = self.cache(root, at).ok_or(Unknown::Moving)?;
            // Neither a circle nor a list without its beginning has that.
            if word(&cache, root.links + 8) != before {
                return Err(Unknown::Moving);
            }
            for (class, size) in root.sizes.iter().enumerate().take(root.classes) {
                bytes = bytes.saturating_add(half(&cache, class * LIST + LENGTH) * size);
            }
            (before, at) = (at, word(&cache, root.links));
        }
        Ok((bytes, count))
    }

    /// Adds up the counters, as tcmalloc does for its own statistics.
    fn counted(&mut self, root: &Root) -> Result<Counted, Unknown> {
        let mut found = Counted::default();
        let mut bytes = vec![0; root.classes * CENTRAL];
        let mut counters = [0; 32];
        let is_read = self.memory.read(root.counters, &mut counters) && self.memory.read(root.central, &mut bytes);
        is_read.then_some(()).ok_or(Unknown::Moving)?;
        (found.cached, found.threads) = self.caches(root)?;
        let [system, free, unmapped, committed] = [0, 8, 16, 24].map(|at| word(&counters, at));
        (found.system, found.free) = (system, free);
        for (class, bytes) in bytes.chunks_exact(CENTRAL).enumerate().skip(1) {
            let (size, length) = (root.sizes[class], root.lengths[class]);
            let (spans, free, slots) = (word(bytes, SPANS), word(bytes, FREE), half(bytes, SLOTS));
            let most = spans.saturating_mul(length / size);
            if free > most || slots > MAX_SLOTS {
                return Err(Unknown::Moving);
            }
            let ends = spans.saturating_mul(length % size);
            let central = free.saturating_mul(size).saturating_add(ends);
            found.central = found.central.saturating_add(central);
            found.transfer = found.transfer.saturating_add(slots * root.moved[class] * size);
        }
        let unused = [free, unmapped, found.central, found.transfer, found.cached];
        let unused = unused.into_iter().fold(0, u64::saturating_add);
        if committed.checked_add(unmapped) != Some(system) || unused > system || system.trailing_zeros() < root.shift {
            return Err(Unknown::Moving);
        }
        found.in_use = system - unused;
        Ok(found)
    }

    /// Follows all spans by the page map. Ends early if there are more than `most` bytes of them.
    fn all_spans(&mut self, root: &Root, most: u64) -> Result<Spans, Unknown> {
        let mut found = Spans::default();
        let (bits, shift) = (root.leaf_bits(), root.shift);
        let leaves = self.entries_of(root.map, 8 << (ADDRESS - shift - bits), 8);
        let regions = self.regions.clone();
        // The first page that no span holds so far.
        let mut next = 0;
        self.forget();
        for (index, [leaf, _]) in leaves.ok_or(Unknown::Moving)? {
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let of_leaf = index << bits..(index + 1) << bits;
            // Only the regions in the leaf: there may be many of both.
            let all = regions.all();
            let from = all.partition_point(|region| region.end >> shift <= of_leaf.start);
            let within = all[from..]
                .iter()
                .take_while(|region| region.start >> shift < of_leaf.end);
            for region in within {
                let end = (region.end >> shift).min(of_leaf.end);
                let mut page = (region.start >> shift).max(of_leaf.start).max(next);
                while page < end {
                    if self.memory.is_over() {
                        return Err(Unknown::TooLarge);
                    }
                    // Few at once, because they change.
                    let count = (end - page).min(BATCH);
                    let at = leaf.saturating_add((page - of_leaf.start) * 8);
                    let bytes = self.block(at, count as usize * 8).ok_or(Unknown::Moving)?;
                    let (words, _) = bytes.as_chunks::<8>();
                    let words = (page..).zip(words.iter().map(|word| u64::from_le_bytes(*word)));
                    let mut batch: Vec<(u64, u64)> = words.filter(|(_, span)| *span != 0).collect();
                    batch.dedup_by_key(|(_, span)| *span);
                    let heads: Vec<u64> = batch.iter().map(|(_, span)| *span).collect();
                    let tails: Vec<u64> = heads.iter().map(|span| span.saturating_add(16)).collect();
                    let (mut starts, mut ends) = (vec![[0; 4]; batch.len()], vec![[0; 4]; batch.len()]);
                    let read = self.memory.read_each(&heads, &mut starts);
                    if read < batch.len() || self.memory.read_each(&tails, &mut ends) < batch.len() {
                        return Err(Unknown::Moving);
                    }
                    page += count;
                    for ((page, _), ([start, length, ..], [.., bits])) in batch.iter().zip(starts.iter().zip(&ends)) {
                        // Of the pages of a span, only the first one and the last one are up to date. A span that was divided or
                        // joined meanwhile is missed.
                        let span = [*start, *length, *bits];
                        if *page >= next && self.add_span(root, *page, span, &mut found).is_some() {
                            next = page + length;
                        }
                    }
                    page = page.max(next);
                    if found.all > most {
                        return Err(Unknown::Moving);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Adds a span that begins at a page: its first page, its length and its bits. `None` if it contradicts itself.
    fn add_span(&mut self, root: &Root, page: u64, [start, length, bits]: [u64; 3], found: &mut Spans) -> Option<()> {
        let (taken, class, state) = (bits & 0xffff, (bits >> 16 & 0xff) as usize, bits >> 24 & 3);
        let address = page << root.shift;
        let len = length.checked_mul(1 << root.shift)?;
        let is_placed = start == page && length > 0 && self.regions.holds(address, len);
        (is_placed && class < root.classes).then_some(())?;
        match (state, class) {
            (0, 0) => found.large += len,
            (0, class) => {
                let taken = taken * root.sizes[class];
                let free = len.checked_sub(taken)?;
                let absent = if free >= PAGE {
                    len - self.placed(address, len)?.total()
                } else {
                    0
                };
                found.small += len;
                found.taken += taken;
                found.kept += free.saturating_sub(absent);
            }
            (1, 0) => {
                found.free += len;
                found.unused += self.placed(address, len)?;
            }
            (2, 0) => {}
            _ => return None,
        }
        found.all += len;
        Some(())
    }

    /// Reads the counters and the spans once.
    fn tcmalloc(&mut self, root: &Root) -> Result<Heap, Unknown> {
        let before = self.counted(root)?;
        // They hold what was counted, also if the heap grew since it was found.
        self.regions = self.memory.regions().ok_or(Unknown::Moving)?;
        let spans = self.all_spans(root, before.system.saturating_mul(2).saturating_add(1 << 30))?;
        let (between, after) = (self.counted(root)?, self.counted(root)?);
        // The counters are not read at the same moment. If another read at once has the same sum, no block was missed.
        if between.in_use.abs_diff(after.in_use) > slack(after.in_use) / 2 {
            return Err(Unknown::Moving);
        }
        let is_quiet = before == after;
        let taken = spans.taken.saturating_add(spans.large);
        let taken_of = |counted: &Counted| counted.in_use + counted.transfer + counted.cached;
        // Spans that were divided or joined meanwhile were missed.
        let missed = before.system.min(after.system).saturating_sub(spans.all);
        let most = if is_quiet {
            slack(after.system)
        } else {
            after.system / 4
        };
        let fits = |found: u64, of: fn(&Counted) -> u64| {
            let (low, high) = (of(&before).min(of(&after)), of(&before).max(of(&after)));
            let found_at_most = found.saturating_add(missed);
            found_at_most.saturating_add(slack(low)) >= low && found <= high.saturating_add(slack(high))
        };
        let is_whole = missed <= most && fits(spans.all, |counted| counted.system);
        if !is_whole || !fits(spans.free, |counted| counted.free) || !fits(taken, taken_of) {
            // While free pages are returned to the kernel, which takes time, their span is free but not counted.
            return Err(if is_quiet && !is_whole {
                Unknown::Strange("its counters do not match its spans")
            } else {
                Unknown::Moving
            });
        }
        let large = spans.large.min(after.in_use);
        let small = after.in_use - large;
        let cached = after.cached.saturating_add(after.transfer);
        let between = scaled(spans.kept, after.system, spans.all).saturating_add(cached);
        Ok(Heap {
            version: root.version,
            largest: root.sizes[root.classes - 1],
            small,
            large,
            spans: spans.small,
            between: between.min(spans.small.saturating_sub(small)),
            cached: after.cached,
            threads: after.threads,
            free: after.free,
            unused: Placed {
                resident: scaled(spans.unused.resident, after.free, spans.free),
                swapped: scaled(spans.unused.swapped, after.free, spans.free),
            },
        })
    }
}

/// Reads the heap of tcmalloc.
///
/// # Errors
/// See [`Unknown`].
pub fn read(memory: &mut dyn Memory) -> Result<Heap, Unknown> {
    scan::read(memory, Scan::statics, |scan, root| scan.tcmalloc(&root))
}

impl Heap {
    /// Returns the bytes in use.
    pub const fn in_use(&self) -> u64 {
        self.small.saturating_add(self.large)
    }

    /// Returns the free bytes that are in RAM or in swap.
    pub const fn kept(&self) -> u64 {
        self.between.saturating_add(self.unused.total())
    }

    /// Converts the heap into the form that runtimes have.
    pub fn runtime(&self) -> Runtime {
        let mut runtime = Runtime::new(Kind::Tcmalloc, format!("tcmalloc of {}", self.version));
        let part = |name: String, used: u64, committed: u64, resident: u64| Part {
            name,
            used,
            committed: Some(committed),
            resident: Some(resident),
            is_heap: true,
        };
        let largest = units::bytes(self.largest, Units::Auto);
        let small = self.small.saturating_add(self.between);
        runtime.parts = vec![
            part(format!("blocks of up to {largest}"), self.small, self.spans, small),
            part("larger blocks".to_owned(), self.large, self.large, self.large),
            part("free pages".to_owned(), 0, self.free, self.unused.total()),
        ];
        runtime.parts.retain(|part| part.committed != Some(0));
        if runtime.is_hoard() {
            runtime.remarks.push(self.remedy());
        }
        runtime
    }

    /// Returns the ways to return its free memory to the kernel, as a sentence.
    fn remedy(&self) -> String {
        let bytes = |n| units::bytes(n, Units::Auto);
        let released = bytes(self.unused.total());
        let half = self.kept() / 2;
        if self.unused.total() >= half {
            return format!(
                "MallocExtension::ReleaseFreeMemory() would return {released}; with TCMALLOC_RELEASE_RATE=10, tcmalloc returns \
                 it sooner."
            );
        }
        if self.cached >= half {
            return format!(
                "{} of it are in the caches of {}, which TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES limits: \
                 MallocExtension::ReleaseFreeMemory() would return only {released}.",
                bytes(self.cached),
                units::counted(self.threads, "thread")
            );
        }
        format!(
            "{} of it lie between blocks in use: MallocExtension::ReleaseFreeMemory() would return only {released}.",
            bytes(self.between.saturating_sub(self.cached))
        )
    }
}
