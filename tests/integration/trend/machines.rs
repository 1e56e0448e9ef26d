//! Verdicts on real machines over six days, as they are and with leaks planted.
//!
//! `ZMTOP_TEST_MACHINES=FILE` judges other machines than those of the fixture, in the same format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use zmtop::history::time_series::TimeSeries;
use zmtop::trend::{Judgement, Params, Verdict, judge};

use super::corpus::{Rng, Series};
use super::measure::{Outcome, each, expand, false_calls, unpack, watch};
use crate::support::long;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// Bytes of a percent.
const PERCENT: f64 = 0.3e9;

/// Seconds between two looks.
const EVERY: f64 = 600.0;

/// The growth of a planted leak, as a share of the first value, by its share an hour and the hours passed.
type Plant = fn(f64, f64) -> f64;

const PLANTS: [(&str, Plant); 3] = [
    ("line", |rate, hours| rate * hours),
    ("steps", |rate, hours| rate * (hours / 6.0).floor() * 6.0),
    ("teeth", |rate, hours| {
        0.08f64.mul_add((hours / 3.0).fract(), rate * hours)
    }),
];

/// Returns all machines in the long form, else every second one.
fn machines() -> Vec<Vec<Option<f64>>> {
    let text = match std::env::var_os("ZMTOP_TEST_MACHINES") {
        Some(path) => unpack(&std::fs::read(path).unwrap()),
        None => unpack(include_bytes!("../../fixtures/trend/machines.csv.zst")),
    };
    let values = |line: &str| expand(line.split_once(',').unwrap().1, 1.0);
    let step = if long() { 1 } else { 2 };
    text.lines().step_by(step).map(values).collect()
}

/// A percent is a coarse step: what lies below is drawn.
fn series(number: usize, values: &[Option<f64>], planted: impl Fn(f64) -> f64) -> Series {
    let mut rng = Rng::new(700 + number, 1);
    let first = values.iter().flatten().next().copied().unwrap();
    let mut series = Series::of(values.len() as u64 * 60, 60, |_| 0.0).aged(20 * 86_400);
    for (i, value) in values.iter().enumerate() {
        let planted = first * planted(i as f64 / 60.0);
        series.values[i] = value.map(|value| (value + rng.range(-0.5, 0.5) + planted) * PERCENT);
    }
    series
}

#[test]
fn leaks_planted_in_real_machines_are_called_and_others_are_not() {
    let machines = machines();
    let plain = each(machines.len(), |m| {
        watch(&series(m, &machines[m], |_| 0.0), false, |_| EVERY)
    });
    let count = |of: fn(&Outcome) -> usize| plain.iter().map(of).sum::<usize>();
    let (looks, wrong) = (count(|one| one.looks), count(|one| one.wrong));

    let rates: &[f64] = if long() { &[0.005, 0.01, 0.02, 0.04] } else { &[0.01] };
    let cases: Vec<_> = PLANTS
        .iter()
        .flat_map(|plant| rates.iter().map(move |rate| (plant, *rate)))
        .collect();
    let planted = each(machines.len() * cases.len(), |number| {
        let (m, ((_, plant), rate)) = (number % machines.len(), cases[number / machines.len()]);
        watch(&series(m, &machines[m], |hours| plant(rate, hours)), true, |_| EVERY)
    });
    let within = |days: f64| {
        let called = planted
            .iter()
            .filter(|one| one.leak.is_some_and(|after| after <= days * DAY));
        called.count() as f64 / planted.len() as f64
    };
    let (two, five) = (within(2.0), within(5.0));
    let _ = writeln!(
        std::io::stdout(),
        "real machines: {wrong} of {looks} looks wrong; of leaks called within two days {two:.3}, five {five:.3}\n{}",
        false_calls("real machines", &plain)
    );
    assert!(wrong * 200 <= looks, "{wrong} of {looks}");
    assert!(two >= 0.75 && five >= 0.97, "{two} {five}");
}

/// Days of leaking after which it is said how many are called.
const AFTER: [f64; 8] = [1.0, 1.25, 1.5, 2.0, 2.25, 2.5, 3.0, 4.0];

/// A machine by whole percents, dithered by a quarter of one, that leaks so many bytes a second from the second day on.
fn leaking_from_the_second_day(number: usize, values: &[Option<f64>], pace: f64) -> Series {
    let mut rng = Rng::new(800 + number, 1);
    let mut series = Series::of(values.len() as u64 * 60, 60, |_| 0.0).aged(20 * 86_400);
    for (i, value) in values.iter().enumerate() {
        let (leaked, dither) = (pace * (i as f64 * 60.0 - DAY).max(0.0), rng.range(-0.25, 0.25));
        series.values[i] = value.map(|value| ((value + leaked / PERCENT).floor() + dither) * PERCENT);
    }
    series
}

/// Returns what was said after each of those days.
fn verdicts(series: &Series) -> [Option<Verdict>; AFTER.len()] {
    let mut seen = TimeSeries::default();
    let (mut points, mut last, mut found) = (Vec::new(), Judgement::default(), [None; AFTER.len()]);
    for i in 0..series.values.len() {
        series.push_to(i, &mut seen);
        if i % (EVERY as usize / 60) != 0 {
            continue;
        }
        seen.collect_points(&mut points);
        last = judge(&points, &[], Some(series.started_at()), &Params::default(), &last);
        for (days, found) in AFTER.iter().zip(&mut found) {
            if (i * 60) as f64 - DAY >= days * DAY {
                *found = found.or(Some(last.verdict));
            }
        }
    }
    found
}

#[test]
fn leaks_that_begin_a_day_after_zmtop_are_called() {
    let machines = machines();
    let paces = [50e3, 100e3, 200e3, 400e3];
    let found = each(machines.len() * paces.len(), |number| {
        let (m, pace) = (number % machines.len(), paces[number / machines.len()]);
        verdicts(&leaking_from_the_second_day(m, &machines[m], pace))
    });
    let mut table =
        String::from("leaks of 50 to 400 kB/s from the second day on; after days of leaking, share called\n");
    let mut said = [[0.0; 2]; AFTER.len()];
    for (i, days) in AFTER.iter().enumerate() {
        let mut words = BTreeMap::new();
        for verdict in found.iter().filter_map(|found| found[i]) {
            *words.entry(verdict.id()).or_insert(0) += 1;
        }
        let share = |word| f64::from(words.get(word).copied().unwrap_or(0)) / f64::from(words.values().sum::<i32>());
        said[i] = [share("leaking"), share("warming")];
        let _ = writeln!(table, "{days:>5} {:.2} {words:?}", said[i][0]);
    }
    let _ = std::io::stdout().write_all(table.as_bytes());
    let [.., four] = said;
    let two = said[3];
    assert!(two[0] >= 0.9 && four[0] >= 0.97, "{table}");
    // Growth that outlasted a day is no warm-up, but where the noise hides it.
    assert!(two[1] <= 0.05 && four[1] == 0.0, "{table}");
}
