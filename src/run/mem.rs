//! `zmtop mem`: accounts for the system's memory.

use std::sync::Arc;
use std::time::Duration;

use super::{Failure, output_style, print, settings, snapshot};
use crate::cli::{Exit, MachineArgs};
use crate::config::{Env, Settings};
use crate::filter::Filter;
use crate::model::{Missing, Snapshot};
use crate::output::mem::MemReport;
use crate::sampler::{Needs, Scanner};

/// Reads the system and every process once, and writes the account.
pub(super) fn run(args: &MachineArgs, env: &Env) -> Result<Exit, Failure> {
    let settings = settings(args.paths.config.as_deref(), &args.units, env)?;
    let snapshot = read(args, &settings)?;
    if let Err(why) = snapshot.system.mem_total {
        let why = match why {
            Missing::Unsupported => "there is none".to_owned(),
            other => other.to_string(),
        };
        return Err(format!("meminfo cannot be read: {why}").into());
    }
    let style = output_style(settings.ui.units, args.color.no_color, env);
    Ok(print(&MemReport::new(&snapshot, style), args.format))
}

/// Returns a snapshot of this machine or from the file. Data that files do not contain is missing.
fn read(args: &MachineArgs, settings: &Settings) -> Result<Arc<Snapshot>, Failure> {
    if let Some(path) = &args.source.from {
        let at = snapshot::parse_at(args.source.at.as_deref())?;
        let (snapshot, _) = snapshot::read(
            path,
            at.as_ref(),
            Duration::ZERO,
            &settings.history_config(settings.ui.delta),
            &Filter::default(),
        )?;
        return Ok(snapshot);
    }
    let mut options = snapshot::scan_options(&settings.sampler, args.paths.proc_root.as_deref());
    args.scope.apply(&mut options)?;
    let mut scanner = Scanner::new(&options);
    scanner.set_needs(Needs::ACCOUNT);
    // The second scan reads the swap of processes that the first found it cannot walk.
    let hides_swap = |first: &Snapshot| {
        let hidden = first.rows().iter().any(|p| p.walk.is_err_and(Missing::hides_memory));
        hidden && first.system.swap_used().is_ok_and(|used| used > 0)
    };
    snapshot::scan_again_if(scanner, hides_swap)
}
