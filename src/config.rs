//! Settings, keymap and themes: the shipped defaults, and the user's files read over them.
//!
//! A file is never trusted: every fault in it is found and named with its line, and none makes zmtop panic, block
//! or read without end. Nothing here draws or samples.

pub mod action;
pub mod alerts;
pub mod atomic;
mod document;
mod env;
pub mod fault;
mod file;
pub mod keymap;
pub mod log;
pub mod save;
pub mod setting;
pub mod settings;
pub mod state;
pub mod theme;
mod trust;
mod value_kind;
pub mod web;

use std::fs::File;
use std::path::{Path, PathBuf};

pub use action::Action;
pub use alerts::AlertSettings;
pub use document::unknown;
pub use env::Env;
pub use fault::{ConfigError, Fault, Position};
pub use file::MAX_BYTES;
pub use keymap::{Chord, Context, Keymap};
pub use save::{SaveError, save};
pub use settings::{Settings, UiSettings};
pub use theme::{Depth, Theme};
pub use value_kind::column;

/// The configuration of the monitor.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// The actions of the keys.
    pub keymap: Keymap,
    /// The colours, fitted to the terminal.
    pub theme: Theme,
    /// The colours for a light background, where the terminal is to be asked for its own.
    pub if_light: Option<Theme>,
    /// Nothing but ASCII is drawn.
    pub ascii: bool,
    /// The file that settings are read from and saved to, which need not exist; `None` if the environment names
    /// no place for it.
    pub file: Option<PathBuf>,
    /// The parts of the file that do not apply, and why: a line each, safe to print.
    pub warnings: Vec<String>,
}

impl Config {
    /// Reads `explicit`, or the file that the environment names, over the shipped settings, and `keymap.toml`
    /// and `themes/NAME.toml` beside it over the shipped ones. Files need not exist, except `explicit`.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(explicit: Option<&Path>, env: &Env) -> Result<Self, ConfigError> {
        let file = explicit.map(Path::to_path_buf).or_else(|| env.config_file());
        let place = file.as_deref().unwrap_or(Path::new(""));
        let mut found = Vec::new();
        let (text, open) = read_config(file.as_deref(), explicit.is_some()).unwrap_or_else(|e| {
            found.push(e);
            <_>::default()
        });
        // Sound settings are read even from a faulty file, so that the faults of the theme it names show, too.
        let mut settings = Settings::default();
        let mut faults = fault::Faults::new(place, &text);
        settings.read(&text, &mut faults);
        let warnings = settings.distrust(open.as_ref(), place).into_iter().collect();
        let keymap = load_keymap(file.as_deref());
        let theme = load_theme(&settings.ui.theme, file.as_deref(), env).or_else(|e| match e {
            NoTheme::Faulty(e) => Err(e),
            NoTheme::Unknown(what) => {
                let span = settings::span_of(&text, "ui", "theme").unwrap_or_default();
                faults.add(&span, "ui.theme", what);
                Ok(Theme::default())
            }
        });
        found.extend(faults.finish().err());
        let if_light = load_light(&settings.ui.theme, file.as_deref(), env);
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
                file,
                warnings,
            }),
            (keymap, theme) => {
                let all = found.into_iter().chain(keymap.err()).chain(theme.err());
                Err(ConfigError {
                    faults: all.flat_map(|e| e.faults).collect(),
                })
            }
        }
    }
}

impl Settings {
    /// Reads the settings alone, as [`Config::load`] does, for commands without keys and colours.
    ///
    /// # Errors
    /// Every fault of their file.
    pub fn load(explicit: Option<&Path>, env: &Env) -> Result<Self, ConfigError> {
        let file = explicit.map(Path::to_path_buf).or_else(|| env.config_file());
        let (text, open) = read_config(file.as_deref(), explicit.is_some())?;
        let mut settings = Self::default();
        if !text.is_empty() {
            let place = file.as_deref().unwrap_or(Path::new(""));
            let mut faults = fault::Faults::new(place, &text);
            settings.read(&text, &mut faults);
            faults.finish()?;
            settings.distrust(open.as_ref(), place);
        }
        Ok(settings)
    }

    /// Takes away what only a file that nobody else decides on may ask for, programs and a log, if the file is not
    /// such a one: with root's rights, whoever wrote it could do anything. Returns what was taken away and why.
    fn distrust(&mut self, open: Option<&File>, file: &Path) -> Option<String> {
        let runs = self.alerts.iter().any(|alert| !alert.run.is_empty());
        let what = match (runs, self.log.file.is_some()) {
            (false, false) => return None,
            (true, false) => "programs are",
            (false, true) => "log is",
            (true, true) => "programs and log are",
        };
        let doubt = trust::doubt(open?, file)?;
        self.alerts.iter_mut().for_each(|alert| alert.run.clear());
        self.log.file = None;
        Some(format!("the config's {what} refused: {doubt}"))
    }
}

/// Reads the text of the config file, and returns it open; an empty text if there is none and none is needed.
fn read_config(file: Option<&Path>, needed: bool) -> Result<(String, Option<File>), ConfigError> {
    let Some(file) = file else {
        return Ok(<_>::default());
    };
    match file::read_open(file)? {
        None if needed => Err(ConfigError::of_file(file, "no such file")),
        None => Ok(<_>::default()),
        Some((text, open)) => Ok((text, Some(open))),
    }
}

/// The name that stands for the theme that suits the terminal's background.
pub const AUTO: &str = "auto";

/// Loads the theme for a light background, where it is to be taken if the terminal has one.
pub fn load_light(name: &str, config: Option<&Path>, env: &Env) -> Option<Theme> {
    let asks = name == AUTO && env.answers_queries() && Depth::detect(env) != Depth::None;
    load_theme("light", config, env).ok().filter(|_| asks)
}

/// An error of loading a theme.
#[derive(Debug)]
pub enum NoTheme {
    /// Its file has faults.
    Faulty(ConfigError),
    /// There is none of the name; the message names those there are.
    Unknown(String),
}

/// Loads the theme of a name, shipped or from `themes/` beside `config`, and fits it to the terminal. Without
/// colours it is `mono`, which is designed for that, and with 16 of them a shipped one is `ansi` or `ansi-light`, but the
/// name must still be that of a theme.
pub fn load_theme(name: &str, config: Option<&Path>, env: &Env) -> Result<Theme, NoTheme> {
    let dir = config.map(|c| env::directory(c).join("themes"));
    let depth = Depth::detect(env);
    let load = |name: &str| {
        let theme = Theme::load(name, dir.as_deref()).map_err(NoTheme::Faulty)?;
        theme.ok_or_else(|| {
            let what = unknown("theme", name, [AUTO].into_iter().chain(theme::SHIPPED.map(|(n, _)| n)));
            let own = dir.as_ref().map(|d| fault::shown_path(&d.join(format!("{name}.toml"))));
            NoTheme::Unknown(own.map_or(what.clone(), |own| format!("{what}, or the file {own}")))
        })
    };
    let named = load(match name {
        AUTO if env.has_light_background() == Some(true) => "light",
        AUTO => "default",
        name => name,
    })?;
    // Shades that were chosen for what they are say nothing in 16 colours; those are the terminal's own.
    let is_own = dir
        .as_ref()
        .is_some_and(|dir| dir.join(format!("{name}.toml")).exists());
    let has_shades = !is_own && !["mono", "colorblind", "ansi", "ansi-light"].contains(&name);
    let theme = match depth {
        Depth::None => load("mono")?,
        Depth::Ansi16 if has_shades => load(if named.is_for_light() { "ansi-light" } else { "ansi" })?,
        _ => named,
    };
    Ok(theme.fit(depth))
}

fn load_keymap(config: Option<&Path>) -> Result<Keymap, ConfigError> {
    let Some(file) = config.map(|c| env::directory(c).join("keymap.toml")) else {
        return Ok(Keymap::default());
    };
    match file::read(&file)? {
        Some(text) => Keymap::parse(&file, text.into_bytes()),
        None => Ok(Keymap::default()),
    }
}
