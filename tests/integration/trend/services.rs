//! Verdicts on real services, recorded under load.

use std::io::Write as _;

use super::corpus::Series;
use super::measure::{expand, false_calls, unpack, usual, watch};

/// Programs whose leak their own memory does not show: workers that are forked anew, of which only the family grows, and a
/// heap that reached its maximum.
const NOT_TOLD: [&str; 2] = ["prefork", "JVM"];

/// Those of them that do not even grow by themselves.
const NOT_GROWING: [&str; 1] = ["prefork"];

/// Programs that start as they grow, by leaps: a leak in them is called when it stands out from that.
const LATE: [&str; 1] = ["node"];

/// Returns the last value that stood within a megabyte of the lowest until then: growth begins there.
fn onset(values: &[Option<f64>]) -> usize {
    let (mut low, mut last) = (f64::MAX, 0);
    for (i, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        low = low.min(*value);
        if *value <= low + f64::from(1 << 20) {
            last = i;
        }
    }
    last
}

#[test]
fn services_that_leak_are_distinguished_from_those_that_fill() {
    let text = unpack(include_bytes!("../../fixtures/trend/services.csv.zst"));
    let (mut found, mut harmless) = (0, Vec::new());
    let mut out = std::io::stdout();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, label, pace, age, values, asked] = cells[..] else {
            panic!("{line}");
        };
        let leaks = label == "leak";
        let values = expand(values, 1024.0);
        let series = Series {
            step: 5,
            onset: if leaks { onset(&values) } else { 0 },
            values,
            age: age.parse().unwrap(),
            asked: expand(asked, 1024.0),
        };
        let outcome = watch(&series, leaks, usual);
        let is = |names: &[&str]| names.iter().any(|what| name.starts_with(what));
        if leaks {
            let _ = writeln!(out, "{name} at {pace} MB/min: {outcome:?}");
            found += usize::from(outcome.leak.is_some());
            let within = |seconds: Option<f64>, most: f64| seconds.is_some_and(|seconds| seconds <= most);
            assert!(is(&NOT_GROWING) || within(outcome.growth, 120.0), "{name}: {outcome:?}");
            let most = if is(&LATE) { 2100.0 } else { 1200.0 };
            assert!(is(&NOT_TOLD) || within(outcome.leak, most), "{name}: {outcome:?}");
        } else {
            assert_eq!(outcome.wrong, 0, "{name}: {outcome:?}");
            harmless.push(outcome.clone());
        }
        assert_eq!(outcome.drops, 0, "{name}: {outcome:?}");
    }
    let _ = write!(out, "{}", false_calls("real services", &harmless));
    assert!(found >= 7, "{found}");
}
