//! `zmtop maps`: the mappings of processes.

use std::io::{self, BufWriter, IsTerminal, Write};

use super::mem::paper;
use super::{complain, usage, written};
use crate::cli::maps::MapsArgs;
use crate::cli::{self, Exit, Format, UsageError};
use crate::columns::mapping::{self, COLUMNS, MapRow, Mappings};
use crate::columns::{AppliesTo, Column, layout};
use crate::config::{Config, Env, Settings};
use crate::model::Reading;
use crate::output::maps::{self, Maps, MapsOptions};
use crate::sampler::mappings::{self, Found};

/// Reads the mappings of the processes named, and writes them.
pub fn run(args: &MapsArgs, env: &Env) -> Exit {
    let (settings, mut options) = match configure(args, env) {
        Ok(configured) => configured,
        Err(error) => return usage(&error),
    };
    let stdout = io::stdout();
    (options.width, options.color) = paper(stdout.is_terminal(), args.table.no_color, env);
    let sampling = super::options(&settings.sampler, args.place.proc_root.as_deref());
    if args.areas {
        let found = mappings::areas(&sampling, &args.pids);
        let all = found.iter().zip(&args.pids);
        let all = all.map(|(found, pid)| process(*pid, found, "area", |a| a.iter().map(MapRow::of_area).collect()));
        finish(&all.collect::<Vec<_>>(), args.format, &options)
    } else {
        let found = mappings::merged(&sampling, &args.pids);
        let all = found.iter().zip(&args.pids);
        let all =
            all.map(|(found, pid)| process(*pid, found, "mapping", |m| m.iter().map(MapRow::of_mapping).collect()));
        finish(&all.collect::<Vec<_>>(), args.format, &options)
    }
}

fn process<'a, T>(
    pid: u32,
    found: &'a Reading<Found<T>>,
    noun: &'static str,
    rows: impl Fn(&'a T) -> Vec<MapRow<'a>>,
) -> Maps<'a> {
    Maps {
        pid,
        read: found.as_ref().map(|f| f.starttime).map_err(|e| *e),
        comm: found.as_ref().map(|f| &*f.comm).unwrap_or_default(),
        rows: found.as_ref().map(|f| rows(&f.what)).unwrap_or_default(),
        noun,
    }
}

/// Writes what could be read, and says what could not.
fn finish(all: &[Maps<'_>], format: Format, options: &MapsOptions) -> Exit {
    let mut exit = Exit::Done;
    for process in all {
        if let Err(why) = process.read {
            complain(&maps::reason(process.pid, why));
            exit = Exit::Unread;
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match format {
        Format::Table => tables(&mut out, all, options),
        Format::Json => maps::json(&mut out, all, options),
        Format::Ndjson => maps::ndjson(&mut out, all, options),
        Format::Csv => maps::csv(&mut out, all, options),
    };
    match written(done.and_then(|()| out.flush())) {
        Exit::Done => exit,
        failed => failed,
    }
}

fn tables(out: &mut dyn Write, all: &[Maps<'_>], options: &MapsOptions) -> io::Result<()> {
    for (i, process) in all.iter().filter(|p| p.read.is_ok()).enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        process.table(out, options, all.len() > 1)?;
    }
    Ok(())
}

fn configure(args: &MapsArgs, env: &Env) -> Result<(Settings, MapsOptions), UsageError> {
    let mut settings = Config::load(args.place.config.as_deref(), env)?.settings;
    let table = &args.table;
    cli::apply_units(&mut settings, table.units.as_deref())?;
    let columns = match &table.columns {
        Some(typed) => {
            let ids = typed.split(',').map(|id| column("--columns", id.trim()));
            ids.collect::<Result<Vec<_>, _>>()?
        }
        // Data has it all.
        None if args.format != Format::Table => COLUMNS
            .iter()
            .filter(|c| args.areas || c.applies_to != AppliesTo::Areas)
            .collect(),
        None => layout::maps(args.areas),
    };
    let key = table.sort.as_deref().unwrap_or("pss");
    let sort = column("--sort", key.strip_prefix('-').unwrap_or(key))?;
    let descending = (sort.ascending == key.starts_with('-')) != table.reverse;
    let options = MapsOptions {
        columns,
        sort,
        descending,
        top: args.top.map(|n| n as usize),
        units: settings.ui.units,
        width: None,
        color: false,
    };
    Ok((settings, options))
}

fn column(option: &'static str, id: &str) -> Result<&'static Column<Mappings>, UsageError> {
    mapping::find(id).ok_or_else(|| {
        let known: Vec<_> = COLUMNS.iter().map(|c| c.id).collect();
        let id = crate::text::safe(id.as_bytes());
        UsageError::Option {
            option,
            what: format!("unknown column `{id}`. Known: {}", known.join(", ")),
        }
    })
}
