//! Groups and subtrees of processes, and their sums.
//!
//! For one snapshot at a time, without any state. Nothing here reads files.

mod interpreter;
mod key;
pub mod mapping;
mod names;
pub mod totals;
pub mod tree;

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub use key::{GroupBy, GroupKey, PartKey, RowKey};
pub(crate) use key::{common_line, write_siblings_name};
pub use names::{GroupNames, command_name};
pub use totals::{Change, Coverage, Totals};

use totals::SharedSpaces;

use crate::model::cgroup::CgroupFigures;
use crate::model::process::{ProcessSample, Replaced};
use crate::model::snapshot::Snapshot;
use crate::model::unit::without_owner;

/// A group and its sums.
#[derive(Clone, Debug)]
pub struct Group {
    pub key: GroupKey,
    /// Its sums. PSS and `SwapPss` divide shared pages among their sharers, so over all groups they never exceed the memory
    /// of the machine. RSS, SWAP and SHARED count a page once for every process.
    pub totals: Totals,
    /// The indices of its processes in [`Snapshot::rows`]; none for a mapping.
    pub members: Vec<usize>,
    /// The number of processes whose memory could be read: the divisor of a mean.
    pub readable: usize,
    /// The number of members whose program's file was replaced, so that they should be restarted. `Deleted` if any of the
    /// files was.
    pub replaced: Option<(Replaced, usize)>,
    /// The figures of the cgroup that the group is; `None` if it is not a single cgroup, or if they were not requested.
    pub cgroup: Option<CgroupFigures>,
    /// For equal siblings, the raw command line that they have in common except for numbers.
    pub command: Option<Box<[u8]>>,
    /// True if no process of the group was left out, except kernel threads, which have no memory.
    pub whole: bool,
    /// The time of the oldest walk of its members, on the snapshot's monotonic clock.
    pub walked: Option<Duration>,
    /// The start of its oldest member, in clock ticks after boot.
    pub started: Option<u64>,
}

impl Group {
    pub fn new(key: GroupKey) -> Self {
        Self {
            key,
            totals: Totals::default(),
            members: Vec::new(),
            readable: 0,
            replaced: None,
            cgroup: None,
            command: None,
            whole: true,
            walked: None,
            started: None,
        }
    }

    /// Returns the raw name to show; for equal siblings, their command line.
    pub fn name(&self) -> &[u8] {
        self.command.as_deref().unwrap_or_else(|| self.key.label())
    }

    /// Returns the raw name to show, with [`Self::replaced_label`].
    pub fn name_with_replaced(&self) -> Cow<'_, [u8]> {
        let name = self.name();
        self.replaced_label()
            .map_or(Cow::Borrowed(name), |label| [name, label.as_bytes()].concat().into())
    }

    /// Returns ` [updated]`, or ` [2 updated]` if only some members run a replaced program; `None` if none does.
    pub fn replaced_label(&self) -> Option<String> {
        let (replaced, count) = self.replaced?;
        let id = replaced.id();
        Some(if count == self.totals.count {
            format!(" [{id}]")
        } else {
            format!(" [{count} {id}]")
        })
    }

    /// Adds a member, without changing the sums.
    pub(crate) fn add_member(&mut self, at: usize, sample: &ProcessSample) {
        self.members.push(at);
        if let Ok(walk) = &sample.walk {
            self.readable += 1;
            self.walked = Some(self.walked.map_or(walk.at, |oldest| oldest.min(walk.at)));
        }
        let start = sample.id.starttime;
        self.started = Some(self.started.map_or(start, |oldest| oldest.min(start)));
        if let Some(replaced) = sample.facts.replaced {
            let (worst, count) = self.replaced.unwrap_or((replaced, 0));
            self.replaced = Some((worst.max(replaced), count + 1));
        }
    }
}

/// The index of a group, once a process of it is kept, and true if a process of it was dropped.
type Place = (Option<usize>, bool);

/// Groups the processes that `keep` accepts, in the order of their first members. Most callers drop kernel threads, which have
/// no memory. There are no groups by mapping: they need more than a snapshot.
pub fn groups<'a>(
    snapshot: &'a Snapshot,
    by: GroupBy,
    keep: impl Fn(&'a ProcessSample) -> bool,
    change: impl Fn(&ProcessSample) -> Option<Change>,
) -> Vec<Group> {
    let rows = snapshot.rows();
    let names = GroupNames::new(rows);
    let mut places: HashMap<Option<Cow<'_, [u8]>>, Place> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    if by == GroupBy::Mapping {
        return groups;
    }
    let mut shares = false;
    for (at, sample) in rows.iter().enumerate() {
        let is_kept = keep(sample);
        if !is_kept && sample.stat.is_kernel_thread() {
            continue;
        }
        let name = names.name_of(sample, by);
        let entry = places.entry(name);
        let is_known = matches!(&entry, Entry::Occupied(known) if known.get().0.is_some());
        let new = (is_kept && !is_known).then(|| GroupKey {
            by,
            name: entry.key().as_deref().map(Arc::from),
        });
        let (place, is_cut) = entry.or_default();
        if let Some(key) = new {
            *place = Some(groups.len());
            groups.push(Group::new(key));
        }
        match *place {
            Some(place) if is_kept => {
                groups[place].add_member(at, sample);
                // Now, while the row is in the CPU's cache: reading many rows again takes longer than adding them.
                groups[place].totals.add(&Totals::one(sample, change(sample).as_ref()));
                shares |= sample.shares_mm.is_some();
            }
            _ => *is_cut = true,
        }
    }
    for (place, is_cut) in places.into_values() {
        if let Some(place) = place {
            groups[place].whole = !is_cut;
        }
    }
    if shares {
        count_spaces_once(&mut groups, rows, &change);
    }
    for group in &mut groups {
        group.cgroup = cgroup_of_group(&group.key, &group.members, snapshot);
    }
    groups
}

/// Sums the groups anew whose members share address spaces. The memory of each space counts in one group.
fn count_spaces_once(groups: &mut [Group], rows: &[ProcessSample], change: impl Fn(&ProcessSample) -> Option<Change>) {
    let members =
        |(place, group): (usize, &Group)| group.members.iter().map(move |at| (place, *at)).collect::<Vec<_>>();
    let all: Vec<(usize, usize)> = groups.iter().enumerate().flat_map(members).collect();
    let spaces = SharedSpaces::new(&all.iter().map(|(_, at)| &rows[*at]));
    let places: HashSet<usize> = spaces.all().flatten().map(|number| all[*number].0).collect();
    for place in &places {
        groups[*place].totals = Totals::default();
    }
    for (number, (place, at)) in all.iter().enumerate().filter(|(_, (place, _))| places.contains(place)) {
        let sample = &rows[*at];
        let part = spaces.part(number, sample, change(sample).as_ref());
        groups[*place].totals.add(&part);
    }
}

/// Returns the figures of the cgroup that a group is.
fn cgroup_of_group(key: &GroupKey, members: &[usize], snapshot: &Snapshot) -> Option<CgroupFigures> {
    if snapshot.cgroups.is_empty() {
        return None;
    }
    snapshot.cgroups.get(path_of_group(key, members, snapshot)?).copied()
}

/// Returns the path of the cgroup that a group is. A name that exists in several places is not a single cgroup.
pub fn path_of_group<'a>(key: &'a GroupKey, members: &[usize], snapshot: &'a Snapshot) -> Option<&'a [u8]> {
    let name = key.name.as_deref()?;
    match key.by {
        GroupBy::Cgroup => return Some(name),
        GroupBy::Unit | GroupBy::Container | GroupBy::Pod => {}
        _ => return None,
    }
    let mut last: Option<&Arc<[u8]>> = None;
    let mut common: Option<&[u8]> = None;
    for at in members {
        let path = snapshot.rows().get(*at)?.facts.cgroup.as_ref().ok()?;
        // Most members share one allocation of the path.
        if last.is_some_and(|last| Arc::ptr_eq(last, path)) {
            continue;
        }
        last = Some(path);
        let facts = &snapshot.rows()[*at].facts;
        // A pod is one level above its containers.
        let id = || Some(facts.container.as_ref()?.id_in_path());
        let (name, levels) = match key.by {
            GroupBy::Container => (id()?, 0),
            GroupBy::Pod => (id()?, 1),
            _ => (name, 0),
        };
        let mut prefix = naming_prefix(path, name, key.by)?;
        for _ in 0..levels {
            prefix = &prefix[..prefix.iter().rposition(|b| *b == b'/')?];
        }
        if *common.get_or_insert(prefix) != prefix {
            return None;
        }
    }
    common
}

/// Returns the path up to and including the component that names the unit or the container: the innermost one, or the outermost one of
/// a unit of the system.
fn naming_prefix<'a>(path: &'a [u8], name: &[u8], by: GroupBy) -> Option<&'a [u8]> {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let (plain, mut end) = (without_owner(name), 0);
    let mut named = path.split(|b| *b == b'/').filter_map(|component| {
        end += component.len() + 1;
        let is_named = match by {
            GroupBy::Unit => is_unit(component, plain),
            GroupBy::Container | GroupBy::Pod => is_container(component, name),
            _ => false,
        };
        is_named.then(|| &path[..end - 1])
    });
    if by == GroupBy::Unit && plain == name {
        named.next()
    } else {
        named.last()
    }
}

/// Returns true if a component names the unit. systemd prefixes a name with `_` if it would clash with a kernel file.
fn is_unit(component: &[u8], unit: &[u8]) -> bool {
    component == unit || component.strip_prefix(b"_") == Some(unit)
}

/// Returns true if a component names the container: by the first digits of its id, at the start or after `docker-`,
/// `cri-containerd:` and the like; without an id, by the whole name.
fn is_container(component: &[u8], id: &[u8]) -> bool {
    const LEAST: usize = 12;
    if component == id || component.strip_prefix(b"lxc.payload.") == Some(id) {
        return true;
    }
    let is_id = id.len() >= LEAST && id.iter().all(u8::is_ascii_hexdigit);
    is_id
        && component.windows(id.len()).enumerate().any(|(at, window)| {
            window == id
                && at
                    .checked_sub(1)
                    .is_none_or(|before| matches!(component[before], b'-' | b':'))
        })
}
