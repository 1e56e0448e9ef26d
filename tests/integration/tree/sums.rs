//! Sums of memory, and the order of rows.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::columns::{OrderKey, Row, SortKey, Value, find, order};
use zmtop::group::tree::Forest;
use zmtop::group::{Change, Totals};
use zmtop::model::{Counted, Memory, Missing, Walk};
use zmtop::query::RowSource;

use crate::support::rows::{MIB, process, snapshot, walk};

#[test]
fn figures_that_are_made_of_others() {
    let memory = Memory {
        private_clean: 1,
        private_dirty: 2,
        shared_clean: 4,
        shared_dirty: 8,
        private_hugetlb: Ok(16),
        shared_hugetlb: Ok(32),
        pss: 64,
        swap: 256,
        swap_pss: Ok(128),
        ..Memory::default()
    };
    assert_eq!((memory.uss(), memory.shared(), memory.dirty()), (3, 12, 10));
    assert_eq!((memory.hugetlb(), memory.footprint()), (Ok(48), Ok(192)));
    let old = Memory {
        swap_pss: Err(Missing::Unsupported),
        shared_hugetlb: Err(Missing::Unsupported),
        ..memory
    };
    assert_eq!(
        (old.hugetlb(), old.footprint()),
        (Err(Missing::Unsupported), Err(Missing::Unsupported))
    );
}

#[test]
fn a_sum_knows_only_what_each_part_knows() {
    let mut sum = walk(MIB, 7).memory;
    let mut other = walk(2 * MIB, 1).memory;
    other.pss_anon = Err(Missing::Unsupported);
    sum.add(&other);
    assert_eq!((sum.pss, sum.swap, sum.rss), (3 * MIB, 8, 3 * MIB));
    assert_eq!((sum.pss_anon, sum.swap_pss), (Err(Missing::Unsupported), Ok(8)));
    let mut huge = walk(u64::MAX, 0).memory;
    huge.add(&walk(5, 0).memory);
    assert_eq!(
        (huge.pss, huge.pss_anon, huge.uss()),
        (u64::MAX, Ok(u64::MAX), u64::MAX)
    );
}

#[test]
fn totals_are_partial_where_memory_is_hidden() {
    let m = walk(MIB, 0).memory;
    let total = |list: &[Result<Memory, Missing>]| {
        let rows: Vec<_> = list
            .iter()
            .zip(1..)
            .map(|(memory, pid)| {
                let mut row = process(pid, 0, "x");
                row.walk = memory.map(|memory| Walk { memory, ..walk(0, 0) });
                row
            })
            .collect();
        let sum = Totals::of(&rows, |_| None);
        (sum.memory.map(|m| m.pss), sum.partial)
    };
    assert_eq!(total(&[Ok(m), Ok(m)]), (Ok(2 * MIB), false));
    assert_eq!(total(&[Ok(m), Err(Missing::Denied)]), (Ok(MIB), true));
    assert_eq!(
        total(&[Ok(m), Err(Missing::KernelThread), Err(Missing::Zombie)]),
        (Ok(MIB), false)
    );
    assert_eq!(
        total(&[Err(Missing::Denied), Err(Missing::Zombie)]),
        (Err(Missing::Denied), true)
    );
    assert!(total(&[Err(Missing::Zombie)]).0.is_err());
    assert!(total(&[]).0.is_err());
}

#[test]
fn totals_of_processes() {
    let mut rows: Vec<_> = (1..=4).map(|pid| process(pid, 0, "x")).collect();
    rows[0].walk = Err(Missing::KernelThread);
    rows[1].walk = Err(Missing::Denied);
    rows[3].stat.threads = 9;
    let change = Change {
        pss: Some(5),
        growth: Some(1.5),
        ..Change::default()
    };
    let totals = Totals::of(&rows, |p| (p.id.pid > 2).then_some(change));
    assert_eq!((totals.count, totals.partial, totals.threads), (4, true, 12));
    assert_eq!(totals.memory.as_ref().unwrap().pss, 20 * MIB);
    assert_eq!(
        (totals.change.pss, totals.change.growth, totals.change.cpu),
        (Some(10), Some(3.0), None)
    );
    let snap = snapshot(Duration::from_secs(1), Vec::new());
    assert_eq!(Row::of_totals(&totals, &snap).memory.unwrap().pss, 20 * MIB);

    assert_eq!(Totals::of(&rows[..1], |_| None).memory, Err(Missing::KernelThread));
    // Hidden outweighs having none, in either order.
    assert_eq!(Totals::of(&rows[..2], |_| None).memory, Err(Missing::Denied));
    assert_eq!(
        Totals::of(rows[..2].iter().rev(), |_| None).memory,
        Err(Missing::Denied)
    );
    assert_eq!(Totals::of([], |_| None).memory, Err(Missing::Pending));
    let mut extreme = change;
    extreme.pss = Some(i64::MAX);
    extreme.add(&change);
    assert_eq!(extreme.pss, Some(i64::MAX));
}

/// Keys without anything that comes first among equals.
fn keys(keys: &[SortKey]) -> Vec<OrderKey> {
    let key = |key: &SortKey| OrderKey {
        key: key.clone(),
        ..OrderKey::MISSING
    };
    keys.iter().map(key).collect()
}

fn texts(words: &[&str]) -> Vec<OrderKey> {
    let words: Vec<_> = words.iter().map(|w| SortKey::Text((*w).to_owned())).collect();
    keys(&words)
}

#[test]
fn rows_are_ordered_and_dashes_come_last() {
    let n = SortKey::Number;
    let keys = keys(&[n(2.0), SortKey::Missing, n(-1.0), n(3.0), SortKey::Missing, n(0.0)]);
    assert_eq!(order(&keys, false), [2, 5, 0, 3, 1, 4]);
    assert_eq!(order(&keys, true), [3, 0, 5, 2, 1, 4]);
    assert_eq!(order(&texts(&["b", "a", "c"]), false), [1, 0, 2]);
    assert_eq!(order(&texts(&["b", "a", "c"]), true), [2, 0, 1]);
}

#[test]
fn equal_rows_keep_their_places_in_both_directions() {
    let keys = keys(&[0.0, -0.0, 1.0, 0.0, 1.0].map(SortKey::Number));
    assert_eq!(order(&keys, false), [0, 1, 3, 2, 4]);
    assert_eq!(order(&keys, true), [2, 4, 0, 1, 3]);
}

#[test]
fn the_greatest_comes_first_among_equals_in_both_directions() {
    let n = SortKey::Number;
    let keys = [
        (1.0, n(5.0)),
        (1.0, SortKey::Missing),
        (0.0, n(1.0)),
        (1.0, n(7.0)),
        (0.0, n(2.0)),
    ]
    .map(|(key, tie)| OrderKey { key: n(key), tie });
    assert_eq!(order(&keys, false), [4, 2, 3, 0, 1]);
    assert_eq!(order(&keys, true), [3, 0, 1, 4, 2]);
}

fn any_key() -> impl Strategy<Value = SortKey> {
    prop_oneof![
        any::<f64>().prop_map(SortKey::Number),
        "[a-c]{0,2}".prop_map(SortKey::Text),
        Just(SortKey::Missing),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_keys_have_a_total_order(
        keys in prop::collection::vec((any_key(), any_key()), 0..50),
        descending: bool,
    ) {
        let keys: Vec<_> = keys.into_iter().map(|(key, tie)| OrderKey { key, tie }).collect();
        let order = order(&keys, descending);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..keys.len()).collect::<Vec<_>>());
        prop_assert!(order.is_sorted_by(|a, b| keys[*a].compare(&keys[*b], descending).is_le()));
        let dashes = order.iter().skip_while(|i| keys[**i].key != SortKey::Missing);
        prop_assert!(dashes.into_iter().all(|i| keys[*i].key == SortKey::Missing));
    }
}

#[test]
fn one_of_each_address_space() {
    let mut rows: Vec<_> = (1..=5).map(|pid| process(pid, 0, "x")).collect();
    rows[1].shares_mm = Some(rows[0].id);
    rows[3].shares_mm = Some(rows[0].id);
    let pids = |rows: &[zmtop::model::ProcessSample]| -> Vec<u32> {
        let ids = zmtop::group::totals::one_of_each(rows);
        ids.into_iter().map(|id| id.pid).collect()
    };
    assert_eq!(pids(&rows), [1, 3, 5]);
    // The one that the others go by is not among them.
    assert_eq!(pids(&rows[1..]), [2, 3, 5]);
}

#[test]
fn a_subtree_with_hidden_processes_has_bounds() {
    let mut rows = [(1, 0), (2, 1), (3, 2)].map(|(pid, ppid)| process(pid, ppid, "x"));
    rows[1].walk = Ok(walk(200 * MIB, 5 * MIB));
    for (at, rss, anon, swap) in [(0, 8, 2, 3), (2, 100, 50, 1)] {
        rows[at].walk = Err(Missing::Denied);
        rows[at].stat.rss = rss * MIB;
        rows[at].counted = Counted::new(Some(anon * MIB), Some(swap * MIB));
    }
    let snap = snapshot(Duration::from_secs(1), rows.to_vec());
    let subtrees = Forest::new(snap.rows()).subtrees(snap.rows(), |_| None);
    let source = RowSource::new(&snap, None);
    for (at, folded, column, expected) in [
        (0, true, "pss", Value::Within(200, 308)),
        (0, true, "pss_anon", Value::Within(200, 252)),
        (0, true, "rss", Value::Bytes(308)),
        (0, true, "swap", Value::Bytes(9)),
        (0, true, "tree_pss", Value::Within(200, 308)),
        (0, true, "tree_swap", Value::Bytes(9)),
        (0, false, "pss", Value::AtMost(8)),
        (0, false, "pss_anon", Value::AtMost(2)),
        (0, false, "rss", Value::Bytes(8)),
        (0, false, "swap", Value::Bytes(3)),
        (0, false, "tree_pss", Value::Within(200, 308)),
        (0, false, "tree_swap", Value::Bytes(9)),
        (1, true, "pss_anon", Value::Within(200, 250)),
        (1, false, "pss_anon", Value::Bytes(200)),
        (1, false, "tree_swap", Value::Bytes(6)),
        (2, false, "tree_pss", Value::AtMost(100)),
        (2, false, "tree_swap", Value::Bytes(1)),
    ] {
        let expected = match expected {
            Value::Within(known, most) => Value::Within(known * MIB, most * MIB),
            Value::AtMost(most) => Value::AtMost(most * MIB),
            Value::Bytes(bytes) => Value::Bytes(bytes * MIB),
            other => other,
        };
        let row = source.process_in_tree(&snap.rows()[at], subtrees.get(at), folded);
        let value = (find(column).unwrap().get().value)(&row);
        assert_eq!(
            format!("{value:?}"),
            format!("{expected:?}"),
            "{column} of {at}, folded: {folded}"
        );
    }
}
