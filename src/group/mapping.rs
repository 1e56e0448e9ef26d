//! Sums of areas and mappings.

use std::collections::HashMap;

use crate::model::mapping::{Area, Extent, Mapping, MappingName};
use crate::model::memory::Memory;
use crate::model::reading::{Missing, Reading};

/// Merges areas by name, in the order of their first areas.
#[derive(Debug, Default)]
pub struct MappingMerge {
    by_name: HashMap<MappingName, usize>,
    pub mappings: Vec<Mapping>,
    /// The index of the mapping last added to: a library's areas come one after another.
    pub last: Option<usize>,
}

impl Extend<Area> for MappingMerge {
    fn extend<I: IntoIterator<Item = Area>>(&mut self, areas: I) {
        areas.into_iter().for_each(|area| self.area(&area));
    }
}

impl MappingMerge {
    pub fn area(&mut self, area: &Area) {
        self.add(&area.name, 1, &area.memory, &area.extent);
    }

    /// Adds areas that are already merged.
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
}

/// The number of areas, their memory and their extent.
pub type Summand<'a> = (u64, Reading<&'a Memory>, Reading<&'a Extent>);

/// Sums areas or mappings. The memory is `Err` if none could be read.
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
