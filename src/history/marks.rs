//! Marks: what every process and group held at a moment, to see what changed since.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::group::{Group, GroupBy, GroupKey, groups};
use crate::history::Moment;
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;

/// What one process or group held when the mark was set, in KiB.
#[derive(Clone, Copy, Debug)]
struct PackedMemory([u32; 2]);

impl PackedMemory {
    /// No figures: what it held could not be read.
    const UNKNOWN: Self = Self([u32::MAX; 2]);

    fn of(pss: u64, swap: u64) -> Self {
        // The kernel counts in KiB; 4 TiB less one are the most that is told apart.
        Self([pss, swap].map(|n| u32::try_from(n >> 10).unwrap_or(u32::MAX).min(u32::MAX - 1)))
    }

    fn get(self) -> Option<MarkedMemory> {
        let [pss, swap] = self.0.map(|n| u64::from(n) << 10);
        (self.0[0] != u32::MAX).then_some(MarkedMemory { pss, swap })
    }
}

/// What was held when a mark was set, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkedMemory {
    /// PSS.
    pub pss: u64,
    /// Swap.
    pub swap: u64,
}

/// What changed since a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkDelta {
    /// PSS now less PSS at the mark, in bytes.
    pub pss: i64,
    /// Swap likewise.
    pub swap: i64,
    /// It was not there at the mark: it counts from nothing.
    pub is_new: bool,
}

/// What every process and group held at one moment.
#[derive(Debug)]
pub struct Mark {
    /// When, on the snapshots' monotonic clock.
    at: Duration,
    moment: Moment,
    /// In order of identity.
    processes: Box<[(Identity, PackedMemory)]>,
    groups: HashMap<GroupKey, PackedMemory>,
}

impl Mark {
    /// Marks what the snapshot saw.
    pub fn new(snapshot: &Snapshot) -> Self {
        let has_memory = |s: &&ProcessSample| !s.stat.is_kernel_thread();
        let held = |s: &ProcessSample| match s.memory() {
            Ok(m) => PackedMemory::of(m.pss, m.swap),
            Err(_) => PackedMemory::UNKNOWN,
        };
        let rows = snapshot.rows();
        let mut processes: Vec<_> = rows.iter().filter(has_memory).map(|s| (s.id, held(s))).collect();
        processes.sort_unstable_by_key(|(id, _)| *id);
        let mut by_key = HashMap::new();
        for by in GroupBy::OF_PROCESSES {
            for group in groups(snapshot, by, |s| has_memory(&s), |_| None) {
                // A sum that lacks what is yet to be read would look like growth once it is.
                let whole = group.members.iter().all(|i| rows[*i].walk != Err(Missing::Pending));
                let held = match group.totals.memory {
                    Ok(m) if whole => PackedMemory::of(m.pss, m.swap),
                    _ => PackedMemory::UNKNOWN,
                };
                by_key.insert(group.key, held);
            }
        }
        by_key.shrink_to_fit();
        Self {
            at: snapshot.monotonic,
            moment: Moment::of(snapshot),
            processes: processes.into(),
            groups: by_key,
        }
    }

    /// How long ago it was set.
    pub const fn age(&self, snapshot: &Snapshot) -> Duration {
        snapshot.monotonic.saturating_sub(self.at)
    }

    /// What changed of a process. One that started since counts from nothing; unknown where its memory is, or
    /// was when the mark was set.
    pub fn process(&self, sample: &ProcessSample) -> Reading<MarkDelta> {
        let memory = sample.memory()?;
        let found = self.processes.binary_search_by_key(&sample.id, |(id, _)| *id);
        let before = found.ok().map(|at| self.processes[at].1.get().ok_or(Missing::Pending));
        Ok(since(before.transpose()?, memory.pss, memory.swap))
    }

    /// Whether the process started since.
    pub fn is_new(&self, sample: &ProcessSample) -> bool {
        let known = self.processes.binary_search_by_key(&sample.id, |(id, _)| *id).is_ok();
        !known && !sample.stat.is_kernel_thread()
    }

    /// What changed of a group. What its processes held that ended since is taken off. Where a filter holds some
    /// of its processes back, it is the change of the others.
    pub fn group(&self, group: &Group, snapshot: &Snapshot) -> Reading<MarkDelta> {
        let memory = group.totals.memory?;
        if group.key.by == GroupBy::Mapping {
            return Err(Missing::Unsupported);
        }
        if group.whole {
            let before = self.groups.get(&group.key).map(|k| k.get().ok_or(Missing::Pending));
            return Ok(since(before.transpose()?, memory.pss, memory.swap));
        }
        let rows = snapshot.rows();
        let members = || group.members.iter().filter_map(|i| rows.get(*i));
        let mut sum = MarkDelta {
            is_new: true,
            ..MarkDelta::default()
        };
        for sample in members() {
            // An address space that several have counts once.
            let counted = |first: Identity| members().any(|s| s.id == first);
            if sample.walk.is_err() || sample.shares_mm.is_some_and(counted) {
                continue;
            }
            let one = self.process(sample)?;
            sum.pss = sum.pss.saturating_add(one.pss);
            sum.swap = sum.swap.saturating_add(one.swap);
            sum.is_new &= one.is_new;
        }
        Ok(sum)
    }
}

fn since(before: Option<MarkedMemory>, pss: u64, swap: u64) -> MarkDelta {
    let less = |now: u64, then: u64| {
        // What is kept is in KiB.
        let signed = |n: u64| i64::try_from(n >> 10 << 10).unwrap_or(i64::MAX);
        signed(now) - signed(then)
    };
    let held = before.unwrap_or_default();
    MarkDelta {
        pss: less(pss, held.pss),
        swap: less(swap, held.swap),
        is_new: before.is_none(),
    }
}

/// The marks that were set, and the one that changes are shown since.
#[derive(Debug, Default)]
pub struct Marks {
    list: VecDeque<Mark>,
    at: usize,
}

impl Marks {
    /// How many are kept: the oldest goes when there is one more.
    pub const MOST: usize = 16;

    /// Sets one, and shows changes since it.
    pub fn set(&mut self, snapshot: &Snapshot) {
        if self.list.len() == Self::MOST {
            self.list.pop_front();
        }
        self.list.push_back(Mark::new(snapshot));
        self.at = self.list.len() - 1;
    }

    /// Takes the current one away; the one before it is the current one then.
    pub fn unset(&mut self) {
        self.list.remove(self.at);
        self.at = self.at.saturating_sub(1);
    }

    /// Shows changes since the next one, or since the one before; stays at the ends.
    pub fn step(&mut self, forward: bool) {
        self.at = if forward {
            (self.at + 1).min(self.list.len().saturating_sub(1))
        } else {
            self.at.saturating_sub(1)
        };
    }

    /// The one that changes are shown since.
    pub fn current(&self) -> Option<&Mark> {
        self.list.get(self.at)
    }

    /// The place of the current one among all, from 1, and how many there are.
    pub fn place(&self) -> (usize, usize) {
        ((self.at + 1).min(self.list.len()), self.list.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Forgets those that the snapshot cannot be compared with: of another boot or host, or set later than it
    /// was taken.
    /// Whether there were any.
    pub fn discard_incomparable(&mut self, snapshot: &Snapshot) -> bool {
        let parts = self.list.iter().any(|mark| mark.moment.parts(snapshot));
        if parts {
            self.list.clear();
            self.at = 0;
        }
        parts
    }
}
