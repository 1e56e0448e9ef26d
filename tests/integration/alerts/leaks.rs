//! Alerts on verdicts.

use std::sync::Arc;
use std::time::Duration;

use zmtop::alert::Figure;
use zmtop::model::{Held, HeldKind, HeldObject, ProcessSample};

use super::{Evaluator, outline, process_with, rule};
use crate::support::rows::{MIB, snapshot, walk};

/// A process that grows by a third of a MiB a second from the fifth minute on, and stops after half an hour; so does what it
/// holds through a descriptor.
fn leaking(second: u64) -> ProcessSample {
    let grown = second.clamp(300, 1800) - 300;
    ProcessSample {
        walk: Ok(walk(200 * MIB + grown * MIB / 3, 0)),
        held: Some(Arc::new(Ok(Held::new(vec![HeldObject {
            kind: HeldKind::Memfd,
            name: (*b"/memfd:a").into(),
            bytes: Ok(50 * MIB + grown * MIB / 3),
            vram: 0,
            holders: 1,
            fds: 1,
        }])))),
        ..process_with(7, 200)
    }
}

fn watch(when: &str, on: &str) -> Vec<(u64, String, Vec<String>)> {
    let mut evaluator = Evaluator::new([rule(on, when, 30, 0)]);
    let mut told = Vec::new();
    for second in 0..3600 {
        let mut snap = snapshot(Duration::ZERO, vec![leaking(second), process_with(8, 90)]);
        snap.system.uptime = Ok(100_000.0 + second as f64);
        (snap.system.mem_available, snap.system.swap_free) = (Ok(20_000 * MIB), Ok(0));
        let events = evaluator.evaluate(1.0, snap);
        if !events.is_empty() {
            let figures = events[0].details.figures.iter().map(Figure::to_string).collect();
            told.push((second, outline(&events), figures));
        }
    }
    told
}

#[test]
fn a_leak_fires_once_and_clears_when_it_stops() {
    for (when, on) in [
        ("verdict = leaking", "process"),
        ("verdict:leaking slope>1M/min", "command"),
        ("held_verdict:leaking", "process"),
        ("held_verdict:leaking", "user"),
    ] {
        let told = watch(when, on);
        let what: Vec<_> = told.iter().map(|(_, what, _)| what.as_str()).collect();
        assert_eq!(what, ["fired", "cleared"], "{when}: {told:?}");
        let (fired, _, figures) = &told[0];
        assert!((1200..1560).contains(fired), "{when}: {told:?}");
        assert!(figures[0].ends_with("verdict leaking"), "{when}: {figures:?}");
    }
}

#[test]
fn a_time_that_no_longer_comes_ends_the_alert() {
    let told = watch("eta<1d", "process");
    let what: Vec<_> = told.iter().map(|(_, what, _)| what.as_str()).collect();
    assert_eq!(what, ["fired", "cleared"], "{told:?}");
    assert!(told[1].0 < 1980, "within three minutes of going flat: {told:?}");
}

#[test]
fn a_danger_fires_and_is_over_with_the_fall() {
    let mut evaluator = Evaluator::new([rule("system", "full_in<20m", 0, 0)]);
    let mut told = Vec::new();
    for second in 0..400_u64 {
        let mut snap = snapshot(Duration::ZERO, vec![process_with(8, 90)]);
        let taken = second.clamp(100, 250) - 100;
        snap.system.mem_available = Ok((1000 - taken * 2) * MIB);
        for event in evaluator.evaluate(1.0, snap) {
            told.push((
                second,
                outline(std::slice::from_ref(&event)),
                event.details.figure("full_in"),
            ));
        }
    }
    let [(fired, _, Some(seconds)), (over, _, _)] = told[..] else {
        panic!("{told:?}");
    };
    assert!((110..250).contains(&fired) && (250..310).contains(&over), "{told:?}");
    // A gigabyte at two megabytes a second, less what is taken already.
    assert!((300.0..600.0).contains(&seconds), "{told:?}");
}
