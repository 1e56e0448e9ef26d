//! Parses TOML with the place of every value, and phrases messages about it.

use toml::de::{DeTable, DeValue};

use super::fault::{Faults, shown};
use crate::text::nearest;

/// The length of a text beyond which only the first syntax fault is named, since every byte could be one.
const RECOVER_BYTES: usize = 64 << 10;

/// Parses a document as far as possible; what is not TOML is added to `faults`.
pub(super) fn parse<'t>(text: &'t str, faults: &mut Faults<'_>) -> DeTable<'t> {
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

/// Describes an unknown name: names the nearest known one, then all of them.
pub fn unknown<'n>(kind: &str, name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = nearest(name, known.iter().copied()).map_or(".".into(), |n| format!("; did you mean `{n}`?"));
    format!("unknown {kind} `{}`{hint} Known: {}", shown(name), known.join(", "))
}
