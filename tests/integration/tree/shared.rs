//! Processes with one address space: its memory counts once in every sum.

use proptest::prelude::*;
use zmtop::group::tree::Forest;
use zmtop::group::{Change, Totals};
use zmtop::model::{Identity, Missing, ProcessSample};

use crate::support::rows::{MIB, process, walk};

/// A process that shares the address space of process `with`.
fn sharer(pid: u32, ppid: u32, with: &ProcessSample) -> ProcessSample {
    ProcessSample {
        shares_mm: Some(with.id),
        walk: with.walk,
        ..process(pid, ppid, "x")
    }
}

fn pss(totals: &Totals) -> u64 {
    totals.memory.as_ref().unwrap().pss / MIB
}

#[test]
fn a_sum_counts_it_once_whoever_of_them_is_in_it() {
    let first = process(10, 1, "x");
    let rows = [
        first.clone(),
        sharer(11, 10, &first),
        sharer(12, 1, &first),
        process(13, 1, "y"),
    ];
    let change = |_: &ProcessSample| {
        Some(Change {
            pss: Some(7),
            cpu: Some(0.5),
            ..Change::default()
        })
    };
    for (set, expected, moved) in [
        (&[0, 1, 2, 3][..], 20, 14),
        (&[0, 1], 10, 7),
        (&[2, 1, 0], 10, 7),
        // Without the first of them.
        (&[1, 2], 10, 7),
        (&[2], 10, 7),
        (&[3, 1], 20, 14),
    ] {
        let sum = Totals::of(set.iter().map(|i| &rows[*i]), change);
        assert_eq!(pss(&sum), expected, "{set:?}");
        assert_eq!((sum.count, sum.threads), (set.len(), set.len() as u64), "{set:?}");
        assert_eq!(sum.change.pss, Some(moved), "{set:?}");
        // What they do is each one's own.
        assert_eq!(sum.change.cpu, Some(0.5 * set.len() as f64), "{set:?}");
        assert!(!sum.partial);
    }
}

#[test]
fn whose_memory_is_known_stands_for_the_others() {
    let first = process(10, 1, "x");
    let mut rows = [first.clone(), sharer(11, 10, &first)];
    rows[0].walk = Err(Missing::Pending);
    let sum = Totals::of(&rows, |_| None);
    assert_eq!((pss(&sum), sum.partial), (10, false));
    let tree = Forest::new(&rows).subtrees(&rows, |_| None);
    assert_eq!((pss(&tree[0]), tree[0].partial), (10, false));
    rows[1].walk = Err(Missing::Denied);
    let sum = Totals::of(&rows, |_| None);
    assert!(sum.memory.is_err() && sum.partial);
}

#[test]
fn a_subtree_counts_it_once_too() {
    // 1 ─ 10 ─ 11 (10's memory) ─ 12 (its own)
    //   └ 20 (10's memory)
    let first = process(10, 1, "x");
    let rows = [
        process(1, 0, "init"),
        first.clone(),
        sharer(11, 10, &first),
        process(12, 11, "y"),
        sharer(20, 1, &first),
    ];
    let tree = Forest::new(&rows).subtrees(&rows, |_| None);
    assert_eq!(tree.iter().map(pss).collect::<Vec<_>>(), [30, 20, 20, 10, 10]);
    assert_eq!(tree.iter().map(|t| t.count).collect::<Vec<_>>(), [5, 3, 2, 1, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against the plain way: for each set, the memory of each address space in it once.
    #[test]
    fn sums_and_subtrees_count_each_address_space_once(
        made in prop::collection::vec((0usize..8, 0usize..6, 1u64..9), 1..24),
    ) {
        let mut rows: Vec<ProcessSample> = Vec::new();
        for (i, (parent, space, _)) in made.iter().enumerate() {
            let mut row = process(i as u32 + 1, *parent as u32, "x");
            let first = made.iter().position(|(_, other, _)| other == space).unwrap();
            // Each space's size is that of its first.
            row.walk = Ok(walk(made[first].2 * MIB, 0));
            // Space 0 stands for having one's own.
            row.shares_mm = (first != i && *space != 0).then(|| Identity { pid: first as u32 + 1, ..rows[first].id });
            if *space == 0 {
                row.walk = Ok(walk(made[i].2 * MIB, 0));
            }
            rows.push(row);
        }
        let plain = |set: &[usize]| -> u64 {
            let mut seen = Vec::new();
            let mut sum = 0;
            for i in set {
                let space = rows[*i].shares_mm.unwrap_or(rows[*i].id);
                if !seen.contains(&space) {
                    seen.push(space);
                    sum += rows[*i].walk.unwrap().memory.pss / MIB;
                }
            }
            sum
        };
        let all: Vec<_> = (0..rows.len()).collect();
        prop_assert_eq!(pss(&Totals::of(&rows, |_| None)), plain(&all));
        let forest = Forest::new(&rows);
        let subtrees = forest.subtrees(&rows, |_| None);
        // A forest in which everything is drawn lists each process before what is below it.
        let nodes = forest.rows(|_| true, |_| false, |a, b| a.cmp(&b));
        let depth = |guide: &str| guide.chars().count();
        for (at, node) in nodes.iter().enumerate() {
            let below = nodes[at + 1..].iter().take_while(|n| depth(&n.guide) > depth(&node.guide));
            let set: Vec<_> = std::iter::once(node.index).chain(below.map(|n| n.index)).collect();
            prop_assert_eq!(pss(&subtrees[node.index]), plain(&set));
            prop_assert_eq!(subtrees[node.index].count, set.len());
        }
    }
}
