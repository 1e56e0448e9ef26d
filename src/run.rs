//! The wiring: what was typed becomes what is done.

pub mod alert;
mod clock;
pub mod configure;
mod from;
pub mod leaks;
pub mod maps;
pub mod mem;
pub mod monitor;
pub mod ps;
mod secure;
pub mod terminal;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use monitor::{End, Setup};

use crate::cli::{self, Cli, Command, Exit, MonitorArgs, UsageError};
use crate::config::settings::{LogSettings, SamplerSettings};
use crate::config::{Env, log};
use crate::sampler::{Options, Policy};

/// Does what the command line asks; the value is the process's exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
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
            command: Some(Command::Config(args)),
            ..
        }) => {
            let done = configure::run(&args, &env, &mut io::stdout().lock(), &mut io::stderr().lock());
            done.unwrap_or_else(|e| written(Err(e))).into()
        }
        Ok(Cli {
            command: Some(Command::Ps(args)),
            ..
        }) => ps::run(&args, &env).into(),
        Ok(Cli {
            command: Some(Command::Mem(args)),
            ..
        }) => mem::run(&args, &env).into(),
        Ok(Cli {
            command: Some(Command::Maps(args)),
            ..
        }) => maps::run(&args, &env).into(),
        Ok(Cli {
            command: Some(Command::Leaks(args)),
            ..
        }) => leaks::run(&args, &env).into(),
        Ok(Cli { command: None, monitor }) => live(&monitor, &env),
    }
}

/// How the runtime is built that sampling, signals and timers go on in: beside the main thread, which may be
/// stuck in a write.
pub(crate) fn runtime() -> tokio::runtime::Builder {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("zmtop-runtime").enable_all();
    builder
}

/// One line of reason on stderr.
pub(crate) fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "zmtop: {what}");
}

/// What became of writing to stdout.
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
    let config = match cli::configure(args, env) {
        Ok(config) => config,
        Err(error) => return usage(&error).into(),
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
    let _log = match start_log(&config.settings.log) {
        Ok(guard) => guard,
        Err(what) => {
            complain(&what);
            return Exit::Usage.into();
        }
    };
    let options = options(&config.settings.sampler, args.place.proc_root.as_deref());
    match monitor::run(
        config,
        Setup {
            options,
            config_path: file,
        },
    ) {
        Ok(End::Quit) => Exit::Done.into(),
        Ok(End::Signal(number)) => ExitCode::from(128 + u8::try_from(number).unwrap_or(0)),
        Ok(End::Hangup) => ExitCode::from(129),
        Err(error) => {
            complain(&format!("{error:#}"));
            Exit::Unwritten.into()
        }
    }
}

/// The sampler's options by these settings.
pub(crate) fn options(sampler: &SamplerSettings, proc_root: Option<&Path>) -> Options {
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

/// Opens the log where one is asked for. The guard flushes it when dropped.
fn start_log(settings: &LogSettings) -> Result<Option<tracing_appender::non_blocking::WorkerGuard>, String> {
    let Some(path) = &settings.file else { return Ok(None) };
    let file = log::open(path).map_err(|error| {
        format!(
            "cannot open the log {}: {error}",
            crate::text::safe(path.as_os_str().as_encoded_bytes())
        )
    })?;
    let level = settings.level.parse().unwrap_or(tracing::Level::INFO);
    let (writer, guard) = tracing_appender::non_blocking(file);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_ansi(false)
        .with_max_level(level)
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "zmtop starts");
    Ok(Some(guard))
}
