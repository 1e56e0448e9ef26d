//! Objects of Python: made in memory in the layout of 3.12, damaged, and of a real program that leaks.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use zmtop::heap::python::{self, Pools, Refusal, Runtime, objects, pools};
use zmtop::heap::runtimes::Objects;

use super::Made;
use crate::support::long;
use crate::support::pty::ZMTOP;

const RUNTIME: u64 = 0x10_0000;
const INTERPRETER: u64 = 0x10_1000;
/// The heads of the collector's three lists, and of the permanent one.
const LISTS: [u64; 4] = [
    INTERPRETER + 136,
    INTERPRETER + 160,
    INTERPRETER + 184,
    INTERPRETER + 216,
];
const TYPES: u64 = 0x20_0000;
const OBJECTS: u64 = 0x30_0000;
const PYTHON: Runtime = Runtime {
    version: (3, 12),
    address: RUNTIME,
};

const READY: u64 = 1 << 12;
const HAVE_GC: u64 = 1 << 14;

/// A program of 3.12, with the objects of a list.
#[derive(Clone)]
struct Program {
    made: Made,
    /// The collector's heads of the objects in the list.
    nodes: Vec<u64>,
    free: u64,
}

impl Program {
    fn new() -> Self {
        let mut made = Made::new(&[(RUNTIME, 0x8000), (TYPES, 0x4000), (OBJECTS, 0x8000)]);
        made.words(RUNTIME + 40, &[INTERPRETER]);
        for head in LISTS {
            made.words(head, &[head, head, 700]);
        }
        let types: [(&str, u64, u64, u64); 7] = [
            ("type", READY | HAVE_GC | 1 << 31, 416, 0),
            ("Session", READY | HAVE_GC | 1 << 9, 32, 0),
            ("list", READY | HAVE_GC | 1 << 25, 40, 0),
            ("str", READY | 1 << 28, 64, 0),
            ("bytes", READY | 1 << 27, 33, 1),
            ("collections.deque", READY | HAVE_GC, 72, 0),
            ("tuple", READY | HAVE_GC | 1 << 26, 24, 8),
        ];
        for (n, (name, flags, basic, item)) in types.into_iter().enumerate() {
            let at = TYPES + n as u64 * 0x800;
            made.words(at, &[9, TYPES, 0, at + 0x600, basic, item]);
            made.words(at + 168, &[flags]);
            made.bytes(at + 0x600, name.as_bytes());
            made.words(at + 872, &[at + 0x700]);
            text(&mut made, at + 0x700, 1, name);
        }
        Self {
            made,
            nodes: Vec::new(),
            free: OBJECTS,
        }
    }

    fn kind(n: u64) -> u64 {
        TYPES + n * 0x800
    }

    fn take(&mut self, len: u64) -> u64 {
        let at = self.free;
        self.free = (at + len).next_multiple_of(16);
        at
    }

    /// Makes an object that the collector knows.
    fn tracked(&mut self, words: &[u64]) -> u64 {
        let node = self.take(16 + words.len() as u64 * 8);
        self.made.words(node + 16, words);
        self.nodes.push(node);
        node + 16
    }

    fn text(&mut self, references: u64, value: &str) -> u64 {
        let at = self.take(41 + value.len() as u64);
        text(&mut self.made, at, references, value);
        at
    }

    /// Links the collector's list.
    fn link(&mut self) {
        let ring: Vec<u64> = std::iter::once(LISTS[2]).chain(self.nodes.iter().copied()).collect();
        for (n, at) in ring.iter().enumerate() {
            let next = ring[(n + 1) % ring.len()];
            let previous = ring[(n + ring.len() - 1) % ring.len()];
            self.made.words(*at, &[next, previous]);
        }
    }

    fn objects(&mut self) -> Result<Objects, Refusal> {
        objects(&mut self.made, &mut || {}, PYTHON)
    }
}

/// Writes an ASCII text.
fn text(made: &mut Made, at: u64, references: u64, value: &str) {
    const COMPACT_ASCII: u64 = 1 << 2 | 1 << 5 | 1 << 6;
    made.words(
        at,
        &[references, TYPES + 3 * 0x800, value.len() as u64, 0, COMPACT_ASCII],
    );
    made.bytes(at + 40, value.as_bytes());
}

/// Makes sessions, each of which has a list of its own with a text that all share, and a text of its own.
fn sessions(count: u64) -> Program {
    let mut program = Program::new();
    let shared = program.text(count + 1, "shared");
    for _ in 0..count {
        let items = program.take(32);
        program.made.words(items, &[shared]);
        // The list is older than its session.
        let list = program.tracked(&[1, Program::kind(2), 1, items, 4]);
        let own = program.text(1, "own");
        program.tracked(&[1, Program::kind(1), list, own]);
    }
    program.link();
    program
}

#[test]
fn classes_of_the_standard_library_are_not_the_programs_own() {
    for name in [
        "abc.ABCMeta",
        "collections.deque",
        "_frozen_importlib.ModuleSpec",
        "asyncio.tasks.Task",
    ] {
        assert!(python::is_of_library(name), "{name}");
    }
    for name in ["__main__.Order", "shop.cart.Order", "Session", "abcd.Thing", "enum"] {
        assert!(!python::is_of_library(name), "{name}");
    }
}

#[test]
fn an_instance_counts_with_what_it_alone_refers_to() {
    let found = sessions(3).objects().unwrap();
    let types: Vec<_> = found
        .types
        .iter()
        .map(|of| (of.name.as_str(), of.count, of.bytes, of.is_own))
        .collect();
    // The collector's head and 32 bytes; the same of the list, and its four places; the header of a text, and its characters.
    let session = 16 + 32 + (16 + 40 + 4 * 8) + (40 + 4);
    assert_eq!(types, [("Session", 3, 3 * session, true), ("str", 1, 40 + 7, false)]);
    assert!(found.is_whole);
}

#[test]
fn a_size_that_no_mapping_holds_does_not_count() {
    let bytes = |size: u64| {
        let mut program = Program::new();
        let value = program.take(48);
        program.made.words(value, &[1, Program::kind(4), size]);
        let items = program.take(8);
        program.made.words(items, &[value]);
        program.tracked(&[1, Program::kind(2), 1, items, 1]);
        program.link();
        let found = program.objects().unwrap();
        found.types.iter().find(|of| of.name == "bytes").unwrap().bytes
    };
    assert_eq!([bytes(8), bytes(1 << 20), bytes(1 << 38)], [33 + 8, 33, 33]);
}

#[test]
fn blocks_of_a_deque_count_once() {
    const BLOCK: u64 = 528;
    const NOWHERE: u64 = 0xdead_0000;
    /// Items; the right link of each block, by its number, or an address; the last block; blocks that count; whether all were
    /// counted.
    type Case = (&'static str, u64, &'static [u64], u64, u64, bool);
    let cases: [Case; 8] = [
        ("one block", 3, &[NOWHERE], 0, 1, true),
        (
            "two blocks, of which each is partly used",
            66,
            &[1, NOWHERE],
            1,
            2,
            true,
        ),
        ("three blocks", 130, &[1, 2, NOWHERE], 2, 3, true),
        (
            "a length that ends before the last block",
            1,
            &[1, 2, 3, NOWHERE],
            3,
            2,
            true,
        ),
        ("a block that follows itself", 1 << 30, &[0], 9, 1, false),
        ("blocks in a circle", 1 << 30, &[1, 2, 1], 9, 3, false),
        ("a block outside of memory", 1 << 30, &[1, NOWHERE], 9, 2, true),
        ("a length of 2^63", 1 << 63, &[1, 0], 9, 2, true),
    ];
    for (what, size, links, last, counted, is_whole) in cases {
        let mut program = Program::new();
        let first = program.take(BLOCK * 16);
        let place = |n: u64| if n < 16 { first + n * BLOCK } else { n };
        for (n, next) in (0..).zip(links) {
            program.made.words(place(n) + BLOCK - 8, &[place(*next)]);
        }
        program.tracked(&[1, Program::kind(5), size, place(0), place(last)]);
        program.link();
        let found = program.objects().unwrap();
        let deque = found.types.iter().find(|of| of.name == "collections.deque").unwrap();
        assert_eq!(
            (deque.count, deque.bytes, found.is_whole),
            (1, 16 + 72 + counted * BLOCK, is_whole),
            "{what}"
        );
    }
    // Each has the next one as its first item, and a block that follows itself.
    let mut program = Program::new();
    let deques: Vec<(u64, u64)> = (0..20)
        .map(|_| {
            let block = program.take(BLOCK);
            let node = program.take(16 + 72);
            (node + 16, block)
        })
        .collect();
    for (n, (deque, block)) in deques.iter().enumerate() {
        let next = deques.get(n + 1).map_or(0, |(deque, _)| *deque);
        program.made.words(*block, &[*block, next]);
        program.made.words(block + BLOCK - 8, &[*block]);
        let words = [1, Program::kind(5), 1 << 30, *block, *block + 8];
        program.made.words(*deque, &words);
    }
    let items = program.take(8);
    program.made.words(items, &[deques[0].0]);
    program.tracked(&[1, Program::kind(2), 1, items, 1]);
    program.link();
    let found = program.objects().unwrap();
    let deque = found.types.iter().find(|of| of.name == "collections.deque").unwrap();
    assert_eq!(
        (deque.count, deque.bytes, found.is_whole),
        (20, 20 * (16 + 72 + BLOCK), false)
    );
}

#[test]
fn a_type_has_no_more_bytes_than_are_mapped() {
    const MAPPED: u64 = 0x8000 + 0x4000 + 0x8000;
    // The size of each of three texts, and the bytes of their type.
    for (size, bytes, is_whole) in [(7, 3 * 40, true), ((1 << 20) - 100, MAPPED, false)] {
        let mut program = Program::new();
        let items = program.take(24);
        for n in 0..3 {
            let value = program.take(48);
            program.made.words(value, &[1, Program::kind(4), size]);
            program.made.words(items + n * 8, &[value]);
        }
        program.tracked(&[1, Program::kind(2), 3, items, 3]);
        program.link();
        let found = program.objects().unwrap();
        let of = found.types.iter().find(|of| of.name == "bytes").unwrap();
        assert_eq!((of.count, of.bytes, found.is_whole), (3, bytes, is_whole), "{size}");
    }
    // A list whose items no mapping holds.
    for (places, bytes) in [(4, 16 + 40 + 4 * 8), (1 << 17, 16 + 40), (1 << 40, 16 + 40)] {
        let mut program = Program::new();
        let items = program.take(32);
        program.tracked(&[1, Program::kind(2), 0, items, places]);
        program.link();
        let found = program.objects().unwrap();
        assert_eq!((found.types[0].name.as_str(), found.types[0].bytes), ("list", bytes));
    }
}

#[test]
fn objects_nested_without_an_end_are_not_all_followed() {
    const NESTED: u64 = 300_000;
    let mut program = Program::new();
    program.made.left = 1_000_000;
    let start = 0x100_0000 + 16;
    program
        .made
        .regions
        .insert(start - 16, vec![0; (NESTED * 48 + 16) as usize]);
    // Each tuple has the next one, and a second item that waits.
    for n in 0..NESTED {
        let at = start + n * 48;
        let next = if n + 1 < NESTED { at + 48 } else { 0 };
        program.made.words(at, &[1, Program::kind(6), 2, next]);
    }
    let items = program.take(8);
    program.made.words(items, &[start]);
    program.tracked(&[1, Program::kind(2), 1, items, 1]);
    program.link();
    let found = program.objects().unwrap();
    let tuple = found.types.iter().find(|of| of.name == "tuple").unwrap();
    // As many as may wait, and the last one that was found.
    assert_eq!((tuple.count, found.is_whole), ((1 << 18) + 1, false));
}

#[test]
fn types_with_long_names_are_limited_as_a_whole() {
    const COUNT: u64 = 11_000;
    const SIZE: u64 = 0x400;
    let mut program = Program::new();
    program.made.left = 1_000_000;
    let (types, objects) = (0x100_0000, 0x200_0000);
    let sizes = [(types, COUNT * SIZE), (objects, COUNT * 24 + 0x1000)];
    for (start, len) in sizes {
        program.made.regions.insert(start, vec![0; len as usize]);
    }
    let made = &mut program.made;
    // Texts of 200 characters of 4 bytes, which all share, as all share the dict with the module.
    let [short, module, own, key, dict, keys] = [0, 0x200, 0x600, 0xa00, 0xb00, 0xc00].map(|at| RUNTIME + 0x4000 + at);
    made.bytes(short, b"S");
    for (at, end) in [(module, ['a', 'b']), (own, ['.', 'S'])] {
        made.words(at, &[9, Program::kind(3), 200, 0, 4 << 2 | 1 << 5]);
        let characters = std::iter::repeat_n('\u{10ffff}', 198).chain(end);
        for (n, character) in (0..).zip(characters) {
            made.bytes(at + 56 + n * 4, &u32::from(character).to_le_bytes());
        }
    }
    text(made, key, 9, "__module__");
    made.words(dict + 32, &[keys]);
    made.words(keys + 8, &[0, 0, 1]);
    made.words(keys + 32 + 1 + 8, &[key, module]);
    for n in 0..COUNT {
        let at = types + n * SIZE;
        made.words(at, &[9, Program::kind(0), 0, short, 16, 0]);
        made.words(at + 168, &[READY | 1 << 9]);
        made.words(at + 264, &[dict]);
        made.words(at + 872, &[own]);
        made.words(objects + COUNT * 8 + n * 16, &[1, at]);
        made.words(objects + n * 8, &[objects + COUNT * 8 + n * 16]);
    }
    program.tracked(&[1, Program::kind(2), COUNT, objects, COUNT]);
    program.link();
    let found = program.objects().unwrap();
    // They have one name, so they are one type. 16 MiB of names of 198 characters, twice, and of 2, with a dot between.
    let name = 2 * (198 * 4 + 2) + 1;
    let of = found.types.iter().find(|of| of.name.len() == name).unwrap();
    assert_eq!(
        (of.count, found.is_whole),
        ((16_u64 << 20).div_ceil(name as u64), false)
    );
}

#[test]
fn what_was_read_when_the_time_is_over_is_not_all() {
    let whole = sessions(3).objects().unwrap();
    for left in 1..40 {
        let mut program = sessions(3);
        program.made.left = left;
        let found = program.objects();
        let is_whole = found.as_ref().is_ok_and(|found| found.is_whole);
        assert!(!is_whole || found.as_ref() == Ok(&whole), "{left}: {found:?}");
        assert!(!is_whole || program.made.left > 0, "{left}");
    }
}

#[test]
fn lists_that_lie_end() {
    let first = OBJECTS + 48;
    // What is written where, and whether all objects are still counted.
    let cases: [(&str, u64, u64, bool); 8] = [
        ("a list that loops", 0, OBJECTS, false),
        ("a list that leads nowhere", 0, 0xdead_0000, false),
        ("a list that leads to the last address", 0, u64::MAX - 7, false),
        ("a type that is none", 24, 0x1234_5670, false),
        ("an object without references", 16, 0, false),
        ("a size of 2^63", 32, 1 << 63, true),
        ("more items than places", 32, 5, true),
        ("items at the end of all addresses", 40, u64::MAX - 3, true),
    ];
    for (what, offset, value, is_whole) in cases {
        let mut program = sessions(3);
        program.made.left = 100_000;
        program.made.words(program.nodes[0] + offset, &[value]);
        let found = program.objects().unwrap();
        assert_eq!(found.is_whole, is_whole, "{what} at {first:#x}");
    }
}

#[test]
fn what_is_no_interpreter_is_refused() {
    let mut free_threaded = Made::new(&[(RUNTIME, 0x1000)]);
    free_threaded.bytes(RUNTIME, b"xdebugpy");
    free_threaded.words(RUNTIME + 16, &[1]);
    let newest = Runtime {
        version: (3, 14),
        ..PYTHON
    };
    assert_eq!(
        objects(&mut free_threaded, &mut || {}, newest),
        Err(Refusal::FreeThreaded)
    );
    let mut empty = Made::new(&[(RUNTIME, 0x1000)]);
    for version in [(3, 8), (3, 10), (3, 12), (3, 13), (3, 14)] {
        let runtime = Runtime { version, ..PYTHON };
        assert_eq!(
            objects(&mut empty, &mut || {}, runtime),
            Err(Refusal::Unknown),
            "{version:?}"
        );
        let nowhere = Runtime {
            version,
            address: u64::MAX - 4,
        };
        assert_eq!(
            objects(&mut empty, &mut || {}, nowhere),
            Err(Refusal::Unknown),
            "{version:?}"
        );
    }
    let mut collecting = sessions(1);
    collecting.made.words(LISTS[0] + 176, &[1]);
    assert_eq!(collecting.objects(), Err(Refusal::Collecting));
}

/// Damaged memory is walked without a panic, and to an end, in the layout of each version.
#[test]
fn damaged_objects_are_harmless() {
    for (n, mut made) in sessions(3).made.mutations(if long() { 3000 } else { 900 }).enumerate() {
        made.left = 4;
        let version = [(3, 12), (3, 8), (3, 10), (3, 11), (3, 12), (3, 14)][n % 6];
        let _ = objects(&mut made, &mut || {}, Runtime { version, ..PYTHON });
        let _ = pools(&mut made, version);
    }
}

#[test]
fn a_pool_proves_itself_by_its_header() {
    const START: u64 = 0x7f00_0000_0000;
    const POOL: u64 = 16 << 10;
    let mut made = Made::new(&[(START, 4 * POOL as usize)]);
    let block = 64;
    let header = |made: &mut Made, n: u64, used: u64, next: u64| {
        let at = START + n * POOL;
        made.words(
            at,
            &[used, 0, 0, 0, 7 | (block / 16 - 1) << 32, next | (POOL - block) << 32],
        );
    };
    header(&mut made, 0, 100, 48 + 255 * block);
    header(&mut made, 1, 0, 48 + block);
    // More blocks in use than were ever handed out; no block size.
    header(&mut made, 2, 100, 48 + block);
    made.words(START + 3 * POOL, &[1, 0, 0, 0, 99 << 32, 0]);
    let expected = Pools {
        used: 100 * block,
        free: POOL - 48 - 100 * block,
        empty: POOL,
        arenas: 1 << 20,
    };
    assert_eq!(pools(&mut made, (3, 12)), expected);
    // Pools of 4 KiB have other headers.
    assert_eq!(pools(&mut made, (3, 9)), Pools::default());
    // Each states another arena, but there is not as much memory.
    for n in 0..4 {
        header(&mut made, n, 100, 48 + 255 * block);
        made.words(START + n * POOL + 32, &[(n + 7) | (block / 16 - 1) << 32]);
    }
    assert_eq!(pools(&mut made, (3, 12)).arenas, 1 << 20);
}

const LEAK: &str = "
import sys
class Session:
    def __init__(self, number):
        self.number, self.name = number, 'session %d' % number
        self.data = [number * 1000 + n for n in range(20)]
kept = [Session(n) for n in range(20000)]
print('done', flush=True)
sys.stdin.read()
";

#[test]
fn a_real_python_that_leaks_is_named_by_its_class() {
    let mut child = Command::new("python3")
        .args(["-c", LEAK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pid = child.id().to_string();
    let output = Command::new(ZMTOP).args(["heap", &pid, "--format", "json"]).output();
    child.kill().unwrap();
    child.wait().unwrap();
    let output = output.unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let python = &document["runtimes"][0];
    let first = &python["types"][0];
    assert_eq!(
        (&first["name"], &first["count"]),
        (&"__main__.Session".into(), &20_000.into()),
        "{python:#}"
    );
    assert_eq!((&first["own"], &python["whole"]), (&true.into(), &true.into()));
    // A session with its list, its text and its numbers has more than 800 bytes, as sys.getsizeof says.
    let bytes = first["bytes"].as_u64().unwrap();
    assert!((16_000_000..40_000_000).contains(&bytes), "{bytes}");
}
