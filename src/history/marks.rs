//! Marks: the memory of every process and group at a moment, to show what changed since.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::group::{Group, GroupBy, GroupKey, RowKey, groups};
use crate::model::held::Held;
use crate::model::kernel::KernelTables;
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::{Missing, Reading};
use crate::model::snapshot::Snapshot;
use crate::order;

/// The boot and time of a snapshot, to check if another one is comparable.
#[derive(Debug)]
pub(crate) struct Origin {
    host: Arc<[u8]>,
    boot_id: Reading<Arc<str>>,
    pub(super) monotonic: Duration,
}

impl Origin {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self {
            host: Arc::clone(&snapshot.host),
            boot_id: snapshot.boot_id.clone(),
            monotonic: snapshot.monotonic,
        }
    }

    /// Returns true if the snapshot is a later one of the same boot. Otherwise pids, counters and clock differ in
    /// meaning. A host may change its name, but not its boot id within a boot; the name decides only if a boot id is
    /// unknown.
    pub(crate) fn precedes(&self, snapshot: &Snapshot) -> bool {
        let is_other = match (&self.boot_id, &snapshot.boot_id) {
            (Ok(one), Ok(other)) => one != other,
            _ => !self.host.is_empty() && !snapshot.host.is_empty() && self.host != snapshot.host,
        };
        !is_other && snapshot.monotonic >= self.monotonic
    }
}

/// PSS and swap in KiB, in eight bytes: a mark has them for every process and group.
#[derive(Clone, Copy, Debug)]
struct PackedMemory([u32; 2]);

impl PackedMemory {
    const UNKNOWN: Self = Self([u32::MAX; 2]);

    fn new(pss: u64, swap: u64) -> Self {
        // The kernel counts in KiB, so nothing is lost below 4 TiB.
        Self([pss, swap].map(|n| u32::try_from(n >> 10).unwrap_or(u32::MAX).min(u32::MAX - 1)))
    }

    /// In bytes.
    fn get(self) -> Reading<[u64; 2]> {
        if self.0[0] == u32::MAX {
            return Err(Missing::NotMarked);
        }
        Ok(self.0.map(|n| u64::from(n) << 10))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkDelta {
    /// In bytes.
    pub pss: i64,
    /// In bytes.
    pub swap: i64,
    /// It did not exist at the mark: its change counts from 0.
    pub is_new: bool,
}

/// The memory of every process and group at one moment.
#[derive(Debug)]
pub struct Mark {
    origin: Origin,
    /// In order of identity.
    processes: Box<[(Identity, PackedMemory)]>,
    groups: HashMap<GroupKey, PackedMemory>,
    kernel: KernelTables,
    /// The memory held through descriptors, of processes and groups that hold some; `None` if it was not read.
    held: Option<HashMap<RowKey, Reading<u64>>>,
}

impl Mark {
    pub fn new(snapshot: &Snapshot) -> Self {
        let has_memory = |s: &&ProcessSample| !s.stat.is_kernel_thread();
        let memory = |s: &ProcessSample| {
            s.memory()
                .map_or(PackedMemory::UNKNOWN, |m| PackedMemory::new(m.pss, m.swap))
        };
        let rows = snapshot.rows();
        let mut processes: Vec<_> = rows.iter().filter(has_memory).map(|s| (s.id, memory(s))).collect();
        order::sort_by_key(&mut processes, |(id, _)| *id);
        let mut by_key = HashMap::new();
        let mut held = rows.iter().any(|s| s.held.is_some()).then(HashMap::new);
        if let Some(held) = &mut held {
            let bytes = |s: &ProcessSample| s.held().map(|held| held.figures.total());
            let marked = |s: &ProcessSample| (RowKey::Process(s.id), bytes(s).map_err(|_| Missing::NotMarked));
            let processes = rows.iter().filter(has_memory).map(marked);
            held.extend(processes.filter(|(_, bytes)| *bytes != Ok(0)));
        }
        for by in GroupBy::OF_PROCESSES {
            for group in groups(snapshot, by, |s| has_memory(&s), |_| None) {
                // A sum that lacks a pending process would look like growth once that process is read.
                let is_whole = group.members.iter().all(|i| rows[*i].walk != Err(Missing::Pending));
                let memory = match group.totals.memory {
                    Ok(m) if is_whole => PackedMemory::new(m.pss, m.swap),
                    _ => PackedMemory::UNKNOWN,
                };
                let is_pending = |i: &usize| rows[*i].held() == Err(Missing::Pending);
                let held_by_it = if group.members.iter().any(is_pending) {
                    Err(Missing::NotMarked)
                } else {
                    Ok(group.totals.held.map_or(0, |figures| figures.total()))
                };
                if let Some(held) = held.as_mut().filter(|_| held_by_it != Ok(0)) {
                    held.insert(RowKey::Group(group.key.clone()), held_by_it);
                }
                by_key.insert(group.key, memory);
            }
        }
        by_key.shrink_to_fit();
        Self {
            origin: Origin::of(snapshot),
            processes: processes.into(),
            groups: by_key,
            kernel: snapshot.kernel.clone(),
            held,
        }
    }

    /// Returns the monotonic time at which it was set.
    pub const fn at(&self) -> Duration {
        self.origin.monotonic
    }

    pub const fn kernel(&self) -> &KernelTables {
        &self.kernel
    }

    fn find(&self, id: Identity) -> Option<PackedMemory> {
        let found = self.processes.binary_search_by_key(&id, |(id, _)| *id);
        found.ok().map(|at| self.processes[at].1)
    }

    /// Returns the change of a process, which counts from 0 if it started later. Unknown if the memory is, or was at
    /// the mark.
    pub fn process(&self, sample: &ProcessSample) -> Reading<MarkDelta> {
        let memory = sample.memory()?;
        delta(self.find(sample.id), memory.pss, memory.swap)
    }

    /// Returns the change of the memory that a process holds through descriptors; `None` if the mark has none. Unknown
    /// if the memory is, or was at the mark.
    pub fn held(&self, sample: &ProcessSample) -> Option<Reading<i64>> {
        let then = self.held.as_ref()?.get(&RowKey::Process(sample.id));
        let then = then.copied().unwrap_or(Ok(0));
        let change = |held: &Held| Ok(difference(held.figures.total(), then?));
        Some(sample.held().and_then(change))
    }

    /// Returns the change of the memory that a group holds, without its ended members. If a filter hides members,
    /// returns the change of the others.
    pub fn held_by_group(&self, group: &Group, snapshot: &Snapshot) -> Option<Reading<i64>> {
        let marked = self.held.as_ref()?;
        if group.key.by == GroupBy::Mapping {
            return None;
        }
        if group.whole {
            let then = marked.get(&RowKey::Group(group.key.clone()));
            let then = then.copied().unwrap_or(Ok(0));
            return Some(group.totals.held.and_then(|now| Ok(difference(now.total(), then?))));
        }
        let members = group.members.iter().filter_map(|at| snapshot.rows().get(*at));
        let changes = members.filter_map(|sample| self.held(sample)?.ok());
        Some(Ok(changes.fold(0, i64::saturating_add)))
    }

    /// Returns true if the process started after the mark.
    pub fn is_new(&self, sample: &ProcessSample) -> bool {
        self.find(sample.id).is_none() && !sample.stat.is_kernel_thread()
    }

    /// Returns the change of a group, less the memory of ended members. If a filter hides members, returns the change
    /// of the others.
    pub fn group(&self, group: &Group, snapshot: &Snapshot) -> Reading<MarkDelta> {
        let memory = group.totals.memory?;
        if group.key.by == GroupBy::Mapping {
            return Err(Missing::Unsupported);
        }
        if group.whole {
            return delta(self.groups.get(&group.key).copied(), memory.pss, memory.swap);
        }
        let rows = snapshot.rows();
        let members = || group.members.iter().filter_map(|i| rows.get(*i));
        let mut sum = MarkDelta {
            is_new: true,
            ..MarkDelta::default()
        };
        for sample in members() {
            // Count an address space that members share once.
            let is_member = |first: Identity| members().any(|s| s.id == first);
            if sample.walk.is_err() || sample.shares_mm.is_some_and(is_member) {
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

fn delta(before: Option<PackedMemory>, pss: u64, swap: u64) -> Reading<MarkDelta> {
    let is_new = before.is_none();
    let [old_pss, old_swap] = before.map_or(Ok([0; 2]), PackedMemory::get)?;
    // Round to KiB, as the mark does.
    let difference = |now: u64, then: u64| difference(now >> 10 << 10, then);
    Ok(MarkDelta {
        pss: difference(pss, old_pss),
        swap: difference(swap, old_swap),
        is_new,
    })
}

fn difference(now: u64, then: u64) -> i64 {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    signed(now) - signed(then)
}

/// All marks. Changes are shown since the current one.
#[derive(Debug, Default)]
pub struct Marks {
    list: VecDeque<Mark>,
    current: usize,
}

impl Marks {
    /// Maximum number of marks; a new one replaces the oldest.
    pub const MAX: usize = 16;

    /// Adds a mark and makes it the current one.
    pub fn set(&mut self, snapshot: &Snapshot) {
        if self.list.len() == Self::MAX {
            self.list.pop_front();
        }
        self.list.push_back(Mark::new(snapshot));
        self.current = self.list.len() - 1;
    }

    /// Removes the current mark; the one before it becomes the current one.
    pub fn unset(&mut self) {
        self.list.remove(self.current);
        self.current = self.current.saturating_sub(1);
    }

    /// Makes the next mark, or the one before, the current one; stays at the ends.
    pub fn step(&mut self, forward: bool) {
        self.current = if forward {
            (self.current + 1).min(self.list.len().saturating_sub(1))
        } else {
            self.current.saturating_sub(1)
        };
    }

    pub fn current(&self) -> Option<&Mark> {
        self.list.get(self.current)
    }

    /// Returns the position of the current mark, from 1, and the number of marks.
    pub fn position(&self) -> (usize, usize) {
        ((self.current + 1).min(self.list.len()), self.list.len())
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Removes all marks if the snapshot is of another boot or host than one of them, or earlier; returns true if so.
    pub fn discard_incomparable(&mut self, snapshot: &Snapshot) -> bool {
        let discard = self.list.iter().any(|mark| !mark.origin.precedes(snapshot));
        if discard {
            *self = Self::default();
        }
        discard
    }
}
