//! Programs that ran once, judged again: always the same, and in no time.
//!
//! `trend/programs.csv` has footprints of programs that are misjudged, or nearly, from runs at forty times their pace;
//! the last is from one in real time. `recordings` has snapshots of twenty minutes in real time, of the programs `leak` and
//! `steady`, from their start, as `zmtop ps --format ndjson` wrote them.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use zmtop::group::{GroupBy, GroupKey, command_name};
use zmtop::model::Identity;
use zmtop::source::Source;

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
        let [from_start, later] = [true, false].map(|from_start| verdicts.of(role.name, View::new(false, from_start)));
        out += &line(role, from_start, later);
        wrong.extend(misjudged(role, from_start).map(|what| format!("{name} {what}, from the beginning")));
        wrong.extend(misjudged(role, later).map(|what| format!("{name} {what}, once loaded")));
    }
    // Past the test harness, which shows nothing of a test that passes.
    let _ = std::io::stdout().write_all(out.as_bytes());
    assert!(wrong.is_empty(), "{wrong:#?}\n{out}");
}

#[test]
fn verdicts_on_recordings() {
    let [leak, steady] = ["leak", "steady"].map(|name| CAST.iter().find(|role| role.name == name).unwrap());
    for (file, role) in [("leaking-service", leak), ("steady-service", steady)] {
        let path = format!("tests/fixtures/recordings/{file}.ndjson.zst");
        let mut verdicts = Verdicts::new();
        let mut count = 0;
        for snapshot in Source::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap() {
            let snapshot = snapshot.unwrap();
            let [row] = snapshot.rows() else {
                panic!("{file}: {} processes", snapshot.rows().len());
            };
            let group = GroupKey {
                by: GroupBy::Command,
                name: Some(command_name(&row.facts, || None).into()),
            };
            let program = Judged {
                name: role.name,
                id: row.id,
                group: &group,
                kept: None,
            };
            verdicts.push(&snapshot, &[program]);
            count += 1;
        }
        assert_eq!(count, 1200, "{file}");
        for (together, from_start) in [(false, true), (false, false), (true, true), (true, false)] {
            let said = verdicts.of(role.name, View::new(together, from_start));
            assert_eq!(misjudged(role, said), None, "{file}: {said:?}");
        }
    }
}

/// Returns the verdicts on the single process of that program.
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
        kept: None,
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
