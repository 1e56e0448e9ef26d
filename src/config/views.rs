//! Named views: the settings of `[ui]` that the monitor saves, each in a file of its own, `views/NAME.toml` beside the
//! config. The view [`DEFAULT`] is the config itself.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;

use super::document::{self, Table, unknown};
use super::fault::{ConfigError, Faults};
use super::save::TABLE;
use super::settings::{Settings, UiSettings};
use super::trust::{self, Purpose};
use super::{env, file};

/// The name of the view that the monitor starts with.
pub const DEFAULT: &str = "default";

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 32;
/// The maximum number of views that are listed.
const MAX_VIEWS: usize = 200;

/// A saved view: its settings, or why its file cannot be read, safe to print.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub name: String,
    /// False only for the default view, if there is no config file.
    pub is_saved: bool,
    pub ui: Result<Box<UiSettings>, String>,
}

/// Checks whether a text can name a view, and so a file.
///
/// # Errors
/// The text says what a name is.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let is_sound = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let begins = name.starts_with(char::is_alphanumeric);
    let fits = begins && name.chars().all(is_sound) && name.chars().count() <= MAX_NAME;
    fits.then_some(())
        .ok_or("at most 32 letters, digits, - and _; the first is a letter or digit")
}

/// Returns the file of a view.
pub fn file_of(config: &Path, name: &str) -> PathBuf {
    match name {
        DEFAULT => config.into(),
        name => folder(config).join(format!("{name}.toml")),
    }
}

fn folder(config: &Path) -> PathBuf {
    env::directory(config).join("views")
}

/// Returns the names of the views, the default one first, which needs no file.
fn names(config: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder(config)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned()));
    let mut names: Vec<String> = names
        .filter(|name| check_name(name).is_ok() && name != DEFAULT)
        .collect();
    names.sort_unstable();
    names.truncate(MAX_VIEWS);
    names.insert(0, DEFAULT.into());
    names
}

/// Reads every view: see [`read`].
pub fn list(config: &Path, base: &Settings) -> Vec<View> {
    let configured = configured(config);
    let read = |name: String| {
        let ui = read_over(&configured, config, &name, base).map_err(|error| error.to_string().replace('\n', "; "));
        let ui = ui.map(Box::new);
        let is_saved = name != DEFAULT || config.exists();
        View { name, is_saved, ui }
    };
    names(config).into_iter().map(read).collect()
}

/// Reads a view. What it does not set is as in the config file, and what no view holds is as in `base`, the settings in use: they
/// may come from another view, or from the command line.
///
/// # Errors
/// There is no such view, with the names of those that exist, or its file has faults.
pub fn read(config: &Path, name: &str, base: &Settings) -> Result<UiSettings, ConfigError> {
    read_over(&configured(config), config, name, base)
}

/// Reads a view over the settings of the screen in the config file.
fn read_over(configured: &UiSettings, config: &Path, name: &str, base: &Settings) -> Result<UiSettings, ConfigError> {
    let path = file_of(config, name);
    let text = match check_name(name) {
        Ok(()) if name == DEFAULT => Some(file::read(&path)?.unwrap_or_default()),
        Ok(()) => file::read(&path)?,
        Err(_) => None,
    };
    let Some(text) = text else {
        let known = names(config);
        let what = if known == [DEFAULT] {
            "no view is saved: W in the monitor saves one".into()
        } else {
            unknown("view", name, known.iter().map(String::as_str))
        };
        return Err(ConfigError::of_file(&folder(config), what));
    };
    let faults = Faults::new(&path, &text);
    let mut settings = Settings {
        ui: configured.clone(),
        ..base.clone()
    };
    settings.read(&text, &faults);
    if name != DEFAULT {
        let document = document::parse(&text, &faults);
        let root = Table::root(&document, &faults);
        for (other, _) in root.entries().filter(|(table, _)| *table != TABLE) {
            root.fault_of_name(other, format!("a view has only [{TABLE}]"));
        }
    }
    faults.finish()?;
    let UiSettings {
        theme,
        charset,
        mouse,
        totals,
        readonly,
        delta,
        ..
    } = base.ui.clone();
    Ok(UiSettings {
        theme,
        charset,
        mouse,
        totals,
        readonly,
        delta,
        ..settings.ui
    })
}

/// Returns the settings of the screen in the config file; the defaults if it is absent or faulty.
fn configured(config: &Path) -> UiSettings {
    let text = file::read(config).ok().flatten().unwrap_or_default();
    let faults = Faults::new(config, &text);
    let mut settings = Settings::default();
    settings.read(&text, &faults);
    if faults.finish().is_err() {
        return Settings::default().ui;
    }
    settings.ui
}

/// Deletes a view.
///
/// # Errors
/// It is the default one, or its file cannot be deleted.
pub fn delete(config: &Path, name: &str) -> io::Result<()> {
    if name == DEFAULT || check_name(name).is_err() {
        return Err(io::Error::other("it is the config itself"));
    }
    let place = trust::follow(&file_of(config, name), Purpose::Judge)?;
    if let Some(link) = place.foreign_link {
        return Err(io::Error::other(format!("others can change the symbolic link {link}")));
    }
    Ok(rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::empty())?)
}
