//! The filter language, the same in the monitor and on the command line.
//!
//! ```text
//! filter  = and ('|' and)*                 either
//! and     = not+                           a space is "and"
//! not     = '!'* (term | '(' filter ')')
//! term    = WORD | /RE/                    command line, comm or user; a regular expression not on the user
//!         | KEY ':' (WORD | /RE/)
//!         | COLUMN ('>' | '>=' | '<' | '<=' | '=' | '!=') FIGURE, with spaces between or without
//! ```
//!
//! A word is quoted as in a shell: `'…'` is literal, in `"…"` a backslash escapes a quote or a backslash, and adjacent pieces
//! are one word. The unquoted words `or`, `and` and `not` between terms are errors that name the operator.
//!
//! Words match parts of a text in any case, and a number also the process with that pid; `user:` needs the whole name or a uid. A
//! regular expression ignores case unless it contains an upper-case letter.
//!
//! Unknown is neither yes nor no: a row whose swap could not be read passes neither `swap>0` nor `!swap>0`. A bare word
//! matches only known texts.
//!
//! The arguments of zmtop itself contain the words of the filter, so they are omitted from its own command line. A command line
//! that repeats them, for example of the shell that started zmtop, is matched by its first word only (see
//! [`Snapshot::repeats`](crate::model::Snapshot::repeats)).
//!
//! # Groups
//! Words choose the processes that are summed, and figures are compared with the sums. This applies to `ps --by`, to the
//! monitor and to conditions of alerts, each at every snapshot. In `leaks --by`, pace and verdict come from a history of the
//! chosen processes only ([`query::choose`](crate::query::choose)), and a chosen process stays chosen while it runs its program. A
//! table shows no trend of a group that its filter hides a part of, since the monitor's histories are of whole groups.
//!
//! This module knows neither rows nor columns: it uses a [`Schema`] and a [`Filterable`].

mod expr;
mod parser;

pub use parser::meant;

use std::borrow::Cow;

use expr::{Condition, Expr, Inputs};

use crate::text;
use crate::units::Unit;

/// The texts of a process that a filter can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    CommandLine,
    /// The kernel's short name.
    Comm,
    User,
    /// The owner of its uid.
    Owner,
    Unit,
    Container,
    /// The whole id of its container.
    ContainerId,
    /// The pod, the namespace and the image of its container; empty if it has none.
    Pod,
    Namespace,
    Image,
    Cgroup,
    /// The name of its program, as in groups by command.
    Group,
    /// The name of its family.
    Family,
    /// The path of the program's file.
    Exe,
    /// The state of that file: `updated` or `deleted`.
    Replaced,
    /// The reason why its memory could not be read.
    Unread,
    Host,
    /// The names of the files and shared memory that it maps, one a line.
    Mapped,
    /// The letter of its state.
    State,
}

impl TextField {
    const COUNT: usize = Self::State as usize + 1;
}

/// The columns that a filter may name.
pub trait Schema {
    /// Returns the number and the unit of the column of that name, if it has figures.
    fn figure(&self, name: &str) -> Option<(usize, Unit)>;
    /// Returns the id of the column of that name or heading.
    fn id(&self, name: &str) -> Option<&'static str>;
    /// Returns the names of the columns that have figures.
    fn figures(&self) -> Vec<&'static str>;
}

/// A row that a filter can be matched with.
pub trait Filterable {
    /// Returns a raw text; `None` if the row has none or it could not be read.
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>>;
    fn pid(&self) -> Option<u32> {
        None
    }
    /// Returns a column's figure; `None` if it is unknown.
    fn number(&self, column: usize) -> Option<f64>;
    /// Returns the raw name of what grows in the row, if known: `slab kmalloc-64`. Only alerts use it.
    fn cause(&self) -> Option<Cow<'_, [u8]>> {
        None
    }
    /// Returns true if only processes have that column's figure, such as the pid. It is then compared, like texts, for the
    /// members of a group.
    fn is_per_process(&self, _column: usize) -> bool {
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at column {}", at + 1)]
pub struct FilterError {
    /// The character, from 0.
    pub at: usize,
    pub what: String,
}

impl FilterError {
    /// Returns the words, the filter, and a mark below its place, in three lines, as the monitor shows them. Of a filter that is too
    /// long for a line, the words with the place. Safe to print.
    pub fn in_lines(&self, filter: &str) -> String {
        const LONGEST: usize = 160;
        let shown = text::safe(filter.as_bytes());
        let before: String = filter.chars().take(self.at).collect();
        let indent = text::width(&text::safe(before.as_bytes()));
        if text::width(&shown) > LONGEST {
            return text::safe(self.to_string().as_bytes()).into_owned();
        }
        let what = text::safe(self.what.as_bytes());
        format!("{what}\n    {shown}\n    {:indent$}^", "")
    }

    pub(crate) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

/// A parsed filter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    root: Option<Expr>,
    uses_text: bool,
    /// The sizes without a unit.
    bare_sizes: Vec<String>,
}

impl Filter {
    /// The longest filter, in bytes.
    pub const MAX_BYTES: usize = 4096;
    /// The depth to which parentheses may nest.
    pub const MAX_DEPTH: usize = 64;
    /// The maximum number of regular expressions: each may need a mebibyte.
    pub const MAX_PATTERNS: usize = 16;

    /// Parses a filter; an empty one matches everything.
    ///
    /// # Errors
    /// Has a message and the position of the error.
    pub fn parse(text: &str, schema: &dyn Schema) -> Result<Self, FilterError> {
        if text.len() > Self::MAX_BYTES {
            let before = text.char_indices().take_while(|(byte, _)| *byte < Self::MAX_BYTES);
            let what = format!("a filter is at most {} bytes long", Self::MAX_BYTES);
            return Err(FilterError::new(before.count(), what));
        }
        let (root, bare_sizes) = parser::parse(text, schema)?;
        let uses_text = root.as_ref().is_some_and(Expr::uses_text);
        Ok(Self {
            root,
            uses_text,
            bare_sizes,
        })
    }

    pub const fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Returns the unit of sizes that were written without one, which the user may have meant otherwise: `30 is in bytes: write
    /// 30M for MiB`.
    pub fn remark(&self) -> Option<String> {
        let size = self.bare_sizes.first()?;
        Some(format!("{size} is in bytes: write {size}M for MiB"))
    }

    /// Returns true if some condition is about a text, the pid or the state, which only processes have.
    pub const fn uses_text(&self) -> bool {
        self.uses_text
    }

    /// Returns true if it names a field or compares a figure, and so cannot be meant as a plain text.
    pub fn has_fields(&self) -> bool {
        let is_field = |condition: &Condition| !matches!(condition, Condition::Anywhere(_) | Condition::Pattern(_));
        self.root
            .as_ref()
            .is_some_and(|root| root.has(&mut |condition| is_field(condition)))
    }

    /// Returns the columns that it compares, sorted and without duplicates.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.bounds().into_iter().map(|(column, _)| column).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns the columns that it compares, each with the value that it is compared with.
    pub fn bounds(&self) -> Vec<(usize, f64)> {
        let mut bounds = Vec::new();
        self.each_condition(|condition| {
            if let Condition::Figure { column, bound, .. } = condition {
                bounds.push((*column, *bound));
            }
        });
        bounds
    }

    /// Returns the texts that it matches, possibly with duplicates.
    pub fn text_fields(&self) -> Vec<TextField> {
        let mut fields = Vec::new();
        self.each_condition(|condition| fields.extend_from_slice(condition.text_fields()));
        fields
    }

    /// Returns the names and uids of users that it names, as they are typed.
    pub fn users(&self) -> Vec<String> {
        let mut users = Vec::new();
        self.each_condition(|condition| {
            if let Condition::User(user) = condition {
                users.extend_from_slice(&user.typed);
            }
        });
        users
    }

    fn each_condition(&self, mut call: impl FnMut(&Condition)) {
        if let Some(root) = &self.root {
            root.has(&mut |condition| {
                call(condition);
                false
            });
        }
    }

    pub fn matches(&self, row: &dyn Filterable) -> bool {
        self.evaluate(row) == Some(true)
    }

    /// Returns true if a process passes for some values of its figures. Texts choose the processes of a group; figures are
    /// compared with the group's sums and exclude no process.
    pub fn matches_but_for_figures(&self, process: &dyn Filterable) -> bool {
        let inputs = Inputs::new(Some(process), None);
        self.root
            .as_ref()
            .is_none_or(|root| root.evaluate(&inputs).may_be_yes())
    }

    /// Returns true if a group passes: if one of its members would pass with the group's figures instead of its own. A group
    /// without members, such as a mapping, passes if it would for some texts.
    pub fn matches_group<R: Filterable>(&self, sums: &dyn Filterable, members: impl IntoIterator<Item = R>) -> bool {
        let Some(root) = &self.root else { return true };
        let mut members = members.into_iter().peekable();
        if members.peek().is_none() {
            return root.evaluate(&Inputs::new(None, Some(sums))).may_be_yes();
        }
        self.evaluate_group(sums, members) == Some(true)
    }

    /// Evaluates the filter on a row; `None` if the answer depends on an unknown value.
    pub fn evaluate(&self, row: &dyn Filterable) -> Option<bool> {
        let Some(root) = &self.root else { return Some(true) };
        if self.uses_text {
            root.evaluate(&Inputs::new(Some(row), Some(row))).known()
        } else {
            root.evaluate_figures(row).known()
        }
    }

    /// Evaluates the filter on a group, as [`matches_group`](Self::matches_group) does; `None` if no member passes and the
    /// answer for one depends on an unknown value.
    pub fn evaluate_group<R: Filterable>(
        &self,
        sums: &dyn Filterable,
        members: impl IntoIterator<Item = R>,
    ) -> Option<bool> {
        let Some(root) = &self.root else { return Some(true) };
        let mut answer = Some(false);
        for member in members {
            match root.evaluate(&Inputs::new(Some(&member), Some(sums))).known() {
                Some(true) => return Some(true),
                Some(false) => {}
                None => answer = None,
            }
            // If no condition is about processes, the answer is the same for all members.
            if !root.uses_processes(&member) {
                break;
            }
        }
        answer
    }
}

/// Returns `text` as a word of a filter, quoted if necessary.
pub fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    }
}

/// Returns examples and their meanings.
pub const fn help() -> &'static [(&'static str, &'static str)] {
    &[
        ("firefox", "firefox in the command line, the name or the user"),
        (
            "'http server'",
            "words with a space, or with : = ( or |, quoted as in a shell",
        ),
        (
            "/post(gres|master)/",
            "a regular expression on the command line or the name",
        ),
        ("user:alice", "the user, by full name or uid; user:alice,bob for either"),
        (
            "owner:alice",
            "a word in the name of the user, or of the owner of a subordinate uid",
        ),
        ("cmd:train", "a word in the command line"),
        ("name:python", "a word in the kernel's short name"),
        ("pid:1,1234", "these processes"),
        (
            "unit:ssh",
            "a word in the systemd unit; likewise cgroup:, pod:, namespace: and image:",
        ),
        (
            "container:web",
            "a word in the container's name, or the start of its id",
        ),
        (
            "family:postgres",
            "a daemon and its descendants, by the name and pid of the daemon",
        ),
        (
            "replaced:deleted",
            "program file deleted; also replaced:updated; exe: is a word in its path",
        ),
        (
            "maps:libssl",
            "a word in the name of a file or of shared memory that the process maps",
        ),
        ("host:web", "a word in the host's name, in zmtop fleet"),
        ("cmd:/^python3? /", "a regular expression in any of these"),
        ("state:D", "the state, by letter; state:RD for either"),
        ("pss>100M", "a column and a size: > >= < <= = !="),
        ("growth>1M/min", "a size per time"),
        ("verdict:leaking", "a verdict; verdict>=growing for growing or worse"),
        ("dpss<-1M", "shrank by more than 1M"),
        ("cpu>50%", "a percentage; plain numbers and times (5m, 2h) likewise"),
        (
            "!user:root",
            "not; an unknown figure matches neither swap>0 nor !swap>0",
        ),
        ("user:alice swap>0", "a space is \"and\""),
        ("firefox | chrome", "\"or\"; \"and\" binds more tightly"),
        ("!(user:root | user:daemon) uss>1G", "parentheses group"),
    ]
}
