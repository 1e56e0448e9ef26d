//! `zmtop maps`: the mappings of processes.

use super::layout::layout;
use super::{Failure, named, print_readable, sampler_options, settings};
use crate::cli::Exit;
use crate::cli::maps::MapsArgs;
use crate::columns::mapping::{COLUMNS, MapRow};
use crate::columns::{AppliesTo, layout as columns};
use crate::config::Env;
use crate::model::Reading;
use crate::output::maps::{MapsReport, ProcessMappings, reason};
use crate::sampler::mappings::{self, Found};

/// Reads the mappings of the processes named, and writes them.
pub(super) fn run(args: &MapsArgs, env: &Env) -> Result<Exit, Failure> {
    let (report, paths) = (&args.report, &args.report.paths);
    let settings = settings(paths, &report.table.units, env)?;
    let usual = || columns::maps(args.areas);
    let mut layout = layout(report, COLUMNS, usual, "pss", &settings, env)?;
    if report.table.columns.is_none() && !args.areas {
        layout.columns.retain(|column| column.applies_to != AppliesTo::Areas);
    }
    let sampling = sampler_options(&settings.sampler, paths.proc_root.as_deref());
    let pids = named::resolve("PROCESS", &args.processes, &sampling)?;
    // What was read must outlive the report, which borrows it.
    let (areas, mappings);
    let processes = if args.areas {
        areas = mappings::areas(&sampling, &pids);
        processes(&pids, &areas, "area", |areas| {
            areas.iter().map(MapRow::of_area).collect()
        })
    } else {
        mappings = mappings::merged(&sampling, &pids);
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
