//! However much happens, what is kept and told stays small.

use zmtop::alert::Alerts;

use super::{Judge, rule, with};

#[test]
fn a_rule_fires_for_so_many_at_once_and_for_the_rest_in_turn() {
    let mut judge = Judge::new([rule("process", "pss>100M", 0, 0), rule("process", "pss>1G", 0, 0)]);
    let rows = || {
        (2..252)
            .map(|pid| with(pid, 200))
            .chain([with(300, 2000)])
            .collect::<Vec<_>>()
    };
    let counts: Vec<_> = (0..4).map(|_| judge.go(1.0, rows()).len()).collect();
    // The one above both bounds fires for the second rule at once, and for the first with the last.
    assert_eq!(counts, [101, 100, 51, 0]);
    assert_eq!(judge.alerts.firing(), 252);
    assert_eq!(judge.alerts.log().len(), Alerts::REMEMBERED);
    assert_eq!(judge.go(1.0, Vec::new()).len(), 252);
    assert_eq!(
        (judge.alerts.firing(), judge.alerts.log().len()),
        (0, Alerts::REMEMBERED)
    );
}

#[test]
fn only_so_many_are_kept_in_mind() {
    let mut judge = Judge::new([rule("process", "pss>100M", 3600, 0)]);
    let rows: Vec<_> = (1..=12_000).map(|pid| with(pid, 200)).collect();
    judge.go(1.0, rows.clone());
    assert_eq!(judge.alerts.skipped(), 2000);
    // Those that are gone make room.
    judge.go(1.0, rows[..9000].to_vec());
    assert_eq!(judge.alerts.skipped(), 2000);
    judge.go(1.0, rows[2000..].to_vec());
    assert_eq!(judge.alerts.skipped(), 4000);
}

#[test]
fn a_storm_of_short_lived_processes_leaves_nothing_behind() {
    let mut judge = Judge::new([rule("process", "pss>100M", 0, 3600)]);
    for tick in 0..300 {
        judge.go(1.0, (0..50).map(|n| with(10 + tick * 50 + n, 200)).collect());
        assert!(judge.alerts.firing() <= 50);
    }
    judge.go(1.0, Vec::new());
    assert_eq!(judge.alerts.firing(), 0);
    assert_eq!(judge.alerts.skipped(), 0, "the dead take no room");
}

#[test]
fn a_long_name_is_cut() {
    let mut judge = Judge::new([rule("process", "pss>100M", 0, 0)]);
    let long = crate::support::rows::with_facts(with(7, 200), |f| f.cmdline = Ok(vec![b'x'; 100_000].into()));
    let fired = judge.go(1.0, vec![long]);
    assert_eq!(fired[0].evidence.word("command").unwrap().len(), 1024);
}
