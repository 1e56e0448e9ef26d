//! Growth beside steps: a step hides no even growth, and no levelling off.

use zmtop::trend::{Judgement, Verdict};

use super::corpus::{Noise, Rng, Series};
use super::{Watch, moments};

const MB: f64 = 1e6;

/// The second in which the step begins.
const STEP: f64 = 120.0;

/// The age of a process that runs for a day, or just started.
const AGES: [u64; 2] = [86_400, 0];

/// Returns an hour of a process of 50 MB, with a step of so many megabytes that takes so many seconds, and from its end so many
/// more by the seconds since.
fn after_step(age: u64, (step, takes): (f64, f64), more: impl Fn(f64) -> f64) -> Series {
    let grown = |since: f64| step * (since / takes).min(1.0) + more((since - takes).max(0.0));
    Series::of(3600, 1, |t| MB * (50.0 + grown((t - STEP).max(0.0)))).aged(age)
}

/// Returns the judgements from a second on.
fn judged(series: &Series, from: f64) -> Vec<(f64, Judgement)> {
    let mut watch = Watch::new(series);
    let all = moments(series).map(|until| ((until as u64 * series.step) as f64, watch.judge(until)));
    all.filter(|(at, _)| *at >= from).collect()
}

/// Asserts that a series grows from a second on; returns the last judgement.
fn assert_grows(series: &Series, from: f64, what: &str) -> Judgement {
    let judged = judged(series, from);
    for (at, it) in &judged {
        assert!(it.verdict >= Verdict::Growing, "{what}: after {at} s: {it:?}");
    }
    judged.last().unwrap().1
}

#[test]
fn even_growth_after_a_step_grows_from_the_first_minute_until_it_is_called() {
    let noise = Noise::recorded();
    for age in AGES {
        for (step, takes) in [(30.0, 1.0), (100.0, 1.0), (100.0, 10.0), (500.0, 20.0), (2000.0, 1.0)] {
            for per_minute in [3.0, 12.0, 23.0] {
                let series = after_step(age, (step, takes), |t| per_minute / 60.0 * t);
                // Slower growth may take longer to stand out from the noise, or from the curvature of the first floors.
                let is_clear = per_minute > step / 100.0;
                let is_above_noise = per_minute > (step / 50.0).max(5.0);
                let noisy = series.clone().noisy(&mut Rng::new(900, 1), &noise);
                for series in [Some(series), is_above_noise.then_some(noisy)].into_iter().flatten() {
                    let what = format!("{step} MB in {takes} s, {per_minute} MB/min, age {age}");
                    let judged = judged(&series, STEP + takes + 70.0);
                    let called = judged.iter().find(|(_, it)| it.verdict == Verdict::Leaking);
                    let (called, pace) = called.map_or((f64::MAX, 0.0), |(at, it)| (*at, it.slope * 60.0 / MB));
                    assert!(!is_clear || called - STEP < 20.0 * 60.0, "{what}: called at {called}");
                    assert!(
                        !is_clear || (pace / per_minute - 1.0).abs() < 0.25,
                        "{what}: {pace} MB/min"
                    );
                    for (at, it) in judged.iter().filter(|(at, _)| is_clear && *at < called) {
                        assert_eq!(it.verdict, Verdict::Growing, "{what}: after {at} s: {it:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn growth_with_stairs_in_it_never_seems_to_end_or_to_level_off() {
    for (every, step, per_minute) in [
        (60.0, 40.0, 12.0),
        (120.0, 40.0, 12.0),
        (300.0, 40.0, 12.0),
        (120.0, 10.0, 12.0),
        (600.0, 200.0, 10.0),
    ] {
        let stairs = |t: f64| (t / every).floor() * step + per_minute / 60.0 * t;
        let series = Series::of(3600, 1, |t| MB * (50.0 + stairs(t))).aged(86_400);
        assert_grows(&series, 120.0, &format!("{step} MB each {every} s"));
    }
}

#[test]
fn what_levels_off_after_a_step_is_warming() {
    let fills = [
        (
            "exponential in 2 minutes",
            180.0,
            (|t| 1.0 - (-t / 120.0).exp()) as fn(f64) -> f64,
        ),
        ("exponential in 10 minutes", 310.0, |t| 1.0 - (-t / 600.0).exp()),
        ("exponential in 20 minutes", 600.0, |t| 1.0 - (-t / 1200.0).exp()),
        ("logarithm", 120.0, |t| (t / 10.0).ln_1p() / 5.0),
    ];
    for (what, from, fill) in fills {
        for step in [0.0, 100.0, 500.0] {
            let series = after_step(86_400, (step, 1.0), |t| 200.0 * fill(t));
            for (at, it) in judged(&series, STEP + from) {
                let levels_off = matches!(it.verdict, Verdict::Warming | Verdict::Steady);
                assert!(levels_off, "{what} after {step} MB: after {at} s: {it:?}");
            }
        }
    }
    // A step alone is no growth.
    for step in [30.0, 2000.0] {
        for (at, it) in judged(&after_step(86_400, (step, 1.0), |_| 0.0), 70.0) {
            assert_eq!(it.verdict, Verdict::Steady, "{step} MB: after {at} s: {it:?}");
        }
    }
}

#[test]
fn growth_with_pauses_is_no_warm_up() {
    // 20 MB a minute: seconds of growth, seconds of rest, the second from which it grows.
    for (on, off, from) in [
        (45.0, 15.0, 230.0),
        (60.0, 30.0, 390.0),
        (60.0, 60.0, 480.0),
        (120.0, 60.0, 80.0),
        // Stairs.
        (0.1, 44.9, 190.0),
        (0.1, 74.9, 650.0),
    ] {
        let pace = 20.0 / 60.0 * (on + off) / on;
        let grown = |t: f64| {
            let (rounds, rest) = ((t / (on + off)).floor(), t % (on + off));
            pace * f64::mul_add(rounds, on, rest.min(on))
        };
        let series = Series::of(1500, 1, |t| MB * (50.0 + grown(t))).aged(86_400);
        assert_grows(&series, from, &format!("{on} s of {} s", on + off));
    }
}

#[test]
fn even_growth_after_a_slow_start_is_growing() {
    let noise = Noise::recorded();
    let even = |t: f64| t / 3.0;
    // 20 MB a minute after a start; the seconds since its beginning after which it grows.
    let starts = [
        (after_step(86_400, (40.0, 15.0), even), 220.0),
        (after_step(86_400, (100.0, 45.0), even), 250.0),
        (after_step(86_400, (100.0, 60.0), even), 60.0),
        (after_step(86_400, (100.0, 120.0), even), 60.0),
        (
            after_step(86_400, (1.0, 1.0), |t| even(t) + 25.0 * (t / 15.0).floor().min(4.0)),
            270.0,
        ),
        (
            after_step(86_400, (1.0, 1.0), |t| even(t) + 40.0 * (t / 10.0).floor().min(3.0)),
            120.0,
        ),
        (
            after_step(86_400, (1.0, 1.0), |t| even(t) + 150.0 * (1.0 - (-t / 20.0).exp())),
            420.0,
        ),
    ];
    for (number, (series, from)) in starts.into_iter().enumerate() {
        let noisy = series.clone().noisy(&mut Rng::new(900, 1), &noise);
        for series in [series, noisy] {
            let last = assert_grows(&series, STEP + from, &format!("start {number}"));
            assert_eq!(last.verdict, Verdict::Leaking, "start {number}");
        }
    }
}
