//! What was said of some of the programs once, said again: always the same, and in no time.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use zmtop::model::{GroupBy, GroupKey, Identity};

use super::cast::{CAST, Role, YOUNG_HEAP};
use super::report::{HEAD, line, misjudged};
use super::verdicts::{Judged, Verdicts, View};
use crate::support::rows::{process, snapshot, walk};

/// When the programs started, on the clock, in seconds.
const EPOCH: f64 = 1e6;

#[test]
fn verdicts_on_recorded_programs() {
    let text = include_str!("../../fixtures/trend/programs.csv");
    let mut out = format!("verdicts on recorded programs, {HEAD}\n");
    let mut wrong = Vec::new();
    // One line for each: its name, the second of its life that it begins with, how many there are to a
    // step, and its KiB at each.
    for row in text.lines().skip(1) {
        let (name, values) = row.split_once(',').unwrap();
        let role = CAST.iter().chain([&YOUNG_HEAP]).find(|role| role.name == name).unwrap();
        let verdicts = judged(role, values);
        let [birth, later] = [true, false].map(|birth| verdicts.of(role.name, View::new(false, birth)));
        out += &line(role, birth, later);
        wrong.extend(misjudged(role, true, birth).map(|what| format!("{name} {what}, from the beginning")));
        wrong.extend(misjudged(role, false, later).map(|what| format!("{name} {what}, once loaded")));
    }
    // Past the test harness, which shows nothing of a test that passes.
    let _ = std::io::stdout().write_all(out.as_bytes());
    assert!(wrong.is_empty(), "{wrong:#?}\n{out}");
}

/// What is said of the one process of that program.
fn judged(role: &Role, values: &str) -> Verdicts {
    let mut parts = values.splitn(3, ',');
    let mut next = || parts.next().unwrap();
    let mut age: f64 = next().parse().unwrap();
    let step: u32 = next().parse().unwrap();
    let id = Identity { pid: 7, starttime: 0 };
    let group = GroupKey {
        by: GroupBy::Command,
        name: Some(Arc::from(role.name.as_bytes())),
    };
    let program = Judged {
        name: role.name,
        id,
        group: &group,
    };
    let mut verdicts = Verdicts::new();
    for value in next().split(',') {
        if let Ok(kib) = value.parse::<u64>() {
            let mut sample = process(7, 1, role.name);
            sample.id = id;
            sample.walk = Ok(walk(kib * 1024, 0));
            let mut snapshot = snapshot(Duration::from_secs_f64(EPOCH + age), vec![sample]);
            snapshot.interval = Duration::from_secs(step.into());
            snapshot.system.uptime = Ok(age);
            verdicts.push(&snapshot, &[program]);
        }
        age += f64::from(step);
    }
    verdicts
}
