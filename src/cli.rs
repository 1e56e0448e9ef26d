//! The command line: the monitor's options, the subcommands, and the code that several of them share.
//!
//! A subcommand's own options are in `run`, next to the function that runs it.

pub mod fleet;
pub mod serve;
mod shared;

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
pub use shared::{
    CgroupArgs, ChosenArgs, ColorArgs, Early, Exit, MachineArgs, OutputArgs, PathArgs, ProcessArg, ReportArgs,
    SourceArgs, TableArgs, UnitsArgs, UsageError,
};
pub(crate) use shared::{GROUPS, by, check_filter, is_no_user, of_each_process, one_of, set, watching_time, wrong};

pub use crate::output::Format;
pub use crate::run::cache::CacheArgs;
#[cfg(feature = "code")]
pub use crate::run::callers::CallersArgs;
pub use crate::run::configure::{ConfigAction, ConfigArgs};
pub use crate::run::generate::{CompletionsArgs, SchemaArgs, Shell};
pub use crate::run::heap::HeapArgs;
pub use crate::run::held::HeldArgs;
pub use crate::run::kernel::KernelArgs;
pub use crate::run::leaks::LeaksArgs;
pub use crate::run::limits::LimitsArgs;
pub use crate::run::live::MonitorArgs;
pub use crate::run::maps::MapsArgs;
pub use crate::run::ps::PsArgs;
pub use crate::run::record::RecordArgs;
pub use crate::run::replay::ReplayArgs;
pub use crate::run::why::WhyArgs;
use crate::text;

#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "zmtop",
    version,
    about = "Live monitor of the true memory use of each process: PSS, USS, RSS and swap",
    override_usage = "zmtop [OPTIONS] [FILTER]...\n       zmtop [OPTIONS] <COMMAND>",
    after_help = "Words that are not a command form a filter: zmtop user:alice 'pss>100M'.\n\nExit codes: 0: success. \
                  1: --check found something, or nothing was picked. 2: an error in the command line or the config. 3: \
                  the data could not be read. 4: the output could not be written. 5: not yet judged: --check or a \
                  filter found nothing, but the known history is too short to be sure. 128 + N: ended by signal N."
)]
pub struct Cli {
    #[command(flatten)]
    pub monitor: MonitorArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The first option or argument on the command line that names a file.
    #[arg(skip)]
    pub file: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Print a table of processes, once or repeatedly
    Ps(Box<PsArgs>),
    /// Print a breakdown of the system's memory: RAM, swap and compressed memory
    #[command(mut_arg("from", |from| from.help("Break down a snapshot of a recording: a file or folder of zmtop \
                                                record, or a file of ps --format ndjson; - is standard input")))]
    Mem(MachineArgs),
    /// Print the mappings of processes, summed by name
    Maps(MapsArgs),
    /// Print memory held through file descriptors: GPU buffers, dma-bufs, BPF maps, memfds
    Held(HeldArgs),
    /// Print the files that fill the page cache: bytes cached and dirty, share of the file, and the processes that have it open
    Cache(CacheArgs),
    /// Find leaking processes, live or in a recording, with start, rate and confidence
    Leaks(Box<LeaksArgs>),
    /// Find the code that allocates and keeps the memory of a process, by call path
    #[cfg(feature = "code")]
    Callers(CallersArgs),
    /// Show the heap of a process: memory in use, free memory that its allocator keeps, and what a trim would return
    Heap(HeapArgs),
    /// Record snapshots for months: to a file, to a folder whose oldest files are deleted, or to standard output
    Record(Box<RecordArgs>),
    /// Show the past in the monitor: play a recording, pause, step, and go to any time
    Replay(Box<ReplayArgs>),
    /// Propose memory limits: what each unit, container, pod and cgroup needed in a recording, compared with its limit
    Limits(Box<LimitsArgs>),
    /// Explain what happened to memory in a recording: what ran out, what had grown, what was killed
    Why(WhyArgs),
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
    let mut args: Vec<OsString> = args.into_iter().collect();
    let words = take_words(&mut args)?;
    let mut command = Cli::command();
    let is_json = |arg: &OsString| arg == "--json";
    let format = OsString::from("--format=json");
    let mut matches = command.try_get_matches_from_mut(&args);
    // A command without that option has no other format either.
    if args.iter().any(is_json)
        && matches
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::UnknownArgument)
    {
        let named = args.iter().map(|arg| if is_json(arg) { &format } else { arg });
        let with_format = Cli::command().try_get_matches_from(named);
        matches = with_format.or(matches);
    }
    let of = typed_command(&args, &command);
    let matches = matches.map_err(|error| with_way(error, of, args.get(1).map(OsString::as_os_str)))?;
    // The monitor's options mean nothing to another command; of those that both have, only global ones may stand before.
    let is_typed = |arg: &Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let own = |arg: &&Arg| !arg.is_global_set() && is_typed(arg);
    let option = command.get_arguments().find(own).map(ToString::to_string);
    if let Some(name) = matches.subcommand_name() {
        let before = words.first().map(|word| format!("`{word}`"));
        if let Some(before) = option
            .map(|option| format!("{option} before"))
            .or(before.map(|word| format!("{word} before")))
        {
            let what =
                format!("{before} `{name}` applies to the monitor; put options and filters of `{name}` after it");
            return Err(command.error(ErrorKind::ArgumentConflict, what));
        }
    }
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.file = named_file(&command, &matches);
    if !words.is_empty() {
        let filter = words.join(" ");
        cli.monitor.filter = Some(match cli.monitor.filter {
            Some(other) => format!("({other}) ({filter})"),
            None => filter,
        });
    }
    Ok(cli)
}

/// Returns the option that names a file, or `an argument`, if one was given.
fn named_file(command: &clap::Command, matches: &ArgMatches) -> Option<String> {
    let is_file = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let is_typed = |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let arg = command.get_arguments().filter(is_file).find(is_typed);
    let name = |arg: &Arg| {
        arg.get_long()
            .map_or_else(|| "an argument".into(), |long| format!("--{long}"))
    };
    arg.map(name).or_else(|| {
        let (name, matches) = matches.subcommand()?;
        named_file(command.find_subcommand(name)?, matches)
    })
}

/// Removes the words of a filter for the monitor from a command line, and returns them: those that are neither options nor a
/// command.
fn take_words(args: &mut Vec<OsString>) -> Result<Vec<String>, clap::Error> {
    let mut words = Vec::new();
    loop {
        let mut command = Cli::command().allow_external_subcommands(true);
        // Errors are reported once all words are known.
        let Ok(matches) = command.try_get_matches_from_mut(&*args) else {
            break;
        };
        let Some((name, rest)) = matches
            .subcommand()
            .filter(|(name, _)| command.find_subcommand(name).is_none())
        else {
            break;
        };
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '-');
        if is_plain && text::nearest(name, command.get_subcommands().map(clap::Command::get_name)).is_some() {
            // A command with a typing error.
            Cli::command()
                .try_get_matches_from(&*args)
                .map_err(|error| with_way(error, None, Some(OsStr::new(name))))?;
        }
        words.push(name.to_owned());
        let after = rest.get_many::<OsString>("").map_or(0, Iterator::count);
        args.remove(args.len() - after - 1);
    }
    Ok(words)
}

/// The name in other monitors, and the name here.
const WAYS: [(&str, &str); 15] = [
    (
        "jsonl",
        "zmtop ps --format rows prints a line of JSON per process, --format ndjson one per snapshot",
    ),
    (
        "--json",
        "zmtop ps --format json prints JSON, --format rows one line per process",
    ),
    (
        "-n",
        "zmtop ps --top N lists N rows; zmtop ps --every TIME --count N prints N tables",
    ),
    ("--top", "zmtop ps --top N lists N rows"),
    ("-b", "zmtop ps --every TIME prints tables without a screen"),
    (
        "-d",
        "--interval TIME sets the time between snapshots; for zmtop ps, --every TIME",
    ),
    (
        "--interval",
        "the monitor, leaks and serve have it; zmtop ps and zmtop record have --every TIME",
    ),
    ("-u", "user:NAME is a filter: zmtop user:NAME"),
    ("-p", "pid:N is a filter: zmtop pid:1,1234"),
    ("-s", "--sort KEY sorts"),
    (
        "--view",
        "only the monitor has views: zmtop --view NAME; zmtop ps has filters, --columns, --sort and --by",
    ),
    ("-o", "zmtop ps --columns pid,pss,command chooses columns"),
    ("-t", "--tree starts in tree view"),
    ("-C", "--no-color uses no colours"),
    (
        "-H",
        "zmtop lists processes only, because all threads of a process share its memory",
    ),
];

/// Returns the command that a command line names.
fn typed_command<'c>(args: &[OsString], command: &'c clap::Command) -> Option<&'c clap::Command> {
    let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str());
    words.find_map(|word| command.find_subcommand(word))
}

/// Returns the way for a command other than `ps`, whose options and filters differ from the monitor's.
fn way_of_command(option: &str, command: &clap::Command) -> Option<String> {
    let name = command.get_name();
    let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    match option {
        "-n" if has("top") => Some(format!("zmtop {name} --top N lists N rows")),
        "-p" if has("processes") => Some(format!("zmtop {name} 1234 names a process by its pid")),
        "-p" if has("filter") => Some(format!("pid:N is a filter: zmtop {name} pid:1,1234")),
        "-u" if has("filter") || has("processes") => Some(format!("user:NAME is a filter: zmtop {name} user:NAME")),
        _ => None,
    }
}

/// Adds the way to an error about an option or a value that other tools have. `command` is the command typed, if any, and `first` the
/// first argument.
fn with_way(mut error: clap::Error, command: Option<&clap::Command>, first: Option<&OsStr>) -> clap::Error {
    let context = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidValue => ContextKind::InvalidValue,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return error,
    };
    let Some(ContextValue::String(typed)) = error.get(context).cloned() else {
        return error;
    };
    let way = if context == ContextKind::InvalidSubcommand {
        if first == Some(OsStr::new(&typed)) {
            Some(format!("cmd:{typed} is a filter: zmtop cmd:{typed}"))
        } else if first == Some(OsStr::new("help")) {
            // Of a misspelled command after `help`, clap suggests nothing.
            let root = Cli::command();
            text::nearest(&typed, root.get_subcommands().map(clap::Command::get_name))
                .map(|name| format!("a similar subcommand exists: '{name}'"))
                .or_else(|| {
                    Some("zmtop man prints the manual; in the monitor, ? explains keys, filters and columns".into())
                })
        } else {
            None
        }
    } else {
        let named = |name: &str| WAYS.iter().find(|(option, _)| *option == name);
        let similar = || {
            text::nearest(
                &typed,
                WAYS.iter().map(|(option, _)| *option).filter(|name| name.len() > 2),
            )
        };
        let is_guessed = error.get(ContextKind::SuggestedArg).is_some();
        let common = || named(&typed).or_else(|| similar().filter(|_| !is_guessed).and_then(named));
        let own = command.and_then(|command| way_of_command(&typed, command));
        own.or_else(|| common().map(|(_, way)| (*way).to_owned()))
    };
    if let Some(way) = way {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![way.into()]));
    }
    error
}
