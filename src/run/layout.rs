//! The columns, the order and the look of a table that is printed once, by its options.

use super::output_style;
use crate::cli::{Format, ReportArgs, UsageError};
use crate::columns::{Column, TableKind};
use crate::config::{Env, Settings};
use crate::output::report_layout::ReportLayout;
use crate::text::safe;

/// Returns the layout by these options: as a table without `--columns` those of `usual`, in data all; sorted by `key`.
///
/// # Errors
/// A column that is not `known`.
pub(super) fn layout<T: TableKind>(
    args: &ReportArgs,
    known: &'static [Column<T>],
    usual: impl FnOnce() -> Vec<&'static Column<T>>,
    key: &str,
    settings: &Settings,
    env: &Env,
) -> Result<ReportLayout<T>, UsageError> {
    let find = |option, id: &str| {
        known.iter().find(|column| column.id == id).ok_or_else(|| {
            let known: Vec<_> = known.iter().map(|column| column.id).collect();
            let id = safe(id.as_bytes());
            UsageError::option(option, format!("unknown column `{id}`. Known: {}", known.join(", ")))
        })
    };
    let columns = match &args.table.columns {
        Some(typed) => {
            let ids = typed.split(',').map(|id| find("--columns", id.trim()));
            ids.collect::<Result<Vec<_>, _>>()?
        }
        None if args.format == Format::Table => usual(),
        None => known.iter().collect(),
    };
    let key = args.table.sort.as_deref().unwrap_or(key);
    let sort = find("--sort", key.strip_prefix('-').unwrap_or(key))?;
    Ok(ReportLayout {
        columns,
        sort,
        descending: (sort.ascending == key.starts_with('-')) != args.table.reverse,
        top: args.top.map(|n| n as usize),
        style: output_style(settings.ui.units, args.table.color.no_color, env),
    })
}
