//! `zmtop held`: the objects that processes hold through their descriptors.

use clap::Args;

use super::report::{Wanted, resolve, wanted};
use super::snapshot::scan;
use super::{Failure, print_readable};
use crate::cli::{Exit, ProcessArg, ReportArgs, of_each_process};
use crate::columns::held::COLUMNS;
use crate::columns::layout as columns;
use crate::config::Env;
use crate::model::Missing;
use crate::output::held::{HeldByProcess, HeldReport};
use crate::sampler::{Needs, Policy, Scanner};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_args(of_each_process))]
#[command(after_help = "Exit code 3 if the descriptors of any named process could not be read.")]
pub struct HeldArgs {
    #[arg(
        help = "The holding processes: each by its pid, its program's name, a part of its command line, or a filter that only it matches",
        value_name = "PROCESS",
        required = true
    )]
    pub processes: Vec<ProcessArg>,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Writes what the named processes hold. Reads the descriptors of all processes, because shared objects are divided
/// among their holders.
pub(super) fn run(args: &HeldArgs, env: &Env) -> Result<Exit, Failure> {
    let Wanted {
        mut options, layout, ..
    } = wanted(&args.report, &[], COLUMNS, columns::held, "share", env)?;
    options.policy = Policy::UNLIMITED;
    let pids = resolve("PROCESS", &args.processes, &options)?;
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
