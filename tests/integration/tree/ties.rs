//! Rows that are equal in the column sorted by: the greater PSS comes first, then the lower pid.

use std::cmp::Ordering;
use std::time::Duration;

use zmtop::columns::{COLUMNS, ColumnId, SortKey, find};
use zmtop::filter::Filter;
use zmtop::group::{GroupBy, RowKey};
use zmtop::model::{Missing, Snapshot};
use zmtop::query::{Query, Rows};

use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

/// Processes alike in pairs and triples in everything, but for PSS, which follows no other order.
fn alike() -> Snapshot {
    let rows = (0..60_u32).map(|n| {
        let mut row = process(10 + n, 1, &format!("/usr/bin/p{}", n % 12));
        let pss = u64::from(n * 37 % 20) * MIB;
        row.walk = Ok(walk(pss, 0));
        if let Ok(walk) = &mut row.walk {
            walk.memory.rss = 100 * MIB;
            walk.memory.private_dirty = 0;
            walk.memory.pss_anon = Ok(0);
            walk.memory.swap = u64::from(n % 3) * MIB;
            walk.memory.swap_pss = Ok(u64::from(n % 3) * MIB);
        }
        if n % 10 == 9 {
            row.walk = Err(Missing::Denied);
        }
        with_facts(row, |facts| {
            facts.user = Ok(format!("user{}", n % 4).into_bytes().into());
        })
    });
    snapshot(Duration::from_secs(100), rows.collect())
}

/// Says for how many neighbours of a table in this order PSS, and then the pid or the name, decided.
fn decided(snapshot: &Snapshot, by: Option<GroupBy>, sort: ColumnId, descending: bool) -> [usize; 2] {
    let filter = Filter::default();
    let query = Query {
        by,
        sort,
        descending,
        ..Query::new(&filter)
    };
    let rows = Rows::select(snapshot, None, &query);
    let pss = find("pss").unwrap().get();
    let keys: Vec<(SortKey, SortKey, Option<u32>)> = rows
        .shown()
        .map(|shown| {
            let pid = match rows.selection.by() {
                None => shown.row.sample.map(|sample| sample.id.pid),
                Some(_) => None,
            };
            (sort.get().sort_key(&shown.row), pss.sort_key(&shown.row), pid)
        })
        .collect();
    assert!(keys.len() > 1);
    let mut decided = [0; 2];
    for pair in keys.windows(2) {
        let [(key, pss, pid), (next_key, next_pss, next_pid)] = pair else {
            panic!("two")
        };
        let what = || format!("{} {by:?} {descending} {pair:?}", sort.get().id);
        match key.compare(next_key, descending) {
            Ordering::Less => continue,
            Ordering::Equal => {}
            Ordering::Greater => panic!("{}", what()),
        }
        match pss.compare(next_pss, true) {
            Ordering::Less => decided[0] += 1,
            Ordering::Equal => {
                assert!(pid <= next_pid, "{}", what());
                decided[1] += 1;
            }
            Ordering::Greater => panic!("{}", what()),
        }
    }
    decided
}

#[test]
fn the_greater_pss_comes_first_among_equals_whatever_is_sorted_by() {
    let snapshot = alike();
    // Where PSS decided nothing the columns tell as much as it does, and the test nothing of them.
    let (mut untold, mut told_by_pid) = (Vec::new(), 0);
    for (at, column) in COLUMNS.iter().enumerate() {
        for by in [None, Some(GroupBy::Command), Some(GroupBy::User)] {
            for descending in [true, false] {
                let [by_pss, by_pid] = decided(&snapshot, by, ColumnId(at), descending);
                if by_pss == 0 {
                    untold.push(column.id);
                }
                told_by_pid += by_pid;
            }
        }
    }
    untold.dedup();
    assert!(told_by_pid > COLUMNS.len());
    assert!(untold.len() < COLUMNS.len() / 4, "{untold:?}");
}

#[test]
fn what_cannot_be_read_comes_last_by_pid() {
    let snapshot = alike();
    let filter = Filter::default();
    let query = Query {
        sort: find("rss").unwrap(),
        ..Query::new(&filter)
    };
    let rows = Rows::select(&snapshot, None, &query);
    let selection = rows.selection;
    let order = selection.order(&zmtop::query::RowSource::new(&snapshot, None), &query);
    let pids = order.iter().filter_map(|row| row.key.process()).map(|id| id.pid);
    let last: Vec<u32> = pids.skip(54).collect();
    assert_eq!(last, [19, 29, 39, 49, 59, 69]);
    assert!(order.iter().all(|row| matches!(row.key, RowKey::Process(_))));
}
