//! Alerts on the parts of the RAM.

use std::sync::Arc;
use std::time::Duration;

use super::{Evaluator, outline, rule};
use crate::support::rows::{MIB, snapshot};

use zmtop::alert::{AlertEvent, Rule, TargetKind};
use zmtop::config::{Settings, alerts};
use zmtop::model::kernel::{SlabCache, SlabCaches, SlabFigures};

/// A machine of 1000 MiB, of which so much is not accounted for, and so much is unreclaimable slab.
fn machine(rest: u64, slab: u64) -> zmtop::model::Snapshot {
    let mut snap = snapshot(Duration::ZERO, Vec::new());
    let s = &mut snap.system;
    s.mem_total = Ok(1000 * MIB);
    s.sunreclaim = Ok(slab);
    s.mem_free = Ok(1000 * MIB - slab - rest);
    snap
}

#[test]
fn a_rule_names_a_part_and_its_figures() {
    let mut evaluator = Evaluator::new([rule("part", "unattributed share>10%", 2, 0)]);
    let told: Vec<_> = [50, 120, 120, 120, 90, 90]
        .into_iter()
        .map(|rest| outline(&evaluator.evaluate(1.0, machine(rest * MIB, 300 * MIB))))
        .collect();
    assert_eq!(told, ["", "", "", "fired", "cleared", ""]);
}

#[test]
fn its_events_say_which_part_it_is() {
    let mut evaluator = Evaluator::new([rule("part", "slab bytes>100M", 0, 0)]);
    let events = evaluator.evaluate(1.0, machine(0, 300 * MIB));
    let summaries: Vec<_> = events.iter().map(AlertEvent::summary).collect();
    assert_eq!(summaries, ["kernel: unreclaimable slab: bytes 300M"]);
}

#[test]
fn what_a_part_does_not_have_is_a_fault() {
    for when in ["pss>1G", "nonsense>3"] {
        assert!(Rule::new("rule", TargetKind::Part, when).is_err(), "{when}");
    }
}

#[test]
fn the_shipped_rule_tells_of_a_leak_and_of_nothing_that_is_taken_back() {
    let settings = Settings::default();
    let mut evaluator = Evaluator::new(alerts::rules(&settings.alerts));
    let mut told = Vec::new();
    for second in 0..2400_u64 {
        let mut snap = machine(10 * MIB, 100 * MIB + second.saturating_sub(300) * MIB / 10);
        // The file cache grows as fast, and is no leak.
        snap.system.cached = Ok(100 * MIB + second * MIB / 10);
        snap.system.shmem = Ok(MIB);
        let free = snap.system.mem_free.unwrap();
        snap.system.mem_free = Ok(free - 100 * MIB - second * MIB / 10);
        snap.kernel.slab = Ok(Arc::new(SlabCaches {
            caches: vec![SlabCache {
                name: (*b"kmalloc-64").into(),
                reclaimable: Some(false),
                figures: SlabFigures {
                    size: 50 * MIB + second.saturating_sub(300) * MIB / 10,
                    ..SlabFigures::default()
                },
                ..SlabCache::default()
            }],
            malformed: 0,
        }));
        told.extend(
            evaluator
                .evaluate(1.0, snap)
                .iter()
                .map(|event| (second, event.summary())),
        );
    }
    let [(at, ref what)] = told[..] else { panic!("{told:?}") };
    assert_eq!(what, "kernel: unreclaimable slab: verdict leaking, slab kmalloc-64");
    assert!((1100..1900).contains(&at), "{at}");
}
