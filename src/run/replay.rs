//! `zmtop replay`: the monitor over the past.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;

use super::live::{self, Instead};
use super::monitor::replay::{Film, Opened, Tape};
use super::snapshot::parse_at;
use super::{black_box, complain, terminal, usage};
use crate::cli::{Exit, MonitorArgs, UsageError};
use crate::config::{Config, Env};
use crate::source::{At, Source};
use crate::text;

/// The options of `zmtop replay`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    mut_arg("interval", |arg| arg.hide(true)),
    mut_arg("pick", |arg| arg.hide(true)),
    mut_arg("readonly", |arg| arg.hide(true)),
    mut_arg("proc_root", |arg| arg.hide(true)),
    mut_arg("cgroup", |arg| arg.hide(true)),
    mut_arg("filter", |arg| arg.help("Show only rows that match the filter"))
)]
pub struct ReplayArgs {
    /// Recordings, played in order of time: files or folders of zmtop record, files of ps --format ndjson, or - for standard
    /// input, as in ssh HOST zmtop record - | zmtop replay -. Default: the black box
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Begin at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m (10 minutes before the end), and pause there
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,
    /// Play N times as fast, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub speed: u32,
    #[command(flatten)]
    pub monitor: MonitorArgs,
}

impl ReplayArgs {
    /// Reads the configuration and applies the options to it.
    ///
    /// # Errors
    /// Every fault of the configuration, or the first wrong option.
    pub fn configure(&self, env: &Env) -> Result<Config, UsageError> {
        let own = &self.monitor;
        let of_the_present = [
            ("--interval", own.interval.is_some()),
            ("--pick", own.pick),
            ("--proc-root", own.paths.proc_root.is_some()),
            ("--cgroup", own.scope.cgroup.is_some()),
        ];
        if let Some((option, _)) = of_the_present.into_iter().find(|(_, is_given)| *is_given) {
            return Err(UsageError::option(option, "applies only to the present"));
        }
        own.configure(env)
    }
}

pub(super) fn run(args: &ReplayArgs, env: &Env) -> ExitCode {
    let opened = args.configure(env).and_then(|config| {
        let at = parse_at(args.at.as_deref())?;
        Ok((config, at))
    });
    let (config, at) = match opened {
        Ok(opened) => opened,
        Err(error) => return usage(&error).into(),
    };
    let files = if args.files.is_empty() {
        black_box::find(env).map(|path| vec![path])
    } else {
        Ok(args.files.clone())
    };
    let opened = match files.and_then(|files| open(&files, args.speed, at.as_ref())) {
        Ok(opened) => opened,
        Err(why) => {
            complain(&why);
            return Exit::Unread.into();
        }
    };
    let (own, place) = (args.clone(), env.clone());
    let reload = Box::new(move || own.configure(&place));
    let instead = Instead {
        replay: Some(opened),
        ..Instead::default()
    };
    live::run(&args.monitor, config, instead, reload, env)
}

/// Returns the stream on standard input, in whose place the keys are read from the terminal.
fn standard_input() -> Result<File, String> {
    if io::stdin().is_terminal() {
        return Err("standard input is a terminal, not a recording".into());
    }
    terminal::redirect_stdin().map_err(|error| format!("the keys need a terminal: {error}"))
}

fn open(files: &[PathBuf], speed: u32, at: Option<&At>) -> Result<Opened, String> {
    let is_stream = files.iter().any(|file| file == Path::new("-"));
    if is_stream && (files.len() > 1 || at.is_some()) {
        return Err("standard input is a stream: it is played alone, and from its beginning".into());
    }
    let (film, at) = if is_stream {
        let input = standard_input()?;
        (Film::Stream(Box::new(move || Source::of_stream(input))), None)
    } else {
        let tape = Tape::open(files).map_err(|error| error.to_string())?;
        let at = at.map(|at| at.resolve(tape.end().unwrap_or(SystemTime::UNIX_EPOCH)));
        (Film::Tape(tape), at)
    };
    let names = files.iter().map(|file| text::safe(file.as_os_str().as_encoded_bytes()));
    Ok(Opened {
        film,
        name: names.collect::<Vec<_>>().join(" "),
        at,
        speed,
        is_playing: at.is_none(),
        is_visit: false,
    })
}
