//! Faults of a file of snapshots.

use std::{fmt, io};

use crate::text;

/// A fault of a file. Its text is one line and safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}{fault}")]
pub struct SourceError {
    /// The file's name, safe to print.
    pub name: String,
    /// The fault.
    pub fault: Fault,
}

/// A kind of fault. As text it goes on after the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be opened or read: the kernel's reason, or zstd's.
    Unreadable(String),
    /// It is neither a regular file nor standard input, but a directory, a FIFO, …
    Kind(&'static str),
    /// There is nothing in it.
    Empty,
    /// Lines that are passed over, from 1, and what is wrong with the first.
    Damaged {
        /// The first line.
        first: u64,
        /// The last line.
        last: u64,
        /// The fault of the first.
        what: String,
    },
    /// It ends in the middle of a snapshot in this line, as when its writer was killed; what came before stands.
    Cut(u64),
    /// It is compressed, and damaged in a way that hides all that follows.
    Corrupt {
        /// The last whole line.
        line: u64,
        /// zstd's reason.
        why: String,
    },
    /// It was written by a later version.
    Refused {
        /// The first such line.
        line: u64,
        /// The version.
        what: String,
    },
}

impl SourceError {
    /// Returns true if nothing comes after it.
    pub const fn ends(&self) -> bool {
        self.fault.ends()
    }

    /// Returns true if the file is good up to here and merely lacks its end.
    pub const fn is_cut(&self) -> bool {
        matches!(self.fault, Fault::Cut(_))
    }
}

impl Fault {
    /// Returns true if nothing comes after it.
    pub const fn ends(&self) -> bool {
        !matches!(self, Self::Damaged { .. })
    }

    /// Returns it as an error of the file of that name.
    pub(super) fn of(self, name: &str) -> SourceError {
        SourceError {
            name: name.to_owned(),
            fault: self,
        }
    }

    /// Returns the fault of a file that cannot be read.
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
            Self::Damaged { first, last, what } if first >= last => write!(f, ": line {first} is damaged: {what}"),
            Self::Damaged { first, last, what } => write!(f, ": lines {first} to {last} are damaged: {what}"),
            Self::Cut(line) => write!(f, " ends in the middle of line {line}; what came before is used"),
            Self::Corrupt { line, why } => write!(f, " is damaged after line {line}: {why}"),
            Self::Refused { line, what } => write!(f, ": line {line}: {what}"),
        }
    }
}

/// Returns the reason alone, without the "(os error N)".
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text::safe_prefix(text.as_bytes(), 160).into_owned(),
    }
}
