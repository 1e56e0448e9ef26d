//! Hostile input: records of page faults and programs with random changes hardly ever end the process that reads them, which does
//! nothing else.
//!
//! `ZMTOP_FUZZ_SECONDS` makes both tests run for so long, and print the number of their rounds.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use zmtop::proc::page_faults::{Format, Registers};
use zmtop::proc::perf::{self, records};
use zmtop::stacks::functions_by;

/// A generator of numbers (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Changes some bytes: bits, whole numbers that are at a limit, and copies of other parts.
    fn change(&mut self, bytes: &mut [u8]) {
        for _ in 0..=self.below(12) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => {
                    let limits = [0, 1, 0x7fff_ffff, 0xffff_ffff, u64::MAX, u64::MAX / 2, 0xffff, 0x1000];
                    let number = limits[self.below(limits.len())].to_le_bytes();
                    let len = number.len().min(bytes.len() - at).min(1 << self.below(4));
                    bytes[at..at + len].copy_from_slice(&number[..len]);
                }
                2 => bytes[at] = self.next() as u8,
                _ => {
                    let len = self.below(64).min(bytes.len() - at);
                    let from = self.below(bytes.len() - len);
                    bytes.copy_within(from..from + len, at);
                }
            }
        }
    }
}

/// Calls `round` so often, or as long as the environment says.
fn repeat(usual: u64, name: &str, mut round: impl FnMut(&mut Numbers)) {
    let time = std::env::var("ZMTOP_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let until = time.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = until.map_or(1, |_| u64::from(std::process::id()) << 20 | 1);
    let (mut numbers, mut rounds) = (Numbers(seed), 0);
    while until.map_or(rounds < usual, |until| Instant::now() < until) {
        round(&mut numbers);
        rounds += 1;
    }
    if until.is_some() {
        crate::support::cannot(&format!("nothing: {rounds} rounds of {name}"));
    }
}

#[test]
fn records_of_page_faults() {
    let whole = super::records::written(perf::RECORD_SAMPLE, &super::records::sample()).repeat(3);
    repeat(20_000, "records", |numbers| {
        let mut bytes = whole.clone();
        numbers.change(&mut bytes);
        for has_page_size in [false, true] {
            let format = Format { has_page_size };
            let found = records(&bytes).filter_map(|record| format.parse(record)).count();
            assert!(found <= bytes.len() / 8);
            let mut copied = Vec::new();
            records(&bytes).for_each(|record| Format::append(record, &mut copied));
            let parsed = |bytes| records(bytes).map(|record| format.parse(record)).collect::<Vec<_>>();
            assert_eq!(parsed(&copied), parsed(&bytes));
        }
    });
}

#[test]
fn programs_that_are_unwound_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let source = "int leaf(int n) { return n * 3; }\n\
        static inline int inner(int n) { return leaf(n) + 1; }\n\
        int outer(int n) { return inner(n) * leaf(n + 1); }\n\
        int main(int argc, char **argv) { return outer(argc); }\n";
    let whole: Vec<Vec<u8>> = [&["-O2", "-g"][..], &["-O0", "-g", "-gz"], &["-O2", "-s"]]
        .into_iter()
        .map(|flags| {
            let file = super::compile(dir.path(), "cc", source, "c", flags);
            std::fs::read(file).unwrap()
        })
        .collect();
    let address = |name: &str| {
        let file = super::compile(dir.path(), "cc", source, "c", &["-O2", "-g"]);
        let symbols = Command::new("nm").arg(file).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let line = symbols
            .lines()
            .find(|line| line.ends_with(&format!(" T {name}")))
            .unwrap();
        u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    };
    let start = 0x5555_0000_0000;
    let (outer, main) = (start + address("outer"), start + address("main"));
    // The program as it is has both functions.
    let file = dir.path().join("hostile");
    std::fs::write(&file, &whole[0]).unwrap();
    let found = functions_at(&file, start, outer, main + 4);
    assert!(found[..2].iter().any(|name| name == "outer"), "{found:?}");
    assert!(found.iter().any(|name| name == "main"), "{found:?}");
    let (mut rounds, mut failed) = (0_u32, 0_u32);
    repeat(300, "programs", |numbers| {
        let mut bytes = whole[numbers.below(whole.len())].clone();
        numbers.change(&mut bytes);
        // The headers lead to everything else.
        if numbers.below(2) == 0 {
            numbers.change(&mut bytes[..0x400]);
        }
        // Another file each time, as names are kept by file.
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, &bytes).unwrap();
        let ip = start + numbers.next() % bytes.len() as u64;
        let found = std::panic::catch_unwind(|| functions_at(&file, start, ip, main + 4).len());
        assert!(!matches!(found, Ok(4097..)));
        rounds += 1;
        failed += u32::from(found.is_err());
    });
    // The libraries have assertions of their own in this kind of build. What measures is a process of its own.
    assert!(failed * 100 <= rounds, "{failed} of {rounds}");
}

/// Returns the functions of a stack that returns to `caller` again and again.
fn functions_at(file: &Path, start: u64, ip: u64, caller: u64) -> Vec<String> {
    let registers = Registers {
        ip,
        sp: 0x7fff_0000_0000,
        fp: 0x7fff_0000_0040,
        lr: caller,
    };
    let stack = caller.to_le_bytes().repeat(512);
    let found = functions_by(file, start, registers, &stack);
    found.into_iter().map(|frame| frame.function.into()).collect()
}
