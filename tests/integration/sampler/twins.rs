//! Processes that may have the address space of their parent, where the kernel does not tell.

use zmtop::model::Snapshot;
use zmtop::sampler::Scanner;

use super::row;
use crate::support::block_on;
use crate::support::tree::{ProcTree, Process};

/// A process whose addresses are hidden, as they are from who holds `CAP_PERFMON` alone.
fn hidden(tree: &ProcTree, pid: u32, ppid: u32) -> Process<'_> {
    tree.process(pid).ppid(ppid).image(0).argv(0).pss_kb(4000)
}

/// The processes that are said to share, and how many are in doubt.
fn judged(snapshot: &Snapshot) -> (Vec<u32>, usize) {
    let shared = snapshot.rows().iter().filter(|row| row.shares_mm.is_some());
    (shared.map(|row| row.id.pid).collect(), snapshot.sampling.doubtful)
}

#[test]
fn what_grows_without_a_fault_of_its_own_shares() {
    let tree = ProcTree::new();
    let (parent, child) = (hidden(&tree, 7, 1), hidden(&tree, 8, 7));
    parent.clone().write();
    child.clone().write();
    let mut scanner = Scanner::new(&tree.options());
    for _ in 0..3 {
        assert_eq!(judged(&block_on(scanner.full())), (vec![], 1), "nothing tells");
    }
    parent.clone().pss_kb(5000).faults(900, 3).write();
    child.clone().pss_kb(5000).write();
    let snapshot = block_on(scanner.full());
    assert_eq!(judged(&snapshot), (vec![8], 0));
    assert_eq!(row(&snapshot, 8).shares_mm, Some(row(&snapshot, 7).id));
    // Another program has memory of its own.
    child.space_end(0x7ffe_0000_1000).write();
    block_on(scanner.full());
    assert_eq!(judged(&block_on(scanner.full())), (vec![], 0));
}

#[test]
fn a_parent_that_waits_for_a_vfork_shares() {
    let tree = ProcTree::new();
    hidden(&tree, 7, 1).state('D').write();
    hidden(&tree, 8, 7).write();
    let mut scanner = Scanner::new(&tree.options());
    assert_eq!(judged(&block_on(scanner.full())), (vec![8], 0));
}

#[test]
fn copies_that_a_fork_made_never_share() {
    let tree = ProcTree::new();
    let mut scanner = Scanner::new(&tree.options());
    for round in 0..10 {
        // Workers in step with each other, each by its own faults, and a parent that is larger.
        hidden(&tree, 7, 1).pss_kb(6300).state('D').write();
        for pid in 8..20 {
            let worker = hidden(&tree, pid, 7).pss_kb(4000 + round * 500);
            worker.faults(100 + round * 200, 0).write();
        }
        // And one that is in step with its parent.
        hidden(&tree, 30, 1)
            .pss_kb(4000 + round * 500)
            .faults(round * 200, 0)
            .write();
        hidden(&tree, 31, 30)
            .pss_kb(4000 + round * 500)
            .faults(round * 100, 0)
            .write();
        let (shared, doubtful) = judged(&block_on(scanner.full()));
        assert_eq!((shared, doubtful), (vec![], 1), "round {round}");
    }
    // Nobody is asked where nothing is hidden.
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.process(8).ppid(7).write();
    assert_eq!(judged(&block_on(Scanner::new(&tree.options()).full())), (vec![], 0));
}
