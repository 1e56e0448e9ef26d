//! Sums of areas and mappings: by name, and over all.

use std::collections::HashMap;

use crate::model::mapping::{Area, Extent, Mapping, MappingName};
use crate::model::memory::Memory;
use crate::model::reading::{Missing, Reading};

/// Merges areas of one name as they come.
#[derive(Debug, Default)]
pub struct MappingMerge {
    /// By name: a process has few names for its many areas.
    by_name: HashMap<MappingName, usize>,
    mappings: Vec<Mapping>,
    /// The place of the last one: the areas of a library come one after another.
    last: Option<usize>,
}

impl Extend<Area> for MappingMerge {
    fn extend<I: IntoIterator<Item = Area>>(&mut self, areas: I) {
        areas.into_iter().for_each(|area| self.area(&area));
    }
}

impl MappingMerge {
    /// Adds one area.
    pub fn area(&mut self, area: &Area) {
        self.add(&area.name, 1, &area.memory, &area.extent);
    }

    /// Adds areas that are merged already.
    pub fn mapping(&mut self, m: &Mapping) {
        self.add(&m.name, m.areas, &m.memory, &m.extent);
    }

    fn add(&mut self, name: &MappingName, areas: u64, memory: &Reading<Memory>, extent: &Reading<Extent>) {
        let at = match self.last {
            Some(at) if self.mappings[at].name == *name => at,
            _ => *self.by_name.entry(name.clone()).or_insert_with(|| {
                self.mappings.push(Mapping::new(name.clone()));
                self.mappings.len() - 1
            }),
        };
        self.last = Some(at);
        self.mappings[at].add(areas, memory, extent);
    }

    /// Returns the place in [`MappingMerge::finish`] of the mapping last added to.
    pub const fn last(&self) -> Option<usize> {
        self.last
    }

    /// Returns the mappings, in the order in which their names first came.
    pub fn finish(self) -> Vec<Mapping> {
        self.mappings
    }
}

/// The number of areas, their memory, and their size and the rest.
pub type Summand<'a> = (u64, Reading<&'a Memory>, Reading<&'a Extent>);

/// Sums areas or mappings, as far as they could be read. `Err` where there are none, or none could.
pub fn total<'a>(all: impl IntoIterator<Item = Summand<'a>>) -> (u64, Reading<Memory>, Extent) {
    let mut areas: u64 = 0;
    let mut sum: Reading<Memory> = Err(Missing::Pending);
    let mut extent = Extent::NONE;
    for (count, memory, more) in all {
        sum = match (sum, memory) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(more);
                Ok(sum)
            }
            (Ok(known), Err(_)) => Ok(known),
            (Err(_), Ok(known)) => Ok(*known),
            (Err(_), Err(why)) => Err(why),
        };
        if let Ok(more) = more {
            extent.add(more);
        }
        areas = areas.saturating_add(count);
    }
    (areas, sum, extent)
}
