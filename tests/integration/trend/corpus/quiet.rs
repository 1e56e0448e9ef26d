//! Shapes that do not leak.

use std::f64::consts::TAU;

use super::{Noise, Rng, Series};

const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// Returns the size of a process at rest: 20 MB to 2 GB.
pub(super) fn base(rng: &mut Rng) -> f64 {
    rng.scale(20e6, 2e9)
}

/// Returns the age of a process when it is first seen: an hour to a month.
pub(super) fn old(rng: &mut Rng) -> u64 {
    rng.scale(3600.0, 30.0 * DAY) as u64
}

/// Half of the series by the second for 40 minutes, the other half by the half minute for two days.
fn span(rng: &mut Rng) -> (u64, u64) {
    if rng.chance(0.5) {
        (2400, 1)
    } else {
        (2 * DAY as u64, 30)
    }
}

/// The teeth of a collector: each climbs and falls back to the floor.
#[derive(Debug)]
pub(super) struct Teeth {
    every: f64,
    height: f64,
    begin: f64,
    end: f64,
    peak: f64,
}

impl Teeth {
    /// Teeth of 5 to 60 % of the floor, each some time between the two long.
    pub(super) fn new(rng: &mut Rng, shortest: f64, longest: f64) -> Self {
        let every = rng.scale(shortest, longest);
        let height = rng.scale(0.05, 0.6);
        let begin = -every * rng.unit();
        Self {
            every,
            height,
            begin,
            end: begin + every,
            peak: height,
        }
    }

    /// Height above the floor, as a share of it.
    pub(super) fn at(&mut self, t: f64, rng: &mut Rng) -> f64 {
        while t >= self.end {
            self.begin = self.end;
            self.end += self.every * rng.range(0.8, 1.2);
            self.peak = self.height * rng.range(0.85, 1.15);
        }
        self.peak * (t - self.begin) / (self.end - self.begin)
    }
}

/// The load of the day as a share of the base: low at night, high by day, a little different every day.
pub(super) fn day_load(rng: &mut Rng) -> impl Fn(f64) -> f64 + use<> {
    let height = rng.range(0.1, 0.5);
    let shift = rng.unit();
    let days: Vec<f64> = (0..8).map(|_| rng.range(0.93, 1.07)).collect();
    move |t| {
        let day = t / DAY + shift;
        let wave = (1.0 - (day * TAU).cos()) / 2.0;
        height * wave.powf(1.3) * days[day as usize]
    }
}

/// Nothing but noise.
pub(super) fn steady(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let (seconds, step) = span(rng);
    let series = Series::of(seconds, step, |_| base);
    series.aged(old(rng)).noisy(rng, noise)
}

/// A collected heap with a level floor.
pub(super) fn teeth(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let (seconds, step) = span(rng);
    let mut teeth = Teeth::new(rng, 5.0, 180.0);
    let series = Series::of(seconds, step, |t| base * (1.0 + teeth.at(t, rng)));
    series.aged(old(rng)).noisy(rng, noise)
}

/// A program that starts: one or two stretches that level off, within seconds or minutes.
pub(super) fn warmup(rng: &mut Rng, noise: &Noise) -> Series {
    let start = rng.scale(5e6, 500e6);
    let gain = start * rng.scale(0.3, 5.0);
    let first = rng.scale(5.0, 120.0);
    let second = rng.scale(20.0, 120.0);
    let share = if rng.chance(0.5) { 1.0 } else { rng.range(0.5, 0.9) };
    let series = Series::of(2400, 1, |t| {
        let up = |tau: f64| 1.0 - (-t / tau).exp();
        gain.mul_add(share * up(first) + (1.0 - share) * up(second), start)
    });
    series.aged(0).noisy(rng, noise)
}

/// A step up, over as much as half a minute, and then level.
pub(super) fn step(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let gain = base * rng.scale(0.05, 1.0);
    let at = rng.range(0.0, 1800.0);
    let takes = rng.scale(1.0, 30.0);
    let series = Series::of(2400, 1, |t| gain.mul_add(((t - at) / takes).clamp(0.0, 1.0), base));
    series.aged(old(rng)).noisy(rng, noise)
}

/// Two to four steps up at any time, and down again.
pub(super) fn steps(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let count = 2 + rng.below(3);
    let peak = rng.range(0.4, 0.7);
    let mut edges: Vec<(f64, f64)> = (0..count)
        .map(|_| (rng.range(0.0, peak), base * rng.scale(0.05, 0.5)))
        .collect();
    let mut above: f64 = edges.iter().map(|(_, gain)| gain).sum();
    while above > 0.0 {
        let down = (base * rng.scale(0.1, 0.8)).min(above);
        edges.push((rng.range(peak, 1.0), -down));
        above -= down;
        if above < base * 0.02 {
            break;
        }
    }
    let seconds = 5400.0;
    let series = Series::of(seconds as u64, 2, |t| {
        let done = edges.iter().filter(|(at, _)| at * seconds <= t);
        base + done.map(|(_, gain)| gain).sum::<f64>()
    });
    series.aged(old(rng)).noisy(rng, noise)
}

/// A cache that fills and levels off: as the square root of time until it is full, as its logarithm, or as
/// what is left to fill.
pub(super) fn cache(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let gain = base * rng.scale(0.3, 3.0);
    let kind = rng.below(3);
    let full = rng.range(0.5, 1.5) * HOUR;
    let soon = rng.scale(10.0, 300.0);
    let tau = rng.scale(60.0, 300.0);
    let quiet = if rng.chance(0.5) { 0.0 } else { rng.range(300.0, 1200.0) };
    let series = Series::of(3 * HOUR as u64, 5, |t| {
        let t = (t - quiet).max(0.0);
        let filled = match kind {
            0 => (t / full).sqrt().min(1.0),
            1 => (t / soon).ln_1p() / (3.0 * HOUR / soon).ln_1p(),
            _ => 1.0 - (-t / tau).exp(),
        };
        gain.mul_add(filled, base)
    });
    let age = if quiet > 0.0 { old(rng) } else { 0 };
    series.aged(age).noisy(rng, noise)
}

/// The load of the day, for five days.
pub(super) fn day(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let load = day_load(rng);
    let series = Series::of(5 * DAY as u64, 120, |t| base * (1.0 + load(t)));
    series.aged(old(rng)).noisy(rng, noise)
}

/// A walk at random that is drawn back to its middle within minutes, or hours.
pub(super) fn walk(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let wide = rng.scale(0.01, 0.08);
    let (seconds, step) = if rng.chance(0.5) {
        (7200, 5)
    } else {
        (2 * DAY as u64, 60)
    };
    let back = rng.scale(60.0, if step == 5 { 1800.0 } else { 3.0 * HOUR });
    let keep = (-(step as f64) / back).exp();
    let mut at = rng.normal();
    let series = Series::of(seconds, step, |_| {
        at = at.mul_add(keep, (1.0 - keep * keep).sqrt() * rng.normal());
        base * (1.0 + wide * at)
    });
    series.aged(old(rng)).noisy(rng, noise)
}

/// A worker that takes a lot for a moment, and gives it back.
pub(super) fn churn(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let (seconds, step) = span(rng);
    let apart = rng.scale(10.0, 200.0);
    let takes = rng.scale(3.0, 60.0);
    let height = rng.scale(0.1, 3.0);
    let mut jobs: Vec<(f64, f64)> = Vec::new();
    let mut next = 0.0;
    let series = Series::of(seconds, step, |t| {
        while next <= t {
            jobs.push((next + rng.waiting(takes), height * rng.range(0.2, 1.0)));
            next += rng.waiting(apart);
        }
        jobs.retain(|(end, _)| *end > t);
        base * (1.0 + jobs.iter().map(|(_, size)| size).sum::<f64>())
    });
    series.aged(old(rng)).noisy(rng, noise)
}

/// A group whose process is started anew, and warms up each time.
pub(super) fn restarts(rng: &mut Rng, noise: &Noise) -> Series {
    let full = base(rng);
    let start = full * rng.range(0.1, 0.6);
    let every = rng.scale(300.0, 2400.0);
    let tau = rng.scale(5.0, 60.0);
    let mut begin = -every * rng.unit();
    let mut end = begin + every;
    let series = Series::of(3 * HOUR as u64, 5, |t| {
        if t >= end {
            begin = t;
            end = t + every * rng.range(0.5, 1.5);
        }
        (start - full).mul_add((-(t - begin) / tau).exp(), full)
    });
    series.aged(old(rng)).noisy(rng, noise)
}

/// A steady process on a machine that sleeps, or one that cannot always be read.
pub(super) fn gaps(rng: &mut Rng, noise: &Noise) -> Series {
    let mut level = base(rng);
    let (seconds, step) = span(rng);
    let apart = seconds as f64 * rng.range(0.05, 0.3);
    let mut next = rng.waiting(apart);
    let mut until = 0.0;
    let mut series = Series::of(seconds, step, |t| {
        if t >= next {
            until = t + apart * rng.range(0.02, 0.8);
            next = until + rng.waiting(apart);
            level *= rng.range(0.97, 1.04);
        }
        if t < until { f64::NAN } else { level }
    });
    for value in &mut series.values {
        *value = value.filter(|v| !v.is_nan());
    }
    series.aged(old(rng)).noisy(rng, noise)
}
