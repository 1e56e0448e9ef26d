//! Finds the process or program below a limit that uses most memory, has grown most, or waits most.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::is_within;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::History;
use crate::model::unit::owned_path;
use crate::model::{Identity, Reading, Snapshot};

/// A program, a user or a kind of memory is named instead of one process if it has this many times as much.
const WHOLE_FACTOR: f64 = 1.5;
/// Minimum share of the growth of a program that one user must have to be named instead.
const NEARLY_ALL: f64 = 0.75;

/// The root of the cgroups, which has no limit. It is also what the kernel reports for a process that is ending (cgroup v1).
pub(super) const ROOT: &[u8] = b"/";

/// Whose limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOf<'a> {
    Machine,
    Cgroup(&'a [u8]),
    /// The limit of a cgroup that is not known. What grew elsewhere did not reach it.
    UnknownCgroup,
}

impl<'a> LimitOf<'a> {
    /// Returns the limit of a cgroup; that of the machine for the root and without a cgroup.
    pub fn of(cgroup: Option<&'a [u8]>) -> Self {
        let limited = cgroup.filter(|path| *path != ROOT);
        limited.map_or(Self::Machine, Self::Cgroup)
    }

    /// Returns the limit of the first cgroup that may have one.
    pub(super) fn first_of(cgroups: [Option<&'a [u8]>; 3]) -> Self {
        let mut limited = cgroups.into_iter().flatten().filter(|path| *path != ROOT);
        limited.next().map_or(Self::UnknownCgroup, Self::Cgroup)
    }

    pub const fn cgroup(self) -> Option<&'a [u8]> {
        match self {
            Self::Cgroup(path) => Some(path),
            Self::Machine | Self::UnknownCgroup => None,
        }
    }

    /// Returns true if the memory of a process in that cgroup counts towards the limit.
    pub fn covers(self, cgroup: &Reading<Arc<[u8]>>) -> bool {
        match self {
            Self::Machine => true,
            Self::Cgroup(above) => cgroup.as_ref().is_ok_and(|path| is_within(path, above)),
            Self::UnknownCgroup => false,
        }
    }
}

/// Returns the row with the highest value, the first of equal ones.
pub(super) fn most<K>(rows: impl Iterator<Item = (K, f64)>) -> Option<(K, f64)> {
    rows.reduce(|found, row| if row.1 > found.1 { row } else { found })
}

/// Returns the cgroups with the highest values, `most` at most, and `of_owner` of each [owner](owned_path): a user may have any number.
pub(super) fn fullest<'a>(
    all: impl Iterator<Item = (&'a Arc<[u8]>, f64)>,
    most: usize,
    of_owner: usize,
) -> HashSet<Arc<[u8]>> {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable_by(|(path, a), (other, b)| b.total_cmp(a).then_with(|| path.cmp(other)));
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut kept = HashSet::new();
    for (path, _) in all {
        let number = numbers.entry(owned_path(path)).or_default();
        *number += 1;
        if *number <= of_owner && kept.len() < most {
            kept.insert(Arc::clone(path));
        }
    }
    kept
}

impl History {
    /// Returns the row with the highest value, or the program, the user or the kind of memory with the highest sum if that is far higher. A sum
    /// that does not contain the row need only be higher if the row has not `enough`. `processes` are those whose growth counts.
    pub(super) fn most_of(
        &self,
        processes: &[(Identity, f64)],
        rows: impl Iterator<Item = (RowKey, f64)>,
        wholes: impl Iterator<Item = (RowKey, f64)>,
        enough: f64,
    ) -> Option<(RowKey, f64)> {
        let Some(mut found) = most(rows) else {
            return most(wholes);
        };
        let (own, others): (Vec<_>, Vec<_>) = wholes.partition(|(whole, _)| self.is_part(&found.0, whole, processes));
        if let Some(own) = most(own.into_iter()).filter(|(_, all)| *all > found.1 * WHOLE_FACTOR) {
            found = own;
        }
        let factor = if found.1 < enough { 1.0 } else { WHOLE_FACTOR };
        let other = most(others.into_iter()).filter(|(_, all)| *all > found.1 * factor);
        Some(other.unwrap_or(found))
    }

    /// Returns true if a process is of that program or user, or one of the processes is of both the program and the user.
    fn is_part(&self, one: &RowKey, whole: &RowKey, processes: &[(Identity, f64)]) -> bool {
        let RowKey::Group(whole) = whole else { return false };
        let is_in = |id: Identity, key: &GroupKey| match key.by {
            GroupBy::User => self.owner_name(id) == key.name.as_ref(),
            _ => self.command(id) == key.name,
        };
        match one {
            RowKey::Process(id) => is_in(*id, whole),
            RowKey::Group(key) => processes.iter().any(|(id, _)| is_in(*id, key) && is_in(*id, whole)),
            RowKey::Part(_) => false,
        }
    }

    /// Returns the name of the owner of a process, if it is known.
    pub(super) fn owner_name(&self, id: Identity) -> Option<&Arc<[u8]>> {
        self.processes.get(&id)?.facts.owner_name().ok()
    }

    /// Returns the user instead of a program if several users run it and nearly all of its growth is in processes of one of them: anyone
    /// can run a program of that name. `processes` are those whose growth counts.
    pub(super) fn user_or(&self, key: RowKey, processes: &[(Identity, f64)]) -> RowKey {
        let RowKey::Group(GroupKey {
            by: GroupBy::Command,
            name: Some(program),
        }) = &key
        else {
            return key;
        };
        let mut users: BTreeMap<&Arc<[u8]>, f64> = BTreeMap::new();
        for (id, grown) in processes {
            if let Some(user) = self.owner_name(*id)
                && self.command(*id).is_some_and(|name| name == *program)
            {
                *users.entry(user).or_default() += grown.max(0.0);
            }
        }
        let all: f64 = users.values().sum();
        match most(users.iter().map(|(user, grown)| (*user, *grown))) {
            Some((user, grown)) if users.len() > 1 && grown >= all * NEARLY_ALL => RowKey::Group(GroupKey {
                by: GroupBy::User,
                name: Some(Arc::clone(user)),
            }),
            _ => key,
        }
    }

    /// Returns the growth of each program, or of each user, over `span`, without that of pages of files of its living processes.
    pub(super) fn sums_taken(&self, snapshot: &Snapshot, by: GroupBy, span: Duration) -> Vec<(RowKey, f64)> {
        let mut files: HashMap<Arc<[u8]>, f64> = HashMap::new();
        for id in snapshot.rows().iter().map(|sample| sample.id) {
            let of_files = self
                .get(id)
                .map(|row| row.footprint().change_over(span) - row.taken_over(span));
            let name = || match by {
                GroupBy::User => self.owner_name(id).cloned(),
                _ => self.command(id),
            };
            if let Some(bytes) = of_files.filter(|bytes| *bytes > 0.0)
                && let Some(name) = name()
            {
                *files.entry(name).or_default() += bytes;
            }
        }
        let taken = self.groups_by(by).map(|(name, row)| {
            let of_files = name.and_then(|name| files.get(name)).copied().unwrap_or(0.0);
            let name = name.cloned();
            (
                RowKey::Group(GroupKey { by, name }),
                row.footprint().change_over(span) - of_files,
            )
        });
        taken.collect()
    }
}
