//! A figure, or the reason it is missing.

use std::fmt;

/// A value, or why there is none. Unknown is never zero.
pub type Reading<T> = Result<T, Missing>;

/// Why a figure could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// EACCES or EPERM: the kernel will not let this user look.
    Denied,
    /// The process ended between listing and reading.
    Gone,
    /// A kernel thread has no memory of its own.
    KernelThread,
    /// A zombie has given its memory back.
    Zombie,
    /// This kernel, or this tree, has no such file or field.
    Unsupported,
    /// The read overran its deadline; it may still return.
    TimedOut,
    /// The bytes were not what the kernel's documentation promises.
    Malformed,
    /// Not read yet.
    Pending,
    /// Any other error from the kernel, by number.
    Errno(i32),
}

impl Missing {
    /// A reason in a word or two, for the detail line and for `unread` in JSON.
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
            Self::Errno(_) => "read error",
        }
    }

    /// The reason that [`Display`](fmt::Display) wrote so; `None` for words that are none of them.
    pub fn parse(text: &str) -> Option<Self> {
        const WORDS: [Missing; 8] = [
            Missing::Denied,
            Missing::Gone,
            Missing::KernelThread,
            Missing::Zombie,
            Missing::Unsupported,
            Missing::TimedOut,
            Missing::Malformed,
            Missing::Pending,
        ];
        match text.strip_prefix("read error ") {
            Some(number) => number.parse().ok().map(Self::Errno),
            None => WORDS.into_iter().find(|why| why.reason() == text),
        }
    }

    /// Whether a process with this reason has memory that could have been read: a kernel thread and a
    /// zombie have none, so they do not make a total partial.
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
