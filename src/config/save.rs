//! Saves settings chosen in the monitor and leaves the rest of the file unchanged.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::fault::{Faults, shown_path};
use super::file::{self, reason};
use super::settings::{Settings, UiSettings};
use super::{ConfigError, atomic};

pub(super) const TABLE: &str = "ui";

/// The settings of `[ui]` that the monitor saves.
const SAVED: [&str; 13] = [
    "columns",
    "group_columns",
    "by",
    "sort",
    "descending",
    "filter",
    "units",
    "tree",
    "fold",
    "two_tables",
    "kernel_threads",
    "span",
    "graph",
];

/// An error that prevented saving. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file is not valid TOML, so it is unknown which parts must be kept.
    #[error("{0}")]
    Unfit(#[from] ConfigError),
    /// The file cannot be written.
    #[error("{}: cannot be written: {}", shown_path(file), reason(source))]
    Io {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Saves the settings that the monitor can change to a config file, which need not exist. Keeps comments, order and all
/// other keys. Does not touch values that are already equal.
///
/// # Errors
/// The file is not TOML or not a regular file, or it cannot be replaced.
pub fn save(path: &Path, ui: &UiSettings) -> Result<(), SaveError> {
    let old = file::read(path)?;
    let text = edited(path, old.as_deref().unwrap_or(""), ui)?;
    if old.as_deref() == Some(&text) {
        return Ok(());
    }
    atomic::replace(path, |file| file.write_all(text.as_bytes())).map_err(|source| SaveError::Io {
        file: path.into(),
        source,
    })
}

/// A setting's table, its name and its value as TOML.
type Entry = (&'static str, &'static str, String);

fn entries(mut settings: Settings) -> Vec<Entry> {
    let tables = settings.tables().into_iter();
    tables
        .flat_map(|(table, settings)| settings.into_iter().map(move |s| (table, s.name, s.to_toml())))
        .collect()
}

fn is_saved((table, name, _): &Entry) -> bool {
    *table == TABLE && SAVED.contains(name)
}

fn edited(path: &Path, text: &str, ui: &UiSettings) -> Result<String, ConfigError> {
    let mut document: DocumentMut = text.parse().map_err(|_| unfit(path, text))?;
    let mut old = Settings::default();
    old.read(text, &Faults::new(path, text));
    let alerts = old.alerts.clone();
    let new = Settings {
        ui: ui.clone(),
        ..old.clone()
    };
    let old = entries(old);
    let pairs = old.iter().zip(entries(new));
    let wanted: Vec<Entry> = pairs
        .map(|(old, new)| if is_saved(old) { new } else { old.clone() })
        .collect();
    if !document.contains_key(TABLE) {
        // Append the new table after any comments at the end of the file.
        let before = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing("");
        let mut fresh = Table::new();
        let gap = match before.as_str() {
            "" if text.is_empty() => "",
            t if t.is_empty() || t.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        fresh.decor_mut().set_prefix(before + gap);
        document.insert(TABLE, Item::Table(fresh));
    }
    let table = document.entry(TABLE).or_insert(Item::None);
    let no_table = || ConfigError::of_file(path, format!("`{TABLE}` is not a table"));
    let table = table.as_table_like_mut().ok_or_else(no_table)?;
    for (entry, (.., old)) in wanted.iter().zip(&old).filter(|(entry, _)| is_saved(entry)) {
        let (_, name, value) = entry;
        if table.contains_key(name) && value == old {
            continue;
        }
        let value = value.parse().map_err(|e| ConfigError::of_file(path, format!("{e}")))?;
        if !put(table, name, value) {
            return Err(ConfigError::of_file(path, format!("`{TABLE}.{name}` is not a value")));
        }
    }
    let text = document.to_string();
    // Check that the new text means what was chosen before it replaces the user's file, whatever the file's layout.
    let mut check = Settings::default();
    check.read(&text, &Faults::new(path, &text));
    if check.alerts == alerts && entries(check) == wanted {
        Ok(text)
    } else {
        Err(ConfigError::of_file(
            path,
            "its layout leaves no place for the new settings",
        ))
    }
}

/// Returns the syntax faults of a text as an error.
fn unfit(path: &Path, text: &str) -> ConfigError {
    let faults = Faults::new(path, text);
    super::document::parse(text, &faults);
    let unknown = || ConfigError::of_file(path, "not TOML");
    faults.finish().err().unwrap_or_else(unknown)
}

/// Sets a key's value, keeping the spaces and comments around it. Returns false if the key is a table.
fn put(table: &mut dyn TableLike, name: &str, mut value: Value) -> bool {
    match table.get_mut(name) {
        None => {
            table.insert(name, Item::Value(value));
        }
        Some(Item::Value(old)) => {
            if let (Value::Array(old), Value::Array(new)) = (&*old, &mut value) {
                *new = merged(old, new);
            }
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(_) => return false,
    }
    true
}

/// Returns the new elements. Elements that were already present keep their line breaks and comments. The comments of
/// removed elements move to the end.
fn merged(old: &Array, new: &Array) -> Array {
    let prefix = |v: &Value| v.decor().prefix().and_then(|p| p.as_str()).unwrap_or("").to_owned();
    let same = |a: &Value, b: &Value| a.as_str() == b.as_str();
    // Separate elements that were not adjacent before like the last two of the old array.
    let gap = match old.iter().last().map(prefix) {
        Some(p) if p.contains('\n') => p[p.rfind('\n').unwrap_or(0)..].to_owned(),
        _ => " ".into(),
    };
    let mut out = old.clone();
    out.clear();
    for value in new {
        let (mut value, before) = match old.iter().find(|v| same(v, value)) {
            Some(had) => (had.clone(), prefix(had)),
            None => (value.clone(), gap.clone()),
        };
        let plain = before.trim().is_empty() && !before.contains('\n');
        match (plain, out.is_empty()) {
            (true, true) => value.decor_mut().set_prefix(if gap.contains('\n') { &gap } else { "" }),
            (true, false) => value.decor_mut().set_prefix(&gap),
            (false, _) => value.decor_mut().set_prefix(before),
        }
        out.push_formatted(value);
    }
    let mut rest = String::new();
    for gone in old.iter().filter(|v| !new.iter().any(|n| same(v, n))) {
        let suffix = gone.decor().suffix().and_then(|s| s.as_str()).unwrap_or("");
        for comment in [&*prefix(gone), suffix]
            .iter()
            .flat_map(|t| t.lines())
            .filter(|l| l.contains('#'))
        {
            rest.extend([&gap, comment.trim()]);
        }
    }
    let trailing = out.trailing().as_str().unwrap_or("").to_owned();
    out.set_trailing(if rest.is_empty() || trailing.contains('\n') {
        rest + &trailing
    } else {
        rest + "\n" + &trailing
    });
    out
}
