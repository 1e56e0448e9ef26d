//! A figure, or the reason it is missing.

use std::fmt;

/// A value, or the reason it is missing. Unknown is never zero.
pub type Reading<T> = Result<T, Missing>;

/// The reason that a figure is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// EACCES or EPERM: the kernel denies it to this user.
    Denied,
    /// The process ended between listing and reading.
    Gone,
    /// A kernel thread has no memory of its own.
    KernelThread,
    /// A zombie has no memory any more.
    Zombie,
    /// This kernel, or this tree, has no such file or field.
    Unsupported,
    /// The read overran its deadline; it may still return.
    TimedOut,
    /// The bytes were not as the kernel documents them.
    Malformed,
    /// Not read yet.
    Pending,
    /// Read only where the user asked for it.
    NotAsked,
    /// Not known when the mark was set, since which a change would be.
    NotMarked,
    /// There are more rows than have a history, and this is one of the rest.
    TooMany,
    /// The host does not export it: of a row of a fleet.
    NotExported,
    /// It is outside of what zmtop's namespaces and mounts show, as a cgroup above that of a container.
    OutOfView,
    /// Any other error from the kernel, by number.
    Errno(i32),
}

impl Missing {
    /// Returns the reason in a word or two, as in the detail line and as `unread` in JSON.
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
            Self::NotAsked => "not asked: press c",
            Self::NotMarked => "not known at the mark",
            Self::TooMany => "too many to have a history each",
            Self::NotExported => "not exported",
            Self::OutOfView => "not visible from here",
            Self::Errno(_) => "read error",
        }
    }

    /// Parses what [`Display`](fmt::Display) writes; `None` for other text.
    pub fn parse(text: &str) -> Option<Self> {
        const WORDS: [Missing; 13] = [
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
        ];
        match text.strip_prefix("read error ") {
            Some(number) => number.parse().ok().map(Self::Errno),
            None => WORDS.into_iter().find(|why| why.reason() == text),
        }
    }

    /// Returns true if a process with this reason has memory that is hidden. A kernel thread and a zombie have none, so
    /// they do not make a total partial.
    pub const fn hides_memory(self) -> bool {
        !matches!(self, Self::KernelThread | Self::Zombie | Self::Gone)
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
