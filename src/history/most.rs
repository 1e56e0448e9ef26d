//! Finds the process or program below a limit that uses most memory, has grown most, or waits most.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::is_within;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::victims::EndedProcess;
use crate::history::{History, RowHistory};
use crate::model::unit::owned_path;
use crate::model::{Identity, ProcessSample, Reading};

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
        let containing = self.groups_with(&found.0, processes);
        let is_own = |(whole, _): &(RowKey, f64)| matches!(whole, RowKey::Group(key) if containing.contains(key));
        let (own, others): (Vec<_>, Vec<_>) = wholes.partition(is_own);
        if let Some(own) = most(own.into_iter()).filter(|(_, all)| *all > found.1 * WHOLE_FACTOR) {
            found = own;
        }
        let factor = if found.1 < enough { 1.0 } else { WHOLE_FACTOR };
        let other = most(others.into_iter()).filter(|(_, all)| *all > found.1 * factor);
        Some(other.unwrap_or(found))
    }

    /// Returns the program and the user of a process; of a program, the users of its processes.
    fn groups_with(&self, row: &RowKey, processes: &[(Identity, f64)]) -> HashSet<GroupKey> {
        let group = |by| move |name| GroupKey { by, name: Some(name) };
        let user = |id: Identity| self.name_of(id, GroupBy::User).map(group(GroupBy::User));
        match row {
            RowKey::Process(id) => self
                .name_of(*id, GroupBy::Command)
                .map(group(GroupBy::Command))
                .into_iter()
                .chain(user(*id))
                .collect(),
            RowKey::Group(key) if key.by == GroupBy::Command => {
                let members = processes
                    .iter()
                    .filter(|(id, _)| self.name_of(*id, GroupBy::Command) == key.name);
                members.filter_map(|(id, _)| user(*id)).collect()
            }
            RowKey::Group(key) => HashSet::from([key.clone()]),
            RowKey::Part(_) => HashSet::new(),
        }
    }

    /// Returns those programs and users of `processes` that also have processes among `outside`, or of whose held memory only a part is known,
    /// as a process has a heap.
    pub(super) fn groups_of<'a>(
        &self,
        outside: impl Iterator<Item = &'a ProcessSample>,
        processes: &[(Identity, f64)],
    ) -> HashSet<GroupKey> {
        let names = |id| [GroupBy::Command, GroupBy::User].map(|by| (by, self.name_of(id, by)));
        let counted: HashSet<_> = processes.iter().flat_map(|(id, _)| names(*id)).collect();
        let has_heap = |id: &Identity| self.get(*id).is_some_and(RowHistory::has_heap);
        let heaps = processes.iter().map(|(id, _)| *id).filter(has_heap);
        let shared = outside
            .map(|row| row.id)
            .chain(heaps)
            .flat_map(names)
            .filter(|group| counted.contains(group));
        shared.map(|(by, name)| GroupKey { by, name }).collect()
    }

    /// Returns the growth of a program or a user over `span`, in bytes, in which members that ended count against those that came. `None` if
    /// it is [`partial`](Self::groups_of), or unknown.
    pub(super) fn group_growth(&self, key: &GroupKey, partial: &HashSet<GroupKey>, span: Duration) -> Option<f64> {
        let row = self.group(key).filter(|_| !partial.contains(key))?;
        let start = row.footprint().start()?;
        // It had no memory before, unless the history began with it.
        let is_new = start + span > row.footprint().now() && self.first.is_some_and(|first| start > first);
        Some(if is_new {
            row.newest_taken() as f64
        } else {
            row.taken_over(span)
        })
    }

    /// Returns the memory that processes of a program or a user had which are older than `from` and ended since, in bytes.
    pub(super) fn lost_by_ended(
        &self,
        key: &GroupKey,
        from: Duration,
        is_counted: impl Fn(&EndedProcess) -> bool,
    ) -> f64 {
        let ended = self
            .kill_watch
            .ended_since(from)
            .filter(|ended| ended.is_older_than(from));
        let ended = ended.filter(|ended| ended.name(key.by) == key.name.as_ref() && is_counted(ended));
        ended.map(|ended| ended.victim.footprint as f64).sum()
    }

    /// Returns the name of the program, or of the owner, of a process that lives or ended lately.
    pub(super) fn name_of(&self, id: Identity, by: GroupBy) -> Option<Arc<[u8]>> {
        let living = match by {
            GroupBy::User => self.owner_name(id).cloned(),
            _ => self.command(id),
        };
        living.or_else(|| self.kill_watch.ended(id)?.name(by).cloned())
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
        let mut users: BTreeMap<Arc<[u8]>, f64> = BTreeMap::new();
        for (id, grown) in processes {
            if let Some(user) = self.name_of(*id, GroupBy::User)
                && self.name_of(*id, GroupBy::Command).is_some_and(|name| name == *program)
            {
                *users.entry(user).or_default() += grown.max(0.0);
            }
        }
        let (number, all) = (users.len(), users.values().sum::<f64>());
        match most(users.into_iter()) {
            Some((user, grown)) if number > 1 && grown >= all * NEARLY_ALL => RowKey::Group(GroupKey {
                by: GroupBy::User,
                name: Some(user),
            }),
            _ => key,
        }
    }
}
