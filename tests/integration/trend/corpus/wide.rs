//! Shapes of four hours by the half minute, and of one hour by five seconds, with parameters from wide distributions.
//! A figure is sometimes held for a while, as in a monitor that rarely reads expensive processes, or it is missing.

mod harmless;
mod leaking;

use super::quiet::{base, old};
use super::{Noise, Rng, Series, Shape, leak, quiet};

const HOUR: f64 = 3600.0;

/// Every wide shape. Every fourth is held out of the tuning.
pub(crate) const WIDE: [Shape; 34] = [
    leak("w-line", leaking::line),
    leak("w-late", leaking::late),
    leak("w-teeth", leaking::teeth),
    leak("w-stairs", leaking::stairs),
    leak("w-frees", leaking::frees),
    leak("w-cycle", leaking::cycle),
    leak("w-wander", leaking::wander),
    leak("w-after-fill", leaking::after_fill),
    leak("w-random-steps", leaking::random_steps),
    leak("w-quantised", leaking::quantised),
    leak("w-bursts", leaking::bursts),
    leak("w-pauses", leaking::pauses),
    leak("w-young", leaking::young),
    leak("w-slowing", leaking::slowing),
    leak("w-churn", leaking::churn_leak),
    leak("w-long-teeth", leaking::long_teeth),
    quiet("w-fill-linear", harmless::fill_linear),
    quiet("w-fill-exp", harmless::fill_exp),
    quiet("w-fill-slow-exp", harmless::fill_slow_exp),
    quiet("w-fill-log", harmless::fill_log),
    quiet("w-fill-sqrt", harmless::fill_sqrt),
    quiet("w-fill-twice", harmless::fill_twice),
    quiet("w-warm-up", harmless::warm_up),
    quiet("w-load-steps", harmless::load_steps),
    quiet("w-load-ramps", harmless::load_ramps),
    quiet("w-load-cycle", harmless::load_cycle),
    quiet("w-triangle", harmless::triangle),
    quiet("w-teeth-level", harmless::teeth_level),
    quiet("w-walk", harmless::walk),
    quiet("w-restarts", harmless::restarts),
    quiet("w-flicker", harmless::flicker),
    quiet("w-churn-level", harmless::churn_level),
    quiet("w-day-flank", harmless::day_flank),
    quiet("w-steady", harmless::steady),
];

/// Length and step: most by the half minute for four hours.
fn span(rng: &mut Rng) -> (u64, u64) {
    if rng.chance(0.75) { (4 * 3600, 30) } else { (3600, 5) }
}

/// A pace in shares of the base a second: 12 to 300 % an hour over four hours, at least 30 % where only one is seen.
fn pace(rng: &mut Rng, seconds: u64) -> f64 {
    let least = if seconds > 3600 { 0.12 } else { 0.3 };
    rng.scale(least, 3.0) / HOUR
}

fn age(rng: &mut Rng) -> u64 {
    if rng.chance(0.8) { old(rng) } else { 0 }
}

/// Noise, then what the monitor makes of it: readings held for up to a minute and a half, and gaps.
fn seen(mut series: Series, rng: &mut Rng, noise: &Noise) -> Series {
    series = series.noisy(rng, noise);
    if rng.chance(0.4) {
        let held = 1 + rng.below((90 / series.step as usize).max(2));
        for i in 0..series.values.len() {
            if i % held != 0 {
                series.values[i] = series.values[i - i % held];
            }
        }
    }
    if rng.chance(0.25) {
        let count = series.values.len();
        for _ in 0..=rng.below(4) {
            let from = rng.below(count);
            let len = (count as f64 * rng.scale(0.002, 0.05)) as usize;
            for value in series.values.iter_mut().skip(from).take(len) {
                *value = None;
            }
        }
    }
    series
}

fn make(
    rng: &mut Rng,
    noise: &Noise,
    age: u64,
    f: impl Fn(&mut Rng, u64, f64) -> Box<dyn FnMut(f64) -> f64>,
) -> Series {
    let (seconds, step) = span(rng);
    let base = base(rng);
    let value = f(rng, seconds, base);
    seen(Series::of(seconds, step, value).aged(age), rng, noise)
}

fn wandering(rng: &Rng, wide: f64, back: f64) -> impl FnMut(f64) -> f64 + use<> {
    let mut rng = rng.clone();
    let (mut at, mut last) = (rng.normal(), 0.0);
    move |t| {
        let keep = (-(t - last) / back).exp();
        last = t;
        at = at * keep + (1.0 - keep * keep).sqrt() * rng.normal();
        wide * at
    }
}

fn jobs(rng: &Rng, apart: f64, takes: f64, height: f64) -> impl FnMut(f64) -> f64 + use<> {
    let mut rng = rng.clone();
    let mut jobs: Vec<(f64, f64)> = Vec::new();
    let mut next = 0.0;
    move |t| {
        while next <= t {
            jobs.push((next + rng.waiting(takes), height * rng.range(0.2, 1.0)));
            next += rng.waiting(apart);
        }
        jobs.retain(|(end, _)| *end > t);
        jobs.iter().map(|(_, size)| size).sum()
    }
}
