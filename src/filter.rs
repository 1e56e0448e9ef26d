//! The filter language, the same in the monitor and on the command line.
//!
//! ```text
//! filter  = and ('|' and)*                 either
//! and     = not+                           a space is "and"
//! not     = '!'* (term | '(' filter ')')
//! term    = WORD | "QUOTED" | /RE/         command line, comm or user; a regular expression not on the user
//!         | KEY ':' (VALUE | "QUOTED" | /RE/)
//!         | COLUMN ('>' | '>=' | '<' | '<=' | '=' | '!=') FIGURE, with spaces between or without
//! ```
//!
//! Words are compared without regard to case, as parts of the text; `user:` wants the whole name or a uid.
//! A regular expression disregards case unless it holds an upper-case letter.
//!
//! Unknown is neither yes nor no: a row whose swap could not be read passes neither `swap>0` nor
//! `!swap>0`. A bare word looks only at what is known.
//!
//! Of groups words choose the processes that are summed, and figures judge the sums.

mod answers;
mod eval;
mod figure;
mod help;
mod hint;
mod lexer;
mod parser;

use std::borrow::Cow;

use answers::Answers;
use eval::{Look, Test};
pub use help::help;

use crate::units::Unit;

/// The words of a process that a filter can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The whole command line.
    Command,
    /// comm.
    Name,
    /// The user's name.
    User,
    /// The systemd unit.
    Unit,
    /// The container id.
    Container,
    /// The cgroup path.
    Cgroup,
    /// What its program is called where processes are grouped by it.
    Group,
    /// The path of the program's file.
    Exe,
    /// What became of that file: `updated` or `deleted`.
    Replaced,
    /// Why its memory could not be read.
    Unread,
    /// The state's letter.
    State,
}

/// The columns a filter may name. The table itself stands on a higher floor.
pub trait Catalog {
    /// Returns the number and the unit of the column of that name, if it has figures.
    fn column(&self, name: &str) -> Option<(usize, Unit)>;
    /// The names it knows, to offer the nearest where one was mistyped.
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// What a filter is asked about.
pub trait Subject {
    /// A word, raw; `None` where the process has none or it could not be read.
    fn word(&self, word: Word) -> Option<Cow<'_, [u8]>>;
    /// The pid.
    fn pid(&self) -> Option<u32>;
    /// A column's figure; `None` where it is unknown.
    fn number(&self, column: usize) -> Option<f64>;
    /// Whether that column's figure names a process rather than measures it, so that a sum has none: pid
    /// and the like. Of groups such a figure is asked as words are.
    fn names(&self, column: usize) -> bool {
        let _ = column;
        false
    }
}

/// Why a filter could not be understood, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at column {}", at + 1)]
pub struct FilterError {
    /// The place, in characters from 0.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

/// A filter that was understood.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    root: Option<eval::Expr>,
    /// It asks for words.
    words: bool,
}

impl Filter {
    /// The longest filter, in bytes.
    pub const MAX_BYTES: usize = 4096;
    /// How deep parentheses may nest.
    pub const MAX_DEPTH: usize = 64;
    /// The most regular expressions in one filter: each may take a mebibyte.
    pub const MAX_PATTERNS: usize = 16;

    /// Understands a filter; an empty one matches everything.
    ///
    /// # Errors
    /// Says what is wrong, and at which character.
    pub fn parse(text: &str, catalog: &dyn Catalog) -> Result<Self, FilterError> {
        if text.len() > Self::MAX_BYTES {
            let at = text
                .char_indices()
                .take_while(|(byte, _)| *byte < Self::MAX_BYTES)
                .count();
            return Err(FilterError::new(
                at,
                format!("a filter is at most {} bytes long", Self::MAX_BYTES),
            ));
        }
        let root = parser::parse(&lexer::tokens(text)?, catalog)?;
        let words = root.as_ref().is_some_and(eval::Expr::asks_words);
        Ok(Self { root, words })
    }

    /// Whether it lets everything through.
    pub const fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether the subject passes.
    pub fn matches(&self, subject: &dyn Subject) -> bool {
        let look = Look::new(Some(subject), Some(subject));
        self.root.as_ref().is_none_or(|root| root.ask(&look) == Answers::YES)
    }

    /// Whether the subject passes; `None` where that hangs on what is unknown.
    pub fn answer(&self, subject: &dyn Subject) -> Option<bool> {
        let Some(root) = &self.root else { return Some(true) };
        if self.words {
            root.ask(&Look::new(Some(subject), Some(subject))).settled()
        } else {
            root.ask_figures(subject).settled()
        }
    }

    /// Whether a group passes, as [`matches_group`](Self::matches_group) says; `None` where no member does
    /// and that of one hangs on what is unknown.
    pub fn answer_group<S: Subject>(&self, sums: &dyn Subject, members: impl IntoIterator<Item = S>) -> Option<bool> {
        let Some(root) = &self.root else { return Some(true) };
        let mut answer = Some(false);
        for member in members {
            match root.ask(&Look::new(Some(&member), Some(sums))).settled() {
                Some(true) => return Some(true),
                Some(false) => {}
                None => answer = None,
            }
            if !root.asks_processes(&member) {
                break;
            }
        }
        answer
    }

    /// Whether any of it is asked of words, or of the pid: of what only a process has.
    pub const fn asks_words(&self) -> bool {
        self.words
    }

    /// The columns that it asks for, in order and each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        if let Some(root) = &self.root {
            root.each(&mut |test| {
                if let Test::Figure { column, .. } = test {
                    columns.push(*column);
                }
            });
        }
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Whether a process is summed in its group: whether there are figures with which it would pass. So
    /// words choose the processes, and figures, which are to judge the sums, drop none.
    pub fn may_match(&self, process: &dyn Subject) -> bool {
        let look = Look::new(Some(process), None);
        self.root.as_ref().is_none_or(|root| root.ask(&look).may_be_yes())
    }

    /// Whether a group passes, by its sums: whether one of its members would with the group's figures in
    /// place of its own. For a group that has no members, such as a mapping, the words were asked elsewhere.
    pub fn matches_group<S: Subject>(&self, sums: &dyn Subject, members: impl IntoIterator<Item = S>) -> bool {
        let Some(root) = &self.root else { return true };
        let mut members = members.into_iter();
        let Some(first) = members.next() else {
            return root.ask(&Look::new(None, Some(sums))).may_be_yes();
        };
        let passes = |member: &S| root.ask(&Look::new(Some(member), Some(sums))) == Answers::YES;
        passes(&first) || root.asks_processes(&first) && members.any(|member| passes(&member))
    }
}

impl FilterError {
    pub(crate) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

/// `text` as a value that means just itself in a filter: in quotes where it needs them.
pub fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    }
}
