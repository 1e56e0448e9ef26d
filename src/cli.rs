//! The command line: the monitor's options, the subcommands, and what several of them share.
//!
//! A subcommand's own options stand in `run`, beside the function that runs it.

pub mod fleet;
pub mod serve;
mod shared;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
pub use shared::{
    CgroupArgs, ColorArgs, Early, Exit, MachineArgs, PathArgs, ProcessArg, ReportArgs, SourceArgs, TableArgs,
    UnitsArgs, UsageError,
};
pub(crate) use shared::{GROUPS, by, of_each_process, one_of, set, watching_time, wrong};

pub use crate::output::Format;
pub use crate::run::cache::CacheArgs;
pub use crate::run::configure::{ConfigAction, ConfigArgs};
pub use crate::run::generate::{CompletionsArgs, SchemaArgs, Shell};
pub use crate::run::held::HeldArgs;
pub use crate::run::kernel::KernelArgs;
pub use crate::run::leaks::LeaksArgs;
pub use crate::run::live::MonitorArgs;
pub use crate::run::maps::MapsArgs;
pub use crate::run::ps::PsArgs;
use crate::text;

#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "zmtop",
    version,
    about = "Live monitor of the true memory use of each process: PSS, USS, RSS and swap",
    after_help = "Exit codes: 0: success. 1: --check found something, or nothing was picked. 2: an error in the command line or the \
                  config. 3: the data could not be read. 4: the output could not be written. 5: not yet judged: --check or a filter found nothing, \
                  but too little of the past is known to say so. 128 + N: ended by signal N."
)]
pub struct Cli {
    #[command(flatten)]
    pub monitor: MonitorArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Print a table of processes, once or repeatedly
    Ps(Box<PsArgs>),
    /// Print a breakdown of the system's memory: RAM, swap and compressed memory
    #[command(mut_arg("from", |from| from.help("Break down a snapshot in FILE, as --format ndjson writes it, plain or zstd; - is standard input")))]
    Mem(MachineArgs),
    /// Print the mappings of processes, summed by name
    Maps(MapsArgs),
    /// Print memory held through file descriptors: GPU buffers, dma-bufs, BPF maps, memfds
    Held(HeldArgs),
    /// Print the files that fill the page cache: bytes cached and dirty, share of the file, and who has it open
    Cache(CacheArgs),
    /// Find leaking processes, live or in a recording, with start, rate and confidence
    Leaks(Box<LeaksArgs>),
    /// Export the memory of groups and of the machine to Prometheus
    #[cfg_attr(not(feature = "network"), command(hide = true))]
    Serve(serve::ServeArgs),
    /// Monitor many hosts from the metrics of zmtop serve in Prometheus
    #[cfg_attr(not(feature = "network"), command(hide = true))]
    Fleet(Box<fleet::FleetArgs>),
    /// Report kernel memory
    Kernel(KernelArgs),
    /// Show or check the configuration
    Config(ConfigArgs),
    /// Print a JSON Schema of zmtop's JSON output: each field, its unit, and when it is null
    Schema(SchemaArgs),
    /// Generate shell completions
    Completions(CompletionsArgs),
    /// Print the manual page; view it with zmtop man | man -l -
    Man,
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
        let what = format!("{option} before `{name}` is an option of the monitor; options of `{name}` go after it");
        return Err(command.error(ErrorKind::ArgumentConflict, what));
    }
    Cli::from_arg_matches(&matches)
}
