//! Heaps of musl: made in memory, with damaged ones among them, and of a real program that counts itself.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::heap::kinds::Kind;
use zmtop::heap::mallocng::{self, Heap};
use zmtop::heap::{self, Memory, RegionKind, Regions, Unknown};
use zmtop::heaps::runtimes::{Accepted, open};
use zmtop::heaps::{free, look};
use zmtop::units::Units;

use super::jemalloc::Guard;
use super::{Words, region};
use crate::code::compile;
use crate::support::cannot;

const PAGE: u64 = 4096;
const SECRET: u64 = 0x1234_5678_9abc_def1;
const DATA: u64 = 0x7f20_0000_0000;
const CONTEXT: u64 = DATA + 0x2e0;
/// The areas of metas, in `[heap]`, and the memory of groups.
const AREAS: u64 = 0x5555_0000_0000;
const GROUPS: u64 = 0x7f10_0000_0000;

#[derive(Clone)]
struct Fake {
    words: Words,
    metas: u64,
    absent: Vec<u64>,
    reads: u64,
}

impl Fake {
    fn put(&mut self, at: u64, word: u64) {
        self.words.0.insert(at, word);
    }

    /// Adds a group: its address, its slots, its free slots (available, and freed), its size class and its pages.
    fn group(&mut self, start: u64, slots: u64, [available, freed]: [u64; 2], class: u64, pages: u64) {
        let (area, place) = (self.metas / 101, self.metas % 101);
        let at = AREAS + area * PAGE + 24 + place * 40;
        self.metas += 1;
        self.put(at + 16, start);
        self.put(at + 24, available | freed << 32);
        self.put(at + 32, (slots - 1) | 1 << 5 | class << 6 | pages << 12);
    }
}

/// A process; `before` are the bytes of the context before its first area.
fn process(before: u64) -> Fake {
    let mut fake = Fake {
        words: Words::default(),
        metas: 0,
        absent: Vec::new(),
        reads: 0,
    };
    // Another pointer to a page comes first.
    fake.put(DATA, GROUPS);
    fake.put(CONTEXT, SECRET);
    fake.put(CONTEXT + before, AREAS);
    for area in 0..2 {
        fake.put(AREAS + area * PAGE, SECRET);
        fake.put(AREAS + area * PAGE + 16, 101);
    }
    fake.put(AREAS + 8, AREAS + PAGE);
    // 7 slots of 5440 bytes in 10 pages, of which 2 are free; within one of 16 slots of 1008 bytes, a group of 15 slots of 64
    // bytes, of which 5 are free; and an allocation of its own.
    fake.group(GROUPS, 7, [1, 4], 29, 10);
    fake.group(GROUPS + 16 * PAGE, 16, [0, 0], 19, 4);
    fake.group(GROUPS + 16 * PAGE + 16, 15, [0b11111, 0], 3, 0);
    fake.metas = 101;
    fake.group(GROUPS + 64 * PAGE, 1, [0, 0], 63, 50);
    fake
}

impl Memory for Fake {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.reads += 1;
        let is_mapped = self.regions().unwrap().holds(address, into.len() as u64);
        is_mapped && self.words.read(address, into)
    }

    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool {
        for (entry, page) in into.iter_mut().zip(page..) {
            *entry = u64::from(!self.absent.contains(&(page * PAGE))) << 63;
        }
        true
    }

    fn page_size(&self) -> u64 {
        PAGE
    }

    fn regions(&mut self) -> Option<Regions> {
        Some(Regions::new(vec![
            region(AREAS, 4 * PAGE, RegionKind::Heap),
            region(GROUPS, 1024 * PAGE, RegionKind::Anonymous),
            region(DATA, PAGE, RegionKind::Libc),
        ]))
    }

    fn is_over(&mut self) -> bool {
        self.reads > 50_000
    }
}

#[test]
fn it_is_read_by_what_must_hold() {
    for before in [56, 64] {
        let expected = Heap {
            small: 5 * 340 * 16 + 15 * 1008 + 10 * 64,
            groups: 14 * PAGE,
            kept: 2 * 340 * 16 + 5 * 64,
            mapped: (1, 50 * PAGE),
        };
        assert_eq!(mallocng::read(&mut process(before)), Ok(expected));
    }
}

#[test]
fn pages_that_are_not_there_are_not_kept() {
    let mut fake = process(56);
    fake.absent = vec![GROUPS + PAGE];
    assert_eq!(mallocng::read(&mut fake).unwrap().kept, 2 * 340 * 16 + 5 * 64 - PAGE);
}

#[test]
fn a_heap_with_more_memory_than_is_mapped_is_not_believed() {
    let mut fake = process(56);
    let found = heap::allocator(Kind::Musl, &mut fake.clone()).unwrap();
    let is = mallocng::read(&mut fake).unwrap();
    assert_eq!((found.in_use, found.kept), (is.in_use(), is.kept));
    assert_eq!(found.runtime.figures, Some((is.in_use(), is.kept)));
    // The same memory twice.
    fake.group(GROUPS + 64 * PAGE, 1, [0, 0], 63, 900);
    fake.group(GROUPS + 64 * PAGE, 1, [0, 0], 63, 900);
    let refused = heap::allocator(Kind::Musl, &mut fake).map(|heap| heap.in_use);
    assert_eq!(refused, Err(Unknown::Strange("it has more memory than is mapped")));
}

#[test]
fn memory_in_use_that_was_never_touched_is_not_in_ram() {
    let mut runtime = heap::allocator(Kind::Musl, &mut process(56)).unwrap().runtime;
    let words = |runtime: &heap::runtimes::Runtime| runtime.verdict(Units::Auto).remove(0);
    runtime.memory = Some(1 << 20);
    assert_eq!(
        words(&runtime),
        "Its heap has 253K in RAM: 242K are in use, and 10.9K are free."
    );
    runtime.memory = Some(100 << 10);
    assert_eq!(
        words(&runtime),
        "Its heap has 242K in use and 10.9K free. At most 100K of the memory in use is in RAM or swap."
    );
}

#[test]
fn a_damaged_heap_is_not_believed_and_never_followed_for_ever() {
    let cases = [
        ("no secret in the context", CONTEXT, 1, Unknown::NotFound),
        ("no area", CONTEXT + 56, 0, Unknown::NotFound),
        ("an area without the secret", AREAS + PAGE, 7, Unknown::Moving),
        ("an area outside of memory", AREAS + 8, 0x4000, Unknown::Moving),
        ("areas in a circle", AREAS + PAGE + 8, AREAS, Unknown::TooLarge),
        (
            "more free slots than there are",
            AREAS + 24 + 24,
            u64::MAX,
            Unknown::Moving,
        ),
        ("a group outside of memory", AREAS + 24 + 16, 0x5000, Unknown::Moving),
        (
            "a group that is too long",
            AREAS + 24 + 32,
            6 | 29 << 6 | u64::MAX << 12,
            Unknown::Moving,
        ),
        ("an unknown class", AREAS + 24 + 32, 6 | 50 << 6, Unknown::Moving),
    ];
    for (what, at, word, expected) in cases {
        let mut fake = process(56);
        fake.put(at, word);
        assert_eq!(mallocng::read(&mut fake), Err(expected), "{what}");
    }
}

/// A program that frees three of four blocks, and prints the bytes that it has.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    unsigned seed = 99;
    size_t total = 0, used = 0, count = 0;
    static char *kept[60000];
    static size_t sizes[60000];
    setvbuf(stdout, 0, _IONBF, 0);
    while (count < 60000) {
        seed = seed * 1103515245u + 12345u;
        size_t size = count % 500 == 0 ? 200000 : 16 + (seed >> 8) % 3000;
        kept[count] = malloc(size);
        memset(kept[count], 1, size);
        sizes[count++] = size;
    }
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        if ((seed >> 8) % 4) free(kept[i]); else used += sizes[i];
    }
    printf("%zu\n", used);
    pause();
}
"#;

#[test]
fn a_real_heap_has_what_the_program_has() {
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        return cannot("musl-gcc is not installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), "musl-gcc", PROGRAM, "c", &["-O1", "-static"]);
    let child = Command::new(&program).stdout(Stdio::piped()).spawn();
    let mut child = Guard(child.unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let used: u64 = line.trim().parse().unwrap();
    let (proc, pid) = (Path::new("/proc"), child.0.id());
    let state = look(proc, pid, Duration::from_secs(60)).unwrap();
    let doors = open(proc, &state);
    let [door] = &doors[..] else {
        panic!("{:?}", state.others)
    };
    let runtime = door.look(Accepted::NOTHING);
    let found: u64 = runtime.parts.iter().map(|part| part.used).sum();
    // A slot is up to a fifth larger than what is in it, and the program's output has a buffer.
    assert!(found >= used && found <= used + used / 5, "{used} used, {runtime:?}");
    let kept: u64 = runtime
        .parts
        .iter()
        .map(|part| part.resident.unwrap() - part.used)
        .sum();
    assert!(kept > 2 * used, "{used} used, {runtime:?}");
    assert!(free(proc, pid, Duration::from_secs(60)).1.unwrap()[1].abs_diff(kept) < 1 << 20);
    assert!(runtime.is_hoard());
}
