//! `zmtop ps`: one table, printed.

use std::io::{self, BufWriter, IsTerminal, Write};

use super::{complain, usage, written};
use crate::cli::{self, Exit, PsArgs, UsageError};
use crate::columns::{Catalogue, ColumnId};
use crate::config::{Config, Env, Settings};
use crate::model::filter::Filter;
use crate::model::{Missing, Snapshot};
use crate::output::table::{self, TableOptions};
use crate::sampler::{Options, Policy, Scanner};

/// Reads every process once and prints a table of them.
pub fn run(args: &PsArgs, env: &Env) -> Exit {
    let settings = match configure(args, env) {
        Ok(settings) => settings,
        Err(error) => return usage(&error),
    };
    let filter = match Filter::parse(&settings.ui.filter, &Catalogue) {
        Ok(filter) => filter,
        Err(error) => {
            return usage(&UsageError::Option {
                option: "FILTER",
                what: error.to_string(),
            });
        }
    };
    let mut options = TableOptions::new(&filter);
    if args.table.columns.is_some() {
        options.columns.clone_from(&settings.ui.columns);
    }
    if args.table.sort.is_some() || args.table.reverse {
        options.sort = settings.ui.sort;
        options.descending = settings.ui.descending;
    }
    if let Some(column) = over_time(&options) {
        let what = format!(
            "{} takes more than one snapshot; the live monitor shows it",
            column.get().id
        );
        return usage(&UsageError::Option {
            option: "--columns, --sort",
            what,
        });
    }
    let stdout = io::stdout();
    let terminal = stdout.is_terminal();
    options.top = args.top.map(|n| n as usize);
    options.units = settings.ui.units;
    options.width = terminal
        .then(|| crossterm::terminal::size().ok())
        .flatten()
        .map(|(width, _)| width.into());
    let no_color = args.table.no_color || env.no_color.as_ref().is_some_and(|v| !v.is_empty());
    options.color = terminal && !no_color;

    let snapshot = match scan(args, &settings) {
        Ok(snapshot) => snapshot,
        Err(why) => {
            complain(&why);
            return Exit::Unread;
        }
    };
    let mut out = BufWriter::new(stdout.lock());
    written(table::write(&mut out, &snapshot, &options).and_then(|()| out.flush()))
}

/// The config's settings with the options over them.
fn configure(args: &PsArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = Config::load(args.place.config.as_deref(), env)?.settings;
    // The monitor's own order and filter are not those of a table that scripts read.
    settings.ui.sort = crate::columns::find("pss").unwrap_or(ColumnId(0));
    settings.ui.descending = true;
    cli::apply_ps(&mut settings, args)?;
    Ok(settings)
}

/// A column asked for that one snapshot cannot fill.
fn over_time(options: &TableOptions<'_>) -> Option<ColumnId> {
    let possible: Vec<ColumnId> = table::columns_of_one_snapshot().collect();
    options
        .columns
        .iter()
        .chain([&options.sort])
        .copied()
        .find(|c| !possible.contains(c))
}

/// One whole snapshot, or why there is none.
fn scan(args: &PsArgs, settings: &Settings) -> Result<std::sync::Arc<Snapshot>, String> {
    // One table is a whole one, whatever the monitor may spend.
    let policy = Policy {
        budget: None,
        ..Policy::default()
    };
    let options = Options {
        policy,
        ..super::options(&settings.sampler, args.place.proc_root.as_deref())
    };
    crate::sampler::make_room();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let snapshot = runtime.block_on(async { Scanner::new(options).full().await });
    runtime.shutdown_background();
    match &snapshot.processes {
        Err(why) => Err(format!("the processes cannot be listed: {why}")),
        Ok(rows) if rows.is_empty() => Err("there are no processes to read".into()),
        Ok(rows)
            if rows.iter().all(|p| p.walk.is_err())
                && rows.iter().any(|p| p.walk.is_err_and(Missing::hides_memory)) =>
        {
            Err(
                "no process's memory can be read; run as root, or grant CAP_PERFMON (CAP_SYS_PTRACE before Linux 6.15)"
                    .into(),
            )
        }
        Ok(_) => Ok(snapshot),
    }
}
