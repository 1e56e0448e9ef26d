//! Verdicts on real services, recorded under load.

use std::io::Write as _;

use super::corpus::Series;
use super::measure::{expand, unpack, usual, watch};

/// Programs that leak, and what cannot be told of them by their own memory: workers that are forked anew, of which only the
/// family grows, and a heap that reached its maximum.
const NOT_TOLD: [&str; 2] = ["prefork", "JVM"];

#[test]
fn services_that_leak_are_told_from_those_that_fill() {
    let text = unpack(include_bytes!("../../fixtures/trend/services.csv.zst"));
    let mut found = 0;
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, label, pace, age, values] = cells[..] else {
            panic!("{line}");
        };
        let leaks = label == "leak";
        let series = Series {
            step: 5,
            values: expand(values, 1024.0),
            age: age.parse().unwrap(),
            onset: 0,
        };
        let outcome = watch(&series, leaks, usual);
        if leaks {
            let _ = writeln!(std::io::stdout(), "{name} at {pace} MB/min: {outcome:?}");
            found += usize::from(outcome.leak.is_some());
            let is_told = !NOT_TOLD.iter().any(|what| name.starts_with(what));
            assert!(outcome.leak.is_some() || !is_told, "{name}: {outcome:?}");
        } else {
            assert_eq!(outcome.wrong, 0, "{name}: {outcome:?}");
        }
        assert_eq!(outcome.drops, 0, "{name}: {outcome:?}");
    }
    assert!(found >= 7, "{found}");
}
