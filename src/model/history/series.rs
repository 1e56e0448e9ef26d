//! The history of one process.

use std::time::Duration;

use super::window::{Spark, Window, rate};
use crate::model::snapshot::ProcessSample;

/// What changed of late: bytes over the change window, and rates since the snapshot before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// PSS now less PSS at the window's beginning; `None` while only one value is known.
    pub pss: Option<i64>,
    /// Swap likewise.
    pub swap: Option<i64>,
    /// Slope of the footprint over five minutes, bytes a second.
    pub growth: Option<f64>,
    /// Minor faults a second.
    pub minflt: Option<f64>,
    /// Major faults a second.
    pub majflt: Option<f64>,
    /// Share of one core, 1.0 being all of it.
    pub cpu: Option<f64>,
}

impl Change {
    /// Adds another process's changes; what is unknown in one counts as no change in the sum.
    pub fn add(&mut self, other: &Self) {
        fn both<T: Copy>(a: Option<T>, b: Option<T>, add: fn(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(add(a, b)),
                (one, other) => one.or(other),
            }
        }
        let sum = |a, b| both(a, b, |a: f64, b: f64| a + b);
        self.pss = both(self.pss, other.pss, i64::saturating_add);
        self.swap = both(self.swap, other.swap, i64::saturating_add);
        self.growth = sum(self.growth, other.growth);
        self.minflt = sum(self.minflt, other.minflt);
        self.majflt = sum(self.majflt, other.majflt);
        self.cpu = sum(self.cpu, other.cpu);
    }
}

/// The history of one process since zmtop first saw it, or since its last exec.
#[derive(Clone, Debug)]
pub struct Series {
    exec: u32,
    tick: u64,
    pss: Window,
    swap: Window,
    spark: Spark,
    counters: Option<(Duration, [u64; 3])>,
    change: Change,
}

impl Series {
    /// An empty history of the program that exec number `exec` started.
    pub fn new(exec: u32, window: Duration) -> Self {
        Self {
            exec,
            tick: 0,
            pss: Window::new(window),
            swap: Window::new(window),
            spark: Spark::default(),
            counters: None,
            change: Change::default(),
        }
    }

    /// Takes changes over another length of time from now on.
    pub(super) fn set_window(&mut self, window: Duration) {
        self.pss = Window::new(window);
        self.swap = Window::new(window);
    }

    /// Which exec it began with.
    pub const fn exec(&self) -> u32 {
        self.exec
    }

    /// The tick it was last seen in.
    pub(super) const fn tick(&self) -> u64 {
        self.tick
    }

    /// What changed of late.
    pub const fn change(&self) -> &Change {
        &self.change
    }

    /// The footprint over five minutes.
    pub const fn spark(&self) -> &Spark {
        &self.spark
    }

    /// Takes in one sample.
    pub fn push(&mut self, sample: &ProcessSample, now: Duration, tick: u64) {
        self.tick = tick;
        let memory = sample.memory().ok();
        self.pss.push(now, memory.map(|m| m.pss));
        self.swap.push(now, memory.map(|m| m.swap));
        // Where the kernel gives no SwapPss the line shows PSS alone.
        self.spark.push(now, memory.map(|m| m.footprint().unwrap_or(m.pss)));

        let stat = &sample.stat;
        let counters = [stat.minflt, stat.majflt, stat.cpu_ticks];
        let rates = self.counters.map(|(then, before)| {
            let seconds = now.saturating_sub(then).as_secs_f64();
            [0, 1, 2].map(|i| rate(before[i], counters[i], seconds))
        });
        self.counters = Some((now, counters));
        self.change = Change {
            pss: self.pss.change(),
            swap: self.swap.change(),
            growth: self.spark.slope(),
            minflt: rates.and_then(|r| r[0]),
            majflt: rates.and_then(|r| r[1]),
            cpu: rates.and_then(|r| r[2]).map(|ticks| ticks / TICKS_PER_SECOND),
        };
    }
}

/// `USER_HZ`: fixed at 100 in the kernel's interface on every architecture Rust's Linux targets run on.
const TICKS_PER_SECOND: f64 = 100.0;
