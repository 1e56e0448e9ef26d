//! Shapes that leak.

use std::f64::consts::TAU;

use super::super::quiet::{Teeth, base};
use super::{HOUR, Noise, Rng, Series, age, jobs, make, pace, seen, span, wandering};

pub(super) fn line(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        Box::new(move |t| base * (1.0 + pace * t))
    })
}

pub(super) fn late(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    let share = rng.range(0.05, 0.4);
    let (seconds, step) = span(rng);
    let (base, pace) = (base(rng), pace(rng, seconds));
    let quiet = seconds as f64 * share;
    let series = Series::of(seconds, step, |t| base * (1.0 + pace * (t - quiet).max(0.0)));
    let series = series.aged(age).leaking_after(quiet);
    seen(series, rng, noise)
}

pub(super) fn teeth(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let mut teeth = Teeth::new(rng, 10.0, 300.0);
        let mut own = rng.clone();
        Box::new(move |t| base * (1.0 + pace * t + teeth.at(t, &mut own)))
    })
}

pub(super) fn long_teeth(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let mut teeth = Teeth::new(rng, 300.0, s as f64 / 12.0);
        let mut own = rng.clone();
        Box::new(move |t| base * (1.0 + pace * t + teeth.at(t, &mut own)))
    })
}

pub(super) fn stairs(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let every = rng.scale(20.0, s as f64 / 16.0);
        let mut own = rng.clone();
        let (mut level, mut next) = (base, every * rng.unit());
        Box::new(move |t| {
            while t >= next {
                level += base * pace * every * own.range(0.5, 1.5);
                next += every * own.range(0.6, 1.4);
            }
            level
        })
    })
}

/// Grows, and gives back a part of what it took, again and again.
pub(super) fn frees(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let every = rng.scale(60.0, s as f64 / 16.0);
        let back = rng.range(0.3, 0.7);
        let mut own = rng.clone();
        let (mut level, mut begin, mut end) = (base, 0.0, every * rng.range(0.5, 1.5));
        let up = base * pace / (1.0 - back);
        Box::new(move |t| {
            while t >= end {
                level += up * (end - begin) * (1.0 - back * own.range(0.7, 1.3));
                begin = end;
                end += every * own.range(0.5, 1.5);
            }
            level + up * (t - begin)
        })
    })
}

pub(super) fn cycle(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let period = rng.scale(300.0, s as f64 / 4.0);
        let height = rng.scale(0.03, 0.8);
        let shift = rng.unit();
        Box::new(move |t| base * (1.0 + pace * t + height * (1.0 - ((t / period + shift) * TAU).cos()) / 2.0))
    })
}

pub(super) fn wander(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let mut walk = wandering(rng, rng.clone().scale(0.005, 0.04), rng.clone().scale(60.0, 900.0));
        Box::new(move |t| base * (1.0 + pace * t + walk(t)))
    })
}

/// Warms up first, by a tenth to threefold within ten minutes at most.
pub(super) fn after_fill(rng: &mut Rng, noise: &Noise) -> Series {
    make(rng, noise, 0, |rng, s, base| {
        let (pace, gain, tau) = (pace(rng, s), rng.scale(0.1, 3.0), rng.scale(5.0, 200.0));
        Box::new(move |t| base * (1.0 + pace * t + gain * (1.0 - (-t / tau).exp())))
    })
}

pub(super) fn random_steps(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let every = rng.scale(10.0, s as f64 / 40.0);
        let mut own = rng.clone();
        let (mut level, mut next) = (base, 0.0);
        Box::new(move |t| {
            while t >= next {
                level += base * pace * own.waiting(every);
                next += own.waiting(every);
            }
            level
        })
    })
}

pub(super) fn quantised(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    let mut series = make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        Box::new(move |t| base * (1.0 + pace * t))
    });
    let quantum = series.values.iter().flatten().next().copied().unwrap_or(1e6) * rng.scale(0.005, 0.03);
    for value in series.values.iter_mut().flatten() {
        *value = (*value / quantum).round() * quantum;
    }
    series
}

pub(super) fn bursts(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let apart = rng.scale(30.0, s as f64 / 40.0);
        let takes = rng.range(0.1, 0.5) * apart;
        let over = rng.range(0.5, 3.0);
        let mut own = rng.clone();
        let (mut level, mut begin, mut size) = (base, own.waiting(apart), 1.0);
        Box::new(move |t| {
            let left = base * pace * (apart + takes);
            while t > begin + takes {
                level += left * size;
                begin += takes + own.waiting(apart);
                size = own.range(0.3, 1.7);
            }
            let done = ((t - begin) / takes).clamp(0.0, 1.0);
            level + left * size * (done + over * (done * TAU / 2.0).sin())
        })
    })
}

/// Leaks, rests for a while, leaks on.
pub(super) fn pauses(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let (on, off) = (rng.scale(120.0, s as f64 / 12.0), rng.scale(60.0, s as f64 / 24.0));
        let up = pace * (on + off) / on;
        Box::new(move |t| {
            let (whole, part) = ((t / (on + off)).floor(), t % (on + off));
            base * (1.0 + up * (whole * on + part.min(on)))
        })
    })
}

pub(super) fn young(rng: &mut Rng, noise: &Noise) -> Series {
    make(rng, noise, 0, |rng, s, base| {
        let pace = rng.scale(0.5, 8.0) / HOUR;
        let base = base * 0.3;
        let _ = s;
        Box::new(move |t| base * (1.0 + pace * t))
    })
}

/// Its pace falls to some three fifths of what it was over the time seen, and no further.
pub(super) fn slowing(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let (pace, end) = (pace(rng, s), rng.range(0.55, 0.9));
        let all = s as f64;
        Box::new(move |t| base * (1.0 + pace * (t - (1.0 - end) * t * t / (2.0 * all))))
    })
}

pub(super) fn churn_leak(rng: &mut Rng, noise: &Noise) -> Series {
    let age = age(rng);
    make(rng, noise, age, |rng, s, base| {
        let pace = pace(rng, s);
        let (apart, takes) = (rng.scale(60.0, 400.0), rng.scale(5.0, 60.0));
        let mut jobs = jobs(rng, apart, takes, rng.clone().scale(0.05, 0.5));
        Box::new(move |t| base * (1.0 + pace * t + jobs(t)))
    })
}
