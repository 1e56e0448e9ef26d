//! The report that is wanted of a part of the kernel's memory, by its options.

use super::layout::layout;
use super::{sampler_options, settings};
use crate::cli::{ReportArgs, UsageError};
use crate::columns::{Column, TableKind};
use crate::config::Env;
use crate::filter::Filter;
use crate::output::report_layout::ReportLayout;
use crate::sampler::Options;

/// The report that is wanted of a part, and where to read.
pub(super) struct Wanted<T: TableKind> {
    pub(super) options: Options,
    pub(super) filter: Filter,
    pub(super) layout: ReportLayout<T>,
}

/// Returns what the options want, by the [layout] that they have.
///
/// # Errors
/// An option or the config is wrong.
pub(super) fn wanted<T: TableKind>(
    args: &ReportArgs,
    filter: &[String],
    known: &'static [Column<T>],
    usual: impl FnOnce() -> Vec<&'static Column<T>>,
    key: &str,
    env: &Env,
) -> Result<Wanted<T>, UsageError> {
    let settings = settings(&args.paths, &args.table.units, env)?;
    let layout = layout(args, known, usual, key, &settings, env)?;
    let filter =
        Filter::parse(&filter.join(" "), &known).map_err(|error| UsageError::option("FILTER", error.to_string()))?;
    Ok(Wanted {
        options: sampler_options(&settings.sampler, args.paths.proc_root.as_deref()),
        filter,
        layout,
    })
}
