//! Shapes that do not leak.

use std::f64::consts::TAU;

use super::super::quiet::{Teeth, old};
use super::{Noise, Rng, Series, age, jobs, make, wandering};

/// At an even pace for five seconds to twelve minutes, from any time on, and then level.
pub(super) fn fill_linear(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let (gain, takes) = (rng.scale(0.1, 5.0), rng.scale(5.0, 720.0));
        let at = if rng.chance(0.4) {
            0.0
        } else {
            rng.range(0.0, s as f64 * 0.7)
        };
        Box::new(move |t| base * (1.0 + gain * ((t - at) / takes).clamp(0.0, 1.0)))
    })
}

fn fill(rng: &mut Rng, noise: &Noise, curve: impl Fn(&mut Rng, f64) -> Box<dyn Fn(f64) -> f64>) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let gain = rng.scale(0.1, 5.0);
        let at = if rng.chance(0.4) {
            0.0
        } else {
            rng.range(0.0, s as f64 * 0.5)
        };
        let curve = curve(rng, s as f64);
        Box::new(move |t| base * (1.0 + gain * if t > at { curve(t - at) } else { 0.0 }))
    })
}

pub(super) fn fill_exp(rng: &mut Rng, noise: &Noise) -> Series {
    fill(rng, noise, |rng, _| {
        let tau = rng.scale(2.0, 300.0);
        Box::new(move |t| 1.0 - (-t / tau).exp())
    })
}

pub(super) fn fill_slow_exp(rng: &mut Rng, noise: &Noise) -> Series {
    fill(rng, noise, |rng, _| {
        let tau = rng.scale(300.0, 2400.0);
        Box::new(move |t| 1.0 - (-t / tau).exp())
    })
}

pub(super) fn fill_log(rng: &mut Rng, noise: &Noise) -> Series {
    fill(rng, noise, |rng, s| {
        let soon = rng.scale(2.0, 200.0);
        Box::new(move |t| (t / soon).ln_1p() / (s / soon).ln_1p())
    })
}

pub(super) fn fill_sqrt(rng: &mut Rng, noise: &Noise) -> Series {
    fill(rng, noise, |rng, s| {
        let full = rng.scale(60.0, s);
        Box::new(move |t| (t / full).sqrt().min(1.0))
    })
}

/// Two to four fills, each at an even pace for up to twelve minutes, with rests between.
pub(super) fn fill_twice(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let count = 2 + rng.below(3);
        let fills: Vec<(f64, f64, f64)> = (0..count)
            .map(|_| {
                (
                    rng.range(0.0, s as f64 * 0.9),
                    rng.scale(0.05, 1.0),
                    rng.scale(10.0, 500.0),
                )
            })
            .collect();
        Box::new(move |t| {
            base * (1.0
                + fills
                    .iter()
                    .map(|(at, gain, takes)| gain * ((t - at) / takes).clamp(0.0, 1.0))
                    .sum::<f64>())
        })
    })
}

pub(super) fn warm_up(rng: &mut Rng, noise: &Noise) -> Series {
    make(rng, noise, 0, |rng, _, base| {
        let (gain, tau, more, slow) = (
            rng.scale(0.3, 5.0),
            rng.scale(2.0, 120.0),
            rng.range(0.0, 0.5),
            rng.scale(60.0, 900.0),
        );
        let base = base * 0.3;
        Box::new(move |t| base * (1.0 + gain * (1.0 - (-t / tau).exp() + more * (1.0 - (-t / slow).exp()))))
    })
}

pub(super) fn load_steps(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let every = rng.scale(60.0, s as f64 / 3.0);
        let height = rng.scale(0.05, 1.0);
        let mut own = rng.clone();
        let (mut level, mut next) = (own.unit(), 0.0);
        Box::new(move |t| {
            while t >= next {
                level = own.unit();
                next += own.waiting(every);
            }
            base * (1.0 + height * level)
        })
    })
}

/// From one level of load to another within up to twelve minutes.
pub(super) fn load_ramps(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let every = rng.scale(600.0, s as f64 / 3.0);
        let height = rng.scale(0.05, 0.6);
        let mut own = rng.clone();
        let (mut from, mut to, mut begin, mut takes, mut next) = (own.unit(), own.unit(), 0.0, 60.0, every);
        Box::new(move |t| {
            while t >= next {
                (from, to, begin) = (to, own.unit(), next);
                takes = own.scale(30.0, 720.0f64.min(every));
                next += takes + own.waiting(every);
            }
            base * (1.0 + height * (to - from).mul_add(((t - begin) / takes).clamp(0.0, 1.0), from))
        })
    })
}

pub(super) fn load_cycle(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let period = rng.scale(120.0, (s as f64 / 3.0).min(2700.0));
        let height = rng.scale(0.03, 1.0);
        let shift = rng.unit();
        Box::new(move |t| base * (1.0 + height * (1.0 - ((t / period + shift) * TAU).cos()) / 2.0))
    })
}

pub(super) fn triangle(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, _, base| {
        let (up, down) = (rng.scale(60.0, 780.0), rng.scale(10.0, 780.0));
        let height = rng.scale(0.05, 1.0);
        let shift = rng.unit() * (up + down);
        Box::new(move |t| {
            let at = (t + shift) % (up + down);
            base * (1.0 + height * if at < up { at / up } else { 1.0 - (at - up) / down })
        })
    })
}

pub(super) fn teeth_level(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, _, base| {
        let mut teeth = Teeth::new(rng, 10.0, 780.0);
        let mut own = rng.clone();
        Box::new(move |t| base * (1.0 + teeth.at(t, &mut own)))
    })
}

pub(super) fn walk(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, _, base| {
        let mut walk = wandering(rng, rng.clone().scale(0.005, 0.08), rng.clone().scale(30.0, 2400.0));
        Box::new(move |t| base * (1.0 + walk(t)).max(0.1))
    })
}

pub(super) fn restarts(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let every = rng.scale(300.0, s as f64 / 3.0);
        let (start, tau) = (rng.range(0.1, 0.6), rng.scale(5.0, 200.0));
        let mut own = rng.clone();
        let (mut begin, mut end) = (-every * rng.unit(), 0.0);
        Box::new(move |t| {
            if t >= end {
                begin = t;
                end = t + every * own.range(0.5, 1.5);
            }
            base * (1.0 - (1.0 - start) * (-(t - begin) / tau).exp())
        })
    })
}

/// A counter in steps of a percent or more that flickers between two of them.
pub(super) fn flicker(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    let mut series = make(rng, noise, age, |rng, _, base| {
        let mut walk = wandering(rng, rng.clone().scale(0.005, 0.02), rng.clone().scale(60.0, 1800.0));
        Box::new(move |t| base * (1.0 + walk(t)))
    });
    let quantum = series.values.iter().flatten().next().copied().unwrap_or(1e6) * rng.scale(0.01, 0.03);
    for value in series.values.iter_mut().flatten() {
        *value = (*value / quantum).round() * quantum;
    }
    series
}

pub(super) fn churn_level(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, _, base| {
        let (apart, takes) = (rng.scale(20.0, 400.0), rng.scale(5.0, 300.0));
        let mut jobs = jobs(rng, apart, takes, rng.clone().scale(0.05, 1.0));
        Box::new(move |t| base * (1.0 + jobs(t)))
    })
}

/// Four hours of the load of a day.
pub(super) fn day_flank(rng: &mut Rng, noise: &Noise) -> Series {
    let age = old(rng);
    make(rng, noise, age, |rng, _, base| {
        let height = rng.scale(0.1, 0.6);
        let shift = rng.unit();
        Box::new(move |t| base * (1.0 + height * (1.0 - ((t / 86_400.0 + shift) * TAU).cos()) / 2.0))
    })
}

pub(super) fn steady(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |_, _, base| Box::new(move |_| base))
}
