//! Quotas of which the owners of cgroups cannot use up the machine's half, nor one of them what is left to the others.

use crate::history::dangers::MACHINE;

/// Maximum number of places of one owner.
const MOST_OF_OWNER: usize = 2;

/// Returns true if an [owner](crate::history::dangers::Limit::owner) may have one more of `most` places, of which these owners have some.
pub(super) fn has_room<'a>(taken: impl Iterator<Item = &'a [u8]>, owner: &[u8], most: usize) -> bool {
    let taken: Vec<_> = taken.collect();
    let of_others = taken.iter().filter(|other| **other != MACHINE).count();
    let own = taken.iter().filter(|other| **other == owner).count();
    taken.len() < most && (owner == MACHINE || (of_others < most / 2 && own < MOST_OF_OWNER))
}
