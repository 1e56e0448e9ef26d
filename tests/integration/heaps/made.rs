//! Heaps made in memory, whole and damaged.

use std::cell::Cell;
use std::collections::BTreeMap;

use zmtop::heap::glibc::{self, Heap};
use zmtop::heap::{Chunks, Memory, Placed, Region, RegionKind, Regions, Unknown};

const PAGE: u64 = 4096;
const LIBC: u64 = 0x7f12_0000_0000;
const HEAP: u64 = 0x5555_5000_0000;
/// The heap of the second arena.
const OTHER: u64 = 0x7f10_0400_0000;
/// The stack of a thread, with its descriptor.
const STACK: u64 = 0x7f13_0000_0000;
const LEN: u64 = 256 << 10;
/// Offset of the first arena in the library's data.
const ARENA: u64 = 0x1240;
/// The flags of a size.
const PREV_IN_USE: u64 = 1;
const OTHER_ARENA: u64 = 4;

/// A process made of a few regions.
#[derive(Clone)]
struct Fake {
    regions: BTreeMap<u64, (RegionKind, Vec<u8>)>,
    /// Pages that are neither in RAM nor in swap, and pages in swap.
    absent: Vec<u64>,
    swapped: Vec<u64>,
    /// Reads so far, and the number after which the time is over.
    reads: Cell<u64>,
    most: u64,
}

impl Fake {
    fn put(&mut self, address: u64, value: u64) {
        let (start, (_, bytes)) = self.regions.range_mut(..=address).next_back().unwrap();
        bytes[(address - start) as usize..][..8].copy_from_slice(&value.to_le_bytes());
    }

    fn get(&self, address: u64) -> u64 {
        let (start, (_, bytes)) = self.regions.range(..=address).next_back().unwrap();
        u64::from_le_bytes(bytes[(address - start) as usize..][..8].try_into().unwrap())
    }

    fn heap(&mut self) -> Result<Heap, Unknown> {
        self.reads.set(0);
        glibc::read(self)
    }
}

impl Memory for Fake {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.reads.set(self.reads.get() + 1);
        let Some((start, (_, bytes))) = self.regions.range(..=address).next_back() else {
            return false;
        };
        let from = usize::try_from(address - start).unwrap();
        let found = bytes.get(from..).and_then(|bytes| bytes.get(..into.len()));
        found.map(|found| into.copy_from_slice(found)).is_some()
    }

    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool {
        for (entry, page) in into.iter_mut().zip(page..) {
            *entry = match page * PAGE {
                absent if self.absent.contains(&absent) => 0,
                swapped if self.swapped.contains(&swapped) => 1 << 62,
                _ => 1 << 63,
            };
        }
        true
    }

    fn regions(&mut self) -> Option<Regions> {
        let regions = self.regions.iter().map(|(start, (kind, bytes))| Region {
            start: *start,
            end: *start + bytes.len() as u64,
            kind: *kind,
        });
        Some(Regions::new(regions.collect()))
    }

    fn page_size(&self) -> u64 {
        PAGE
    }

    fn is_over(&mut self) -> bool {
        self.reads.set(self.reads.get() + 1);
        self.reads.get() > self.most
    }
}

/// The differences among versions of glibc.
#[derive(Clone, Copy, Debug)]
struct Version {
    /// Offset of the first bin in an arena.
    layout: u64,
    /// Size of `heap_info`.
    info: u64,
    /// Size of a cache's chunk, its lists, and bytes of each number.
    cache: (u64, u64, u64),
    /// Pointers of single lists are masked.
    masks: bool,
    /// Bytes from `n_mmaps` to `sbrk_base`.
    counts: u64,
}

const VERSIONS: [Version; 5] = [
    // 2.26, 2.28, 2.31, 2.36, 2.43
    Version {
        layout: 104,
        info: 32,
        cache: (0x250, 64, 1),
        masks: false,
        counts: 32,
    },
    Version {
        layout: 112,
        info: 32,
        cache: (0x250, 64, 1),
        masks: false,
        counts: 32,
    },
    Version {
        layout: 112,
        info: 32,
        cache: (0x290, 64, 2),
        masks: false,
        counts: 32,
    },
    Version {
        layout: 112,
        info: 48,
        cache: (0x290, 64, 2),
        masks: true,
        counts: 36,
    },
    Version {
        layout: 24,
        info: 48,
        cache: (0x300, 76, 2),
        masks: true,
        counts: 36,
    },
];

/// An arena under construction.
struct Builder<'a> {
    fake: &'a mut Fake,
    version: Version,
    arena: u64,
    /// The next chunk.
    at: u64,
    flags: u64,
}

impl Builder<'_> {
    fn bin(&self, at: u64) -> u64 {
        self.arena + self.version.layout + at * 16 - 16
    }

    fn empty(&mut self, next: u64, system: u64) {
        for at in 0..127 {
            let bin = self.bin(at);
            self.fake.put(bin + 16, bin);
            self.fake.put(bin + 24, bin);
        }
        let tail = self.arena + self.version.layout + 127 * 16 + 16;
        self.fake.put(tail, next);
        self.fake.put(tail + 24, system);
        self.fake.put(tail + 32, system + PAGE);
    }

    /// Adds a chunk in use, and returns its address.
    fn used(&mut self, size: u64) -> u64 {
        let chunk = self.at;
        self.fake.put(chunk + 8, size | PREV_IN_USE | self.flags);
        self.at += size;
        chunk
    }

    /// Adds a free chunk at the beginning of a bin, and a small one in use after it.
    fn free(&mut self, size: u64, bin: u64) -> u64 {
        let chunk = self.used(size);
        self.used(32);
        let head = self.bin(bin);
        let next = self.fake.get(head + 16);
        self.fake.put(chunk + 16, next);
        self.fake.put(chunk + 24, head);
        self.fake.put(next + 24, chunk);
        self.fake.put(head + 16, chunk);
        chunk
    }

    /// Adds a chunk to a single list, whose head stands at an address.
    fn list(&mut self, size: u64, head: u64, contents: u64) {
        let chunk = self.used(size);
        let mask = if self.version.masks { (chunk + 16) >> 12 } else { 0 };
        self.fake.put(chunk + 16, self.fake.get(head) ^ mask);
        self.fake.put(head, chunk + contents);
    }

    fn fast(&mut self, size: u64) {
        let head = self.arena + self.version.layout - 16 - (10 - (size / 16 - 2)) * 8;
        self.list(size, head, 0);
    }

    fn top(&mut self, end: u64) {
        let top = self.at;
        self.fake.put(self.arena + self.version.layout - 16, top);
        self.fake.put(top + 8, (end - top) | PREV_IN_USE);
    }
}

const fn has_fast(version: Version) -> bool {
    version.layout > 24
}

/// Makes a process with two arenas and a thread with a cache.
fn process(version: Version) -> Fake {
    let regions = [
        (HEAP, (RegionKind::Heap, vec![0; LEN as usize])),
        (OTHER, (RegionKind::Anonymous, vec![0; LEN as usize])),
        (LIBC, (RegionKind::Libc, vec![0; 16 << 10])),
        (STACK, (RegionKind::Anonymous, vec![0; 16 << 10])),
    ];
    let mut fake = Fake {
        regions: regions.into(),
        absent: Vec::new(),
        swapped: Vec::new(),
        reads: Cell::new(0),
        most: 100_000,
    };
    let (first, second) = (LIBC + ARENA, OTHER + version.info);
    // The parameters, with three mapped chunks.
    let base = LIBC + 0x400;
    fake.put(base, HEAP);
    fake.put(base - 16, 3 << 20);
    fake.put(base - 8, 4 << 20);
    for (at, value) in [(0, 3), (4, 65536), (8, 5), (12, 0)] {
        let address = base - version.counts + at;
        let word = fake.get(address & !7);
        let value = if address.is_multiple_of(8) {
            word | value
        } else {
            word | value << 32
        };
        fake.put(address & !7, value);
    }
    fake.put(base + 8, 64);
    fake.put(base + 24, 7);
    let mut main = Builder {
        fake: &mut fake,
        version,
        arena: first,
        at: HEAP,
        flags: 0,
    };
    main.empty(second, LEN);
    let (size, lists, number) = version.cache;
    let cache = main.used(size) + 16;
    main.free(64, 3);
    main.free(64, 3);
    main.free(2048, 79);
    main.free(40_000, 0);
    for _ in 0..3 {
        main.list(80, cache + lists * number + 3 * 8, 16);
    }
    if has_fast(version) {
        (0..5).for_each(|_| main.fast(48));
    }
    main.top(HEAP + LEN);
    let mut other = Builder {
        fake: &mut fake,
        version,
        arena: second,
        at: second + 2256,
        flags: OTHER_ARENA,
    };
    other.empty(first, LEN);
    other.free(100_000, 0);
    other.list(96, cache + lists * number + 4 * 8, 16);
    other.top(OTHER + LEN);
    fake.put(OTHER, second);
    // A thread in a list that begins in the library.
    let (head, thread) = (LIBC + 0x200, STACK + 0x2000);
    let link = thread + 0x2c0;
    let links = [(head, link), (head + 8, link), (link, head), (link + 8, head)];
    let descriptor = [(thread, thread), (thread + 16, thread), (thread - 72, cache)];
    for (at, value) in links.into_iter().chain(descriptor) {
        fake.put(at, value);
    }
    fake
}

fn chunks(count: u64, bytes: u64) -> Chunks {
    Chunks { count, bytes }
}

#[test]
fn each_version_is_read_by_what_must_hold() {
    for version in VERSIONS {
        let heap = process(version)
            .heap()
            .unwrap_or_else(|why| panic!("{version:?}: {why}"));
        let [first, second] = heap.arenas[..] else {
            panic!("{version:?}: {heap:?}");
        };
        let fast = if has_fast(version) {
            chunks(5, 240)
        } else {
            chunks(0, 0)
        };
        assert_eq!(
            (heap.mapped, heap.caches),
            (Some(chunks(3, 3 << 20)), Some(1)),
            "{version:?}"
        );
        assert_eq!((first.fast, first.unsorted), (fast, chunks(1, 40_000)), "{version:?}");
        assert_eq!(
            (first.small, first.large),
            (chunks(2, 128), chunks(1, 2048)),
            "{version:?}"
        );
        assert_eq!(
            (first.cached, second.cached),
            (chunks(3, 240), chunks(1, 96)),
            "{version:?}"
        );
        let used = version.cache.0 + 4 * 32 + 240;
        assert_eq!(first.in_use, used, "{version:?}");
        assert_eq!(first.top, LEN - used - first.fast.bytes - 40_000 - 128 - 2048);
        assert_eq!(
            (second.unsorted, second.in_use),
            (chunks(1, 100_000), version.info + 2256 + 32 + 96)
        );
        // Whole pages of the large chunks, and the end of the first arena but for its first chunk.
        let pages = |start: u64, size: u64| ((start + size) / PAGE - (start + 48).div_ceil(PAGE)) * PAGE;
        let first_chunk = HEAP + version.cache.0 + 2 * (64 + 32) + 2048 + 32;
        let cut = (first.top - 33) / PAGE * PAGE;
        assert_eq!(first.trim.resident, pages(first_chunk, 40_000) + cut, "{version:?}");
        assert_eq!(
            second.trim.resident,
            pages(OTHER + version.info + 2256, 100_000),
            "{version:?}"
        );
        assert_eq!(
            (first.top_kept, second.top_kept.resident / PAGE),
            (Placed::default(), second.top / PAGE)
        );
        assert!(!heap.is_partial);
    }
}

#[test]
fn pages_that_are_not_there_cost_nothing() {
    let mut fake = process(VERSIONS[3]);
    let whole = fake.heap().unwrap().arenas[1];
    let chunk = (OTHER + 48 + 2256 + 48).div_ceil(PAGE) * PAGE;
    fake.absent = vec![chunk, chunk + PAGE];
    fake.swapped = vec![chunk + 2 * PAGE];
    let arena = fake.heap().unwrap().arenas[1];
    assert_eq!(arena.absent, 2 * PAGE);
    assert_eq!(arena.kept(), whole.kept() - 2 * PAGE);
    let expected = Placed {
        resident: whole.trim.resident - 3 * PAGE,
        swapped: PAGE,
    };
    assert_eq!(arena.trim, expected);
}

#[test]
fn small_chunks_that_fill_a_page_are_joined() {
    // 48 bytes do not divide a page, so that chunks pass its ends.
    let mut fake = process(VERSIONS[3]);
    let arena = LIBC + ARENA;
    let top = fake.get(arena + 96);
    let mut builder = Builder {
        fake: &mut fake,
        version: VERSIONS[3],
        arena,
        at: top,
        flags: 0,
    };
    (0..1000).for_each(|_| builder.fast(48));
    builder.used(32);
    builder.top(HEAP + LEN);
    let found = fake.heap().unwrap().arenas[0];
    assert_eq!(found.fast, chunks(1005, 1005 * 48));
    // The chunk is the last one that is whole in the arena of before, plus the pages of the small ones.
    let pages = (top + 1000 * 48) / PAGE - (top - 240).div_ceil(PAGE);
    let before = process(VERSIONS[3]).heap().unwrap().arenas[0];
    let cut = |top: u64| (top - 33) / PAGE * PAGE;
    assert_eq!(
        found.trim.resident - cut(found.top),
        before.trim.resident - cut(before.top) + pages * PAGE
    );
}

#[test]
fn a_damaged_heap_is_not_understood_and_never_followed_for_ever() {
    const STRANGE: &str = "its heap could not be parsed: the end of an arena is outside of its memory";
    const MOVING: &str = "its heap changed during every attempt to read it";
    const NOT_FOUND: &str = "no heap of glibc was found in it";
    const TOO_MUCH: &str = "its heap could not be parsed: an arena has more free memory than its size";
    let version = VERSIONS[3];
    let (first, second) = (LIBC + ARENA, OTHER + version.info);
    let unsorted = first + version.layout;
    let chunk = process(version).get(unsorted);
    let tail = version.layout + 127 * 16 + 16;
    let cases: [(&str, u64, u64, &str); 16] = [
        ("a bin that begins anywhere", unsorted, 0x1234_5670, MOVING),
        ("a bin that begins at an odd address", unsorted, chunk + 8, MOVING),
        ("a chunk that follows itself", chunk + 16, chunk, MOVING),
        ("a chunk that leads nowhere", chunk + 16, 0, MOVING),
        (
            "a chunk that leads to the end of memory",
            chunk + 16,
            u64::MAX - 15,
            MOVING,
        ),
        ("a chunk whose predecessor is another", chunk + 24, chunk, MOVING),
        ("a chunk of 2^63 bytes", chunk + 8, 1 << 63 | 1, MOVING),
        ("a chunk of no bytes", chunk + 8, 1, MOVING),
        ("a chunk that is larger than its region", chunk + 8, LEN + 1, MOVING),
        ("a top outside of memory", first + 96, 1 << 40, STRANGE),
        ("a top at the end of all", first + 96, u64::MAX - 15, STRANGE),
        ("a top in the middle of the data", first + 96, LIBC + 64, STRANGE),
        (
            "an arena that has less than is free",
            first + tail + 24,
            2 * PAGE,
            MOVING,
        ),
        (
            "an arena with more than there is",
            first + tail + 24,
            1 << 50,
            NOT_FOUND,
        ),
        ("a next arena that is none", first + tail, STACK, NOT_FOUND),
        ("a circle that does not come back", second + tail, second, TOO_MUCH),
    ];
    for (what, address, value, expected) in cases {
        let mut fake = process(version);
        fake.put(address, value);
        let found = fake.heap();
        let said = found
            .as_ref()
            .map_or_else(ToString::to_string, |heap| format!("{heap:?}"));
        let fits =
            said == expected || (expected == TOO_MUCH && found.is_err()) || (expected == MOVING && said == STRANGE);
        assert!(fits, "{what}: {said}");
        assert!(fake.reads.get() < 50_000, "{what}: {} reads", fake.reads.get());
    }
}

#[test]
fn a_circle_of_cached_chunks_counts_each_once() {
    for version in VERSIONS {
        let mut fake = process(version);
        let (size, lists, number) = version.cache;
        let first = fake.get(HEAP + 16 + lists * number + 3 * 8);
        // The chunk that was added first is the last of its list.
        let last = HEAP + size + 2 * (64 + 32) + 2048 + 32 + 40_000 + 32 + 16;
        let mask = if version.masks { last >> 12 } else { 0 };
        fake.put(last, first ^ mask);
        assert_eq!(fake.heap().unwrap().arenas[0].cached, chunks(3, 240), "{version:?}");
    }
}

/// Makes a process with a bin of `count` large chunks. Returns their addresses, the first one last.
fn with_bin(count: usize) -> (Fake, Vec<u64>) {
    let mut fake = process(VERSIONS[3]);
    let arena = LIBC + ARENA;
    let top = fake.get(arena + 96);
    let mut builder = Builder {
        fake: &mut fake,
        version: VERSIONS[3],
        arena,
        at: top,
        flags: 0,
    };
    // Each on a page of its own.
    let all = (0..count).map(|_| (builder.free(6000, 101), builder.used(3008)).0);
    let all = all.collect();
    builder.top(HEAP + LEN);
    (fake, all)
}

#[test]
fn a_bin_is_followed_from_both_ends() {
    for count in 0..9 {
        let (mut fake, chunks) = with_bin(count);
        let heap = fake.heap().unwrap();
        let large = Chunks {
            count: count as u64 + 1,
            bytes: count as u64 * 6000 + 2048,
        };
        assert_eq!(heap.arenas[0].large, large);
        // Each pointer counts, in both directions.
        for (chunk, pointer) in chunks.iter().flat_map(|chunk| [(chunk, 16), (chunk, 24)]) {
            for other in [
                0,
                *chunk,
                chunks[0],
                chunks[count / 2],
                LIBC + ARENA + 112 + 100 * 16 - 16,
            ] {
                let mut damaged = fake.clone();
                if damaged.get(chunk + pointer) != other {
                    damaged.put(chunk + pointer, other);
                    assert_eq!(
                        damaged.heap(),
                        Err(Unknown::Moving),
                        "{count} {chunk:x} {pointer} {other:x}"
                    );
                    assert!(damaged.reads.get() < 50_000);
                }
            }
        }
    }
}

#[test]
fn without_time_the_figures_are_a_minimum() {
    let mut fake = process(VERSIONS[3]);
    fake.most = 40;
    match fake.heap() {
        Ok(heap) => assert!(heap.is_partial, "{heap:?}"),
        Err(why) => assert_eq!(why, Unknown::TooLarge),
    }
}

#[test]
fn mutations_never_hang_or_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut known = 0;
    for round in 0..600 {
        let version = VERSIONS[round % VERSIONS.len()];
        let mut fake = process(version);
        fake.most = 20_000;
        for _ in 0..=random() % 6 {
            // Mostly words that are not zero: pointers and sizes.
            let (start, len) =
                [(LIBC, 16 << 10), (HEAP, 48 << 10), (OTHER, 8 << 10), (STACK, 16 << 10)][random() as usize % 4];
            let mut address = start + random() % len / 8 * 8;
            for _ in 0..64 {
                if fake.get(address) != 0 {
                    break;
                }
                address = start + random() % len / 8 * 8;
            }
            let value = fake.get(address);
            let value = match random() % 9 {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << 63,
                3 => value.wrapping_add(16),
                4 => value.wrapping_sub(16),
                5 => value ^ 1 << (random() % 64),
                6 => address,
                7 => address.wrapping_sub(16),
                _ => start + random() % len / 16 * 16,
            };
            fake.put(address, value);
        }
        known += u64::from(fake.heap().is_ok());
        let reads = fake.reads.get();
        assert!(reads < 60_000, "round {round}: {reads} reads");
    }
    // Much of it is not damaged where it counts.
    assert!(known > 50, "{known}");
}
