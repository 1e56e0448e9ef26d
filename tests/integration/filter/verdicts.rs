//! Verdicts as a filter asks for them.

use std::time::Duration;

use zmtop::columns::{COLUMNS, Row};
use zmtop::filter::Filter;
use zmtop::history::History;
use zmtop::model::ProcessSample;

use crate::support::rows::{MIB, process, snapshot, walk};

#[test]
fn verdicts_are_asked_for_by_name_and_by_order() {
    let mut sample = process(1234, 1, "python3 train.py");
    let mut history = History::new(Duration::from_secs(10));
    let at = |second: u64, sample: &ProcessSample| {
        let mut snap = snapshot(Duration::from_secs(second), vec![sample.clone()]);
        snap.system.uptime = Ok(100_000.0 + second as f64);
        snap
    };
    let passes = |sample: &ProcessSample, history: &History, text: &str| {
        let snap = at(0, sample);
        let row = Row::of_process(sample, history.get(sample.id), &snap);
        Filter::parse(text, &COLUMNS).unwrap().matches(&row)
    };
    let all = [
        "verdict:leaking",
        "verdict<leaking",
        "!verdict:steady",
        "verdict>=shrinking",
    ];
    history.push(&at(0, &sample));
    assert!(
        !all.iter().any(|text| passes(&sample, &history, text)),
        "nothing is known"
    );
    for second in 1..=1800_u64 {
        sample.walk = Ok(walk((400 + second.saturating_sub(300)) * MIB, 0));
        history.push(&at(second, &sample));
    }
    for text in [
        "verdict:leaking",
        "verdict=leaking",
        "verdict = Leaking",
        "verdict:leak",
        "verdict>=Grow",
        "verdict>=growing",
        "verdict>steady trend>1M/min",
        "!verdict:steady",
        "slope>50M/min confidence>90%",
        "verdict!=growing",
    ] {
        assert!(passes(&sample, &history, text), "{text}");
    }
    for text in ["verdict:le", "verdict:leakings", "verdict:"] {
        assert!(Filter::parse(text, &COLUMNS).is_err(), "{text}");
    }
    for text in ["verdict:growing", "verdict<leaking", "!verdict:leaking", "trend<0"] {
        assert!(!passes(&sample, &history, text), "{text}");
    }
}
