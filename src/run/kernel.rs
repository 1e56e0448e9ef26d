//! `zmtop kernel`: the kernel's own memory.

use super::{Failure, callers, complain, output_style, print, sampler_options};
use crate::cli::kernel::{KernelArgs, KernelPart, SitesArgs, SlabArgs};
use crate::cli::{Exit, Format, UsageError};
use crate::columns::slab::COLUMNS;
use crate::columns::{layout, sites};
use crate::config::{Config, Env, Settings};
use crate::filter::Filter;
use crate::model::Missing;
use crate::output::sites::{SitesLayout, SitesReport};
use crate::output::slab::{SlabLayout, SlabReport};
use crate::sampler::kernel;

/// Reads a part of the kernel's memory, and writes it.
pub(super) fn run(args: &KernelArgs, env: &Env) -> Result<Exit, Failure> {
    match &args.part {
        KernelPart::Slab(args) => slab_caches(args, env),
        KernelPart::Callers(args) => callers::run(args, env),
        KernelPart::Sites(args) => sites(args, env),
    }
}

fn slab_caches(args: &SlabArgs, env: &Env) -> Result<Exit, Failure> {
    let mut settings = Config::load(args.paths.config.as_deref(), env)
        .map_err(UsageError::from)?
        .settings;
    args.table.units.apply(&mut settings)?;
    let layout = slab_layout(args, &settings, env)?;
    let filter = Filter::parse(&args.filter.join(" "), &COLUMNS)
        .map_err(|error| UsageError::option("FILTER", error.to_string()))?;
    let found = kernel::slab(&sampler_options(&settings.sampler, args.paths.proc_root.as_deref()));
    if let Err(why) = found.caches {
        complain(&slab_reason(why));
    }
    let report = SlabReport::new(
        found.caches.as_ref().map_err(|why| *why),
        &found.system,
        &filter,
        layout,
    );
    // The sums are written all the same.
    Ok(match print(&report, args.format) {
        Exit::Done if found.caches.is_err() => Exit::Unread,
        exit => exit,
    })
}

/// Returns why there are no caches to show, in words.
fn slab_reason(why: Missing) -> String {
    match why {
        Missing::Denied => "the slab caches can be read by root alone".into(),
        Missing::Unsupported => "this kernel has no slabinfo".into(),
        other => format!("the slab caches cannot be read: {other}"),
    }
}

fn slab_layout(args: &SlabArgs, settings: &Settings, env: &Env) -> Result<SlabLayout, UsageError> {
    let usual = || match args.format {
        Format::Table => layout::slab(),
        // Data has it all.
        _ => COLUMNS.iter().collect(),
    };
    let layout = super::layout::layout(&args.table, COLUMNS, usual, "size")?;
    Ok(SlabLayout {
        columns: layout.columns,
        sort: layout.sort,
        descending: layout.descending,
        top: args.top.map(|n| n as usize),
        style: output_style(settings.ui.units, args.table.color.no_color, env),
    })
}

/// The command that switches the account of allocations on.
const SWITCH: &str = "sysctl vm.mem_profiling=1";

fn sites(args: &SitesArgs, env: &Env) -> Result<Exit, Failure> {
    let mut settings = Config::load(args.paths.config.as_deref(), env)
        .map_err(UsageError::from)?
        .settings;
    args.table.units.apply(&mut settings)?;
    let layout = super::layout::layout(&args.table, sites::COLUMNS, || sites::COLUMNS.iter().collect(), "size")?;
    let layout = SitesLayout {
        columns: layout.columns,
        sort: layout.sort,
        descending: layout.descending,
        top: args.top.map(|n| n as usize),
        style: output_style(settings.ui.units, args.table.color.no_color, env),
    };
    let filter = Filter::parse(&args.filter.join(" "), &sites::COLUMNS)
        .map_err(|error| UsageError::option("FILTER", error.to_string()))?;
    let options = sampler_options(&settings.sampler, args.paths.proc_root.as_deref());
    let found = kernel::sites(&options).map_err(sites_reason)?;
    if !found.running {
        complain(&format!(
            "memory allocation profiling is off, so what is allocated now is missing: {SWITCH} switches it on"
        ));
    }
    Ok(print(&SitesReport::new(&found, &filter, layout), args.format))
}

/// Returns why there are no allocation sites to show, and what would grant them.
fn sites_reason(why: Missing) -> String {
    match why {
        Missing::Denied => "the allocation sites can be read by root alone".into(),
        Missing::Unsupported => format!(
            "no /proc/allocinfo: the kernel must be 6.10 or later, built with CONFIG_MEM_ALLOC_PROFILING, and booted with \
             sysctl.vm.mem_profiling=1; if it was booted with 0, {SWITCH}"
        ),
        other => format!("the allocation sites cannot be read: {other}"),
    }
}
