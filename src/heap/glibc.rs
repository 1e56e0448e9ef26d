//! The heap of glibc 2.26 and newer on 64-bit machines, read from outside.
//!
//! There are no symbols, so structures are recognized by their invariants. An arena (`struct malloc_state` of `malloc/malloc.c`)
//! ends like this:
//!
//! ```text
//!   top, last_remainder        two pointers
//!   bins                       127 pairs of pointers; the pair of an empty bin points to 16 bytes before itself. The last
//!                              bin is always empty, because no size belongs to it
//!   binmap                     16 bytes
//!   next                       the next arena; the last one's is the first
//!   next_free
//!   attached_threads
//!   system_mem, max_system_mem
//! ```
//!
//! The fields before it differ: a lock and flags, then, from 2.27 to 2.42, a word and ten lists of small chunks. The circle of
//! `next` ends at the beginning of the first arena, which reveals the layout.

mod caches;

use std::collections::HashMap;

use super::{Arena, Chunks, Memory, Placed, Region, RegionKind, Regions, Unknown};

/// The size of a read, in bytes.
const PIECE: u64 = 4096;
/// Bytes of a chunk before its contents, and the smallest chunk.
const HEADER: u64 = 16;
const MIN_CHUNK: u64 = 32;
/// `sizeof (struct malloc_chunk)`: the part of a free chunk that `malloc_trim` leaves.
const CHUNK_HEAD: u64 = 48;
/// Bins of an arena.
const BINS: usize = 127;
const BINS_LEN: u64 = BINS as u64 * 16;
/// Bytes from the first bin to the end of an arena.
const TAIL: u64 = BINS_LEN + 16 + 5 * 8;
/// Offsets of the first bin in an arena: 2.27 to 2.42, 2.26, and 2.43 and later, which has no lists of small chunks.
const LAYOUTS: [u64; 3] = [112, 104, 24];
/// The lists of small chunks of the older layouts.
const FAST_BINS: u64 = 10;
/// Sizes of `heap_info`, which precedes an arena that is not the first: before and since 2.35.
const HEAP_INFOS: [u64; 2] = [32, 48];
/// The largest alignment of the heaps of such an arena (`HEAP_MAX_SIZE`).
const HEAP_ALIGNMENT: u64 = 64 << 20;

const MAX_ARENAS: usize = 4096;
/// Maximum number of bytes of data to search for the first arena.
const MAX_SEARCHED: u64 = 256 << 20;
/// Maximum number of chunks followed in one read.
const MAX_CHUNKS: u64 = 50_000_000;
/// Maximum number of reads of an arena that changes meanwhile, and of each of its lists.
const TRIES: u32 = 8;
const LIST_TRIES: u32 = 20;
/// Maximum number of ranges of free pages that are collected before a lookup.
const MAX_RANGES: usize = 64 << 10;
/// Maximum number of blocks of [`HEAP_ALIGNMENT`] bytes in which small free chunks are joined with their neighbours.
const MAX_BLOCKS: usize = 128;
/// Pages of the cache of the reader, and those that are read at once.
const CACHED: usize = 512;
const GROUP: u64 = 16;

/// The bits of a chunk's size.
const PREV_IN_USE: u64 = 1;
const FLAGS: u64 = 7;
/// The bits of `/proc/PID/pagemap`.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;

/// The heap of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    pub arenas: Vec<Arena>,
    /// Chunks with a mapping of their own, which `free` unmaps; `None` if they are not known.
    pub mapped: Option<Chunks>,
    /// Threads whose caches were read; `None` if none was found.
    pub caches: Option<u64>,
    /// There are more free chunks than could be followed. The free bytes, and the bytes that a trim returns, are lower bounds.
    pub is_partial: bool,
}

/// An arena as read from memory.
#[derive(Clone, PartialEq, Eq)]
struct State {
    address: u64,
    /// Offset of the first bin.
    layout: u64,
    fast: Vec<u64>,
    top: u64,
    /// The heads of the bins: the first and the last chunk.
    bins: Vec<(u64, u64)>,
    next: u64,
    system: u64,
    system_most: u64,
}

impl State {
    const fn bin(&self, at: usize) -> u64 {
        self.address + self.layout + at as u64 * 16 - HEADER
    }

    /// The placeholder for the top chunk until there is one.
    const fn initial_top(&self) -> u64 {
        self.bin(0)
    }
}

/// Reads memory in pages, some of which it caches, within limits.
struct Reader<'a, M> {
    memory: &'a mut M,
    regions: Regions,
    /// The region of the last address.
    last: Region,
    pages: Vec<(u64, u64)>,
    bytes: Vec<u8>,
    /// Pages of which a header was read alone, in the order of `pages`.
    touched: Vec<u64>,
    /// Pages of an older epoch are read again.
    epoch: u64,
    chunks: u64,
    page_size: u64,
    /// The limit on time or work was reached.
    is_partial: bool,
}

/// The first words of a chunk.
struct Chunk {
    size: u64,
    flags: u64,
    fd: u64,
    bk: u64,
}

fn word(bytes: &[u8], at: u64) -> u64 {
    let at = at as usize;
    let word = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    word.map_or(0, u64::from_le_bytes)
}

fn half(bytes: &[u8], at: u64) -> u64 {
    let at = at as usize;
    let half = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    u64::from(half.map_or(0, u32::from_le_bytes))
}

impl<'a, M: Memory> Reader<'a, M> {
    fn new(memory: &'a mut M) -> Self {
        Self {
            page_size: memory.page_size(),
            regions: Regions::default(),
            memory,
            last: Region {
                start: 0,
                end: 0,
                kind: RegionKind::Anonymous,
            },
            pages: vec![(0, u64::MAX); CACHED],
            bytes: vec![0; CACHED * PIECE as usize],
            touched: vec![u64::MAX; CACHED],
            epoch: 0,
            chunks: 0,
            is_partial: false,
        }
    }

    /// Drops the cached pages.
    const fn forget(&mut self) {
        self.epoch += 1;
    }

    /// Rereads the mappings.
    fn map(&mut self) -> Result<(), Unknown> {
        self.forget();
        self.regions = self.memory.regions().ok_or(Unknown::Moving)?;
        self.last.end = self.last.start;
        Ok(())
    }

    fn holds(&mut self, address: u64, len: u64) -> bool {
        if !(self.last.start..self.last.end).contains(&address) {
            let Some(region) = self.regions.find(address) else {
                return false;
            };
            self.last = *region;
        }
        self.last.end - address >= len
    }

    /// Returns true if the page of an address is cached.
    fn is_cached(&self, address: u64) -> bool {
        let page = address / PIECE;
        self.pages[page as usize % CACHED] == (page, self.epoch)
    }

    /// Returns true if a neighbouring page is cached.
    fn is_near(&self, address: u64) -> bool {
        self.is_cached(address.wrapping_sub(PIECE)) || self.is_cached(address.wrapping_add(PIECE))
    }

    /// Returns true if the whole page of an address should be read: it is likely to hold more headers. A page is copied in the time
    /// in which two headers are read alone.
    fn is_dense(&mut self, address: u64) -> bool {
        let page = address / PIECE;
        let before = std::mem::replace(&mut self.touched[page as usize % CACHED], page);
        before == page || self.is_near(address)
    }

    /// Reads the page of an address into its slot. If a neighbouring page is cached, reads a group of pages at once, unless some
    /// are in swap: those stay there.
    fn fill(&mut self, address: u64) -> bool {
        let page = address / PIECE;
        let first = page / GROUP * GROUP;
        let mut entries = [0; GROUP as usize];
        let reads_group = self.is_near(address)
            && self.page_size == PIECE
            && self.holds(first * PIECE, GROUP * PIECE)
            && self.memory.pages(first, &mut entries)
            && entries.iter().all(|entry| entry & PRESENT != 0);
        let (first, count) = if reads_group { (first, GROUP) } else { (page, 1) };
        let slot = first as usize % CACHED;
        let places = &mut self.pages[slot..slot + count as usize];
        places.fill((0, u64::MAX));
        let bytes = &mut self.bytes[slot * PIECE as usize..][..(count * PIECE) as usize];
        let is_read = self.memory.read(first * PIECE, bytes);
        if is_read {
            let pages = (first..).map(|page| (page, self.epoch));
            places.iter_mut().zip(pages).for_each(|(place, page)| *place = page);
        }
        is_read
    }

    /// Reads words, which may be cached.
    fn words<const N: usize>(&mut self, address: u64) -> Option<[u64; N]> {
        let len = N as u64 * 8;
        if !address.is_multiple_of(8) || !self.holds(address, len) {
            return None;
        }
        let offset = address % PIECE;
        let mut own = [0; 64];
        let bytes = if offset + len <= PIECE {
            if !self.is_cached(address) && !self.fill(address) {
                return None;
            }
            let slot = (address / PIECE) as usize % CACHED;
            &self.bytes[slot * PIECE as usize + offset as usize..][..len as usize]
        } else {
            let own = &mut own[..len as usize];
            if !self.memory.read(address, own) {
                return None;
            }
            own
        };
        Some(std::array::from_fn(|at| word(bytes, at as u64 * 8)))
    }

    /// Reads a chunk, unless its header is given; `None` if it cannot be one.
    fn chunk(&mut self, address: u64, header: Option<[u64; 4]>) -> Option<Chunk> {
        if !address.is_multiple_of(16) {
            return None;
        }
        let [_, size, fd, bk] = header.or_else(|| self.words(address))?;
        let (size, flags) = (size & !FLAGS, size & FLAGS);
        let is_one = size >= MIN_CHUNK && size.is_multiple_of(16) && self.holds(address, size);
        is_one.then_some(Chunk { size, flags, fd, bk })
    }

    /// Counts a chunk. Returns false if no more may be followed.
    fn step(&mut self) -> bool {
        self.chunks += 1;
        if self.chunks > MAX_CHUNKS || (self.chunks.is_multiple_of(64) && self.memory.is_over()) {
            self.is_partial = true;
        }
        !self.is_partial
    }

    /// Reads an arena whose first bin is `layout` bytes from its beginning; `None` if it cannot be one.
    fn state(&mut self, address: u64, layout: u64) -> Option<State> {
        let len = layout + TAIL;
        if !address.is_multiple_of(8) || !self.regions.holds(address, len) {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        if !self.memory.read(address, &mut bytes) {
            return None;
        }
        let tail = layout + BINS_LEN + 16;
        let bin = |at: usize| {
            let at = layout + at as u64 * 16;
            (word(&bytes, at), word(&bytes, at + 8))
        };
        let has_fast = layout >= 16 + FAST_BINS * 8;
        let fast = if has_fast { FAST_BINS } else { 0 };
        let state = State {
            address,
            layout,
            fast: (0..fast)
                .map(|at| word(&bytes, layout - 16 - (FAST_BINS - at) * 8))
                .collect(),
            top: word(&bytes, layout - 16),
            bins: (0..BINS).map(bin).collect(),
            next: word(&bytes, tail),
            system: word(&bytes, tail + 24),
            system_most: word(&bytes, tail + 32),
        };
        let last = state.bin(BINS - 1);
        let fits = state.bins[BINS - 1] == (last, last)
            && state
                .bins
                .iter()
                .all(|(first, last)| *first != 0 && *last != 0 && (first | last) % 8 == 0)
            && state.system <= state.system_most
            && state.system_most < 1 << 47;
        fits.then_some(state)
    }

    /// Returns all arenas, the first one first, if the circle beginning there closes.
    fn circle(&mut self, first: u64, layout: u64) -> Option<Vec<State>> {
        let state = self.state(first, layout)?;
        let mut next = state.next;
        let mut all = vec![state];
        while next != first {
            if all.len() >= MAX_ARENAS || self.memory.is_over() {
                return None;
            }
            let state = self.state(next, layout)?;
            // The first heap of an arena begins right before it.
            HEAP_INFOS
                .iter()
                .find(|size| self.words::<1>(next.wrapping_sub(**size)) == Some([next]))?;
            next = state.next;
            all.push(state);
        }
        // Two arenas with the same successor make a circle that does not come back to the first.
        Some(all)
    }

    /// Finds the arenas.
    fn find(&mut self) -> Result<Vec<State>, Unknown> {
        self.map()?;
        let regions = self.regions.clone();
        let mut searched = 0;
        let mut bytes = vec![0; (64 << 10) + TAIL as usize];
        for kind in [RegionKind::Libc, RegionKind::File] {
            for (at, region) in regions.all().iter().enumerate() {
                // The rest of a library's data is initially zero, and has no file.
                let before = at.checked_sub(1).map(|at| regions.all()[at]);
                let follows = region.kind == RegionKind::Anonymous
                    && before.is_some_and(|before| before.end == region.start && before.kind == kind);
                if region.kind != kind && !follows {
                    continue;
                }
                let mut address = region.start;
                while address < region.end {
                    if searched > MAX_SEARCHED || self.memory.is_over() {
                        return Err(Unknown::TooLarge);
                    }
                    let len = (region.end - address).min(bytes.len() as u64);
                    let piece = &mut bytes[..len as usize];
                    searched += len;
                    if self.memory.read(address, piece) {
                        for hit in last_bins(piece, address) {
                            if self.memory.is_over() {
                                return Err(Unknown::TooLarge);
                            }
                            if let Some(arenas) = self.of_last_bin(hit) {
                                return Ok(arenas);
                            }
                        }
                    }
                    address += 64 << 10;
                }
            }
        }
        Err(if self.memory.is_over() {
            Unknown::TooLarge
        } else {
            Unknown::NotFound
        })
    }

    /// Returns the arenas, if the last bin of the first one is at the address.
    fn of_last_bin(&mut self, bin: u64) -> Option<Vec<State>> {
        let first_bin = bin.checked_sub(BINS_LEN - 16)?;
        let found = |layout: &u64| self.circle(first_bin.checked_sub(*layout)?, *layout);
        LAYOUTS.iter().find_map(found)
    }
}

/// Returns the addresses of pairs of words that point to 16 bytes before themselves.
fn last_bins(bytes: &[u8], address: u64) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    let pairs = words.windows(2).zip(0_u64..);
    pairs
        .filter_map(|(pair, at)| {
            let own = address.wrapping_add(at * 8);
            let points = u64::from_le_bytes(pair[0]);
            (points == own.wrapping_sub(HEADER) && pair[0] == pair[1]).then_some(own)
        })
        .collect()
}

/// `bin_index` of `malloc/malloc.c`, with the unsorted bin as 0.
const fn bin_of(size: u64) -> u64 {
    let index = if size < 1024 {
        size >> 4
    } else if size >> 6 <= 48 {
        48 + (size >> 6)
    } else if size >> 9 <= 20 {
        91 + (size >> 9)
    } else if size >> 12 <= 10 {
        110 + (size >> 12)
    } else if size >> 15 <= 4 {
        119 + (size >> 15)
    } else if size >> 18 <= 2 {
        124 + (size >> 18)
    } else {
        126
    };
    index - 1
}

/// The needed part of `struct malloc_par`.
struct Parameters {
    mapped: Chunks,
    /// The end of the first arena is given back in pieces of this size, or of a page if that is larger.
    granule: u64,
}

impl<M: Memory> Reader<'_, M> {
    /// Finds the parameters, near the first arena: a pointer to the beginning of `[heap]` with counts before and after it.
    fn parameters(&mut self, arena: u64) -> Option<Parameters> {
        /// Maximum number of bytes to search on each side.
        const NEAR: u64 = 256 << 10;
        let region = *self.regions.find(arena)?;
        let start = region.start.max(arena.saturating_sub(NEAR));
        let end = region.end.min(arena.saturating_add(NEAR));
        let mut bytes = vec![0; (end - start) as usize];
        if !self.memory.read(start, &mut bytes) {
            return None;
        }
        let is_base = |address: u64| {
            let region = self.regions.find(address);
            address.is_multiple_of(16) && region.is_some_and(|region| region.kind == RegionKind::Heap)
        };
        let places = (104..(bytes.len() as u64).saturating_sub(40)).step_by(8);
        // By its distance from the beginning of `[heap]`.
        let mut found: Vec<(u64, Parameters)> = Vec::new();
        for at in places.filter(|at| is_base(word(&bytes, *at))) {
            if let Some(parameters) = Parameters::before(&bytes, at) {
                found.push((word(&bytes, at), parameters));
            }
        }
        found
            .into_iter()
            .min_by_key(|(base, _)| *base)
            .map(|(_, parameters)| parameters)
    }
}

impl Parameters {
    /// Reads the parameters around `sbrk_base`; `None` if the values are impossible.
    fn before(bytes: &[u8], base: u64) -> Option<Self> {
        let [in_maps, in_maps_most] = [16, 8].map(|before| word(bytes, base - before));
        // `tcache_bins` and `tcache_count`, in all versions.
        let (bins, count) = (word(bytes, base + 8), word(bytes, base + 24));
        let fits = in_maps <= in_maps_most && in_maps_most < 1 << 47 && in_maps.is_multiple_of(4096);
        if !fits || bins > 1024 || count > 1 << 16 {
            return None;
        }
        // Since 2.35, and before.
        let read = |counts: u64, granule: u64| {
            let [maps, limit, maps_most, is_fixed] =
                std::array::from_fn(|at| half(bytes, base - counts + at as u64 * 4));
            let fits = maps <= maps_most && maps_most < 1 << 31 && is_fixed <= 1 && (maps == 0) == (in_maps == 0);
            let parameters = Self {
                mapped: Chunks {
                    count: maps,
                    bytes: in_maps,
                },
                granule,
            };
            fits.then_some((limit != 65536, parameters))
        };
        let huge = word(bytes, base - 56);
        let huge = if huge.is_power_of_two() && huge < 1 << 40 {
            huge
        } else {
            1
        };
        let both = [read(36, huge), read(32, 1)];
        // The limit is rarely set by a program; otherwise it decides.
        let best = both.into_iter().flatten().min_by_key(|(is_unusual, _)| *is_unusual);
        best.map(|(_, parameters)| parameters)
    }
}

/// Whole pages of free memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    first: u64,
    end: u64,
    /// The number of its list.
    list: usize,
}

/// The number that stands for the end of the arena that `malloc_trim` leaves.
const KEPT: usize = usize::MAX;

/// Free memory of an arena that spans whole pages, by its location.
struct FreePages {
    /// Size of a page.
    page: u64,
    ranges: Vec<Range>,
    /// Free bytes in pages that small chunks share, by block and page, if there are fast chunks, which `malloc_trim` joins
    /// first.
    shared: HashMap<u64, Vec<u16>>,
    joins: bool,
    trim: Placed,
    kept: Placed,
    absent: u64,
}

impl FreePages {
    fn new(page: u64, joins: bool) -> Self {
        Self {
            page,
            joins,
            ranges: Vec::new(),
            shared: HashMap::new(),
            trim: Placed::default(),
            kept: Placed::default(),
            absent: 0,
        }
    }

    /// Adds a free chunk.
    fn add(&mut self, address: u64, size: u64, list: usize) {
        let first = (address + CHUNK_HEAD).div_ceil(self.page);
        let end = (address + size) / self.page;
        if first < end {
            self.ranges.push(Range { first, end, list });
        }
        if self.joins {
            if first < end {
                self.share(address, first * self.page, list);
                self.share(end * self.page, address + size, list);
            } else {
                self.share(address, address + size, list);
            }
        }
    }

    /// Adds free bytes of pages that others may share.
    fn share(&mut self, start: u64, end: u64, list: usize) {
        let mut at = start;
        while at < end {
            let page = at / self.page;
            let until = end.min((page + 1) * self.page);
            let pages = HEAP_ALIGNMENT / self.page;
            let block = page / pages;
            if self.shared.len() < MAX_BLOCKS || self.shared.contains_key(&block) {
                let block = self.shared.entry(block).or_insert_with(|| vec![0; pages as usize]);
                let free = &mut block[(page % pages) as usize];
                let whole = u16::try_from(self.page).unwrap_or(u16::MAX);
                let before = *free;
                *free = free.saturating_add(u16::try_from(until - at).unwrap_or(u16::MAX));
                if before < whole && *free >= whole {
                    let (first, end) = (page, page + 1);
                    self.ranges.push(Range { first, end, list });
                }
            }
            at = until;
        }
    }

    const fn is_full(&self) -> bool {
        self.ranges.len() >= MAX_RANGES
    }

    /// Looks up the locations of the pages.
    fn look_up<M: Memory>(&mut self, reader: &mut Reader<'_, M>) -> Result<(), Unknown> {
        /// Maximum number of pages between two ranges that are read together.
        const GAP: u64 = 32;
        let mut entries = vec![0_u64; 8192];
        self.ranges.sort_unstable();
        // The pages in `entries`.
        let mut held = 0..0;
        for at in 0..self.ranges.len() {
            let Range { first, end, list } = self.ranges[at];
            let mut page = first;
            while page < end {
                if !held.contains(&page) {
                    if reader.memory.is_over() {
                        reader.is_partial = true;
                        self.ranges.clear();
                        return Ok(());
                    }
                    // Take all ranges that follow closely.
                    let most = page + entries.len() as u64;
                    let mut until = end;
                    for next in &self.ranges[at + 1..] {
                        if until >= most || next.first > until + GAP {
                            break;
                        }
                        until = until.max(next.end);
                    }
                    let until = until.min(most);
                    if !reader.memory.pages(page, &mut entries[..(until - page) as usize]) {
                        return Err(Unknown::Moving);
                    }
                    held = page..until;
                }
                let to = end.min(held.end);
                let placed = if list == KEPT { &mut self.kept } else { &mut self.trim };
                for entry in &entries[(page - held.start) as usize..(to - held.start) as usize] {
                    match entry {
                        entry if entry & PRESENT != 0 => placed.resident += self.page,
                        entry if entry & SWAPPED != 0 => placed.swapped += self.page,
                        _ => self.absent += self.page,
                    }
                }
                page = to;
            }
        }
        self.ranges.clear();
        Ok(())
    }
}

/// A list of free chunks, while it is followed. A bin is followed from both ends.
#[derive(Clone, Copy)]
struct Walk {
    /// Its number: the bins, then the lists of small chunks.
    list: usize,
    /// The end of a bin, where its list begins.
    end: u64,
    /// Forwards, and backwards.
    ways: [Way; 2],
    sum: Chunks,
    pace: Pace,
}

/// A direction in which a list is followed.
#[derive(Clone, Copy, Default)]
struct Way {
    /// The chunk before, in this direction.
    before: u64,
    chunk: u64,
    /// The header of the chunk, if it was read ahead.
    header: Option<[u64; 4]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    Walking,
    Done,
    /// The list changed, or is not a list.
    Broken,
}

impl Walk {
    /// Number of directions.
    const fn ways(&self) -> usize {
        if self.list < BINS { 2 } else { 1 }
    }

    /// Returns true if all chunks were followed: both directions meet, or the single list ends.
    const fn is_whole(&self) -> bool {
        let [forth, back] = self.ways;
        match self.list {
            BINS.. => forth.chunk == 0,
            _ => forth.chunk == back.before && back.chunk == forth.before,
        }
    }
}

impl<M: Memory> Reader<'_, M> {
    fn begin(&mut self, state: &State, list: usize) -> Walk {
        let end = if list < BINS { state.bin(list) } else { 0 };
        let [first, last] = if list < BINS {
            self.words(end + HEADER).unwrap_or([1; 2])
        } else {
            let lists = state.layout - HEADER - FAST_BINS * 8;
            let first = self.words(state.address + lists + (list - BINS) as u64 * 8);
            first.map_or([1; 2], |[first]| [first; 2])
        };
        let way = |chunk| Way {
            before: end,
            chunk,
            header: None,
        };
        Walk {
            list,
            end,
            ways: [way(first), way(last)],
            sum: Chunks::default(),
            pace: Pace::Walking,
        }
    }

    /// Reads the next header of all lists at once, or its page if it is likely to hold more of them.
    fn read_ahead(&mut self, walks: &mut [Walk]) {
        let mut addresses = Vec::with_capacity(2 * walks.len());
        let mut places = Vec::with_capacity(2 * walks.len());
        for (at, walk) in walks.iter().enumerate() {
            if walk.pace != Pace::Walking || walk.is_whole() {
                continue;
            }
            for way in 0..walk.ways() {
                let chunk = walk.ways[way].chunk;
                if self.is_cached(chunk) || !chunk.is_multiple_of(16) || !self.holds(chunk, MIN_CHUNK) {
                    continue;
                }
                if self.is_dense(chunk) {
                    self.fill(chunk);
                } else {
                    addresses.push(chunk);
                    places.push((at, way));
                }
            }
        }
        let mut pieces = vec![[0; 4]; addresses.len()];
        let count = self.memory.read_each(&addresses, &mut pieces);
        for ((at, way), piece) in places.into_iter().zip(pieces).take(count) {
            walks[at].ways[way].header = Some(piece);
        }
    }

    /// Follows a list until it ends, or until a chunk that was not read yet.
    fn follow(&mut self, walk: &mut Walk, most: u64, pages: &mut FreePages) {
        for way in 0..walk.ways() {
            let mut is_first = true;
            while walk.pace == Pace::Walking && !walk.is_whole() {
                let Way { chunk, header, .. } = walk.ways[way];
                if !is_first && !self.is_cached(chunk) {
                    break;
                }
                is_first = false;
                if !self.step() {
                    walk.pace = Pace::Done;
                    return;
                }
                if !self.advance(walk, way, header, most, pages) {
                    walk.pace = Pace::Broken;
                    return;
                }
            }
        }
        if walk.is_whole() {
            walk.pace = Pace::Done;
        }
    }

    /// Adds the next chunk of a list. Returns false if it cannot belong to the list.
    fn advance(
        &mut self,
        walk: &mut Walk,
        way: usize,
        header: Option<[u64; 4]>,
        most: u64,
        pages: &mut FreePages,
    ) -> bool {
        let Way { before, chunk, .. } = walk.ways[way];
        // A bin that ends here changed, as both directions have not met.
        if chunk == walk.end {
            return false;
        }
        let Some(found) = self.chunk(chunk, header) else {
            return false;
        };
        let next = if walk.list >= BINS {
            let fits = found.size == (walk.list - BINS + 2) as u64 * 16;
            self.unmasked(found.fd, chunk + HEADER).filter(|_| fits)
        } else {
            let belongs = walk.list == 0 || bin_of(found.size) == walk.list as u64;
            // The chunks of a bin point forth and back.
            let (next, last) = if way == 0 {
                (found.fd, found.bk)
            } else {
                (found.bk, found.fd)
            };
            let fits = belongs && last == before && found.flags & PREV_IN_USE != 0;
            fits.then_some(next)
        };
        let Some(next) = next else { return false };
        walk.sum += Chunks {
            count: 1,
            bytes: found.size,
        };
        if walk.sum.bytes > most {
            return false;
        }
        pages.add(chunk, found.size, walk.list);
        walk.ways[way] = Way {
            before: chunk,
            chunk: next,
            header: None,
        };
        true
    }

    /// Returns the pointer at an address: plain, or, since 2.32, masked with its page number.
    fn unmasked(&mut self, pointer: u64, at: u64) -> Option<u64> {
        let mask = at >> 12;
        [pointer ^ mask, pointer]
            .into_iter()
            .find(|pointer| *pointer == 0 || (pointer.is_multiple_of(16) && self.holds(*pointer, HEADER)))
    }

    /// Reads one arena until it is the same before and after a read, or until two reads in a row have about the same result: chunks
    /// move from list to list meanwhile.
    fn arena(&mut self, of: &State, is_first: bool, granule: u64) -> Result<Arena, Unknown> {
        let mut changed = Unknown::Moving;
        let mut last: Option<Arena> = None;
        for attempt in 0..TRIES {
            match attempt {
                0 => self.forget(),
                _ if self.memory.is_over() => break,
                _ => self.map()?,
            }
            let Some(state) = self.state(of.address, of.layout) else {
                changed = Unknown::Moving;
                continue;
            };
            let arena = match self.arena_once(&state, is_first, granule) {
                Ok(arena) => arena,
                Err(why) => {
                    changed = why;
                    continue;
                }
            };
            let is_near = |last: Arena| {
                let error = (arena.in_use / 50).max(arena.system / 500);
                last.in_use.abs_diff(arena.in_use) <= error
            };
            if self.is_partial || last.is_some_and(is_near) || self.state(of.address, of.layout) == Some(state) {
                return Ok(arena);
            }
            changed = Unknown::Moving;
            last = Some(arena);
        }
        Err(changed)
    }

    fn arena_once(&mut self, state: &State, is_first: bool, granule: u64) -> Result<Arena, Unknown> {
        let mut top = self.top(state);
        if top.is_none() {
            // The arena may have grown since the mappings were read.
            self.map()?;
            top = self.top(state);
        }
        let top = top.ok_or(Unknown::Strange("the end of an arena is outside of its memory"))?;
        let mut pages = FreePages::new(self.page_size, state.fast.iter().any(|first| *first != 0));
        let [fast, unsorted, small, large] = self.lists(state, &mut pages)?.ok_or(Unknown::Moving)?;
        self.end(state, top, is_first, granule, &mut pages);
        pages.look_up(self)?;
        let arena = Arena {
            system: state.system,
            system_most: state.system_most,
            fast,
            unsorted,
            small,
            large,
            top,
            trim: pages.trim,
            top_kept: pages.kept,
            absent: pages.absent,
            ..Arena::default()
        };
        let in_use = state.system.checked_sub(arena.free());
        let in_use = in_use.ok_or(Unknown::Strange("an arena has more free memory than its size"))?;
        Ok(Arena { in_use, ..arena })
    }

    /// Returns the size of the top.
    fn top(&mut self, state: &State) -> Option<u64> {
        if state.top == state.initial_top() {
            return Some(0);
        }
        let [_, size] = self.words(state.top)?;
        let (size, flags) = (size & !FLAGS, size & FLAGS);
        let fits =
            state.top.is_multiple_of(16) && size.is_multiple_of(16) && flags & PREV_IN_USE != 0 && size <= state.system;
        (fits && self.holds(state.top, size)).then_some(size)
    }

    /// Follows all lists of an arena: fast, unsorted, small and large.
    fn lists(&mut self, state: &State, pages: &mut FreePages) -> Result<Option<[Chunks; 4]>, Unknown> {
        let lists = BINS + state.fast.len();
        let mut sums = [Chunks::default(); 4];
        let mut walks: Vec<Walk> = (0..lists).map(|list| self.begin(state, list)).collect();
        let mut tries = 0;
        while !walks.is_empty() {
            self.read_ahead(&mut walks);
            for walk in walks.iter_mut().filter(|walk| walk.pace == Pace::Walking) {
                self.follow(walk, state.system, pages);
                if pages.is_full() {
                    pages.look_up(self)?;
                }
                if walk.pace == Pace::Done {
                    sums[match walk.list {
                        BINS.. => 0,
                        0 => 1,
                        1..63 => 2,
                        _ => 3,
                    }] += walk.sum;
                }
            }
            walks.retain(|walk| walk.pace != Pace::Done);
            if !walks.is_empty() && walks.iter().all(|walk| walk.pace == Pace::Broken) {
                tries += 1;
                if tries > LIST_TRIES {
                    return Ok(None);
                }
                self.forget();
                for walk in &mut walks {
                    pages.ranges.retain(|range| range.list != walk.list);
                    *walk = self.begin(state, walk.list);
                }
            }
        }
        Ok(Some(sums))
    }

    /// Adds the pages of the top. `systrim` cuts it, if it is the end of `[heap]`, and leaves a small chunk.
    fn end(&self, state: &State, top: u64, is_first: bool, granule: u64, pages: &mut FreePages) {
        let end = state.top.saturating_add(top);
        let cut = top.saturating_sub(MIN_CHUNK + 1) / granule * granule;
        let region = self.regions.find(state.top);
        let is_end = region.is_some_and(|region| region.kind == RegionKind::Heap && region.end == end);
        let cut = if is_first && is_end { cut } else { 0 };
        let first = (state.top + MIN_CHUNK).div_ceil(self.page_size);
        let (middle, last) = ((end - cut) / self.page_size, end / self.page_size);
        if first < middle {
            pages.ranges.push(Range {
                first,
                end: middle,
                list: KEPT,
            });
        }
        if middle < last && cut > 0 {
            pages.ranges.push(Range {
                first: middle,
                end: last,
                list: 0,
            });
        }
    }
}

/// Reads the heap of glibc.
///
/// # Errors
/// See [`Unknown`].
pub fn read(memory: &mut impl Memory) -> Result<Heap, Unknown> {
    let mut reader = Reader::new(memory);
    let arenas = reader.find()?;
    let parameters = reader.parameters(arenas[0].address);
    let granule = parameters.as_ref().map_or(1, |parameters| parameters.granule);
    let granule = granule.max(reader.page_size);
    let mut heap = Heap {
        mapped: parameters.map(|parameters| parameters.mapped),
        ..Heap::default()
    };
    for (at, state) in arenas.iter().enumerate() {
        heap.arenas.push(reader.arena(state, at == 0, granule)?);
    }
    let addresses: Vec<u64> = arenas.iter().map(|state| state.address).collect();
    heap.caches = reader.caches(&addresses, &mut heap.arenas);
    heap.is_partial = reader.is_partial;
    // Only the file of the memory, which this reads, ends with the program.
    let is_same = reader.memory.read(addresses[0], &mut [0; 8]);
    is_same.then_some(heap).ok_or(Unknown::Moving)
}
