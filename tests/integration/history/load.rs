//! Figures that accompany growth: processor time, which shows the load, and the memory that is asked for.

use std::time::Duration;

use zmtop::group::{GroupBy, GroupKey};
use zmtop::history::History;
use zmtop::model::{Missing, Reading};
use zmtop::trend::{Judgement, Verdict};

use crate::support::rows::{MIB, process, snapshot, with_pss};

const PID: u32 = 7;

/// Watches growth of 10 MB a minute that takes so many ticks of processor time in each second, and has asked for so much
/// memory by each; returns what is said of it and of its program.
fn watch(seconds: u64, ticks: impl Fn(u64) -> u64, data: impl Fn(u64) -> Reading<u64>) -> [Judgement; 2] {
    let mut history = History::new(Duration::from_secs(10));
    let mut taken = 0;
    for second in (0..seconds).step_by(2) {
        taken += 2 * ticks(second);
        let mut sample = with_pss(PID, "ingest", 400 * MIB + second * MIB / 6);
        sample.stat.cpu_ticks = taken;
        sample.data = data(second);
        let mut snap = snapshot(Duration::from_secs(100_000 + second), vec![sample]);
        snap.interval = Duration::from_secs(2);
        history.push(&snap);
    }
    let program = GroupKey {
        by: GroupBy::Command,
        name: Some(b"ingest"[..].into()),
    };
    let rows = [history.get(process(PID, 1, "ingest").id), history.group(&program)];
    rows.map(|row| *row.unwrap().trend())
}

/// The last reason to call such growth a leak.
fn reason(seconds: u64, ticks: impl Fn(u64) -> u64) -> String {
    let [trend, _] = watch(seconds, ticks, |_| Err(Missing::Pending));
    assert_eq!(trend.verdict, Verdict::Leaking);
    trend.texts().pop().unwrap()
}

#[test]
fn what_was_asked_for_before_is_no_leak() {
    let asks = |data: fn(u64) -> Reading<u64>| watch(1500, |_| 5, data);
    for judgement in asks(|_| Ok(900 * MIB)) {
        assert_eq!(judgement.verdict, Verdict::Growing, "{judgement:?}");
        let texts = judgement.texts();
        assert_eq!(texts[0], "not a leak so far: it fills memory that it requested earlier");
        assert!(texts[1].ends_with(" and requested 0"), "{texts:?}");
    }
    let leaks: [fn(u64) -> Reading<u64>; 3] = [
        |second| Ok(410 * MIB + second * MIB / 6),
        |second| Ok(410 * MIB + second.div_ceil(128) * 64 * MIB),
        |_| Err(Missing::Denied),
    ];
    for data in leaks {
        assert_eq!(asks(data).map(|judgement| judgement.verdict), [Verdict::Leaking; 2]);
    }
}

#[test]
fn a_leak_tells_if_its_load_rose() {
    assert_eq!(reason(1500, |_| 5), "with no more work than before");
    assert_eq!(reason(1500, |_| 0), "with no more work than before");
    // Marks that were thinned out tell the same.
    assert_eq!(reason(9000, |_| 5), "with no more work than before");
    assert!(reason(1500, |second| second / 20).starts_with("while its work rose by"));
    assert!(reason(1500, |second| (1500 - second) / 20).starts_with("while its work fell by"));
}
