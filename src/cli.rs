//! The command line: the options of each command, and their effect on the settings.

mod exit;
pub mod leaks;
pub mod maps;
pub mod mem;
mod monitor;
mod ps;
mod shared;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
pub use exit::{Early, Exit};
pub use monitor::MonitorArgs;
pub use ps::PsArgs;
pub use shared::{ColorArgs, PathArgs, SourceArgs, TableArgs, UnitsArgs, UsageError};

pub use crate::output::Format;
use crate::text;

/// The command line as typed.
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
    /// The options of the monitor. A subcommand has its own.
    #[command(flatten)]
    pub monitor: MonitorArgs,
    /// The command to run instead of the monitor.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// A command to run instead of the monitor.
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

/// The options of `zmtop config`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ConfigArgs {
    /// The action.
    #[command(subcommand)]
    pub action: ConfigAction,
    /// Read the settings from FILE, and keymap.toml and themes/ beside it
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// An action of `zmtop config`.
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

/// Parses a command line, which begins with the program's name.
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
