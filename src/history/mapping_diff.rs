//! The difference between the mappings of one process at two moments.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::model::mapping::{Mapping, MappingKind};
use crate::model::memory::Memory;
use crate::model::reading::Reading;
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
