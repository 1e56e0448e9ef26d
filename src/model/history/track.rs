//! What is kept of one process from one snapshot to the next.

use std::time::Duration;

use super::groups::Member;
use super::series::{Figures, Rates, Series};
use super::window::rate;
use crate::model::snapshot::ProcessSample;

/// One process.
#[derive(Debug)]
pub(super) struct Track {
    /// Which exec it began with.
    pub(super) exec: u32,
    /// The tick it was last seen in.
    pub(super) tick: u64,
    counters: Option<(Duration, [u64; 3])>,
    pub(super) rates: Rates,
    pub(super) series: Series,
    pub(super) member: Member,
}

impl Track {
    /// Nothing yet of the program that this sample runs. `starter` was there when the history began.
    pub(super) fn new(sample: &ProcessSample, window: Duration, starter: bool) -> Self {
        Self {
            exec: sample.exec,
            tick: 0,
            counters: None,
            rates: Rates::default(),
            series: Series::new(window),
            member: Member::new(starter),
        }
    }

    /// Takes in one sample.
    pub(super) fn push(&mut self, sample: &ProcessSample, now: Duration, tick: u64) {
        self.tick = tick;
        let stat = &sample.stat;
        let counters = [stat.minflt, stat.majflt, stat.cpu_ticks];
        self.rates = self.counters.map_or_else(Rates::default, |(then, before)| {
            let seconds = now.saturating_sub(then).as_secs_f64();
            let rate = |i: usize| rate(before[i], counters[i], seconds);
            Rates {
                minflt: rate(0),
                majflt: rate(1),
                cpu: rate(2).map(|ticks| ticks / TICKS_PER_SECOND),
            }
        });
        self.counters = Some((now, counters));
        self.series
            .push(now, sample.memory().ok().map(Figures::of), &self.rates);
    }
}

/// `USER_HZ`: fixed at 100 in the kernel's interface on every architecture Rust's Linux targets run on.
const TICKS_PER_SECOND: f64 = 100.0;
