//! When a limit is told to be reached soon, and when no longer.

use std::time::Duration;

use zmtop::account::countdown::{Countdown, Forecast};

const MIB: f64 = (1 << 20) as f64;
const WITHIN: Duration = Duration::from_secs(1800);
/// `DANGER_REACH`.
const REACH: f64 = 4.0;

/// Pushes what is left, a value a second; returns what was told at each.
fn told(seconds: u64, left: impl Fn(f64) -> f64) -> Vec<Option<Forecast>> {
    let mut countdown = Countdown::default();
    let each = (0..seconds).map(|second| {
        let left = left(second as f64).max(0.0) as u64;
        countdown.push(Duration::from_secs(1000 + second), left);
        countdown.forecast(WITHIN, left, REACH).filter(|found| !found.is_tooth)
    });
    each.collect()
}

/// Noise of some MiB that has no direction.
fn noise(second: f64, mib: f64) -> f64 {
    ((second * 12.9898).sin() * 43758.5453).fract() * mib * MIB
}

#[test]
fn a_limit_is_reported_once_it_is_near() {
    // MiB left at the start, MiB a second, the second at which it must have been told.
    for (left, pace, soonest, latest) in [
        (10_240.0, 8.0, 254, 320),
        (1024.0, 50.0, 2, 3),
        (4096.0, 32.0, 30, 36),
        (2048.0, 2.0, 220, 275),
        (7000.0, 4.0, 350, 520),
    ] {
        let told = told(600, |second| left * MIB - pace * MIB * second + noise(second, 2.0));
        let first = told.iter().position(Option::is_some).expect("it is told");
        assert!((soonest..=latest).contains(&first), "{left} at {pace}: after {first} s");
        let forecast = told[first].unwrap();
        let true_pace = pace * MIB;
        assert!((forecast.pace / true_pace - 1.0).abs() < 0.15, "{forecast:?}");
        let end = ((left / pace) as usize).min(told.len());
        assert!(
            told[first..end].iter().all(Option::is_some),
            "{left} at {pace}: it went away"
        );
        assert_eq!(told[end - 1].unwrap().since, forecast.since);
    }
}

#[test]
fn a_fast_fall_counts_within_seconds_also_within_a_slow_one() {
    let left = |second: f64| 200.0 * MIB - 0.25 * MIB * second - 5.0 * MIB * (second - 300.0).max(0.0);
    let told = told(320, left);
    let slow = told[299].expect("it is told").seconds();
    assert!((400.0..600.0).contains(&slow), "{slow}");
    for (second, forecast) in told.iter().enumerate().skip(304) {
        let found = forecast.expect("it is told").seconds();
        let expected = left(second as f64) / (5.25 * MIB);
        assert!(
            (found / expected - 1.0).abs() < 0.3,
            "{second}: {found} instead of {expected}"
        );
    }
}

/// The memory that is left after so many seconds, in bytes.
type Left = Box<dyn Fn(f64) -> f64>;

#[test]
fn what_is_far_away_or_falls_in_no_even_way_is_not_reported() {
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

/// A quantity that rests, falls by so many MiB a second for so long, and rests again.
fn ramp(left: f64, pace: f64, begin: f64, length: f64) -> impl Fn(f64) -> f64 {
    move |second| (left - pace * (second - begin).clamp(0.0, length)) * MIB + noise(second, 1.0)
}

#[test]
fn a_pace_is_not_known_for_longer_than_it_lasted() {
    // A test run, a compiler, a copy into a tmpfs: MiB left, MiB a second, seconds.
    for (left, pace, length) in [
        (8000.0, 3.0, 60.0),
        (5000.0, 3.0, 110.0),
        (20_000.0, 50.0, 60.0),
        (5000.0, 10.0, 90.0),
        (20_000.0, 15.0, 240.0),
    ] {
        let told = told(900, ramp(left, pace, 200.0, length));
        assert!(told.iter().all(Option::is_none), "{left} at {pace} for {length}");
    }
    // What lasts is told, and never further ahead than four times as long as it has lasted.
    for (left, pace) in [(2000.0, 2.0), (9000.0, 30.0), (4000.0, 40.0), (4000.0, 200.0)] {
        let told = told(900, ramp(left, pace, 200.0, f64::MAX));
        assert!(told.iter().any(Option::is_some), "{left} at {pace}");
        for (second, forecast) in told.iter().enumerate() {
            let seen = (second as f64 - 200.0).max(0.0);
            if let Some(forecast) = forecast {
                let reach = (4.0 * seen).max(60.0);
                assert!(forecast.seconds() <= reach, "{left} at {pace}, {seen} s: {forecast:?}");
            }
        }
    }
}

#[test]
fn less_than_a_minute_is_reported_within_three_seconds() {
    // MiB left, seconds until they are used up, the part of a second at which that begins.
    for left in [300.0, 4000.0, 60_000.0] {
        for time in [6.0, 20.0, 50.0, 58.0] {
            for phase in [0.0, 0.1, 0.3, 0.5, 0.7, 0.95] {
                let begin = 100.0 + phase;
                let told = told(110, ramp(left, left / time, begin, f64::MAX));
                let first = told.iter().position(Option::is_some).expect("it is told");
                assert!(
                    first as f64 <= begin + 3.0,
                    "{left} in {time} s from {begin}: told at {first}"
                );
                assert!(first as f64 > begin);
            }
        }
    }
}

#[test]
fn less_than_a_minute_is_reported_at_long_intervals_too() {
    for step in [4, 8, 10, 15, 20] {
        // 8 GiB that are used up in 86 s.
        let left = |second: u64| (8 << 30) - 100_000_000 * second.saturating_sub(100);
        let mut countdown = Countdown::default();
        let told = (0..186).step_by(step).find(|second| {
            countdown.push(Duration::from_secs(*second), left(*second));
            countdown.forecast(WITHIN, left(*second), REACH).is_some()
        });
        let soon = 126 + 2 * step as u64;
        assert!(told.is_some_and(|second| second <= soon), "{step}: {told:?}");
    }
}

#[test]
fn a_kill_ends_it_at_once() {
    // It held 300 MiB, and as much is free again.
    for grows_on in [0.0, 4.0] {
        let told = told(160, |second| {
            let used = 20.0 * (second - 100.0).clamp(0.0, 15.0);
            let freed = if second > 115.0 {
                300.0 - grows_on * (second - 115.0)
            } else {
                0.0
            };
            (400.0 - used + freed) * MIB
        });
        assert!(told[104..=115].iter().all(Option::is_some));
        assert!(told[116..119].iter().all(Option::is_none), "{grows_on}");
    }
}

#[test]
fn memory_that_is_free_for_a_second_now_and_then_does_not_end_it() {
    for free in [60.0, 200.0] {
        let left = |second: f64| (6000.0 - 10.0 * second + if second % 20.0 >= 19.0 { free } else { 0.0 }) * MIB;
        let told = told(560, left);
        let number = told[150..].iter().flatten().count();
        assert!(number >= 350, "{free}: {number} of 410");
    }
}

#[test]
fn a_fall_that_slows_down_stays_a_danger_while_a_minute_is_left() {
    // Programs fill the memory fast, and then as fast as it can be swapped out.
    let slows = |second: f64| {
        let fast = (second - 100.0).clamp(0.0, 17.0);
        (400.0 - 20.0 * fast - 2.0 * (second - 117.0).clamp(0.0, 25.0)) * MIB
    };
    let told = told(160, slows);
    let gaps: Vec<_> = (103..140).filter(|at| told[*at].is_none()).collect();
    assert_eq!(gaps, [0_usize; 0]);
    assert!(told[152..].iter().all(Option::is_none));
}

#[test]
fn a_limit_of_a_cgroup_is_reported_within_15_seconds() {
    // More than a minute is left.
    let told_at = |reach: f64| {
        let mut countdown = Countdown::default();
        (0..30_u64).position(|second| {
            let left = (100 - second) << 20;
            countdown.push(Duration::from_secs(second), left);
            countdown.forecast(WITHIN, left, reach).is_some()
        })
    };
    assert!(told_at(7.0).is_some_and(|second| second <= 15), "{:?}", told_at(7.0));
    assert!(told_at(REACH).is_none_or(|second| second > 15), "{:?}", told_at(REACH));
}

#[test]
fn a_fall_to_where_it_was_before_is_marked() {
    let mut countdown = Countdown::default();
    let mut found = Vec::new();
    for second in 0..110_u64 {
        // It fell to 200 of 400 MiB before, and was not used up.
        let left = match second {
            0..40 => 400 - 5 * second,
            40..100 => 400,
            _ => 400 - 20 * (second - 100),
        };
        countdown.push(Duration::from_secs(second), left << 20);
        found.push(
            countdown
                .forecast(WITHIN, left << 20, REACH)
                .map(|found| found.is_tooth),
        );
    }
    assert_eq!((found[30], found[103]), (Some(false), Some(true)));
}

#[test]
fn a_part_that_never_runs_out_is_not_counted_as_left() {
    // 900 MiB of the values belong to limits that are nearer.
    let mut countdown = Countdown::default();
    let mut told = None;
    for second in 0..60 {
        let left = 300 - 5 * second;
        countdown.push(Duration::from_secs(second), (900 + left) << 20);
        told = countdown.forecast(WITHIN, left << 20, REACH);
    }
    let told = told.expect("it is told");
    assert_eq!(told.left, 5 << 20);
    assert!((told.seconds() - 1.0).abs() < 0.2, "{told:?}");
}

#[test]
fn a_step_is_not_urgent() {
    for (name, left) in [
        (
            "a step",
            Box::new(|s: f64| if s < 50.0 { 4e9 } else { 1e9 }) as Box<dyn Fn(f64) -> f64>,
        ),
        (
            "a step that took a second",
            Box::new(|s: f64| 4e9 - 2e9 * ((s - 50.05) / 0.9).clamp(0.0, 1.0)),
        ),
        ("steps", Box::new(|s: f64| 8e9 - 1e9 * ((s / 20.0).floor()).min(5.0))),
    ] {
        let told = told(130, left);
        assert_eq!(told.iter().position(Option::is_some), None, "{name}");
    }
}

#[test]
fn what_was_used_up_before_is_reported_again() {
    // A process fills the memory within 30 s, is killed, and begins anew.
    let told = told(150, |second| 3000.0 * MIB * (1.0 - (second % 40.0).min(29.0) / 30.0));
    for begin in [0, 40, 80, 120] {
        assert!(told[begin + 3..begin + 29].iter().all(Option::is_some), "{begin}");
        let after = begin + 40;
        assert!(told.get(after).is_none_or(Option::is_none), "{after}: it was killed");
    }
}

#[test]
fn it_is_over_at_once_when_the_growth_stops() {
    // MiB left, MiB a second, the seconds it lasts, and the seconds after which it is over.
    for (left, pace, length, over) in [
        (4000.0, 10.0, 250.0, 9),
        (4000.0, 40.0, 40.0, 3),
        (3000.0, 100.0, 10.0, 3),
    ] {
        let told = told(700, ramp(left, pace, 100.0, length));
        let last = told.iter().rposition(Option::is_some).expect("it is told");
        let end = 100 + length as usize;
        assert!((end..=end + over).contains(&last), "{left} at {pace}: {last}");
        let first = told.iter().position(Option::is_some).unwrap();
        assert!(told[first..=last].iter().all(Option::is_some));
        // Its process ended.
        let mut told = self::told(700, |second| {
            let left = ramp(left, pace, 100.0, f64::MAX)(second.min(end as f64));
            left + if second > end as f64 { 300.0 * MIB } else { 0.0 }
        });
        assert!(told[end].is_some());
        assert!(told.split_off(end + 1).iter().all(Option::is_none));
    }
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
        assert_eq!(countdown.forecast(WITHIN, 1 << 29, REACH), None);
    }
}

#[test]
fn builds_and_test_runs_are_no_danger() {
    let text = include_str!("../../fixtures/trend/builds.csv");
    let available: Vec<f64> = text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    // Of each third: the last one was no part of the choice of any constant.
    for (part, values) in available.chunks(available.len().div_ceil(3)).enumerate() {
        let lowest = values.iter().copied().fold(f64::MAX, f64::min);
        let highest = values.iter().copied().fold(0.0, f64::max);
        // On a machine that has so many times as much left as they take.
        let told_for = |times: f64| {
            let spare = (highest - lowest) * times - lowest;
            let told = told(values.len() as u64, |second| (values[second as usize] + spare) * MIB);
            told.iter().flatten().count()
        };
        assert_eq!(told_for(4.0), 0, "part {part}");
        // Where it is scarce a pace may be told, but for a twentieth of the time at most.
        let scarce = told_for(2.0);
        assert!(scarce * 20 <= values.len(), "part {part}: {scarce} s");
    }
}
