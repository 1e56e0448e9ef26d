//! Verdicts on real machines over six days, as they are and with leaks planted.

use std::io::Write as _;

use super::corpus::{Rng, Series};
use super::measure::{Outcome, each, expand, false_calls, unpack, watch};
use crate::support::long;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// Bytes of a percent.
const PERCENT: f64 = 0.3e9;

/// Seconds between two looks.
const EVERY: f64 = 600.0;

/// How a planted leak grows, as a share of what was there, by its share an hour and the hours passed.
type Plant = fn(f64, f64) -> f64;

const PLANTS: [(&str, Plant); 3] = [
    ("line", |rate, hours| rate * hours),
    ("steps", |rate, hours| rate * (hours / 6.0).floor() * 6.0),
    ("teeth", |rate, hours| {
        0.08f64.mul_add((hours / 3.0).fract(), rate * hours)
    }),
];

fn machines() -> Vec<Vec<Option<f64>>> {
    let text = unpack(include_bytes!("../../fixtures/trend/machines.csv.zst"));
    let values = |line: &str| expand(line.split_once(',').unwrap().1, 1.0);
    text.lines().map(values).collect()
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
