//! Options that several commands share, how options change the settings, and exit codes.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::EnumValueParser;
use clap::{Arg, Args, ValueEnum};

use crate::columns::COLUMNS;
use crate::config::{ConfigError, Env, Settings, column};
use crate::filter::{Filter, Schema, quoted};
use crate::group::GroupBy;
use crate::model::Missing;
use crate::output::Format;
use crate::sampler::Options;
use crate::text::safe;
use crate::units::{parse_span, span_exact};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
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
    pub(crate) fn apply(&self, settings: &mut Settings, columns: &str) -> Result<(), UsageError> {
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

/// Options that abbreviate a part of a filter, as in other monitors.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenArgs {
    /// List only processes of this user, as user:NAME does
    #[arg(id = "of_user", short = 'u', value_name = "NAME")]
    pub user: Option<String>,
    /// List only these processes, as pid:N does
    #[arg(id = "of_pid", short = 'p', value_name = "N,M", value_parser = pids)]
    pub pid: Option<String>,
}

impl ChosenArgs {
    /// Returns the users that do not exist on this machine, or reports that none of the processes exists; `None` if neither is
    /// true.
    pub(crate) fn missing(&self) -> Option<String> {
        let users = self.user.iter().flat_map(|users| users.split(','));
        let users: Vec<_> = users.filter(|user| is_no_user(user)).collect();
        if !users.is_empty() {
            return Some(format!("-u: no user {}", safe(users.join(", ").as_bytes())));
        }
        let pids = self.pid.as_ref()?;
        let is_gone = |pid: &str| {
            pid.parse::<u32>()
                .is_ok_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
        };
        pids.split(',')
            .all(is_gone)
            .then(|| format!("-p: no process {}", safe(pids.as_bytes())))
    }

    /// Returns the filter with these parts.
    pub(crate) fn added_to(&self, filter: &str) -> String {
        let user = self.user.as_ref().map(|user| format!("user:{}", listed(user)));
        let pid = self.pid.as_ref().map(|pid| format!("pid:{}", listed(pid)));
        let filter = Some(filter.trim()).filter(|filter| !filter.is_empty());
        let parts: Vec<_> = user.into_iter().chain(pid).collect();
        match filter {
            Some(filter) if !parts.is_empty() => format!("{} ({filter})", parts.join(" ")),
            Some(filter) => filter.to_owned(),
            None => parts.join(" "),
        }
    }
}

/// Returns true if the machine has no user of that name. The name service may block.
pub(crate) fn is_no_user(user: &str) -> bool {
    user.parse::<u32>().is_err() && matches!(nix::unistd::User::from_name(user), Ok(None))
}

/// Returns the text if it is a list of pids.
fn pids(text: &str) -> Result<String, String> {
    let is_pid = |pid: &str| pid.parse::<u32>().is_ok();
    if text.split(',').all(is_pid) {
        Ok(text.to_owned())
    } else {
        Err("a pid is a whole number".to_owned())
    }
}

/// Quotes a value of a filter, unless it is a list.
fn listed(value: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ',' | '-' | '_' | '.');
    if value.chars().all(is_plain) {
        value.into()
    } else {
        quoted(value)
    }
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitsArgs {
    /// Unit of byte figures: auto, k, m, g or bytes
    #[arg(long, value_name = "UNIT")]
    pub units: Option<String>,
}

impl UnitsArgs {
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "--units", "ui.units", self.units.as_deref())
    }
}

#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColorArgs {
    /// Use no colours
    #[arg(long)]
    pub no_color: bool,
}

impl ColorArgs {
    /// Returns the environment with the option applied, which is equivalent to `NO_COLOR=1`.
    pub(crate) fn apply(self, env: &Env) -> Env {
        let mut env = env.clone();
        if self.no_color {
            env.no_color = Some("1".into());
        }
        env
    }
}

/// The options to read snapshots from a file. Each command has its own help for `--from`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceArgs {
    /// Read snapshots from FILE, as --format ndjson writes it, plain or zstd; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["proc_root", "cgroup"])]
    pub from: Option<PathBuf>,
    /// With --from: use the snapshot at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m (10 minutes before the end)
    #[arg(long, value_name = "TIME", requires = "from", allow_hyphen_values = true)]
    pub at: Option<String>,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PathArgs {
    /// Read the settings from FILE. keymap.toml and themes/ are read from its directory. Also accepted before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Read this proc tree instead of /proc
    #[arg(long, value_name = "DIR")]
    pub proc_root: Option<PathBuf>,
}

/// The options of the output of a command that reads neither another proc tree nor a table's columns. `F` lists its formats.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputArgs<F: ValueEnum + Send + Sync + 'static> {
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = EnumValueParser::<F>::new())]
    pub format: F,
    #[command(flatten)]
    pub units: UnitsArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    /// Read the settings from FILE. Also accepted before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupArgs {
    /// Restrict to the processes of this cgroup, and use its memory and limit instead of the machine's
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
}

impl CgroupArgs {
    pub fn apply(&self, options: &mut Options) -> Result<(), UsageError> {
        let Some(path) = &self.cgroup else { return Ok(()) };
        options.choose_cgroup(path).map_err(|why| {
            let path = safe(path.as_os_str().as_encoded_bytes());
            let what = match why {
                Missing::OutOfView => format!("there is no cgroup {path} of the memory controller here"),
                Missing::Unsupported => "the memory controller of cgroups is not mounted here".into(),
                why => format!("{path}: {why}"),
            };
            UsageError::option("--cgroup", what)
        })
    }
}

/// The options of a report of the whole machine.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineArgs {
    #[command(flatten)]
    pub units: UnitsArgs,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    #[command(flatten)]
    pub scope: CgroupArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportArgs {
    #[command(flatten)]
    pub table: TableArgs,
    /// List at most N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub paths: PathArgs,
}

/// Adapts the help of [`ReportArgs`] to a row limit that applies to each process. Edits the argument in place, because
/// an argument changed by name would be listed last.
pub(crate) fn of_each_process(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "top" => arg.help("List at most N rows of each process"),
        _ => arg,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessArg {
    Pid(u32),
    /// The name of the program or script, or a part of the command line.
    Name(String),
    /// A filter that names a field or compares a figure, such as `user:alice pss>1G`.
    Filter(String),
}

impl FromStr for ProcessArg {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        if typed.is_empty() {
            return Err("expected a pid, a program's name, a part of a command line, or a filter".into());
        }
        if !typed.bytes().all(|b| b.is_ascii_digit()) {
            let is_filter = Filter::parse(typed, &COLUMNS).is_ok_and(|filter| filter.has_fields());
            return Ok(if is_filter {
                Self::Filter(typed.into())
            } else {
                Self::Name(typed.into())
            });
        }
        let pid = typed.parse().ok().filter(|pid| *pid > 0);
        pid.map(Self::Pid).ok_or_else(|| format!("{typed} is no pid"))
    }
}

/// An error in the value of an option. Exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    #[error("{option}: {what}")]
    Option {
        /// The option as it is typed, `--sort`.
        option: &'static str,
        /// The fault in its value, and the values that are valid. Safe to print.
        what: String,
    },
    #[error("{0}")]
    Config(#[from] ConfigError),
}

impl UsageError {
    pub fn option(option: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self::Option { option, what }
    }
}

pub(crate) fn wrong(option: &'static str) -> impl FnOnce(String) -> UsageError {
    move |what| UsageError::Option { option, what }
}

/// Parses a filter of the command line.
///
/// # Errors
/// It does not parse. The text marks the place, as the monitor does.
pub(crate) fn check_filter(option: &'static str, filter: &str, schema: &dyn Schema) -> Result<Filter, UsageError> {
    let parsed = Filter::parse(filter, schema);
    parsed.map_err(|error| UsageError::option(option, format!("not a filter: {}", error.in_lines(filter))))
}

/// Sets a setting to the value of an option, with the same validation as in the config.
pub(crate) fn set(
    settings: &mut Settings,
    option: &'static str,
    key: &str,
    value: Option<&str>,
) -> Result<(), UsageError> {
    if let ("ui.filter", Some(filter)) = (key, value) {
        check_filter(option, filter, &COLUMNS)?;
    }
    match (settings.setting(key), value) {
        (Some(mut setting), Some(value)) => setting.parse(value).map_err(wrong(option)),
        _ => Ok(()),
    }
}

/// Returns the time in `option`, or `default` if the option was not typed.
pub(crate) fn watching_time(
    option: &'static str,
    typed: Option<&str>,
    range: RangeInclusive<Duration>,
    default: Duration,
) -> Result<Duration, UsageError> {
    let Some(typed) = typed else { return Ok(default) };
    parse_span(typed).filter(|time| range.contains(time)).ok_or_else(|| {
        let (shortest, longest) = (span_exact(*range.start()), span_exact(*range.end()));
        let such = span_exact(default);
        let what = format!("expected a duration from {shortest} to {longest}, such as {such}");
        UsageError::option(option, what)
    })
}

/// The ways to group: those for processes, plus mappings.
pub(crate) const GROUPS: [GroupBy; 8] = {
    let [a, b, c, d, e, f, g] = GroupBy::OF_ONE_HOST;
    [a, b, c, d, e, f, g, GroupBy::Mapping]
};

pub(crate) fn one_of(known: &[GroupBy], typed: &str) -> Result<GroupBy, String> {
    known.iter().copied().find(|by| by.id() == typed).ok_or_else(|| {
        let known: Vec<_> = known.iter().map(|by| by.id()).collect();
        format!("possible values: {}", known.join(", "))
    })
}

pub(crate) fn by(typed: &str) -> Result<GroupBy, String> {
    one_of(&GroupBy::OF_ONE_HOST, typed)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success, even if the reader of the output closed the pipe.
    Done = 0,
    /// A check found something, or nothing was picked.
    Found = 1,
    Usage = 2,
    Unread = 3,
    Unwritten = 4,
    /// Nothing was found, because nothing could be judged yet.
    Unjudged = 5,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// Returns the exit code for an error of writing to stdout. A closed pipe counts as success, as in `zmtop ps |
    /// head`.
    pub fn of_output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Done,
            _ => Self::Unwritten,
        }
    }
}

/// A text to print instead of running: the help, the version, or a usage error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Early {
    /// The text, safe to print. Goes to stdout if `exit` is [`Exit::Done`], otherwise to stderr.
    pub text: String,
    pub exit: Exit,
}
