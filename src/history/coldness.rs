//! Hot and cold memory: that which a process touched since its referenced bits were cleared, because the user asked, and
//! the rest.
//!
//! A page table notes of each page that it was touched, and `/proc/<pid>/clear_refs` takes these notes back. What
//! `Referenced` in `smaps` shows after that was touched since: it is *hot*, the rest of what is resident is *cold*. Leaked
//! memory is never touched again; a cache is, sooner or later. What the figures mean exactly:
//!
//! - They are of whole pages (RSS, not PSS), and of touches by **this process**: another one that shares a page has notes
//!   of its own. A page of a file may count as hot because others read the file. What is cold here can be hot elsewhere.
//! - A transparent huge page has one note: one touch makes 2 MiB hot.
//! - What is swapped out is not resident, so neither.
//! - A kernel that is short of memory takes such notes back itself, which makes pages look colder than they are. So may a
//!   processor that still holds the page's address, until it forgets it, which is soon where more than one program runs.
//! - Pages that were mapped since count as hot, so an exec in between makes nothing cold.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::model::mapping::{Mapping, MappingKind};
use crate::model::{Identity, Missing, ProcessSample, Reading, Snapshot};
use crate::order;

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
