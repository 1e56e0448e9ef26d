//! Memory profiles of Go, made in memory as Go 1.18 to 1.25 keep them, and damaged.

use zmtop::heap::go::{Program, Refusal, sites};

use super::Made;

const TEXT: u64 = 0x40_1000;
const FUNCTIONS: u64 = 0x50_0000;
const DATA: u64 = 0x60_0000;
const BUCKETS: u64 = 0x70_0000;

fn program() -> Program {
    Program {
        text: TEXT..TEXT + 0x1000,
        functions: FUNCTIONS..FUNCTIONS + 0x1000,
        data: std::iter::once(DATA..DATA + 0x100).collect(),
    }
}

/// Makes a program with the functions `runtime.mallocgc`, `main.keep` and `main.main`, and these buckets: the size of an object,
/// how many were allocated and freed, and the call path.
fn made(buckets: &[(u64, [u64; 2], &[u64])]) -> Made {
    let mut made = Made::new(&[(TEXT, 0x1000), (FUNCTIONS, 0x1000), (DATA, 0x1000), (BUCKETS, 0x1000)]);
    let names = ["runtime.mallocgc", "main.keep", "main.main"];
    // The header: names at 0x100, the table at 0x200.
    made.words(
        FUNCTIONS,
        &[0xffff_fff1, names.len() as u64, 0, TEXT, 0x100, 0, 0, 0, 0x200],
    );
    for (n, name) in names.into_iter().enumerate() {
        let n = n as u64;
        made.bytes(FUNCTIONS + 0x100 + n * 32, name.as_bytes());
        made.words(FUNCTIONS + 0x200 + n * 8, &[(n * 0x100) | ((0x80 + n * 8) << 32)]);
        made.words(FUNCTIONS + 0x200 + 0x80 + n * 8, &[(n * 0x100) | ((n * 32) << 32)]);
    }
    let mut next = 0;
    for (n, (size, [allocated, freed], path)) in buckets.iter().enumerate() {
        let at = BUCKETS + n as u64 * 0x100;
        made.words(at, &[0, next, 1, 77, *size, path.len() as u64]);
        made.words(at + 48, path);
        let record = at + 48 + path.len() as u64 * 8;
        made.words(record, &[*allocated, *freed, allocated * size, freed * size]);
        next = at;
    }
    // `mbuckets` is one of the variables.
    made.words(DATA, &[5, BUCKETS + 8, 0, next, TEXT]);
    made
}

const KEEP: &[u64] = &[TEXT + 0x20, TEXT + 0x120, TEXT + 0x220];
const MAIN: &[u64] = &[TEXT + 0x20, TEXT + 0x240];

#[test]
fn paths_are_named_and_scaled() {
    let mut made = made(&[(1 << 20, [10, 4], MAIN), (1024, [3, 0], KEEP), (64, [5, 5], MAIN)]);
    let found = sites(&mut made, &program()).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|site| (site.frames.join(" "), site.count.unwrap(), site.bytes))
        .collect();
    // An object of 1 MiB is sampled in 86 of 100 cases, and one of 1 KiB in 2 of 1000.
    let expected = [("main.main", 7, 7_277_000), ("main.keep main.main", 1538, 1_574_400)];
    assert_eq!(found.len(), 2, "{found:?}");
    for ((path, count, bytes), (name, many, size)) in found.iter().zip(expected) {
        assert_eq!((path.as_str(), *count), (name, many));
        assert!(bytes.abs_diff(size) < size / 50, "{bytes}");
    }
}

#[test]
fn a_program_without_a_profile_is_said_to_have_none() {
    assert_eq!(sites(&mut made(&[]), &program()), Err(Refusal::NoProfile));
    // Paths outside of the code, and deeper than any.
    assert_eq!(
        sites(&mut made(&[(8, [1, 0], &[DATA])]), &program()),
        Err(Refusal::NoProfile)
    );
    let mut deep = made(&[(8, [1, 0], MAIN)]);
    deep.words(BUCKETS + 40, &[1 << 63]);
    assert_eq!(sites(&mut deep, &program()), Err(Refusal::NoProfile));
}

#[test]
fn a_chain_that_loops_ends() {
    let mut made = made(&[(1 << 20, [1, 0], MAIN), (1 << 20, [1, 0], MAIN)]);
    made.words(BUCKETS + 8, &[BUCKETS + 0x100]);
    let found = sites(&mut made, &program()).unwrap();
    assert_eq!(
        found.iter().map(|site| site.frames.join(" ")).collect::<Vec<_>>(),
        ["main.main"]
    );
}

#[test]
fn words_that_are_no_bucket_are_not_read_for_ever() {
    const WORDS: u64 = 0x1000 / 8 - 1;
    for (left, expected) in [(10_000, Ok(1)), (WORDS / 2, Err(Refusal::NoProfile))] {
        let mut made = made(&[(1 << 20, [1, 0], MAIN)]);
        for n in 0..WORDS {
            made.words(DATA + n * 8, &[BUCKETS + 0x800 + n % 64 * 8]);
        }
        made.words(DATA + WORDS * 8, &[BUCKETS]);
        made.left = left;
        let program = Program {
            data: std::iter::once(DATA..DATA + 0x1000).collect(),
            ..program()
        };
        let found = sites(&mut made, &program).map(|sites| sites.len());
        assert_eq!(found, expected, "{left}");
    }
}

#[test]
fn paths_with_long_names_are_limited_as_a_whole() {
    const COUNT: u64 = 6000;
    const SIZE: u64 = 0x300;
    let room = (COUNT * SIZE).next_multiple_of(0x1000) as usize;
    let mut made = Made::new(&[(TEXT, 0x1000), (FUNCTIONS, 0x1000), (DATA, 0x1000), (BUCKETS, room)]);
    made.words(FUNCTIONS, &[0xffff_fff1, 2, 0, TEXT, 0x100, 0, 0, 0, 0x400]);
    for n in 0..2 {
        made.bytes(FUNCTIONS + 0x100 + n * 0x100, &[b'a' + n as u8; 200]);
        made.words(FUNCTIONS + 0x400 + n * 8, &[(n * 0x100) | ((0x80 + n * 8) << 32)]);
        made.words(FUNCTIONS + 0x400 + 0x80 + n * 8, &[(n * 0x100) | ((n * 0x100) << 32)]);
    }
    for n in 0..COUNT {
        let at = BUCKETS + n * SIZE;
        let next = if n + 1 < COUNT { at + SIZE } else { 0 };
        made.words(at, &[0, next, 1, 77, 1 << 20, 64]);
        // The bits of the number choose the functions.
        let path: Vec<u64> = (0..64).map(|bit| TEXT + 0x20 + (n >> (bit % 16) & 1) * 0x100).collect();
        made.words(at + 48, &path);
        made.words(at + 48 + 64 * 8, &[1, 0, 1 << 20, 0]);
    }
    made.words(DATA, &[BUCKETS]);
    // 64 MiB, at 64 names of 200 bytes and their strings.
    let found = sites(&mut made, &program()).unwrap();
    assert_eq!(found.len(), (64 << 20) / (64 * (200 + size_of::<String>())));
}

#[test]
fn damaged_profiles_are_harmless() {
    let whole = made(&[(1 << 20, [10, 4], MAIN), (1024, [3, 0], KEEP), (64, [5, 5], MAIN)]);
    for mut made in whole.mutations(5000) {
        let _ = sites(&mut made, &program());
    }
}
