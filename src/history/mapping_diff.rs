//! What grew: the mappings of one process at two moments, beside each other.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::model::mapping::{Mapping, MappingKind};
use crate::model::memory::Memory;
use crate::model::reading::Reading;

/// What the areas of one name held together at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingTotal {
    /// What they are.
    pub kind: MappingKind,
    /// What they are called, raw.
    pub name: Arc<[u8]>,
    /// PSS and `SwapPss` in bytes, PSS and `Swap` where the kernel gives no `SwapPss` (before Linux 4.3);
    /// or why that is unknown.
    pub footprint: Reading<u64>,
    /// How many areas.
    pub areas: u64,
}

/// The mappings of one process at one moment, no more of them than is compared: each kind and name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingTotals(Vec<MappingTotal>);

impl MappingTotals {
    /// Counts these mappings. A file that was removed or replaced while it was mapped is the file of that
    /// name still: its areas count together with those of the file that is there now.
    pub fn of(mappings: &[Mapping]) -> Self {
        let mut places: HashMap<(MappingKind, &[u8]), usize> = HashMap::new();
        let mut all: Vec<MappingTotal> = Vec::with_capacity(mappings.len());
        for mapping in mappings {
            let footprint = mapping.memory.as_ref().map(footprint).map_err(|e| *e);
            let name = &mapping.name;
            if let Some(at) = places.get(&(name.kind, &*name.bytes)) {
                let held = &mut all[*at];
                held.areas = held.areas.saturating_add(mapping.areas);
                held.footprint = match (held.footprint, footprint) {
                    (Ok(a), Ok(b)) => Ok(a.saturating_add(b)),
                    (Err(e), _) | (_, Err(e)) => Err(e),
                };
                continue;
            }
            places.insert((name.kind, &name.bytes), all.len());
            all.push(MappingTotal {
                kind: name.kind,
                name: name.bytes.clone(),
                footprint,
                areas: mapping.areas,
            });
        }
        Self(all)
    }

    /// What it counted, in the order in which the names came.
    pub fn all(&self) -> &[MappingTotal] {
        &self.0
    }
}

fn footprint(memory: &Memory) -> u64 {
    memory
        .footprint()
        .unwrap_or_else(|_| memory.pss.saturating_add(memory.swap))
}

/// Whether a mapping was there at both moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It was.
    Both,
    /// Only at the later one: it counts from nothing.
    New,
    /// Only at the earlier one: it holds nothing any more.
    Gone,
}

/// One mapping at two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingGrowth {
    /// What it is.
    pub kind: MappingKind,
    /// What it is called, raw.
    pub name: Arc<[u8]>,
    /// Its footprint at the earlier moment, in bytes.
    pub before: Reading<u64>,
    /// Its footprint at the later one.
    pub now: Reading<u64>,
    /// How many areas it has at the later one; of one that is gone, how many it had.
    pub areas: u64,
    /// Whether it was there both times.
    pub presence: Presence,
}

impl MappingGrowth {
    /// By how many bytes it grew; `None` where one of the two is unknown.
    pub fn growth(&self) -> Option<i64> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(signed(self.now.ok()?) - signed(self.before.ok()?))
    }
}

/// Each mapping of either moment, the one that grew most first and the one that shrank most last, but for
/// those of which that is unknown; of equal growth the larger one first.
pub fn diff(before: &MappingTotals, now: &MappingTotals) -> Vec<MappingGrowth> {
    let mut then: HashMap<(MappingKind, &[u8]), &MappingTotal> =
        before.0.iter().map(|h| ((h.kind, &*h.name), h)).collect();
    let made = |held: &MappingTotal, before, now, presence| MappingGrowth {
        kind: held.kind,
        name: held.name.clone(),
        before,
        now,
        areas: held.areas,
        presence,
    };
    let mut all: Vec<MappingGrowth> = now
        .0
        .iter()
        .map(|held| match then.remove(&(held.kind, &*held.name)) {
            Some(old) => made(held, old.footprint, held.footprint, Presence::Both),
            None => made(held, Ok(0), held.footprint, Presence::New),
        })
        .collect();
    all.extend(
        then.into_values()
            .map(|held| made(held, held.footprint, Ok(0), Presence::Gone)),
    );
    all.sort_by(|a, b| {
        let key = |g: &MappingGrowth| Reverse((g.growth(), g.now.unwrap_or(0)));
        key(a)
            .cmp(&key(b))
            .then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
    });
    all
}

/// By how many bytes the whole grew: the sum of what is known.
pub fn total_growth(rows: &[MappingGrowth]) -> i64 {
    rows.iter()
        .filter_map(MappingGrowth::growth)
        .fold(0, i64::saturating_add)
}
