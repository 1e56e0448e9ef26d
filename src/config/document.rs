//! Reads the tree of a TOML file. Whatever is wrong becomes a fault with its key, line and limit.
//!
//! A YAML file can be read in the same way once its scalars are strings of such a tree.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Faults, shown};
use crate::text::similar;

/// Texts longer than this report only the first syntax fault, because every byte could be one.
const RECOVER_BYTES: usize = 64 << 10;

/// Parses as much of a document as possible. Adds syntax errors to `faults`.
pub(super) fn parse<'t>(text: &'t str, faults: &Faults<'_>) -> DeTable<'t> {
    match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(first) if text.len() > RECOVER_BYTES => {
            faults.add_syntax(first.span(), first.message());
            DeTable::new()
        }
        Err(_) => {
            let (table, errors) = DeTable::parse_recoverable(text);
            for e in errors {
                faults.add_syntax(e.span(), e.message());
            }
            table.into_inner()
        }
    }
}

/// A table of the tree. Entries are read until the faults are full.
pub(super) struct Table<'d> {
    /// The dotted key; empty for the document itself.
    key: String,
    span: Range<usize>,
    entries: &'d DeTable<'d>,
    faults: &'d Faults<'d>,
}

impl<'d> Table<'d> {
    pub(super) const fn root(entries: &'d DeTable<'d>, faults: &'d Faults<'d>) -> Self {
        Self {
            key: String::new(),
            span: 0..0,
            entries,
            faults,
        }
    }

    fn key(&self, name: &str) -> String {
        match &*self.key {
            "" => name.into(),
            key => format!("{key}.{name}"),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Item<'d>> {
        let (_, value) = self.entries.get_key_value(name)?;
        Some(Item {
            key: self.key(name),
            value,
            faults: self.faults,
        })
    }

    /// Returns the values with their names.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'d str, Item<'d>)> {
        self.entries
            .iter()
            .take_while(|_| !self.faults.full())
            .map(|(name, value)| {
                let item = Item {
                    key: self.key(name.get_ref()),
                    value,
                    faults: self.faults,
                };
                (&**name.get_ref(), item)
            })
    }

    /// Adds a fault of the table as a whole.
    pub(super) fn fault(&self, what: impl Into<String>) {
        self.faults.add(&self.span, &self.key, what);
    }

    /// Adds the fault that a value is absent.
    pub(super) fn fault_of_absent(&self, name: &str, what: impl Into<String>) {
        self.faults.add(&self.span, &self.key(name), what);
    }

    /// Adds a fault of a name, such as [`unknown`].
    pub(super) fn fault_of_name(&self, name: &str, what: impl Into<String>) {
        let entry = self.entries.get_key_value(name);
        let span = entry.map_or(self.span.clone(), |(name, _)| name.span());
        self.faults.add(&span, &self.key(name), what);
    }
}

/// A value of the tree with its key. Each method that returns nothing has added a fault.
pub(super) struct Item<'d> {
    key: String,
    pub(super) value: &'d Spanned<DeValue<'d>>,
    faults: &'d Faults<'d>,
}

impl<'d> Item<'d> {
    /// Returns its line, counted from 1.
    pub(super) fn line(&self) -> usize {
        self.faults.place(self.value.span().start).line
    }

    pub(super) fn fault(&self, what: impl Into<String>) {
        self.faults.add(&self.value.span(), &self.key, what);
    }

    /// Returns the value, or adds its error.
    pub(super) fn checked<T>(&self, result: Result<T, String>) -> Option<T> {
        result.map_err(|what| self.fault(what)).ok()
    }

    /// Returns the value if its type is right. `expected` describes it.
    pub(super) fn expect<T>(&self, expected: &str, found_value: Option<T>) -> Option<T> {
        if found_value.is_none() {
            self.fault(format!("expected {expected}, found {}", found(self.value.get_ref())));
        }
        found_value
    }

    pub(super) fn text(&self, expected: &str) -> Option<&'d str> {
        self.expect(expected, self.value.get_ref().as_str())
    }

    pub(super) fn table(&self, expected: &str) -> Option<Table<'d>> {
        let entries = self.expect(expected, self.value.get_ref().as_table())?;
        Some(Table {
            key: self.key.clone(),
            span: self.value.span(),
            entries,
            faults: self.faults,
        })
    }

    /// Returns the values of an array, which have its key.
    pub(super) fn items(&self, expected: &str) -> Option<impl ExactSizeIterator<Item = Self>> {
        let items = self.expect(expected, self.value.get_ref().as_array())?;
        Some(items.iter().map(|value| Self {
            key: self.key.clone(),
            value,
            faults: self.faults,
        }))
    }

    /// Returns the values of an array until the faults are full. None if it is no array.
    pub(super) fn list(&self, expected: &str) -> impl Iterator<Item = Self> {
        let items = self.items(expected).into_iter().flatten();
        items.take_while(|_| !self.faults.full())
    }
}

/// Describes a value for "expected …, found …".
pub(super) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(s) => format!("\"{}\"", shown(s)),
        DeValue::Integer(i) => shown(&i.to_string()),
        DeValue::Float(x) => shown(x.as_str()),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "an array".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// Describes an unknown name. Suggests the known ones most like it; if there are none, lists those known, unless they are many.
pub fn unknown<'n>(kind: &str, name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    unknown_or(kind, name, known, Vec::new)
}

/// Like [`unknown`]; `others` are suggested if no known name is like it.
pub(super) fn unknown_or<'n>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
    others: impl FnOnce() -> Vec<&'n str>,
) -> String {
    /// More names are no help.
    const MAX_HINTS: usize = 3;
    /// A longer list is not read.
    const MAX_LISTED: usize = 30;
    let known: Vec<&str> = known.into_iter().collect();
    if let Some((first, _)) = name.split_once(',').filter(|(first, _)| known.contains(first)) {
        return format!("only one {kind} is allowed here, such as `{first}`");
    }
    let mut hints = similar(name, known.iter().copied());
    if hints.is_empty() {
        hints = others();
    }
    hints.truncate(MAX_HINTS);
    let name = shown(name);
    match hints.as_slice() {
        [] if known.len() > MAX_LISTED => {
            let command = match kind.split(' ').next() {
                Some("column") => "config columns",
                Some("action") => "config keymap",
                _ => "man",
            };
            format!("unknown {kind} `{name}`: zmtop {command} lists the {}", known.len())
        }
        [] => format!("unknown {kind} `{name}`. Known: {}", known.join(", ")),
        hints => format!("unknown {kind} `{name}`; did you mean `{}`?", hints.join("`, `")),
    }
}
