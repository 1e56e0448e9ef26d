//! Alerts that fire again and again, with the shipped hold and cooldown.

use std::time::Duration;

use zmtop::alert::{Rule, Target, Transition};
use zmtop::config::AlertSettings;
use zmtop::group::RowKey;
use zmtop::model::Missing;
use zmtop::model::kill::OomKill;

use super::{Evaluator, outline, process_with, rule};
use crate::support::kills::killed;
use crate::support::long;
use crate::support::rows::snapshot;

/// Returns a rule with the shipped hold and cooldown.
fn shipped(on: &str) -> Rule {
    let settings = AlertSettings {
        name: "big".into(),
        on: on.into(),
        when: "pss>100M".into(),
        ..AlertSettings::default()
    };
    settings.rule().unwrap()
}

/// Evaluates a rule every second for so many minutes, above the bound where `above` says so; returns the events as
/// `minute word`.
fn run(rule: Rule, minutes: u64, above: impl Fn(u64) -> bool) -> Vec<String> {
    let mut evaluator = Evaluator::new([rule]);
    let mut told = Vec::new();
    for second in 0..minutes * 60 {
        let row = process_with(7, if above(second) { 200 } else { 50 });
        for event in evaluator.advance(1.0, vec![row]) {
            let word = match event.transition {
                Transition::Fired if event.flapping => "flapping",
                Transition::Fired => "fired",
                Transition::Resolved(reason) => reason.id(),
            };
            told.push(format!("{} {word}", second / 60));
        }
    }
    told
}

/// Returns true in the first half of each period, until a second.
fn swings(period: u64, until: u64, after: bool) -> impl Fn(u64) -> bool {
    move |second| {
        if second < until {
            second % period < period / 2
        } else {
            after
        }
    }
}

const HOUR: u64 = 3600;

#[test]
fn with_shipped_settings_it_is_said_once_and_then_its_last_state() {
    for on in ["process", "command"] {
        let first = ["0 fired", "0 cleared", "10 fired", "10 cleared", "20 flapping"];
        for (after, last) in [(false, "134 cleared"), (true, "135 fired")] {
            let told = run(shipped(on), 240, swings(60, 2 * HOUR, after));
            assert_eq!(told[..5], first, "{on}");
            assert_eq!(
                told[5..],
                [last],
                "{on}: the last state, once it was steady for a quarter of an hour"
            );
        }
    }
}

#[test]
fn no_regular_swing_is_reported_on_and_on() {
    let settings = [(0, 0), (10, 600), (0, 600), (10, 0)];
    let (settings, periods) = if long() {
        (&settings[..], &[2, 40, 840, 200][..])
    } else {
        (&settings[..2], &[40, 840][..])
    };
    for &(hold, cooldown) in settings {
        for &period in periods {
            let told = run(
                rule("process", "pss>100M", hold, cooldown),
                150,
                swings(period, 150 * 60, false),
            );
            assert!(
                told.len() <= 6,
                "hold {hold} cooldown {cooldown} period {period}: {told:?}"
            );
        }
    }
}

#[test]
fn two_incidents_are_not_flapping() {
    let told = run(shipped("process"), 200, |s| {
        (0..600).contains(&s) || (1200..1500).contains(&s) || (3000..9000).contains(&s)
    });
    assert_eq!(
        told,
        [
            "0 fired",
            "10 cleared",
            "20 fired",
            "25 cleared",
            "50 fired",
            "150 cleared"
        ]
    );
}

#[test]
fn once_steady_it_has_to_flap_anew() {
    let told = run(shipped("process"), 300, |s| {
        swings(60, HOUR, false)(s) || (6000..6300).contains(&s) || (9000..9300).contains(&s)
    });
    assert_eq!(told[4..6], ["20 flapping", "74 cleared"]);
    assert_eq!(told[6..], ["100 fired", "105 cleared", "150 fired", "155 cleared"]);
}

/// Makes the one process flap: fires, clears, and so on, until it is flapping.
fn flapping() -> Evaluator {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
    for mib in [200, 50, 200, 50, 200] {
        evaluator.advance(1.0, vec![process_with(7, mib)]);
    }
    assert!(evaluator.alerts.events()[0].flapping);
    evaluator
}

#[test]
fn while_it_flaps_it_is_firing_and_ends_with_its_target() {
    let mut evaluator = flapping();
    let target = Target::Row(RowKey::Process(process_with(7, 0).id));
    for mib in [50, 200, 50] {
        assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, mib)])), "");
        assert!(evaluator.alerts.rule_is_firing(0, &target));
        assert_eq!(evaluator.alerts.firing(), 1);
    }
    let gone = evaluator.advance(1.0, Vec::new());
    assert_eq!((outline(&gone).as_str(), gone[0].flapping), ("gone", false));
    assert_eq!(evaluator.alerts.firing(), 0);
}

#[test]
fn time_that_was_not_observed_does_not_calm() {
    let mut evaluator = flapping();
    assert_eq!(outline(&evaluator.advance(7200.0, vec![process_with(7, 50)])), "");
    assert_eq!(outline(&evaluator.advance(7200.0, vec![process_with(7, 50)])), "");
    assert_eq!(evaluator.alerts.firing(), 1);
    // A slow machine is steady after as many looks as a quarter of an hour has intervals, each counted twice.
    let mut calm = 0;
    while outline(&evaluator.advance(2.0, vec![process_with(7, 50)])).is_empty() {
        calm += 2;
        assert!(calm < 1800);
    }
    assert!((850..=900).contains(&calm), "{calm}");
}

#[test]
fn past_fires_of_many_take_no_room_from_what_fires() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
    // More than half of the room; each second a hundred of them fire.
    let count = if long() { 9000 } else { 6000 };
    let rows = |mib: u64, from: u32| {
        (from..from + count)
            .map(move |pid| process_with(pid, mib))
            .collect::<Vec<_>>()
    };
    for _ in 0..count / 100 {
        evaluator.advance(1.0, rows(200, 1));
    }
    assert_eq!(evaluator.alerts.firing(), count as usize);
    // All clear, and others fire: of the first at most half of the room is still taken.
    evaluator.advance(1.0, rows(50, 1));
    let both = [rows(50, 1), rows(200, 20_000)].concat();
    for _ in 0..50 {
        evaluator.advance(1.0, both.clone());
    }
    assert!(evaluator.alerts.firing() >= 5000, "{}", evaluator.alerts.firing());
}

/// The shipped rule about kills, with another condition.
fn of_kills(when: &str) -> AlertSettings {
    AlertSettings {
        name: "killed".into(),
        on: "system".into(),
        when: when.into(),
        ..AlertSettings::default()
    }
}

/// Evaluates the shipped rule about kills every second, and returns when it fires. The kills are in the seconds after 1000.
fn fires(kills: Vec<OomKill>) -> Vec<u64> {
    fires_of(&of_kills("recent_kills>0"), kills)
}

fn fires_of(settings: &AlertSettings, mut kills: Vec<OomKill>) -> Vec<u64> {
    kills.sort_by_key(|kill| kill.monotonic_ms.unwrap());
    let end = kills.last().unwrap().monotonic_ms.unwrap() / 1000 - 1000 + 50;
    let mut evaluator = Evaluator::new([settings.rule().unwrap()]);
    let (mut fired, mut is_firing) = (Vec::new(), false);
    for second in 1..end {
        let mut snap = snapshot(Duration::ZERO, vec![process_with(7, 50)]);
        let past = kills
            .iter()
            .filter(|kill| kill.monotonic_ms.unwrap() <= (1000 + second) * 1000);
        snap.oom_kills = past.cloned().collect();
        snap.system.oom_kill = Ok(snap.oom_kills.len() as u64);
        for event in evaluator.evaluate(1.0, snap) {
            let fires = event.transition == Transition::Fired;
            // It is resolved before it fires again.
            assert_ne!(fires, is_firing, "{second}");
            is_firing = fires;
            fired.extend(fires.then_some(second));
        }
    }
    fired
}

/// A kill in that second after 1000, of a process of a user, at the limit of a cgroup or of the machine.
fn kill_of(uid: u32, second: u64, limit: Option<&str>) -> OomKill {
    let mut kill = killed(1000 + second, second, 4000 + second as u32, "victim", 20, limit);
    if let Ok(victim) = &mut kill.victim {
        victim.uid = Some(uid);
    }
    kill
}

#[test]
fn the_kills_of_one_owner_do_not_silence_those_of_another() {
    // One user's process is killed every 45 s.
    let own = (0..60).map(|n| kill_of(5, 60 + 45 * n, Some("/own/t1")));
    let others = [
        kill_of(999, 700, Some("/shop")),
        // The same owner in another cgroup, and another one, with any uids.
        kill_of(5, 800, Some("/own/t2")),
        kill_of(100_001, 900, Some("/x/a")),
        kill_of(100_002, 1000, Some("/x/b")),
        kill_of(0, 1100, Some("/docker/aa/inner")),
        kill_of(0, 1200, Some("/docker/aa/more")),
        kill_of(0, 1300, Some("/docker/bb")),
        kill_of(5, 1400, None),
        // Within the cooldown, and after it.
        kill_of(999, 990, Some("/shop")),
        kill_of(999, 1450, Some("/shop")),
        // The machine has a third one in half an hour.
        kill_of(5, 2050, None),
        kill_of(5, 2700, None),
    ];
    let fired = fires(own.chain(others).collect());
    // The first is that of the first user, which fires once more after its cooldown, and no third time in half an hour. Each has the
    // hold of the rule, 10 s; if others are recent, the first step counts, too.
    let kills = [60, 690, 700, 900, 1100, 1300, 1400, 1450, 1860, 2050, 2490, 2700];
    let mut delays = fired.iter().zip(kills).map(|(at, kill)| at.checked_sub(kill));
    assert!(delays.all(|delay| matches!(delay, Some(9..=10))), "{fired:?}");
    assert_eq!(fired.len(), kills.len(), "{fired:?}");
}

#[test]
fn ever_new_owners_do_not_delay_the_first_fire() {
    // A container in a crash loop each.
    let kills = (0..20).map(|n| kill_of(0, 60 + 6 * n, Some(&format!("/docker/c{n}"))));
    // Those that come during a hold share its fire.
    let expected = [70, 81, 93, 105, 117, 129, 141, 153, 165, 177];
    assert_eq!(fires(kills.collect()), expected);
}

#[test]
fn a_fire_after_the_cooldown_of_the_rule_begins_that_of_the_owner() {
    // The second one is within the cooldown, and recent at its end.
    let kills = [60, 630, 685].map(|second| kill_of(999, second, Some("/shop")));
    assert_eq!(fires(kills.into()), [70, 670]);
}

#[test]
fn an_owner_whose_kills_never_end_fires_twice_in_half_an_hour() {
    // The cooldown is over at each.
    let kills = |count| (0..count).map(|n| kill_of(999, 60 + 615 * n, Some("/shop"))).collect();
    assert_eq!(fires(kills(6)), [70, 685, 1915, 2530]);
    // The condition is about more than its kills.
    let settings = of_kills("recent_kills>0 | oom_kills>2");
    assert_eq!(fires_of(&settings, kills(3)), [70, 685, 1300]);
}

#[test]
fn a_kill_that_the_log_does_not_have_fires_once() {
    let settings = AlertSettings {
        hold: Duration::ZERO,
        ..of_kills("recent_kills>0")
    };
    let mut kill = kill_of(0, 60, None);
    kill.victim = Err(Missing::Denied);
    // Its cgroup may be known after 3 s.
    assert_eq!(fires_of(&settings, vec![kill]), [63]);
}
