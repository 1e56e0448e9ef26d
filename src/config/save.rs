//! Saves what was chosen in the monitor, and leaves everything else in the file as it is.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::fault::{Faults, shown_path};
use super::file::{self, reason};
use super::{ConfigError, Settings, atomic, schema};
use crate::columns::ColumnId;
use crate::group::GroupBy;
use crate::units::Units;

/// The settings that the monitor saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    /// Those of groups.
    pub group_columns: Vec<ColumnId>,
    /// What processes are grouped by.
    pub by: Option<GroupBy>,
    /// The column sorted by.
    pub sort: ColumnId,
    /// Greatest first.
    pub descending: bool,
    /// The filter.
    pub filter: String,
    /// How bytes are written.
    pub units: Units,
    /// Tree view.
    pub tree: bool,
    /// Two tables side by side.
    pub two_tables: bool,
    /// Kernel threads are listed.
    pub kernel_threads: bool,
    /// What charts and sparklines are over.
    pub span: String,
}

const TABLE: &str = "ui";
const NAMES: [&str; 11] = [
    "columns",
    "group_columns",
    "by",
    "sort",
    "descending",
    "filter",
    "units",
    "tree",
    "two_tables",
    "kernel_threads",
    "span",
];

impl Saved {
    fn over(&self, mut settings: Settings) -> Settings {
        let ui = &mut settings.ui;
        ui.columns.clone_from(&self.columns);
        ui.group_columns.clone_from(&self.group_columns);
        ui.by = self.by;
        ui.filter.clone_from(&self.filter);
        ui.span.clone_from(&self.span);
        (ui.sort, ui.descending, ui.units) = (self.sort, self.descending, self.units);
        (ui.tree, ui.two_tables, ui.kernel_threads) = (self.tree, self.two_tables, self.kernel_threads);
        settings
    }
}

/// Why nothing was saved. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// What is there cannot be read as TOML, so it is not known what to keep.
    #[error("{0}")]
    Unfit(#[from] ConfigError),
    /// It cannot be written.
    #[error("{}: cannot be written: {}", shown_path(file), reason(source))]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes the choices to a config file, which need not be there yet. Comments, order and all other keys of
/// the file stay; values that are already there are not touched.
///
/// # Errors
/// The file is not TOML or not a regular file, or it cannot be replaced.
pub fn save(path: &Path, saved: &Saved) -> Result<(), SaveError> {
    let old = file::read(path)?;
    let text = edited(path, old.as_deref().unwrap_or(""), saved)?;
    if old.as_deref() == Some(&text) {
        return Ok(());
    }
    atomic::replace(path, |file| file.write_all(text.as_bytes())).map_err(|source| SaveError::Io {
        file: path.into(),
        source,
    })
}

fn edited(path: &Path, text: &str, saved: &Saved) -> Result<String, ConfigError> {
    let mut document: DocumentMut = text.parse().map_err(|_| unfit(path, text))?;
    let mut had = Settings::default();
    had.read(text, &mut Faults::new(path, text));
    let mut wanted = saved.over(had.clone());
    if !document.contains_key(TABLE) {
        // At the end, behind the comments that stand there.
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
    for name in NAMES {
        let Some(setting) = schema::find(&format!("{TABLE}.{name}")) else {
            continue;
        };
        let value = (setting.slot)(&mut wanted).to_toml();
        if table.contains_key(name) && (setting.slot)(&mut had).to_toml() == value {
            continue;
        }
        let value = value.parse().map_err(|e| ConfigError::of_file(path, format!("{e}")))?;
        if !put(table, name, value) {
            return Err(ConfigError::of_file(path, format!("`{TABLE}.{name}` is not a value")));
        }
    }
    let text = document.to_string();
    // What is about to replace the user's file must say what is meant, whatever shape the file had.
    let mut check = Settings::default();
    check.read(&text, &mut Faults::new(path, &text));
    if check == wanted {
        Ok(text)
    } else {
        Err(ConfigError::of_file(path, "the choices do not fit into its layout"))
    }
}

/// The syntax faults of a text.
fn unfit(path: &Path, text: &str) -> ConfigError {
    let mut faults = Faults::new(path, text);
    super::document::parse(text, &mut faults);
    let unknown = || ConfigError::of_file(path, "not TOML");
    faults.finish().err().unwrap_or_else(unknown)
}

/// Sets a key's value with the spaces and comments around it kept.
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

/// The new elements, each that was there before with the line breaks and comments it had; the comments of
/// those that are gone stay at the end.
fn merged(old: &Array, new: &Array) -> Array {
    let prefix = |v: &Value| v.decor().prefix().and_then(|p| p.as_str()).unwrap_or("").to_owned();
    let same = |a: &Value, b: &Value| a.as_str() == b.as_str();
    // Between two elements that never stood side by side: as between the last two of the old.
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
