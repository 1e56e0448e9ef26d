//! What was said of some of the programs once, said again: always the same, and in no time.

use std::io::Write as _;
use std::time::Duration;

use super::cast::CAST;
use super::report::{HEAD, line, misjudged};
use super::verdicts::{LOADED, Said, Track};

/// When the programs started, on the clock.
const EPOCH: f64 = 1e6;

#[test]
fn verdicts_on_recorded_programs() {
    let text = include_str!("../../fixtures/trend/programs.csv");
    let mut out = format!("verdicts on recorded programs, {HEAD}\n");
    let mut wrong = Vec::new();
    // One line for each: its name, the second of its life that it begins with, and its KiB every two seconds.
    for row in text.lines().skip(1) {
        let (name, values) = row.split_once(',').unwrap();
        let role = CAST.iter().find(|role| role.name == name).unwrap();
        let [birth, later] = [true, false].map(|birth| said(values, birth));
        out += &line(role, &birth, &later);
        wrong.extend(misjudged(role, true, &birth).map(|what| format!("{name} {what}, from the beginning")));
        wrong.extend(misjudged(role, false, &later).map(|what| format!("{name} {what}, once loaded")));
    }
    // Past the test harness, which shows nothing of a test that passes.
    let _ = std::io::stdout().write_all(out.as_bytes());
    assert!(wrong.is_empty(), "{wrong:#?}\n{out}");
}

fn said(values: &str, birth: bool) -> Said {
    let (begin, values) = values.split_once(',').unwrap();
    let mut age: f64 = begin.parse().unwrap();
    let mut track = Track::default();
    for value in values.split(',') {
        if birth || age >= LOADED {
            let footprint = value.parse().ok().map(|kib: u64| kib * 1024);
            track.push(Duration::from_secs_f64(EPOCH + age), age, footprint);
        }
        age += 2.0;
    }
    track.said
}
