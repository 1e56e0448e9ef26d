//! The mappings of one process: their growth between two moments, and their hot and cold memory.
//!
//! A page table notes that a page was touched, and `/proc/<pid>/clear_refs` clears these notes. `Referenced` in `smaps`
//! then counts what was touched since: it is *hot*, and the rest of the resident memory is *cold*. Leaked memory is never
//! touched again; a cache is, sooner or later. What the figures mean exactly:
//!
//! - They count whole pages (RSS, not PSS), and touches by **this process**: a process that shares a page has its own notes.
//!   A file's page may count as hot because others read the file. What is cold here can be hot elsewhere.
//! - A transparent huge page has one note: one touch makes 2 MiB hot.
//! - Swapped-out memory is not resident, so it is neither.
//! - A kernel that is short of memory clears such notes itself, so pages look colder than they are. So may a processor that
//!   still caches the page's address; it soon drops it if more than one program runs.
//! - Pages that were mapped since count as hot, so an exec in between makes nothing cold.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::model::mapping::{Mapping, MappingKind};
use crate::model::memory::Memory;
use crate::model::reading::Reading;
use crate::model::{Identity, Missing, ProcessSample, Snapshot};
use crate::order;

/// All areas of one name and kind together, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingTotal {
    /// Their kind.
    pub kind: MappingKind,
    /// Their name, raw.
    pub name: Arc<[u8]>,
    /// PSS + `SwapPss` in bytes, PSS + `Swap` where the kernel gives no `SwapPss` (before Linux 4.3); or why that is
    /// unknown.
    pub footprint: Reading<u64>,
    /// The number of areas.
    pub areas: u64,
}

/// The mappings of one process at one moment, each name and kind once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingTotals(Vec<MappingTotal>);

impl MappingTotals {
    /// Sums mappings by name and kind. A file that was removed or replaced while it was mapped keeps its name: its
    /// areas count together with those of the file that is there now.
    pub fn of(mappings: &[Mapping]) -> Self {
        let mut places: HashMap<(MappingKind, &[u8]), usize> = HashMap::new();
        let mut totals: Vec<MappingTotal> = Vec::with_capacity(mappings.len());
        for mapping in mappings {
            let footprint = mapping.memory.as_ref().map(footprint).map_err(|e| *e);
            let name = &mapping.name;
            if let Some(at) = places.get(&(name.kind, &*name.bytes)) {
                let total = &mut totals[*at];
                total.areas = total.areas.saturating_add(mapping.areas);
                total.footprint = total.footprint.and_then(|sum| Ok(sum.saturating_add(footprint?)));
                continue;
            }
            places.insert((name.kind, &name.bytes), totals.len());
            totals.push(MappingTotal {
                kind: name.kind,
                name: name.bytes.clone(),
                footprint,
                areas: mapping.areas,
            });
        }
        Self(totals)
    }

    /// Returns them in the order in which the names came.
    pub fn all(&self) -> &[MappingTotal] {
        &self.0
    }
}

fn footprint(memory: &Memory) -> u64 {
    memory
        .footprint()
        .unwrap_or_else(|_| memory.pss.saturating_add(memory.swap))
}

/// The moments at which a mapping was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Both moments.
    Both,
    /// Only the later one: it counts from nothing.
    New,
    /// Only the earlier one: it holds nothing any more.
    Gone,
}

/// A mapping at two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingGrowth {
    /// Its kind.
    pub kind: MappingKind,
    /// Its name, raw.
    pub name: Arc<[u8]>,
    /// Its footprint at the earlier moment, in bytes.
    pub before: Reading<u64>,
    /// Its footprint at the later moment.
    pub now: Reading<u64>,
    /// The number of areas at the later moment; at the earlier one if it is gone.
    pub areas: u64,
    /// The moments at which it was there.
    pub presence: Presence,
}

impl MappingGrowth {
    fn new(total: &MappingTotal, before: Reading<u64>, now: Reading<u64>, presence: Presence) -> Self {
        Self {
            kind: total.kind,
            name: total.name.clone(),
            before,
            now,
            areas: total.areas,
            presence,
        }
    }

    /// Returns its growth in bytes; `None` where one of the two footprints is unknown.
    pub fn growth(&self) -> Option<i64> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(signed(self.now.ok()?) - signed(self.before.ok()?))
    }
}

/// Compares the mappings of two moments. The one that grew most comes first, the one that shrank most last, then those
/// whose growth is unknown; of equal growth the larger one first.
pub fn diff(before: &MappingTotals, now: &MappingTotals) -> Vec<MappingGrowth> {
    let mut earlier: HashMap<(MappingKind, &[u8]), &MappingTotal> = before
        .0
        .iter()
        .map(|total| ((total.kind, &*total.name), total))
        .collect();
    let mut all: Vec<MappingGrowth> = now
        .0
        .iter()
        .map(|total| match earlier.remove(&(total.kind, &*total.name)) {
            Some(old) => MappingGrowth::new(total, old.footprint, total.footprint, Presence::Both),
            None => MappingGrowth::new(total, Ok(0), total.footprint, Presence::New),
        })
        .collect();
    let gone = earlier.into_values();
    all.extend(gone.map(|total| MappingGrowth::new(total, total.footprint, Ok(0), Presence::Gone)));
    order::sort_by(&mut all, |a, b| {
        let key = |g: &MappingGrowth| Reverse((g.growth(), g.now.unwrap_or(0)));
        // By name last, as the order of a hash table differs from run to run.
        key(a)
            .cmp(&key(b))
            .then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
    });
    all
}

/// Returns the growth of all mappings together, as far as it is known, in bytes.
pub fn total_growth(rows: &[MappingGrowth]) -> i64 {
    rows.iter()
        .filter_map(MappingGrowth::growth)
        .fold(0, i64::saturating_add)
}

/// Maximum number of processes that are looked at: each costs a read of `smaps` a minute.
pub const MAX_ASKED: usize = 16;

/// Resident pages, whole, by whether they were touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of them, in bytes.
    pub rss: u64,
    /// The part that was touched.
    pub hot: u64,
}

impl Resident {
    /// Returns the part that was not touched.
    pub const fn cold(self) -> u64 {
        self.rss.saturating_sub(self.hot)
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            rss: self.rss.saturating_add(other.rss),
            hot: self.hot.saturating_add(other.hot),
        }
    }

    /// Returns the share that was not touched; 0 of nothing.
    pub fn cold_share(self) -> f64 {
        if self.rss == 0 {
            0.0
        } else {
            self.cold() as f64 / self.rss as f64
        }
    }
}

/// All areas of one name and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingColdness {
    /// Their kind.
    pub kind: MappingKind,
    /// Their name, raw.
    pub name: Arc<[u8]>,
    /// The address space that they take, in bytes.
    pub size: Reading<u64>,
    /// The resident part of them.
    pub resident: Reading<Resident>,
}

impl MappingColdness {
    fn new(mapping: &Mapping) -> Self {
        let resident = |mapping: &Mapping| {
            let rss = mapping.memory?.rss;
            // Whatever the file says, no more than is resident can have been touched.
            let hot = mapping.extent?.referenced?.min(rss);
            Ok(Resident { rss, hot })
        };
        Self {
            kind: mapping.name.kind,
            name: mapping.name.bytes.clone(),
            size: mapping.extent.map(|extent| extent.size),
            resident: resident(mapping),
        }
    }

    fn add(&mut self, other: &Self) {
        self.size = self.size.and_then(|size| Ok(size.saturating_add(other.size?)));
        self.resident = self.resident.and_then(|resident| Ok(resident.plus(other.resident?)));
    }

    /// Returns what was not touched of it; 0 where that is unknown.
    fn cold(&self) -> u64 {
        self.resident.map_or(0, Resident::cold)
    }

    /// Returns true if a leak could be in it: it holds what the program made, not pages of a file.
    const fn may_leak(&self) -> bool {
        use MappingKind::{Anon, Heap, Named, Shared, Stack};
        matches!(self.kind, Anon | Heap | Named | Shared | Stack)
    }
}

/// The hot and cold memory of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coldness {
    /// Time from the clearing to the reading: what is cold was not touched for so long.
    pub since: Duration,
    /// The sum of all mappings; unknown where one is.
    pub total: Reading<Resident>,
    /// The mappings, the one of which most is cold first.
    pub mappings: Vec<MappingColdness>,
}

impl Coldness {
    /// Derives it from the mappings of a process, as read that long after its referenced bits were cleared. A file that
    /// was replaced while it was mapped counts together with the one that is there now.
    pub fn new(mappings: &[Mapping], since: Duration) -> Self {
        let mut all: Vec<MappingColdness> = Vec::with_capacity(mappings.len());
        let mut places: HashMap<_, usize> = HashMap::new();
        for mapping in mappings {
            let more = MappingColdness::new(mapping);
            match places.entry((more.kind, more.name.clone())) {
                Entry::Occupied(at) => all[*at.get()].add(&more),
                Entry::Vacant(free) => {
                    free.insert(all.len());
                    all.push(more);
                }
            }
        }
        order::sort_by(&mut all, |a, b| {
            b.cold()
                .cmp(&a.cold())
                .then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
        });
        let total = all
            .iter()
            .try_fold(Resident::default(), |sum, mapping| Ok(sum.plus(mapping.resident?)));
        Self {
            since,
            // Whoever has memory has mappings.
            total: if all.is_empty() { Err(Missing::Gone) } else { total },
            mappings: all,
        }
    }

    /// Returns the mapping in which a leak would be, if there is one: that of which most is cold, pages of files aside.
    pub fn coldest(&self) -> Option<(&MappingColdness, Resident)> {
        let mut leaky = self.mappings.iter().filter(|mapping| mapping.may_leak());
        leaky.find_map(|mapping| Some((mapping, mapping.resident.ok()?)))
    }

    /// Returns the mapping of that kind and name.
    pub fn mapping(&self, kind: MappingKind, name: &[u8]) -> Option<&MappingColdness> {
        self.mappings.iter().find(|m| m.kind == kind && *m.name == *name)
    }
}

/// A process whose referenced bits were cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The process.
    pub id: Identity,
    /// The number of the clearing: to clear again begins anew.
    pub number: u64,
}

/// The processes that the user asked about, and what was found of them last.
#[derive(Debug, Default)]
pub struct ColdnessTable {
    /// The one asked for last at the back.
    asked: VecDeque<Asked>,
    /// The number of clearings so far.
    clearings: u64,
}

#[derive(Debug)]
struct Asked {
    look: Look,
    /// Its program: another exec has other memory.
    exec: u32,
    found: Reading<Coldness>,
}

impl ColdnessTable {
    /// Takes in that the referenced bits of a process of the snapshot were cleared. Where too many are looked at, the
    /// one asked for first is forgotten.
    pub fn ask(&mut self, sample: &ProcessSample) {
        self.asked.retain(|asked| asked.look.id != sample.id);
        if self.asked.len() == MAX_ASKED {
            self.asked.pop_front();
        }
        self.clearings += 1;
        self.asked.push_back(Asked {
            look: Look {
                id: sample.id,
                number: self.clearings,
            },
            exec: sample.exec,
            found: Err(Missing::Pending),
        });
    }

    /// Takes in what was found of a process; it is of no use once its bits were cleared again.
    pub fn record(&mut self, look: Look, found: Reading<Coldness>) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.look == look) {
            asked.found = found;
        }
    }

    /// Forgets processes that are gone, or that run another program.
    pub fn retain_living(&mut self, snapshot: &Snapshot) {
        self.asked
            .retain(|asked| snapshot.row(asked.look.id).is_some_and(|row| row.exec == asked.exec));
    }

    /// Returns the processes to look at.
    pub fn looks(&self) -> impl Iterator<Item = Look> {
        self.asked.iter().map(|asked| asked.look)
    }

    /// Returns what was found of a process, or why nothing is known.
    pub fn get(&self, sample: &ProcessSample) -> Reading<&Coldness> {
        let asked = self.asked.iter().find(|asked| asked.look.id == sample.id);
        let asked = asked.filter(|asked| asked.exec == sample.exec);
        asked.map_or(Err(Missing::NotAsked), |asked| asked.found.as_ref().map_err(|why| *why))
    }
}
