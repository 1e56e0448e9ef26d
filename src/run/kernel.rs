//! `zmtop kernel`: the kernel's own memory.

use super::kernel_report::{Wanted, wanted};
use super::{Failure, callers, complain, print};
use crate::cli::Exit;
use crate::cli::kernel::{KernelArgs, KernelPart, SitesArgs, SlabArgs};
use crate::columns::{layout, sites, slab};
use crate::config::Env;
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
    } = wanted(&args.report, &args.filter, slab::COLUMNS, layout::slab, "size", env)?;
    let found = kernel::slab(&options);
    if let Err(why) = found.caches {
        complain(&slab::unread(why));
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

fn sites(args: &SitesArgs, env: &Env) -> Result<Exit, Failure> {
    let usual = || sites::COLUMNS.iter().collect();
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(&args.report, &args.filter, sites::COLUMNS, usual, "size", env)?;
    let found = kernel::sites(&options).map_err(sites::unread)?;
    if !found.running {
        complain(sites::STOPPED);
    }
    Ok(print(&SitesReport::new(&found, &filter, layout), args.report.format))
}
