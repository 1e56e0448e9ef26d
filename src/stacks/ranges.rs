//! Values by the range of addresses to which they belong.

use std::collections::BTreeMap;
use std::ops::Range;

/// A map of ranges that do not overlap. A look-up takes the same time for one range and nearly so for thousands: processes
/// choose the number of their mappings.
pub struct Ranges<T> {
    /// By the start of the range, with its end.
    by_start: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self {
            by_start: BTreeMap::new(),
        }
    }
}

impl<T> Ranges<T> {
    /// The most ranges of a map. Few programs have more than a thousand mappings of code.
    pub const MAX: usize = 1 << 14;

    /// Returns the value of the range that contains the address.
    pub fn at(&self, address: u64) -> Option<&T> {
        let (_, (end, value)) = self.by_start.range(..=address).next_back()?;
        (address < *end).then_some(value)
    }

    /// Returns true if it has exactly this range.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        self.by_start
            .get(&range.start)
            .is_some_and(|(end, _)| *end == range.end)
    }

    /// Returns true if there is room for the range, or it replaces one. There is none for an empty range.
    pub fn has_room_for(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && (self.by_start.len() < Self::MAX || self.overlapping(range).is_some())
    }

    /// Adds a range in place of those that it overlaps, and calls `removed` with the start of each of them. Leaves it out if there
    /// is no room for it.
    pub fn insert(&mut self, range: &Range<u64>, value: T, mut removed: impl FnMut(u64)) {
        if !self.has_room_for(range) {
            return;
        }
        while let Some(start) = self.overlapping(range) {
            self.by_start.remove(&start);
            removed(start);
        }
        self.by_start.insert(range.start, (range.end, value));
    }

    /// Returns the start of the last range that overlaps this one.
    fn overlapping(&self, range: &Range<u64>) -> Option<u64> {
        let (start, (end, _)) = self.by_start.range(..range.end).next_back()?;
        (*end > range.start).then_some(*start)
    }
}
