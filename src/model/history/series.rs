//! The history of one row: of a process, or of a group.

use std::time::Duration;

use super::window::{Spark, Window};
use crate::model::memory::Memory;

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

/// The figures of a row that have a history, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// PSS.
    pub pss: u64,
    /// Swap.
    pub swap: u64,
    /// PSS and `SwapPss`; PSS alone where the kernel gives no `SwapPss`.
    pub footprint: u64,
}

impl Figures {
    /// Those of one walk.
    pub fn of(memory: &Memory) -> Self {
        Self {
            pss: memory.pss,
            swap: memory.swap,
            footprint: memory.footprint().unwrap_or(memory.pss),
        }
    }

    /// Adds another process's.
    pub const fn add(&mut self, other: &Self) {
        self.pss = self.pss.saturating_add(other.pss);
        self.swap = self.swap.saturating_add(other.swap);
        self.footprint = self.footprint.saturating_add(other.footprint);
    }
}

/// Rates since the snapshot before, a second: minor faults, major faults, and shares of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Minor faults.
    pub minflt: Option<f64>,
    /// Major faults.
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

/// The history of one row since zmtop first saw it; of a process, since its last exec.
#[derive(Clone, Debug)]
pub struct Series {
    pss: Window,
    swap: Window,
    spark: Spark,
    change: Change,
}

impl Series {
    /// An empty history whose changes are taken over `window`.
    pub fn new(window: Duration) -> Self {
        Self {
            pss: Window::new(window),
            swap: Window::new(window),
            spark: Spark::default(),
            change: Change::default(),
        }
    }

    /// Takes changes over another length of time from now on.
    pub(super) fn set_window(&mut self, window: Duration) {
        self.pss = Window::new(window);
        self.swap = Window::new(window);
    }

    /// What changed of late.
    pub const fn change(&self) -> &Change {
        &self.change
    }

    /// The footprint over five minutes.
    pub const fn spark(&self) -> &Spark {
        &self.spark
    }

    /// Takes in the figures at `now`, `None` where they are unknown, and the rates.
    pub fn push(&mut self, now: Duration, figures: Option<Figures>, rates: &Rates) {
        self.pss.push(now, figures.map(|f| f.pss));
        self.swap.push(now, figures.map(|f| f.swap));
        self.spark.push(now, figures.map(|f| f.footprint));
        self.change = Change {
            pss: self.pss.change(),
            swap: self.swap.change(),
            growth: self.spark.slope(),
            minflt: rates.minflt,
            majflt: rates.majflt,
            cpu: rates.cpu,
        };
    }
}
