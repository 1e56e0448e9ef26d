//! The keys of the language, and the messages about keys and columns that do not exist.

use super::{FilterError, Schema, TextField};
use crate::text::{self, Align, nearest};

/// A key, which stands before a colon.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: KeyKind,
    /// The value that must follow, for messages.
    pub(super) expects: &'static str,
}

/// The text or number that a key's value is compared with.
#[derive(Clone, Copy)]
pub(super) enum KeyKind {
    Text(TextField),
    Pid,
    State,
}

const fn key(name: &'static str, kind: KeyKind, expects: &'static str) -> Key {
    Key { name, kind, expects }
}

const fn text(name: &'static str, field: TextField, expects: &'static str) -> Key {
    key(name, KeyKind::Text(field), expects)
}

static KEYS: [Key; 17] = [
    text("user", TextField::User, "a name"),
    text("cmd", TextField::CommandLine, "a word"),
    text("command", TextField::CommandLine, "a word"),
    text("cmdline", TextField::CommandLine, "a word"),
    text("name", TextField::Comm, "a word"),
    text("comm", TextField::Comm, "a word"),
    key("pid", KeyKind::Pid, "a number"),
    text("unit", TextField::Unit, "a name"),
    text("container", TextField::Container, "an id"),
    text("cgroup", TextField::Cgroup, "a path"),
    text("group", TextField::Group, "a name"),
    text("family", TextField::Family, "a name"),
    text("host", TextField::Host, "a name"),
    text("exe", TextField::Exe, "a path"),
    text("replaced", TextField::Replaced, "updated or deleted"),
    text("unread", TextField::Unread, "a reason"),
    key("state", KeyKind::State, "a letter"),
];

/// Returns the key of that name, as typed.
pub(super) fn find(typed: &str) -> Option<&'static Key> {
    let name = normalized(typed);
    KEYS.iter().find(|key| key.name == name)
}

/// Converts a typed name to the form of ids: lower case, `-` as `_`.
pub(super) fn normalized(typed: &str) -> String {
    typed.to_lowercase().replace('-', "_")
}

/// Returns typed text short and safe to print.
pub(super) fn shown(typed: &str) -> String {
    const WIDTH: usize = 24;
    let text = text::safe_prefix(typed.as_bytes(), WIDTH);
    text::fit(&text, WIDTH, Align::Left).trim_end().to_owned()
}

/// Reports `key:value` with an unknown key, at character `at`.
pub(super) fn unknown_key(key: &str, value: &str, at: usize, schema: &dyn Schema) -> FilterError {
    let name = normalized(key);
    let what = if schema.figure(&name).is_some() {
        format!("{name} is a figure: write {name}>{}", shown(value))
    } else {
        unknown(key, KEYS.iter().map(|key| key.name))
    };
    FilterError::new(at, what)
}

/// Reports `column>figure` with an unknown column, at character `at`.
pub(super) fn unknown_column(column: &str, value: &str, at: usize, schema: &dyn Schema) -> FilterError {
    let what = if find(column).is_some() {
        format!(
            "{name} is a word: write {name}:{}",
            shown(value),
            name = normalized(column)
        )
    } else {
        unknown(column, schema.figures())
    };
    FilterError::new(at, what)
}

fn unknown<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    match nearest(&normalized(typed), known) {
        Some(other) => format!("unknown key {}: did you mean {other}?", shown(typed)),
        None => format!(
            "unknown key {}: to look for the word itself, put it in quotes",
            shown(typed)
        ),
    }
}
