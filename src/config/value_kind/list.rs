//! Settings that are arrays: columns, and the words of a command.

use toml::Spanned;
use toml::de::DeValue;

use super::text::{MAX_TEXT, NO_TILDE, column};
use super::{ValueError, ValueKind, quoted_list};
use crate::columns::{COLUMNS, ColumnId};
use crate::config::document::found;

/// The maximum number of words of a program, its name included.
const MAX_WORDS: usize = 64;

/// Reads the items of an array as strings, each by `parse`, which is given its index; or returns what is wrong
/// with each of them.
fn read_items<T>(
    items: &[Spanned<DeValue<'_>>],
    expected: &str,
    mut parse: impl FnMut(usize, &str) -> Result<T, String>,
) -> Result<Vec<T>, Vec<ValueError>> {
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let value = match item.get_ref() {
            DeValue::String(text) => parse(at, text),
            other => Err(format!("expected {expected} in quotes, found {}", found(other))),
        };
        match value {
            Ok(value) => values.push(value),
            Err(what) => errors.push((item.span(), what)),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// Returns the items of an array.
fn items<'v, 't, K: ValueKind>(value: &'v Spanned<DeValue<'t>>) -> Result<&'v [Spanned<DeValue<'t>>], Vec<ValueError>> {
    match value.get_ref() {
        DeValue::Array(items) => Ok(items),
        other => {
            let what = format!("expected {}, found {}", K::EXPECTED, found(other));
            Err(vec![(value.span(), what)])
        }
    }
}

/// Columns, at least one, each once.
pub(in crate::config) struct Columns;

impl Columns {
    /// Returns a parser that refuses a column it has already parsed.
    fn parser() -> impl FnMut(&str) -> Result<ColumnId, String> {
        let mut seen = Vec::new();
        move |name| {
            let id = column(name)?;
            if seen.contains(&id) {
                return Err(format!("column `{name}` is there twice"));
            }
            seen.push(id);
            Ok(id)
        }
    }
}

impl ValueKind for Columns {
    type Value = Vec<ColumnId>;

    const EXPECTED: &'static str = "an array of column names";

    fn parse(&self, text: &str) -> Result<Vec<ColumnId>, String> {
        text.split(',').map(str::trim).map(Self::parser()).collect()
    }

    fn to_toml(&self, value: &Vec<ColumnId>) -> String {
        quoted_list(value.iter().map(|column| column.get().id))
    }

    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<ColumnId>, Vec<ValueError>> {
        let items = items::<Self>(value)?;
        let what = match items.len() {
            0 => "at least one column is needed".into(),
            // A file could hold very many.
            len if len > COLUMNS.len() => format!("{len} columns, and there are but {}", COLUMNS.len()),
            _ => {
                let mut parse = Self::parser();
                return read_items(items, "a column name", |_, name| parse(name));
            }
        };
        Err(vec![(value.span(), what)])
    }
}

/// A program and its arguments; empty for none.
pub(in crate::config) struct Program;

impl Program {
    /// Parses the program's name or path, at index 0, or one of its arguments.
    fn parse_word(at: usize, text: &str) -> Result<String, String> {
        match text {
            "" if at == 0 => Err("the program's name is empty".into()),
            _ if at == 0 && text.starts_with('~') => Err(NO_TILDE.into()),
            _ if text.contains('\0') => Err("a program's words cannot hold a zero byte".into()),
            _ if text.len() > MAX_TEXT => Err(format!("is longer than {MAX_TEXT} bytes")),
            _ => Ok(text.into()),
        }
    }
}

impl ValueKind for Program {
    type Value = Vec<String>;

    const EXPECTED: &'static str = "a program and its arguments, such as [\"/usr/bin/notify-send\", \"zmtop\"]";

    fn parse(&self, text: &str) -> Result<Vec<String>, String> {
        // Words are not split as a shell would.
        Ok(vec![Self::parse_word(0, text)?])
    }

    fn to_toml(&self, value: &Vec<String>) -> String {
        quoted_list(value.iter().map(String::as_str))
    }

    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Vec<ValueError>> {
        let items = items::<Self>(value)?;
        let (kept, rest) = items.split_at(items.len().min(MAX_WORDS));
        let words = read_items(kept, "a word", Self::parse_word);
        match rest.first() {
            None => words,
            Some(first) => {
                let too_many = (first.span(), format!("a program has at most {MAX_WORDS} words here"));
                Err(words.err().into_iter().flatten().chain([too_many]).collect())
            }
        }
    }
}
