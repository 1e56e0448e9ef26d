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

use crate::support::pty::ZMTOP;
use crate::support::{Owned, cannot};

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
        cannot(&format!("nothing: {rounds} rounds of {name}"));
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

/// Writes a program file that claims that many bytes of `.eh_frame`, and as many of `.debug_frame`. They take no room on the disk.
fn claiming(path: &Path, claimed: u64) {
    use std::os::unix::fs::FileExt;

    const NAMES: &[u8] = b"\0.text\0.eh_frame\0.debug_frame\0.shstrtab\0";
    let file = std::fs::File::create(path).unwrap();
    let mut at = 0;
    let put = |at: &mut u64, words: &[(u64, usize)]| {
        for (word, len) in words {
            file.write_all_at(&word.to_le_bytes()[..*len], *at).unwrap();
            *at += *len as u64;
        }
    };
    let (names, sections) = (0x2000 + 2 * claimed, 0x3000 + 2 * claimed);
    let magic = u64::from_le_bytes(*b"\x7fELF\x02\x01\x01\0");
    put(
        &mut at,
        &[
            (magic, 8),
            (0, 8),
            (3, 2),
            (62, 2),
            (1, 4),
            (0x1000, 8),
            (64, 8),
            (sections, 8),
        ],
    );
    put(&mut at, &[(0, 4), (64, 2), (56, 2), (1, 2), (64, 2), (5, 2), (4, 2)]);
    // A segment with a page of code.
    put(
        &mut at,
        &[
            (1, 4),
            (5, 4),
            (0x1000, 8),
            (0x1000, 8),
            (0x1000, 8),
            (4096, 8),
            (4096, 8),
            (4096, 8),
        ],
    );
    file.write_all_at(NAMES, names).unwrap();
    at = sections + 64;
    let all = [
        (1, 6, 0x1000, 0x1000, 4096),
        (7, 2, 1 << 32, 0x2000, claimed),
        (17, 0, 0, 0x2000 + claimed, claimed),
        (30, 0, 0, names, NAMES.len() as u64),
    ];
    for (name, flags, address, offset, size) in all {
        let kind = if name == 30 { 3 } else { 1 };
        put(
            &mut at,
            &[(name, 4), (kind, 4), (flags, 8), (address, 8), (offset, 8), (size, 8)],
        );
        put(&mut at, &[(0, 8), (8, 8), (0, 8)]);
    }
    file.set_len(at).unwrap();
}

#[test]
fn headers_and_symbols_are_read_up_to_a_limit() {
    use zmtop::proc::elf::{Elf, Limited};

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    claiming(&path, 1 << 40);
    let open = |most| Limited::new(std::fs::File::open(&path).unwrap(), most);
    let limited = open(1 << 20);
    let elf = Elf::parse(&limited).unwrap();
    assert_eq!(elf.range(".text"), Some(0x1000..0x2000));
    assert_eq!(elf.range(".eh_frame"), Some(1 << 32..(1 << 32) + (1 << 40)));
    assert_eq!(elf.data(".eh_frame", 1 << 20), None);
    assert_eq!(elf.data(".eh_frame", u64::MAX), None);
    assert_eq!(elf.data(".text", u64::MAX).map(<[u8]>::len), Some(4096));
    assert_eq!(
        (elf.build_id(), elf.debug_link(), elf.dynamic_symbols().count()),
        (None, None, 0)
    );
    assert!(Elf::parse(&open(300)).is_none());
    // This program has symbols.
    let own = || std::fs::File::open("/proc/self/exe").unwrap();
    let limited = Limited::new(own(), 16 << 20);
    let names = Elf::parse(&limited).unwrap();
    let count = names.dynamic_symbols().count();
    assert!(names.dynamic_symbols().any(|(name, _)| name == b"read"), "{count}");
    assert!(names.build_id().is_some());
}

#[test]
fn files_that_claim_gigabytes_for_unwinding_take_little_memory() {
    const MAP: &str = "
import mmap, sys
files = [open(name, 'rb') for name in sys.argv[1:]]
maps = [mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC, offset=4096) for file in files]
print('ready', flush=True)
for line in sys.stdin: pass
";
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..12).map(|n| dir.path().join(format!("lib{n}.so"))).collect();
    for file in &files {
        claiming(file, 60 << 20);
    }
    let mut program = Command::new("python3")
        .args(["-c", MAP])
        .args(&files)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .map(Owned)
        .unwrap();
    let mut line = String::new();
    let out = program.0.stdout.take().unwrap();
    // Its mappings are there.
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    // With 1.4 GB of sections, it could not go on.
    let limited = format!("ulimit -v 800000; exec {} callers {} --for 1s", ZMTOP, program.0.id());
    let found = Command::new("sh").args(["-c", &limited]).output().unwrap();
    let error = String::from_utf8_lossy(&found.stderr);
    if error.contains("perf_event") || error.contains("ermission") {
        return cannot("page faults cannot be sampled");
    }
    assert!(found.status.success(), "{:?} {error}", found.status);
}
