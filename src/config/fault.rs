//! The faults of a config file, with their places.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::order;
use crate::text;

/// The maximum number of faults reported per file.
const MAX_FAULTS: usize = 100;
/// Keys and values from a file are cut to this many terminal columns in messages.
const MAX_SHOWN: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// A fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub file: PathBuf,
    /// Its place in the file; `None` if the whole file is at fault.
    pub at: Option<Position>,
    /// The dotted key, safe to print. Empty if the fault concerns no key.
    pub key: String,
    /// The fault, and the values that are valid. Safe to print.
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

/// All faults of the configuration. Displayed as one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(faults))]
pub struct ConfigError {
    /// The faults, at least one, ordered by file and line.
    pub faults: Vec<Fault>,
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

impl ConfigError {
    /// Returns an error with one fault that concerns a whole file.
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

/// Formats a key or value from a file or the command line for a message: safe to print and limited in length.
pub fn shown(foreign: &str) -> String {
    let safe = text::safe_prefix(foreign.as_bytes(), MAX_SHOWN + 1);
    if safe.chars().count() <= MAX_SHOWN {
        return safe.into_owned();
    }
    safe.chars().take(MAX_SHOWN - 1).chain(['…']).collect()
}

/// Collects the faults of one file.
#[derive(Debug)]
pub(crate) struct Faults<'a> {
    file: &'a Path,
    text: &'a str,
    /// The offset at which each line begins.
    lines: Vec<usize>,
    collected: RefCell<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    /// Lines with TOML syntax errors. Values recovered from them are not checked further.
    broken: BTreeSet<usize>,
    list: Vec<Fault>,
    more: bool,
}

impl<'a> Faults<'a> {
    pub(crate) fn new(file: &'a Path, text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Self {
            file,
            text,
            lines: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect(),
            collected: RefCell::default(),
        }
    }

    /// Returns true if the maximum is reached, so that checking can stop: 1 MiB of text can hold very many faults.
    pub(super) fn full(&self) -> bool {
        self.collected.borrow().more
    }

    pub(super) fn place(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|begin| *begin <= byte).max(1);
        let begin = self.lines[line - 1];
        let before = self.text.get(begin..byte.min(self.text.len())).unwrap_or_default();
        Position {
            line,
            column: before.chars().count() + 1,
        }
    }

    /// Adds a fault at `span`. Escapes the key; `what` must already be safe to print.
    pub(crate) fn add(&self, span: &Range<usize>, key: &str, what: impl Into<String>) {
        if self.full() {
            return;
        }
        let at = self.place(span.start);
        if !self.collected.borrow().broken.contains(&at.line) {
            self.push(Some(at), shown(key), what.into());
        }
    }

    /// Adds a fault that concerns the whole file.
    pub(super) fn add_whole(&self, what: impl Into<String>) {
        self.push(None, String::new(), what.into());
    }

    /// Adds a syntax fault, unless the line already has one.
    pub(super) fn add_syntax(&self, span: Option<Range<usize>>, message: &str) {
        if self.full() {
            return;
        }
        let what = format!("not TOML: {}", shown(message));
        let Some(span) = span else {
            return self.add_whole(what);
        };
        let at = self.place(span.start);
        if self.collected.borrow_mut().broken.insert(at.line) {
            self.push(Some(at), String::new(), what);
        }
    }

    fn push(&self, at: Option<Position>, key: String, what: String) {
        let mut collected = self.collected.borrow_mut();
        if collected.list.len() == MAX_FAULTS {
            collected.more = true;
            return;
        }
        let file = self.file.into();
        collected.list.push(Fault { file, at, key, what });
    }

    /// Returns the faults, if any, in the order of the lines.
    pub(crate) fn finish(self) -> Result<(), ConfigError> {
        let Collected { mut list, more, .. } = self.collected.into_inner();
        if list.is_empty() {
            return Ok(());
        }
        order::sort_by_key(&mut list, |f| f.at);
        if more {
            list.extend(ConfigError::of_file(self.file, "and more faults").faults);
        }
        Err(ConfigError { faults: list })
    }
}
