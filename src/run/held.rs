//! `zmtop held`: the objects that processes hold through their descriptors.

use super::snapshot::{scan, scan_options};
use super::{Failure, named, output_style, print_readable, settings};
use crate::cli::held::HeldArgs;
use crate::cli::{Exit, Format};
use crate::columns::held::COLUMNS;
use crate::columns::layout;
use crate::config::Env;
use crate::model::Missing;
use crate::output::held::{HeldByProcess, HeldReport};
use crate::output::report_layout::ReportLayout;
use crate::sampler::{Needs, Scanner};

/// Reads the descriptors of all processes, for what several hold is divided among them, and writes what those named hold.
pub(super) fn run(args: &HeldArgs, env: &Env) -> Result<Exit, Failure> {
    let settings = settings(&args.paths, &args.table.units, env)?;
    let usual = || match args.format {
        Format::Table => layout::held(),
        // Data has it all.
        _ => COLUMNS.iter().collect(),
    };
    let layout = super::layout::layout(&args.table, COLUMNS, usual, "share")?;
    let options = scan_options(&settings.sampler, args.paths.proc_root.as_deref());
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
        layout: ReportLayout {
            columns: layout.columns,
            sort: layout.sort,
            descending: layout.descending,
            top: args.top.map(|n| n as usize),
            style: output_style(settings.ui.units, args.table.color.no_color, env),
        },
    };
    let faults = report.processes.iter().filter_map(HeldByProcess::fault);
    Ok(print_readable(&report, args.format, faults))
}
