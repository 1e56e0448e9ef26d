//! The sums of a set of processes, and the number of readable ones.
//!
//! Processes that share one address space (`CLONE_VM`) each show the same memory, which a sum counts once. Memory held through
//! descriptors is divided among its holders.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::model::held::HeldFigures;
use crate::model::memory::Memory;
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;

/// Recent changes: bytes over the change window, and rates since the previous snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// PSS now − PSS at the start of the window; `None` while only one value is known.
    pub pss: Option<i64>,
    /// The same for swap.
    pub swap: Option<i64>,
    /// Slope of the footprint over five minutes, bytes per second.
    pub growth: Option<f64>,
    /// Minor faults per second.
    pub minflt: Option<f64>,
    /// Major faults per second.
    pub majflt: Option<f64>,
    /// CPU time; 1.0 is one core.
    pub cpu: Option<f64>,
}

impl Change {
    /// Returns only the rates that do not concern memory.
    #[must_use]
    pub const fn without_memory(self) -> Self {
        Self {
            pss: None,
            swap: None,
            growth: None,
            ..self
        }
    }

    /// Adds another process's changes. An unknown change counts as 0.
    pub fn add(&mut self, other: &Self) {
        let rate = |a, b| sum(a, b, |a: f64, b: f64| a + b);
        self.pss = sum(self.pss, other.pss, i64::saturating_add);
        self.swap = sum(self.swap, other.swap, i64::saturating_add);
        self.growth = rate(self.growth, other.growth);
        self.minflt = rate(self.minflt, other.minflt);
        self.majflt = rate(self.majflt, other.majflt);
        self.cpu = rate(self.cpu, other.cpu);
    }
}

/// Adds the known values; `None` if neither is known.
pub(super) fn sum<T>(a: Option<T>, b: Option<T>, add: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (one, other) => one.or(other),
    }
}

/// The sums of a set of processes: the rows that a filter accepts, the tagged rows, a group, a subtree.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The number of processes.
    pub count: usize,
    /// The memory of the readable processes.
    pub memory: Reading<Memory>,
    /// Bound on the error of PSS and `SwapPss`, in bytes.
    pub error: u64,
    /// The RSS, by the kernel's own counters, of the processes whose memory is hidden.
    pub counted_rss: u64,
    /// Their resident anonymous memory; `None` if unknown for all of them.
    pub counted_anon: Option<u64>,
    /// Their swap by the same counters; `None` if unknown for all of them.
    pub counted_swap: Option<u64>,
    /// The change of `counted_rss`.
    pub counted_change: Option<i64>,
    /// True if some process's memory is hidden, so the sums are too small.
    pub partial: bool,
    pub change: Change,
    pub threads: u64,
    /// Processor time, in clock ticks.
    pub cpu_ticks: u64,
    /// Their shares of memory held through descriptors, [partial](HeldFigures::is_partial) if some process's share is hidden.
    pub held: Reading<HeldFigures>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            count: 0,
            memory: Err(Missing::Pending),
            error: 0,
            counted_rss: 0,
            counted_anon: None,
            counted_swap: None,
            counted_change: None,
            partial: false,
            change: Change::default(),
            threads: 0,
            cpu_ticks: 0,
            held: Err(Missing::Pending),
        }
    }
}

impl Totals {
    pub fn one(sample: &ProcessSample, change: Option<&Change>) -> Self {
        let change = change.copied().unwrap_or_default();
        Self {
            count: 1,
            memory: sample.memory().copied(),
            error: sample.walk.map_or(0, |walk| walk.error),
            counted_rss: sample.counted_rss().unwrap_or(0),
            counted_anon: sample.counted_anon(),
            counted_swap: sample.counted_swap(),
            counted_change: sample.counted_rss().and(change.pss),
            partial: sample.walk.is_err_and(Missing::hides_memory),
            // A change of RSS must not be added to a sum of PSS.
            change: if sample.memory().is_ok() {
                change
            } else {
                Change {
                    swap: sample.counted_swap().and(change.swap),
                    ..change.without_memory()
                }
            },
            threads: sample.stat.threads,
            cpu_ticks: sample.stat.cpu_ticks,
            held: sample.held().map(|held| held.figures),
        }
    }

    pub fn of<'a>(
        samples: impl IntoIterator<Item = &'a ProcessSample>,
        change: impl Fn(&ProcessSample) -> Option<Change>,
    ) -> Self {
        let samples: Vec<_> = samples.into_iter().collect();
        let spaces = SharedSpaces::new(&samples.iter().copied());
        let mut sum = Self::default();
        for (at, sample) in samples.iter().enumerate() {
            sum.add(&spaces.part(at, sample, change(sample).as_ref()));
        }
        sum
    }

    /// Returns the RSS of processes whose memory is hidden, if that of others is known.
    pub const fn hidden_beside(&self) -> u64 {
        if self.memory.is_ok() { self.counted_rss } else { 0 }
    }

    /// Returns an upper bound that uses RSS for the PSS of processes whose memory is hidden; `None` if all are hidden.
    pub fn as_bound(&self) -> Option<Self> {
        let memory = self.memory.ok()?;
        Some(Self {
            memory: Err(Missing::Denied),
            counted_rss: memory.pss.saturating_add(self.counted_rss),
            counted_anon: sum(memory.pss_anon.ok(), self.counted_anon, u64::saturating_add),
            change: Change {
                pss: sum(self.change.pss, self.counted_change, i64::saturating_add),
                ..self.change
            },
            ..self.clone()
        })
    }

    /// Returns the totals of a process whose memory is counted elsewhere.
    pub(super) fn without_memory(sample: &ProcessSample, change: Option<&Change>) -> Self {
        Self {
            count: 1,
            change: change.copied().unwrap_or_default().without_memory(),
            threads: sample.stat.threads,
            cpu_ticks: sample.stat.cpu_ticks,
            held: sample.held().map(|held| held.figures),
            ..Self::default()
        }
    }

    /// Returns the memory of a process alone, the complement of [`Self::without_memory`].
    pub(super) fn memory_alone(sample: &ProcessSample, change: Option<&Change>) -> Self {
        let one = Self::one(sample, change);
        Self {
            count: 0,
            change: Change {
                minflt: None,
                majflt: None,
                cpu: None,
                ..one.change
            },
            threads: 0,
            cpu_ticks: 0,
            held: Err(Missing::Pending),
            ..one
        }
    }

    /// Adds the totals of processes with other address spaces. If no memory is known, the reason of a hidden process takes
    /// precedence over the reason of one without memory.
    pub fn add(&mut self, other: &Self) {
        self.memory = match (self.memory, other.memory) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(&more);
                Ok(sum)
            }
            (Ok(sum), Err(_)) | (Err(_), Ok(sum)) => Ok(sum),
            (Err(mine), Err(theirs)) => {
                // Pending and not partial: not the reason of a process, but an empty sum.
                let is_nothing = theirs == Missing::Pending && !other.partial;
                Err(if self.partial || is_nothing { mine } else { theirs })
            }
        };
        self.error = self.error.saturating_add(other.error);
        self.counted_rss = self.counted_rss.saturating_add(other.counted_rss);
        self.counted_anon = sum(self.counted_anon, other.counted_anon, u64::saturating_add);
        self.counted_swap = sum(self.counted_swap, other.counted_swap, u64::saturating_add);
        self.counted_change = sum(self.counted_change, other.counted_change, i64::saturating_add);
        self.count += other.count;
        self.partial |= other.partial;
        self.change.add(&other.change);
        self.threads = self.threads.saturating_add(other.threads);
        self.cpu_ticks = self.cpu_ticks.saturating_add(other.cpu_ticks);
        self.held = match (self.held, other.held) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(&more);
                Ok(sum)
            }
            (Ok(mut sum), Err(why)) | (Err(why), Ok(mut sum)) => {
                // Pending: known in a moment, or an empty sum.
                if why.hides_memory() && why != Missing::Pending {
                    sum.set_partial(None);
                }
                Ok(sum)
            }
            // Prefer the reason of a process over an empty sum.
            (Err(Missing::Pending), Err(why)) | (Err(why), Err(_)) => Err(why),
        };
    }
}

/// The address spaces that several processes of a set share, each with the indices of its processes.
pub(super) struct SharedSpaces(HashMap<Identity, Vec<usize>>);

impl SharedSpaces {
    pub(super) fn new<'a>(samples: &(impl Iterator<Item = &'a ProcessSample> + Clone)) -> Self {
        let mut spaces: HashMap<Identity, Vec<usize>> = samples
            .clone()
            .filter_map(|s| Some((s.shares_mm?, Vec::new())))
            .collect();
        if !spaces.is_empty() {
            // A process whose memory is known comes first and represents the others.
            for is_known in [true, false] {
                for (at, sample) in samples.clone().enumerate() {
                    if sample.walk.is_ok() == is_known
                        && let Some(members) = spaces.get_mut(&space(sample))
                    {
                        members.push(at);
                    }
                }
            }
        }
        Self(spaces)
    }

    /// Returns true if the memory of its address space is counted for this process.
    pub(super) fn counts(&self, at: usize, sample: &ProcessSample) -> bool {
        self.0.is_empty() || self.0.get(&space(sample)).is_none_or(|members| members[0] == at)
    }

    /// Returns what a process adds to a sum.
    pub(super) fn part(&self, at: usize, sample: &ProcessSample, change: Option<&Change>) -> Totals {
        if self.counts(at, sample) {
            Totals::one(sample, change)
        } else {
            Totals::without_memory(sample, change)
        }
    }

    /// Returns the indices of the processes of each space, the representative first.
    pub(super) fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.0.values().map(Vec::as_slice)
    }
}

/// Returns one process of each address space, so that its mappings are read once.
pub fn one_of_each<'a>(samples: impl IntoIterator<Item = &'a ProcessSample>) -> Vec<Identity> {
    let mut seen = HashSet::new();
    samples
        .into_iter()
        .filter(|sample| seen.insert(space(sample)))
        .map(|sample| sample.id)
        .collect()
}

/// Returns the identity of an address space: the identity of its first process.
fn space(sample: &ProcessSample) -> Identity {
    sample.shares_mm.unwrap_or(sample.id)
}

/// The numbers of processes whose memory is known or unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Processes whose memory was read.
    pub readable: usize,
    /// Processes whose memory could not be read, or not yet.
    pub hidden: usize,
    /// Hidden processes that wait for their first walk.
    pub pending: usize,
    /// Processes whose figures may be wrong by more than the tolerance.
    pub uncertain: usize,
    /// The time of their oldest walk.
    pub uncertain_since: Option<Duration>,
    /// Hidden processes, without pending ones, whose RSS is known.
    pub by_rss: usize,
    /// The age of the oldest walk.
    pub oldest: Option<Duration>,
}

impl Coverage {
    pub fn of(snapshot: &Snapshot) -> Self {
        let walks = snapshot.rows().iter().filter_map(|row| row.walk.ok());
        let oldest = walks.map(|walk| snapshot.monotonic.saturating_sub(walk.at)).max();
        Self {
            oldest,
            ..Self::of_rows(snapshot.rows().iter())
        }
    }

    /// Counts processes, without the age of the oldest walk.
    pub fn of_rows<'a>(rows: impl Iterator<Item = &'a ProcessSample>) -> Self {
        let mut coverage = Self::default();
        for row in rows {
            match row.walk {
                Ok(walk) => {
                    coverage.readable += 1;
                    if row.stale {
                        coverage.uncertain += 1;
                        coverage.uncertain_since = earlier(coverage.uncertain_since, Some(walk.at));
                    }
                }
                Err(e) if e.hides_memory() => {
                    coverage.hidden += 1;
                    coverage.pending += usize::from(e == Missing::Pending);
                    coverage.by_rss += usize::from(e != Missing::Pending && row.counted_rss().is_some());
                }
                Err(_) => {}
            }
        }
        coverage
    }

    pub fn add(&mut self, other: &Self) {
        self.readable += other.readable;
        self.hidden += other.hidden;
        self.pending += other.pending;
        self.uncertain += other.uncertain;
        self.uncertain_since = earlier(self.uncertain_since, other.uncertain_since);
        self.by_rss += other.by_rss;
        self.oldest = self.oldest.max(other.oldest);
    }

    /// Returns the number of processes that have memory, readable or not.
    pub const fn total(&self) -> usize {
        self.readable + self.hidden
    }
}

/// Returns the earlier of the known times.
fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    [a, b].into_iter().flatten().min()
}
