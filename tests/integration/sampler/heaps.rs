//! How much `malloc` keeps free is read of large processes, and of none that the settings exclude.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::heaps::is_swapped;
use zmtop::model::snapshot::MallocHeap;
use zmtop::sampler::policy::heaps::is_due;
use zmtop::sampler::{Options, Scanner};

use crate::support::pty::ZMTOP;
use crate::support::{Owned, block_on};

#[test]
fn all_reads_together_use_at_most_a_five_hundredth_of_a_core() {
    // The time of reading all heaps once, and the time after which each is read again.
    for (all, interval) in [(0, 30_000), (1, 30_000), (60, 30_000), (61, 30_500), (2_000, 1_000_000)] {
        let due = |age, is_active| is_due(Duration::from_millis(age), is_active, Duration::from_millis(all));
        assert!(due(interval, true) && !due(interval - 1, true), "{all} ms");
        assert!(all * 500 <= interval, "{all} ms");
        // An idle program has changed nothing.
        assert!(!due(interval * 10, false), "{all} ms");
    }
}

#[test]
fn a_process_is_not_read_if_more_than_a_64th_of_it_is_in_swap() {
    const MIB: u64 = 1 << 20;
    for (memory, swap, expected) in [
        (64 * MIB, 0, false),
        (64 * MIB, MIB, false),
        (64 * MIB, MIB + 1, true),
        (64 * MIB, 64 * MIB, true),
        (0, 0, false),
        (0, 1, true),
        (u64::MAX, u64::MAX / 64, false),
        (u64::MAX, u64::MAX, true),
    ] {
        assert_eq!(is_swapped(memory, swap), expected, "{swap} of {memory}");
    }
}

/// Takes 100 MB in blocks of 4,000 bytes, and frees all but the last, which keeps the heap as large.
const HOARD: &str = "
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = [libc.malloc(ctypes.c_size_t(4000)) for _ in range(25000)]
for block in blocks: ctypes.memset(block, 1, 4000)
for block in blocks[:-1]: libc.free(ctypes.c_void_p(block))
print('ready', flush=True)
sys.stdin.read()
";

/// Starts a program that hoards.
fn hoarder() -> Owned {
    let mut program = Owned(
        Command::new("python3")
            .args(["-c", HOARD])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    let out = program.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    program
}

/// Returns the heap of a hoarding program as the snapshots of a scanner have it, after at most a minute.
fn read(options: &Options) -> Option<MallocHeap> {
    let program = hoarder();
    let pid = program.0.id();
    let mut scanner = Scanner::new(options);
    block_on(async {
        for _ in 0..600 {
            let snapshot = scanner.tick().await;
            let found = snapshot.heaps.iter().find(|(id, _)| id.pid == pid);
            if let Some((_, heap)) = found {
                return Some(*heap);
            }
            let is_walked = snapshot.rows().iter().any(|row| row.id.pid == pid && row.walk.is_ok());
            if is_walked && !options.heaps {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    })
}

#[test]
fn what_malloc_keeps_free_is_read_of_a_large_process() {
    let heap = read(&Options::new(None)).unwrap();
    assert!((95_000_000..110_000_000).contains(&heap.kept), "{heap:?}");
    assert!(heap.kept <= heap.free, "{heap:?}");
}

#[test]
fn no_heap_is_read_if_the_settings_say_so() {
    let options = Options {
        heaps: false,
        ..Options::new(None)
    };
    assert_eq!(read(&options), None);
}

#[test]
fn ps_reads_it_if_it_is_asked_for() {
    let program = hoarder();
    let args = ["ps", "--columns", "kept_free", "--format", "csv", "--units", "bytes"];
    let pid = program.0.id().to_string();
    let out = Command::new(ZMTOP)
        .args(args)
        .arg(pid)
        .arg("kept_free>50M")
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let kept: Vec<u64> = text
        .lines()
        .filter_map(|line| line.rsplit(',').next()?.parse().ok())
        .collect();
    assert_eq!(kept.len(), 1, "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert!((95_000_000..110_000_000).contains(&kept[0]), "{text}");
}
