//! The names of groups and rows.

use std::sync::Arc;

use crate::model::process::Identity;

/// A way to group processes, or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupBy {
    /// The program, by the name that [`command_name`](super::command_name) gives it.
    Command,
    /// The effective user.
    User,
    /// The systemd unit.
    Unit,
    /// The container.
    Container,
    /// The cgroup.
    Cgroup,
    /// The family: a daemon and its descendants, named by the program and the pid of the first.
    Family,
    /// The host, in a snapshot of many hosts.
    Host,
    /// The mapped file, or the kind of memory: groups of areas, not of processes.
    Mapping,
}

impl GroupBy {
    /// Every way.
    pub const ALL: [Self; 8] = [
        Self::Command,
        Self::User,
        Self::Unit,
        Self::Container,
        Self::Cgroup,
        Self::Family,
        Self::Host,
        Self::Mapping,
    ];
    /// The ways that put each process into one group.
    pub const OF_PROCESSES: [Self; 7] = {
        let [of_processes @ .., _] = Self::ALL;
        of_processes
    };
    /// The ways that tell processes of one machine apart.
    pub const OF_ONE_HOST: [Self; 6] = {
        let [of_one_host @ .., _] = Self::OF_PROCESSES;
        of_one_host
    };
    /// The ways of a snapshot of many hosts, whose rows are groups already.
    pub const OF_FLEET: [Self; 2] = [Self::Command, Self::Host];

    /// Returns its name on the command line and in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::User => "user",
            Self::Unit => "unit",
            Self::Container => "container",
            Self::Cgroup => "cgroup",
            Self::Family => "family",
            Self::Host => "host",
            Self::Mapping => "mapping",
        }
    }

    /// Returns the heading of its names.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Command => "COMMAND",
            Self::User => "USER",
            Self::Unit => "UNIT",
            Self::Container => "CONTAINER",
            Self::Cgroup => "CGROUP",
            Self::Family => "FAMILY",
            Self::Host => "HOST",
            Self::Mapping => "MAPPING",
        }
    }

    /// Returns the way of that [`id`](Self::id).
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.id() == id)
    }
}

/// The identity of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// The way of grouping.
    pub by: GroupBy,
    /// Its name, raw. `None` holds the processes that are in no unit or container, and those whose user or cgroup
    /// could not be read.
    pub name: Option<Arc<[u8]>>,
}

impl GroupKey {
    /// Returns the name to show, still raw: in parentheses where it has none.
    pub fn label(&self) -> &[u8] {
        match (&self.name, self.by) {
            (Some(name), _) => name,
            (None, GroupBy::Unit | GroupBy::Container) => b"(none)",
            (
                None,
                GroupBy::Command | GroupBy::User | GroupBy::Cgroup | GroupBy::Family | GroupBy::Host | GroupBy::Mapping,
            ) => b"(unknown)",
        }
    }
}

/// The identity of a part of the RAM, as the account of the system divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartKey {
    /// Its id.
    pub id: &'static str,
    /// Its name beside processes and groups: `kernel: unreclaimable slab`.
    pub label: &'static str,
}

/// The identity of a row of a table, from one snapshot to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKey {
    /// A process.
    Process(Identity),
    /// A group, or a mapping.
    Group(GroupKey),
    /// A part of the RAM.
    Part(PartKey),
}

impl RowKey {
    /// Returns the process, where the row is one.
    pub const fn process(&self) -> Option<Identity> {
        match self {
            Self::Process(id) => Some(*id),
            Self::Group(_) | Self::Part(_) => None,
        }
    }

    /// Returns the part of the RAM, where the row is one.
    pub const fn part(&self) -> Option<&PartKey> {
        match self {
            Self::Process(_) | Self::Group(_) => None,
            Self::Part(key) => Some(key),
        }
    }

    /// Returns the group, where the row is one.
    pub const fn group(&self) -> Option<&GroupKey> {
        match self {
            Self::Process(_) | Self::Part(_) => None,
            Self::Group(key) => Some(key),
        }
    }
}
