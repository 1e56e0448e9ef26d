//! Faults of a file of snapshots.

use std::{fmt, io};

use crate::text;

/// A fault of a file. Its text is one line and safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}{fault}")]
pub struct SourceError {
    /// The file, safe to print.
    pub name: String,
    pub fault: Fault,
}

/// A kind of fault. Its text continues the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be opened or read: the reason of the kernel or of zstd.
    Unreadable(String),
    /// It is a directory, a FIFO, …
    Kind(&'static str),
    Empty,
    /// It is a recording, of which no snapshot was written completely.
    Incomplete,
    /// It is a directory without recordings.
    NoRecording,
    /// The skipped lines, from 1, and the fault of the first.
    Damaged {
        first: u64,
        last: u64,
        what: String,
    },
    /// It ends within a snapshot, in this line, because its writer was killed. Everything before is used.
    Cut(u64),
    /// Its compressed data is damaged after this line, so that the rest cannot be read: zstd's reason.
    Corrupt {
        line: u64,
        why: String,
    },
    /// From this line on it was written by a later version.
    Refused {
        line: u64,
        what: String,
    },
}

impl SourceError {
    /// Returns true if no snapshot follows.
    pub const fn ends(&self) -> bool {
        self.fault.ends()
    }

    /// Returns true if the file only lacks its end.
    pub const fn is_cut(&self) -> bool {
        matches!(self.fault, Fault::Cut(_))
    }
}

impl Fault {
    /// Returns true if no snapshot follows.
    pub const fn ends(&self) -> bool {
        !matches!(self, Self::Damaged { .. })
    }

    pub(super) fn of(self, name: &str) -> SourceError {
        SourceError {
            name: name.to_owned(),
            fault: self,
        }
    }

    pub(super) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable(reason(error))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, " cannot be read: {why}"),
            Self::Kind(kind) => write!(f, " is {kind}, not a regular file (`-` reads standard input)"),
            Self::Empty => write!(f, " is empty"),
            Self::Incomplete => write!(f, " has no complete snapshot"),
            Self::NoRecording => write!(f, " has no recording: no file in it ends with .zmrec"),
            Self::Damaged { first, last, what } if first >= last => write!(f, ": line {first} is damaged: {what}"),
            Self::Damaged { first, last, what } => write!(f, ": lines {first} to {last} are damaged: {what}"),
            Self::Cut(line) => write!(f, " ends in the middle of line {line}; what came before is used"),
            Self::Corrupt { line, why } => write!(f, " is damaged after line {line}: {why}"),
            Self::Refused { line, what } => write!(f, ": line {line}: {what}"),
        }
    }
}

/// Returns the reason without the "(os error N)".
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text::safe_prefix(text.as_bytes(), 160).into_owned(),
    }
}
