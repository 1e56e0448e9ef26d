//! The data that columns and filters need.

/// A set of kinds of data, each with a cost of its own, that must be read for a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u16);

impl Needs {
    /// The list of processes alone.
    pub const NOTHING: Self = Self(0);
    /// `smaps_rollup`: the expensive read.
    pub const MEMORY: Self = Self(1 << 0);
    /// `stat`: parent, state, threads, start time and the kernel's short name.
    pub const STAT: Self = Self(1 << 1);
    /// The effective user.
    pub const USER: Self = Self(1 << 2);
    /// `cmdline`.
    pub const COMMAND_LINE: Self = Self(1 << 3);
    /// The link `exe`: the program's file and what became of it.
    pub const PROGRAM: Self = Self(1 << 4);
    /// The name of the program, as in groups by command.
    pub const PROGRAM_NAME: Self = Self::STAT.and(Self::COMMAND_LINE).and(Self::PROGRAM);
    /// `cgroup`: the cgroup path, and by it unit and container.
    pub const CGROUP_PATH: Self = Self(1 << 5);
    /// The family, which depends on programs and containers.
    pub const FAMILY: Self = Self::PROGRAM_NAME.and(Self::CGROUP_PATH);
    /// The memory figures and limits of cgroups.
    pub const CGROUP_FIGURES: Self = Self(1 << 6);
    /// `oom_score`: the kernel sums up page tables for it, so it is read only on demand.
    pub const OOM_SCORE: Self = Self(1 << 7);
    /// Figures of the whole machine.
    pub const SYSTEM: Self = Self(1 << 8);
    /// More than one snapshot: changes, rates, trends.
    pub const HISTORY: Self = Self(1 << 9);
    /// A mark to compare with.
    pub const MARK: Self = Self(1 << 10);
    /// The figures of the account of the system, which are read seldom otherwise.
    pub const ACCOUNT: Self = Self(1 << 11);
    /// The slab caches, which are read rarely otherwise.
    pub const SLAB: Self = Self(1 << 12);
    /// The kernel's allocation sites.
    pub const SITES: Self = Self(1 << 13);
    /// Memory held through descriptors.
    pub const HELD: Self = Self(1 << 14);

    /// The data that a scanner reads only, or sooner, while somebody needs it.
    pub const ON_DEMAND: Self = Self::OOM_SCORE
        .and(Self::CGROUP_FIGURES)
        .and(Self::ACCOUNT)
        .and(Self::SLAB)
        .and(Self::SITES)
        .and(Self::HELD);

    /// Returns the data that either needs.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the part of the set that is in `other` too.
    #[must_use]
    pub const fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the set without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if all of `other` is in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl FromIterator<Self> for Needs {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        all.into_iter().fold(Self::NOTHING, Self::and)
    }
}
