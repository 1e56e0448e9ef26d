//! `zmtop mem`: the account of the system.

use std::sync::Arc;

use super::{Failure, output_style, print, snapshot};
use crate::cli::mem::MemArgs;
use crate::cli::{Exit, UsageError};
use crate::config::{Config, Env, Settings};
use crate::filter::Filter;
use crate::model::system::AccountingInputs;
use crate::model::{Missing, Snapshot};
use crate::output::mem::MemReport;
use crate::sampler::{Scanner, accounting};

/// Reads the system and every process once, and accounts for it.
pub(super) fn run(args: &MemArgs, env: &Env) -> Result<Exit, Failure> {
    let settings = configure(args, env)?;
    let (snapshot, inputs) = read(args, &settings)?;
    if let Err(why) = snapshot.system.mem_total {
        let why = match why {
            Missing::Unsupported => "there is none".to_owned(),
            other => other.to_string(),
        };
        return Err(format!("meminfo cannot be read: {why}").into());
    }
    let style = output_style(settings.ui.units, args.color.no_color, env);
    Ok(print(&MemReport::new(&snapshot, &inputs, style), args.format))
}

fn configure(args: &MemArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = Config::load(args.paths.config.as_deref(), env)?.settings;
    args.units.apply(&mut settings)?;
    Ok(settings)
}

/// Returns a snapshot, of this machine or of the file named. What snapshots in files lack is missing.
fn read(args: &MemArgs, settings: &Settings) -> Result<(Arc<Snapshot>, AccountingInputs), Failure> {
    if let Some(path) = &args.source.from {
        let at = snapshot::parse_at(args.source.at.as_deref())?;
        let (snapshot, _) = snapshot::read(
            path,
            at.as_ref(),
            &settings.history_config(settings.ui.delta),
            &Filter::default(),
        )?;
        return Ok((snapshot, AccountingInputs::missing(Missing::Unsupported)));
    }
    let options = snapshot::scan_options(&settings.sampler, args.paths.proc_root.as_deref());
    let snapshot = snapshot::scan(Scanner::new(&options))?;
    Ok((snapshot, accounting::read(&options)))
}
