//! The command line: the options of each command, and their effect on the settings.

mod exit;
pub mod fleet;
pub mod held;
pub mod kernel;
pub mod leaks;
pub mod maps;
pub mod mem;
mod monitor;
mod ps;
pub mod serve;
mod shared;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
pub use exit::{Early, Exit};
pub use monitor::MonitorArgs;
pub(crate) use ps::GROUPS;
pub use ps::PsArgs;
pub use shared::{ColorArgs, PathArgs, ProcessArg, ReportArgs, SourceArgs, TableArgs, UnitsArgs, UsageError};

use crate::group::GroupBy;
pub use crate::output::Format;
use crate::text;

/// The command line as typed.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "zmtop",
    version,
    about = "The memory each process really costs, live: PSS, USS, RSS and swap",
    after_help = "Exit codes: 0 done, 1 a check found something or nothing was picked, 2 usage or config error, 3 the \
                  data could not be read, 4 output could not be written, 128 + N ended by signal N."
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
    /// Print what processes hold through their descriptors: GPU buffers, dma-bufs, BPF maps, memfds
    Held(held::HeldArgs),
    /// Watch for a while, or go through a recording, and tell who leaks: since when, how fast, how sure
    Leaks(Box<leaks::LeaksArgs>),
    /// Export the memory of groups and of the machine to Prometheus
    Serve(serve::ServeArgs),
    /// Show the groups of many hosts, from what zmtop serve exports to a Prometheus
    Fleet(Box<fleet::FleetArgs>),
    /// Look into the kernel's own memory
    Kernel(kernel::KernelArgs),
    /// Show or check the configuration
    Config(ConfigArgs),
    /// Write the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual page; zmtop man | man -l - shows it
    Man,
}

/// The options of `zmtop config`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ConfigArgs {
    /// The action.
    #[command(subcommand)]
    pub action: ConfigAction,
    /// Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too
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

/// The options of `zmtop completions`.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionsArgs {
    /// For which shell
    pub shell: Shell,
}

/// A shell that command lines are completed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Write it to ~/.local/share/bash-completion/completions/zmtop
    Bash,
    /// Write it to a file `_zmtop` in a directory of $fpath
    Zsh,
    /// Write it to ~/.config/fish/completions/zmtop.fish
    Fish,
}

/// Parses a command line, which begins with the program's name.
///
/// # Errors
/// [`Early`]: a usage error, or the help or version that was asked for.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Early> {
    matched(args).map_err(|e| {
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

fn matched(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(args)?;
    // The monitor's options mean nothing to another command; of those that both have, only global ones may stand before.
    let is_typed = |arg: &Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let own = |arg: &&Arg| !arg.is_global_set() && is_typed(arg);
    let option = command.get_arguments().find(own).map(ToString::to_string);
    if let (Some(name), Some(option)) = (matches.subcommand_name(), option) {
        let what = format!("{option} before `{name}` is an option of the monitor; options of `{name}` stand after it");
        return Err(command.error(ErrorKind::ArgumentConflict, what));
    }
    Cli::from_arg_matches(&matches)
}

/// Understands a way to group processes.
fn by(typed: &str) -> Result<GroupBy, String> {
    ps::one_of(&GroupBy::OF_ONE_HOST, typed)
}
