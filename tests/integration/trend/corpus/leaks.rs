//! Shapes that leak.

use std::f64::consts::TAU;

use super::quiet::{Teeth, base, day_load, old};
use super::{Noise, Rng, Series};

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// A steady leak of 2 to 10 % of the footprint a minute, after at most ten quiet minutes.
pub(super) fn fast(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let rate = base * rng.scale(0.02, 0.10) / MINUTE;
    let quiet = rng.range(0.0, 600.0);
    let age = if rng.chance(0.7) { old(rng) } else { 0 };
    let series = Series::of(quiet as u64 + 2400, 1, |t| rate.mul_add((t - quiet).max(0.0), base));
    series.aged(age).leaking_after(quiet).noisy(rng, noise)
}

/// Half a percent to five percent of the footprint an hour, for three days.
pub(super) fn slow(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let rate = base * rng.scale(0.005, 0.05) / HOUR;
    let series = Series::of(3 * DAY as u64, 60, |t| rate.mul_add(t, base));
    series.aged(old(rng)).noisy(rng, noise)
}

/// A jump of 1 to 5 % every one to five minutes.
pub(super) fn staircase(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let jump = base * rng.scale(0.01, 0.05);
    let every = rng.scale(60.0, 300.0);
    let (mut level, mut next) = (base, every * rng.unit());
    let series = Series::of(2 * HOUR as u64, 5, |t| {
        while t >= next {
            level += jump * rng.range(0.7, 1.3);
            next += every * rng.range(0.7, 1.3);
        }
        level
    });
    series.aged(old(rng)).noisy(rng, noise)
}

/// A collected heap whose floor rises by 0.3 to 3 % a minute.
pub(super) fn teeth(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let rate = base * rng.scale(0.003, 0.03) / MINUTE;
    let mut teeth = Teeth::new(rng, 10.0, 120.0);
    let series = Series::of(HOUR as u64, 2, |t| rate.mul_add(t, base) + base * teeth.at(t, rng));
    series.aged(old(rng)).noisy(rng, noise)
}

/// Steady for one to twelve hours, then 0.2 to 3 % a minute.
pub(super) fn late(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let rate = base * rng.scale(0.002, 0.03) / MINUTE;
    let quiet = rng.range(1.0, 12.0) * HOUR;
    let series = Series::of((quiet + 1.5 * HOUR) as u64, 10, |t| {
        rate.mul_add((t - quiet).max(0.0), base)
    });
    series.aged(old(rng)).leaking_after(quiet).noisy(rng, noise)
}

/// The load of the day, and 5 to 20 % a day that stays, for six days.
pub(super) fn day(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let rate = base * rng.scale(0.05, 0.20) / DAY;
    let load = day_load(rng);
    let series = Series::of(6 * DAY as u64, 120, |t| rate.mul_add(t, base * (1.0 + load(t))));
    series.aged(old(rng)).noisy(rng, noise)
}

/// Bursts of requests, some minutes apart, each of which leaves something behind: 0.3 to 2 % a minute in all.
/// (One slower than the load of a day is not to be called within two hours.)
pub(super) fn bursts(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let rate = base * rng.scale(0.003, 0.02) / MINUTE;
    let apart = rng.scale(60.0, 240.0);
    let takes = rng.range(10.0, 60.0);
    let left = rate * (apart + takes);
    let (mut level, mut begin) = (base, rng.waiting(apart));
    let mut share = rng.range(0.3, 1.7);
    let series = Series::of(2 * HOUR as u64, 5, |t| {
        while t > begin + takes {
            level += left * share;
            begin += takes + rng.waiting(apart);
            share = rng.range(0.3, 1.7);
        }
        let done = ((t - begin) / takes).clamp(0.0, 1.0);
        // While it lasts it uses more than it leaves.
        let used = (done * TAU / 2.0).sin() * 3.0;
        (left * share).mul_add(done + used, level)
    });
    series.aged(old(rng)).noisy(rng, noise)
}

/// Ever faster: by 30 to 150 % in an hour, as the square of time.
pub(super) fn accelerating(rng: &mut Rng, noise: &Noise) -> Series {
    let base = base(rng);
    let gain = base * rng.scale(0.3, 1.5);
    let series = Series::of(HOUR as u64, 2, |t| gain.mul_add((t / HOUR).powi(2), base));
    series.aged(old(rng)).noisy(rng, noise)
}
