//! What is kept of one process from one snapshot to the next.

use std::sync::Arc;
use std::time::Duration;

use crate::history::groups::Member;
use crate::history::row::{MemorySample, Rates, RowHistory, Tick};
use crate::history::window::rate;
use crate::model::process::{Facts, ProcessSample};

/// One process.
#[derive(Debug)]
pub(super) struct Track {
    /// Which exec it began with.
    pub(super) exec: u32,
    /// The tick it was last seen in.
    pub(super) tick: u64,
    /// What is known of it.
    pub(super) facts: Arc<Facts>,
    /// When it started, or made its last exec; `None` where the machine does not say.
    pub(super) born: Option<Duration>,
    counters: Option<(Duration, [u64; 3])>,
    pub(super) rates: Rates,
    pub(super) series: RowHistory,
    pub(super) member: Member,
}

impl Track {
    /// Nothing yet of the program that this sample runs. `starter` was there when the history began.
    pub(super) fn new(sample: &ProcessSample, window: Duration, born: Option<Duration>, starter: bool) -> Self {
        Self {
            exec: sample.exec,
            tick: 0,
            facts: Arc::clone(&sample.facts),
            born,
            counters: None,
            rates: Rates::default(),
            series: RowHistory::new(window),
            member: Member::new(starter),
        }
    }

    /// Takes in one sample, of the snapshot of that number.
    pub(super) fn push(&mut self, sample: &ProcessSample, tick: Tick, number: u64) {
        let now = tick.now;
        self.tick = number;
        if !Arc::ptr_eq(&self.facts, &sample.facts) {
            self.facts = Arc::clone(&sample.facts);
        }
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
            .push(tick, sample.memory().ok().map(MemorySample::of), &self.rates);
    }

    /// Whether there is anything to be remembered of it: it had memory, for some ten seconds.
    pub(super) fn is_of_note(&self) -> bool {
        let levels = self.series.footprint_series();
        let seen = levels.begin().zip(levels.newest());
        seen.is_some_and(|(from, (to, _))| to.saturating_sub(from) >= LEAST)
    }

    /// The bytes it takes.
    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<RowHistory>() + self.series.bytes()
    }
}

/// `USER_HZ`: fixed at 100 in the kernel's interface on every architecture Rust's Linux targets run on.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// How long a process must have been seen to be remembered after its end.
const LEAST: Duration = Duration::from_secs(10);
