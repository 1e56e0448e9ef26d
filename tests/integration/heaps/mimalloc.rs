//! Heaps of mimalloc: made in memory, with hostile ones among them, and of a real program that counts itself.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::heap::mimalloc::{self, Heap, Pages};
use zmtop::heap::{Memory, Placed, RegionKind, Regions, Unknown};
use zmtop::heaps::runtimes::{Accepted, open};
use zmtop::heaps::{free, look};

use super::jemalloc::Guard;
use super::{Words, library, region};
use crate::code::compile;
use crate::support::cannot;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
const SLICE: u64 = 64 << 10;
/// The data of the program, where version 3 has the address of its map.
const DATA: u64 = 0x5555_5555_0000;
/// The map and the pages of version 3.
const MAP: u64 = 0x7e00_0000_0000;
const PARTS: u64 = MAP + 4 * MIB;
const METAS: u64 = MAP + 8 * MIB;
const HEAP: u64 = 0x7f00_4000_0000;
const THREAD: u64 = 0x7f10_1234_5680;
/// The number in the cookies, and the keys that hide a list.
const KEY: u64 = 0x1234_5678_9abc_def1;
const KEYS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// The form of a segment: its slices, positions of cookie, sizes, entries and thread; bytes of an entry, positions of blocks in use
/// and of keys, bits of the block size; whether it has its size in bytes, as since 2.1.
type Form = (u64, [u64; 4], [u64; 4], bool);

const OLD: (u64, [u64; 4]) = (1024, [320, 328, 360, 352]);
const MIDDLE: (u64, [u64; 4]) = (512, [216, 224, 248, 256]);
const NEW: (u64, [u64; 4]) = (512, [224, 248, 272, 280]);
/// With those of secure builds.
const FORMS: [Form; 9] = [
    (OLD.0, OLD.1, [80, 24, 0, 32], false),
    (OLD.0, OLD.1, [96, 40, 24, 32], false),
    (MIDDLE.0, MIDDLE.1, [80, 24, 0, 32], false),
    (MIDDLE.0, MIDDLE.1, [80, 24, 0, 32], true),
    (MIDDLE.0, MIDDLE.1, [96, 24, 40, 32], true),
    (MIDDLE.0, MIDDLE.1, [96, 32, 0, 64], true),
    (MIDDLE.0, MIDDLE.1, [112, 32, 56, 64], true),
    (NEW.0, NEW.1, [96, 32, 0, 64], true),
    (NEW.0, NEW.1, [112, 32, 56, 64], true),
];
const NEWEST: Form = FORMS[7];

/// Slices of a segment: their number, and the block size and blocks in use, with memory, in all, and freed by another thread.
type Span = (u64, Option<(u64, [u64; 3], u64)>);

/// A process: words of memory at sparse addresses.
#[derive(Clone)]
struct Fake {
    words: Words,
    absent: Vec<Range<u64>>,
    reads: u64,
    /// Returns the words that change at a read, with their addresses.
    changes: fn(u64) -> Vec<(u64, u64)>,
}

impl Fake {
    fn new() -> Self {
        Self {
            words: Words::default(),
            absent: Vec::new(),
            reads: 0,
            changes: |_| Vec::new(),
        }
    }

    fn put(&mut self, at: u64, word: u64) {
        self.words.0.insert(at, word);
    }

    /// Makes a list of blocks, and returns the first. The address of the page ends a hidden list.
    fn list(&mut self, start: u64, block: u64, count: u64, hidden_by: Option<u64>) -> u64 {
        let blocks: Vec<u64> = (0..count).map(|at| start + (2 * at + 1) * block).collect();
        for (at, block) in blocks.iter().enumerate() {
            let next = blocks.get(at + 1).copied();
            let word = match hidden_by {
                None => next.unwrap_or(0),
                Some(page) => (next.unwrap_or(page) ^ KEYS[1])
                    .rotate_left((KEYS[0] % 64) as u32)
                    .wrapping_add(KEYS[0]),
            };
            self.put(*block, word);
        }
        blocks.first().copied().unwrap_or(0)
    }

    /// Adds a segment of version 2 with a kind, a thread and its spans after those of the description.
    fn segment(&mut self, form: Form, at: u64, kind: u64, thread: u64, spans: &[Span]) {
        let (slices, [cookie, sizes, entries, owner], [len, used_at, keys, block_bits], has_size) = form;
        let info = slices / 512;
        let size = info + spans.iter().map(|(count, _)| count).sum::<u64>();
        let used = spans.iter().filter(|(_, page)| page.is_some()).count();
        self.put(at + cookie - 8, used as u64);
        self.put(at + cookie, at ^ KEY);
        if has_size {
            self.put(at + 32, size * SLICE);
        }
        for (word, value) in [size, info, kind].into_iter().enumerate() {
            self.put(at + sizes + word as u64 * 8, value);
        }
        self.put(at + entries, size.min(slices));
        self.put(at + owner, thread);
        let mut slice = 0;
        let own = (info, Some((info * SLICE, [0; 3], 0)));
        for (count, page) in [own].iter().chain(spans) {
            let place = at + sizes + 40 + slice * len;
            self.put(place, *count);
            if *count > 1 && slice + count <= size.min(slices) {
                self.put(place + (count - 1) * len, ((count - 1) * len) << 32);
            }
            if let Some((block, [used, capacity, reserved], freed)) = *page {
                self.put(place + 8, capacity << 16 | reserved << 32);
                if block_bits == 32 {
                    self.put(place + used_at, used | block << 32);
                } else {
                    // A tag follows the number of blocks in use.
                    self.put(place + used_at, used | 7 << 16);
                    self.put(place + used_at + 8, block);
                }
                if keys > 0 {
                    self.put(place + keys, KEYS[0]);
                    self.put(place + keys + 8, KEYS[1]);
                }
                let start = at + slice * SLICE;
                let list = self.list(start, block, freed, (keys > 0).then_some(place));
                self.put(place + len - 40, list | if freed > 0 { 2 } else { 3 });
            }
            slice += count;
        }
    }

    /// Adds a page of version 3: the slices that the map has, its thread, its block size, and its blocks as above.
    fn page(
        &mut self,
        slices: Range<u64>,
        thread: u64,
        block: u64,
        [used, capacity, reserved, freed]: [u64; 4],
        secure: bool,
    ) {
        let (start, meta) = (slices.start * SLICE + 128, METAS + slices.start % (1 << 14) * 160);
        for slice in slices.clone() {
            let part = PARTS + (slice >> 13) % 16 * SLICE;
            self.put(MAP + (slice >> 13) * 8, part);
            self.put(part + slice % 8192 * 8, meta);
        }
        let list = self.list(start, block, freed, secure.then_some(meta));
        let words = [
            thread,
            0,
            used | capacity << 16 | reserved << 32,
            0,
            list | 1,
            block,
            start,
        ];
        for (at, word) in words.into_iter().enumerate() {
            self.put(meta + at as u64 * 8, word);
        }
        let place = if secure { 112 } else { 96 };
        if secure {
            self.put(meta + 56, KEYS[0]);
            self.put(meta + 64, KEYS[1]);
        }
        self.put(meta + place, HEAP);
        self.put(
            meta + place + 8,
            (slices.start - HEAP / SLICE) | ((slices.end - slices.start) << 32),
        );
    }
}

impl Memory for Fake {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.reads += 1;
        self.words.0.extend((self.changes)(self.reads));
        let is_mapped = self.regions().unwrap().holds(address, into.len() as u64);
        is_mapped && self.words.read(address, into)
    }

    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool {
        self.reads += 1;
        self.words.pages(page, into, HEAP..u64::MAX, |start| {
            !self.absent.iter().any(|absent| absent.contains(&start))
        });
        true
    }

    fn page_size(&self) -> u64 {
        PAGE
    }

    fn regions(&mut self) -> Option<Regions> {
        Some(Regions::new(vec![
            region(DATA, 2 * PAGE, RegionKind::File),
            region(MAP, 16 * MIB, RegionKind::Anonymous),
            region(HEAP, 1024 * MIB, RegionKind::Anonymous),
        ]))
    }

    fn is_over(&mut self) -> bool {
        self.reads > 100_000
    }
}

const fn pages(in_use: u64, size: u64, free: u64) -> Pages {
    Pages { in_use, size, free }
}

/// A process with version 2.
fn segments(form: Form) -> Fake {
    let mut fake = Fake::new();
    let (slices, ..) = form;
    let (size, info) = (slices * SLICE, slices / 512);
    let spans = [
        // Of 60 blocks in use, other threads freed 3, and one that waits.
        (1, Some((64, [60, 100, 1000], 3))),
        (8, Some((SLICE, [8, 8, 8], 0))),
        // All of its blocks were freed.
        (1, Some((16, [3, 10, 4096], 2))),
        (slices - info - 10, None),
    ];
    fake.segment(form, HEAP, 0, THREAD, &spans);
    fake.absent.push(HEAP + (info + 14) * SLICE..HEAP + size);
    let spans = [(1, Some((1024, [10, 20, 64], 0))), (slices - info - 1, None)];
    fake.segment(form, HEAP + 64 * MIB, 0, 0, &spans);
    fake.absent
        .push(HEAP + 64 * MIB + (info + 1) * SLICE..HEAP + 64 * MIB + size);
    // A block of 100 MiB, in which a segment seems to be.
    fake.segment(
        form,
        HEAP + 128 * MIB,
        1,
        THREAD + 64,
        &[(1600, Some((100 * MIB, [1, 1, 1], 0)))],
    );
    fake.segment(form, HEAP + 192 * MIB, 0, THREAD + 128, &spans);
    // A segment that was given back, and its first MiB is still in RAM. A foreign one follows.
    fake.segment(form, HEAP + 256 * MIB, 0, 0, &[(slices - info, None)]);
    fake.absent.push(HEAP + 257 * MIB..HEAP + 320 * MIB);
    fake.segment(form, HEAP + 320 * MIB, 0, THREAD, &spans);
    fake.put(HEAP + 320 * MIB + form.1[0], 0x4711);
    fake
}

fn expected(version: &'static str) -> Heap {
    let (few, some) = (56 * 64, 10 * 1024);
    Heap {
        version,
        threads: 2,
        owned: pages(few + 8 * SLICE + 100 * MIB, 9 * SLICE + 100 * MIB, SLICE - few),
        left: pages(some, SLICE, SLICE - some),
        unused: Placed {
            resident: 5 * SLICE + MIB,
            swapped: 0,
        },
    }
}

/// A process with version 3. The newer one has a number more in its arena.
fn mapped(is_newer: bool, is_secure: bool) -> Fake {
    let mut fake = Fake::new();
    fake.put(DATA, HEAP);
    fake.put(DATA + 0x120, MAP);
    fake.put(MAP, MAP + 2 * MIB);
    // The page of the address 0.
    fake.put(MAP + 2 * MIB, DATA);
    let sizes = HEAP + if is_newer { 40 } else { 32 };
    fake.put(HEAP + 32, 1);
    fake.put(sizes, 2048);
    fake.put(sizes + 8, 2);
    fake.put(sizes + 40, HEAP + 4096);
    fake.put(sizes + 48, HEAP + 8192);
    fake.put(HEAP + 4096, 4);
    // Four slices are free.
    fake.put(HEAP + 8192 - 4 * 64, 15 << 20);
    let first = HEAP / SLICE;
    fake.page(first + 2..first + 3, THREAD | 1, 64, [59, 100, 1000, 3], is_secure);
    // A page without a thread, and one of which all blocks were freed.
    fake.page(first + 3..first + 11, 4, 4096, [100, 127, 127, 0], is_secure);
    fake.page(first + 11..first + 12, THREAD | 1, 16, [2, 10, 4000, 2], is_secure);
    // A page in two parts of the map, and a block of which the map has only the beginning.
    fake.page(
        first + 8190..first + 8196,
        THREAD,
        6 * SLICE - 4096,
        [1, 1, 1, 0],
        is_secure,
    );
    fake.page(
        first + 9000..first + 9063,
        THREAD + 64,
        100 * MIB,
        [1, 1, 1, 0],
        is_secure,
    );
    fake
}

#[test]
fn each_version_is_read_by_what_must_hold() {
    for form in FORMS {
        let version = if form.3 { "mimalloc 2" } else { "mimalloc 2.0" };
        assert_eq!(mimalloc::read(&mut segments(form)), Ok(expected(version)), "{form:?}");
    }
    let (few, some, large) = (56 * 64, 100 * 4096, 6 * SLICE - PAGE + 100 * MIB);
    // The blocks of a page begin 128 bytes after its start, so the large ones need a page of memory more.
    let expected = Heap {
        version: "mimalloc 3",
        threads: 2,
        owned: pages(few + large, SLICE + large + 2 * PAGE, SLICE - few + 2 * PAGE),
        left: pages(some, 8 * SLICE, 8 * SLICE - some),
        unused: Placed {
            resident: 5 * SLICE,
            swapped: 0,
        },
    };
    for (is_newer, is_secure) in [(false, false), (true, false), (false, true), (true, true)] {
        assert_eq!(
            mimalloc::read(&mut mapped(is_newer, is_secure)),
            Ok(expected),
            "{is_newer} {is_secure}"
        );
    }
}

#[test]
fn pages_that_are_not_there_are_not_kept() {
    let mut fake = segments(NEWEST);
    // Of the first page, the free part; and of the free span, a page.
    fake.absent.push(HEAP + SLICE + PAGE..HEAP + 2 * SLICE);
    fake.absent.push(HEAP + 11 * SLICE..HEAP + 11 * SLICE + PAGE);
    let heap = mimalloc::read(&mut fake).unwrap();
    assert_eq!(heap.owned.free, PAGE - 56 * 64);
    assert_eq!(heap.unused.resident, expected("mimalloc 2").unused.resident - PAGE);
}

/// Returns a number from 0 to `most` by chance.
fn some(seed: u64, most: u64) -> u64 {
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % (most + 1)
}

/// Pages of a segment that changes.
const PAGES: u64 = 31;

/// Returns the words with the blocks in use of the pages of two segments, and two more that another thread freed.
fn used_blocks(first: u64, second: u64) -> Vec<(u64, u64)> {
    let entry = |segment: u64, page: u64| HEAP + segment * 32 * MIB + 288 + (1 + page * 16) * 96 + 32;
    let used = |segment, used| (0..PAGES).map(move |page| (entry(segment, page), used + 2));
    used(0, first).chain(used(1, second)).collect()
}

#[test]
fn a_heap_that_changes_while_it_is_read_is_as_the_mean_of_its_reads() {
    // Two threads with pages of 64 blocks of 1 KiB. Of each, another thread freed one, and one that waits.
    const BLOCKS: u64 = 24;
    let moving = |changes| {
        let mut fake = Fake::new();
        for segment in 0..2 {
            let mut spans = vec![(16, Some((1024, [BLOCKS / 2 + 2, 64, 64], 1))); PAGES as usize];
            spans.push((15, None));
            let (at, thread) = (HEAP + segment * 32 * MIB, THREAD + segment * 64);
            fake.segment(NEWEST, at, 0, thread, &spans);
        }
        fake.changes = changes;
        fake
    };
    let expected = PAGES * BLOCKS * 1024;
    let resting = mimalloc::read(&mut moving(|_| Vec::new())).unwrap();
    assert_eq!(resting.in_use(), expected);
    // The blocks move between the threads.
    let heap = mimalloc::read(&mut moving(|read| {
        let first = some(read / 50, BLOCKS);
        used_blocks(first, BLOCKS - first)
    }));
    let in_use = heap.unwrap().in_use();
    assert!(in_use.abs_diff(expected) <= expected / 20, "{in_use} of {expected}");
    // Their number changes so much that no mean is known.
    let unsure = mimalloc::read(&mut moving(|read| {
        let all = some(if read < 50 { read } else { read / 500 }, 60);
        used_blocks(all, all)
    }));
    assert_eq!(unsure, Err(Unknown::Moving));
}

#[test]
fn what_a_heap_keeps_is_reported_with_the_way_to_return_it() {
    let said = |fake: &mut Fake| {
        let runtime = mimalloc::read(fake).unwrap().runtime();
        runtime.verdict(zmtop::units::Units::Auto)
    };
    let mut fake = segments(NEWEST);
    assert_eq!(said(&mut fake).len(), 1);
    fake.segment(NEWEST, HEAP + 512 * MIB, 0, 0, &[(511, None)]);
    fake.segment(NEWEST, HEAP + 544 * MIB, 0, 0, &[(511, None)]);
    assert_eq!(
        said(&mut fake),
        [
            "Its heap has 166M in RAM, and 65.4M of it are free. mimalloc keeps them for new objects.",
            "65.3M of it are unused pages: MIMALLOC_PURGE_DELAY=0 returns such memory at once, and mi_collect(true) returns that of a thread.",
        ]
    );
    let mut fake = segments(NEWEST);
    let page = (1, Some((1024, [16, 64, 64], 0)));
    fake.segment(NEWEST, HEAP + 512 * MIB, 0, THREAD, &vec![page; 511]);
    fake.segment(NEWEST, HEAP + 544 * MIB, 0, THREAD, &vec![page; 511]);
    assert_eq!(
        said(&mut fake)[1],
        "48.0M of it lie between blocks in use, and only 1.3M are unused pages: MIMALLOC_PURGE_DELAY=0 returns such memory at once, and mi_collect(true) returns that of a thread."
    );
}

#[test]
fn free_spans_of_arenas_that_overlap_are_limited_as_a_whole() {
    let read = |arenas: u64| {
        let mut fake = mapped(false, false);
        let first = HEAP / SLICE;
        for arena in 0..arenas {
            let slice = first + 20 + arena;
            fake.page(slice..slice + 1, THREAD, 64, [10, 100, 1000, 0], false);
            let (at, meta) = (HEAP + arena * SLICE, METAS + slice % (1 << 14) * 160);
            fake.put(meta + 96, at);
            fake.put(meta + 104, 0x14 | 1 << 32);
            // Each has 2^20 slices, and every second one is free.
            fake.put(at + 32, 1 << 20);
            fake.put(at + 40, 12);
            let maps = HEAP + 4 * SLICE;
            fake.put(at + 72, maps);
            fake.put(at + 80, maps + PAGE + (1 << 17));
            fake.put(maps, (1 << 17) / 64);
            for word in 0..1 << 14 {
                fake.put(maps + PAGE + word * 8, 0x5555_5555_5555_5555);
            }
        }
        mimalloc::read(&mut fake).map(|_| ())
    };
    assert_eq!(read(1), Ok(()));
    assert_eq!(read(3), Err(Unknown::TooLarge));
}

#[test]
fn a_damaged_heap_is_not_believed_and_never_followed_for_ever() {
    // The first segment alone, so that what is wrong in it counts.
    let alone = || {
        let mut fake = segments(NEWEST);
        fake.words.0.retain(|at, _| *at < HEAP + 64 * MIB);
        fake
    };
    let entry = |slice: u64| HEAP + 288 + slice * 96;
    let strange = Err(Unknown::NotFound);
    let cases: [(&str, u64, u64, Result<(), Unknown>); 7] = [
        ("another number of slices", HEAP + 248, 513, strange),
        ("a kind that there is not", HEAP + 264, 2, strange),
        ("a span without slices", entry(1), 0, strange),
        ("a span that ends after the segment", entry(10), 600, strange),
        ("more blocks in use than there are", entry(1) + 32, 1001, strange),
        ("another number of pages", HEAP + 216, 4, strange),
        (
            "a list that leaves its page",
            HEAP + SLICE + 64,
            HEAP,
            Err(Unknown::Moving),
        ),
    ];
    for (what, at, word, expected) in cases {
        let mut fake = alone();
        fake.put(at, word);
        assert_eq!(mimalloc::read(&mut fake).map(|_| ()), expected, "{what}");
        assert!(fake.reads < 1000, "{what}");
    }
    // A list without an end.
    let mut fake = alone();
    fake.put(HEAP + SLICE + 3 * 64, HEAP + SLICE + 64);
    assert_eq!(mimalloc::read(&mut fake), Err(Unknown::Moving));
    // A list of large blocks, each of which is read alone.
    let mut fake = Fake::new();
    let spans = [(500, Some((PAGE, [7900, 7900, 8000], 3900))), (11, None)];
    fake.segment(NEWEST, HEAP, 0, THREAD, &spans);
    fake.reads = 100_000 - 1000;
    assert_eq!(mimalloc::read(&mut fake), Err(Unknown::TooLarge));
    assert!(fake.reads < 100_000 + 100, "{}", fake.reads);
    // Numbers that lie.
    for word in [0, 1, u64::MAX, 1 << 63, 1 << 47, HEAP, MAP, SLICE] {
        for at in (0..40).chain((40..600).step_by(31)) {
            let mut fake = segments(NEWEST);
            fake.put(HEAP + 128 * MIB + at * 8, word);
            let heap = mimalloc::read(&mut fake);
            let is_sound = heap.map_or_else(|why| why == Unknown::Moving, |heap| heap.kept() < 1024 * MIB);
            assert!(fake.reads < 100_000 && is_sound, "{at}: {heap:?}");
        }
        for at in (0..16)
            .map(|at| HEAP + at * 8)
            .chain((0..16).map(|at| METAS + 2 * 160 + at * 8))
        {
            let mut fake = mapped(true, false);
            fake.put(at, word);
            let heap = mimalloc::read(&mut fake);
            assert!(fake.reads < 100_000, "{at:x}: {heap:?}");
        }
    }
}

/// A program that allocates in `argv[1]` threads, frees three of four blocks, some of them of another thread, and prints what is in use.
const PROGRAM: &str = r#"
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { MOST = 60000 };
static int kind, threads;
static _Atomic long in_use;
static char *kept[8][MOST];
static pthread_barrier_t all_there;
static void drop(char **block) {
    in_use -= malloc_usable_size(*block);
    free(*block);
    *block = 0;
}
static void allocate(int own) {
    unsigned seed = own + 99;
    int count = 0;
    size_t total = 0, most = (96u << 20) / threads;
    while (total < most && count < MOST) {
        seed = seed * 1103515245u + 12345u;
        size_t random = seed >> 8;
        size_t size = kind == 0 ? 16 + random % 3000 : kind == 1 ? 16 + random % 110 : kind == 2 ? 4096 + random % 60000 : random;
        kept[own][count] = malloc(size);
        memset(kept[own][count], 1, size);
        in_use += malloc_usable_size(kept[own][count++]);
        total += size;
    }
    pthread_barrier_wait(&all_there);
    int other = (own + 1) % threads;
    for (int i = 0; i < MOST; i++) {
        seed = seed * 1103515245u + 12345u;
        if ((seed >> 8) % 4 && kept[own][i] && i % 3) drop(&kept[own][i]);
        if ((seed >> 12) % 4 && kept[other][i] && i % 3 == 0) drop(&kept[other][i]);
    }
    pthread_barrier_wait(&all_there);
}
static void *work(void *own) { allocate((int)(size_t)own); pause(); return 0; }
int main(int argc, char **argv) {
    setvbuf(stdout, 0, _IONBF, 0);
    threads = atoi(argv[1]); kind = atoi(argv[2]);
    pthread_barrier_init(&all_there, 0, threads);
    pthread_t thread;
    for (int i = 1; i < threads; i++) pthread_create(&thread, 0, work, (void *)(size_t)i);
    allocate(0);
    printf("%ld\n", in_use);
    pause();
}
"#;

#[test]
fn a_real_heap_is_as_the_program_counts_it() {
    let Some(library) = library(&["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0"]) else {
        return cannot("libmimalloc is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), "cc", PROGRAM, "c", &["-O1", "-pthread"]);
    for (threads, kind) in [("1", "0"), ("6", "1"), ("3", "2"), ("2", "3")] {
        let mut command = Command::new(&program);
        let child = command
            .args([threads, kind])
            .env("LD_PRELOAD", &library)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Guard(child.unwrap());
        let mut line = String::new();
        let mut out = BufReader::new(child.0.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let in_use: u64 = line.trim_end().parse().unwrap();
        let (proc, pid) = (Path::new("/proc"), child.0.id());
        let state = look(proc, pid, Duration::from_secs(60)).unwrap();
        let runtimes: Vec<_> = open(proc, &state)
            .iter()
            .map(|door| door.look(Accepted::NOTHING))
            .collect();
        let [runtime] = &runtimes[..] else {
            panic!("{runtimes:?}")
        };
        let what = format!("{threads} threads, kind {kind}, {in_use} in use: {runtime:?}");
        let (in_ram, used) = runtime.heap().unwrap();
        // The program has buffers, too.
        assert!(used.abs_diff(in_use) <= in_use / 1000 + 64 * 1024, "{what}");
        let kept = in_ram - used;
        assert!(
            free(proc, pid, Duration::from_secs(60)).1.unwrap()[1].abs_diff(kept) < MIB,
            "{what}"
        );
        assert_eq!(runtime.is_hoard(), kept >= 32 * MIB && kept >= in_ram / 4, "{what}");
    }
}
