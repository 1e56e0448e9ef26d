//! Settings, keymap, themes: the shipped ones, the user's over them, and everything that can be wrong.

mod alerts;
mod files;
mod keymap;
mod legible;
mod log;
mod save;
mod settings;
mod show;
mod theme;
mod trust;
mod views;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zmtop::config::{Config, ConfigError, Env, Settings};

/// A made home with `$HOME/.config/zmtop` in it.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(home.path("themes")).unwrap();
        home
    }

    /// A path in the config directory.
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".config/zmtop").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn env(&self) -> Env {
        Env {
            home: Some(self.dir.path().into()),
            colorterm: Some("truecolor".into()),
            ..Env::default()
        }
    }

    fn load(&self) -> Result<Config, ConfigError> {
        Config::load(None, &self.env())
    }

    /// The faults as lines, without the directory.
    fn faults(&self) -> Vec<String> {
        lines(&self.load().unwrap_err(), &self.path(""))
    }
}

fn lines(e: &ConfigError, dir: &Path) -> Vec<String> {
    let dir = format!("{}/", dir.display().to_string().trim_end_matches('/'));
    e.to_string().lines().map(|l| l.replace(&dir, "")).collect()
}

#[test]
fn without_any_file_the_shipped_ones_hold() {
    let home = Home::new();
    let config = home.load().unwrap();
    assert_eq!(config.settings, Settings::default());
    assert_eq!(config.keymap, zmtop::config::Keymap::default());
    assert_eq!(config.theme, zmtop::config::theme::shipped("default").unwrap());
    assert_eq!(config.file, Some(home.path("config.toml")));
}

#[test]
fn without_a_home_the_shipped_ones_hold_and_nothing_can_be_saved() {
    for env in [
        Env::default(),
        Env {
            home: Some("".into()),
            xdg_config_home: Some("relative".into()),
            ..Env::default()
        },
    ] {
        let config = Config::load(None, &env).unwrap();
        assert_eq!(config.settings, Settings::default());
        assert_eq!(config.file, None);
    }
}

#[test]
fn the_place_follows_the_xdg_rules() {
    let env = |home: &str, xdg: &str| Env {
        home: Some(home.into()),
        xdg_config_home: Some(xdg.into()),
        ..Env::default()
    };
    let at = |home, xdg| env(home, xdg).config_file().map(|p| p.display().to_string());
    assert_eq!(at("/h", "/x").as_deref(), Some("/x/zmtop/config.toml"));
    assert_eq!(at("/h", "").as_deref(), Some("/h/.config/zmtop/config.toml"));
    assert_eq!(at("/h", "x").as_deref(), Some("/h/.config/zmtop/config.toml"));
    assert_eq!(at("", ""), None);
}

#[test]
fn the_first_start_is_the_one_that_finds_nothing_in_the_state_folder() {
    use zmtop::config::state::is_first_start;
    let home = tempfile::tempdir().unwrap();
    let env = |state: &str| Env {
        home: Some(home.path().into()),
        xdg_state_home: Some(state.into()),
        ..Env::default()
    };
    let folder = env("").state_folder();
    assert_eq!(folder, Some(home.path().join(".local/state/zmtop")));
    assert_eq!(env("/s").state_folder(), Some("/s/zmtop".into()));
    assert!(is_first_start(&env("")));
    assert!(!is_first_start(&env("")));
    // Whatever else is kept says the same.
    std::fs::create_dir_all(home.path().join("other/zmtop/history")).unwrap();
    let other = home.path().join("other");
    assert!(!is_first_start(&env(other.to_str().unwrap())));
    // Nothing can be written: no folder can be made below a file, and without a home there is no folder.
    std::fs::write(home.path().join("file"), "").unwrap();
    let file = home.path().join("file");
    for env in [env(file.to_str().unwrap()), Env::default()] {
        assert!(is_first_start(&env) && is_first_start(&env));
    }
}

/// Returns the dotted keys of all settings, in order.
fn keys() -> Vec<String> {
    let mut settings = Settings::default();
    let tables = settings.tables().into_iter();
    tables
        .flat_map(|(table, settings)| settings.into_iter().map(move |s| format!("{table}.{}", s.name)))
        .collect()
}
