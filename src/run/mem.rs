//! `zmtop mem`: the account of the system.

use std::io::{self, BufWriter, IsTerminal, Write};

use super::{complain, usage, written};
use crate::cli::mem::{DataFormat, MemArgs};
use crate::cli::{self, Exit, UsageError};
use crate::config::{Config, Env, Settings};
use crate::model::Missing;
use crate::output::mem::{Mem, MemOptions};
use crate::sampler::{Options, Policy, Scanner, deep};

/// Reads the system and every process once, and accounts for it.
pub fn run(args: &MemArgs, env: &Env) -> Exit {
    let settings = match configure(args, env) {
        Ok(settings) => settings,
        Err(error) => return usage(&error),
    };
    let options = Options {
        policy: Policy {
            budget: None,
            ..Policy::default()
        },
        ..super::options(&settings.sampler, args.place.proc_root.as_deref())
    };
    crate::sampler::make_room();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("cannot start the runtime: {error}"));
            return Exit::Unread;
        }
    };
    let snapshot = runtime.block_on(async { Scanner::new(options.clone()).full().await });
    runtime.shutdown_background();
    let deep = deep::read(&options);
    if let Err(why) = snapshot.system.mem_total {
        let why = match why {
            Missing::Unsupported => "there is none".to_owned(),
            other => other.to_string(),
        };
        complain(&format!("meminfo cannot be read: {why}"));
        return Exit::Unread;
    }
    let mem = Mem::new(&snapshot, &deep);
    let stdout = io::stdout();
    let (width, color) = paper(stdout.is_terminal(), args.no_color, env);
    let mut out = BufWriter::new(stdout.lock());
    let done = match args.format {
        DataFormat::Table => mem.text(
            &mut out,
            MemOptions {
                units: settings.ui.units,
                width,
                color,
            },
        ),
        DataFormat::Json => mem.json(&mut out, false),
        DataFormat::Ndjson => mem.json(&mut out, true),
        DataFormat::Csv => mem.csv(&mut out),
    };
    written(done.and_then(|()| out.flush()))
}

fn configure(args: &MemArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = Config::load(args.place.config.as_deref(), env)?.settings;
    cli::apply_units(&mut settings, args.units.as_deref())?;
    Ok(settings)
}

/// How wide the terminal is, where there is one, and whether to use colours.
pub(super) fn paper(terminal: bool, no_color: bool, env: &Env) -> (Option<usize>, bool) {
    let size = terminal.then(|| crossterm::terminal::size().ok()).flatten();
    // A terminal that does not know its size says 0.
    let width = size.map(|(width, _)| usize::from(width)).filter(|w| *w > 0);
    let no_color = no_color || env.no_color.as_ref().is_some_and(|v| !v.is_empty());
    (width, terminal && !no_color)
}
