//! Settings that are words: names that must be known, and free text.

use std::path::PathBuf;

use toml::de::DeValue;

use super::{ValueKind, quoted};
use crate::columns::{self, COLUMNS, ColumnId};
use crate::config::document::unknown;
use crate::config::fault::shown;
use crate::filter::Filter;
use crate::group::GroupBy;
use crate::units::Units;

/// The maximum number of bytes of a text, or of one argument of a program.
pub(super) const MAX_TEXT: usize = 4096;

/// The message for a path that only a shell would expand.
pub(super) const NO_TILDE: &str = "`~` is not expanded: write the home directory out";

/// Returns the column of that name.
pub fn column(name: &str) -> Result<ColumnId, String> {
    columns::find(name).ok_or_else(|| unknown("column", name, COLUMNS.iter().map(|c| c.id)))
}

/// A boolean.
pub(in crate::config) struct Switch;

impl ValueKind for Switch {
    type Value = bool;

    const EXPECTED: &'static str = "true or false";

    fn parse(&self, text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| Self::misread(text))
    }

    fn to_toml(&self, value: &bool) -> String {
        value.to_string()
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<bool, String>> {
        value.as_bool().map(Ok)
    }
}

/// A column.
pub(in crate::config) struct Column;

impl ValueKind for Column {
    type Value = ColumnId;

    const EXPECTED: &'static str = "a column name in quotes";

    fn parse(&self, text: &str) -> Result<ColumnId, String> {
        column(text)
    }

    fn to_toml(&self, value: &ColumnId) -> String {
        quoted(value.get().id)
    }
}

/// The attribute that processes are grouped by; `None`, written "process", lists each by itself.
pub(in crate::config) struct Grouping;

const PROCESS: &str = "process";

impl ValueKind for Grouping {
    type Value = Option<GroupBy>;

    const EXPECTED: &'static str = "what to group by in quotes";

    fn parse(&self, text: &str) -> Result<Option<GroupBy>, String> {
        if text == PROCESS {
            return Ok(None);
        }
        let known = GroupBy::OF_ONE_HOST;
        let found = known.into_iter().find(|by| by.id() == text);
        let names = [PROCESS].into_iter().chain(known.map(GroupBy::id));
        found.map(Some).ok_or_else(|| unknown("group", text, names))
    }

    fn to_toml(&self, value: &Option<GroupBy>) -> String {
        quoted(value.map_or(PROCESS, GroupBy::id))
    }
}

/// A filter of processes.
pub(in crate::config) struct FilterText;

impl ValueKind for FilterText {
    type Value = String;

    const EXPECTED: &'static str = "a filter in quotes";

    fn parse(&self, text: &str) -> Result<String, String> {
        Filter::parse(text, &COLUMNS)
            .map_err(|e| format!("not a filter: {}", crate::text::safe(e.to_string().as_bytes())))?;
        Ok(text.into())
    }

    fn to_toml(&self, value: &String) -> String {
        quoted(value)
    }
}

/// The unit of byte figures.
pub(in crate::config) struct UnitName;

impl ValueKind for UnitName {
    type Value = Units;

    const EXPECTED: &'static str = "a unit's name in quotes";

    fn parse(&self, text: &str) -> Result<Units, String> {
        Units::from_name(text).ok_or_else(|| unknown("unit", text, Units::ALL.map(Units::name)))
    }

    fn to_toml(&self, value: &Units) -> String {
        quoted(value.name())
    }
}

/// The name of a theme, which need not exist: that is checked when it is loaded.
pub(in crate::config) struct ThemeName;

impl ValueKind for ThemeName {
    type Value = String;

    const EXPECTED: &'static str = "a theme's name in quotes";

    fn parse(&self, text: &str) -> Result<String, String> {
        // The name becomes a part of a path.
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if text.is_empty() || text.len() > 64 || !text.chars().all(good) {
            return Err(format!(
                "`{}` is no theme's name: 1 to 64 letters, digits, `-` and `_`",
                shown(text)
            ));
        }
        Ok(text.into())
    }

    fn to_toml(&self, value: &String) -> String {
        quoted(value)
    }
}

/// A word out of a list.
pub(in crate::config) struct Choice(pub(in crate::config) &'static [&'static str]);

impl ValueKind for Choice {
    type Value = String;

    const EXPECTED: &'static str = "a word in quotes";

    fn parse(&self, text: &str) -> Result<String, String> {
        let word = self.0.iter().find(|word| **word == text);
        word.map(|word| (*word).into())
            .ok_or_else(|| unknown("word", text, self.0.iter().copied()))
    }

    fn to_toml(&self, value: &String) -> String {
        quoted(value)
    }
}

/// The path of a file; empty for none.
pub(in crate::config) struct File;

impl ValueKind for File {
    type Value = Option<PathBuf>;

    const EXPECTED: &'static str = "a path in quotes";

    fn parse(&self, text: &str) -> Result<Option<PathBuf>, String> {
        match text {
            "" => Ok(None),
            _ if text.starts_with('~') => Err(NO_TILDE.into()),
            _ if text.contains('\0') => Err("a path cannot hold a zero byte".into()),
            _ => Ok(Some(text.into())),
        }
    }

    fn to_toml(&self, value: &Option<PathBuf>) -> String {
        quoted(&value.as_deref().map(|p| p.to_string_lossy()).unwrap_or_default())
    }
}

/// A line of text, not empty.
pub(in crate::config) struct Text;

impl ValueKind for Text {
    type Value = String;

    const EXPECTED: &'static str = "words in quotes";

    fn parse(&self, text: &str) -> Result<String, String> {
        match text {
            "" => Err("must not be empty".into()),
            _ if text.len() > MAX_TEXT => Err(format!("is longer than {MAX_TEXT} bytes")),
            _ if text.contains(char::is_control) => Err("cannot hold control characters or line breaks".into()),
            _ => Ok(text.into()),
        }
    }

    fn to_toml(&self, value: &String) -> String {
        quoted(value)
    }
}
