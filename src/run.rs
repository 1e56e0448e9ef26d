//! The wiring: runs the command given on the command line.
//!
//! Each subcommand has a file here with its options and its `run` function, and an arm in `subcommand`.

pub mod alert;
mod black_box;
pub mod cache;
#[cfg(feature = "code")]
pub mod callers;
pub mod configure;
#[cfg(feature = "network")]
mod fleet;
pub mod generate;
pub mod heap;
pub mod held;
pub mod kernel;
pub mod leaks;
pub mod limits;
pub mod live;
pub mod maps;
pub mod mem;
mod messages;
pub mod monitor;
pub mod past;
mod privileges;
pub mod process;
mod prove;
pub mod ps;
pub mod record;
pub mod replay;
mod report;
mod rights;
pub mod runtime;
#[cfg(feature = "network")]
mod serve;
mod snapshot;
mod supervised;
mod takers;
pub mod terminal;
pub mod why;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::cli::{self, Cli, Command, Exit, UnitsArgs, UsageError, check_filter};
use crate::columns::COLUMNS;
use crate::config::settings::{OwnSettings, SamplerSettings};
use crate::config::{Config, Env, Settings};
use crate::filter::Filter;
use crate::output::{self, Format, OutputStyle, Report};
use crate::own;
use crate::sampler::{Options, Policy};
use crate::units::Units;
use live::Instead;

pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    terminal::install_panic_hook();
    // With all rights of another user, zmtop would open whatever its user names (a config, a log, another proc tree) with those
    // rights.
    if process::is_setuid() {
        complain("will not run setuid or setgid; grant ambient or file capabilities instead");
        return Exit::Usage.into();
    }
    let mut env = Env::from_process();
    let parsed = cli::parse(args);
    if let Ok(cli) = &parsed
        && process::is_elevated()
    {
        env = match rights::restrict(cli, env) {
            Ok(env) => env,
            Err(error) => {
                complain(&format!("cannot give up its file capabilities: {error}"));
                return Exit::Usage.into();
            }
        };
    }
    match parsed {
        Err(early) if early.exit == Exit::Done => written(io::stdout().write_all(early.text.as_bytes())).into(),
        Err(early) => {
            let _ = io::stderr().write_all(early.text.as_bytes());
            early.exit.into()
        }
        Ok(Cli {
            command: Some(command), ..
        }) => {
            // Read nothing if the output goes nowhere. The exporter and the fleet's screen do not write to stdout.
            let writes = !matches!(command, Command::Serve(_) | Command::Fleet(_) | Command::Replay(_));
            if writes && process::was_closed() {
                return written(Ok(())).into();
            }
            subcommand(&command, &env)
        }
        Ok(Cli {
            command: None, monitor, ..
        }) => match monitor.configure(&env) {
            Ok(config) => {
                let (args, place) = (monitor.clone(), env.clone());
                live::run(
                    &monitor,
                    config,
                    Instead::default(),
                    Box::new(move || args.configure(&place)),
                    &env,
                )
            }
            Err(error) => usage(&error).into(),
        },
    }
}

fn subcommand(command: &Command, env: &Env) -> ExitCode {
    rights::keep_for(command);
    let done = match command {
        #[cfg(feature = "network")]
        Command::Fleet(args) => {
            return match fleet::configure(args, env) {
                Ok((config, start)) => {
                    let (own, place) = (args.clone(), env.clone());
                    let reload = Box::new(move || own.configure(&place));
                    let instead = Instead {
                        fleet: Some(start),
                        ..Instead::default()
                    };
                    live::run(&args.monitor, config, instead, reload, env)
                }
                Err(error) => usage(&error).into(),
            };
        }
        #[cfg(not(feature = "network"))]
        Command::Fleet(_) | Command::Serve(_) => {
            complain("this build has no network support: build it with the feature `network`");
            Ok(Exit::Usage)
        }
        Command::Replay(args) => return replay::run(args, env),
        Command::Ps(args) => ps::run(args, env),
        Command::Mem(args) => mem::run(args, env),
        #[cfg(feature = "code")]
        Command::Callers(args) => callers::run(args, env),
        Command::Maps(args) => maps::run(args, env),
        Command::Heap(args) => heap::run(args, env),
        Command::Held(args) => held::run(args, env),
        Command::Leaks(args) => match &args.prove {
            Some(process) => prove::run(process, args, env),
            None => leaks::run(args, env),
        },
        Command::Limits(args) => limits::run(args, env),
        #[cfg(feature = "network")]
        Command::Serve(args) => serve::run(args, env),
        Command::Record(args) => record::run(args, env),
        Command::Why(args) => why::run(args, env),
        Command::Cache(args) => cache::run(args, env),
        Command::Kernel(args) => kernel::run(args, env),
        Command::Config(args) => {
            let done = configure::run(args, env, &mut io::stdout().lock(), &mut io::stderr().lock());
            Ok(done.unwrap_or_else(|error| written(Err(error))))
        }
        Command::Schema(args) => generate::schema(args),
        Command::Completions(args) => Ok(generate::completions(args.shell)),
        Command::Man => Ok(generate::man()),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(Failure::Usage(error)) => usage(&error).into(),
        Err(Failure::Unread(why)) => {
            complain(&why);
            Exit::Unread.into()
        }
        Err(Failure::Unwritten(why)) => {
            complain(&format!("cannot write {why}"));
            Exit::Unwritten.into()
        }
    }
}

#[derive(Debug)]
enum Failure {
    Usage(UsageError),
    /// The data could not be read. The text is the reason, safe to print.
    Unread(String),
    /// The output could not be written. The text is the reason, safe to print.
    Unwritten(String),
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

fn print(report: &dyn Report, format: Format) -> Exit {
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, io::stdout().lock());
    written(output::write(&mut out, report, format).and_then(|()| out.flush()))
}

/// Size of the stdout buffer, in bytes. A table with a few hundred rows is written in one system call.
const OUTPUT_BUFFER: usize = 64 << 10;

/// Parses the filter of the settings. Reports on stderr a size that lacks a unit.
fn parse_filter(settings: &Settings) -> Result<Filter, UsageError> {
    let filter = check_filter("FILTER", &settings.ui.filter, &COLUMNS)?;
    if let Some(remark) = filter.remark() {
        complain(&remark);
    }
    Ok(filter)
}

fn settings(config: Option<&Path>, units: &UnitsArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = load_settings(config, env)?;
    units.apply(&mut settings)?;
    Ok(settings)
}

/// Returns the settings of the config. Reports on stderr which of its files this user may not read.
fn load_settings(config: Option<&Path>, env: &Env) -> Result<Settings, UsageError> {
    let config = Config::load(config, env)?;
    if let Some(what) = &config.unread {
        complain(what);
    }
    Ok(config.settings)
}

/// Applies the settings of zmtop's own process around `give_up`, which gives up capabilities. Returns what that returns, and a text for each
/// setting that the kernel refuses.
fn protect<T>(settings: &OwnSettings, give_up: impl FnOnce() -> T) -> (T, Vec<String>) {
    let adj = settings.oom_score_adj.map_or(Ok(()), own::set_oom_score_adj);
    let given = give_up();
    let lock = if settings.lock_memory {
        own::lock_memory()
    } else {
        Ok(())
    };
    (given, [adj, lock].into_iter().filter_map(Result::err).collect())
}

/// Applies them as [`protect`] does, and reports on stderr what the kernel refuses.
fn protect_aloud<T>(settings: &OwnSettings, give_up: impl FnOnce() -> T) -> T {
    let (given, refused) = protect(settings, give_up);
    for what in refused {
        complain(&what);
    }
    given
}

/// Writes a report of everything readable, and reports on stderr which processes could not be read.
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

/// Returns the style for text on standard output. The width is the terminal's, if stdout is one.
fn output_style(units: Units, no_color: bool, env: &Env) -> OutputStyle {
    let terminal = io::stdout().is_terminal();
    let size = terminal.then(|| crossterm::terminal::size().ok()).flatten();
    let no_color = no_color || env.no_color.as_ref().is_some_and(|v| !v.is_empty());
    OutputStyle {
        units,
        // A terminal that does not know its size reports 0.
        width: size.map(|(width, _)| usize::from(width)).filter(|w| *w > 0),
        color: terminal && !no_color,
        ascii: !env.utf8,
    }
}

/// Writes a message to stderr. Never blocks while there are [`messages::Messages`].
pub(crate) fn complain(what: &str) {
    messages::write(format!("zmtop: {what}\n"));
}

/// Returns the exit code for a result of writing to stdout, and reports a failure on stderr.
pub(crate) fn written(result: io::Result<()>) -> Exit {
    let open = if process::was_closed() {
        Err(io::Error::other("standard output is closed"))
    } else {
        Ok(())
    };
    match open.and(result).and_then(|()| io::stdout().flush()) {
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

/// Reports a usage or config error on stderr, with each fault on its own line.
pub(crate) fn usage(error: &UsageError) -> Exit {
    for line in error.to_string().lines() {
        complain(line);
    }
    Exit::Usage
}

pub(crate) fn sampler_options(sampler: &SamplerSettings, proc_root: Option<&Path>) -> Options {
    Options {
        interval: sampler.interval,
        deadline: sampler.deadline,
        threads: sampler.threads.into(),
        max_stuck: sampler.max_stuck.into(),
        heaps: sampler.heaps,
        policy: Policy {
            budget: sampler.budget.map(|n| f64::from(n) / 1000.0),
            max_age: sampler.max_age,
        },
        nice: u8::try_from(sampler.nice).unwrap_or(19),
        ..Options::new(proc_root)
    }
}
