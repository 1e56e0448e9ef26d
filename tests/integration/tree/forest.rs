//! The forest of processes by parent.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::group::Change;
use zmtop::group::tree::{Forest, Node};
use zmtop::model::{Missing, ProcessSample};

use crate::support::rows::{MIB, process};
use crate::support::thread_time;

fn processes(pairs: &[(u32, u32)]) -> Vec<ProcessSample> {
    pairs.iter().map(|(pid, ppid)| process(*pid, *ppid, "x")).collect()
}

fn drawn(rows: &[ProcessSample], nodes: &[Node]) -> Vec<String> {
    nodes
        .iter()
        .map(|n| format!("{}{}", n.guide, rows[n.index].id.pid))
        .collect()
}

fn all(rows: &[ProcessSample]) -> Vec<Node> {
    Forest::new(rows).rows(|_| true, |_| false, |a, b| a.cmp(&b))
}

const FAMILY: &[(u32, u32)] = &[(1, 0), (2, 0), (10, 1), (11, 1), (20, 10), (21, 10), (30, 20), (99, 77)];

#[test]
fn guides_show_the_family() {
    let rows = processes(FAMILY);
    let nodes = all(&rows);
    assert_eq!(
        drawn(&rows, &nodes),
        ["1", "├─ 10", "│  ├─ 20", "│  │  └─ 30", "│  └─ 21", "└─ 11", "2", "99"]
    );
    let parents: Vec<_> = nodes
        .iter()
        .filter(|n| n.parent)
        .map(|n| rows[n.index].id.pid)
        .collect();
    assert_eq!(parents, [1, 10, 20]);
    assert!(nodes.iter().all(|n| !n.folded));
}

#[test]
fn siblings_stand_in_the_order_asked_for() {
    let rows = processes(FAMILY);
    let nodes = Forest::new(&rows).rows(|_| true, |_| false, |a, b| b.cmp(&a));
    assert_eq!(
        drawn(&rows, &nodes),
        ["99", "2", "1", "├─ 11", "└─ 10", "   ├─ 21", "   └─ 20", "      └─ 30"]
    );
}

#[test]
fn folding_hides_what_is_below() {
    let rows = processes(FAMILY);
    let folded = |pid: u32| {
        let rows = &rows;
        Forest::new(rows).rows(|_| true, move |i| rows[i].id.pid == pid, |a, b| a.cmp(&b))
    };
    let nodes = folded(10);
    assert_eq!(drawn(&rows, &nodes), ["1", "├─ 10", "└─ 11", "2", "99"]);
    assert!(nodes[1].folded && nodes[1].parent);
    // A leaf has nothing to fold.
    assert!(folded(11).iter().all(|n| !n.folded));
    assert_eq!(folded(11).len(), FAMILY.len());
}

#[test]
fn a_filter_keeps_the_ancestors_of_what_matches() {
    let rows = processes(FAMILY);
    let only = |pids: &[u32]| {
        let nodes = Forest::new(&rows).rows(|i| pids.contains(&rows[i].id.pid), |_| false, |a, b| a.cmp(&b));
        drawn(&rows, &nodes)
    };
    assert_eq!(only(&[30]), ["1", "└─ 10", "   └─ 20", "      └─ 30"]);
    assert_eq!(only(&[11, 21]), ["1", "├─ 10", "│  └─ 21", "└─ 11"]);
    assert_eq!(only(&[10]), ["1", "└─ 10"]);
    assert_eq!(only(&[]), [""; 0]);
}

#[test]
fn circles_and_strangers_are_listed_once() {
    for pairs in [
        &[(1, 1)][..],
        &[(1, 2), (2, 1)],
        &[(1, 2), (2, 3), (3, 1), (4, 3), (5, 9)],
        &[(5, 6), (6, 7), (7, 6), (8, 5)],
    ] {
        let rows = processes(pairs);
        let mut seen: Vec<_> = all(&rows).iter().map(|n| n.index).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..rows.len()).collect::<Vec<_>>(), "{pairs:?}");
    }
}

#[test]
fn subtrees_sum_what_can_be_read() {
    let mut rows = processes(FAMILY);
    // 21 is hidden; 30 is a kernel thread, which hides nothing.
    rows[5].walk = Err(Missing::Denied);
    rows[6].walk = Err(Missing::KernelThread);
    let change = |p: &ProcessSample| {
        (p.id.pid != 11).then(|| Change {
            pss: Some(i64::from(p.id.pid)),
            ..Change::default()
        })
    };
    let sums = Forest::new(&rows).subtrees(&rows, change);
    let root = &sums[0];
    assert_eq!((root.count, root.partial, root.threads), (6, true, 6));
    assert_eq!(root.memory.as_ref().unwrap().pss, 40 * MIB);
    // A change of what is hidden is one of RSS.
    assert_eq!(root.change.pss, Some(1 + 10 + 20));
    let (two, eleven, twenty, hidden, kernel) = (&sums[1], &sums[3], &sums[4], &sums[5], &sums[6]);
    assert_eq!(
        (two.count, two.partial, two.memory.as_ref().unwrap().pss),
        (1, false, 10 * MIB)
    );
    assert_eq!((eleven.change.pss, eleven.partial), (None, false));
    assert_eq!(
        (twenty.count, twenty.partial, twenty.memory.as_ref().unwrap().pss),
        (2, false, 10 * MIB)
    );
    assert_eq!((hidden.memory, hidden.partial), (Err(Missing::Denied), true));
    assert_eq!((kernel.memory, kernel.partial), (Err(Missing::KernelThread), false));
}

#[test]
fn a_chain_of_a_hundred_thousand_is_drawn_without_a_stack() {
    let rows: Vec<_> = (1..=100_000).map(|pid| process(pid, pid - 1, "x")).collect();
    let start = thread_time();
    let forest = Forest::new(&rows);
    let sums = forest.subtrees(&rows, |_| None);
    assert_eq!(sums[0].count, rows.len());
    assert_eq!(sums[0].memory.as_ref().unwrap().pss, rows.len() as u64 * 10 * MIB);
    let half = rows.len() / 2;
    assert_eq!(forest.below(half), (half + 1..rows.len()).collect::<Vec<_>>());
    let nodes = forest.rows(|i| i == rows.len() - 1, |_| false, |a, b| a.cmp(&b));
    assert_eq!(nodes.len(), rows.len());
    // What is drawn before a command stays short.
    let longest = nodes.iter().map(|n| n.guide.chars().count()).max();
    assert_eq!(longest, Some(25 * 3));
    drop(forest);
    let took = thread_time().saturating_sub(start);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_process_is_in_the_forest_once(parents in prop::collection::vec(0..40_u32, 0..40)) {
        let rows: Vec<_> = (1..).zip(&parents).map(|(pid, ppid)| process(pid, *ppid, "x")).collect();
        let forest = Forest::new(&rows);
        let nodes = forest.rows(|_| true, |_| false, |a, b| a.cmp(&b));
        let mut seen: Vec<_> = nodes.iter().map(|n| n.index).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..rows.len()).collect::<Vec<_>>());
        for root in 0..rows.len() {
            let up = |at: &usize| forest.parent[*at];
            let is_below = |at: &usize| std::iter::successors(up(at), up).any(|up| up == root);
            prop_assert_eq!(forest.below(root), (0..rows.len()).filter(is_below).collect::<Vec<_>>());
        }
        // The roots hold everything.
        let sums = forest.subtrees(&rows, |_| None);
        let roots = nodes.iter().filter(|n| n.guide.is_empty());
        prop_assert_eq!(roots.map(|n| sums[n.index].count).sum::<usize>(), rows.len());
    }
}
