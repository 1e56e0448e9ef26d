//! `zmtop maps`: the mappings of processes.

use clap::Args;

use super::report::{Wanted, resolve, wanted};
use super::{Failure, print_readable};
use crate::cli::{Exit, ProcessArg, ReportArgs, of_each_process};
use crate::columns::mapping::{COLUMNS, MapRow};
use crate::columns::{AppliesTo, layout as columns};
use crate::config::Env;
use crate::model::Reading;
use crate::output::maps::{MapsReport, ProcessMappings, reason};
use crate::sampler::mappings::{self, Found};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_args(of_each_process))]
#[command(after_help = "Exit code 3 if the mappings of any named process could not be read.")]
pub struct MapsArgs {
    #[arg(
        help = "The processes: each by its pid, its program's name, a part of its command line, or a filter that only it matches",
        value_name = "PROCESS",
        required = true
    )]
    pub processes: Vec<ProcessArg>,
    /// List each area with its address and permissions, instead of summing by name
    #[arg(long)]
    pub areas: bool,
    #[command(flatten)]
    pub report: ReportArgs,
}

pub(super) fn run(args: &MapsArgs, env: &Env) -> Result<Exit, Failure> {
    let usual = || columns::maps(args.areas);
    let Wanted {
        options, mut layout, ..
    } = wanted(&args.report, &[], COLUMNS, usual, "pss", env)?;
    if args.report.table.columns.is_none() && !args.areas {
        layout.columns.retain(|column| column.applies_to != AppliesTo::Areas);
    }
    let pids = resolve("PROCESS", &args.processes, &options)?;
    // Declared here because the report borrows it.
    let (areas, mappings);
    let processes = if args.areas {
        areas = mappings::areas(&options, &pids);
        processes(&pids, &areas, "area", |areas| {
            areas.iter().map(MapRow::of_area).collect()
        })
    } else {
        mappings = mappings::merged(&options, &pids);
        processes(&pids, &mappings, "mapping", |mappings| {
            mappings.iter().map(MapRow::of_mapping).collect()
        })
    };
    let report = MapsReport { processes, layout };
    let faults = report.processes.iter();
    let faults = faults.filter_map(|process| Some(reason(process.pid, process.read.err()?)));
    Ok(print_readable(&report, args.report.format, faults))
}

fn processes<'a, T>(
    pids: &[u32],
    found: &'a [Reading<Found<T>>],
    noun: &'static str,
    rows: impl Fn(&'a T) -> Vec<MapRow<'a>>,
) -> Vec<ProcessMappings<'a>> {
    let process = |(pid, found): (&u32, &'a Reading<Found<T>>)| ProcessMappings {
        pid: *pid,
        read: found.as_ref().map(|f| f.starttime).map_err(|e| *e),
        comm: found.as_ref().map(|f| &*f.comm).unwrap_or_default(),
        rows: found.as_ref().map(|f| rows(&f.what)).unwrap_or_default(),
        noun,
    };
    pids.iter().zip(found).map(process).collect()
}
