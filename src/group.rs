//! Processes together: by program, user, unit, container or cgroup, and memory by mapping.

mod cgroup;
pub mod change;
mod coverage;
pub mod mapping;
mod name;
pub mod totals;
pub mod tree;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub use change::Change;
pub use coverage::Coverage;
pub use name::{GroupNames, command_name};
pub use totals::Totals;

use crate::model::cgroup::CgroupFigures;
use crate::model::process::{Identity, ProcessSample, Replaced};
use crate::model::snapshot::Snapshot;

/// What makes a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupBy {
    /// The program, by the name that [`command_name`] gives it.
    Command,
    /// The effective user.
    User,
    /// The systemd unit.
    Unit,
    /// The container.
    Container,
    /// The cgroup.
    Cgroup,
    /// The mapped file, or the kind of memory: groups of areas, not of processes.
    Mapping,
}

impl GroupBy {
    /// Every way there is.
    pub const ALL: [Self; 6] = [
        Self::Command,
        Self::User,
        Self::Unit,
        Self::Container,
        Self::Cgroup,
        Self::Mapping,
    ];
    /// Those that each process is in one group of.
    pub const OF_PROCESSES: [Self; 5] = [Self::Command, Self::User, Self::Unit, Self::Container, Self::Cgroup];

    /// The name on the command line and in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::User => "user",
            Self::Unit => "unit",
            Self::Container => "container",
            Self::Cgroup => "cgroup",
            Self::Mapping => "mapping",
        }
    }

    /// The heading of its names.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Command => "COMMAND",
            Self::User => "USER",
            Self::Unit => "UNIT",
            Self::Container => "CONTAINER",
            Self::Cgroup => "CGROUP",
            Self::Mapping => "MAPPING",
        }
    }

    /// The one of that [`id`](Self::id).
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.id() == id)
    }
}

/// Which group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// What made it.
    pub by: GroupBy,
    /// Its name, raw. `None` holds the processes that are in no unit or container, and those of which the
    /// user or the cgroup could not be read.
    pub name: Option<Arc<[u8]>>,
}

impl GroupKey {
    /// The name to show, still raw: that of the nameless is in parentheses.
    pub fn label(&self) -> &[u8] {
        match (&self.name, self.by) {
            (Some(name), _) => name,
            (None, GroupBy::Unit | GroupBy::Container) => b"(none)",
            (None, GroupBy::Command | GroupBy::User | GroupBy::Cgroup | GroupBy::Mapping) => b"(unknown)",
        }
    }
}

/// The identity of a row of a table, from one snapshot to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKey {
    /// A process.
    Process(Identity),
    /// A group, or a mapping.
    Group(GroupKey),
}

impl RowKey {
    /// Returns the process, where the row is one.
    pub const fn process(&self) -> Option<Identity> {
        match self {
            Self::Process(id) => Some(*id),
            Self::Group(_) => None,
        }
    }

    /// Returns the group, where the row is one.
    pub const fn group(&self) -> Option<&GroupKey> {
        match self {
            Self::Process(_) => None,
            Self::Group(key) => Some(key),
        }
    }
}

/// A group and what it holds.
#[derive(Clone, Debug)]
pub struct Group {
    /// Which group.
    pub key: GroupKey,
    /// Its sums. PSS and `SwapPss` divide shared pages among those that share them, so the sums of all groups
    /// never exceed what the machine has; RSS, SWAP and SHARED count a page once for every process.
    pub totals: Totals,
    /// Its processes, by their places in [`Snapshot::rows`]; none for a mapping.
    pub members: Vec<usize>,
    /// Among how many processes the sums are divided for a mean: those whose memory could be read.
    pub readable: usize,
    /// How many run a program whose file was replaced: these are to be started anew. `Deleted` if that
    /// became of any of the files.
    pub replaced: Option<(Replaced, usize)>,
    /// What the kernel says of the one cgroup that the group is; `None` where it is none, or nobody asked.
    pub cgroup: Option<CgroupFigures>,
    /// Every process that it could hold is a member; kernel threads, which have no memory, are not missed.
    pub whole: bool,
    /// When the oldest walk of its members was made, on the snapshot's monotonic clock.
    pub walked: Option<Duration>,
    /// The start of its oldest member, in clock ticks after boot.
    pub started: Option<u64>,
}

impl Group {
    /// An empty group.
    pub fn new(key: GroupKey) -> Self {
        Self {
            key,
            totals: Totals::default(),
            members: Vec::new(),
            readable: 0,
            replaced: None,
            cgroup: None,
            whole: true,
            walked: None,
            started: None,
        }
    }

    /// The name to show with the mark of what must be started anew: `nginx [updated]`, or
    /// `nginx [2 updated]` where only some of its processes run the old program. Still raw.
    pub fn name_with_replaced(&self) -> Cow<'_, [u8]> {
        let name = self.key.label();
        self.replaced_label()
            .map_or(Cow::Borrowed(name), |mark| [name, mark.as_bytes()].concat().into())
    }

    /// That mark, with a space before it: ` [updated]`; `None` where all run what is there.
    pub fn replaced_label(&self) -> Option<String> {
        let (what, count) = self.replaced?;
        let what = match what {
            Replaced::Updated => "updated",
            Replaced::Deleted => "deleted",
        };
        Some(if count == self.totals.count {
            format!(" [{what}]")
        } else {
            format!(" [{count} {what}]")
        })
    }

    /// Takes in one member, but for the sums.
    fn join(&mut self, at: usize, sample: &ProcessSample) {
        self.members.push(at);
        if let Ok(walk) = &sample.walk {
            self.readable += 1;
            self.walked = Some(self.walked.map_or(walk.at, |oldest| oldest.min(walk.at)));
        }
        let start = sample.id.starttime;
        self.started = Some(self.started.map_or(start, |oldest| oldest.min(start)));
        if let Some(what) = sample.facts.replaced {
            let (worst, count) = self.replaced.unwrap_or((what, 0));
            self.replaced = Some((worst.max(what), count + 1));
        }
    }
}

/// The groups of the processes that `keep` lets through, in the order of their first members. Kernel
/// threads are grouped like others if they are kept: they have no memory, so most callers drop them. By
/// mapping there are none: that takes more than a snapshot.
pub fn groups<'a>(
    snapshot: &'a Snapshot,
    by: GroupBy,
    keep: impl Fn(&'a ProcessSample) -> bool,
    change: impl Fn(&ProcessSample) -> Option<Change>,
) -> Vec<Group> {
    let rows = snapshot.rows();
    let names = GroupNames::new(rows);
    // Where each name's group is, and whether some process of that name was dropped.
    let mut places: HashMap<Option<&[u8]>, (Option<usize>, bool)> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    if by == GroupBy::Mapping {
        return groups;
    }
    for (at, sample) in rows.iter().enumerate() {
        let kept = keep(sample);
        if !kept && sample.stat.is_kernel_thread() {
            continue;
        }
        let name = names.name_of(sample, by);
        let (place, cut) = places.entry(name).or_default();
        if !kept {
            *cut = true;
            continue;
        }
        let place = *place.get_or_insert_with(|| {
            let name = name.map(Arc::from);
            groups.push(Group::new(GroupKey { by, name }));
            groups.len() - 1
        });
        groups[place].join(at, sample);
    }
    for (place, cut) in places.into_values() {
        if let Some(place) = place {
            groups[place].whole = !cut;
        }
    }
    for group in &mut groups {
        group.totals = Totals::of(group.members.iter().map(|at| &rows[*at]), &change);
        group.cgroup = cgroup::of(group, snapshot);
    }
    groups
}
