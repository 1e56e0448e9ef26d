//! The turns at which facts are looked at again.

use std::time::Duration;

use zmtop::sampler::policy::rotation::{FOCUS_PERIOD, PERIOD, Rotation, list_period};

/// Looks at `seeds` processes in ticks that are `step` apart, give or take, for so many ticks. Returns the longest time
/// between two looks at one, and the most and the fewest looks in a tick.
fn run(seeds: u64, step: Duration, period: Duration, ticks: u32) -> (Duration, usize, usize) {
    let mut rotation = Rotation::default();
    let begin = Duration::from_secs(12_345);
    let mut last = vec![begin; seeds as usize];
    let (mut longest, mut most, mut fewest) = (Duration::ZERO, 0, usize::MAX);
    for tick in 0..ticks {
        // No tick comes at its moment.
        let late = step / 20 * ((tick * 7) % 5);
        let now = begin + step * tick + late;
        rotation.advance(now);
        let mut looks = 0;
        for (seed, last) in last.iter_mut().enumerate() {
            if rotation.is_due(seed as u64 + 1000, period) {
                looks += 1;
                longest = longest.max(now.saturating_sub(*last));
                *last = now;
            }
        }
        if tick > 0 {
            (most, fewest) = (most.max(looks), fewest.min(looks));
        }
    }
    let end = begin + step * ticks;
    longest = last
        .iter()
        .map(|at| end.saturating_sub(*at))
        .fold(longest, Duration::max);
    (longest, most, fewest)
}

#[test]
fn everybody_is_looked_at_within_the_bound() {
    let ms = Duration::from_millis;
    // The interval, the period, and the bound: within it a change is seen.
    let cases = [
        (ms(1000), PERIOD, ms(10_000)),
        (ms(1000), FOCUS_PERIOD, ms(3000)),
        (ms(100), PERIOD, ms(9000)),
        (ms(100), FOCUS_PERIOD, ms(2000)),
        (ms(500), FOCUS_PERIOD, ms(2500)),
        (ms(2000), FOCUS_PERIOD, ms(4500)),
        // What is seldom looked at is looked at whole.
        (ms(10_000), PERIOD, ms(12_000)),
        (ms(60_000), FOCUS_PERIOD, ms(75_000)),
    ];
    for (step, period, bound) in cases {
        let (longest, ..) = run(500, step, period, 200);
        assert!(longest <= bound, "{step:?}, {period:?}: {longest:?}");
    }
}

#[test]
fn the_looks_are_spread() {
    let (_, most, fewest) = run(8000, Duration::from_secs(1), PERIOD, 100);
    // A thousand each, were ticks in time.
    assert!(most < 1500 && fewest > 500, "{fewest} to {most}");
    // At the first tick everything is read anyway.
    let mut rotation = Rotation::default();
    rotation.advance(Duration::from_secs(77));
    assert!((0..1000).all(|seed| !rotation.is_due(seed, FOCUS_PERIOD)));
}

#[test]
fn the_young_are_looked_at_a_second_and_three_later() {
    let born = Duration::from_millis(5030);
    let mut rotation = Rotation::default();
    let looks = (4..12).filter(|second| {
        rotation.advance(Duration::from_secs(*second));
        rotation.is_young(born)
    });
    assert_eq!(looks.collect::<Vec<_>>(), [6, 8]);
    // In one long tick once.
    let mut rotation = Rotation::default();
    for (second, expected) in [(5, false), (65, true), (125, false)] {
        rotation.advance(Duration::from_secs(second));
        assert_eq!(rotation.is_young(born), expected, "{second}");
    }
}

#[test]
fn long_lists_of_cgroups_are_read_less_often() {
    let cases = [
        (0, 8),
        (2496, 8),
        (2497, 16),
        (4992, 16),
        (4993, 32),
        (9984, 32),
        (9985, 64),
        (1_000_000, 64),
    ];
    for (processes, seconds) in cases {
        assert_eq!(list_period(processes), Duration::from_secs(seconds), "{processes}");
        assert!(
            list_period(processes).as_secs().is_multiple_of(PERIOD.as_secs()),
            "{processes}"
        );
    }
}
