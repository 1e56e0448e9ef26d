//! The labelled corpus: shapes of footprints, seeded, with the noise of real programs.
//!
//! Every third shape by name is held out: the judge was not tuned on it.

mod leaks;
mod noise;
mod quiet;
mod rng;
mod wide;

use std::time::Duration;

pub(super) use noise::Noise;
pub(super) use rng::Rng;
pub(super) use wide::WIDE;
use zmtop::history::time_series::{Retention, TimeSeries};

use crate::support::long;

/// Returns the seeds of each shape: all fifty that the judge was tuned by in the long form, else the first four.
pub(super) fn seeds() -> impl ExactSizeIterator<Item = u64> {
    (0..if long() { 50_u32 } else { 4 }).map(u64::from)
}

/// Returns by how much a share that was measured `count` times may miss its limit by chance: nothing over all seeds,
/// which the limits were set for; two standard errors over a sample of them.
pub(super) fn chance(limit: f64, count: u64) -> f64 {
    if long() {
        return 0.0;
    }
    2.0 * (limit * (1.0 - limit) / count as f64).sqrt()
}

/// A kind of series.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// True if it leaks.
    pub(super) leaks: bool,
    pub(super) make: fn(&mut Rng, &Noise) -> Series,
}

/// Every shape, by name.
pub(super) const SHAPES: [Shape; 19] = [
    quiet("cache", quiet::cache),
    quiet("churn", quiet::churn),
    quiet("day", quiet::day),
    quiet("gaps", quiet::gaps),
    leak("leak-accelerating", leaks::accelerating),
    leak("leak-bursts", leaks::bursts),
    leak("leak-day", leaks::day),
    leak("leak-fast", leaks::fast),
    leak("leak-late", leaks::late),
    leak("leak-slow", leaks::slow),
    leak("leak-staircase", leaks::staircase),
    leak("leak-teeth", leaks::teeth),
    quiet("restarts", quiet::restarts),
    quiet("steady", quiet::steady),
    quiet("step", quiet::step),
    quiet("steps-up-down", quiet::steps),
    quiet("teeth", quiet::teeth),
    quiet("walk", quiet::walk),
    quiet("warmup", quiet::warmup),
];

const fn leak(name: &'static str, make: fn(&mut Rng, &Noise) -> Series) -> Shape {
    Shape {
        name,
        leaks: true,
        make,
    }
}

const fn quiet(name: &'static str, make: fn(&mut Rng, &Noise) -> Series) -> Shape {
    Shape {
        name,
        leaks: false,
        make,
    }
}

/// Returns true if the shape of that number was held out of the tuning.
pub(super) const fn held_out(number: usize) -> bool {
    number % 3 == 2
}

/// The footprint of a process, or of a group of them, over time.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Seconds from one value to the next.
    pub(super) step: u64,
    /// Bytes; `None` where it could not be read.
    pub(super) values: Vec<Option<f64>>,
    /// Seconds from the program's start to the first value.
    pub(super) age: u64,
    /// From which value on it leaks.
    pub(super) onset: usize,
    /// The memory that it asked for by each value, in bytes; empty where that is not known.
    pub(super) asked: Vec<Option<f64>>,
}

/// When the clock stands at the first value: long after the machine started.
const EPOCH: u64 = 40 * 86_400;

impl Series {
    /// A series of `seconds`, its values from a function of the seconds passed.
    pub(super) fn of(seconds: u64, step: u64, mut value: impl FnMut(f64) -> f64) -> Self {
        let values = (0..seconds / step).map(|i| Some(value((i * step) as f64))).collect();
        Self {
            step,
            values,
            age: 30 * 86_400,
            onset: 0,
            asked: Vec::new(),
        }
    }

    pub(super) fn aged(mut self, seconds: u64) -> Self {
        self.age = seconds;
        self
    }

    /// Lets it leak only from that second on.
    pub(super) fn leaking_after(mut self, second: f64) -> Self {
        self.onset = (second / self.step as f64) as usize;
        self
    }

    /// With the usual noise on top.
    pub(super) fn noisy(self, rng: &mut Rng, noise: &Noise) -> Self {
        let size = self.values.iter().flatten().next().copied().unwrap_or(1.0);
        let noise = noise.usual(rng, self.values.len(), size);
        self.with(&noise)
    }

    /// With that on top: each value is multiplied by as much more.
    pub(super) fn with(mut self, noise: &[f64]) -> Self {
        for (value, noise) in self.values.iter_mut().zip(noise) {
            *value = value.map(|v| v * (1.0 + noise));
        }
        self
    }

    /// Returns when its program started.
    pub(super) fn started_at(&self) -> Duration {
        Duration::from_secs(EPOCH - self.age)
    }

    /// Returns when value number `i` was taken.
    pub(super) fn at(&self, i: usize) -> Duration {
        Duration::from_secs(EPOCH + i as u64 * self.step)
    }

    /// Appends value number `i` to a time series.
    pub(super) fn push_to(&self, i: usize, series: &mut TimeSeries) {
        series.push(
            self.at(i),
            self.values[i].map(|v| v.max(0.0) as u64),
            Retention::default(),
        );
    }
}
