//! The mappings of many processes.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use zmtop::model::{Identity, Missing, ProcessSample};
use zmtop::sampler::{Options, Scanner, mappings};

use super::{KB, at};
use crate::support::PATIENCE as HANG;
use crate::support::tree::ProcTree;
use crate::support::{Owned, block_on};

fn identity(pid: u32) -> Identity {
    Identity {
        pid,
        starttime: 1000 + u64::from(pid),
    }
}

/// A process of the tree with these areas.
fn process(tree: &ProcTree, pid: u32, areas: &[Vec<u8>]) {
    tree.process(pid).write();
    tree.write(&format!("proc/{pid}/smaps"), areas.concat());
}

#[test]
fn mappings_are_summed_over_processes() {
    let tree = ProcTree::new();
    for pid in 1..=20 {
        process(
            &tree,
            pid,
            &[
                at(10, b"/lib/a", 3),
                at(20, b"/lib/a", 1),
                at(30, b"[heap]", u64::from(pid)),
            ],
        );
    }
    process(&tree, 21, &[at(10, b"/lib/b", 7)]);
    let ids: Vec<_> = (1..=21).map(identity).collect();
    let mut told = Vec::new();
    let result = mappings::scan(&tree.options(), &ids, |done, of| {
        told.push((done, of));
        ControlFlow::Continue(())
    });
    assert_eq!(told, (1..=21).map(|n| (n, 21)).collect::<Vec<_>>());
    assert_eq!((result.read, result.missing.len(), result.broken_off), (21, 0, false));
    let mut seen: Vec<_> = result
        .shared
        .iter()
        .map(|s| {
            (
                s.mapping.name.bytes.to_vec(),
                s.mapping.memory.unwrap().pss / KB,
                s.mapping.areas,
                s.members.len(),
            )
        })
        .collect();
    seen.sort();
    let expected = [
        (b"/lib/a".to_vec(), 80, 40, 20),
        (b"/lib/b".to_vec(), 7, 1, 1),
        (b"[heap]".to_vec(), 210, 20, 20),
    ];
    assert_eq!(seen, expected);
    let b = result
        .shared
        .iter()
        .find(|s| &*s.mapping.name.bytes == b"/lib/b")
        .unwrap();
    assert_eq!(b.members, [20]);
}

#[test]
fn who_cannot_be_read_is_named_with_the_reason() {
    let tree = ProcTree::new();
    process(&tree, 1, &[at(10, b"/lib/a", 3)]);
    process(&tree, 2, &[b"what\n".to_vec()]);
    process(&tree, 3, &[at(10, b"/lib/a", 3)]);
    tree.process(4).kernel_thread().write();
    tree.write("proc/4/smaps", "");
    tree.process(5).write(); // no smaps at all
    let mut ids: Vec<_> = (1..=6).map(identity).collect();
    ids[2].starttime += 1; // another process by now
    let result = mappings::scan(&tree.options(), &ids, |_, _| ControlFlow::Continue(()));
    assert_eq!(result.read, 1);
    assert_eq!(result.missing, [(1, Missing::Malformed), (4, Missing::Unsupported)]);
    let found = mappings::merged(&tree.options(), &[4, 6]);
    let why: Vec<_> = found.into_iter().map(Result::err).collect();
    assert_eq!(why, [Some(Missing::KernelThread), Some(Missing::Gone)]);
}

#[test]
fn a_read_that_never_returns_costs_its_own_process_only() {
    for (stuck, threads, max_stuck) in [(1, 1, 4), (30, 2, 64), (3, 2, 0)] {
        let tree = ProcTree::new();
        for pid in 1..=stuck {
            process(&tree, pid, &[]);
            tree.fifo(pid, "smaps");
        }
        for pid in stuck + 1..=stuck + 10 {
            process(&tree, pid, &[at(10, b"/lib/a", 3)]);
        }
        let options = Options {
            threads,
            max_stuck,
            ..tree.options()
        };
        let ids: Vec<_> = (1..=stuck + 10).map(identity).collect();
        let began = Instant::now();
        let result = mappings::scan(&options, &ids, |_, _| ControlFlow::Continue(()));
        assert!(began.elapsed() < HANG);
        let late = result.missing.iter().filter(|m| m.1 == Missing::TimedOut).count();
        if max_stuck == 0 {
            // Nobody is left to read the rest.
            assert_eq!((late, result.read), (2, 0));
            assert_eq!(result.missing.len(), 13);
            assert!(result.missing.iter().any(|m| m.1 == Missing::Pending));
        } else {
            assert_eq!((late, result.read), (stuck as usize, 10));
        }
    }
}

#[test]
fn it_can_be_broken_off() {
    let tree = ProcTree::new();
    for pid in 1..=50 {
        process(&tree, pid, &[at(10, b"/lib/a", 1)]);
    }
    let ids: Vec<_> = (1..=50).map(identity).collect();
    let result = mappings::scan(&tree.options(), &ids, |done, _| match done {
        10 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!((result.read, result.broken_off), (10, true));
    assert_eq!(result.shared[0].members.len(), 10);
}

#[test]
fn an_exec_in_the_midst_is_not_two_halves() {
    use rustix::fs::{Mode, OFlags, open};
    let tree = ProcTree::new();
    process(&tree, 1, &[]);
    tree.fifo(1, "smaps");
    let options = Options {
        deadline: HANG,
        ..tree.options()
    };
    let found = std::thread::scope(|scope| {
        let reader = scope.spawn(|| mappings::merged(&options, &[1]).remove(0).unwrap());
        let began = Instant::now();
        // Opens once the reader, which has seen stat, waits for it.
        let writer = loop {
            match open(tree.file(1, "smaps"), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
                Ok(fd) => break fd,
                Err(_) => assert!(began.elapsed() < HANG),
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        tree.process(1).image(0x6666_0000_0000).write();
        tree.write("proc/1/smaps", at(10, b"/new", 1));
        rustix::io::write(&writer, &at(10, b"/old", 1)).unwrap();
        drop(writer);
        reader.join().unwrap()
    });
    let names: Vec<_> = found.what.iter().map(|m| &*m.name.bytes).collect();
    assert_eq!(names, [b"/new"]);
}

#[test]
fn the_mappings_of_a_live_load_sum_to_its_processes() {
    let load: Vec<_> = (0..20).map(|_| Owned::sleep("60")).collect();
    let options = Options::new(None);
    let mut seen = Vec::new();
    // What others map meanwhile changes everyone's share: a quiet moment comes.
    for _ in 0..50 {
        let snapshot = block_on(Scanner::new(&options).full());
        let mine = |p: &&ProcessSample| load.iter().any(|c| c.id() == p.id.pid);
        let rows: Vec<_> = snapshot.rows().iter().filter(mine).collect();
        let ids: Vec<_> = rows.iter().map(|p| p.id).collect();
        let result = mappings::scan(&options, &ids, |_, _| ControlFlow::Continue(()));
        assert_eq!((ids.len(), result.read), (20, 20));
        let processes: u64 = rows.iter().map(|p| p.memory().unwrap().pss).sum();
        let mappings: u64 = result.shared.iter().map(|s| s.mapping.memory.unwrap().pss).sum();
        let areas: u64 = result.shared.iter().map(|s| s.mapping.areas).sum();
        seen.push((processes, mappings));
        // A rollup is cut to whole kibibytes too.
        if mappings <= processes + 20 * KB && processes < mappings + areas * KB {
            assert!(
                result
                    .shared
                    .iter()
                    .any(|s| s.mapping.name.bytes.ends_with(b"/sleep") && s.members.len() == 20)
            );
            return;
        }
    }
    panic!("{seen:?}");
}
