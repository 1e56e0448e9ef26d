//! Finds the process or program below a limit that uses most memory, has grown most, or waits most.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::is_within;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::victims::EndedProcess;
use crate::history::{History, RowHistory};
use crate::model::process::Facts;
use crate::model::snapshot::Snapshot;
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
    Unknown,
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
        limited.next().map_or(Self::Unknown, Self::Cgroup)
    }

    pub const fn cgroup(self) -> Option<&'a [u8]> {
        match self {
            Self::Cgroup(path) => Some(path),
            Self::Machine | Self::Unknown => None,
        }
    }

    /// Returns true if the memory of a process in that cgroup counts towards the limit.
    pub fn covers(self, cgroup: &Reading<Arc<[u8]>>) -> bool {
        match self {
            Self::Machine => true,
            Self::Cgroup(above) => cgroup.as_ref().is_ok_and(|path| is_within(path, above)),
            Self::Unknown => false,
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

/// The growth of a process over a span, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    pub(super) id: Identity,
    /// All of it, as it counts in sums.
    pub(super) all: f64,
    /// The part that took memory: what a fork shares did not, nor what took the place of memory that others gave back.
    pub(super) own: f64,
    /// That part with what took the place of memory that others gave back.
    pub(super) gross: f64,
}

/// The growth below a limit over a span.
pub(super) struct GrowthBelow<'a, V> {
    pub(super) limit: LimitOf<'a>,
    /// The begin of the span, and its duration.
    pub(super) from: Duration,
    pub(super) span: Duration,
    pub(super) processes: &'a [Grown],
    /// The programs and users that have other processes, too.
    pub(super) partial: &'a HashSet<GroupKey>,
    /// All growth, at most, in bytes.
    pub(super) bound: f64,
    /// Minimum growth of the row that is named, in bytes.
    pub(super) enough: f64,
    /// Returns true for an ended process whose memory was in use until the end of the span.
    pub(super) is_victim: V,
}

/// What gave back memory, or took it: the name, the cgroup and the user of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place<'a>(&'a [u8], Option<&'a [u8]>, Option<&'a [u8]>);

impl<'a> Place<'a> {
    fn of(facts: &'a Facts) -> Self {
        let (cgroup, owner) = (facts.cgroup.as_deref().ok(), facts.owner_name().ok());
        Self(&facts.comm, cgroup, owner.map(|owner| &**owner))
    }
}

/// Memory that was given back, and the most that one process gave back, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct GivenBack {
    bytes: f64,
    largest: f64,
}

/// Returns the memory that only this process has, or that is in swap, in bytes; of one whose memory is hidden, its anonymous memory without
/// that of its parent, if it is a fork; `u64::MAX` if it is unknown.
pub(crate) fn own_memory(sample: &ProcessSample, snapshot: &Snapshot) -> u64 {
    if let Ok(memory) = sample.memory() {
        return memory.uss().saturating_add(memory.swap_pss.unwrap_or(0));
    }
    let anon = |sample: &ProcessSample| Some(sample.counted_anon()?.saturating_add(sample.counted_swap()?));
    let is_fork = |parent: &&ProcessSample| {
        let (one, other) = (&parent.facts, &sample.facts);
        (&one.comm, &one.cmdline) == (&other.comm, &other.cmdline)
    };
    let parent = snapshot.parent(sample).filter(is_fork);
    let of_parent = parent.and_then(anon).unwrap_or(0);
    anon(sample).map_or(u64::MAX, |anon| anon.saturating_sub(of_parent))
}

impl History {
    /// Returns the growth of those processes over `span`. Returns nothing for those with the memory of an earlier one (`CLONE_VM`).
    pub(super) fn grown(
        &self,
        snapshot: &Snapshot,
        span: Duration,
        is_counted: impl Fn(&ProcessSample) -> bool,
        is_victim: impl Fn(&EndedProcess) -> bool,
    ) -> Vec<Grown> {
        let from = self.begin_of(snapshot.monotonic, span);
        let mut given_back = self.given_back(from, is_victim);
        let (mut all, mut new) = (Vec::new(), Vec::new());
        for sample in snapshot.rows().iter().filter(|sample| is_counted(sample)) {
            let is_same = |first: Identity| self.get(first).is_some();
            let Some(row) = self.get(sample.id).filter(|_| !sample.shares_mm.is_some_and(is_same)) else {
                continue;
            };
            // A new process had no memory before.
            let is_new = self.new_at(sample.id).is_some_and(|at| at >= from);
            let grown = if is_new {
                let own = own_memory(sample, snapshot) as f64;
                let taken = row.newest_taken() as f64;
                let grown = taken.min(own);
                let place = Place::of(&sample.facts);
                if given_back.contains_key(&place) {
                    new.push((grown, all.len(), place));
                }
                [if sample.memory().is_ok() { taken } else { grown }, grown]
            } else {
                [row.taken_over(span); 2]
            };
            let [grown, own] = grown;
            all.push(Grown {
                id: sample.id,
                all: grown,
                own,
                gross: own,
            });
        }
        // Each takes the place of one at most: what is more than that is growth.
        new.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        for (own, at, place) in new {
            if let Some(back) = given_back.get_mut(&place) {
                let part = own.min(back.largest).min(back.bytes);
                back.bytes -= part;
                all[at].own -= part;
            }
        }
        all
    }

    /// Returns the begin of a span that ends now: not before that of the history.
    pub(super) fn begin_of(&self, now: Duration, span: Duration) -> Duration {
        now.saturating_sub(span).max(self.first.unwrap_or_default())
    }

    /// Returns the memory that processes gave back since `from` which are older, by program, cgroup and user.
    fn given_back(&self, from: Duration, is_victim: impl Fn(&EndedProcess) -> bool) -> HashMap<Place<'_>, GivenBack> {
        let mut all: HashMap<_, GivenBack> = HashMap::new();
        let ended = self.kill_watch.ended_since(from);
        for ended in ended.filter(|ended| ended.is_older_than(from) && !is_victim(ended)) {
            let back = all.entry(Place::of(&ended.victim.facts)).or_default();
            back.bytes += ended.taken as f64;
            back.largest = back.largest.max(ended.taken as f64);
        }
        all
    }

    /// Returns the process, the program, the user or one of the `parts` of memory that grew most below a limit, and its growth in bytes.
    pub(super) fn most_below<V: Fn(&EndedProcess) -> bool>(
        &self,
        below: &GrowthBelow<'_, V>,
        parts: impl Iterator<Item = (RowKey, f64)>,
    ) -> Option<(RowKey, f64)> {
        let (processes, enough) = (below.processes, below.enough);
        let is_lost =
            |ended: &EndedProcess| !(below.is_victim)(ended) && below.limit.covers(&ended.victim.facts.cgroup);
        let whole = |by| {
            let bounded = |(key, sum): (GroupKey, f64)| {
                let row = self.group(&key).filter(|_| !below.partial.contains(&key));
                let grown = match row.and_then(|row| Some((row, self.group_growth(row, below.span)?))) {
                    // Victims count as living.
                    Some((row, most)) if row.is_known() => {
                        sum.min(most + self.lost_by_ended(&key, below.from, &below.is_victim))
                    }
                    Some((_, most)) => sum.min(most),
                    None => sum - self.lost_by_ended(&key, below.from, is_lost),
                };
                (RowKey::Group(key), grown.min(below.bound))
            };
            self.sums_of(processes, by).map(bounded)
        };
        let each = processes.iter().map(|one| (RowKey::Process(one.id), one.own));
        let found = self.most_of(processes, each, whole(GroupBy::Command), enough);
        let found = found.map(|(key, grown)| (self.user_or(key, processes), grown));
        let found = self.most_of(processes, found.into_iter(), whole(GroupBy::User), enough);
        self.most_of(processes, found.into_iter(), parts, enough)
    }

    /// Returns the sums of the programs, or of the users, with several of these processes.
    fn sums_of(&self, processes: &[Grown], by: GroupBy) -> impl Iterator<Item = (GroupKey, f64)> {
        let mut sums: BTreeMap<Arc<[u8]>, (usize, f64)> = BTreeMap::new();
        for one in processes {
            if let Some(name) = self.name_of(one.id, by) {
                let (count, sum) = sums.entry(name).or_default();
                *count += 1;
                *sum += one.all;
            }
        }
        let several = sums.into_iter().filter(|(_, (count, _))| *count > 1);
        several.map(move |(name, (_, sum))| (GroupKey { by, name: Some(name) }, sum))
    }

    /// Returns the row with the highest value, or the program, the user or the kind of memory with the highest sum if that is far higher. A sum
    /// that does not contain the row need only be higher if the row has not `enough`. `processes` are those whose growth counts.
    fn most_of(
        &self,
        processes: &[Grown],
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
    fn groups_with(&self, row: &RowKey, processes: &[Grown]) -> HashSet<GroupKey> {
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
                let members = processes.iter().map(|one| one.id);
                let members = members.filter(|id| self.name_of(*id, GroupBy::Command) == key.name);
                members.filter_map(user).collect()
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
        processes: &[Grown],
    ) -> HashSet<GroupKey> {
        let names = |id| [GroupBy::Command, GroupBy::User].map(|by| (by, self.name_of(id, by)));
        let counted: HashSet<_> = processes.iter().flat_map(|one| names(one.id)).collect();
        let has_heap = |id: &Identity| self.get(*id).is_some_and(RowHistory::has_heap);
        let heaps = processes.iter().map(|one| one.id).filter(has_heap);
        let shared = outside
            .map(|row| row.id)
            .chain(heaps)
            .flat_map(names)
            .filter(|group| counted.contains(group));
        shared.map(|(by, name)| GroupKey { by, name }).collect()
    }

    /// Returns the growth of a program or a user over `span`, in bytes, in which members that ended count against those that came. `None` if
    /// it is unknown.
    fn group_growth(&self, row: &RowHistory, span: Duration) -> Option<f64> {
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
    fn lost_by_ended(&self, key: &GroupKey, from: Duration, is_counted: impl Fn(&EndedProcess) -> bool) -> f64 {
        let ended = self
            .kill_watch
            .ended_since(from)
            .filter(|ended| ended.is_older_than(from));
        let ended = ended.filter(|ended| ended.name(key.by) == key.name.as_ref() && is_counted(ended));
        ended.map(|ended| ended.taken as f64).sum()
    }

    /// Returns the name of the program, or of the owner, of a process that lives or ended lately.
    fn name_of(&self, id: Identity, by: GroupBy) -> Option<Arc<[u8]>> {
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
    fn user_or(&self, key: RowKey, processes: &[Grown]) -> RowKey {
        let RowKey::Group(GroupKey {
            by: GroupBy::Command,
            name: Some(program),
        }) = &key
        else {
            return key;
        };
        let mut users: BTreeMap<Arc<[u8]>, f64> = BTreeMap::new();
        for one in processes {
            if let Some(user) = self.name_of(one.id, GroupBy::User)
                && self
                    .name_of(one.id, GroupBy::Command)
                    .is_some_and(|name| name == *program)
            {
                *users.entry(user).or_default() += one.all.max(0.0);
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
