//! What can be wrong with a file of snapshots.

/// A fault of a file. Every text is one line and safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It cannot be opened or read.
    #[error("{name} cannot be read: {why}")]
    Unreadable {
        /// The file.
        name: String,
        /// The kernel's reason, or zstd's.
        why: String,
    },
    /// Not a regular file, and not standard input.
    #[error("{name} is {kind}, not a regular file (`-` reads standard input)")]
    Kind {
        /// The file.
        name: String,
        /// A directory, a FIFO, …
        kind: &'static str,
    },
    /// There is nothing in it.
    #[error("{name} is empty")]
    Empty {
        /// The file.
        name: String,
    },
    /// Lines that are passed over.
    #[error("{name}: {}: {what}", lines(*first, *last))]
    Damaged {
        /// The file.
        name: String,
        /// The first of them, from 1.
        first: u64,
        /// The last of them.
        last: u64,
        /// What is wrong with the first.
        what: String,
    },
    /// It ends in the middle of a snapshot, as when its writer was killed; what came before stands.
    #[error("{name} ends in the middle of line {line}; what came before is used")]
    Cut {
        /// The file.
        name: String,
        /// The line that is not whole.
        line: u64,
    },
    /// It is compressed, and damaged in a way that hides all that follows.
    #[error("{name} is damaged after line {line}: {why}")]
    Corrupt {
        /// The file.
        name: String,
        /// The last whole line.
        line: u64,
        /// zstd's reason.
        why: String,
    },
    /// It was written by a later version.
    #[error("{name}: line {line}: {what}")]
    Refused {
        /// The file.
        name: String,
        /// The first such line.
        line: u64,
        /// Which version.
        what: String,
    },
}

impl SourceError {
    /// Whether nothing comes after it.
    pub const fn ends(&self) -> bool {
        !matches!(self, Self::Damaged { .. })
    }

    /// Whether the file is good up to here and merely lacks its end.
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::Cut { .. })
    }
}

fn lines(first: u64, last: u64) -> String {
    if first >= last {
        format!("line {first} is damaged")
    } else {
        format!("lines {first} to {last} are damaged")
    }
}

/// A fault whose file is not yet named.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    Unreadable { why: String },
    Kind { kind: &'static str },
    Empty,
    Damaged { first: u64, last: u64, what: String },
    Cut { line: u64 },
    Corrupt { line: u64, why: String },
    Refused { line: u64, what: String },
}

impl Trouble {
    pub(super) fn of(self, name: &str) -> SourceError {
        let name = name.to_owned();
        match self {
            Self::Unreadable { why } => SourceError::Unreadable { name, why },
            Self::Kind { kind } => SourceError::Kind { name, kind },
            Self::Empty => SourceError::Empty { name },
            Self::Damaged { first, last, what } => SourceError::Damaged {
                name,
                first,
                last,
                what,
            },
            Self::Cut { line } => SourceError::Cut { name, line },
            Self::Corrupt { line, why } => SourceError::Corrupt { name, line, why },
            Self::Refused { line, what } => SourceError::Refused { name, line, what },
        }
    }
}
