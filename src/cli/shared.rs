//! Options that several commands share, and how options change the settings.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Arg, Args};

use super::Format;
use crate::config::{ConfigError, Env, Settings, column};
use crate::units::{parse_span, span_exact};

/// The options for the order and the look of a table.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct TableArgs {
    /// Sort by this column; a leading `-` reverses
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Reverse the order
    #[arg(short, long)]
    pub reverse: bool,
    /// Show these columns, from left to right
    #[arg(long, value_name = "A,B,C")]
    pub columns: Option<String>,
    #[command(flatten)]
    pub units: UnitsArgs,
    #[command(flatten)]
    pub color: ColorArgs,
}

impl TableArgs {
    /// Applies the options to the settings; the columns are those of the setting `columns`.
    pub(super) fn apply(&self, settings: &mut Settings, columns: &str) -> Result<(), UsageError> {
        set(settings, "--columns", columns, self.columns.as_deref())?;
        self.units.apply(settings)?;
        let ui = &mut settings.ui;
        if let Some(key) = &self.sort {
            let name = key.strip_prefix('-').unwrap_or(key);
            ui.sort = column(name).map_err(wrong("--sort"))?;
            ui.descending = ui.sort.get().ascending == key.starts_with('-');
        }
        ui.descending ^= self.reverse;
        Ok(())
    }
}

/// The option for the unit of byte figures.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitsArgs {
    /// Write bytes as auto, k, m, g or bytes
    #[arg(long, value_name = "UNIT")]
    pub units: Option<String>,
}

impl UnitsArgs {
    /// Applies the option to the settings.
    ///
    /// # Errors
    /// It names no unit.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "--units", "ui.units", self.units.as_deref())
    }
}

/// The option against colours.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColorArgs {
    /// Use no colours
    #[arg(long)]
    pub no_color: bool,
}

impl ColorArgs {
    /// Returns the environment with the option in it, which is the same as `NO_COLOR=1`.
    pub(super) fn apply(self, env: &Env) -> Env {
        let mut env = env.clone();
        if self.no_color {
            env.no_color = Some("1".into());
        }
        env
    }
}

/// The options for a file to read snapshots from. Each command has its own help for `--from`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceArgs {
    /// Read what was written to FILE as json or ndjson, plain or zstd; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "proc_root")]
    pub from: Option<PathBuf>,
    /// With --from: as it was at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m before its end
    #[arg(long, value_name = "TIME", requires = "from", allow_hyphen_values = true)]
    pub at: Option<String>,
}

/// The options for the place of the settings and of the proc tree.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PathArgs {
    /// Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Read another proc tree than /proc
    #[arg(long, value_name = "DIR")]
    pub proc_root: Option<PathBuf>,
}

/// The options of a report with one table.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct ReportArgs {
    #[command(flatten)]
    pub table: TableArgs,
    /// List no more than the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub paths: PathArgs,
}

/// Says of the option of a [`ReportArgs`] for the number of rows that it is of each process. In place, for an argument that
/// is changed by its name is listed last.
pub(super) fn of_each_process(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "top" => arg.help("List no more than the first N of each process"),
        _ => arg,
    }
}

/// A process as it is named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessArg {
    /// By its id.
    Pid(u32),
    /// By the name of its program or script, or a part of its command line.
    Name(String),
}

impl FromStr for ProcessArg {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        if typed.is_empty() {
            return Err("expected a pid, a program's name, or a part of a command line".into());
        }
        if !typed.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(Self::Name(typed.into()));
        }
        let pid = typed.parse().ok().filter(|pid| *pid > 0);
        pid.map(Self::Pid).ok_or_else(|| format!("{typed} is no pid"))
    }
}

/// An error in the value of an option. Exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// An option is wrong.
    #[error("{option}: {what}")]
    Option {
        /// The option as it is typed, `--sort`.
        option: &'static str,
        /// A description of what is wrong with its value, and what would be right; safe to print.
        what: String,
    },
    /// A file of the configuration is wrong.
    #[error("{0}")]
    Config(#[from] ConfigError),
}

impl UsageError {
    /// Returns the error of an option whose value is wrong; `what` is safe to print.
    pub fn option(option: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self::Option { option, what }
    }
}

/// Returns a function that makes an error of `option`.
pub(super) fn wrong(option: &'static str) -> impl FnOnce(String) -> UsageError {
    move |what| UsageError::Option { option, what }
}

/// Sets a setting to the value of an option, by the same rules as in the config.
pub(super) fn set(
    settings: &mut Settings,
    option: &'static str,
    key: &str,
    value: Option<&str>,
) -> Result<(), UsageError> {
    match (settings.setting(key), value) {
        (Some(mut setting), Some(value)) => setting.parse(value).map_err(wrong(option)),
        _ => Ok(()),
    }
}

/// Returns the length of time that `--for` asks for; `default` where it was not typed.
///
/// # Errors
/// It is no length of time, or too short or too long.
pub(super) fn watching_time(
    typed: Option<&str>,
    range: RangeInclusive<Duration>,
    default: Duration,
) -> Result<Duration, UsageError> {
    let Some(typed) = typed else { return Ok(default) };
    parse_span(typed).filter(|time| range.contains(time)).ok_or_else(|| {
        let (shortest, longest) = (span_exact(*range.start()), span_exact(*range.end()));
        let such = span_exact(default);
        let what = format!("expected a length of time from {shortest} to {longest}, such as {such}");
        UsageError::option("--for", what)
    })
}
