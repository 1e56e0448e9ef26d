//! When a limit is told to be reached soon, and when no longer.

use std::time::Duration;

use zmtop::account::countdown::{Countdown, Forecast};

const MIB: f64 = (1 << 20) as f64;
const WITHIN: Duration = Duration::from_secs(1800);

/// Pushes what is left, a value a second; returns what was told at each.
fn told(seconds: u64, left: impl Fn(f64) -> f64) -> Vec<Option<Forecast>> {
    let mut countdown = Countdown::default();
    let each = (0..seconds).map(|second| {
        countdown.push(Duration::from_secs(1000 + second), left(second as f64).max(0.0) as u64);
        countdown.forecast(WITHIN)
    });
    each.collect()
}

/// Noise of some MiB that has no direction.
fn noise(second: f64, mib: f64) -> f64 {
    ((second * 12.9898).sin() * 43758.5453).fract() * mib * MIB
}

#[test]
fn a_limit_is_told_once_it_is_near() {
    // MiB left at the start, MiB a second, the second at which it must have been told.
    for (left, pace, soonest, latest) in [
        (10_240.0, 8.0, 100, 135),
        (1024.0, 50.0, 12, 17),
        (4096.0, 32.0, 12, 36),
        (2048.0, 2.0, 120, 140),
    ] {
        let told = told(300, |second| left * MIB - pace * MIB * second + noise(second, 2.0));
        let first = told.iter().position(Option::is_some).expect("it is told");
        assert!((soonest..=latest).contains(&first), "{left} at {pace}: after {first} s");
        let forecast = told[first].unwrap();
        let true_pace = pace * MIB;
        assert!((forecast.pace / true_pace - 1.0).abs() < 0.1, "{forecast:?}");
        let end = ((left / pace) as usize).min(told.len());
        assert!(
            told[first..end].iter().all(Option::is_some),
            "{left} at {pace}: it went away"
        );
        assert_eq!(told[end - 1].unwrap().since, forecast.since);
    }
}

/// What is left after so many seconds.
type Left = Box<dyn Fn(f64) -> f64>;

#[test]
fn what_is_far_away_or_falls_in_no_even_way_is_not_told() {
    let gib = 1024.0 * MIB;
    let cases: [(&str, Left); 7] = [
        // A compiler that takes two gigabytes, holds them for a while, and ends.
        (
            "a build",
            Box::new(move |s| {
                let taken = (s % 90.0).min(40.0) * 50.0 * MIB;
                16.0 * gib - if s % 90.0 < 70.0 { taken } else { 0.0 }
            }),
        ),
        ("two hours away", Box::new(move |s| 10.0 * gib - 1.4 * MIB * s)),
        ("still", Box::new(move |s| gib + noise(s, 20.0))),
        (
            "one great step",
            Box::new(move |s| if s < 150.0 { 4.0 * gib } else { gib }),
        ),
        ("a rise", Box::new(move |s| gib + 10.0 * MIB * s)),
        // A collector that lets a heap fill for 20 s and empties it.
        ("teeth", Box::new(move |s| 2.0 * gib - 40.0 * MIB * (s % 20.0))),
        (
            "a few steps",
            Box::new(move |s| 3.0 * gib - 500.0 * MIB * (s / 100.0).floor()),
        ),
    ];
    for (name, left) in cases {
        let mut told = told(400, left);
        if name == "teeth" {
            // The first one cannot be known to be one.
            told.drain(..30);
        }
        assert!(
            told.iter().all(Option::is_none),
            "{name} at {:?}",
            told.iter().position(Option::is_some)
        );
    }
}

#[test]
fn it_is_over_within_a_minute_of_its_end_and_does_not_come_and_go() {
    let gib = 1024.0 * MIB;
    let told = told(500, |second| {
        10.0 * gib - 10.0 * MIB * second.min(250.0) + noise(second, 2.0)
    });
    let first = told.iter().position(Option::is_some).unwrap();
    let last = told.iter().rposition(Option::is_some).unwrap();
    assert!((250..=310).contains(&last), "{last}");
    assert!(told[first..=last].iter().all(Option::is_some));
}

#[test]
fn a_gap_in_the_values_is_no_pace() {
    let mut countdown = Countdown::default();
    for second in (0..60).chain(300..310) {
        countdown.push(Duration::from_secs(second), 1 << 30);
    }
    // Half of it went while nobody looked.
    for second in 310..316 {
        countdown.push(Duration::from_secs(second), 1 << 29);
        assert_eq!(countdown.forecast(WITHIN), None);
    }
}
