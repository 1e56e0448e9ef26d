//! The kinds of settings: how a value is read from TOML and from a command line, and written back.

mod list;
mod number;
mod text;

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

pub(super) use list::{Columns, Program};
pub(super) use number::{Decimal, Number, Share, Size, Span};
pub use text::column;
pub(super) use text::{Choice, Column, File, FilterText, Grouping, Switch, Text, ThemeName, UnitName};
use toml::Spanned;
use toml::de::DeValue;

use super::document::found;
use super::fault::shown;

/// The part of a value that is wrong, and what is wrong with it.
pub(super) type ValueError = (Range<usize>, String);

/// A kind of setting. An implementation may have limits, which its fields hold.
pub(super) trait ValueKind {
    /// The type of the field.
    type Value;

    /// A description of a valid value, for messages.
    const EXPECTED: &'static str;

    /// Parses a value as typed on a command line, or between the quotes of a TOML string.
    fn parse(&self, text: &str) -> Result<Self::Value, String>;

    /// Formats a value as TOML on one line.
    fn to_toml(&self, value: &Self::Value) -> String;

    /// Converts a TOML value; `None` if it is of another type. Strings only, unless a kind says otherwise.
    fn convert(&self, value: &DeValue<'_>) -> Option<Result<Self::Value, String>> {
        match value {
            DeValue::String(text) => Some(self.parse(text)),
            _ => None,
        }
    }

    /// Reads a TOML value.
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Self::Value, Vec<ValueError>> {
        let converted = self.convert(value.get_ref()).unwrap_or_else(|| {
            let found = found(value.get_ref());
            Err(format!("expected {}, found {found}", Self::EXPECTED))
        });
        converted.map_err(|what| vec![(value.span(), what)])
    }

    /// Describes a text that cannot be parsed.
    fn misread(text: &str) -> String {
        format!("expected {}, found `{}`", Self::EXPECTED, shown(text))
    }
}

/// Returns the value if it is within its limits. `name` is what the message calls it.
fn within<T: PartialOrd, D: Display>(
    value: T,
    name: &str,
    limits: &RangeInclusive<T>,
    show: fn(&T) -> D,
) -> Result<T, String> {
    if limits.contains(&value) {
        return Ok(value);
    }
    let (min, max) = (show(limits.start()), show(limits.end()));
    Err(format!("{name} is out of range: {min} to {max}"))
}

/// Formats a TOML string in which everything that a terminal could act on is escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        let mut buffer = [0; 4];
        let plain: &str = c.encode_utf8(&mut buffer);
        match c {
            '"' | '\\' => out.extend(["\\", plain]),
            _ if crate::text::safe(plain.as_bytes()) == plain => out.push(c),
            _ => out.extend(["\\U", &format!("{:08x}", u32::from(c))]),
        }
    }
    out.push('"');
    out
}

/// Formats a TOML array of strings.
fn quoted_list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.map(quoted).collect();
    format!("[{}]", words.join(", "))
}
