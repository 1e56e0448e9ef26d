//! Settings, keymap and themes: the shipped defaults, overridden by the user's files.
//!
//! Files are untrusted. Every fault is reported with its line. No file can make zmtop panic, block or read without end.
//! Nothing here draws or samples.

pub mod action;
pub mod alerts;
pub mod atomic;
mod chord;
mod depth;
mod document;
pub mod env;
pub mod fault;
pub(crate) mod file;
pub mod keymap;
pub mod program;
pub mod save;
pub mod setting;
pub mod settings;
pub mod state;
pub mod theme;
mod trust;
pub mod views;

use std::fs::File;
use std::path::{Path, PathBuf};

pub use action::Action;
pub use alerts::AlertSettings;
pub use chord::Chord;
pub use depth::Depth;
pub use document::unknown;
pub use env::Env;
pub use fault::{ConfigError, Fault, Position};
pub use file::{Files, MAX_BYTES};
pub use keymap::{Context, Keymap};
pub use save::{SaveError, save};
pub use setting::column;
pub use settings::{Settings, UiSettings};
pub use theme::Theme;

/// The configuration of the monitor.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: Settings,
    /// The actions of the keys.
    pub keymap: Keymap,
    /// The colours, fitted to the terminal.
    pub theme: Theme,
    /// The colours for a light background; `None` if the terminal need not be queried for its background.
    pub if_light: Option<Theme>,
    /// True if only ASCII may be drawn.
    pub ascii: bool,
    /// The file that settings are read from and saved to. It need not exist. `None` if the environment names no place for it.
    pub file: Option<PathBuf>,
    /// Names the files that this user may not read, which are treated as absent. One line, safe to print.
    pub unread: Option<String>,
    /// The parts of the file that are ignored, and why. One line each, safe to print.
    pub warnings: Vec<String>,
}

impl Config {
    /// Returns the files that it is read from. They need not exist.
    pub fn files(&self) -> Vec<PathBuf> {
        let Some(file) = &self.file else { return Vec::new() };
        let theme = format!("themes/{}.toml", self.settings.ui.theme);
        let beside = ["keymap.toml", &theme, "themes/default.toml", "themes/light.toml"];
        let beside = beside.map(|name| env::directory(file).join(name));
        beside.into_iter().chain([file.clone()]).collect()
    }

    /// Reads `explicit`, or the file that the environment names, over the shipped settings. Likewise reads
    /// `keymap.toml` and `themes/NAME.toml` beside it. Files need not exist, except `explicit`. Without `explicit`,
    /// files that this user may not read count as absent.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(explicit: Option<&Path>, env: &Env) -> Result<Self, ConfigError> {
        let files = Files::new(explicit, env);
        let place = files.config().unwrap_or(Path::new(""));
        let mut found = Vec::new();
        let (text, open) = files.read_config().unwrap_or_else(|e| {
            found.push(e);
            <_>::default()
        });
        // Read the sound settings of a faulty file too, so that faults in the theme it names are also reported.
        let mut settings = Settings::default();
        let faults = fault::Faults::new(place, &text);
        settings.read(&text, &faults);
        let warnings = settings.distrust(open.as_ref(), place, env);
        let keymap = load_keymap(&files);
        let theme = load_theme(&settings.ui.theme, &files, env).or_else(|e| match e {
            NoTheme::Faulty(e) => Err(e),
            NoTheme::Unknown(_) if files.is_unread(theme_file(&settings.ui.theme, &files).as_deref()) => {
                Ok(load_theme(AUTO, &files, env).unwrap_or_default())
            }
            NoTheme::Unknown(what) => {
                let span = settings::span_of(&text, "ui", "theme").unwrap_or_default();
                faults.add(&span, "ui.theme", what);
                Ok(Theme::default())
            }
        });
        found.extend(faults.finish().err());
        let if_light = load_light(&settings.ui.theme, &files, env);
        let ascii = match &*settings.ui.charset {
            "ascii" => true,
            "utf-8" => false,
            _ => env.is_ascii(),
        };
        match (keymap, theme) {
            (Ok(keymap), Ok(theme)) if found.is_empty() => Ok(Self {
                settings,
                keymap,
                theme,
                if_light,
                ascii,
                file: files.config().map(Path::to_path_buf),
                unread: files.unread(),
                warnings,
            }),
            (keymap, theme) => {
                // Faults outside the text, such as a program that does not exist.
                let others = warnings.into_iter().map(|what| ConfigError::of_file(place, what));
                let all = found.into_iter().chain(keymap.err()).chain(theme.err()).chain(others);
                Err(ConfigError {
                    faults: all.flat_map(|e| e.faults).collect(),
                })
            }
        }
    }
}

impl Settings {
    /// Reads only the settings, as [`Config::load`] does, for commands without keys and colours. Also returns a notice
    /// if this user may not read the file.
    ///
    /// # Errors
    /// Every fault of their file.
    pub fn load(explicit: Option<&Path>, env: &Env) -> Result<(Self, Option<String>), ConfigError> {
        let files = Files::new(explicit, env);
        let (text, open) = files.read_config()?;
        let mut settings = Self::default();
        if !text.is_empty() {
            let place = files.config().unwrap_or(Path::new(""));
            let faults = fault::Faults::new(place, &text);
            settings.read(&text, &faults);
            faults.finish()?;
            settings.distrust(open.as_ref(), place, env);
        }
        Ok((settings, files.unread()))
    }

    /// Disables programs, the log and `[zmtop]` unless only this user and root can change the file. Otherwise, any user with write access
    /// could do anything with root's rights. The same holds for anyone who can change one of the programs. Returns what was
    /// disabled and why.
    fn distrust(&mut self, open: Option<&File>, file: &Path, env: &Env) -> Vec<String> {
        let mut said: Vec<String> = self.distrust_file(open, file).into_iter().collect();
        for alert in &mut self.alerts {
            let Some(called) = alert.run.first() else { continue };
            let (name, called) = (fault::shown(&alert.name), fault::shown(called));
            match program::find(&alert.run, env.path.as_deref()) {
                Ok(_) => {}
                // It may be there by the time it is to run.
                Err(program::Unfit::Absent(error)) => {
                    said.push(format!("alert {name}: cannot run {called}: {}", file::reason(&error)));
                }
                Err(program::Unfit::Distrusted(why)) => {
                    said.push(format!("the program of alert {name} is not run: {why}"));
                    alert.run.clear();
                }
            }
        }
        said
    }

    fn distrust_file(&mut self, open: Option<&File>, file: &Path) -> Option<String> {
        let own = Self::default().own;
        let refused = [
            ("programs", self.alerts.iter().any(|alert| !alert.run.is_empty())),
            ("log", self.log.file.is_some()),
            ("table [zmtop]", self.own != own),
        ];
        let refused: Vec<&str> = refused
            .iter()
            .filter(|(_, is_used)| *is_used)
            .map(|(what, _)| *what)
            .collect();
        if refused.is_empty() {
            return None;
        }
        let doubt = trust::doubt(open?, file)?;
        self.alerts.iter_mut().for_each(|alert| alert.run.clear());
        (self.log.file, self.own) = (None, own);
        let are = if refused == ["log"] || refused == ["table [zmtop]"] {
            "is"
        } else {
            "are"
        };
        Some(format!("the config's {} {are} refused: {doubt}", refused.join(" and ")))
    }
}

/// The theme name that selects a theme by the terminal's background.
pub const AUTO: &str = "auto";

/// Loads the theme for a light background if `name` is [`AUTO`] and the terminal must be queried for its background.
pub fn load_light(name: &str, files: &Files, env: &Env) -> Option<Theme> {
    let asks = name == AUTO && env.answers_queries() && Depth::detect(env) != Depth::None;
    load_theme("light", files, env).ok().filter(|_| asks)
}

/// An error of loading a theme.
#[derive(Debug)]
pub enum NoTheme {
    /// The theme's file has faults.
    Faulty(ConfigError),
    /// No theme has that name. The message lists the known ones.
    Unknown(String),
}

/// Returns the user's own file of a theme.
fn theme_file(name: &str, files: &Files) -> Option<PathBuf> {
    files.beside(&format!("themes/{name}.toml"))
}

/// Loads a theme by name, shipped or from `themes/` beside the config, and fits it to the terminal. A terminal without
/// colours gets `mono`, which is designed for that. With 16 colours, a shipped theme is replaced by `ansi` or
/// `ansi-light`. The name must be valid even then.
pub fn load_theme(name: &str, files: &Files, env: &Env) -> Result<Theme, NoTheme> {
    let depth = Depth::detect(env);
    let load = |name: &str| {
        let theme = Theme::load(name, theme_file(name, files).as_deref(), files).map_err(NoTheme::Faulty)?;
        theme.ok_or_else(|| {
            let what = unknown("theme", name, [AUTO].into_iter().chain(theme::SHIPPED.map(|(n, _)| n)));
            let own = theme_file(name, files).map(|own| fault::shown_path(&own));
            let end = if what.ends_with('?') { "" } else { "." };
            NoTheme::Unknown(own.map_or(what.clone(), |own| format!("{what}{end} There is no file {own} either")))
        })
    };
    let named = load(match name {
        AUTO if env.has_light_background() == Some(true) => "light",
        AUTO => "default",
        name => name,
    })?;
    // Shades chosen by a theme are lost in 16 colours, which the terminal defines itself.
    let is_own = theme_file(name, files).is_some_and(|own| own.exists());
    let has_shades = !is_own && !["mono", "colorblind", "ansi", "ansi-light"].contains(&name);
    let theme = match depth {
        Depth::None => load("mono")?,
        Depth::Ansi16 if has_shades => load(if named.is_for_light() { "ansi-light" } else { "ansi" })?,
        _ => named,
    };
    Ok(theme.fit(depth))
}

fn load_keymap(files: &Files) -> Result<Keymap, ConfigError> {
    let Some(file) = files.beside("keymap.toml") else {
        return Ok(Keymap::default());
    };
    match files.read(&file)? {
        Some(text) => Keymap::parse(&file, text.into_bytes()),
        None => Ok(Keymap::default()),
    }
}
