//! The identities of groups and rows.
//!
//! Equal siblings are processes of one parent that run the same command, such as the workers of a server. They have the
//! same parent, user, cgroup and short name, and their command lines differ only in numbers. These have no equals: kernel
//! threads, zombies, rows of a fleet, and processes whose command line is empty or unknown.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Missing;

/// A way to group processes, or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupBy {
    /// The [program](super::command_name).
    Command,
    /// The effective user, or the [owner](crate::model::process::Owner) of a subordinate uid.
    User,
    Unit,
    /// The container, by name.
    Container,
    /// The pod of Kubernetes, as `namespace/pod`.
    Pod,
    Cgroup,
    /// A daemon and its descendants, named by the program and the pid of the first.
    Family,
    /// The host, in a snapshot of many hosts.
    Host,
    /// Equal siblings. They have no history as a group; the screen folds them into one row.
    Siblings,
    /// The mapped file, or the kind of memory: groups of areas, not of processes.
    Mapping,
}

impl GroupBy {
    /// All ways that a user can choose.
    pub const ALL: [Self; 9] = [
        Self::Command,
        Self::User,
        Self::Unit,
        Self::Container,
        Self::Pod,
        Self::Cgroup,
        Self::Family,
        Self::Host,
        Self::Mapping,
    ];
    /// The ways that put each process into one group.
    pub const OF_PROCESSES: [Self; 8] = {
        let [of_processes @ .., _] = Self::ALL;
        of_processes
    };
    /// The ways that distinguish processes of one machine.
    pub const OF_ONE_HOST: [Self; 7] = {
        let [of_one_host @ .., _] = Self::OF_PROCESSES;
        of_one_host
    };
    /// The ways for a snapshot of many hosts, whose rows are already groups.
    pub const OF_FLEET: [Self; 2] = [Self::Command, Self::Host];

    /// Returns its name on the command line and in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::User => "user",
            Self::Unit => "unit",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Cgroup => "cgroup",
            Self::Family => "family",
            Self::Host => "host",
            Self::Siblings => "siblings",
            Self::Mapping => "mapping",
        }
    }

    /// Returns the heading of its names.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Command | Self::Siblings => "COMMAND",
            Self::User => "USER",
            Self::Unit => "UNIT",
            Self::Container => "CONTAINER",
            Self::Pod => "POD",
            Self::Cgroup => "CGROUP",
            Self::Family => "FAMILY",
            Self::Host => "HOST",
            Self::Mapping => "MAPPING",
        }
    }

    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.id() == id)
    }
}

/// The identity of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    pub by: GroupBy,
    /// Its raw name. `None` for the processes that are in no unit, container or pod, or whose user or cgroup could not be read.
    pub name: Option<Arc<[u8]>>,
}

impl GroupKey {
    /// Returns a name of it with `user` before that of a user, which could be taken for a program.
    pub fn titled(&self, name: String) -> String {
        if self.by == GroupBy::User {
            format!("user {name}")
        } else {
            name
        }
    }

    /// Returns the raw name to show, or a text in parentheses.
    pub fn label(&self) -> &[u8] {
        match (&self.name, self.by) {
            (Some(name), GroupBy::Siblings) => siblings_label(name),
            (Some(name), _) => name,
            (None, GroupBy::Unit | GroupBy::Container | GroupBy::Pod) => b"(none)",
            (None, _) => b"(unknown)",
        }
    }
}

/// The identity of a part of the RAM.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartKey {
    pub id: &'static str,
    /// The name beside processes and groups: `kernel: unreclaimable slab`.
    pub label: &'static str,
    /// The raw mount point, if it is one file system of shared memory, which is judged by itself.
    pub mount: Option<Arc<[u8]>>,
}

impl PartKey {
    /// Creates the key of a part as a whole.
    pub const fn whole(id: &'static str, label: &'static str) -> Self {
        Self { id, label, mount: None }
    }

    /// Returns the raw name to show: the label, or `tmpfs /dev/shm`.
    pub fn name(&self) -> Cow<'_, [u8]> {
        match &self.mount {
            Some(path) => [b"tmpfs ", &**path].concat().into(),
            None => self.label.as_bytes().into(),
        }
    }
}

/// The identity of a row of a table, from one snapshot to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKey {
    Process(Identity),
    /// A group, or a mapping.
    Group(GroupKey),
    /// A part of the RAM.
    Part(PartKey),
}

impl RowKey {
    pub const fn process(&self) -> Option<Identity> {
        match self {
            Self::Process(id) => Some(*id),
            Self::Group(_) | Self::Part(_) => None,
        }
    }

    pub const fn part(&self) -> Option<&PartKey> {
        match self {
            Self::Process(_) | Self::Group(_) => None,
            Self::Part(key) => Some(key),
        }
    }

    pub const fn group(&self) -> Option<&GroupKey> {
        match self {
            Self::Process(_) | Self::Part(_) => None,
            Self::Group(key) => Some(key),
        }
    }
}

/// The sign that replaces a number in a command line.
const NUMBER: u8 = b'#';

/// Appends the name of a process's group of equal siblings. Returns false if it has none; then the appended bytes are useless.
/// The name ends, after its last NUL, in the command line with [`NUMBER`] for each number.
pub(crate) fn write_siblings_name(sample: &ProcessSample, name: &mut Vec<u8>) -> bool {
    let facts = &*sample.facts;
    let (Ok(line), Ok(uid)) = (facts.cmdline.as_deref(), facts.uid) else {
        return false;
    };
    let Some(end) = line.iter().rposition(|b| *b != 0) else {
        return false;
    };
    if sample.stat.lacks_memory().is_some() || sample.is_unseen() || facts.host.is_some() {
        return false;
    }
    let cgroup = match &facts.cgroup {
        Ok(path) => path,
        Err(Missing::Pending) => return false,
        Err(_) => &b""[..],
    };
    for number in [sample.stat.ppid, uid] {
        name.extend_from_slice(&number.to_le_bytes());
    }
    for text in [cgroup, &facts.comm] {
        name.extend_from_slice(text);
        name.push(0);
    }
    let mut is_number = false;
    for byte in &line[..=end] {
        if byte.is_ascii_digit() {
            if !std::mem::replace(&mut is_number, true) {
                name.push(NUMBER);
            }
        } else {
            is_number = false;
            name.push(if *byte == 0 { b' ' } else { *byte });
        }
    }
    true
}

/// Returns a command line of equal siblings, with [`NUMBER`] for each number in which others differ.
pub(crate) fn common_line<'a>(line: &[u8], others: impl Iterator<Item = Cow<'a, [u8]>>) -> Vec<u8> {
    let mut is_common: Vec<bool> = numbers(line).map(|_| true).collect();
    for other in others {
        let pairs = numbers(line).zip(numbers(&other));
        for (is_common, (a, b)) in is_common.iter_mut().zip(pairs) {
            *is_common &= a == b;
        }
    }
    let mut is_common = is_common.into_iter();
    let mut common = Vec::with_capacity(line.len());
    for part in line.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        let is_number = part.first().is_some_and(u8::is_ascii_digit);
        if is_number && is_common.next() == Some(false) {
            common.push(NUMBER);
        } else {
            common.extend_from_slice(part);
        }
    }
    common
}

fn numbers(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| !b.is_ascii_digit()).filter(|number| !number.is_empty())
}

/// Returns the command line in the name of a group of siblings, without the directory of its program.
fn siblings_label(name: &[u8]) -> &[u8] {
    let line = name.rsplit(|b| *b == 0).next().unwrap_or_default();
    let program = line.split(|b| *b == b' ').next().unwrap_or_default();
    let directory = program.iter().rposition(|b| *b == b'/');
    match directory.filter(|at| program.starts_with(b"/") && at + 1 < program.len()) {
        Some(at) => &line[at + 1..],
        None => line,
    }
}
