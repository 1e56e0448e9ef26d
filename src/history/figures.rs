//! The figures that a row takes in, and the time of a snapshot.

use std::time::Duration;

use crate::group::Change;
use crate::history::time_series::Retention;
use crate::model::memory::Memory;
use crate::model::process::ProcessSample;

/// The memory figures of a row that have a history, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySample {
    /// PSS.
    pub pss: u64,
    /// Swap.
    pub swap: u64,
    /// PSS + `SwapPss`; PSS alone where the kernel gives no `SwapPss`.
    pub footprint: u64,
    /// The part of the footprint that is held: anonymous, shared and swapped memory; 0 where the kernel does not tell.
    pub held: u64,
    /// The memory that it asked for, touched or not: what it may fill. Where that is not known, what is held.
    pub asked: u64,
}

impl MemorySample {
    /// The number of figures.
    pub(super) const COUNT: usize = 5;

    /// Takes the figures from a walk, and what was asked for of private memory.
    pub fn new(memory: &Memory, data: Option<u64>) -> Self {
        let held = memory.pss_anon.map_or(0, |anon| {
            let others = [memory.pss_shmem, memory.swap_pss];
            others
                .iter()
                .fold(anon, |sum, kind| sum.saturating_add(kind.unwrap_or(0)))
        });
        Self {
            pss: memory.pss,
            swap: memory.swap,
            footprint: memory.footprint().unwrap_or(memory.pss),
            held,
            // Shared memory is asked for elsewhere, and any of it counts.
            asked: data.map_or(held, |data| data.saturating_add(memory.pss_shmem.unwrap_or(0))),
        }
    }

    /// Takes the figures that the kernel counts for everyone, of a process whose memory is denied: RSS in place of PSS.
    /// `None` where one of them is not known.
    pub fn counted(sample: &ProcessSample) -> Option<Self> {
        let rss = sample.counted_rss()?;
        let swap = sample.counted.swap()?;
        let held = sample.counted.anon().map_or(0, |anon| anon.saturating_add(swap));
        Some(Self {
            pss: rss,
            swap,
            footprint: rss.saturating_add(swap),
            held,
            asked: sample.data.unwrap_or(held),
        })
    }

    /// Returns all of them, in the order of [`Self::of_sums`].
    pub(super) const fn figures(&self) -> [u64; Self::COUNT] {
        [self.pss, self.swap, self.footprint, self.held, self.asked]
    }

    /// Makes them of sums of [figures](Self::figures), as far as they fit.
    pub(super) fn of_sums(sums: [u128; Self::COUNT]) -> Self {
        let [pss, swap, footprint, held, asked] = sums.map(|sum| u64::try_from(sum).unwrap_or(u64::MAX));
        Self {
            pss,
            swap,
            footprint,
            held,
            asked,
        }
    }
}

/// Rates per second since the previous snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Minor faults.
    pub minflt: Option<f64>,
    /// Major faults.
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

impl Rates {
    /// The rates of a process that does nothing.
    pub(super) const RESTING: Self = Self {
        minflt: Some(0.0),
        majflt: Some(0.0),
        cpu: Some(0.0),
    };

    /// Adds another process's rates; unknown counts as 0.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |a: &mut Option<f64>, b: Option<f64>| {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0.0) + b);
            }
        };
        sum(&mut self.minflt, other.minflt);
        sum(&mut self.majflt, other.majflt);
        sum(&mut self.cpu, other.cpu);
    }
}

impl From<&Change> for Rates {
    fn from(change: &Change) -> Self {
        Self {
            minflt: change.minflt,
            majflt: change.majflt,
            cpu: change.cpu,
        }
    }
}

/// The time of a snapshot, and how its figures are kept.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The time on the monotonic clock.
    pub now: Duration,
    /// Time from one snapshot to the next.
    pub interval: Duration,
    /// Time that changes are taken over.
    pub window: Duration,
    /// The share of the buckets that is kept.
    pub retention: Retention,
    /// There is memory for the past of further rows.
    pub has_room: bool,
}

/// The time that rows at which nothing changes have rested until: that of the last snapshot with processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) now: Duration,
    pub(super) interval: Duration,
}

impl From<Tick> for Clock {
    fn from(tick: Tick) -> Self {
        Self {
            now: tick.now,
            interval: tick.interval,
        }
    }
}
