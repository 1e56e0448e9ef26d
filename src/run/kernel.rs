//! `zmtop kernel`: the kernel's own memory.

use super::kernel_report::{Wanted, wanted};
use super::{Failure, callers, complain, print};
use crate::cli::Exit;
use crate::cli::kernel::{KernelArgs, KernelPart, SitesArgs, SlabArgs};
use crate::columns::slab::COLUMNS;
use crate::columns::{layout, sites};
use crate::config::Env;
use crate::model::Missing;
use crate::output::sites::SitesReport;
use crate::output::slab::SlabReport;
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
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(&args.report, &args.filter, COLUMNS, layout::slab, "size", env)?;
    let found = kernel::slab(&options);
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
    Ok(match print(&report, args.report.format) {
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

/// The command that switches the account of allocations on.
const SWITCH: &str = "sysctl vm.mem_profiling=1";

fn sites(args: &SitesArgs, env: &Env) -> Result<Exit, Failure> {
    let usual = || sites::COLUMNS.iter().collect();
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(&args.report, &args.filter, sites::COLUMNS, usual, "size", env)?;
    let found = kernel::sites(&options).map_err(sites_reason)?;
    if !found.running {
        complain(&format!(
            "memory allocation profiling is off, so what is allocated now is missing: {SWITCH} switches it on"
        ));
    }
    Ok(print(&SitesReport::new(&found, &filter, layout), args.report.format))
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
