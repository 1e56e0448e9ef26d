//! The environment variables that the configuration depends on.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables that may hold a token or a password for zmtop itself. They are not passed on to programs that it runs.
pub const SECRETS: [&str; 4] = [
    PROMETHEUS_TOKEN,
    PROMETHEUS_PASSWORD,
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
];
/// The token for a Prometheus.
pub const PROMETHEUS_TOKEN: &str = "ZMTOP_PROMETHEUS_TOKEN";
/// The password for a Prometheus.
pub const PROMETHEUS_PASSWORD: &str = "ZMTOP_PROMETHEUS_PASSWORD";

/// The environment as a value, so that tests need not change the real one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// `HOME`.
    pub home: Option<OsString>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<OsString>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<OsString>,
    /// `STATE_DIRECTORY`, which systemd sets for a unit with `StateDirectory=`.
    pub state_directory: Option<OsString>,
    /// `NO_COLOR`. The option `--no-color` is equivalent to setting it.
    pub no_color: Option<OsString>,
    /// `COLORTERM`.
    pub colorterm: Option<OsString>,
    /// `TERM`.
    pub term: Option<OsString>,
    /// `COLORFGBG`, which some terminals set.
    pub colorfgbg: Option<OsString>,
    /// True if the locale's encoding is UTF-8, according to the first that is set of `LC_ALL`, `LC_CTYPE` and `LANG`.
    pub utf8: bool,
    /// True if zmtop has rights that the user of this environment lacks, by file capabilities. No file is then used that
    /// the environment names.
    pub is_foreign: bool,
}

impl Env {
    /// Returns the environment of the process.
    pub fn from_process() -> Self {
        Self {
            home: std::env::var_os("HOME"),
            path: std::env::var_os("PATH"),
            xdg_config_home: std::env::var_os("XDG_CONFIG_HOME"),
            xdg_state_home: std::env::var_os("XDG_STATE_HOME"),
            state_directory: std::env::var_os("STATE_DIRECTORY"),
            no_color: std::env::var_os("NO_COLOR"),
            colorterm: std::env::var_os("COLORTERM"),
            term: std::env::var_os("TERM"),
            colorfgbg: std::env::var_os("COLORFGBG"),
            utf8: ["LC_ALL", "LC_CTYPE", "LANG"]
                .into_iter()
                .filter_map(std::env::var_os)
                .find(|value| !value.is_empty())
                .is_some_and(|value| is_utf8(&value)),
            is_foreign: false,
        }
    }

    /// Returns true if the terminal surely cannot show more than ASCII: the locale says so, or it is the Linux console,
    /// whose fonts lack most other characters.
    pub fn is_ascii(&self) -> bool {
        !self.utf8 || self.term.as_deref() == Some(OsStr::new("linux"))
    }

    /// Returns true if `COLORFGBG` names a light background, such as `0;default;15`. `None` if it is unknown.
    pub fn has_light_background(&self) -> Option<bool> {
        let text = self.colorfgbg.as_deref()?.to_str()?;
        let number: u8 = text.rsplit(';').next()?.parse().ok()?;
        Some(matches!(number, 7 | 9..=15))
    }

    /// Returns true if the terminal supports queries for its background.
    pub fn answers_queries(&self) -> bool {
        let term = self.term.as_deref().unwrap_or_default();
        !term.is_empty() && !["linux", "dumb"].iter().any(|mute| term == OsStr::new(mute))
    }

    /// Returns the path of `config.toml`: in `$XDG_CONFIG_HOME/zmtop`, otherwise in `$HOME/.config/zmtop`. Relative
    /// paths are ignored, as the XDG base directory specification requires.
    pub fn config_file(&self) -> Option<PathBuf> {
        self.folder(self.xdg_config_home.as_ref(), ".config")
            .map(|dir| dir.join("config.toml"))
    }

    /// Returns the folder for state kept between runs: `$STATE_DIRECTORY`, `$XDG_STATE_HOME/zmtop`, or
    /// `$HOME/.local/state/zmtop`.
    pub fn state_folder(&self) -> Option<PathBuf> {
        // systemd allows several, separated by colons.
        let first = self
            .state_directory
            .as_deref()
            .and_then(|all| all.as_bytes().split(|byte| *byte == b':').next());
        let first = first.map(|first| OsStr::from_bytes(first).to_owned());
        let first = first.filter(|_| !self.is_foreign);
        absolute(first.as_ref()).or_else(|| self.folder(self.xdg_state_home.as_ref(), ".local/state"))
    }

    /// Returns the home directory, which need not exist. `None` if `HOME` is not an absolute path.
    pub fn home_folder(&self) -> Option<PathBuf> {
        absolute(self.home.as_ref()).filter(|_| !self.is_foreign)
    }

    /// Returns why the environment names no folder, as far as `variable` and `HOME` decide it.
    pub fn why_no_folder(&self, variable: &str) -> String {
        if self.is_foreign {
            "zmtop has file capabilities, so it does not use the folders named in the environment".into()
        } else {
            format!("neither {variable} nor HOME names a directory")
        }
    }

    fn folder(&self, xdg: Option<&OsString>, in_home: &str) -> Option<PathBuf> {
        absolute(xdg)
            .filter(|_| !self.is_foreign)
            .or_else(|| self.home_folder().map(|home| home.join(in_home)))
            .map(|dir| dir.join("zmtop"))
    }
}

fn absolute(variable: Option<&OsString>) -> Option<PathBuf> {
    variable.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns true for locales such as `de_DE.UTF-8` and `C.utf8`.
fn is_utf8(locale: &OsStr) -> bool {
    let name = locale.to_string_lossy().to_ascii_lowercase();
    name.contains("utf-8") || name.contains("utf8")
}

/// Returns the directory of a file.
pub(super) fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}
