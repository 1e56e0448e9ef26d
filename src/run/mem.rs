//! `zmtop mem`: the account of the system.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::Arc;

use super::{complain, from, usage, written};
use crate::cli::mem::MemArgs;
use crate::cli::{self, Exit, Format, UsageError};
use crate::config::{Config, Env, Settings};
use crate::model::system::AccountingInputs;
use crate::model::{Missing, Snapshot};
use crate::output::mem::{Mem, MemOptions};
use crate::sampler::{Options, Policy, Scanner, accounting};
use crate::source::At;

/// Reads the system and every process once, and accounts for it.
pub fn run(args: &MemArgs, env: &Env) -> Exit {
    let settings = match configure(args, env) {
        Ok(settings) => settings,
        Err(error) => return usage(&error),
    };
    let (snapshot, inputs) = match looked(args, &settings) {
        Ok(found) => found,
        Err(Fault::Usage(error)) => return usage(&error),
        Err(Fault::Unread(why)) => {
            complain(&why);
            return Exit::Unread;
        }
    };
    if let Err(why) = snapshot.system.mem_total {
        let why = match why {
            Missing::Unsupported => "there is none".to_owned(),
            other => other.to_string(),
        };
        complain(&format!("meminfo cannot be read: {why}"));
        return Exit::Unread;
    }
    let mem = Mem::new(&snapshot, &inputs);
    let stdout = io::stdout();
    let (width, color) = paper(stdout.is_terminal(), args.no_color, env);
    let mut out = BufWriter::new(stdout.lock());
    let done = match args.format {
        Format::Table => mem.text(
            &mut out,
            MemOptions {
                units: settings.ui.units,
                width,
                color,
            },
        ),
        Format::Json => mem.json(&mut out, false),
        Format::Ndjson => mem.json(&mut out, true),
        Format::Csv => mem.csv(&mut out),
    };
    written(done.and_then(|()| out.flush()))
}

/// Why there is nothing to account for.
enum Fault {
    Usage(UsageError),
    Unread(String),
}

/// The snapshot, of this machine or of the file named; what files do not tell is missing.
fn looked(args: &MemArgs, settings: &Settings) -> Result<(Arc<Snapshot>, AccountingInputs), Fault> {
    if let Some(path) = &args.from {
        let at = args.at.as_deref().map(At::parse).transpose();
        let at = at.map_err(|error| {
            Fault::Usage(UsageError::Option {
                option: "--at",
                what: error.to_string(),
            })
        })?;
        let (snapshot, _) =
            from::read(path, at.as_ref(), &settings.history_config(settings.ui.delta)).map_err(Fault::Unread)?;
        return Ok((snapshot, AccountingInputs::missing(Missing::Unsupported)));
    }
    let options = Options {
        policy: Policy {
            budget: None,
            ..Policy::default()
        },
        ..super::options(&settings.sampler, args.place.proc_root.as_deref())
    };
    crate::sampler::make_room();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::Unread(format!("cannot start the runtime: {error}")))?;
    let snapshot = runtime.block_on(async { Scanner::new(options.clone()).full().await });
    runtime.shutdown_background();
    Ok((snapshot, accounting::read(&options)))
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
