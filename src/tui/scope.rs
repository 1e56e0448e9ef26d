//! The kinds of rows that the tables show.

use crate::group::{GroupBy, GroupKey};

/// The kind of rows that the tables show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Processes.
    Processes,
    /// The processes of one group.
    Members(GroupKey),
    /// Groups of processes.
    Groups(GroupBy),
    /// The mappings of processes, read once; and the scope it was asked for in.
    Mappings(Box<Scope>),
}

impl Scope {
    /// Returns the scope of such groups; without, that of processes.
    pub fn by(by: Option<GroupBy>) -> Self {
        by.map_or(Self::Processes, Self::Groups)
    }

    /// Returns true if its rows are processes.
    pub const fn lists_processes(&self) -> bool {
        matches!(self, Self::Processes | Self::Members(_))
    }

    /// Returns what its rows are grouped by; `None` where they are processes.
    pub const fn grouped_by(&self) -> Option<GroupBy> {
        match self {
            Self::Processes | Self::Members(_) => None,
            Self::Groups(by) => Some(*by),
            Self::Mappings(_) => Some(GroupBy::Mapping),
        }
    }

    /// Returns the group whose processes it is about.
    pub fn opened_group(&self) -> Option<&GroupKey> {
        match self {
            Self::Members(key) => Some(key),
            Self::Mappings(from) => from.opened_group(),
            Self::Processes | Self::Groups(_) => None,
        }
    }

    /// Returns the grouping that Tab goes on from, and that is saved.
    pub fn grouping(&self) -> Option<GroupBy> {
        match self {
            Self::Processes => None,
            Self::Members(key) => Some(key.by),
            Self::Groups(by) => Some(*by),
            Self::Mappings(from) => from.grouping(),
        }
    }

    /// Returns the scope that Tab goes to, or Shift-Tab.
    #[must_use]
    pub fn next(&self, forward: bool, is_fleet: bool) -> Self {
        let ring: &[GroupBy] = if is_fleet {
            &GroupBy::OF_FLEET
        } else {
            &GroupBy::OF_ONE_HOST
        };
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
