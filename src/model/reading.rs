//! A figure, or the reason it is missing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A value, or the reason it is missing. Unknown is never zero.
pub type Reading<T> = Result<T, Missing>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Missing {
    Denied,
    /// The process ended between listing and reading.
    Gone,
    KernelThread,
    Zombie,
    /// This kernel, or this tree, has no such file or field.
    Unsupported,
    /// The read overran its deadline; it may still return.
    TimedOut,
    /// The bytes do not match the kernel's documentation.
    Malformed,
    Pending,
    /// Read only on request.
    NotAsked,
    /// The change since a mark is unknown, because the figure was unknown then.
    NotMarked,
    /// There are more rows than may have a history.
    TooMany,
    /// The host of a fleet does not export it.
    NotExported,
    /// Hidden by zmtop's namespaces or mounts, such as a cgroup above a container's.
    OutOfView,
    /// Read only of cgroups with a limit of their own.
    Unlimited,
    /// Left out of the recording, by choice.
    NotRecorded,
    /// Counted with the process whose address space it shares.
    Elsewhere,
    /// Any other error from the kernel, by number.
    Errno(i32),
}

impl Missing {
    /// Returns the reason in a word or two, for the screen and for `unread` in JSON.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Denied => "permission denied",
            Self::Gone => "process ended",
            Self::KernelThread => "kernel thread",
            Self::Zombie => "zombie",
            Self::Unsupported => "not offered by this kernel",
            Self::TimedOut => "timed out",
            Self::Malformed => "malformed",
            Self::Pending => "not read yet",
            Self::NotAsked => "not measured: press r",
            Self::NotMarked => "not known at the mark",
            Self::TooMany => "too many for a history of each",
            Self::NotExported => "not exported",
            Self::OutOfView => "not visible from here",
            Self::Unlimited => "no limit",
            Self::NotRecorded => "not recorded",
            Self::Elsewhere => "counted in another process",
            Self::Errno(_) => "read error",
        }
    }

    /// Parses what [`Display`](fmt::Display) writes; `None` for other text.
    pub fn parse(text: &str) -> Option<Self> {
        const WORDS: [Missing; 15] = [
            Missing::Denied,
            Missing::Gone,
            Missing::KernelThread,
            Missing::Zombie,
            Missing::Unsupported,
            Missing::TimedOut,
            Missing::Malformed,
            Missing::Pending,
            Missing::NotAsked,
            Missing::NotMarked,
            Missing::TooMany,
            Missing::NotExported,
            Missing::OutOfView,
            Missing::Unlimited,
            Missing::NotRecorded,
        ];
        match text.strip_prefix("read error ") {
            Some(number) => number.parse().ok().map(Self::Errno),
            None => WORDS.into_iter().find(|why| why.reason() == text),
        }
    }

    /// Returns true if a process with this reason has memory that is hidden. A kernel thread and a zombie have none, so
    /// they do not make a total partial.
    pub const fn hides_memory(self) -> bool {
        !matches!(self, Self::KernelThread | Self::Zombie | Self::Gone | Self::Elsewhere)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errno(n) => write!(f, "read error {n}"),
            other => f.write_str(other.reason()),
        }
    }
}
