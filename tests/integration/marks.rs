//! Marks: what changed since a moment, of processes and of groups.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{Row, Value, find};
use zmtop::group::{GroupBy, groups};
use zmtop::history::{Mark, Marks};
use zmtop::model::{Missing, ProcessSample, Snapshot};

use crate::support::rows::{MIB, process, snapshot, walk};

fn at(second: u64, processes: Vec<ProcessSample>) -> Snapshot {
    snapshot(Duration::from_secs(second), processes)
}

fn holding(pid: u32, command: &str, pss: u64, swap: u64) -> ProcessSample {
    ProcessSample {
        walk: Ok(walk(pss * MIB, swap * MIB)),
        ..process(pid, 1, command)
    }
}

const M: i64 = MIB.cast_signed();

#[test]
fn a_process_counts_from_the_mark_and_a_new_one_from_nothing() {
    let mut hidden = holding(3, "hidden", 0, 0);
    hidden.walk = Err(Missing::Denied);
    let mark = Mark::new(&at(10, vec![holding(2, "a", 50, 8), hidden.clone()]));
    let grown = holding(2, "a", 70, 3);
    let since = mark.process(&grown).unwrap();
    assert_eq!((since.pss, since.swap, since.is_new), (20 * M, -5 * M, false));
    let new = mark.process(&holding(9, "b", 4, 1)).unwrap();
    assert_eq!((new.pss, new.swap, new.is_new), (4 * M, M, true));
    assert!(mark.is_new(&holding(9, "b", 4, 1)) && !mark.is_new(&grown));
    // What could not be read then is unknown, and no growth.
    assert_eq!(mark.process(&holding(3, "hidden", 5, 0)), Err(Missing::NotMarked));
    assert_eq!(mark.process(&hidden), Err(Missing::Denied));
    assert!(!mark.is_new(&hidden));
    // Another process with the same pid is another.
    let mut reused = holding(2, "a", 5, 0);
    reused.id.starttime += 1;
    assert!(mark.process(&reused).unwrap().is_new);
}

#[test]
fn a_group_lacks_what_ended_and_has_what_started() {
    let mark = Mark::new(&at(10, vec![holding(2, "worker", 50, 0), holding(3, "worker", 30, 2)]));
    let now = at(60, vec![holding(2, "worker", 55, 0), holding(4, "worker", 10, 0)]);
    let made = groups(&now, GroupBy::Command, |_| true, |_| None);
    let since = mark.group(&made[0], &now).unwrap();
    assert_eq!((since.pss, since.swap, since.is_new), (-15 * M, -2 * M, false));
    // Where a filter holds one back it is the change of the others.
    let part = groups(&now, GroupBy::Command, |s| s.id.pid == 4, |_| None);
    assert!(!part[0].whole);
    let since = mark.group(&part[0], &now).unwrap();
    assert_eq!((since.pss, since.is_new), (10 * M, true));
    // One address space counts once.
    let mut twin = holding(5, "worker", 55, 0);
    twin.shares_mm = Some(now.rows()[0].id);
    let twins = at(61, vec![holding(2, "worker", 55, 0), holding(3, "worker", 30, 2), twin]);
    let part = groups(&twins, GroupBy::Command, |s| s.id.pid != 3, |_| None);
    assert_eq!(mark.group(&part[0], &twins).unwrap().pss, 5 * M);
    // Of a group that was not all read when the mark was set nothing is known.
    let mut pending = holding(3, "worker", 30, 0);
    pending.walk = Err(Missing::Pending);
    let early = Mark::new(&at(10, vec![holding(2, "worker", 50, 0), pending]));
    assert_eq!(early.group(&made[0], &now), Err(Missing::NotMarked));
}

#[test]
fn the_columns_are_empty_without_a_mark() {
    let mark = Mark::new(&at(10, vec![holding(2, "a", 50, 8)]));
    let now = at(60, vec![holding(2, "a", 70, 3)]);
    let made = groups(&now, GroupBy::Command, |_| true, |_| None);
    for row in [
        Row::of_process(&now.rows()[0], None, &now),
        Row::of_group(&made[0], None, &now),
    ] {
        for (id, bytes) in [("mark_pss", 20 * M), ("mark_swap", -5 * M)] {
            let column = find(id).unwrap().get();
            assert!(matches!((column.value)(&row), Value::Blank));
            let row = row.with_mark(Some(&mark));
            let value = (column.value)(&row);
            assert!(matches!(value, Value::Delta(n, _) if n == bytes), "{id}: {value:?}");
        }
    }
}

#[test]
fn marks_are_stepped_through_and_bounded() {
    let mut marks = Marks::default();
    assert!(marks.current().is_none());
    marks.unset();
    marks.step(true);
    assert_eq!(marks.position(), (0, 0));
    for second in 1..=20 {
        marks.set(&at(second, Vec::new()));
    }
    assert_eq!(marks.position(), (Marks::MAX, Marks::MAX));
    let now = at(100, Vec::new());
    let age = |marks: &Marks| now.monotonic.saturating_sub(marks.current().unwrap().at()).as_secs();
    assert_eq!(age(&marks), 80);
    marks.step(true);
    assert_eq!(age(&marks), 80, "there is no later one");
    marks.step(false);
    marks.step(false);
    assert_eq!(age(&marks), 82);
    marks.unset();
    assert_eq!((age(&marks), marks.position()), (83, (13, 15)));
    for _ in 0..40 {
        marks.step(false);
    }
    assert_eq!(age(&marks), 95, "the oldest of those kept");
    for _ in 0..15 {
        marks.unset();
    }
    assert!(marks.is_empty() && marks.current().is_none());
}

#[test]
fn another_boot_or_an_earlier_time_ends_them() {
    let mut marks = Marks::default();
    marks.set(&at(10, Vec::new()));
    assert!(!marks.discard_incomparable(&at(11, Vec::new())));
    assert!(!marks.is_empty());
    let mut other = at(12, Vec::new());
    other.boot_id = Ok(Arc::from("another"));
    assert!(marks.discard_incomparable(&other) && marks.is_empty());
    marks.set(&at(10, Vec::new()));
    assert!(marks.discard_incomparable(&at(9, Vec::new())) && marks.is_empty());
}
