//! `zmtop maps`: the mappings of processes.

use super::{Failure, named, output_style, print_readable, sampler_options, settings};
use crate::cli::maps::MapsArgs;
use crate::cli::{Exit, Format, UsageError};
use crate::columns::mapping::{COLUMNS, MapRow};
use crate::columns::{AppliesTo, layout};
use crate::config::{Env, Settings};
use crate::model::Reading;
use crate::output::maps::{MapsReport, ProcessMappings, reason};
use crate::sampler::mappings::{self, Found};

/// Reads the mappings of the processes named, and writes them.
pub(super) fn run(args: &MapsArgs, env: &Env) -> Result<Exit, Failure> {
    let settings = settings(&args.paths, &args.table.units, env)?;
    let report = empty_report(args, &settings, env)?;
    let sampling = sampler_options(&settings.sampler, args.paths.proc_root.as_deref());
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
    let report = MapsReport { processes, ..report };
    let faults = report.processes.iter();
    let faults = faults.filter_map(|process| Some(reason(process.pid, process.read.err()?)));
    Ok(print_readable(&report, args.format, faults))
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

/// Returns the report of no process yet.
fn empty_report(args: &MapsArgs, settings: &Settings, env: &Env) -> Result<MapsReport<'static>, UsageError> {
    let usual = || match args.format {
        Format::Table => layout::maps(args.areas),
        // Data has it all.
        _ => COLUMNS
            .iter()
            .filter(|c| args.areas || c.applies_to != AppliesTo::Areas)
            .collect(),
    };
    let layout = super::layout::layout(&args.table, COLUMNS, usual, "pss")?;
    Ok(MapsReport {
        processes: Vec::new(),
        columns: layout.columns,
        sort: layout.sort,
        descending: layout.descending,
        top: args.top.map(|n| n as usize),
        style: output_style(settings.ui.units, args.table.color.no_color, env),
    })
}
