//! The heap of mimalloc 2.0.3 to 2.4, and of 3, on 64-bit machines, read from outside.
//!
//! mimalloc divides memory into slices of 64 KiB, and gives some of these to a page: blocks of one size. Version 2 describes the
//! pages at the beginning of a segment (`mi_segment_t` of `include/mimalloc/types.h`):
//!
//! ```text
//! segment  at a multiple of its size, 32 or 64 MiB; a block of more than half of that has a segment of its own
//!          number of pages in use; a cookie, which is the segment's address xor a number that is the same in all segments
//!          number of slices, of those of this description, the kind; number of entries; thread
//!          an entry per slice: number of slices, distance from the first; what the page has, if its block size is not 0
//! ```
//!
//! Version 3 has a map of two levels from the number of a slice to its page. The root is in the data of the library or program:
//!
//! ```text
//! root     pointers to parts of the map, each of 8192 slices; the first part follows the root
//! part     pointers to pages
//! page     thread, free list, number of blocks, another list, freed blocks, block size, start; ...; arena, place in it
//! arena    number of slices, of those of this description; bit maps, the first of the free slices; then the slices
//! ```
//!
//! There are no symbols: they are recognized by what must hold, that spans of slices fill a segment, or that a page lies where the
//! map has it. A page counts blocks that other threads freed as in use, until its thread takes them from their list.

use std::collections::HashSet;
use std::ops::Range;

use super::kinds::Kind;
use super::runtimes::{Part, Runtime};
use super::scan::{self, PAGE, Scan};
use super::{Memory, Placed, RegionKind, Unknown};
use crate::units::{self, Units};

const SLICE: u64 = 64 << 10;
/// Segments are at multiples of this.
const ALIGN: u64 = 32 << 20;
/// Maximum number of places that are searched for a segment: as many as 2 TiB have.
const MAX_PLACES: usize = 1 << 16;
/// Maximum number of reads of a segment, or of a list, that changes meanwhile.
const TRIES: u32 = 4;
/// Maximum size of a page that is read at once.
const MAX_READ: u64 = 1 << 20;
/// Number of contradictions after which a heap is not read on.
const MAX_STRANGE: u64 = 100;
/// A heap of which more than one in so many pages changes while it is read is read several times.
const MOVING: u64 = 100;
/// Of the pages that are read only once, one in so many is read again to see if it changed.
const COMPARED: usize = 8;
/// Number of such reads, and the uncertainty of their mean with which they end, as a part of the mean.
const MIN_READS: usize = 6;
const MAX_READS: usize = 32;
const MAX_UNCERTAINTY: f64 = 0.015;
/// Number of rounds of such a read. The segments of a thread change together, and not evenly; each round has a part of all segments.
const ROUNDS: u64 = 16;
/// Maximum number of pages followed in one read.
const MAX_PAGES: u64 = 8_000_000;
/// Maximum numbers of free spans, of threads, and of pointers that are remembered while the map is searched: at most 18 MiB each.
const MAX_FREE: usize = 1 << 20;
const MAX_THREADS: usize = 1 << 18;
const MAX_REFUSED: usize = 1 << 20;
/// Number of pages of a part of the map with which it is recognized. Places in each that are read.
const BATCH: usize = 64;
const PARTS: [u64; 4] = [0, 32, 88, 120];
/// Slices of a part of the map.
const MAPPED: u64 = 8192;
/// Slices of which the pages are read at once: few, so that all of their figures are of one time.
const READ: u64 = 64;
/// Maximum number of parts in which pages are searched to recognize a map.
const MAX_TRIED: usize = 64;
/// The bytes of the root for addresses of 40 to 48 bits.
const ROOTS: Range<u64> = 8 << 11..(8 << 19) + 1;
/// Maximum number of arenas, and of slices of one.
const MAX_ARENAS: usize = 512;
const MAX_ARENA: u64 = 1 << 20;
/// Bytes of a chunk of a bit map.
const CHUNK: u64 = 64;

/// Positions in a segment.
struct Head {
    /// Number of slices of a segment that is not for one block only.
    slices: u64,
    cookie: usize,
    sizes: usize,
    entries: usize,
    thread: usize,
}

const HEADS: [Head; 3] = [
    // 2.0.3 to 2.0.7, 2.0.9 to 2.1.7, and 2.1.9 to 2.4.
    head(1024, [320, 328, 360, 352]),
    head(512, [216, 224, 248, 256]),
    head(512, [224, 248, 272, 280]),
];

const fn head(slices: u64, [cookie, sizes, entries, thread]: [usize; 4]) -> Head {
    Head {
        slices,
        cookie,
        sizes,
        entries,
        thread,
    }
}

/// The bytes of an entry, the position of the number of blocks in use, and whether the block size has 64 bits.
type Entry = (usize, usize, bool);

/// Up to 2.1.6 and since 2.1.7; the longer ones are of secure builds.
const ENTRIES: [Entry; 5] = [
    (80, 24, false),
    (96, 24, false),
    (96, 40, false),
    (96, 32, true),
    (112, 32, true),
];
/// Bytes of an entry from the list of blocks that other threads freed on.
const LIST: usize = 40;

/// The heap of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    pub version: &'static str,
    /// Number of threads that have pages.
    pub threads: u64,
    pub owned: Pages,
    /// Pages of threads that ended; in version 3 also others that their thread gave up.
    pub left: Pages,
    /// Free spans, and pages without a block in use.
    pub unused: Placed,
}

/// Pages with blocks in use, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    pub in_use: u64,
    pub size: u64,
    /// The free part that is in RAM or in swap.
    pub free: u64,
}

/// A page as read from memory.
struct Page {
    /// The address of its description.
    address: u64,
    range: Range<u64>,
    block: u64,
    /// Blocks in use, with those that other threads freed; and where that is.
    used: u64,
    used_at: u64,
    /// The first of the list of these, with flags; and where that is.
    list: u64,
    list_at: u64,
    flags: u64,
    /// Returns the block size from the four words at each of these places.
    block_of: fn([[u64; 4]; 2]) -> u64,
    /// 0 if it has none.
    thread: u64,
}

impl Page {
    /// Returns true if its numbers of blocks in use, with memory, and in all agree with each other and its size.
    fn is_sound(&self, capacity: u64, reserved: u64) -> bool {
        let len = self.range.end.saturating_sub(self.range.start);
        let is_within = reserved.checked_mul(self.block).is_some_and(|blocks| blocks <= len);
        is_within && self.used.max(capacity) <= reserved && self.block.is_multiple_of(8)
    }

    /// Returns 1 if one more block that another thread freed waits in a list of version 2 outside of the page.
    fn waiting(&self, list: u64) -> u64 {
        u64::from(self.flags == 3 && list & 3 == 2)
    }
}

/// The form of the segments of a process.
#[derive(Clone, Copy)]
struct Form {
    head: &'static Head,
    entry: Entry,
    /// The number in their cookies.
    key: u64,
    version: &'static str,
}

/// A segment as read from memory.
#[derive(Clone, Copy)]
struct Segment {
    slices: u64,
    info: u64,
    entries: u64,
    is_huge: bool,
    pages: u64,
    thread: u64,
    key: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Head {
    /// Returns the segment at an address; `None` if there is none of this form.
    fn read(&self, bytes: &[u8], address: u64) -> Option<Segment> {
        let kind = word(bytes, self.sizes + 16) as u32;
        let segment = Segment {
            slices: word(bytes, self.sizes),
            info: word(bytes, self.sizes + 8),
            entries: word(bytes, self.entries),
            is_huge: kind == 1,
            pages: word(bytes, self.cookie - 8),
            thread: word(bytes, self.thread),
            key: word(bytes, self.cookie) ^ address,
        };
        let is_kind = kind == 0 && segment.slices == self.slices || kind == 1 && segment.slices >> 32 == 0;
        // Secure builds do not use the last slice.
        let entries = segment.slices.min(self.slices);
        let has_entries = entries.wrapping_sub(segment.entries) <= 1;
        let has_info = 0 < segment.info && segment.info < segment.entries;
        (is_kind && has_entries && has_info).then_some(segment)
    }
}

impl Form {
    /// Returns the pages and the free spans of a segment; `None` if they contradict each other.
    fn spans(&self, bytes: &[u8], address: u64, segment: Segment) -> Option<(Vec<Page>, Vec<Range<u64>>)> {
        let (len, used, is_wide) = self.entry;
        let (mut pages, mut free, mut at) = (Vec::new(), Vec::new(), 0);
        while at < segment.entries {
            let place = self.head.sizes + 40 + at as usize * len;
            let entry = bytes.get(place..place + len)?;
            let (count, distance) = (word(entry, 0) & u64::from(u32::MAX), word(entry, 0) >> 32);
            let last = count.checked_sub(1)? as usize * len;
            let is_whole = at + count <= segment.entries;
            let is_ended = last == 0 || word(bytes, place + last) >> 32 == last as u64;
            let is_span = if is_whole { is_ended } else { segment.is_huge };
            if distance != 0 || !is_span {
                return None;
            }
            let range = address + at * SLICE..address + (at + count) * SLICE;
            let block = if is_wide {
                word(entry, used + 8)
            } else {
                word(entry, used) >> 32
            };
            match (at, block) {
                (0, _) if count != segment.info => return None,
                (0, _) => {}
                (_, 0) => free.push(range),
                (_, block) => {
                    // Large sizes do not fit into 32 bits.
                    let is_cut = !is_wide && block >= 1 << 30;
                    let block = if is_cut { range.end - range.start } else { block };
                    let [capacity, reserved] = [16, 32].map(|at| word(entry, 8) >> at & 0xffff);
                    let address = address + place as u64;
                    let page = Page {
                        address,
                        range,
                        block,
                        used: word(entry, used) & 0xffff,
                        used_at: address + used as u64,
                        list: word(entry, len - LIST),
                        list_at: address + (len - LIST) as u64,
                        flags: 3,
                        block_of: if is_wide {
                            |words| words[0][1]
                        } else {
                            |words| words[0][0] >> 32
                        },
                        thread: segment.thread,
                    };
                    page.is_sound(capacity, reserved).then(|| pages.push(page))?;
                }
            }
            at += count;
        }
        (pages.len() as u64 == segment.pages).then_some((pages, free))
    }
}

/// The sums over the pages read so far.
#[derive(Default)]
struct Sum {
    heap: Heap,
    threads: HashSet<u64>,
    /// Free spans, and pages without a block in use.
    free: Vec<Range<u64>>,
    /// Pages, and those of them that contradict themselves.
    pages: u64,
    strange: u64,
    /// Pages that changed while they were read.
    moving: u64,
}

impl Sum {
    /// Adds free spans.
    ///
    /// # Errors
    /// [`Unknown::TooLarge`] if there are too many.
    fn add_free(&mut self, spans: impl IntoIterator<Item = Range<u64>>) -> Result<(), Unknown> {
        for span in spans.into_iter().filter(|span| span.start < span.end) {
            if self.free.len() >= MAX_FREE {
                return Err(Unknown::TooLarge);
            }
            self.free.push(span);
        }
        Ok(())
    }
}

/// A page of version 3 in the map: its first slice and their number, and its address.
type Mapped = (u64, u64, u64);

impl Scan<'_> {
    /// Returns the places where a segment may begin.
    fn places(&self) -> Vec<u64> {
        let regions = self.regions.all().iter();
        let anonymous = regions.filter(|region| region.kind == RegionKind::Anonymous);
        let places = anonymous.flat_map(|region| {
            let first = region.start.next_multiple_of(ALIGN);
            (first..region.end).step_by(ALIGN as usize)
        });
        places.take(MAX_PLACES).collect()
    }

    /// Reads the first `len` bytes of a segment, or fewer at the end of its region.
    fn start(&mut self, address: u64, len: u64) -> Option<Vec<u8>> {
        let region = self.regions.find(address)?;
        let len = len.next_multiple_of(PAGE).min(region.end - address);
        let mut bytes = vec![0; len as usize];
        self.touched(address, &mut bytes)?;
        Some(bytes)
    }

    /// Reads the pages and the free spans of the segment at an address.
    fn spans(&mut self, form: Form, address: u64) -> Option<(Vec<Page>, Vec<Range<u64>>)> {
        let len = form.head.sizes as u64 + 40 + form.head.slices * form.entry.0 as u64;
        let bytes = self.start(address, len)?;
        form.spans(&bytes, address, form.head.read(&bytes, address)?)
    }

    /// Finds the form of the segments: the one with which a segment agrees.
    fn form(&mut self) -> Result<Form, Unknown> {
        for address in self.places() {
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let bytes = self.start(address, PAGE).unwrap_or_default();
            for head in &HEADS {
                let Some(segment) = head.read(&bytes, address) else {
                    continue;
                };
                // The size in bytes is newer than some forms.
                let is_sized = word(&bytes, 32) == segment.slices * SLICE;
                for entry in ENTRIES {
                    let form = Form {
                        head,
                        entry,
                        key: segment.key,
                        version: if is_sized { "mimalloc 2" } else { "mimalloc 2.0" },
                    };
                    // Free spans look the same in several forms.
                    let spans = self.spans(form, address);
                    if spans.is_some_and(|(pages, _)| pages.iter().any(|page| page.used > 0)) {
                        return Ok(form);
                    }
                }
            }
        }
        Err(Unknown::NotFound)
    }

    /// Reads all segments once, and returns true if they changed meanwhile. Each round reads a part of each segment.
    fn heap_of_segments(&mut self, form: Form, rounds: u64) -> Result<(Heap, bool), Unknown> {
        let mut sum = Sum::default();
        self.forget();
        for round in 0..rounds {
            self.add_segments(&mut sum, form, round, rounds)?;
        }
        self.heap_of(sum, form.version)
    }

    /// Adds the pages and the free spans that begin in a part of each segment.
    fn add_segments(&mut self, sum: &mut Sum, form: Form, round: u64, rounds: u64) -> Result<(), Unknown> {
        // The ends of the last segment, and of the last one that was given back.
        let (mut end, mut old_end) = (0, 0);
        let part = form.head.slices / rounds * SLICE;
        for address in self.places() {
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            if address < end {
                continue;
            }
            let bytes = self.start(address, PAGE).unwrap_or_default();
            let segment = form.head.read(&bytes, address);
            let segment = segment.filter(|segment| segment.key == form.key);
            let its_end = segment.map_or(0, |segment| address.saturating_add(segment.slices * SLICE));
            if segment.is_some_and(|segment| segment.pages > 0) {
                end = its_end;
                if let Some((mut pages, mut free)) = (0..TRIES).find_map(|_| self.spans(form, address)) {
                    let is_part = |range: &Range<u64>| (range.start - address) / part == round;
                    pages.retain(|page| is_part(&page.range));
                    free.retain(is_part);
                    self.add_pages(sum, &pages)?;
                    sum.add_free(free)?;
                } else {
                    (sum.pages, sum.strange) = (sum.pages + 1, sum.strange + 1);
                }
                continue;
            }
            // The description of a segment that was given back stays until its memory is used again.
            old_end = old_end.max(its_end);
            if address < old_end && round == 0 {
                sum.add_free(std::iter::once(address..old_end.min(address + ALIGN)))?;
            }
        }
        Ok(())
    }

    fn add_pages(&mut self, sum: &mut Sum, pages: &[Page]) -> Result<(), Unknown> {
        for (at, page) in pages.iter().enumerate() {
            // The list of one page may have many blocks.
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let is_compared = at % COMPARED == 0;
            let mut is_moving = is_compared && self.numbers(page) != Some([page.used, page.list, page.block]);
            let in_use = self.in_use(page, &mut is_moving);
            sum.strange += u64::from(in_use.is_none());
            sum.moving += u64::from(is_moving);
            let in_use = in_use.unwrap_or(page.used * page.block);
            let size = page.range.end - page.range.start;
            if in_use == 0 {
                sum.add_free(std::iter::once(page.range.clone()))?;
                continue;
            }
            let pages = match page.thread {
                0 => &mut sum.heap.left,
                _ => &mut sum.heap.owned,
            };
            sum.threads.extend(Some(page.thread).filter(|thread| *thread != 0));
            if sum.threads.len() > MAX_THREADS {
                return Err(Unknown::TooLarge);
            }
            pages.in_use = pages.in_use.saturating_add(in_use);
            pages.size = pages.size.saturating_add(size);
            if size >= in_use + PAGE {
                let free = self.in_ram(&page.range)?.total().saturating_sub(in_use);
                pages.free = pages.free.saturating_add(free);
            }
        }
        sum.pages += pages.len() as u64;
        if self.memory.is_over() || sum.pages > MAX_PAGES {
            return Err(Unknown::TooLarge);
        }
        let is_strange = sum.strange > MAX_STRANGE + sum.pages / 50;
        if is_strange { Err(Unknown::Moving) } else { Ok(()) }
    }

    /// Returns the bytes in use; `None` if the list of blocks that other threads freed contradicts the page. Notes if it changes.
    fn in_use(&mut self, page: &Page, is_moving: &mut bool) -> Option<u64> {
        let before = Some([page.used, page.list, page.block]);
        let known = Some((page.used - page.waiting(page.list).min(page.used)) * page.block);
        if page.list & !page.flags == 0 {
            return known;
        }
        let mut bytes = std::mem::take(&mut self.buffer);
        // Large blocks are read one by one.
        let len = Some(page.range.end - page.range.start).filter(|len| page.block < PAGE && *len <= MAX_READ);
        bytes.resize(len.unwrap_or(0) as usize, 0);
        let mut known = known;
        for _ in 0..TRIES {
            let numbers = self.numbers(page);
            let found = numbers.and_then(|[used, list, block]| {
                self.touched(page.range.start, &mut bytes)?;
                let count = self.count(page, &bytes, list, used)? + page.waiting(list);
                Some((used - count.min(used)) * block)
            });
            // Numbers that changed meanwhile are no contradiction.
            let is_same = numbers == self.numbers(page);
            *is_moving |= !is_same || numbers != before;
            known = found.or(known.filter(|_| !is_same));
            if is_same || self.memory.is_over() {
                break;
            }
        }
        self.buffer = bytes;
        known
    }

    /// Reads the number of blocks in use of a page, its list and its block size, which is 0 if it was given back, again.
    fn numbers(&mut self, page: &Page) -> Option<[u64; 3]> {
        let mut words = [[0; 4]; 2];
        let is_read = self.memory.read_each(&[page.used_at, page.list_at], &mut words) == 2;
        // Large sizes do not fit everywhere.
        let block = Some((page.block_of)(words)).filter(|block| *block < 1 << 30);
        let block = block.unwrap_or(page.block);
        let most = (page.range.end - page.range.start).checked_div(block).unwrap_or(0);
        is_read.then_some([(words[0][0] & 0xffff).min(most), words[1][0], block])
    }

    /// Returns the length of a list of at most `most` blocks of a page.
    fn count(&mut self, page: &Page, bytes: &[u8], list: u64, most: u64) -> Option<u64> {
        let mut words = [0; 56];
        self.memory
            .read(page.address.saturating_add(24), &mut words)
            .then_some(())?;
        // Secure builds hide the list with two keys, which are somewhere in the description. It ends with the address of the page.
        let keys: Vec<u64> = (0..7).map(|at| word(&words, at * 8)).collect();
        std::iter::once(None).chain(keys.windows(2).map(Some)).find_map(|keys| {
            let (mut at, mut count) = (list & !page.flags, 0);
            while at != 0 {
                count += 1;
                // A block of a page that is not read at once is a read of its own.
                let is_over = bytes.is_empty() && self.memory.is_over();
                if is_over || count > most || !page.range.contains(&at) || !at.is_multiple_of(8) {
                    return None;
                }
                let (mut next, place) = ([0; 8], (at - page.range.start) as usize);
                let next = if bytes.is_empty() {
                    self.memory.read(at, &mut next).then(|| word(&next, 0))?
                } else {
                    word(bytes, place)
                };
                at = keys.map_or(next, |keys| {
                    let shown = next.wrapping_sub(keys[0]).rotate_right((keys[0] % 64) as u32) ^ keys[1];
                    if shown == page.address { 0 } else { shown }
                });
            }
            Some(count)
        })
    }

    /// Returns what was found; an error if too much of it contradicts itself.
    fn heap_of(&mut self, mut sum: Sum, version: &'static str) -> Result<(Heap, bool), Unknown> {
        if sum.strange > sum.pages / 50 {
            return Err(Unknown::Moving);
        }
        // The map of 3.0 keeps pages that were given back.
        sum.free.sort_unstable_by_key(|range| range.start);
        let mut end = 0;
        for range in sum.free {
            let rest = range.start.max(end)..range.end.max(end);
            sum.heap.unused += self.in_ram(&rest)?;
            end = rest.end;
        }
        let threads = sum.threads.len() as u64;
        let heap = sum.heap;
        let heap = Heap {
            version,
            threads,
            ..heap
        };
        Ok((heap, sum.moving > sum.pages / MOVING))
    }

    /// Reads a heap: `read` reads it once, in some rounds. While it changes, its parts are of different times, and each read is wrong
    /// by chance. So it is read again until the mean is known, and the read closest to the mean is returned. `None` if the mean
    /// stays unknown.
    fn steady(
        &mut self,
        read: impl Fn(&mut Self, u64) -> Result<(Heap, bool), Unknown>,
    ) -> Result<Option<Heap>, Unknown> {
        if let (heap, false) = read(self, 1)? {
            return Ok(Some(heap));
        }
        let mut heaps: Vec<Heap> = Vec::new();
        for _ in 0..MAX_READS {
            self.regions = self.memory.regions().ok_or(Unknown::Moving)?;
            match read(self, ROUNDS) {
                Ok((heap, _)) => heaps.push(heap),
                Err(Unknown::Moving) => {}
                Err(why) if heaps.is_empty() => return Err(why),
                Err(_) => break,
            }
            if let Some(heap) = closest_to_mean(&heaps) {
                return Ok(Some(heap));
            }
        }
        Ok(None)
    }

    /// Returns the location of a range, or of the part of it in its region.
    fn in_ram(&mut self, range: &Range<u64>) -> Result<Placed, Unknown> {
        let end = self.regions.find(range.start).map_or(range.start, |region| region.end);
        let len = range.end.min(end) - range.start;
        self.placed(range.start, len).ok_or(Unknown::TooLarge)
    }

    /// Searches the data of the program and its libraries for the root of the map. Returns its bytes, too.
    fn map(&mut self) -> Result<(u64, u64), Unknown> {
        // Pointers that were followed before.
        let mut refused = HashSet::new();
        self.search(|scan, _, root| {
            // Before a region is looked for, because most words are no address of a page.
            (root != 0 && root.is_multiple_of(PAGE)).then_some(())?;
            let region = scan.regions.find(root)?;
            if region.kind != RegionKind::Anonymous || refused.contains(&root) {
                return None;
            }
            if refused.len() < MAX_REFUSED {
                refused.insert(root);
            }
            let mut first = [0; PAGE as usize];
            scan.resident(root, &mut first)?;
            let len = word(&first, 0).wrapping_sub(root);
            if !len.is_power_of_two() || !ROOTS.contains(&len) {
                return None;
            }
            let mut parts = scan.entries_of(root, len, 8)?.into_iter().take(MAX_TRIED);
            let has_page = parts.any(|(index, [part, _])| {
                let mut mapped = scan.mapped(index, part, 0..MAPPED).unwrap_or_default();
                mapped.truncate(BATCH);
                scan.pages(&mapped).iter().flatten().any(|(page, _)| page.block > 0)
            });
            has_page.then_some((root, len))
        })
    }

    /// Returns the pages that begin in some slices of a part of the map.
    fn mapped(&mut self, index: u64, part: u64, slices: Range<u64>) -> Option<Vec<Mapped>> {
        let is_part = part.is_multiple_of(PAGE) && self.regions.holds(part, MAPPED * 8);
        is_part.then_some(())?;
        let mut found: Vec<Mapped> = Vec::new();
        // A page may have begun before these slices.
        let before = slices.start.saturating_sub(1);
        for (at, [page, _]) in self.entries_of(part + before * 8, (slices.end - before) * 8, 8)? {
            let slice = index * MAPPED + before + at;
            match found.last_mut() {
                Some((first, count, last)) if *last == page && *first + *count == slice => *count += 1,
                // The slice of the address 0 has a page without blocks.
                _ if slice > 0 => found.push((slice, 1, page)),
                _ => {}
            }
        }
        found.retain(|(slice, ..)| *slice >= index * MAPPED + slices.start);
        Some(found)
    }

    /// Reads pages, each with the address of its arena. `None` for those that contradict the map.
    fn pages(&mut self, mapped: &[Mapped]) -> Vec<Option<(Page, Option<u64>)>> {
        let parts = mapped
            .iter()
            .flat_map(|(_, _, page)| PARTS.map(|part| page.saturating_add(part)));
        let addresses: Vec<u64> = parts.collect();
        let mut words = vec![[0; 4]; addresses.len()];
        let mut at = 0;
        while at < addresses.len() {
            // Words that cannot be read stay 0, and are no page.
            at += self.memory.read_each(&addresses[at..], &mut words[at..]) + 1;
        }
        let (words, _) = words.as_chunks::<4>();
        let pages = mapped.iter().zip(words).map(|((slice, count, address), words)| {
            let [[thread, _, numbers, _], [list, block, start, _], place @ ..] = words;
            let blocks = [0, 16, 32].map(|at| numbers >> at & 0xffff);
            let slices = slice * SLICE..(slice + count) * SLICE;
            // Since 3.4, the start is the distance from the description, in words.
            let distance = (start & u64::from(u32::MAX)) * 8;
            let starts = [*start, address.saturating_add(distance)];
            let start = starts.into_iter().find(|start| slices.contains(start));
            let end = match start {
                // It was given back.
                _ if *block == 0 => slices.start,
                None => return None,
                Some(start) => start
                    .checked_add(blocks[2].checked_mul(*block)?)?
                    .checked_next_multiple_of(PAGE)?,
            };
            let [used, capacity, reserved] = blocks;
            let page = Page {
                address: *address,
                range: slices.start..end,
                block: *block,
                used,
                used_at: address.saturating_add(16),
                list: *list,
                list_at: address.saturating_add(32),
                flags: 1,
                block_of: |words| words[1][1],
                // The lowest bits are flags.
                thread: thread & !7,
            };
            page.is_sound(capacity, reserved).then_some(())?;
            // Its place differs by version and in secure builds: an arena, and the number of its first slice there.
            let is_place = |place: &&[u64]| {
                let offset = (place[1] & u64::from(u32::MAX)) * SLICE;
                place[0] > 0 && place[0].checked_add(offset) == Some(slices.start)
            };
            let arena = place.as_flattened().windows(2).find(is_place).map(|place| place[0]);
            Some((page, arena))
        });
        pages.collect()
    }

    /// Reads all pages of the map once, and returns true if they changed meanwhile.
    fn heap_of_map(&mut self, (root, len): (u64, u64)) -> Result<(Heap, bool), Unknown> {
        let (mut sum, mut arenas) = (Sum::default(), HashSet::new());
        // The end of the last page.
        let mut end = 0;
        self.forget();
        for (index, [part, _]) in self.entries_of(root, len, 8).ok_or(Unknown::Moving)? {
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            for at in (0..MAPPED).step_by(READ as usize) {
                let mapped = self.mapped(index, part, at..at + READ).ok_or(Unknown::Moving)?;
                let mut pages = Vec::with_capacity(mapped.len());
                for ((slice, ..), found) in mapped.iter().zip(self.pages(&mapped)) {
                    match found {
                        // The rest of a page that is in two parts, or an older one in its memory.
                        _ if slice * SLICE < end => {}
                        Some((page, arena)) => {
                            end = page.range.end;
                            pages.push(page);
                            arenas.extend(arena.filter(|_| arenas.len() < MAX_ARENAS));
                        }
                        None => (sum.pages, sum.strange) = (sum.pages + 1, sum.strange + 1),
                    }
                }
                self.add_pages(&mut sum, &pages)?;
            }
        }
        for arena in arenas {
            if self.memory.is_over() {
                return Err(Unknown::TooLarge);
            }
            let free = self.free_slices(arena);
            sum.add_free(free.ok_or(Unknown::Strange("the layout of its arenas is unknown"))?)?;
        }
        self.heap_of(sum, "mimalloc 3")
    }

    /// Returns the free slices of an arena.
    fn free_slices(&mut self, arena: u64) -> Option<Vec<Range<u64>>> {
        let mut words = [[0; 4]; 4];
        let places = [0, 32, 64, 96].map(|at| arena.saturating_add(at));
        (self.memory.read_each(&places, &mut words) == words.len()).then_some(())?;
        let words = words.as_flattened();
        // Newer versions have a number before the sizes.
        let at = [4, 5].into_iter().find(|at| (1..words[*at]).contains(&words[at + 1]))?;
        let (slices, info) = (words[at], words[at + 1]);
        let inside = arena + 1..arena.checked_add(info.checked_mul(SLICE)?)?;
        // The second bit map follows the first.
        let maps = words[at + 2..].windows(2).find(|maps| inside.contains(&maps[0]))?;
        let mut head = [[0; 4]];
        self.memory.read_each(&maps[..1], &mut head);
        let len = slices.div_ceil(CHUNK * 8) * CHUNK;
        let start = maps[1].checked_sub(len).filter(|start| *start > maps[0])?;
        let is_map = slices <= MAX_ARENA && head[0][0] == len / CHUNK && inside.contains(&maps[1]);
        is_map.then_some(())?;
        let mut bits = vec![0; len as usize];
        self.memory.read(start, &mut bits).then_some(())?;
        let mut free: Vec<Range<u64>> = Vec::new();
        for slice in (info..slices).filter(|slice| bits[(slice / 8) as usize] >> (slice % 8) & 1 == 1) {
            let start = arena + slice * SLICE;
            match free.last_mut() {
                Some(last) if last.end == start => last.end += SLICE,
                _ => free.push(start..start + SLICE),
            }
        }
        Some(free)
    }
}

/// Returns the heap that is closest to their mean, if it is known.
fn closest_to_mean(heaps: &[Heap]) -> Option<Heap> {
    let count = heaps.len() as f64;
    let mean = heaps.iter().map(|heap| heap.in_use() as f64).sum::<f64>() / count;
    let distance = |heap: &Heap| (heap.in_use() as f64 - mean).abs();
    let squares: f64 = heaps.iter().map(|heap| distance(heap).powi(2)).sum();
    let uncertainty = (squares / (count - 1.0) / count).sqrt();
    let is_known = heaps.len() >= MIN_READS && uncertainty <= mean * MAX_UNCERTAINTY;
    let closest = heaps.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    closest.copied().filter(|_| is_known)
}

/// Reads the heap of mimalloc.
///
/// # Errors
/// See [`Unknown`].
pub fn read(memory: &mut dyn Memory) -> Result<Heap, Unknown> {
    let segments = scan::read(memory, Scan::form, |scan, form| {
        scan.steady(|scan, rounds| scan.heap_of_segments(form, rounds))
    });
    let heap = match segments {
        Err(Unknown::NotFound) => scan::read(memory, Scan::map, |scan, map| {
            scan.steady(|scan, _| scan.heap_of_map(map))
        }),
        found => found,
    };
    heap?.ok_or(Unknown::Moving)
}

impl Heap {
    /// Returns the bytes in use.
    pub const fn in_use(&self) -> u64 {
        self.owned.in_use.saturating_add(self.left.in_use)
    }

    /// Returns the free bytes that are in RAM or in swap.
    pub const fn kept(&self) -> u64 {
        self.between().saturating_add(self.unused.total())
    }

    /// Returns the free bytes between blocks in use.
    const fn between(&self) -> u64 {
        self.owned.free.saturating_add(self.left.free)
    }

    /// Converts the heap into the form that runtimes have.
    pub fn runtime(&self) -> Runtime {
        let mut runtime = Runtime::new(Kind::Mimalloc, self.version.to_owned());
        let mut add = |name: String, [used, committed, free]: [u64; 3]| {
            if committed > 0 {
                runtime.parts.push(Part {
                    name,
                    used,
                    committed: Some(committed),
                    resident: Some(used.saturating_add(free)),
                    is_heap: true,
                });
            }
        };
        let (owned, left, unused) = (self.owned, self.left, self.unused.total());
        let threads = units::counted(self.threads, "thread");
        add(format!("pages of {threads}"), [owned.in_use, owned.size, owned.free]);
        add("pages of no thread".to_owned(), [left.in_use, left.size, left.free]);
        add("unused".to_owned(), [0, unused, unused]);
        if runtime.is_hoard() {
            runtime.remarks.push(self.remedy());
        }
        runtime
    }

    /// Returns the ways to return its free memory to the kernel, as a sentence.
    fn remedy(&self) -> String {
        let bytes = |n| units::bytes(n, Units::Auto);
        let (unused, between) = (bytes(self.unused.total()), bytes(self.between()));
        let returned = match self.version {
            "mimalloc 2.0" => "MIMALLOC_DECOMMIT_DELAY=0 returns such memory at once",
            "mimalloc 2" => {
                "MIMALLOC_PURGE_DELAY=0 returns such memory at once, and mi_collect(true) returns that of a thread"
            }
            _ => "MIMALLOC_PURGE_DELAY=0 with MIMALLOC_ALLOW_THP=0 returns such memory at once",
        };
        if self.unused.total() >= self.between() {
            return format!("{unused} of it are unused pages: {returned}.");
        }
        format!("{between} of it lie between blocks in use, and only {unused} are unused pages: {returned}.")
    }
}
