//! Finds the process or program below a limit that uses most memory, has grown most, or waits most.

use std::sync::Arc;

use crate::account::headroom::is_within;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::{History, RowHistory};
use crate::model::Reading;

/// A program is named instead of one process if it has this many times as much.
const PROGRAM_FACTOR: f64 = 1.5;

/// Returns true if a process in that cgroup is below the cgroup `above`; always if that is `None`, for the machine.
pub(super) fn is_below(cgroup: &Reading<Arc<[u8]>>, above: Option<&[u8]>) -> bool {
    above.is_none_or(|above| cgroup.as_ref().is_ok_and(|path| is_within(path, above)))
}

/// Returns the row with the highest value, the first of equal ones.
pub(super) fn most<K>(rows: impl Iterator<Item = (K, f64)>) -> Option<(K, f64)> {
    rows.reduce(|found, row| if row.1 > found.1 { row } else { found })
}

/// Returns the process with the highest value, or its program if the program's sum is far higher.
pub(super) fn most_of(
    processes: impl Iterator<Item = (RowKey, f64)>,
    programs: impl Iterator<Item = (RowKey, f64)>,
) -> Option<(RowKey, f64)> {
    match (most(processes), most(programs)) {
        (Some((_, one)), Some((key, all))) if all > one * PROGRAM_FACTOR => Some((key, all)),
        (None, program) => program,
        (process, _) => process,
    }
}

impl History {
    /// Returns the sum of each program.
    pub(super) fn programs<'a>(
        &'a self,
        measure: impl Fn(&RowHistory) -> f64 + 'a,
    ) -> impl Iterator<Item = (RowKey, f64)> + 'a {
        let by = GroupBy::Command;
        self.groups_by(by).map(move |(name, row)| {
            let name = name.cloned();
            (RowKey::Group(GroupKey { by, name }), measure(row))
        })
    }
}
