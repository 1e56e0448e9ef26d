//! The mappings of one process: their growth between two moments, and their hot and cold memory.
//!
//! The kernel sets a referenced bit when a page is touched, and `/proc/<pid>/clear_refs` clears these bits.
//! `Referenced` in `smaps` then counts what was touched since: it is *hot*, and the rest of the resident memory is
//! *cold*. Leaked memory is never touched again; a cache is, sooner or later. The exact meaning of the figures:
//!
//! - They count whole pages (RSS, not PSS) and touches by **this process**: each process that shares a page has its own
//!   bit. A file's page may count as hot because others read the file. Memory that is cold here can be hot elsewhere.
//! - A transparent huge page has one bit: one touch makes 2 MiB hot.
//! - Swapped-out memory is not resident, so it is neither.
//! - A kernel that is short of memory clears the bits itself, so pages look colder than they are. So may a processor
//!   that still caches the page's address; it soon drops it if it runs more than one program.
//! - Pages mapped since the clearing count as hot, so an exec in between makes nothing cold.

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

/// The figures of a mapping, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingFigures {
    pub pss: u64,
    pub rss: u64,
    pub swap: u64,
}

impl MappingFigures {
    const fn of(memory: &Memory) -> Self {
        Self {
            pss: memory.pss,
            rss: memory.rss,
            swap: memory.swap,
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            pss: self.pss.saturating_add(other.pss),
            rss: self.rss.saturating_add(other.rss),
            swap: self.swap.saturating_add(other.swap),
        }
    }
}

/// All areas of one name and kind at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingTotal {
    pub kind: MappingKind,
    /// Raw.
    pub name: Arc<[u8]>,
    /// PSS + `SwapPss` in bytes; PSS + `Swap` if the kernel has no `SwapPss` (before Linux 4.3).
    pub footprint: Reading<u64>,
    pub figures: Reading<MappingFigures>,
    pub areas: u64,
}

/// The mappings of one process at one moment, summed by name and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingTotals(Vec<MappingTotal>);

impl MappingTotals {
    /// Sums mappings by name and kind. A file that was removed or replaced while mapped has the name of its successor,
    /// so their areas are summed.
    pub fn of(mappings: &[Mapping]) -> Self {
        let total = |mapping: &Mapping| MappingTotal {
            kind: mapping.name.kind,
            name: mapping.name.bytes.clone(),
            footprint: mapping.memory.as_ref().map(footprint).map_err(|e| *e),
            figures: mapping.memory.as_ref().map(MappingFigures::of).map_err(|e| *e),
            areas: mapping.areas,
        };
        Self(sum_by_name(mappings, total, |sum, total| {
            sum.areas = sum.areas.saturating_add(total.areas);
            sum.figures = sum.figures.and_then(|sum| Ok(sum.plus(total.figures?)));
            sum.footprint = sum.footprint.and_then(|sum| Ok(sum.saturating_add(total.footprint?)));
        }))
    }

    /// Returns the sums in the order of the mappings.
    pub fn all(&self) -> &[MappingTotal] {
        &self.0
    }
}

/// Maps areas, and adds up areas of the same name and kind, in the order in which they first appear.
fn sum_by_name<T>(areas: &[Mapping], map: impl Fn(&Mapping) -> T, add: impl Fn(&mut T, &T)) -> Vec<T> {
    let mut sums: Vec<T> = Vec::with_capacity(areas.len());
    let mut places: HashMap<(MappingKind, &[u8]), usize> = HashMap::new();
    for area in areas {
        match places.entry((area.name.kind, &area.name.bytes)) {
            Entry::Occupied(at) => add(&mut sums[*at.get()], &map(area)),
            Entry::Vacant(free) => {
                free.insert(sums.len());
                sums.push(map(area));
            }
        }
    }
    sums
}

fn footprint(memory: &Memory) -> u64 {
    memory
        .footprint()
        .unwrap_or_else(|_| memory.pss.saturating_add(memory.swap))
}

/// The moments at which a mapping existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Both,
    /// Only the later one: its growth counts from 0.
    New,
    /// Only the earlier one: its footprint is 0 now.
    Gone,
}

/// Share of the growth of a process, as a divisor, that the growth of a mapping must have to be where the process grows.
const MIN_SHARE: f64 = 4.0;

/// A mapping at two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingGrowth {
    pub kind: MappingKind,
    /// Raw.
    pub name: Arc<[u8]>,
    /// Its footprint at the earlier moment, in bytes.
    pub before: Reading<u64>,
    /// Its footprint at the later moment, in bytes.
    pub now: Reading<u64>,
    /// Its figures at the later moment.
    pub figures: Reading<MappingFigures>,
    /// The number of areas at the later moment; at the earlier one if it is gone.
    pub areas: u64,
    pub presence: Presence,
}

impl MappingGrowth {
    fn new(total: &MappingTotal, before: Reading<u64>, now: Reading<u64>, presence: Presence) -> Self {
        Self {
            kind: total.kind,
            name: total.name.clone(),
            before,
            now,
            figures: match presence {
                Presence::Gone => Ok(MappingFigures::default()),
                Presence::Both | Presence::New => total.figures,
            },
            areas: total.areas,
            presence,
        }
    }

    /// Returns its growth in bytes; `None` if either footprint is unknown.
    pub fn growth(&self) -> Option<i64> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(signed(self.now.ok()?) - signed(self.before.ok()?))
    }

    /// Returns true if its growth in that time is enough for the growth of a process at `slope` bytes per second to be in it.
    /// Live objects may grow within a heap of constant size, and anonymous copies replace pages of a file.
    pub fn explains(&self, slope: f64, time: Duration) -> bool {
        self.growth()
            .is_some_and(|grown| grown > 0 && grown as f64 >= slope * time.as_secs_f64() / MIN_SHARE)
    }
}

/// Compares the mappings of two moments. Sorts by growth, the fastest first and unknown growth last; with equal
/// growth, the larger one first.
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
        // Finally by name, as hash tables iterate in random order.
        key(a)
            .cmp(&key(b))
            .then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
    });
    all
}

/// Returns the sum of the known growths, in bytes.
pub fn total_growth(rows: &[MappingGrowth]) -> i64 {
    rows.iter()
        .filter_map(MappingGrowth::growth)
        .fold(0, i64::saturating_add)
}

/// Maximum number of processes whose coldness is read: each needs a read of `smaps` a minute.
pub const MAX_ASKED: usize = 16;

/// Whole resident pages, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    pub rss: u64,
    /// The touched part.
    pub hot: u64,
}

impl Resident {
    pub const fn cold(self) -> u64 {
        self.rss.saturating_sub(self.hot)
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            rss: self.rss.saturating_add(other.rss),
            hot: self.hot.saturating_add(other.hot),
        }
    }

    /// Returns the cold share; 0 if nothing is resident.
    pub fn cold_share(self) -> f64 {
        if self.rss == 0 {
            0.0
        } else {
            self.cold() as f64 / self.rss as f64
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingColdness {
    pub kind: MappingKind,
    /// Raw.
    pub name: Arc<[u8]>,
    /// The address space, in bytes.
    pub size: Reading<u64>,
    pub resident: Reading<Resident>,
}

impl MappingColdness {
    fn new(mapping: &Mapping) -> Self {
        let resident = |mapping: &Mapping| {
            let rss = mapping.memory?.rss;
            // No more than what is resident can have been touched.
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

    /// Returns the cold bytes, or 0 if unknown.
    fn cold(&self) -> u64 {
        self.resident.map_or(0, Resident::cold)
    }

    /// Returns true if it may contain a leak: it is not pages of a file.
    const fn may_leak(&self) -> bool {
        use MappingKind::{Anon, Heap, Named, Shared, Stack};
        matches!(self.kind, Anon | Heap | Named | Shared | Stack)
    }
}

/// The hot and cold memory of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coldness {
    /// Time from the clearing to the reading: cold memory was not touched for this long.
    pub since: Duration,
    /// The sum of all mappings; unknown if one is.
    pub total: Reading<Resident>,
    /// The mappings, the coldest first.
    pub mappings: Vec<MappingColdness>,
}

impl Coldness {
    /// Derives it from the mappings as read `since` after their referenced bits were cleared. A file that was replaced
    /// while mapped is summed with its successor.
    pub fn new(mappings: &[Mapping], since: Duration) -> Self {
        let mut all = sum_by_name(mappings, MappingColdness::new, MappingColdness::add);
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
            // A process without mappings is gone.
            total: if all.is_empty() { Err(Missing::Gone) } else { total },
            mappings: all,
        }
    }

    /// Returns the mapping with the most cold memory that may contain a leak.
    pub fn coldest(&self) -> Option<(&MappingColdness, Resident)> {
        let mut leaky = self.mappings.iter().filter(|mapping| mapping.may_leak());
        leaky.find_map(|mapping| Some((mapping, mapping.resident.ok()?)))
    }

    pub fn mapping(&self, kind: MappingKind, name: &[u8]) -> Option<&MappingColdness> {
        self.mappings.iter().find(|m| m.kind == kind && *m.name == *name)
    }
}

/// A process whose referenced bits were cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub id: Identity,
    /// The number of the clearing; clearing again starts a new measurement.
    pub number: u64,
}

/// The processes whose coldness the user requested, and the last results.
#[derive(Debug, Default)]
pub struct ColdnessTable {
    /// The latest request at the back.
    asked: VecDeque<Asked>,
    /// The number of clearings so far.
    clearings: u64,
}

#[derive(Debug)]
struct Asked {
    look: Look,
    /// Its exec at that time. Another exec has other memory.
    exec: u32,
    found: Reading<Coldness>,
}

impl ColdnessTable {
    /// Records that the referenced bits of a process were cleared. If there are too many processes, drops the oldest.
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

    /// Records a result, unless the bits were cleared again.
    pub fn record(&mut self, look: Look, found: Reading<Coldness>) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.look == look) {
            asked.found = found;
        }
    }

    /// Drops processes that ended or ran exec.
    pub fn retain_living(&mut self, snapshot: &Snapshot) {
        self.asked
            .retain(|asked| snapshot.row(asked.look.id).is_some_and(|row| row.exec == asked.exec));
    }

    /// Returns the processes to read.
    pub fn looks(&self) -> impl Iterator<Item = Look> {
        self.asked.iter().map(|asked| asked.look)
    }

    /// Returns the last result for a process.
    pub fn get(&self, sample: &ProcessSample) -> Reading<&Coldness> {
        let asked = self.asked.iter().find(|asked| asked.look.id == sample.id);
        let asked = asked.filter(|asked| asked.exec == sample.exec);
        asked.map_or(Err(Missing::NotAsked), |asked| asked.found.as_ref().map_err(|why| *why))
    }
}
