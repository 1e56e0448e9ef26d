//! When a rule fires and is resolved, for one process or the system.

use std::time::Duration;

use zmtop::alert::{Target, Transition};
use zmtop::group::RowKey;
use zmtop::model::system::Pressure;
use zmtop::model::{Missing, ProcessSample, Snapshot};

use super::{Evaluator, outline, process_with, rule};
use crate::support::rows::snapshot;

/// Each character is a second: above the bound, below it, or unknown (`?`). Returns a character a
/// second: `.` nothing, `F` fires, `f` fires and is flapping, `C` is resolved.
fn run(hold: u64, cooldown: u64, seconds: &str) -> String {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", hold, cooldown)]);
    let mut told = String::new();
    for c in seconds.chars() {
        let row = match c {
            '#' => process_with(7, 200),
            '_' => process_with(7, 50),
            _ => ProcessSample {
                walk: Err(Missing::Denied),
                ..process_with(7, 0)
            },
        };
        let events = evaluator.advance(1.0, vec![row]);
        assert!(events.len() < 2, "{events:?}");
        told.push(match events.first().map(|n| n.transition) {
            None => '.',
            Some(Transition::Fired) if events[0].flapping => 'f',
            Some(Transition::Fired) => 'F',
            Some(Transition::Resolved(_)) => 'C',
        });
        let firing = told.to_uppercase().matches('F').count() > told.chars().filter(|c| *c == 'C').count();
        assert_eq!(evaluator.alerts.firing(), usize::from(firing), "{told}");
        assert_eq!(
            evaluator
                .alerts
                .is_firing(&Target::Row(RowKey::Process(process_with(7, 0).id))),
            firing,
            "{told}"
        );
    }
    told
}

#[test]
fn a_rule_fires_once_it_has_held_and_clears_when_it_is_not_true() {
    for (hold, cooldown, seconds, expected) in [
        // At once, once, and over.
        (0, 0, "__###__", "..F..C."),
        // After the hold: three seconds lie between four looks.
        (3, 0, "_######_", "....F..C"),
        // A hold that is broken begins anew.
        (3, 0, "###_###_####", "...........F"),
        (3, 0, "_#_#_#_#_#_", "..........."),
        // With no hold and no cool-down it is flapping at once, and tells no further turn.
        (0, 0, "#_#_#_#_", "FCFCf..."),
        (0, 0, "#_#_", "FCFC"),
        // With a cool-down of five seconds from when it fired it is told again only after those.
        (0, 5, "#_#_#_#_", "FC....FC"),
        (0, 5, "#_#######_", "FC...F...C"),
        // Hold and cool-down together.
        (2, 6, "###_######", "..FC....F."),
        // Unknown neither breaks a hold nor advances it.
        (3, 0, "##??##_", "......."),
        (3, 0, "##??###_", "......FC"),
        (3, 0, "#?#?#?#?#?", ".........."),
        // Unknown at first is nothing, and does not clear what fires.
        (0, 0, "???", "..."),
        (0, 0, "#???#_", "F....C"),
        (0, 0, "#???_", "F...C"),
    ] {
        assert_eq!(
            run(hold, cooldown, seconds),
            expected,
            "hold {hold} cooldown {cooldown}: {seconds}"
        );
    }
}

#[test]
fn a_notice_says_for_whom_for_how_long_and_why() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M swap<1G", 3, 0)]);
    for _ in 0..3 {
        assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, 200)])), "");
    }
    let fired = evaluator.advance(1.5, vec![process_with(7, 200)]).remove(0);
    assert_eq!(fired.target, Target::Row(RowKey::Process(process_with(7, 0).id)));
    assert_eq!(
        (&*fired.name, fired.target_kind.id(), fired.lasted),
        ("rule", "process", Duration::from_millis(3500))
    );
    assert_eq!(*fired.target_name(), *b"/usr/bin/eater --much");
    let details = &fired.details;
    assert_eq!(details.figure("pss"), Some(200.0 * 1_048_576.0));
    assert_eq!(details.figure("footprint"), Some(200.0 * 1_048_576.0));
    assert_eq!(
        (details.condition_figures, details.figures[0].id, details.figures[1].id),
        (2, "pss", "swap")
    );
    assert_eq!(details.label("user"), Some(&b"root"[..]));
    assert_eq!(details.label("unit"), None);
    let over = evaluator.advance(2.0, vec![process_with(7, 5)]).remove(0);
    assert_eq!(
        (outline(std::slice::from_ref(&over)).as_str(), over.lasted),
        ("cleared", Duration::from_secs(2))
    );
    assert_eq!(over.details, fired.details);
    assert_eq!(over.summary(), "7 /usr/bin/eater --much: pss 5.0M, was 200M, swap 0");
    assert_eq!(evaluator.alerts.events().iter().collect::<Vec<_>>(), [&over, &fired]);
}

#[test]
fn a_gap_is_no_hold() {
    // zmtop was stopped for a minute between two looks: two seconds of it count.
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 30, 0)]);
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, 200)])), "");
    assert_eq!(outline(&evaluator.advance(60.0, vec![process_with(7, 200)])), "");
    for second in 1..28 {
        assert_eq!(
            outline(&evaluator.advance(1.0, vec![process_with(7, 200)])),
            "",
            "second {second}"
        );
    }
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, 200)])), "fired");
    // Nor does it clear anything.
    assert_eq!(outline(&evaluator.advance(600.0, vec![process_with(7, 200)])), "");
    assert_eq!(evaluator.alerts.firing(), 1);
}

#[test]
fn a_suspend_counts_in_how_long_it_fired() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 3, 0)]);
    let asleep = |evaluator: &mut Evaluator, mib: u64, asleep: f64| {
        let mut made = snapshot(Duration::ZERO, vec![process_with(7, mib)]);
        made.system.uptime = Ok(evaluator.at + 1.0 + 5000.0 + asleep);
        evaluator.evaluate(1.0, made)
    };
    for _ in 0..3 {
        assert_eq!(outline(&asleep(&mut evaluator, 200, 0.0)), "");
    }
    assert_eq!(outline(&asleep(&mut evaluator, 200, 0.0)), "fired");
    // Nothing was seen in that hour, so it does not count for the hold of a rule, but the alert was on.
    assert_eq!(outline(&asleep(&mut evaluator, 200, 3600.0)), "");
    let over = asleep(&mut evaluator, 5, 3600.0).remove(0);
    assert_eq!(
        (outline(std::slice::from_ref(&over)).as_str(), over.lasted.as_secs()),
        ("cleared", 3602)
    );
}

#[test]
fn a_slow_machine_still_comes_to_the_end_of_a_hold() {
    // Asked for every second, looked at every five: each step counts for two.
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 10, 0)]);
    let told: Vec<_> = (0..6)
        .map(|_| outline(&evaluator.advance(5.0, vec![process_with(7, 200)])))
        .collect();
    assert_eq!(told, ["", "", "", "", "", "fired"]);
}

#[test]
fn a_reused_pid_is_another_process() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 2, 600)]);
    let mut second = process_with(7, 300);
    second.id.starttime += 1;
    for _ in 0..2 {
        evaluator.advance(1.0, vec![process_with(7, 200)]);
    }
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, 200)])), "fired");
    // The first is gone, and the second has to hold for itself; the first's cool-down is not its own.
    let gone = evaluator.advance(1.0, vec![second.clone()]);
    assert_eq!(
        (outline(&gone).as_str(), &gone[0].target),
        ("gone", &Target::Row(RowKey::Process(process_with(7, 0).id)))
    );
    assert_eq!(outline(&evaluator.advance(1.0, vec![second.clone()])), "");
    let fired = evaluator.advance(1.0, vec![second.clone()]);
    assert_eq!(
        (outline(&fired).as_str(), &fired[0].target),
        ("fired", &Target::Row(RowKey::Process(second.id)))
    );
    assert!(
        !evaluator
            .alerts
            .is_firing(&Target::Row(RowKey::Process(process_with(7, 0).id)))
    );
}

#[test]
fn an_exec_neither_ends_nor_restarts_what_holds_before_and_after_it() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 3, 600)]);
    let with = |exec, mib| ProcessSample {
        exec,
        ..process_with(7, mib)
    };
    let pending = |exec| ProcessSample {
        walk: Err(Missing::Pending),
        ..with(exec, 0)
    };
    let steps = [
        (with(0, 200), ""),
        (with(0, 200), ""),
        // Another program, whose figures are known later.
        (pending(1), ""),
        (with(1, 200), ""),
        (with(1, 200), ""),
        (with(2, 200), "fired"),
        (with(3, 200), ""),
        (pending(4), ""),
        (with(4, 50), "exec"),
    ];
    for (at, (sample, expected)) in steps.into_iter().enumerate() {
        assert_eq!(outline(&evaluator.advance(1.0, vec![sample])), expected, "step {at}");
    }
}

#[test]
fn a_process_that_ends_clears_what_fires_for_it() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 600)]);
    assert_eq!(
        outline(&evaluator.advance(1.0, vec![process_with(7, 200), process_with(8, 1)])),
        "fired"
    );
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(8, 1)])), "gone");
    assert_eq!(evaluator.alerts.firing(), 0);
}

#[test]
fn where_proc_cannot_be_listed_nothing_is_known() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 2, 0)]);
    let unlisted = || Snapshot {
        processes: Err(Missing::Denied),
        ..snapshot(Duration::ZERO, Vec::new())
    };
    evaluator.advance(1.0, vec![process_with(7, 200)]);
    evaluator.advance(1.0, vec![process_with(7, 200)]);
    assert_eq!(outline(&evaluator.evaluate(1.0, unlisted())), "");
    assert_eq!(
        outline(&evaluator.advance(1.0, vec![process_with(7, 200)])),
        "",
        "the step after the unknown one does not count"
    );
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, 200)])), "fired");
    assert_eq!(outline(&evaluator.evaluate(1.0, unlisted())), "");
    assert_eq!(evaluator.alerts.firing(), 1);
}

#[test]
fn another_boot_or_an_earlier_time_begins_anew() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 600)]);
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(7, 200)])), "fired");
    let other = Snapshot {
        boot_id: Ok("other".into()),
        ..snapshot(Duration::ZERO, vec![process_with(7, 200)])
    };
    assert_eq!(outline(&evaluator.evaluate(1.0, other.clone())), "restart fired");
    assert_eq!(outline(&evaluator.evaluate(-500.0, other)), "restart fired");
    assert_eq!(evaluator.alerts.firing(), 1);
}

#[test]
fn the_system_has_rules_of_its_own() {
    let rules = [
        "mem_available<500M",
        "swap_in>10M/s",
        "psi_some>20%",
        "swap_used>1G",
        "mem_percent>90%",
    ];
    let mut evaluator = Evaluator::new(rules.map(|when| rule("system", when, 0, 0)));
    let evaluate = |evaluator: &mut Evaluator, available: u64, swapped: u64, psi: f32| {
        let mut snapshot = snapshot(Duration::ZERO, Vec::new());
        let system = &mut snapshot.system;
        (system.mem_total, system.mem_available) = (Ok(8 << 30), Ok(available << 20));
        (system.pswpin, system.swap_total) = (Ok(swapped << 20), Ok(4 << 30));
        system.swap_free = Ok(4 << 30);
        system.psi = Ok(Pressure {
            some: [psi],
            full: [0.0],
        });
        let told = evaluator.evaluate(1.0, snapshot);
        let words = told
            .iter()
            .map(|n| format!("{}{}", n.rule, outline(std::slice::from_ref(n))));
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(evaluate(&mut evaluator, 4000, 0, 0.0), "");
    assert_eq!(evaluate(&mut evaluator, 400, 5, 0.0), "0fired 4fired");
    assert_eq!(evaluate(&mut evaluator, 400, 50, 0.0), "1fired");
    assert_eq!(
        evaluate(&mut evaluator, 4000, 50, 25.0),
        "0cleared 1cleared 2fired 4cleared"
    );
    assert_eq!(evaluator.alerts.firing(), 1);
    let newest = evaluator.alerts.events().front().unwrap();
    assert_eq!(
        (newest.target_name(), newest.details.figures.len()),
        (b"system"[..].into(), 28)
    );
}
