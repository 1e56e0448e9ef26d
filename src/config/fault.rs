//! Everything that is wrong with a file of the configuration, and where.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::order;
use crate::text;

/// The maximum number of faults reported of one file.
const MAX_FAULTS: usize = 100;
/// The maximum number of terminal columns shown of a key or a value from a file.
const MAX_SHOWN: usize = 60;

/// A place in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

/// A fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The place in it; `None` if the fault is in the file as a whole.
    pub at: Option<Position>,
    /// The dotted key, safe to print; empty if no key is concerned.
    pub key: String,
    /// A description of what is wrong, and what would be right; safe to print.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_path(&self.file))?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Every fault of the configuration; printed with one line for each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(faults))]
pub struct ConfigError {
    /// The faults, at least one, in the order of the files and of the lines in them.
    pub faults: Vec<Fault>,
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

impl ConfigError {
    /// Returns the error for a fault of a file as a whole.
    pub fn of_file(file: &Path, what: impl Into<String>) -> Self {
        Self {
            faults: vec![Fault {
                file: file.into(),
                at: None,
                key: String::new(),
                what: what.into(),
            }],
        }
    }
}

/// Formats a path for a message.
pub fn shown_path(path: &Path) -> String {
    text::safe(path.as_os_str().as_bytes()).into_owned()
}

/// Formats a key or a value from a file or the command line for a message: safe, and not too long.
pub fn shown(foreign: &str) -> String {
    let safe = text::safe_prefix(foreign.as_bytes(), MAX_SHOWN + 1);
    if safe.chars().count() <= MAX_SHOWN {
        return safe.into_owned();
    }
    safe.chars().take(MAX_SHOWN - 1).chain(['…']).collect()
}

/// A collector of the faults of one file.
#[derive(Debug)]
pub(super) struct Faults<'a> {
    file: &'a Path,
    text: &'a str,
    /// The offset at which each line begins.
    lines: Vec<usize>,
    /// Lines that are not TOML: values recovered from them are not checked further.
    broken: BTreeSet<usize>,
    list: Vec<Fault>,
    more: bool,
}

impl<'a> Faults<'a> {
    /// Returns a collector without faults.
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Self {
            file,
            text,
            lines: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect(),
            broken: BTreeSet::new(),
            list: Vec::new(),
            more: false,
        }
    }

    /// Returns true if there are so many faults that the search may end: a megabyte can hold very many.
    pub(super) fn full(&self) -> bool {
        self.more
    }

    fn place(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|begin| *begin <= byte).max(1);
        let begin = self.lines[line - 1];
        let before = self.text.get(begin..byte.min(self.text.len())).unwrap_or_default();
        Position {
            line,
            column: before.chars().count() + 1,
        }
    }

    /// Adds a fault at `span`. The key is made safe here; `what` must be safe.
    pub(super) fn add(&mut self, span: &Range<usize>, key: &str, what: impl Into<String>) {
        if self.full() {
            return;
        }
        let at = self.place(span.start);
        if !self.broken.contains(&at.line) {
            self.push(Some(at), shown(key), what.into());
        }
    }

    /// Adds a fault of the file as a whole.
    pub(super) fn add_whole(&mut self, what: impl Into<String>) {
        self.push(None, String::new(), what.into());
    }

    /// Adds a syntax fault, unless the line has one already.
    pub(super) fn add_syntax(&mut self, span: Option<Range<usize>>, message: &str) {
        if self.full() {
            return;
        }
        let what = format!("not TOML: {}", shown(message));
        let Some(span) = span else {
            return self.add_whole(what);
        };
        let at = self.place(span.start);
        if self.broken.insert(at.line) {
            self.push(Some(at), String::new(), what);
        }
    }

    fn push(&mut self, at: Option<Position>, key: String, what: String) {
        if self.list.len() == MAX_FAULTS {
            self.more = true;
            return;
        }
        self.list.push(Fault {
            file: self.file.into(),
            at,
            key,
            what,
        });
    }

    /// Returns the faults in the order of the lines, if there are any.
    pub(super) fn finish(mut self) -> Result<(), ConfigError> {
        if self.list.is_empty() {
            return Ok(());
        }
        order::sort_by_key(&mut self.list, |f| f.at);
        if self.more {
            self.list
                .extend(ConfigError::of_file(self.file, "and more faults").faults);
        }
        Err(ConfigError { faults: self.list })
    }
}
