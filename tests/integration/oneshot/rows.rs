//! Which rows, in which order.

use std::time::Duration;

use zmtop::columns::{COLUMNS, find};
use zmtop::filter::Filter;
use zmtop::model::{Missing, ProcessSample};
use zmtop::output::table::partial_label;
use zmtop::query::{Query, Rows, ShownRow};

use super::{ids, machine, table};
use crate::support::rows::{MIB, process, snapshot, walk};

/// `1 ─ 2 ─ 3`, `1 ─ 4`, and `5` alone; 3 is the largest.
fn family() -> Vec<ProcessSample> {
    let mut rows = vec![
        process(1, 0, "init"),
        process(2, 1, "shell"),
        process(3, 2, "worker"),
        process(4, 1, "other"),
        process(5, 0, "alone"),
    ];
    for (row, mib) in rows.iter_mut().zip([1, 2, 100, 50, 60]) {
        row.walk = Ok(walk(mib * MIB, 0));
    }
    rows
}

/// The pids and depths that a tree shows.
fn tree(rows: Vec<ProcessSample>, filter: &str, change: impl FnOnce(&mut Query<'_>)) -> Vec<(u32, usize)> {
    let filter = Filter::parse(filter, &COLUMNS).unwrap();
    let mut query = Query {
        tree: true,
        ..Query::new(&filter)
    };
    change(&mut query);
    let snapshot = snapshot(Duration::ZERO, rows);
    let chosen = Rows::select(&snapshot, None, &query);
    let pid = |shown: ShownRow<'_>| (shown.row.sample.unwrap().id.pid, shown.depth);
    chosen.shown().map(pid).collect()
}

#[test]
fn a_tree_has_its_siblings_in_order_of_what_they_hold_with_all_below() {
    assert_eq!(tree(family(), "", |_| {}), [(1, 0), (2, 1), (3, 2), (4, 1), (5, 0)]);
    assert_eq!(
        tree(family(), "", |q| q.descending = false),
        [(5, 0), (1, 0), (4, 1), (2, 1), (3, 2)]
    );
    let by_pid = |q: &mut Query<'_>| {
        q.sort = find("pid").unwrap();
        q.descending = true;
    };
    assert_eq!(tree(family(), "", by_pid), [(5, 0), (1, 0), (4, 1), (2, 1), (3, 2)]);
}

#[test]
fn a_filtered_tree_keeps_the_ancestors_and_sums_what_matches() {
    assert_eq!(tree(family(), "worker", |_| {}), [(1, 0), (2, 1), (3, 2)]);
    let text = table(family(), "worker", |q, o| {
        q.tree = true;
        o.columns = ids(&["pid", "pss", "tree_pss", "command"]);
    });
    assert_eq!(
        text,
        "\
PID  PSS ΣPSS COMMAND
  1 1.0M 153M init
  2 2.0M 102M └─ shell
  3 100M 100M    └─ worker
    100M 100M 1 process
"
    );
}

#[test]
fn the_first_of_a_tree_are_those_that_hold_most_with_all_below() {
    assert_eq!(tree(family(), "", |q| q.top = Some(2)), [(1, 0), (2, 1)]);
    assert_eq!(
        tree(family(), "", |q| q.top = Some(4)),
        [(1, 0), (2, 1), (3, 2), (5, 0)]
    );
    // Those chosen by another column may lie anywhere: their ancestors come with them.
    let last = |q: &mut Query<'_>| {
        q.sort = find("pid").unwrap();
        q.descending = false;
        q.top = Some(1);
    };
    assert_eq!(tree(family(), "pid>2", last), [(1, 0), (2, 1), (3, 2)]);
    let text = table(family(), "", |q, o| {
        q.tree = true;
        q.top = Some(2);
        o.style.ascii = true;
        o.columns = ids(&["comm", "pss"]);
    });
    assert_eq!(
        text,
        "\
NAME      PSS
init     1.0M
`- shell 2.0M
         213M 5 processes, 2 shown
"
    );
}

#[test]
fn a_tree_is_as_deep_as_it_is() {
    let chain: Vec<_> = (1..=3000).map(|pid| process(pid, pid - 1, "link")).collect();
    let shown = tree(chain, "", |_| {});
    assert_eq!(shown.len(), 3000);
    assert!(shown.iter().all(|(pid, depth)| *depth == *pid as usize - 1));
}

#[test]
fn why_sums_are_too_small_is_counted_by_reason() {
    let mut rows = machine();
    rows.push(process(7, 1, "x"));
    rows[5].walk = Err(Missing::Denied);
    let snapshot = snapshot(Duration::ZERO, rows);
    let filter = Filter::default();
    let chosen = Rows::select(&snapshot, None, &Query::new(&filter));
    assert_eq!(chosen.hidden, [(Missing::Denied, 2), (Missing::TimedOut, 1)]);
    assert_eq!(
        partial_label(&chosen).unwrap(),
        "partial: 2 permission denied, 1 timed out"
    );
    assert_eq!(chosen.selection.totals.count, 5);
    assert!(chosen.selection.totals.partial);
    let none = Filter::parse("nothing-like-it", &COLUMNS).unwrap();
    let chosen = Rows::select(&snapshot, None, &Query::new(&none));
    assert_eq!((chosen.shown().len(), partial_label(&chosen)), (0, None));
}
