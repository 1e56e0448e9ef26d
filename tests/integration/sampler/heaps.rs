//! Memory that `malloc` keeps free: it is read of large processes, except those that the settings exclude.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::heaps::is_swapped;
use zmtop::model::snapshot::MallocHeap;
use zmtop::sampler::policy::heaps::{Budget, is_due};
use zmtop::sampler::{Options, Scanner};

use crate::support::pty::ZMTOP;
use crate::support::{Owned, block_on};

#[test]
fn an_active_process_is_read_every_30_seconds() {
    for (age, is_active, expected) in [
        (30_000, true, true),
        (29_999, true, false),
        // An idle program has changed nothing.
        (300_000, false, false),
    ] {
        assert_eq!(is_due(Duration::from_millis(age), is_active), expected, "{age} ms");
    }
}

/// However many processes are new or start another program, how often and at what cost: all reads together use a five-hundredth of
/// a core, what is saved for the start, and the reads under way when that is used up.
#[test]
fn all_reads_together_use_at_most_a_five_hundredth_of_a_core() {
    // Reads that are wanted in each tick of two seconds, the time of the last read of each and the actual processor time in ms, and how
    // many begin in the first tick.
    let table = [
        (1, None, 1, 1),
        (20, None, 4, 4),
        (1_000, None, 2, 4),
        (1_000, None, 250, 4),
        (20, Some(10), 4, 20),
        (1_000, Some(10), 2, 50),
        (1_000, Some(2), 2, 250),
        (1_000, Some(10), 250, 50),
    ];
    let ms = Duration::from_millis;
    for (wanted, known, took, first) in table {
        let (known, took) = (known.map(ms), ms(took));
        let mut budget = Budget::default();
        let mut used = Duration::ZERO;
        for second in (0..24 * 3600).step_by(2) {
            // It has run for some time when the first process is large.
            let now = Duration::from_secs(second + 1_000_000);
            let begun: Vec<_> = (0..wanted).filter_map(|_| budget.reserve(now, 7, known)).collect();
            for read in &begun {
                budget.settle(*read, took);
            }
            let begun = begun.len() as u32;
            used += took * begun;
            if second == 0 {
                assert_eq!(begun, first, "{wanted} of {took:?}");
            }
            let share = Duration::from_secs(second) / 500;
            let under_way = took * begun.max(1);
            let most = (share + ms(501)).max(took * first) + under_way;
            assert!(used <= most, "{wanted} of {took:?}: {used:?} in {second} s");
            // What is wanted is not refused without need.
            let least = share.min(took * wanted.min(4) * (second as u32 / 2));
            assert!(used + took >= least, "{wanted} of {took:?}: {used:?} in {second} s");
        }
    }
}

#[test]
fn a_read_that_waits_begins_once_what_was_used_is_saved_again() {
    let mut budget = Budget::default();
    let (start, ms) = (Duration::from_secs(1_000_000), Duration::from_millis);
    let read = budget.reserve(start, 7, None).unwrap();
    budget.settle(read, ms(600));
    // 100 ms more than was saved: 50 s.
    for (second, expected) in [(0, false), (49, false), (51, true)] {
        let read = budget.clone().reserve(start + Duration::from_secs(second), 8, None);
        assert_eq!(read.is_some(), expected, "{second}");
    }
}

#[test]
fn slow_reads_of_a_user_delay_others_by_minutes_at_most() {
    let mut budget = Budget::default();
    let (start, ms) = (Duration::from_secs(1_000_000), Duration::from_millis);
    let reads: Vec<_> = (0..9).map_while(|_| budget.reserve(start, 7, None)).collect();
    for read in reads {
        budget.settle(read, ms(2000));
    }
    // Eight seconds, of which a five-hundredth of a core saves one in 500 s.
    for (second, other, own) in [
        (0, false, false),
        (249, false, false),
        (251, true, false),
        (3740, true, false),
        (3760, true, true),
    ] {
        let at = start + Duration::from_secs(second);
        let may_read = |user| budget.clone().reserve(at, user, None).is_some();
        assert_eq!((may_read(8), may_read(7)), (other, own), "{second} s");
    }
}

#[test]
fn a_user_with_slow_reads_is_expected_to_have_more_and_comes_last() {
    let mut budget = Budget::default();
    let (start, ms) = (Duration::from_secs(1_000_000), Duration::from_millis);
    for (user, took) in [(7, 250), (8, 1)] {
        let read = budget.reserve(start, user, None).unwrap();
        assert_eq!(read.expected, ms(10));
        budget.settle(read, ms(took));
    }
    assert!(budget.spent(7) > budget.spent(8) && budget.spent(8) > budget.spent(9));
    let later = start + Duration::from_secs(3599);
    for (user, expected) in [(7, 250), (8, 10), (9, 10)] {
        assert_eq!(
            budget.clone().reserve(later, user, None).unwrap().expected,
            ms(expected),
            "{user}"
        );
    }
    assert!(budget.clone().spent(7) > 0.0);
    let forgotten = budget.reserve(start + Duration::from_secs(3600), 7, None);
    assert_eq!(forgotten.unwrap().expected, ms(10));
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
    started(HOARD)
}

fn started(source: &str) -> Owned {
    let mut program = Owned(
        Command::new("python3")
            .args(["-c", source])
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
fn an_exec_ends_what_was_known_of_the_heap() {
    use std::io::Write;

    let then = "import os; sys.stdin.readline(); os.execvp('sleep', ['sleep', '300'])\n";
    let mut program = started(&HOARD.replace("sys.stdin.read()\n", then));
    let pid = program.0.id();
    let mut scanner = Scanner::new(&Options::new(None));
    block_on(async {
        let mut is_known = [true, false].into_iter();
        let mut expected = is_known.next();
        for _ in 0..1200 {
            let snapshot = scanner.tick().await;
            let mut found = snapshot.heaps.iter().filter(|(id, _)| id.pid == pid);
            // The next program has a heap of its own.
            let found = found.any(|(_, heap)| heap.kept > 50_000_000);
            if expected == Some(found) {
                expected = is_known.next();
                let _ = program.0.stdin.as_mut().unwrap().write_all(b"\n");
            }
            if expected.is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{expected:?}");
    });
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
