//! What the rows of the tables are.

use crate::group::{GroupBy, GroupKey};

/// What the rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Processes.
    Processes,
    /// The processes of one group.
    Members(GroupKey),
    /// Groups of processes.
    Groups(GroupBy),
    /// What processes map, read once; and where it was asked for.
    Mappings(Box<Scope>),
}

impl Scope {
    /// The scope that lists what is grouped by this, each process by itself where by nothing.
    pub fn by(by: Option<GroupBy>) -> Self {
        by.map_or(Self::Processes, Self::Groups)
    }

    /// Whether its rows are processes.
    pub const fn lists_processes(&self) -> bool {
        matches!(self, Self::Processes | Self::Members(_))
    }

    /// What its rows are grouped by; `None` where they are processes.
    pub const fn groups(&self) -> Option<GroupBy> {
        match self {
            Self::Processes | Self::Members(_) => None,
            Self::Groups(by) => Some(*by),
            Self::Mappings(_) => Some(GroupBy::Mapping),
        }
    }

    /// The group whose processes it is about.
    pub fn opened(&self) -> Option<&GroupKey> {
        match self {
            Self::Members(key) => Some(key),
            Self::Mappings(from) => from.opened(),
            Self::Processes | Self::Groups(_) => None,
        }
    }

    /// The way to group that Tab goes on from, and that is saved.
    pub fn grouping(&self) -> Option<GroupBy> {
        match self {
            Self::Processes => None,
            Self::Members(key) => Some(key.by),
            Self::Groups(by) => Some(*by),
            Self::Mappings(from) => from.grouping(),
        }
    }

    /// Where Tab goes, or Shift-Tab back.
    #[must_use]
    pub fn next(&self, forward: bool) -> Self {
        let ring = GroupBy::OF_PROCESSES;
        let at = self.grouping().and_then(|by| ring.iter().position(|b| *b == by));
        let by = match (at, forward) {
            (None, true) => ring.first(),
            (None, false) => ring.last(),
            (Some(at), true) => ring.get(at + 1),
            (Some(at), false) => at.checked_sub(1).and_then(|at| ring.get(at)),
        };
        Self::by(by.copied())
    }
}
