//! Processes that come and go, on this machine.

use std::collections::BTreeSet;
use std::process::Command;

use zmtop::proc::pids;
use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use crate::support::block_on;
use crate::support::tree::ProcTree;

const PROC: &[u8] = b"/proc";

fn sleeper() -> Child {
    Command::new("sleep").arg("100").spawn().unwrap().into()
}

#[test]
fn a_range_lists_what_the_whole_list_has_there() {
    let children: Vec<Child> = (0..20).map(|_| sleeper()).collect();
    let base = (0..50).find_map(|_| pids::all(PROC).unwrap().base).unwrap();
    let mut all: Vec<u32> = children.iter().map(Child::pid).collect();
    all.sort_unstable();
    for (from, to) in [
        (all[0], all[19]),
        (all[3], all[3]),
        (all[5], all[9]),
        (all[10], u32::MAX),
        (0, all[19]),
    ] {
        let list = pids::within(PROC, from..=to, base).unwrap();
        assert!(list.pids.is_sorted() && list.pids.iter().all(|pid| (from..=to).contains(pid)));
        let listed: BTreeSet<u32> = list.pids.into_iter().collect();
        let (before, after) = (pids::all(PROC).unwrap(), pids::all(PROC).unwrap());
        // Those of others may come and go.
        let stayed = before
            .pids
            .into_iter()
            .filter(|pid| after.pids.binary_search(pid).is_ok());
        let missed: Vec<u32> = stayed
            .filter(|pid| (from..=to).contains(pid) && !listed.contains(pid))
            .collect();
        let own = missed.iter().filter(|pid| all.binary_search(pid).is_ok());
        assert_eq!(own.count(), 0, "{from} to {to}: {missed:?}");
    }
    assert!(pids::within(PROC, 5_000_000..=u32::MAX, base).unwrap().pids.is_empty());
}

#[test]
fn a_tree_that_is_made_is_listed_as_well() {
    let tree = ProcTree::new();
    for pid in [30, 4, 500] {
        tree.process(pid).write();
    }
    let list = pids::all(tree.root().as_os_str().as_encoded_bytes()).unwrap();
    assert_eq!((list.pids, list.base), (vec![4, 30, 500], None));
}

#[test]
fn births_and_ends_are_seen_in_the_next_tick() {
    let mut scanner = Scanner::new(&Options::new(None));
    (0..3).for_each(|_| drop(block_on(scanner.tick())));
    for _ in 0..3 {
        let children: Vec<Child> = (0..5).map(|_| sleeper()).collect();
        let pids: Vec<u32> = children.iter().map(Child::pid).collect();
        let has = |pid: &u32, scanner: &mut Scanner| {
            let snapshot = block_on(scanner.tick());
            snapshot.rows().iter().any(|row| row.id.pid == *pid)
        };
        assert!(pids.iter().all(|pid| has(pid, &mut scanner)), "{pids:?}");
        drop(children);
        assert!(!pids.iter().any(|pid| has(pid, &mut scanner)), "{pids:?}");
    }
}
