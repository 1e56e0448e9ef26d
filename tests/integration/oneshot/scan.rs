//! A one-shot scan of this machine, beside a snapshot by the scanner.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zmtop::model::{ProcessSample, Snapshot};
use zmtop::sampler::one_shot::{SERVED, scan, set_shared};
use zmtop::sampler::{Needs, Options, Policy, Scanner};

use crate::support::rows::process;
use crate::support::tree::ProcTree;
use crate::support::{Owned, block_on, long};

fn sleep(seconds: &str) -> Owned {
    let child = Owned::sleep(seconds);
    // It is another program only after its exec.
    while std::fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap() != "sleep\n" {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(50));
    child
}

fn options() -> Options {
    Options {
        policy: Policy::UNLIMITED,
        deadline: Duration::from_secs(10),
        ..Options::new(None)
    }
}

fn row(snapshot: &Snapshot, pid: u32) -> &ProcessSample {
    snapshot.rows().iter().find(|row| row.id.pid == pid).unwrap()
}

#[test]
fn it_sees_what_the_scanner_sees() {
    let sleepers = [sleep("7017.25"), sleep("7017.5")];
    let one_shot = scan(&options(), SERVED).unwrap();
    let whole = block_on(Scanner::new(&options()).full());
    for sleeper in &sleepers {
        let (a, b) = (row(&one_shot, sleeper.id()), row(&whole, sleeper.id()));
        assert_eq!((a.id, a.exec, &a.facts.comm), (b.id, b.exec, &b.facts.comm));
        assert_eq!(
            (&a.facts.cmdline, a.facts.uid, &a.facts.user),
            (&b.facts.cmdline, b.facts.uid, &b.facts.user)
        );
        assert_eq!(
            (a.stat.ppid, a.stat.state, a.stat.threads),
            (b.stat.ppid, b.stat.state, b.stat.threads)
        );
        let (a, b) = (a.memory().unwrap(), b.memory().unwrap());
        // Pages of libraries are shared with others that come and go.
        assert_eq!((a.swap, a.private_dirty), (b.swap, b.private_dirty));
        assert!(a.pss.abs_diff(b.pss) < 256 << 10, "{a:?} {b:?}");
        assert_eq!(row(&one_shot, sleeper.id()).shares_mm, None);
    }
    let pids: Vec<u32> = one_shot.rows().iter().map(|row| row.id.pid).collect();
    assert!(pids.is_sorted() && pids.windows(2).all(|two| two[0] != two[1]));
    let kernel = |s: &Snapshot| s.rows().iter().filter(|row| row.stat.is_kernel_thread()).count();
    assert_eq!(kernel(&one_shot) > 0, kernel(&whole) > 0);
    let memory = one_shot.rows().iter().filter(|row| row.stat.is_kernel_thread());
    assert!(memory.map(|row| row.walk.unwrap_err()).all(|e| !e.hides_memory()));
}

#[test]
fn what_is_not_needed_is_not_read() {
    let sleeper = sleep("7018.25");
    let bare = scan(&options(), Needs::MEMORY).unwrap();
    let seen = row(&bare, sleeper.id());
    assert!(seen.walk.is_ok());
    assert!(seen.facts.cmdline.is_err() && seen.facts.user.is_err() && seen.facts.comm.is_empty());
    assert_eq!(seen.id.starttime, 0);
}

#[test]
fn processes_that_end_meanwhile_are_no_trouble() {
    let stop = AtomicBool::new(false);
    let (threads, rounds) = if long() { (4, 15) } else { (2, 10) };
    let given_up = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                    // Some hundred a second: more would only take the processor from the scans.
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
        }
        let given_up = (0..rounds).filter(|_| scan(&options(), SERVED).is_none()).count();
        stop.store(true, Ordering::Relaxed);
        given_up
    });
    assert_eq!(given_up, 0, "scans that were left to the scanner");
}

#[test]
fn another_tree_and_other_needs_are_left_to_the_scanner() {
    assert!(scan(&options(), SERVED.and(Needs::OOM_SCORE)).is_none());
    let tree = ProcTree::new();
    tree.process(7).write();
    assert!(scan(&tree.options(), SERVED).is_none());
}

/// Pairs of places in a list of rows.
type Pairs = &'static [(usize, usize)];

#[test]
fn the_first_process_of_an_address_space_stands_for_all_whatever_was_read_first() {
    let rows = || -> Vec<_> { (1..=6).map(|pid| process(pid, 0, "program")).collect() };
    let ids: Vec<_> = rows().iter().map(|row| row.id).collect();
    // By pid: the processes that each was found to share with while it was read, the pairs found later, and the first ones.
    let cases: [(Pairs, Pairs, [Option<usize>; 6]); 5] = [
        (&[], &[], [None; 6]),
        (&[(1, 0)], &[], [None, Some(0), None, None, None, None]),
        (&[(0, 1)], &[(1, 0)], [None, Some(0), None, None, None, None]),
        (&[(0, 4), (2, 0)], &[], [None, None, Some(0), None, Some(0), None]),
        (
            &[(5, 3)],
            &[(3, 1), (2, 4)],
            [None, None, None, Some(1), Some(2), Some(1)],
        ),
    ];
    for (read, found, expected) in cases {
        let mut rows = rows();
        for (one, other) in read {
            rows[*one].shares_mm = Some(ids[*other]);
        }
        set_shared(
            &mut rows,
            found.iter().map(|(one, other)| (ids[*one], ids[*other])).collect(),
        );
        let shared: Vec<_> = rows.iter().map(|row| row.shares_mm).collect();
        assert_eq!(shared, expected.map(|at| at.map(|at| ids[at])), "{read:?} {found:?}");
    }
}
