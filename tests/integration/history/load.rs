//! The load of what leaks: by how much the processor time that it takes rose while it grew.

use std::time::Duration;

use zmtop::history::History;
use zmtop::trend::Verdict;

use crate::support::rows::{MIB, process, snapshot, walk};

const PID: u32 = 7;

/// Watches a leak of 10 MB a minute that takes so many ticks of processor time in each second; returns the last reason.
fn reason(seconds: u64, ticks: impl Fn(u64) -> u64) -> String {
    let mut history = History::new(Duration::from_secs(10));
    let mut taken = 0;
    for second in (0..seconds).step_by(2) {
        taken += 2 * ticks(second);
        let mut sample = process(PID, 1, "ingest");
        sample.walk = Ok(walk(400 * MIB + second * MIB / 6, 0));
        sample.stat.cpu_ticks = taken;
        let mut snap = snapshot(Duration::from_secs(100_000 + second), vec![sample]);
        snap.interval = Duration::from_secs(2);
        history.push(&snap);
    }
    let trend = history.get(process(PID, 1, "ingest").id).unwrap().trend();
    assert_eq!(trend.verdict, Verdict::Leaking);
    trend.reasons.unwrap().texts().pop().unwrap()
}

#[test]
fn a_leak_tells_if_its_load_rose() {
    assert_eq!(reason(1500, |_| 5), "at even load");
    assert_eq!(reason(1500, |_| 0), "at even load");
    // Marks that were thinned out tell the same.
    assert_eq!(reason(9000, |_| 5), "at even load");
    assert!(reason(1500, |second| second / 20).starts_with("while its load rose by"));
    assert!(reason(1500, |second| (1500 - second) / 20).starts_with("while its load fell by"));
}
