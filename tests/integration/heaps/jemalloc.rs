//! Heaps of jemalloc: made in memory, with hostile ones among them, and of real programs that count themselves.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use zmtop::heap::jemalloc::{self, Arena, Heap};
use zmtop::heap::runtimes::Runtime;
use zmtop::heap::{Memory, Placed, RegionKind, Regions, Unknown};
use zmtop::heaps::runtimes::{Accepted, open};
use zmtop::heaps::{free, look};

use super::{ALLOCATE, Words, library, region};
use crate::code::compile;
use crate::support::cannot;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
/// The size of a leaf of a tree of three levels.
const WIDE_LEAF: u64 = 16 << 15;
/// The data of the program, where the root is at [`ROOT`].
const DATA: u64 = 0x5555_5555_0000;
const ROOT: u64 = DATA + 0x1240;
/// The leaf and the extents.
const BASE: u64 = 0x7f00_0000_0000;
const LEAF: u64 = BASE + 0x40;
const EXTENTS: u64 = BASE + 3 * MIB;
/// The node above the leaves, if there are three levels, and these.
const INNER: u64 = BASE + 8 * MIB + 0x80;
const LEAVES: u64 = BASE + 9 * MIB;
/// The heap. It begins at a GiB.
const HEAP: u64 = 0x7f00_4000_0000;

/// Positions of state, class and free regions in the first word of an extent, and the version that is reported.
const VERSIONS: [([u32; 3], &str); 3] = [
    ([17, 20, 28], "jemalloc 5.3"),
    ([16, 18, 26], "jemalloc 5.1 or 5.2"),
    ([15, 17, 25], "jemalloc 5.0"),
];

/// A process: words of memory at sparse addresses.
#[derive(Clone)]
struct Fake {
    fields: [u32; 3],
    /// The tree has three levels.
    is_wide: bool,
    words: Words,
    extents: u64,
    /// Pages of the heap that are not in RAM.
    absent: Vec<u64>,
    reads: u64,
}

impl Fake {
    fn put(&mut self, at: u64, word: u64) {
        self.words.0.insert(at, word);
    }

    /// Adds an extent to the tree: its arena, state, class and free regions. A slab has all of its pages in the leaf.
    fn extent(&mut self, at: u64, size: u64, [arena, state, class, free]: [u64; 4], is_slab: bool) {
        let extent = EXTENTS + self.extents * 128;
        self.extents += 1;
        let [state_at, class_at, free_at] = self.fields;
        let head = arena | u64::from(is_slab) << 12 | state << state_at | class << class_at | free << free_at;
        self.put(extent, head);
        self.put(extent + 8, at);
        // The lower bits are a serial number.
        self.put(extent + 16, size | 0x123);
        let is_newest = state_at == 17;
        let flags = if is_newest { class << 5 | 2 } else { class };
        let slab = u64::from(is_slab) << if is_newest { 0 } else { 32 };
        let pages = size / PAGE;
        for page in (0..pages).filter(|page| is_slab || *page == 0 || *page == pages - 1) {
            let place = (at - HEAP) / PAGE + page;
            if self.is_wide {
                let entry = LEAVES + place / (1 << 15) * WIDE_LEAF + place % (1 << 15) * 16;
                self.put(entry, extent);
                self.put(entry + 8, flags | slab);
            } else {
                self.put(LEAF + place * 8, extent | class << 48 | u64::from(is_slab));
            }
        }
    }
}

fn process(fields: [u32; 3]) -> Fake {
    process_with(fields, false)
}

fn process_with(fields: [u32; 3], is_wide: bool) -> Fake {
    let mut fake = Fake {
        fields,
        is_wide,
        words: Words::default(),
        extents: 0,
        absent: Vec::new(),
        reads: 0,
    };
    // Pointers that lead to no leaf.
    fake.put(DATA, HEAP);
    fake.put(DATA + 8, BASE);
    if is_wide {
        fake.put(ROOT + (HEAP >> 42) * 8, INNER);
        for leaf in 0..4 {
            fake.put(INNER + ((HEAP >> 27) % (1 << 15) + leaf) * 8, LEAVES + leaf * WIDE_LEAF);
        }
    } else {
        fake.put(ROOT + (HEAP >> 30) * 8, LEAF);
    }
    // Address space without pages comes first.
    fake.extent(HEAP, MIB, [0, 3, 232, 0], false);
    // 16 KiB of regions of 32 bytes, of which 100 are free, and two slabs of 2 pages of regions of 4 KiB.
    fake.extent(HEAP + MIB, 4 * PAGE, [0, 0, 2, 100], true);
    fake.extent(HEAP + MIB + 4 * PAGE, 2 * PAGE, [0, 0, 28, 1], true);
    // 5 MiB of a class of 5 MiB, and one with padding.
    fake.extent(HEAP + 2 * MIB, 5 * MIB, [1, 0, 69, 0], false);
    fake.extent(HEAP + 8 * MIB, 5 * PAGE, [1, 0, 36, 0], false);
    // Dirty and muzzy pages.
    fake.extent(HEAP + 9 * MIB, 4 * MIB, [0, 1, 232, 0], false);
    fake.extent(HEAP + 16 * MIB, 2 * MIB, [1, 2, 232, 0], false);
    fake
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
            region(DATA, 2 * PAGE, RegionKind::File),
            region(DATA + 2 * PAGE, 4 * MIB, RegionKind::Anonymous),
            region(BASE, 16 * MIB, RegionKind::Anonymous),
            region(HEAP, 512 * MIB, RegionKind::Anonymous),
        ]))
    }

    fn is_over(&mut self) -> bool {
        self.reads > 100_000
    }
}

fn arena(in_use: u64, active: u64, slab_free: u64, unused: u64) -> Arena {
    let unused = Placed {
        resident: unused,
        swapped: 0,
    };
    Arena {
        in_use,
        active,
        slab_free,
        unused,
    }
}

#[test]
fn each_version_is_read_by_what_must_hold() {
    for (fields, version) in VERSIONS {
        let [heap, other] = [false, true].map(|is_wide| jemalloc::read(&mut process_with(fields, is_wide)).unwrap());
        let used = 412 * 32 + PAGE;
        let first = arena(used, 6 * PAGE, 100 * 32 + PAGE, 4 * MIB);
        let second = arena(5 * MIB + 4 * PAGE, 5 * MIB + 5 * PAGE, 0, 2 * MIB);
        let expected = Heap {
            version,
            arenas: [(0, first), (1, second)].into(),
        };
        assert_eq!(heap, expected);
        assert_eq!(other, expected, "three levels");
    }
}

#[test]
fn pages_that_are_not_there_are_not_kept() {
    let mut fake = process(VERSIONS[0].0);
    fake.absent = vec![HEAP + 9 * MIB, HEAP + MIB + 5 * PAGE];
    let heap = jemalloc::read(&mut fake).unwrap();
    assert_eq!(
        (heap.arenas[&0].slab_free, heap.arenas[&0].unused.resident),
        (100 * 32, 4 * MIB - PAGE)
    );
}

#[test]
fn what_a_heap_keeps_is_reported_with_the_way_to_return_it() {
    let mut fake = process(VERSIONS[0].0);
    assert!(!jemalloc::read(&mut fake).unwrap().runtime().is_hoard());
    fake.extent(HEAP + 32 * MIB, 64 * MIB, [0, 1, 232, 0], false);
    let said = |fake: &mut Fake| {
        jemalloc::read(fake)
            .unwrap()
            .runtime()
            .verdict(zmtop::units::Units::Auto)
    };
    assert_eq!(
        said(&mut fake),
        [
            "Its heap has 75.0M in RAM, and 70.0M of it are free. jemalloc keeps them for new objects.",
            "A purge (mallctl arena.<i>.purge) would return 70.0M; with background_thread:true in MALLOC_CONF, jemalloc purges \
             without a call.",
        ]
    );
    let mut fake = process(VERSIONS[0].0);
    // Slabs of 4 pages, of which a quarter is in use.
    for at in 0..4000 {
        fake.extent(HEAP + 128 * MIB + at * 4 * PAGE, 4 * PAGE, [0, 0, 28, 3], true);
    }
    assert_eq!(
        said(&mut fake)[1],
        "46.9M of it lie between objects in use: a purge (mallctl arena.<i>.purge) would return only 6.0M."
    );
}

#[test]
fn a_damaged_heap_is_not_believed_and_never_followed_for_ever() {
    const TREE: u64 = ROOT + (HEAP >> 30) * 8;
    let strange = Err(Unknown::NotFound);
    let cases: [(&str, u64, u64, Result<(), Unknown>); 7] = [
        ("no leaf", TREE, 0, strange),
        ("a leaf outside of memory", TREE, 0x1234_0000, strange),
        ("a leaf that ends outside of memory", TREE, BASE + 15 * MIB, strange),
        ("another entry of the root that is no leaf", TREE + 8, 0x4242, strange),
        ("a first extent of another place", EXTENTS + 8, HEAP + PAGE, strange),
        ("a first extent outside of memory", LEAF, 0x4240, strange),
        (
            "two entries of the root that lead to one leaf",
            TREE + 8,
            LEAF,
            Err(Unknown::Moving),
        ),
    ];
    for (what, at, word, expected) in cases {
        let mut fake = process(VERSIONS[0].0);
        fake.put(at, word);
        assert_eq!(jemalloc::read(&mut fake).map(|_| ()), expected, "{what}");
    }
    // Sizes and addresses that lie.
    for word in [0, 1, u64::MAX, 1 << 63, 1 << 47, HEAP] {
        for at in 0..15 {
            let mut fake = process(VERSIONS[0].0);
            fake.put(EXTENTS + 128 + at / 3 * 128 + at % 3 * 8, word);
            let total = jemalloc::read(&mut fake).map(|heap| heap.total());
            assert!(
                matches!(total, Err(Unknown::Moving | Unknown::Strange(_) | Unknown::NotFound))
                    || total.is_ok_and(|sum| sum.active < 512 * MIB),
                "{at}: {total:?}"
            );
        }
    }
}

#[test]
fn leaves_without_an_extent_are_not_read_for_ever() {
    let mut fake = process(VERSIONS[0].0);
    // They begin where the others overlap them, and have no page in RAM.
    for leaf in 0..60_000 {
        fake.put(ROOT + ((HEAP >> 30) + 1 + leaf) * 8, BASE + 10 * MIB + leaf * 64);
    }
    fake.reads = 100_000 - 300;
    assert_eq!(jemalloc::read(&mut fake), Err(Unknown::TooLarge));
    assert!(fake.reads < 100_000 + 100, "{}", fake.reads);
}

/// A program that allocates in `argv[1]` threads, frees three of four, and prints what jemalloc counts.
const PROGRAM: &str = r#"
int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
int main(int argc, char **argv) {
    setvbuf(stdout, 0, _IONBF, 0);
    threads = atoi(argv[1]); kind = atoi(argv[2]);
    pthread_barrier_init(&all_there, 0, threads);
    pthread_t thread;
    for (int i = 1; i < threads; i++) pthread_create(&thread, 0, work, (void *)(size_t)i);
    allocate(99);
    unsigned long epoch = 1;
    size_t len = sizeof epoch, allocated = 0, active = 0;
    if (!mallctl) return 1;
    mallctl("epoch", &epoch, &len, &epoch, len);
    mallctl("stats.allocated", &allocated, &len, 0, 0);
    mallctl("stats.active", &active, &len, 0, 0);
    printf("%zu %zu\n", allocated, active);
    pause();
}
"#;

pub(super) struct Guard(pub(super) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_heap_is_as_the_program_counts_it() {
    let Some(library) = library(&["libjemalloc.so.2"]) else {
        return cannot("libjemalloc2 is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let program = compile(
        dir.path(),
        "cc",
        &format!("{ALLOCATE}{PROGRAM}"),
        "c",
        &["-O1", "-pthread", "-DMOST=60000"],
    );
    for (threads, kind) in [("1", "0"), ("6", "1"), ("3", "2")] {
        let mut command = Command::new(&program);
        let child = command
            .args([threads, kind])
            .env("LD_PRELOAD", &library)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Guard(child.unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let numbers: Vec<u64> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [allocated, active] = numbers[..] else {
            panic!("{line:?}")
        };
        let (proc, pid) = (Path::new("/proc"), child.0.id());
        let state = look(proc, pid, Duration::from_secs(60)).unwrap();
        let doors = open(proc, &state);
        assert!(doors.iter().all(zmtop::heaps::runtimes::Door::is_free));
        let runtimes: Vec<Runtime> = doors.iter().map(|door| door.look(Accepted::NOTHING)).collect();
        let [runtime] = &runtimes[..] else {
            panic!("{runtimes:?}")
        };
        let sum = |of: fn(&zmtop::heap::runtimes::Part) -> u64| runtime.parts.iter().map(of).sum::<u64>();
        let what = format!("{threads} threads, kind {kind}: {runtime:?}");
        // Of what it counts, a thousandth are its own structures and what the other threads did since.
        assert!(
            sum(|part| part.used).abs_diff(allocated) <= allocated / 1000,
            "{allocated} allocated, {what}"
        );
        assert!(sum(|part| part.committed.unwrap()) >= active, "{active} active, {what}");
        let kept = sum(|part| part.resident.unwrap()) - sum(|part| part.used);
        assert!(
            free(proc, pid, Duration::from_secs(60)).1.unwrap()[1].abs_diff(kept) < MIB,
            "{what}"
        );
        assert_eq!(runtime.is_hoard(), kept >= 32 * MIB, "{what}");
        assert!(kept > active / 4, "{what}");
    }
}
