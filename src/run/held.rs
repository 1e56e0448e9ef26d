//! `zmtop held`: the objects that processes hold through their descriptors.

use super::layout::layout;
use super::snapshot::{scan, scan_options};
use super::{Failure, named, print_readable, settings};
use crate::cli::Exit;
use crate::cli::held::HeldArgs;
use crate::columns::held::COLUMNS;
use crate::columns::layout as columns;
use crate::config::Env;
use crate::model::Missing;
use crate::output::held::{HeldByProcess, HeldReport};
use crate::sampler::{Needs, Scanner};

/// Reads the descriptors of all processes, for what several hold is divided among them, and writes what those named hold.
pub(super) fn run(args: &HeldArgs, env: &Env) -> Result<Exit, Failure> {
    let (report, paths) = (&args.report, &args.report.paths);
    let settings = settings(paths, &report.table.units, env)?;
    let layout = layout(report, COLUMNS, columns::held, "share", &settings, env)?;
    let options = scan_options(&settings.sampler, paths.proc_root.as_deref());
    let pids = named::resolve("PROCESS", &args.processes, &options)?;
    let mut scanner = Scanner::new(&options);
    scanner.set_needs(Needs::HELD);
    let snapshot = scan(scanner)?;
    let sample = |pid| {
        let rows = snapshot.processes.as_ref().map_err(|why| *why)?;
        let at = rows.binary_search_by_key(&pid, |row| row.id.pid);
        at.map(|at| &rows[at]).map_err(|_| Missing::Gone)
    };
    let processes = pids.iter().map(|pid| HeldByProcess::new(*pid, sample(*pid)));
    let report = HeldReport {
        processes: processes.collect(),
        layout,
    };
    let faults = report.processes.iter().filter_map(HeldByProcess::fault);
    Ok(print_readable(&report, args.report.format, faults))
}
