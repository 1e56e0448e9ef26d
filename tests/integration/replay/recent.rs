//! The decoded snapshots, by which a step back reads nothing.

use std::sync::Arc;
use std::time::Duration;

use zmtop::model::{ProcessSample, Snapshot};
use zmtop::run::monitor::replay::recent::Recent;

use crate::support::rows::{process, snapshot};

fn at(second: u64, processes: u32) -> Arc<Snapshot> {
    let rows = (0..processes).map(|pid| process(pid + 1, 0, "daemon")).collect();
    Arc::new(snapshot(Duration::from_secs(second), rows))
}

fn seconds(all: &[Arc<Snapshot>]) -> Vec<u64> {
    all.iter().map(|snapshot| snapshot.monotonic.as_secs()).collect()
}

#[test]
fn what_was_read_is_read_again_after_a_step_back() {
    let mut recent = Recent::default();
    let all: Vec<_> = (1..=5).map(|second| at(second, 3)).collect();
    for snapshot in &all {
        recent.add(snapshot);
    }
    assert!(recent.take_next().is_none());
    for (shown, before, next) in [
        (5, vec![1, 2, 3, 4], vec![]),
        (3, vec![1, 2], vec![4, 5]),
        (1, vec![], vec![2]),
    ] {
        // The one that was shown comes next, then those after it.
        assert_eq!(seconds(&recent.go_back(&all[shown - 1], 0, 9).unwrap()), before);
        let read = std::iter::from_fn(|| recent.take_next()).take(next.len() + 1);
        let expected: Vec<_> = std::iter::once(shown as u64).chain(next).collect();
        assert_eq!(seconds(&read.collect::<Vec<_>>()), expected);
    }
    assert!(recent.go_back(&all[2], 3, 9).is_none());
    assert_eq!(seconds(&recent.go_back(&all[4], 3, 3).unwrap()), [2, 3, 4]);
    // Another snapshot of the same time is not it.
    let mut other = (*all[2]).clone();
    other.monotonic += Duration::from_millis(1);
    assert!(recent.go_back(&other, 0, 9).is_none());
}

#[test]
fn its_memory_is_bounded() {
    let mut recent = Recent::default();
    let row = size_of::<ProcessSample>();
    let wide = at(1, 20_000);
    for second in 1..=200 {
        let mut next = (*wide).clone();
        next.monotonic = Duration::from_secs(second);
        recent.add(&Arc::new(next));
    }
    let mut last = (*wide).clone();
    last.monotonic = Duration::from_secs(200);
    let before = recent.go_back(&last, 0, 200).unwrap().len();
    assert!(before * 20_000 * row <= 32 << 20, "{before} of {row} bytes each");
    assert!(before >= 1, "{before}");
}
