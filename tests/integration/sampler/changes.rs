//! The rows that a snapshot says differ from the one before.

use std::collections::BTreeMap;
use std::sync::Arc;

use zmtop::model::{RowChanges, Snapshot};
use zmtop::sampler::{Policy, Scanner};

use super::pids;
use crate::support::block_on;
use crate::support::tree::ProcTree;

/// Finds what differs by looking at every row.
fn differences(before: &Snapshot, now: &Snapshot) -> RowChanges {
    let rows = now.rows().iter().zip(0..);
    let is_new = |row: &_| !before.rows().iter().any(|old| old.is_same(row));
    let is_gone = |id| !now.rows().iter().any(|row| row.id == id);
    RowChanges {
        rows: rows.filter(|(row, _)| is_new(row)).map(|(_, at)| at).collect(),
        removed: before
            .rows()
            .iter()
            .map(|row| row.id)
            .filter(|id| is_gone(*id))
            .collect(),
    }
}

/// Checks that rows and their reported changes are right at every tick, also if old snapshots are still held. Processes come,
/// change, are replaced and go in an order that is as good as random.
#[test]
fn changes_are_reported_and_nothing_else() {
    let tree = ProcTree::new();
    let mut options = tree.options();
    // With a budget, what did not change is not walked again.
    options.policy = Policy::default();
    let mut scanner = Scanner::new(&options);
    let mut alive: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut before: Option<Arc<Snapshot>> = None;
    let mut held = Vec::new();
    let (mut changed, mut unchanged) = (0, 0);
    for tick in 0..60 {
        // Every third tick nothing happens.
        let events = if tick % 3 == 2 { 0 } else { 4 };
        for _ in 0..events {
            let pid = 1 + random(12) as u32;
            if random(4) == 0 {
                if alive.remove(&pid).is_some() {
                    tree.remove(pid);
                }
            } else {
                let (starttime, pss) = (10 + random(2), 1000 + random(3) * 100);
                tree.process(pid)
                    .starttime(starttime)
                    .pss_kb(pss)
                    .faults(pss, 0)
                    .write();
                alive.insert(pid, (starttime, pss));
            }
        }
        let now = block_on(scanner.full());
        assert_eq!(pids(&now), alive.keys().copied().collect::<Vec<_>>(), "tick {tick}");
        for row in now.rows() {
            let figures = (row.id.starttime, row.stat.minflt);
            assert_eq!(figures, alive[&row.id.pid], "tick {tick}, pid {}", row.id.pid);
        }
        if let Some(before) = before.as_ref().filter(|before| !before.rows().is_empty()) {
            let told = now.changes_since(before.tick).unwrap();
            assert_eq!(*told, differences(before, &now), "tick {tick}");
            changed += told.rows.len();
            unchanged += now.rows().len() - told.rows.len();
        }
        match random(9) {
            0..3 => held.push(Arc::clone(&now)),
            3..5 => held.clear(),
            _ => {}
        }
        before = Some(now);
    }
    assert!(changed > 50 && unchanged > 20, "{changed} changed, {unchanged} did not");
}
