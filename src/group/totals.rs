//! The sums of a set of processes: memory, changes, and how many of them could be read.
//!
//! Processes that share one address space (`CLONE_VM`) show the same memory each; in a sum it counts once. Of memory held
//! through descriptors, each process has a share.

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
    /// PSS now less PSS at the window's start; `None` while only one value is known.
    pub pss: Option<i64>,
    /// Swap likewise.
    pub swap: Option<i64>,
    /// Slope of the footprint over five minutes, bytes a second.
    pub growth: Option<f64>,
    /// Minor faults a second.
    pub minflt: Option<f64>,
    /// Major faults a second.
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

impl Change {
    /// Returns the rates, which have nothing to do with memory.
    #[must_use]
    pub const fn without_memory(self) -> Self {
        Self {
            pss: None,
            swap: None,
            growth: None,
            ..self
        }
    }

    /// Adds another process's changes; unknown in one counts as no change in the sum.
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

/// Adds what is known; `None` where nothing is.
pub(super) fn sum<T>(a: Option<T>, b: Option<T>, add: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (one, other) => one.or(other),
    }
}

/// The sums of a set of processes: those a filter lets through, those tagged, a group, a subtree.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The number of processes.
    pub count: usize,
    /// Their memory, as far as they have some and it could be read.
    pub memory: Reading<Memory>,
    /// Bound on the error of their PSS and `SwapPss`, in bytes: the sum of theirs.
    pub error: u64,
    /// Their resident pages by the kernel's own counters, in bytes, of those whose memory is hidden.
    pub counted_rss: u64,
    /// Their resident anonymous pages; `None` where they are known of none.
    pub counted_anon: Option<u64>,
    /// The change of the resident pages.
    pub counted_change: Option<i64>,
    /// Some process's memory is hidden, so the sums are too small.
    pub partial: bool,
    /// Their changes.
    pub change: Change,
    /// Their threads.
    pub threads: u64,
    /// Their parts of what is held through descriptors, [partial](HeldFigures::is_partial) where that of some process is
    /// hidden.
    pub held: Reading<HeldFigures>,
}

impl Default for Totals {
    /// The sum of nothing.
    fn default() -> Self {
        Self {
            count: 0,
            memory: Err(Missing::Pending),
            error: 0,
            counted_rss: 0,
            counted_anon: None,
            counted_change: None,
            partial: false,
            change: Change::default(),
            threads: 0,
            held: Err(Missing::Pending),
        }
    }
}

impl Totals {
    /// Returns the totals of a single process.
    pub fn one(sample: &ProcessSample, change: Option<&Change>) -> Self {
        let change = change.copied().unwrap_or_default();
        Self {
            count: 1,
            memory: sample.memory().copied(),
            error: sample.walk.map_or(0, |walk| walk.error),
            counted_rss: sample.counted_rss().unwrap_or(0),
            counted_anon: sample.counted_anon(),
            counted_change: sample.counted_rss().and(change.pss),
            partial: sample.walk.is_err_and(Missing::hides_memory),
            // A change of RSS is none of a sum of PSS.
            change: if sample.memory().is_ok() {
                change
            } else {
                change.without_memory()
            },
            threads: sample.stat.threads,
            held: sample.held().map(|held| held.figures),
        }
    }

    /// Sums processes.
    pub fn of<'a>(
        samples: impl IntoIterator<Item = &'a ProcessSample>,
        change: impl Fn(&ProcessSample) -> Option<Change>,
    ) -> Self {
        let samples: Vec<_> = samples.into_iter().collect();
        let spaces = SharedSpaces::new(&samples.iter().copied());
        let mut sum = Self::default();
        for (at, sample) in samples.iter().enumerate() {
            let change = change(sample);
            sum.add(&if spaces.counts(at, sample) {
                Self::one(sample, change.as_ref())
            } else {
                Self::without_memory(sample, change.as_ref())
            });
        }
        sum
    }

    /// Returns the bound in which the resident pages of those whose memory is hidden stand for their PSS; `None` where all is
    /// hidden.
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
            held: sample.held().map(|held| held.figures),
            ..Self::default()
        }
    }

    /// Returns the complement of [`Self::without_memory`]: the memory of a process without the process.
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
            held: Err(Missing::Pending),
            ..one
        }
    }

    /// Adds the totals of others with other address spaces. A sum without a figure keeps the reason that hides memory
    /// rather than the one that there is none.
    pub fn add(&mut self, other: &Self) {
        self.memory = match (self.memory, other.memory) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(&more);
                Ok(sum)
            }
            (Ok(sum), Err(_)) | (Err(_), Ok(sum)) => Ok(sum),
            (Err(mine), Err(theirs)) => {
                // Pending and not partial: not the reason of a process, but the sum of no memory.
                let is_nothing = theirs == Missing::Pending && !other.partial;
                Err(if self.partial || is_nothing { mine } else { theirs })
            }
        };
        self.error = self.error.saturating_add(other.error);
        self.counted_rss = self.counted_rss.saturating_add(other.counted_rss);
        self.counted_anon = sum(self.counted_anon, other.counted_anon, u64::saturating_add);
        self.counted_change = sum(self.counted_change, other.counted_change, i64::saturating_add);
        self.count += other.count;
        self.partial |= other.partial;
        self.change.add(&other.change);
        self.threads = self.threads.saturating_add(other.threads);
        self.held = match (self.held, other.held) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(&more);
                Ok(sum)
            }
            (Ok(mut sum), Err(why)) | (Err(why), Ok(mut sum)) => {
                // What is pending is there in a moment, or is the sum of nothing.
                if why.hides_memory() && why != Missing::Pending {
                    sum.set_partial(None);
                }
                Ok(sum)
            }
            // The reason of some process rather than that of the sum of nothing.
            (Err(Missing::Pending), Err(why)) | (Err(why), Err(_)) => Err(why),
        };
    }
}

/// The address spaces that several of a set of processes share, each with the places of its processes.
pub(super) struct SharedSpaces(HashMap<Identity, Vec<usize>>);

impl SharedSpaces {
    /// Finds those among `samples`.
    pub(super) fn new<'a>(samples: &(impl Iterator<Item = &'a ProcessSample> + Clone)) -> Self {
        let mut spaces: HashMap<Identity, Vec<usize>> = samples
            .clone()
            .filter_map(|s| Some((s.shares_mm?, Vec::new())))
            .collect();
        // Nearly always there are none.
        if !spaces.is_empty() {
            // A process whose memory is known comes first, and stands for the others.
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

    /// Returns true if the memory of the process at place `at` is counted with it.
    pub(super) fn counts(&self, at: usize, sample: &ProcessSample) -> bool {
        self.0.is_empty() || self.0.get(&space(sample)).is_none_or(|members| members[0] == at)
    }

    /// Returns the places of the processes of each, the one that stands for the others first.
    pub(super) fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.0.values().map(Vec::as_slice)
    }
}

/// Returns one process of each address space among these, so that its mappings are read once.
pub fn one_of_each<'a>(samples: impl IntoIterator<Item = &'a ProcessSample>) -> Vec<Identity> {
    let mut seen = HashSet::new();
    samples
        .into_iter()
        .filter(|sample| seen.insert(space(sample)))
        .map(|sample| sample.id)
        .collect()
}

/// Returns the identity of an address space: that of the first process that has it.
fn space(sample: &ProcessSample) -> Identity {
    sample.shares_mm.unwrap_or(sample.id)
}

/// The number of processes whose memory is known, and of those whose memory is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Processes whose memory was read.
    pub readable: usize,
    /// Processes that have memory that could not be read, or not yet.
    pub hidden: usize,
    /// Hidden processes that wait for their first walk.
    pub pending: usize,
    /// Processes whose figures may be wrong by more than they are shown to be right to.
    pub uncertain: usize,
    /// The time of the oldest walk of those.
    pub uncertain_since: Option<Duration>,
    /// Hidden processes, beside those that wait, whose resident pages the kernel counts for everyone.
    pub by_rss: usize,
    /// The age of the oldest walk.
    pub oldest: Option<Duration>,
}

impl Coverage {
    /// Counts the processes of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        let walks = snapshot.rows().iter().filter_map(|row| row.walk.ok());
        let oldest = walks.map(|walk| snapshot.monotonic.saturating_sub(walk.at)).max();
        Self {
            oldest,
            ..Self::of_rows(snapshot.rows())
        }
    }

    /// Counts processes; says nothing of their age.
    pub fn of_rows(rows: &[ProcessSample]) -> Self {
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

    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        self.readable += other.readable;
        self.hidden += other.hidden;
        self.pending += other.pending;
        self.uncertain += other.uncertain;
        self.uncertain_since = earlier(self.uncertain_since, other.uncertain_since);
        self.by_rss += other.by_rss;
        self.oldest = self.oldest.max(other.oldest);
    }

    /// Returns how many processes have memory, readable or not.
    pub const fn total(&self) -> usize {
        self.readable + self.hidden
    }
}

/// Returns the earlier of two times, or the one there is.
fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    [a, b].into_iter().flatten().min()
}
