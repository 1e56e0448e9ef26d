//! The command line: what was typed, and what it means for the settings.

mod apply;
mod exit;
pub mod leaks;
pub mod maps;
pub mod mem;
mod ps;

use std::ffi::OsString;
use std::path::PathBuf;

pub use apply::{UsageError, apply, apply_leaks, apply_ps, apply_units, configure};
use clap::{Args, Parser, Subcommand};
pub use exit::{Early, Exit};
pub use ps::PsArgs;

pub use crate::output::Format;
use crate::text;

/// zmtop as typed.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "zmtop",
    version,
    about = "The memory each process really costs, live: PSS, USS, RSS and swap",
    after_help = "Exit codes: 0 done, 1 a check found something, 2 usage or config error, 3 the data could not be \
                  read, 4 output could not be written.",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// The monitor's options; those of a subcommand are its own.
    #[command(flatten)]
    pub monitor: MonitorArgs,
    /// What to do instead of the monitor.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do instead of the monitor.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Print a table of the processes, once or again and again
    Ps(Box<PsArgs>),
    /// Account for the system's memory: RAM, swap, what is compressed, and where the RAM went
    Mem(mem::MemArgs),
    /// Print the mappings of processes, those of one name together
    Maps(maps::MapsArgs),
    /// Watch for a while, or go through a recording, and tell who leaks: since when, how fast, how sure
    Leaks(Box<leaks::LeaksArgs>),
    /// Show or check the configuration
    Config(ConfigArgs),
}

/// How the table is sorted and written, in the monitor and in `ps`.
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
    /// Write bytes as auto, k, m, g or bytes
    #[arg(long, value_name = "UNIT")]
    pub units: Option<String>,
    /// Use no colours
    #[arg(long)]
    pub no_color: bool,
}

/// Where things are read from, for every command that reads the machine.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceArgs {
    /// Read the settings from FILE, and keymap.toml and themes/ beside it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read another proc tree than /proc
    #[arg(long, value_name = "DIR")]
    pub proc_root: Option<PathBuf>,
}

/// The options of the monitor.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorArgs {
    /// Time between snapshots, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME")]
    pub interval: Option<String>,
    /// Show only what passes the filter
    #[arg(short, long, allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Group by command, user, unit, container or cgroup; process lists each by itself
    #[arg(long, value_name = "WHAT")]
    pub by: Option<String>,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the program's own description"
    )]
    pub table: TableArgs,
    /// Use this theme: default, light, mono, colorblind, or one of your own
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Start with the tree
    #[arg(long, conflicts_with = "by")]
    pub tree: bool,
    /// Change nothing: send no signals, set no niceness, run no programs of alerts
    #[arg(long)]
    pub readonly: bool,
    /// Append zmtop's own log to FILE
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the program's own description"
    )]
    pub place: PlaceArgs,
}

/// The options of `zmtop config`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ConfigAction,
    /// Read the settings from FILE, and keymap.toml and themes/ beside it
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// What `zmtop config` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigAction {
    /// Print the settings in force, and which differ from the defaults
    Show,
    /// Name every fault in the settings, the keymap and the theme
    Check,
    /// Print where the settings are looked for
    Path,
    /// Print the shipped settings, each with what it means
    Default,
}

/// Understands a command line, the program's name first.
///
/// # Errors
/// [`Early`]: a usage error, or the help or version that was asked for.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Early> {
    Cli::try_parse_from(args).map_err(|e| {
        let safe: Vec<_> = e
            .to_string()
            .lines()
            .map(|l| text::safe(l.as_bytes()).into_owned())
            .collect();
        Early {
            text: safe.join("\n") + "\n",
            exit: if e.use_stderr() { Exit::Usage } else { Exit::Done },
        }
    })
}
