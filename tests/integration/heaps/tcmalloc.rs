//! Heaps of gperftools' tcmalloc: made in memory, with hostile ones among them, and of real programs that count themselves.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::heap::runtimes::Runtime;
use zmtop::heap::tcmalloc::{self, Heap};
use zmtop::heap::{Memory, Placed, RegionKind, Regions, Unknown};
use zmtop::heaps::runtimes::{Accepted, open};
use zmtop::heaps::{free, look};
use zmtop::units::Units;

use super::jemalloc::Guard;
use super::{ALLOCATE, Words, library, region};
use crate::code::compile;
use crate::support::{cannot, long};

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
/// The data of the library: a part of it has a file, and the rest follows.
const DATA: u64 = 0x7f20_0000_0000;
const BSS: u64 = DATA + 4 * PAGE;
const CACHES: u64 = DATA + 0x128;
const SIZES: u64 = BSS + 0x1a7c;
const CENTRAL: u64 = BSS + 0x4000;
const MAP: u64 = BSS + 0x80_000;
/// The lists of free spans end at the same place in all versions.
const COUNTERS: u64 = BSS + 0x300_000;
/// The address of tcmalloc's own data: the leaf, the spans and the caches of threads.
const META: u64 = 0x7f10_0000_0000;
const LEAF: u64 = META + 0x40;
const SPANS: u64 = META + 4 * MIB;
const THREADS: u64 = META + 8 * MIB;
/// The heap. It begins at the first page of a leaf, and is `[heap]`.
const HEAP: u64 = 0x5580_0000_0000;
/// Bytes of a block by class, and pages of a span.
const BLOCKS: [u64; 18] = [
    0, 8, 16, 32, 48, 64, 80, 96, 112, 128, 256, 512, 1024, 2048, 4096, 8192, 49152, 262_144,
];
const PAGES: [u64; 18] = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 12, 64];

/// A process: words of memory at sparse addresses.
#[derive(Clone)]
struct Fake {
    shift: u32,
    /// Pairs of lists of free spans, elements of an array by class, and the position of the links in the cache of a thread.
    pairs: u64,
    elements: u64,
    links: u64,
    words: Words,
    spans: u64,
    threads: u64,
    /// The first page after those that have spans.
    end: u64,
    absent: std::ops::Range<u64>,
    reads: u64,
    /// Questions whether the time is over.
    asked: u64,
}

impl Fake {
    fn put(&mut self, at: u64, word: u64) {
        self.words.0.insert(at, word);
    }

    fn add(&mut self, at: u64, bytes: u64) {
        *self.words.0.entry(at).or_default() += bytes;
    }

    fn put_half(&mut self, at: u64, half: u64) {
        let (place, bits) = (at / 8 * 8, at % 8 * 8);
        self.add(place, half << bits);
    }

    /// Makes an empty list of spans.
    fn list(&mut self, at: u64) {
        self.put(at + 16, at);
        self.put(at + 24, at);
    }

    /// Adds the next span: its pages, its class, its blocks in use, and its state. Returns its address.
    fn span(&mut self, pages: u64, class: usize, taken: u64, state: u64) -> u64 {
        let span = SPANS + self.spans * 48;
        self.spans += 1;
        let first = (HEAP >> self.shift) + self.end;
        let bits = taken | (class as u64) << 16 | state << 24;
        for (at, word) in [first, pages, 0, 0, 0, bits].into_iter().enumerate() {
            self.put(span + at as u64 * 8, word);
        }
        for page in (0..pages).filter(|page| class > 0 || [0, pages - 1].contains(page)) {
            self.put(LEAF + (self.end + page) * 8, span);
        }
        self.end += pages;
        let len = pages << self.shift;
        self.add(COUNTERS, len);
        match state {
            1 => self.add(COUNTERS + 8, len),
            2 => self.add(COUNTERS + 16, len),
            _ => {}
        }
        if state != 2 {
            self.add(COUNTERS + 24, len);
        }
        if class > 0 {
            let central = CENTRAL + class as u64 * 1216;
            self.add(central + 112, 1);
            self.add(central + 120, len / BLOCKS[class] - taken);
            self.put(central + 64 + 16, span);
            self.put(central + 64 + 24, span);
        }
        span
    }

    /// Adds the cache of a thread, before the others, with free blocks of a class.
    fn thread(&mut self, class: usize, blocks: u64) {
        let cache = THREADS + self.threads * 4160;
        self.threads += 1;
        for (at, size) in BLOCKS.into_iter().enumerate() {
            self.put(cache + at as u64 * 32 + 24, size);
        }
        self.put(cache + class as u64 * 32 + 8, blocks);
        // Before 2.16, the thread's own number, an address, comes before the links.
        if self.links == self.elements * 32 + 48 {
            self.put(cache + self.links - 16, META + 0x1000);
        }
        let old = self.words.0.insert(CACHES, cache).unwrap_or(0);
        self.put(cache + self.links, old);
        self.put(cache + self.links + 8, 0);
        if old != 0 {
            self.put(old + self.links + 8, cache);
        }
    }

    fn read(&self) -> Result<Heap, Unknown> {
        tcmalloc::read(&mut self.clone())
    }
}

/// A process with pages of that size, as a power of 2, and no spans.
fn empty(shift: u32, is_first: bool, [elements, before_links]: [u64; 2]) -> Fake {
    let mut fake = Fake {
        shift,
        pairs: (1 << (20 - shift)) + u64::from(is_first),
        elements,
        links: elements * 32 + before_links,
        words: Words::default(),
        spans: 0,
        threads: 0,
        end: 0,
        absent: 0..0,
        reads: 0,
        asked: 0,
    };
    // A pointer to itself, and two lists elsewhere.
    fake.put(DATA + 8, DATA + 8);
    fake.list(DATA + 0x200);
    fake.list(BSS + 0x20);
    for (class, (size, pages)) in BLOCKS.into_iter().zip(PAGES).enumerate() {
        let class = class as u64;
        fake.put_half(SIZES + class * 4, size);
        fake.put((SIZES + elements * 4).next_multiple_of(8) + class * 8, pages);
        fake.put_half(SIZES - elements * 4 + class * 4, if class == 0 { 0 } else { 4 });
        let central = CENTRAL + class * 1216;
        fake.put(central + 8, class);
        fake.list(central + 16);
        fake.list(central + 64);
    }
    let lists = fake.pairs * 2;
    for at in 0..lists {
        fake.list(COUNTERS - (lists - at) * 48);
    }
    let leaf_bits = (48 - shift).div_ceil(2);
    fake.put(MAP + (HEAP >> shift >> leaf_bits) * 8, LEAF);
    fake
}

fn process_with(shift: u32, is_first: bool, fields: [u64; 2]) -> Fake {
    let mut fake = empty(shift, is_first, fields);
    // 3 of 8 blocks of 1 KiB, and 2 of 8 KiB of which none is free.
    fake.span(1, 12, 3, 0);
    fake.span(2, 15, (2 << shift) / 8192, 0);
    // A large block, free pages, and returned ones.
    fake.span(300, 0, 0, 0);
    let free = fake.span(100, 0, 0, 1);
    fake.span(50, 0, 0, 2);
    // The list of that length has it.
    let list = COUNTERS - (1 << (20 - shift)) * 96 + 99 * 96;
    if shift == 13 {
        fake.put(list + 16, free);
        fake.put(list + 24, free);
        fake.put(free + 16, list);
        fake.put(free + 24, list);
    }
    // A slot of the transfer cache has 4 blocks of 1 KiB, and two threads have 3 and 2 of 16 bytes.
    fake.span(1, 2, 20, 0);
    fake.span(1, 12, 4, 0);
    fake.put_half(CENTRAL + 12 * 1216 + 1152, 1);
    fake.thread(2, 3);
    fake.thread(2, 2);
    fake
}

fn process() -> Fake {
    process_with(13, false, [128, 32])
}

impl Memory for Fake {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.reads += 1;
        let is_mapped = self.regions().unwrap().holds(address, into.len() as u64);
        is_mapped && self.words.read(address, into)
    }

    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool {
        self.reads += 1;
        self.words.pages(page, into, HEAP..HEAP + 512 * MIB, |start| {
            !self.absent.contains(&start)
        });
        true
    }

    fn page_size(&self) -> u64 {
        PAGE
    }

    fn regions(&mut self) -> Option<Regions> {
        Some(Regions::new(vec![
            region(DATA, 4 * PAGE, RegionKind::File),
            region(BSS, 4 * MIB, RegionKind::Anonymous),
            region(META, 16 * MIB, RegionKind::Anonymous),
            region(HEAP, 512 * MIB, RegionKind::Heap),
        ]))
    }

    fn is_over(&mut self) -> bool {
        self.asked += 1;
        self.reads > 100_000
    }
}

#[test]
fn each_version_is_read_by_what_must_hold() {
    let versions = [
        (13, false, [128, 32], "gperftools 2.16 or later"),
        (13, false, [128, 48], "gperftools 2.8 to 2.15"),
        (13, false, [96, 48], "gperftools 2.7"),
        (13, true, [96, 48], "gperftools 2.6"),
        (12, false, [128, 32], "gperftools 2.16 or later"),
        (15, false, [128, 48], "gperftools 2.8 to 2.15"),
    ];
    for (shift, is_first, fields, version) in versions {
        let fake = process_with(shift, is_first, fields);
        // The blocks of the classes of 16 bytes, 1 KiB and 8 KiB that the program has.
        let small = (20 - 5) * 16 + (7 - 4) * 1024 + (2 << shift);
        let cached = 5 * 16;
        let expected = Heap {
            version,
            largest: 262_144,
            small,
            large: 300 << shift,
            spans: 5 << shift,
            between: (5 << shift) - small,
            cached,
            threads: 2,
            free: 100 << shift,
            unused: Placed {
                resident: 100 << shift,
                swapped: 0,
            },
        };
        assert_eq!(fake.read(), Ok(expected), "{version}, {shift}");
    }
}

#[test]
fn pages_that_are_not_there_are_not_kept() {
    let mut fake = process();
    let free = HEAP + (303 << 13);
    fake.absent = free..free + 4 * PAGE;
    let heap = fake.read().unwrap();
    assert_eq!((heap.free, heap.unused.resident), (100 << 13, (100 << 13) - 4 * PAGE));
    // A new span, of which only the first page was touched.
    let mut fake = process();
    let before = fake.read().unwrap();
    let start = HEAP + (fake.end << 13);
    fake.span(64, 17, 0, 0);
    fake.absent = start + PAGE..start + (64 << 13);
    let heap = fake.read().unwrap();
    assert_eq!(heap.between - before.between, PAGE);
    assert_eq!(heap.in_use(), before.in_use());
}

#[test]
fn what_a_heap_keeps_is_reported_with_the_way_to_return_it() {
    let mut fake = process();
    assert!(!fake.read().unwrap().runtime().is_hoard());
    let said = |fake: &Fake| fake.read().unwrap().runtime().verdict(Units::Auto);
    fake.span(8192, 0, 0, 1);
    assert_eq!(
        said(&fake),
        [
            "Its heap has 67.2M in RAM, and 64.8M of it are free. tcmalloc keeps them for new objects.",
            "MallocExtension::ReleaseFreeMemory() would return 64.8M; with TCMALLOC_RELEASE_RATE=10, tcmalloc returns it sooner.",
        ]
    );
    let mut fake = process();
    for _ in 0..3000 {
        fake.span(2, 14, 1, 0);
    }
    assert_eq!(
        said(&fake)[1],
        "35.2M of it lie between blocks in use: MallocExtension::ReleaseFreeMemory() would return only 800K."
    );
    for _ in 0..1000 {
        fake.span(12, 16, 2, 0);
    }
    fake.thread(16, 1600);
    assert_eq!(
        said(&fake)[1],
        "75.0M of it are in the caches of 3 threads, which TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES limits: \
         MallocExtension::ReleaseFreeMemory() would return only 800K."
    );
}

#[test]
fn a_damaged_heap_is_not_believed_and_never_followed_for_ever() {
    let last = THREADS + 4160;
    let strange = |what| Err(Unknown::Strange(what));
    let contradiction = strange("its counters do not match its spans");
    let missing = strange("its page map or the caches of its threads were not found");
    let span = SPANS + 2 * 48;
    let cases = [
        (
            "a central list with another number",
            CENTRAL + 3 * 1216 + 8,
            4,
            Err(Unknown::NotFound),
        ),
        ("another size", SIZES + 4 + 8, 7, Err(Unknown::NotFound)),
        (
            "a list of free spans that is none",
            COUNTERS - 96 + 8,
            1,
            strange("its lists of free pages were not found"),
        ),
        ("no leaf", MAP + (HEAP >> 31) * 8, 0, missing),
        ("a leaf outside of memory", MAP + (HEAP >> 31) * 8, 0x1234_0000, missing),
        ("a leaf of another place", MAP + (HEAP >> 31) * 8, META, missing),
        ("no cache", CACHES, 0, missing),
        ("a cache with other sizes", last + 5 * 32 + 24, 1, missing),
        ("a cache that is its own next", last + 4128, last, missing),
        ("caches in a circle", THREADS + 4128, last, missing),
        (
            "more bytes than there are spans",
            COUNTERS,
            1 << 40,
            Err(Unknown::Moving),
        ),
        (
            "more free blocks than fit",
            CENTRAL + 12 * 1216 + 120,
            1 << 40,
            Err(Unknown::Moving),
        ),
        (
            "more slots than there are",
            CENTRAL + 12 * 1216 + 1152,
            65,
            Err(Unknown::Moving),
        ),
        (
            "more cached than the system has",
            last + 2 * 32 + 8,
            u64::from(u32::MAX),
            Err(Unknown::Moving),
        ),
        ("a large block of another length", span + 8, 100, contradiction),
        ("a large block outside of memory", span + 8, 1 << 40, contradiction),
        ("a large block that begins elsewhere", span, 1, contradiction),
        ("a large block of no state", span + 40, 3 << 24, contradiction),
        ("a large block of no class", span + 40, 99 << 16, contradiction),
    ];
    for (what, at, word, expected) in cases {
        let mut fake = process();
        fake.put(at, word);
        assert_eq!(fake.read().map(|_| ()), expected, "{what}");
    }
    // Words that lie, anywhere.
    let step = if long() { 7 } else { 71 };
    let places: Vec<u64> = process().words.0.into_keys().collect();
    for word in [0, 1, u64::MAX, 1 << 47, HEAP] {
        for at in places.iter().step_by(step) {
            let mut fake = process();
            fake.put(*at, word);
            let heap = fake.read();
            let is_sane = heap.is_ok_and(|heap| heap.in_use() < 512 * MIB && heap.kept() < 512 * MIB);
            assert!(is_sane || heap.is_err(), "{at:#x}, {word:#x}: {heap:?}");
        }
    }
}

#[test]
fn leaves_without_memory_are_not_followed_for_ever() {
    const LEAVES: u64 = 20_000;
    let read = |leaves: u64| {
        let mut fake = process();
        // No memory is where these are for.
        for leaf in 0..leaves {
            fake.put(MAP + (leaf + 1) * 8, 0x1234_0000);
        }
        assert!(tcmalloc::read(&mut fake).is_ok());
        fake.asked
    };
    assert!(read(LEAVES) >= read(0) + LEAVES);
}

/// A program that allocates in `argv[1]` threads, frees three of four, and prints what tcmalloc counts. At the next line of input, it
/// returns the free pages.
const PROGRAM: &str = r#"
int MallocExtension_GetNumericProperty(const char *, size_t *) __attribute__((weak));
void MallocExtension_ReleaseFreeMemory(void) __attribute__((weak));
static size_t property(const char *name) {
    size_t value = 0;
    MallocExtension_GetNumericProperty(name, &value);
    return value;
}
int main(int argc, char **argv) {
    static char out[256], in[64];
    setvbuf(stdout, out, _IOLBF, sizeof out);
    setvbuf(stdin, in, _IOFBF, sizeof in);
    threads = atoi(argv[1]); kind = atoi(argv[2]);
    pthread_barrier_init(&all_there, 0, threads);
    pthread_t thread;
    for (int i = 1; i < threads; i++) pthread_create(&thread, 0, work, (void *)(size_t)i);
    allocate(99);
    if (!MallocExtension_GetNumericProperty) return 1;
    do {
        printf("%zu %zu %zu\n", property("generic.current_allocated_bytes"), property("tcmalloc.pageheap_free_bytes"),
               property("tcmalloc.current_total_thread_cache_bytes"));
        fflush(stdout);
        getchar();
        MallocExtension_ReleaseFreeMemory();
    } while (1);
}
"#;

#[test]
fn a_real_heap_is_as_the_program_counts_it() {
    let Some(library) = library(&["libtcmalloc_minimal.so.4"]) else {
        return cannot("libtcmalloc-minimal4 is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let program = compile(
        dir.path(),
        "cc",
        &format!("{ALLOCATE}{PROGRAM}"),
        "c",
        &["-O1", "-pthread", "-DMOST=600000"],
    );
    for (threads, kind) in [("1", "0"), ("6", "1"), ("3", "2")] {
        let mut command = Command::new(&program);
        let child = command
            .args([threads, kind])
            .env("LD_PRELOAD", &library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Guard(child.unwrap());
        let mut input = child.0.stdin.take().unwrap();
        let mut output = BufReader::new(child.0.stdout.take().unwrap());
        let mut numbers = || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let numbers: Vec<u64> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
            <[u64; 3]>::try_from(numbers).unwrap()
        };
        let [allocated, pages, cached] = numbers();
        let (proc, pid) = (Path::new("/proc"), child.0.id());
        let read = || {
            let state = look(proc, pid, Duration::from_secs(60)).unwrap();
            let doors = open(proc, &state);
            assert!(doors.iter().all(zmtop::heaps::runtimes::Door::is_free));
            let runtimes: Vec<Runtime> = doors.iter().map(|door| door.look(Accepted::NOTHING)).collect();
            let [runtime] = <[Runtime; 1]>::try_from(runtimes).unwrap();
            (runtime, state.memory.unwrap().resident)
        };
        let (runtime, resident) = read();
        let what = format!("{threads} threads, kind {kind}, {cached} cached: {runtime:?}");
        let used = runtime.parts.iter().map(|part| part.used).sum::<u64>();
        let kept = runtime.parts.iter().map(|part| part.resident.unwrap()).sum::<u64>() - used;
        // Of what it counts, a thousandth is what the other threads did since.
        assert!(
            used.abs_diff(allocated) <= allocated / 1000,
            "{allocated} allocated, {what}"
        );
        let free_pages = runtime.parts.iter().find(|part| part.name == "free pages").unwrap();
        assert_eq!(free_pages.committed, Some(pages), "{what}");
        assert!(
            free(proc, pid, Duration::from_secs(60)).1.unwrap()[1].abs_diff(kept) < MIB,
            "{what}"
        );
        assert_eq!(runtime.is_hoard(), kept >= 32 * MIB, "{what}");
        let released = free_pages.resident.unwrap();
        input.write_all(b"\n").unwrap();
        numbers();
        let (_, left) = read();
        assert!(
            resident.abs_diff(left + released) <= released / 30 + MIB,
            "{resident} to {left}, {what}"
        );
    }
}
