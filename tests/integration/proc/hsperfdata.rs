//! The counters of a Java virtual machine: as two of its collectors write them, and as nobody would.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use zmtop::model::Missing;
use zmtop::model::snapshot::JvmHeap;
use zmtop::proc::hsperfdata::{find, has_library, names, parse, read};

const MIB: i64 = 1 << 20;

/// A file of these counters.
pub(crate) fn file(little: bool, counters: &[(&str, i64)]) -> Vec<u8> {
    // One of text comes first, as the name of the machine does.
    file_of(little, &[("sun.gc.generation.0.name", "young")], counters)
}

/// A file of these texts and counters.
pub(crate) fn file_of(little: bool, texts: &[(&str, &str)], counters: &[(&str, i64)]) -> Vec<u8> {
    let word = |n: usize| {
        let n = u32::try_from(n).unwrap();
        if little { n.to_le_bytes() } else { n.to_be_bytes() }
    };
    let long = |n: i64| if little { n.to_le_bytes() } else { n.to_be_bytes() };
    let mut all = vec![0xca, 0xfe, 0xc0, 0xc0, u8::from(little), 2, 0, 1];
    all.extend([0; 16]);
    all.extend(word(32));
    all.extend(word(counters.len() + texts.len()));
    let entry = |name: &str, kind: u8, vector: usize, value: &[u8]| {
        let data = (20 + name.len() + 1).next_multiple_of(8);
        let mut entry = [
            word(data + value.len()),
            word(20),
            word(vector),
            [kind, 0, 0, 0],
            word(data),
        ]
        .concat();
        entry.extend(name.as_bytes());
        entry.resize(data, 0);
        entry.extend(value);
        entry
    };
    for (name, text) in texts {
        let mut value = text.as_bytes().to_vec();
        value.resize((text.len() + 1).next_multiple_of(8), 0);
        all.extend(entry(name, b'B', value.len(), &value));
    }
    for (name, value) in counters {
        all.extend(entry(name, b'J', 0, &long(*value)));
    }
    // The file is larger than what is used of it.
    all.resize(4096, 0);
    all
}

/// The counters of the parallel collector of Java 17.
pub(crate) const PARALLEL: &[(&str, i64)] = &[
    ("sun.gc.collector.0.invocations", 3987),
    ("sun.gc.collector.0.lastEntryTime", 2_457_679_315_225),
    ("sun.gc.collector.1.invocations", 105),
    ("sun.gc.generation.0.capacity", 8 * MIB),
    ("sun.gc.generation.0.maxCapacity", 200 * MIB),
    ("sun.gc.generation.0.space.0.capacity", 2 * MIB),
    ("sun.gc.generation.0.space.0.used", MIB),
    ("sun.gc.generation.0.space.1.used", 2 * MIB),
    ("sun.gc.generation.0.space.2.used", 0),
    ("sun.gc.generation.1.capacity", 150 * MIB),
    ("sun.gc.generation.1.maxCapacity", 600 * MIB),
    ("sun.gc.generation.1.space.0.used", 137 * MIB),
    ("sun.gc.metaspace.used", 152_536),
    ("sun.gc.policy.liveAtLastFullGc", 120 * MIB),
];

pub(crate) const HEAP: JvmHeap = JvmHeap {
    used: 140 << 20,
    capacity: 158 << 20,
    old: Ok(137 << 20),
    live: Ok(120 << 20),
    old_max: Ok(600 << 20),
    collections: 4092,
    old_collections: 105,
};

#[test]
fn texts_are_found_by_name() {
    for little in [true, false] {
        let bytes = file(little, PARALLEL);
        let found = |name: &str| zmtop::proc::hsperfdata::text(&bytes, name.as_bytes());
        assert_eq!(found("sun.gc.generation.0.name"), Ok(Some(&b"young"[..])));
        // A number is no text.
        assert_eq!(found("sun.gc.metaspace.used"), Ok(None));
        assert_eq!(found("sun"), Ok(None));
    }
}

#[test]
fn the_heap_is_summed_over_generations_in_either_order_of_bytes() {
    for little in [true, false] {
        assert_eq!(parse(&file(little, PARALLEL)), Ok(HEAP));
    }
}

#[test]
fn what_a_collector_does_not_tell_is_unknown() {
    let without = |left_out: &str| {
        let counters: Vec<_> = PARALLEL
            .iter()
            .filter(|(name, _)| !name.contains(left_out))
            .copied()
            .collect();
        parse(&file(true, &counters))
    };
    let unknown = Err(Missing::Unsupported);
    assert_eq!(without("liveAtLastFullGc"), Ok(JvmHeap { live: unknown, ..HEAP }));
    let young: Vec<_> = PARALLEL
        .iter()
        .filter(|(name, _)| name.contains("generation.0."))
        .copied()
        .collect();
    let one = parse(&file(true, &young));
    assert_eq!(one.map(|heap| (heap.used, heap.old)), Ok((3 << 20, unknown)));
    // Before the first full collection it is a guess.
    assert_eq!(without("collector.1.").unwrap().live, unknown);
    assert_eq!(without("generation."), Err(Missing::Unsupported));
    assert_eq!(without("used"), Err(Missing::Unsupported));
    // Before the first full collection it is 0, which is no figure.
    let early = parse(&file(
        true,
        &[PARALLEL, &[("sun.gc.policy.liveAtLastFullGc", 0)]].concat(),
    ));
    assert_eq!(early.unwrap().live, unknown);
}

#[test]
fn what_no_machine_writes_is_malformed() {
    let good = file(true, PARALLEL);
    let first = 32;
    for (at, bytes, why) in [
        (0, vec![0], Missing::Malformed),
        (4, vec![2], Missing::Malformed),
        (5, vec![1], Missing::Unsupported),
        (7, vec![0], Missing::Pending),
        // Where entries begin, and how many there are.
        (24, vec![0xff; 4], Missing::Malformed),
        (28, vec![0xff; 4], Missing::Malformed),
        // Of the first entry: its length, and where its name begins.
        (first, vec![0; 4], Missing::Malformed),
        (first, vec![19, 0, 0, 0], Missing::Malformed),
        (first, vec![0xff; 4], Missing::Malformed),
        (first + 4, vec![0xff; 4], Missing::Malformed),
    ] {
        let mut bad = good.clone();
        bad.splice(at..at + bytes.len(), bytes.iter().copied());
        assert_eq!(parse(&bad), Err(why), "{at}: {bytes:?}");
    }
    let negative = parse(&file(true, &[("sun.gc.generation.0.capacity", -1)]));
    assert_eq!(negative, Err(Missing::Malformed));
    for len in 0..good.len() {
        let _ = parse(&good[..len]);
    }
    assert_eq!(parse(&good[..200]), Err(Missing::Malformed), "cut in an entry");
    let huge = [
        ("sun.gc.generation.0.capacity", i64::MAX),
        ("sun.gc.generation.1.capacity", i64::MAX),
    ];
    let huge = [&huge[..], &[("sun.gc.generation.1.space.0.used", i64::MAX)]].concat();
    assert_eq!(
        parse(&file(true, &[huge.clone(), huge].concat())).unwrap().capacity,
        u64::MAX
    );
}

#[test]
fn a_heap_that_cannot_be_is_malformed() {
    for (name, value, expected) in [
        ("sun.gc.generation.1.space.0.used", 155 * MIB, Ok(())),
        ("sun.gc.generation.1.space.0.used", 156 * MIB, Err(Missing::Malformed)),
        ("sun.gc.generation.1.capacity", 131 * MIB, Err(Missing::Malformed)),
        ("sun.gc.policy.liveAtLastFullGc", 158 * MIB, Ok(())),
        ("sun.gc.policy.liveAtLastFullGc", 159 * MIB, Err(Missing::Malformed)),
    ] {
        let changed = |(own, was): &(&'static str, i64)| (*own, if *own == name { value } else { *was });
        let counters: Vec<_> = PARALLEL.iter().map(changed).collect();
        assert_eq!(parse(&file(true, &counters)).map(|_| ()), expected, "{name}: {value}");
    }
}

proptest! {
    #[test]
    fn any_byte_changed_never_panics(at in 0_usize..1500, byte: u8) {
        let mut bytes = file(true, PARALLEL);
        bytes[at] = byte;
        let _ = parse(&bytes);
    }
}

#[test]
fn the_mapping_tells_the_file() {
    for (mapping, expected) in [
        ("/tmp/hsperfdata_root/2740", Some(("hsperfdata_root", "2740"))),
        ("/tmp/systemd-private-1/tmp/hsperfdata_a/7", Some(("hsperfdata_a", "7"))),
        ("/hsperfdata_a/7", Some(("hsperfdata_a", "7"))),
        ("hsperfdata_a/7", None),
        ("/tmp/hsperfdata_a/", None),
        ("/tmp/hsperfdata_a/..", None),
        ("/tmp/hsperfdata_a/7x", None),
        ("/tmp/other/7", None),
        ("[heap]", None),
        ("", None),
    ] {
        let expected = expected.map(|(directory, file)| (directory.as_bytes(), file.as_bytes()));
        assert_eq!(names(mapping.as_bytes()), expected, "{mapping}");
    }
}

#[test]
fn the_name_of_the_file_is_found_among_the_areas() {
    let maps = b"55a0-55a1 r--p 00000000 fd:00 9  /usr/lib/jvm/bin/java\n7f00-7f08 rw-p 00000000 00:00 0 \n\
        7f08-7f10 rw-s 00000000 fd:00 5  /tmp/hsperfdata_a b/70\n";
    assert_eq!(find(maps), Some(&b"/tmp/hsperfdata_a b/70"[..]));
    assert_eq!((find(&maps[..60]), find(b"")), (None, None));
}

#[test]
fn the_library_counts_only_as_code() {
    let library = |permissions: &str, path: &str| {
        let maps =
            format!("55a0-55a1 r-xp 00000000 fd:00 9  /bin/a\n7f00-7f08 {permissions} 00000000 fd:00 5  {path}\n");
        has_library(maps.as_bytes())
    };
    assert!(library("r-xp", "/usr/lib/jvm/17/lib/server/libjvm.so"));
    assert!(library("r-xp", "/a b/libjvm.so (deleted)"));
    assert!(!library("r--p", "/lib/libjvm.so"));
    assert!(!library("r-xp", "/lib/xlibjvm.so"));
    assert!(!library("r-xp", "/lib/libjvm.so.debug"));
}

#[test]
fn it_is_read_below_the_processs_own_root_and_through_no_link() {
    let tree = tempfile::tempdir().unwrap();
    let directory = tree.path().join("7/root/tmp/hsperfdata_a");
    fs::create_dir_all(&directory).unwrap();
    let mapping = b"/tmp/hsperfdata_a/70";
    let found = || read(tree.path(), 7, mapping);
    assert_eq!(found(), Err(Missing::Unsupported));
    fs::write(directory.join("70"), file(true, PARALLEL)).unwrap();
    assert_eq!(found(), Ok(HEAP));
    assert_eq!(read(tree.path(), 8, mapping), Err(Missing::Unsupported));
    // Too large, a FIFO, a directory, a link: none is read.
    let file = directory.join("70");
    fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(2 << 20)
        .unwrap();
    assert_eq!(found(), Err(Missing::Malformed));
    fs::rename(&file, tree.path().join("elsewhere")).unwrap();
    symlink(tree.path().join("elsewhere"), &file).unwrap();
    assert!(found().is_err());
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o600.into()).unwrap();
    assert_eq!(found(), Err(Missing::Malformed));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(found(), Err(Missing::Malformed));
    fs::remove_dir(&file).unwrap();
    fs::rename(&directory, tree.path().join("moved")).unwrap();
    symlink(tree.path().join("moved"), &directory).unwrap();
    fs::write(tree.path().join("moved/70"), b"").unwrap();
    assert!(found().is_err(), "a link on the way");
}
