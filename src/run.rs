//! The wiring: runs what the command line asks for.
//!
//! A subcommand is one file here with a `run`, one arm in `subcommand`, and its options in `cli`.

pub mod alert;
mod callers;
mod completions;
pub mod configure;
mod connection;
pub mod fleet;
mod grown;
pub mod heap;
mod held;
mod kernel;
mod kernel_report;
mod layout;
mod leaks;
mod man;
mod maps;
mod mem;
pub mod monitor;
mod named;
mod prove;
mod ps;
mod secure;
mod serve;
mod snapshot;
pub mod terminal;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use monitor::{End, Setup};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};

use crate::cli::{self, Cli, Command, Exit, MonitorArgs, PathArgs, UnitsArgs, UsageError};
use crate::columns::COLUMNS;
use crate::config::settings::{LogSettings, SamplerSettings};
use crate::config::{Config, Env, Settings, log, state};
use crate::filter::Filter;
use crate::output::{self, Format, OutputStyle, Report};
use crate::sampler::{Options, Policy};
use crate::tui::Opening;
use crate::units::Units;

/// Does what the command line asks; the value is the process's exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    terminal::install_panic_hook();
    // With rights that are not its user's, what the user names (a config, a log, another tree) would be
    // opened with those rights. Capabilities can be granted as ambient ones, which is no such case.
    if secure::elevated() {
        complain("will not run setuid, setgid or with file capabilities; grant ambient capabilities instead");
        return Exit::Usage.into();
    }
    let env = Env::from_process();
    match cli::parse(args) {
        Err(early) if early.exit == Exit::Done => written(io::stdout().write_all(early.text.as_bytes())).into(),
        Err(early) => {
            let _ = io::stderr().write_all(early.text.as_bytes());
            early.exit.into()
        }
        Ok(Cli {
            command: Some(command), ..
        }) => subcommand(&command, &env),
        Ok(Cli { command: None, monitor }) => live(&monitor, &env),
    }
}

/// Runs a subcommand, and says on stderr why it could not be done.
fn subcommand(command: &Command, env: &Env) -> ExitCode {
    let done = match command {
        Command::Fleet(args) => {
            return match fleet::link(args, env) {
                Ok((config, link)) => show(&args.monitor, config, Some(link), env),
                Err(error) => usage(&error).into(),
            };
        }
        Command::Ps(args) => ps::run(args, env),
        Command::Mem(args) => mem::run(args, env),
        Command::Maps(args) => maps::run(args, env),
        Command::Held(args) => held::run(args, env),
        Command::Leaks(args) => leaks::run(args, env),
        Command::Serve(args) => serve::run(args, env),
        Command::Kernel(args) => kernel::run(args, env),
        Command::Config(args) => {
            let done = configure::run(args, env, &mut io::stdout().lock(), &mut io::stderr().lock());
            Ok(done.unwrap_or_else(|error| written(Err(error))))
        }
        Command::Completions(args) => Ok(completions::run(args.shell)),
        Command::Man => Ok(man::run()),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(Failure::Usage(error)) => usage(&error).into(),
        Err(Failure::Unread(why)) => {
            complain(&why);
            Exit::Unread.into()
        }
    }
}

/// The reason why a subcommand has nothing to write.
#[derive(Debug)]
enum Failure {
    /// An option, or the configuration, is wrong.
    Usage(UsageError),
    /// The data could not be read; the text says why, safe to print.
    Unread(String),
}

impl From<UsageError> for Failure {
    fn from(error: UsageError) -> Self {
        Self::Usage(error)
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Unread(why)
    }
}

/// Writes a report to standard output.
fn print(report: &dyn Report, format: Format) -> Exit {
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, io::stdout().lock());
    written(output::write(&mut out, report, format).and_then(|()| out.flush()))
}

/// Size of the buffer before stdout in bytes: a table of some hundred rows goes out in one system call.
const OUTPUT_BUFFER: usize = 64 << 10;

/// Understands the filter of a one-shot command.
fn parse_filter(settings: &Settings) -> Result<Filter, UsageError> {
    let filter = Filter::parse(&settings.ui.filter, &COLUMNS);
    filter.map_err(|error| UsageError::option("FILTER", error.to_string()))
}

/// Returns the settings of the config, with the units of these options.
fn settings(paths: &PathArgs, units: &UnitsArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = Config::load(paths.config.as_deref(), env)?.settings;
    units.apply(&mut settings)?;
    Ok(settings)
}

/// Says which processes could not be read, and writes a report: what could be read is written all the same.
fn print_readable(report: &impl Report, format: Format, faults: impl Iterator<Item = String>) -> Exit {
    let mut unread = Exit::Done;
    for fault in faults {
        complain(&fault);
        unread = Exit::Unread;
    }
    match print(report, format) {
        Exit::Done => unread,
        failed => failed,
    }
}

/// Returns the style of text on standard output: as wide as its terminal, where it is one.
fn output_style(units: Units, no_color: bool, env: &Env) -> OutputStyle {
    let terminal = io::stdout().is_terminal();
    let size = terminal.then(|| crossterm::terminal::size().ok()).flatten();
    let no_color = no_color || env.no_color.as_ref().is_some_and(|v| !v.is_empty());
    OutputStyle {
        units,
        // A terminal that does not know its size says 0.
        width: size.map(|(width, _)| usize::from(width)).filter(|w| *w > 0),
        color: terminal && !no_color,
        ascii: !env.utf8,
    }
}

/// Returns the builder of the runtime for sampling, signals and timers: beside the main thread, which may be
/// stuck in a write. To be called while that is the only one.
pub(crate) fn runtime() -> tokio::runtime::Builder {
    heap::share();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("zmtop-runtime").enable_all();
    builder
}

/// Begins the runtime of a monitor; in that of a fleet threads do not wait for each other's heaps.
pub(crate) fn runtime_of_monitor(is_fleet: bool) -> tokio::runtime::Builder {
    let builder = runtime();
    if is_fleet {
        heap::part();
    }
    builder
}

/// Writes a line of reason to stderr.
pub(crate) fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "zmtop: {what}");
}

/// Returns the exit code of writing to stdout, and says why it failed.
pub(crate) fn written(result: io::Result<()>) -> Exit {
    match result.and_then(|()| io::stdout().flush()) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let exit = Exit::of_output(&error);
            if exit != Exit::Done {
                complain(&format!("cannot write: {error}"));
            }
            exit
        }
    }
}

/// Reports a usage or config error, each fault on a line of its own.
pub(crate) fn usage(error: &UsageError) -> Exit {
    for line in error.to_string().lines() {
        complain(line);
    }
    Exit::Usage
}

/// Runs the live monitor.
fn live(args: &MonitorArgs, env: &Env) -> ExitCode {
    match args.configure(env) {
        Ok(config) => show(args, config, None, env),
        Err(error) => usage(&error).into(),
    }
}

/// Runs the monitor with this configuration, of this machine or of a fleet.
fn show(args: &MonitorArgs, config: Config, fleet: Option<fleet::Link>, env: &Env) -> ExitCode {
    let picked = match args.pick.then(terminal::redirect_stdout).transpose() {
        Ok(stdout) => stdout,
        Err(error) => {
            complain(&format!("--pick needs a terminal for the screen: {error}"));
            return Exit::Usage.into();
        }
    };
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        complain("the monitor needs a terminal; `zmtop ps` prints one table anywhere");
        return Exit::Usage.into();
    }
    if env.term.as_ref().is_none_or(|term| term.is_empty() || term == "dumb") {
        complain("this terminal (TERM unset or dumb) cannot show the monitor; `zmtop ps` prints one table anywhere");
        return Exit::Usage.into();
    }
    let Some(file) = config.file.clone() else {
        complain("neither XDG_CONFIG_HOME nor HOME is set; name a config file with --config");
        return Exit::Usage.into();
    };
    // Before the screen is taken; it is said there, too.
    for warning in &config.warnings {
        complain(warning);
    }
    let _log = match start_log(&config.settings.log) {
        Ok(guard) => guard,
        Err(what) => {
            complain(&what);
            return Exit::Usage.into();
        }
    };
    let options = sampler_options(&config.settings.sampler, args.paths.proc_root.as_deref());
    let history_file = state::history_file(env).filter(|_| config.settings.history.keep);
    let opening = match args.pick {
        true => Opening::Pick,
        false if state::is_first_start(env) => Opening::First,
        false => Opening::Usual,
    };
    match monitor::run(
        config,
        Setup {
            options,
            config_path: file,
            history_file,
            fleet,
            opening,
        },
    ) {
        Ok(End::Quit) if args.pick => Exit::Found.into(),
        Ok(End::Quit) => Exit::Done.into(),
        Ok(End::Picked(pids)) => {
            let lines = pids.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
            written(picked.map_or(Ok(()), |mut stdout| stdout.write_all(lines.as_bytes()))).into()
        }
        Ok(End::Signal(number)) => ExitCode::from(128 + u8::try_from(number).unwrap_or(0)),
        Ok(End::Hangup) => ExitCode::from(129),
        Err(error) => {
            complain(&format!("{error:#}"));
            Exit::Unwritten.into()
        }
    }
}

/// Returns the sampler's options by these settings.
pub(crate) fn sampler_options(sampler: &SamplerSettings, proc_root: Option<&Path>) -> Options {
    Options {
        interval: sampler.interval,
        deadline: sampler.deadline,
        threads: sampler.threads.into(),
        max_stuck: sampler.max_stuck.into(),
        policy: Policy {
            budget: sampler.budget.map(|n| f64::from(n) / 1000.0),
            max_age: sampler.max_age,
        },
        nice: u8::try_from(sampler.nice).unwrap_or(19),
        ..Options::new(proc_root)
    }
}

/// Maximum number of lines of the log that wait for a slow disk, a megabyte or so; more are lost.
const MAX_LOG_LINES: usize = 4096;

/// Opens the log where one is asked for. The guard flushes it when dropped.
fn start_log(settings: &LogSettings) -> Result<Option<WorkerGuard>, String> {
    let Some(path) = &settings.file else { return Ok(None) };
    let file = log::open(path).map_err(|error| {
        format!(
            "cannot open the log {}: {error}",
            crate::text::safe(path.as_os_str().as_encoded_bytes())
        )
    })?;
    let level = settings.level.parse().unwrap_or(tracing::Level::INFO);
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_LOG_LINES)
        .finish(file);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_ansi(false)
        .with_max_level(level)
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "zmtop starts");
    Ok(Some(guard))
}
