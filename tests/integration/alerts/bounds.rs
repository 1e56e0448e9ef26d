//! The limits on what is kept and reported, however much happens.

use zmtop::alert::Alerts;

use super::{Evaluator, outline, process_with, rule};
use crate::support::rows::{MIB, with_pss};

#[test]
fn a_rule_fires_for_so_many_at_once_and_for_the_rest_in_turn() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0), rule("process", "pss>1G", 0, 0)]);
    let rows = || {
        (2..252)
            .map(|pid| process_with(pid, 200))
            .chain([process_with(300, 2000)])
            .collect::<Vec<_>>()
    };
    let counts: Vec<_> = (0..4).map(|_| evaluator.advance(1.0, rows()).len()).collect();
    // The one above both bounds fires for the second rule at once, and for the first with the last.
    assert_eq!(counts, [101, 100, 51, 0]);
    assert_eq!(evaluator.alerts.firing(), 252);
    assert_eq!(evaluator.alerts.events().len(), Alerts::MAX_EVENTS);
    assert_eq!(evaluator.advance(1.0, Vec::new()).len(), 252);
    assert_eq!(
        (evaluator.alerts.firing(), evaluator.alerts.events().len()),
        (0, Alerts::MAX_EVENTS)
    );
}

#[test]
fn the_maximum_counts_each_rule_by_itself() {
    // Two rules that are true of the same processes fire in turn.
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0), rule("process", "rss>100M", 0, 0)]);
    let rows: Vec<_> = (2..152).map(|pid| process_with(pid, 200)).collect();
    let counts: Vec<_> = (0..3).map(|_| evaluator.advance(1.0, rows.clone()).len()).collect();
    assert_eq!(counts, [200, 100, 0]);
}

#[test]
fn only_so_many_are_kept_in_mind() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 3600, 0)]);
    let rows: Vec<_> = (1..=12_000).map(|pid| process_with(pid, 200)).collect();
    evaluator.advance(1.0, rows.clone());
    assert_eq!(evaluator.alerts.skipped(), 2000);
    // Those that are gone make room.
    evaluator.advance(1.0, rows[..9000].to_vec());
    assert_eq!(evaluator.alerts.skipped(), 2000);
    evaluator.advance(1.0, rows[2000..].to_vec());
    assert_eq!(evaluator.alerts.skipped(), 4000);
}

#[test]
fn a_rule_that_is_true_everywhere_leaves_room_for_the_others() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0), rule("process", "pss>1G", 0, 0)]);
    let mut rows: Vec<_> = (1..=12_000).map(|pid| process_with(pid, 200)).collect();
    evaluator.advance(1.0, rows.clone());
    assert!(evaluator.alerts.skipped() > 0);
    rows.push(process_with(20_000, 2000));
    let events = evaluator.advance(1.0, rows);
    assert!(events.iter().any(|event| event.rule == 1), "{}", events.len());
}

#[test]
fn names_that_come_and_go_leave_room_for_others() {
    let mut evaluator = Evaluator::new([rule("command", "pss>100M", 0, 600)]);
    for tick in 0..300 {
        let rows = (0..60).map(|n| with_pss(10 + n, &format!("/tmp/p{}", tick * 60 + u64::from(n)), 200 * MIB));
        assert_eq!(
            outline(&evaluator.advance(1.0, rows.collect()))
                .matches("fired")
                .count(),
            60,
            "{tick}"
        );
    }
    assert_eq!(evaluator.alerts.skipped(), 0);
    // One that comes back within its cooldown does not fire again where there is room for that.
    let mut few = Evaluator::new([rule("command", "pss>100M", 0, 600)]);
    let counts = [200, 50, 200].map(|mib| few.advance(1.0, vec![process_with(7, mib)]).len());
    assert_eq!(counts, [1, 1, 0]);
}

#[test]
fn a_storm_of_short_lived_processes_leaves_nothing_behind() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 3600)]);
    for tick in 0..300 {
        evaluator.advance(1.0, (0..50).map(|n| process_with(10 + tick * 50 + n, 200)).collect());
        assert!(evaluator.alerts.firing() <= 50);
    }
    evaluator.advance(1.0, Vec::new());
    assert_eq!(evaluator.alerts.firing(), 0);
    assert_eq!(evaluator.alerts.skipped(), 0, "the dead take no room");
}

#[test]
fn a_long_name_is_cut() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
    let long = crate::support::rows::with_facts(process_with(7, 200), |f| f.cmdline = Ok(vec![b'x'; 100_000].into()));
    let fired = evaluator.advance(1.0, vec![long]);
    assert_eq!(fired[0].details.label("command").unwrap().len(), 1024);
}
